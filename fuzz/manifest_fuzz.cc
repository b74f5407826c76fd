// manifest_fuzz: any bytes as a manifest. What must hold for all of them is checked here, not only that nothing
// crashes.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "policy/manifest/manifest.h"

namespace {

using namespace cordon;
namespace manifest = cordon::policy::manifest;

/// A message reaches a terminal: no byte of the file may act on it.
void expect_showable(const base::Diagnostics& diagnostics, std::string_view text) {
  for (const base::Diagnostic& one : diagnostics) {
    std::string shown = base::render(one, text);
    std::erase(shown, '\n');
    CORDON_CHECK(!base::find_unsafe_rune(shown));
    CORDON_CHECK(one.at.file == "fuzz.yaml" && !one.code.empty() && !one.message.empty());
    CORDON_CHECK(one.at.line == 0 || (one.at.column > 0 && one.at.length > 0));
  }
}

void expect_provenance_to_be_written(std::string_view text, const policy::Policy& policy, const std::string& print) {
  const policy::Provenance wanted = {"cordon approve", "2026-01-01T00:00:00Z", print, {"a.com:443"}};
  const auto stamped = manifest::with_provenance(text, wanted);
  if (!stamped) return;
  const auto again = manifest::parse(*stamped, "fuzz.yaml");
  CORDON_CHECK(again && again->policy.provenance == wanted);
  CORDON_CHECK(manifest::fingerprint(again->policy) == print);
  CORDON_CHECK(manifest::stamp_state(again->policy, print) == manifest::StampState::kCurrent);
  CORDON_CHECK(manifest::semantic_diff(policy, again->policy).empty());
}

void expect_resolved(const policy::Policy& policy, const std::string& print) {
  const auto resolved = manifest::resolve(policy, {"/srv/dir", "/home/u", "/srv/dir/fuzz.yaml"});
  if (!resolved) return expect_showable(resolved.error(), {});
  CORDON_CHECK(manifest::fingerprint(*resolved) == print);
  for (const policy::PathGrant& grant : resolved->write)
    CORDON_CHECK(grant.path.starts_with('/') && grant.path != "/" && grant.path != "/home" && grant.path != "/home/u");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto loaded = manifest::parse(text, "fuzz.yaml");
  if (!loaded) {
    CORDON_CHECK(!loaded.error().empty() && loaded.error().size() <= 51);
    expect_showable(loaded.error(), text);
    return 0;
  }
  expect_showable(loaded->notes, text);
  const std::string print = manifest::fingerprint(loaded->policy);
  const auto again =
      manifest::parse(manifest::canonical_yaml(loaded->policy, manifest::ProvenanceBlock::kInclude), "fuzz.yaml");
  CORDON_CHECK(again && manifest::fingerprint(again->policy) == print);
  CORDON_CHECK(!manifest::to_json(loaded->policy).dump().empty());
  expect_provenance_to_be_written(text, loaded->policy, print);
  expect_resolved(loaded->policy, print);
  return 0;
}
