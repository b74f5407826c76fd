#include "policy/draft/secret_names.h"

#include <algorithm>
#include <array>
#include <string>

namespace cordon::policy::draft {
namespace {

constexpr std::array kNames = std::to_array<std::string_view>(
    {".aws-creds", ".dockercfg", ".envrc", ".htpasswd", ".my.cnf", ".netrc", ".npmrc", ".pgpass", ".pypirc", ".s3cfg",
     "_netrc", "auth.json", "gshadow", "kubeconfig", "shadow", "wallet.dat", "hosts.yml"});
constexpr std::array kBegins = std::to_array<std::string_view>(
    {".env.", "api_key", "apikey", "api-key", "id_dsa", "id_ecdsa", "id_ed25519", "id_rsa", "service-account"});
constexpr std::array kEnds =
    std::to_array<std::string_view>({".env", ".jks", ".kdbx", ".key", ".keystore", ".p12", ".pem", ".pfx", ".tfstate"});
constexpr std::array kHolds = std::to_array<std::string_view>(
    {"credential", "history", "passwd", "password", "private_key", "private-key", "secret", "token", ".key.", ".pem."});
constexpr std::array kCopies =
    std::to_array<std::string_view>({"~", ".1", ".backup", ".bak", ".copy", ".old", ".orig", ".save", ".swp", ".tmp"});

std::string_view without_copy(std::string_view name) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::string_view end : kCopies) {
      if (!name.ends_with(end) || name.size() == end.size()) continue;
      name.remove_suffix(end.size());
      changed = true;
    }
  }
  return name;
}

}  // namespace

bool may_hold_secrets(std::string_view name) {
  std::string lower(name);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  const std::string_view one = without_copy(lower);
  return std::ranges::find(kNames, one) != kNames.end() ||
         std::ranges::any_of(kBegins, [&](std::string_view begin) { return one.starts_with(begin); }) ||
         std::ranges::any_of(kEnds, [&](std::string_view end) { return one.ends_with(end); }) ||
         std::ranges::any_of(kHolds, [&](std::string_view part) { return one.contains(part); });
}

}  // namespace cordon::policy::draft
