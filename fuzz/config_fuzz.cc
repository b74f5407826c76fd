// config_fuzz: any bytes as a configuration. What must hold for all of them is checked here, not only that nothing
// crashes: messages can be shown, limits hold, and as a project's file it widens nothing that nobody trusted.
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "policy/config/merge.h"
#include "policy/config/network.h"

namespace {

using namespace cordon;
namespace config = cordon::policy::config;

constexpr std::array<std::string_view, 3> kBuiltIn = {"generic", "node", "rust"};

void expect_showable(const base::Diagnostics& diagnostics, std::string_view text) {
  CORDON_CHECK(!diagnostics.empty() && diagnostics.size() <= 51);
  for (const base::Diagnostic& one : diagnostics) {
    std::string shown = base::render(one, text);
    std::erase(shown, '\n');
    CORDON_CHECK(!base::find_unsafe_rune(shown));
    CORDON_CHECK(one.at.file == "fuzz.yaml" && !one.code.empty() && !one.message.empty());
    CORDON_CHECK(one.at.line == 0 || (one.at.column > 0 && one.at.length > 0));
  }
}

void expect_limits(const config::Config& read) {
  CORDON_CHECK(read.profiles.size() <= config::kMostProfiles);
  for (const config::Block& block : read.profiles) {
    CORDON_CHECK(!block.name.empty() && block.name.size() <= config::kLongestProfileName);
    CORDON_CHECK(block.allow_read.size() <= config::kMostItems && block.env.size() <= config::kMostVariables);
    CORDON_CHECK(!block.allow_degraded || !block.allow_degraded->value);
    CORDON_CHECK(read.chain(block.name).size() <= read.profiles.size());
  }
}

config::Merged merged_as_project(const config::Config& read, std::set<std::string> trusted) {
  const config::Places places{*base::AbsPath::parse("/home/u"), *base::AbsPath::parse("/w/p/sub")};
  const std::array layers = {config::Layer{.config = &read,
                                           .may = config::Layer::May::kTrusted,
                                           .trusted = std::move(trusted),
                                           .directory = *base::AbsPath::parse("/w/p")}};
  std::vector<std::string> names;
  for (const config::Block& block : read.profiles) names.push_back(block.name);
  return config::merge(layers, names, kBuiltIn, places);
}

void expect_only_narrowed(const config::Config& read, const std::vector<config::Ask>& asks) {
  std::set<std::string> all;
  for (const config::Ask& ask : asks) {
    all.insert(config::canonical(ask));
    CORDON_CHECK(!base::find_unsafe_rune(config::canonical(ask)) && !base::find_unsafe_rune(config::in_words(ask)));
  }
  const config::Merged narrowed = merged_as_project(read, {});
  CORDON_CHECK(narrowed.read.empty() && narrowed.write.empty() && narrowed.execute.empty());
  CORDON_CHECK(narrowed.env.empty() && narrowed.allow_address.empty() && narrowed.bases.empty());
  std::vector<policy::NetworkRule> rules = {{"a.x", "443", {}, {}}, {"*.b.x", "443", {}, {}}, {"*", "443", {}, {}}};
  const std::size_t before = rules.size();
  static_cast<void>(config::apply_steps(narrowed.network, rules));
  CORDON_CHECK(rules.size() <= before);
  for (const config::Ask& ask : narrowed.ignored) CORDON_CHECK(all.contains(config::canonical(ask)));
  CORDON_CHECK(merged_as_project(read, all).ignored.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = config::parse(text, "fuzz.yaml", kBuiltIn);
  if (!read) {
    expect_showable(read.error(), text);
    return 0;
  }
  expect_limits(*read);
  expect_only_narrowed(*read, config::asks_of(*read, kBuiltIn));
  return 0;
}
