// A made-up home with a sentinel for every rule of the corpus: what the promises about shields try to reach.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "policy/shield/corpus.h"
#include "support/promise.h"

namespace cordon::test {

inline constexpr std::string_view kSentinel = "SENTINEL";

struct Planted {
  const policy::shield::HomeRule* rule;
  std::string store;     ///< the rule's own path
  std::string sentinel;  ///< a file: the store itself, or one in it

  [[nodiscard]] bool hidden() const { return rule->deny == policy::shield::Deny::kAll; }
};

class PlantedHome : public Promise {
 protected:
  /// A sentinel for each rule; a rule whose place another one's file takes has none.
  [[nodiscard]] std::vector<Planted> plant() const {
    std::vector<Planted> out;
    for (const policy::shield::HomeRule& rule : policy::shield::home_rules()) {
      const std::string name = "home/" + std::string(rule.path);
      const bool directory = rule.kind == policy::shield::Kind::kDirectory;
      if (blocked(name) || (!directory && std::filesystem::exists(scene.tree().path(name)))) continue;
      const std::string sentinel = directory ? name + "/sentinel" : name;
      static_cast<void>(scene.tree().write(sentinel, kSentinel));
      out.push_back({.rule = &rule, .store = scene.tree().path(name), .sentinel = scene.tree().path(sentinel)});
    }
    return out;
  }

  /// Nothing of the home changed: every sentinel is where it was.
  static void expect_unchanged(const std::vector<Planted>& planted) {
    for (const Planted& each : planted) {
      std::error_code ignored;
      EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status(each.sentinel, ignored)))
          << each.sentinel;
      EXPECT_EQ(std::filesystem::file_size(each.sentinel, ignored), kSentinel.size()) << each.sentinel;
    }
  }

  /// `home/NAME…`: the directory of the home that holds this path.
  [[nodiscard]] std::string top_of(const std::string& path) const {
    const std::string below = path.substr(scene.home().size() + 1);
    return scene.home() + "/" + below.substr(0, below.find('/'));
  }

 private:
  [[nodiscard]] bool blocked(const std::string& name) const {
    for (std::filesystem::path at = std::filesystem::path(name).parent_path(); at != "home"; at = at.parent_path()) {
      if (std::filesystem::is_regular_file(scene.tree().path(at.string()))) return true;
    }
    return false;
  }
};

}  // namespace cordon::test
