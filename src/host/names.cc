#include "host/names.h"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <string_view>
#include <utility>

#include "base/path_order.h"

namespace cordon::host {
namespace {

using plan::PathFact;
using plan::PathState;

constexpr std::size_t kWorthListing = 6;  // from here on a listing is cheaper than asking for each
constexpr std::size_t kMostToList = 4'096;

/// Names below one directory, sorted as base/path_order.h says, so that those which begin alike stand together.
class Names {
 public:
  Names(Tree& tree, Resolver& resolver) : tree_(tree), resolver_(resolver) {}

  /// `names` all begin with the same `skip` bytes, which lead to `directory`.
  void look(const std::string& directory, std::span<const std::string_view> names, std::size_t skip) {
    if (begins_with_many(names, skip)) list(directory);
    while (!names.empty()) {
      const std::string_view first = first_of(names.front(), skip);
      const std::size_t end = skip + first.size();
      const auto apart = std::ranges::find_if_not(names, [&](std::string_view name) {
        return name.substr(skip).starts_with(first) && (name.size() == end || name[end] == '/');
      });
      look_at_one(directory, first, {names.begin(), apart}, end);
      names = {apart, names.end()};
    }
  }

  std::vector<PathFact> take() {
    std::ranges::sort(standing_, {}, &PathFact::asked);
    return std::move(standing_);
  }

 private:
  static std::string_view first_of(std::string_view name, std::size_t skip) {
    return name.substr(skip, name.find('/', skip) - skip);
  }

  static bool begins_with_many(std::span<const std::string_view> names, std::size_t skip) {
    std::size_t groups = 0;
    std::string_view last;
    for (const std::string_view name : names) {
      const std::string_view first = first_of(name, skip);
      if (first == last) continue;
      last = first;
      if (++groups == kWorthListing) return true;
    }
    return false;
  }

  /// `group`: the name itself, where it is asked for, and those below it.
  void look_at_one(const std::string& directory, std::string_view first, std::span<const std::string_view> group,
                   std::size_t end) {
    if (Node* node = listed_; node != nullptr && node->listing && !node->listing->may_have(first)) return;
    const std::string path = below_of(directory, first);
    PathFact fact = resolver_.resolve(path, Keep::kIfRoom);
    const bool absent = fact.state == PathState::kAbsent && fact.hops.empty();
    if (absent) return;
    const bool own = group.front().size() == end;
    const auto below = std::ranges::find_if(group, [&](std::string_view name) { return name.size() > end; });
    if (below != group.end()) {
      Node* const outer = std::exchange(listed_, nullptr);
      look(path, {below, group.end()}, end + 1);
      listed_ = outer;
    }
    if (own) standing_.push_back(std::move(fact));
  }

  /// Then an absent name costs nothing, here and wherever else it is asked for.
  void list(const std::string& directory) {
    const Resolver::Found found = resolver_.find(directory, Keep::kFirst);
    if (found.node == nullptr || !found.node->is_directory()) return;
    const auto entries = tree_.entries(*found.node, kMostToList);
    if (!entries) return;  // too many, or not to be listed: then each is asked for
    found.node->listing.emplace(*entries);
    listed_ = found.node;
  }

  Tree& tree_;
  Resolver& resolver_;
  Node* listed_ = nullptr;  ///< the directory that is looked at, if it was listed
  std::vector<PathFact> standing_;
};

class LinkWalk {
 public:
  LinkWalk(Tree& tree, Resolver& resolver, std::optional<std::size_t> levels)
      : tree_(tree), resolver_(resolver), levels_(levels) {}

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
      if (entry.name == ".git" || (type == DT_DIR && depth == levels_)) continue;
      Node& node = tree_.child(directory, entry.name, Keep::kIfRoom);
      if (node.is_link()) links_.push_back(resolver_.resolve(path_of(node), Keep::kIfRoom));
      if (!node.is_directory() || depth == levels_) continue;
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
  std::optional<std::size_t> levels_;
  std::size_t seen_ = 0;
  std::vector<PathFact> links_;
};

}  // namespace

std::vector<PathFact> resolve_names(Tree& tree, Resolver& resolver, const std::string& directory,
                                    const plan::NameList& names) {
  std::vector<std::string_view> sorted(names.begin(), names.end());
  if (!std::ranges::is_sorted(sorted, base::path_before)) std::ranges::sort(sorted, base::path_before);
  Names asked(tree, resolver);
  asked.look(directory, sorted, 0);
  return asked.take();
}

std::vector<PathFact> find_links(Tree& tree, Resolver& resolver, const std::string& directory,
                                 std::optional<std::size_t> levels) {
  const Resolver::Found found = resolver.find(directory, Keep::kIfRoom);
  if (found.node == nullptr || !found.node->is_directory()) return {};
  LinkWalk walk(tree, resolver, levels);
  static_cast<void>(walk.walk(*found.node, 1));
  return walk.take();
}

}  // namespace cordon::host
