// The rules that the alias scan starts from.
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "planner/aliases.h"

namespace cordon::planner {
namespace {

namespace shield = policy::shield;

struct Known {
  std::string_view path;
  shield::Kind kind;
};

constexpr std::array kCredentials = std::to_array<Known>({
    {".aws", shield::Kind::kDirectory},
    {".azure", shield::Kind::kDirectory},
    {".cargo/credentials.toml", shield::Kind::kFile},
    {".config/containers", shield::Kind::kDirectory},
    {".config/gcloud", shield::Kind::kDirectory},
    {".config/gh", shield::Kind::kDirectory},
    {".config/glab-cli", shield::Kind::kDirectory},
    {".config/rclone", shield::Kind::kDirectory},
    {".docker", shield::Kind::kDirectory},
    {".git-credentials", shield::Kind::kFile},
    {".gnupg", shield::Kind::kDirectory},
    {".kube", shield::Kind::kDirectory},
    {".local/share/keyrings", shield::Kind::kDirectory},
    {".netrc", shield::Kind::kFile},
    {".npmrc", shield::Kind::kFile},
    {".password-store", shield::Kind::kDirectory},
    {".pypirc", shield::Kind::kFile},
    {".ssh", shield::Kind::kDirectory},
});

}  // namespace

shield::Rules alias_rules(const plan::HostFacts& facts) {
  shield::Rules rules;
  for (const std::string& home : own_homes(facts)) {
    for (const Known& known : kCredentials) {
      shield::Rule rule;
      rule.path = home + "/" + std::string(known.path);
      rule.kind = known.kind;
      rule.holds = shield::Holds::kCredentials;
      rule.alias_anchor = known.kind == shield::Kind::kDirectory ? shield::AliasAnchor::kYes : shield::AliasAnchor::kNo;
      rule.anchor = home;
      rules.list.push_back(std::move(rule));
    }
  }
  return rules;
}

}  // namespace cordon::planner
