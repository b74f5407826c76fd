#include "planner/base.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "planner/kernel_files.h"
#include "planner/network.h"
#include "planner/path_text.h"

namespace cordon::planner {
namespace {

constexpr std::array kTrees = std::to_array<std::string_view>(
    {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/sys/devices/system/cpu"});

// Of TLS only what verifies others: /etc/ssl and /etc/pki hold private keys beside it.
constexpr std::array kEtc = std::to_array<std::string_view>({"/etc/alternatives",
                                                             "/etc/ca-certificates",
                                                             "/etc/ca-certificates.conf",
                                                             "/etc/crypto-policies",
                                                             "/etc/default/locale",
                                                             "/etc/fonts",
                                                             "/etc/gai.conf",
                                                             "/etc/java",
                                                             "/etc/java-8-openjdk",
                                                             "/etc/java-11-openjdk",
                                                             "/etc/java-17-openjdk",
                                                             "/etc/java-21-openjdk",
                                                             "/etc/java-25-openjdk",
                                                             "/etc/ld.so.cache",
                                                             "/etc/ld.so.conf",
                                                             "/etc/ld.so.conf.d",
                                                             "/etc/locale.alias",
                                                             "/etc/locale.conf",
                                                             "/etc/locale.gen",
                                                             "/etc/localtime",
                                                             "/etc/mime.types",
                                                             "/etc/os-release",
                                                             "/etc/pki/ca-trust/extracted",
                                                             "/etc/pki/tls/cert.pem",
                                                             "/etc/pki/tls/certs",
                                                             "/etc/protocols",
                                                             "/etc/services",
                                                             "/etc/ssl/cert.pem",
                                                             "/etc/ssl/certs",
                                                             "/etc/ssl/openssl.cnf",
                                                             "/etc/terminfo",
                                                             "/etc/timezone"});

constexpr std::array kFiles = std::to_array<std::string_view>(
    {"/etc/group", "/etc/hosts", "/etc/nsswitch.conf", "/etc/passwd", "/etc/resolv.conf"});

constexpr auto kAll = [] {
  std::array<std::string_view, kTrees.size() + kEtc.size()> all{};
  std::ranges::copy(kTrees, all.begin());
  std::ranges::copy(kEtc, all.begin() + kTrees.size());
  return all;
}();

constexpr std::string_view kLocalSettings = "/usr/local/etc";

// What lets others in, beside what Java reads: jmxremote.password.
constexpr std::array kHiddenBelow = std::to_array<std::string_view>(
    {"/etc/java-8-openjdk/management", "/etc/java-11-openjdk/management", "/etc/java-17-openjdk/management",
     "/etc/java-21-openjdk/management", "/etc/java-25-openjdk/management"});

/// The fact, if this base path stands here and may be shown.
const plan::PathFact* standing(const plan::HostFacts& facts, std::string_view path) {
  const plan::PathFact* fact = fact_of(facts, path);
  if (fact == nullptr || fact->state != plan::PathState::kPresent || !fact->planted_by.empty()) return nullptr;
  if (is_kernel_file_system(fact->filesystem) && !within(path, "/sys")) return nullptr;
  if ((fact->mode & 04U) == 0) return nullptr;
  if (!is_directory(*fact) && !is_regular(*fact)) return nullptr;
  return fact;
}

/// A name or home from an account database, if it can stand in a line of /etc/passwd.
std::string field(std::string_view text, std::string_view otherwise) {
  const bool fits = !text.empty() && std::ranges::none_of(text, [](char c) {
    return c == ':' || static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) == 0x7f;
  });
  return std::string(fits ? text : otherwise);
}

std::string passwd_text(const Identity& identity, std::string_view home) {
  std::string out;
  if (identity.uid != 0) out += "root:x:0:0::/:/usr/sbin/nologin\n";
  out += fmt::format("{}:x:{}:{}::{}:/bin/sh\n", field(identity.name, identity.uid == 0 ? "root" : "user"),
                     identity.uid, identity.gid, field(home, "/tmp"));
  if (identity.uid != 65534) out += "nobody:x:65534:65534::/:/usr/sbin/nologin\n";
  return out;
}

std::string group_text(const Identity& identity) {
  std::string out;
  if (identity.gid != 0) out += "root:x:0:\n";
  out += fmt::format("{}:x:{}:\n", identity.gid == 0 ? "root" : field(identity.name, "user"), identity.gid);
  if (identity.gid != 65534) out += "nogroup:x:65534:\n";
  return out;
}

std::string content_of(std::string_view path, const policy::Policy& policy, const Identity& identity,
                       std::string_view home) {
  if (path == "/etc/passwd") return passwd_text(identity, home);
  if (path == "/etc/group") return group_text(identity);
  if (path == "/etc/hosts") return "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n";
  if (path == "/etc/nsswitch.conf") {
    return "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n";
  }
  return resolver_settings(policy);
}

}  // namespace

std::span<const std::string_view> base_paths() { return kAll; }
std::span<const std::string_view> base_files() { return kFiles; }
std::span<const std::string_view> hidden_base_paths() { return kHiddenBelow; }

void want_base(const plan::HostFacts& facts, std::vector<Want>& wants, std::vector<Link>& links) {
  for (std::string_view path : kAll) {
    const plan::PathFact* fact = standing(facts, path);
    if (fact == nullptr) continue;
    wants.push_back({.path = fact->real,
                     .id = fact->id,
                     .directory = is_directory(*fact),
                     .access = Access::kReadOnly,
                     .why = Why::kBase,
                     .create = {},
                     .reason = "base",
                     .at = {}});
    for (const plan::LinkHop& hop : fact->hops) {
      links.push_back({.at = hop.at, .text = hop.target, .reason = "base", .span = {}});
    }
  }
}

namespace {

const plan::PathFact* local_settings(const plan::HostFacts& facts) {
  const plan::PathFact* fact = fact_of(facts, kLocalSettings);
  const bool stands = fact != nullptr && fact->state == plan::PathState::kPresent && is_directory(*fact);
  return stands && in_base(facts, parent_of(fact->real)) ? fact : nullptr;
}

Want hidden(const plan::PathFact& fact) {
  return {.path = fact.real,
          .id = fact.id,
          .directory = is_directory(fact),
          .access = Access::kHidden,
          .why = Why::kBase,
          .create = {},
          .reason = "base",
          .at = {}};
}

bool is_asked_for(const Want& want) { return want.why != Why::kBase && want.access != Access::kHidden; }

}  // namespace

std::vector<std::string> base_listings(const policy::Policy& policy, const plan::HostFacts& facts) {
  const plan::PathFact* settings = local_settings(facts);
  if (settings == nullptr) return {};
  const auto lies_inside = [&](const policy::PathGrant& grant) {
    const plan::PathFact* fact = fact_of(facts, grant.path);
    return fact != nullptr && within(fact->real, settings->real) && fact->real != settings->real;
  };
  const bool any = std::ranges::any_of(policy.read, lies_inside) || std::ranges::any_of(policy.write, lies_inside) ||
                   lies_inside(policy.entrypoint);
  return any ? std::vector<std::string>{std::string(kLocalSettings)} : std::vector<std::string>();
}

void hide_what_lets_others_in(const plan::HostFacts& facts, std::vector<Want>& wants) {
  for (std::string_view path : kHiddenBelow) {
    const plan::PathFact* fact = fact_of(facts, std::string(path));
    if (fact == nullptr || fact->state != plan::PathState::kPresent || !is_directory(*fact)) continue;
    const bool asked = std::ranges::any_of(wants, [&](const Want& want) {
      return is_asked_for(want) && (within(want.path, fact->real) || within(fact->real, want.path));
    });
    if (!asked) wants.push_back(hidden(*fact));
  }
}

void hide_local_settings(const plan::HostFacts& facts, std::vector<Want>& wants) {
  const plan::PathFact* settings = local_settings(facts);
  if (settings == nullptr) return;
  std::vector<std::string> shown;
  for (const Want& want : wants) {
    if (!is_asked_for(want)) continue;
    const bool granted = want.why == Why::kRead || want.why == Why::kWrite;
    if (granted && within(settings->real, want.path)) return;
    if (within(want.path, settings->real)) shown.push_back(want.path);
  }
  if (shown.empty()) return wants.push_back(hidden(*settings));
  const auto listed = facts.children.find(std::string(kLocalSettings));
  if (listed == facts.children.end()) return wants.push_back(hidden(*settings));
  for (const plan::PathFact& child : listed->second) {
    const bool leads_on = std::ranges::any_of(shown, [&](const std::string& path) { return within(path, child.real); });
    if (child.state == plan::PathState::kPresent && child.hops.empty() && !leads_on) wants.push_back(hidden(child));
  }
}

bool in_base(const plan::HostFacts& facts, std::string_view real) {
  if (within(real, kLocalSettings)) return false;
  return std::ranges::any_of(kAll, [&](std::string_view path) {
    const plan::PathFact* fact = standing(facts, path);
    return fact != nullptr && within(real, fact->real);
  });
}

std::string_view base_below(const plan::HostFacts& facts, std::string_view real) {
  return StandingBase(facts).below(real);
}

StandingBase::StandingBase(const plan::HostFacts& facts) {
  for (std::string_view path : kAll) {
    if (const plan::PathFact* fact = standing(facts, path)) places_.push_back({fact->real, path});
  }
  std::ranges::stable_sort(places_, {}, &Place::real);
}

std::string_view StandingBase::below(std::string_view real) const {
  if (real.empty()) return {};
  const auto first = [&](const std::string& from) { return std::ranges::lower_bound(places_, from, {}, &Place::real); };
  std::string from(real);
  auto place = first(from);
  if (place != places_.end() && place->real == real) return place->path;
  if (real != "/") from += '/';
  place = first(from);
  return place != places_.end() && place->real.starts_with(from) ? place->path : std::string_view();
}

void make_base_files(Draft& draft, const Arranged& arranged, const Identity& identity, std::string_view home) {
  for (std::string_view path : kFiles) {
    if (arranged.showing(path) != nullptr) continue;
    draft.step(
        plan::step::MakeFile{
            .target = std::string(path), .content = content_of(path, draft.policy, identity, home), .mode = 0444},
        plan::Layer::kFilesystem, "base");
  }
}

}  // namespace cordon::planner
