#include "host/names.h"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace cordon::host {
namespace {

using plan::PathFact;
using plan::PathState;

constexpr std::size_t kWorthListing = 6;  // from here on a listing is cheaper than asking for each
constexpr std::size_t kMostToList = 4'096;

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// Lower case; bytes that are not ASCII are left out, because a directory that folds case may take them for anything.
std::string folded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x80) out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

/// All of `part`, in this order, somewhere in `whole`.
bool is_subsequence(std::string_view part, std::string_view whole) {
  for (const char c : whole) {
    if (!part.empty() && part.front() == c) part.remove_prefix(1);
  }
  return part.empty();
}

/// What a directory holds, asked for names. Never says that a name is missing which a directory that folds case finds.
class Listed {
 public:
  explicit Listed(const std::vector<std::string>& entries) {
    for (const std::string& entry : entries) {
      std::string plain = folded(entry);
      if (is_ascii(entry)) {
        ascii_.insert(std::move(plain));
      } else {
        others_.push_back(std::move(plain));
      }
    }
  }

  [[nodiscard]] bool may_have(std::string_view name) const {
    const std::string plain = folded(name);
    return !is_ascii(name) || ascii_.contains(plain) ||
           std::ranges::any_of(others_, [&](const std::string& other) { return is_subsequence(other, plain); });
  }

 private:
  std::unordered_set<std::string> ascii_;
  std::vector<std::string> others_;
};

class Names {
 public:
  Names(Tree& tree, Resolver& resolver) : tree_(tree), resolver_(resolver) {}

  void look(const std::string& directory, const std::vector<std::string_view>& names) {
    std::map<std::string_view, std::vector<std::string_view>> groups;
    std::vector<std::string_view> own;
    for (const std::string_view name : names) {
      const std::size_t slash = name.find('/');
      auto& below = groups[name.substr(0, slash)];
      if (slash == std::string_view::npos) {
        own.push_back(name);
      } else {
        below.push_back(name.substr(slash + 1));
      }
    }
    if (groups.size() >= kWorthListing) drop_absent(directory, groups);
    for (const auto& [first, below] : groups) {
      const std::string path = directory == "/" ? "/" + std::string(first) : directory + "/" + std::string(first);
      PathFact fact = resolver_.resolve(path, Keep::kIfRoom);
      const bool absent = fact.state == PathState::kAbsent && fact.hops.empty();
      if (absent) continue;
      if (!below.empty()) look(path, below);
      if (std::ranges::find(own, first) != own.end()) standing_.push_back(std::move(fact));
    }
  }

  std::vector<PathFact> take() {
    std::ranges::sort(standing_, {}, &PathFact::asked);
    return std::move(standing_);
  }

 private:
  template <class Groups>
  void drop_absent(const std::string& directory, Groups& groups) {
    const Resolver::Found found = resolver_.find(directory, Keep::kFirst);
    if (found.node == nullptr || !found.node->is_directory()) return;
    const auto entries = tree_.entries(*found.node, kMostToList);
    if (!entries) return;  // too many, or not to be listed: then each is asked for
    const Listed listed(*entries);
    std::erase_if(groups, [&](const auto& group) {
      if (listed.may_have(group.first)) return false;
      tree_.note_absent(*found.node, group.first);
      return true;
    });
  }

  Tree& tree_;
  Resolver& resolver_;
  std::vector<PathFact> standing_;
};

class LinkWalk {
 public:
  LinkWalk(Tree& tree, Resolver& resolver) : tree_(tree), resolver_(resolver) {}

  /// False where the walk must end.
  bool walk(Node& directory, std::size_t depth) {
    const auto entries = tree_.typed_entries(directory, kMostWalked - seen_);
    // What the caller may not list, no target of theirs reaches either.
    if (!entries && entries.error().code == EACCES) return true;
    if (!entries) return end(directory, entries.error().code);
    seen_ += entries->size();
    for (const Tree::Entry& entry : *entries) {
      const unsigned char type = entry.type;
      if (type != DT_DIR && type != DT_LNK && type != DT_UNKNOWN) continue;
      if (entry.name == ".git") continue;
      Node& node = tree_.child(directory, entry.name, Keep::kIfRoom);
      if (node.is_link()) links_.push_back(resolver_.resolve(path_of(node), Keep::kIfRoom));
      if (!node.is_directory()) continue;
      if (depth == kDeepestWalk) return end(node, ELOOP);
      if (!walk(node, depth + 1)) return false;
    }
    return true;
  }

  std::vector<PathFact> take() { return std::move(links_); }

 private:
  bool end(const Node& at, int code) {
    PathFact fact;
    fact.asked = fact.real = path_of(at);
    fact.state = PathState::kFailed;
    fact.code = code;
    links_.push_back(std::move(fact));
    return false;
  }

  Tree& tree_;
  Resolver& resolver_;
  std::size_t seen_ = 0;
  std::vector<PathFact> links_;
};

}  // namespace

std::vector<PathFact> resolve_names(Tree& tree, Resolver& resolver, const std::string& directory,
                                    const std::vector<std::string>& names) {
  Names asked(tree, resolver);
  asked.look(directory, {names.begin(), names.end()});
  return asked.take();
}

std::vector<PathFact> find_links(Tree& tree, Resolver& resolver, const std::string& directory) {
  const Resolver::Found found = resolver.find(directory, Keep::kIfRoom);
  if (found.node == nullptr || !found.node->is_directory()) return {};
  LinkWalk walk(tree, resolver);
  static_cast<void>(walk.walk(*found.node, 1));
  return walk.take();
}

}  // namespace cordon::host
