#include "policy/shield/moved.h"

#include <algorithm>

#include "base/abs_path.h"
#include "base/path_order.h"
#include "base/text.h"

namespace cordon::policy::shield {
namespace {

/// What a row of either table says, at another place.
template <class Row>
Rule at_place(const Row& row, std::string_view path, std::string_view variable) {
  return {.path = path,
          .deny = row.deny,
          .kind = row.kind,
          .holds = row.holds,
          .write_opt_in = row.write_opt_in,
          .alias_anchor = row.alias_anchor,
          .what = row.what,
          .source = variable,
          .anchor_length = 0};
}

}  // namespace

Rule restated(const HomeRule& rule, std::string_view path, std::string_view variable) {
  return at_place(rule, path, variable);
}

namespace {

constexpr std::string_view kNowhere = "/dev/null";  ///< what people give a tool that is to keep nothing

bool is_list(Moves moves) { return moves == Moves::kFileList || moves == Moves::kDirectoryList; }

/// The rows of a sorted table at or below `directory`.
std::span<const HomeRule> rows_below(std::span<const HomeRule> table, std::string_view directory) {
  const auto begin = std::ranges::lower_bound(table, directory, base::path_before, &HomeRule::path);
  const auto end = std::partition_point(begin, table.end(),
                                        [&](const HomeRule& rule) { return base::path_within(rule.path, directory); });
  return {begin, end};
}

class Mover {
 public:
  Mover(const Situation& situation, Rules& rules) : situation_(situation), rules_(rules) {}

  void move(const Relocation& moved, std::string_view value) {
    if (value.empty() || value == kNowhere || value == moved.none) return;
    const auto place = base::AbsPath::parse(value);
    if (!place) return refuse(moved, value, "it is not absolute");
    if (is_default(moved, place->str())) return;
    if (moved.moves == Moves::kBase) return restate(moved, value, *place);
    const auto path = moved.below.empty() ? place : place->join(moved.below);
    if (!path || !can_be_shielded(path->str(), situation_.anchors)) return refuse_place(moved, value);
    rules_.list.push_back(at_place(moved, rules_.texts->add({path->str()}), moved.variable));
  }

 private:
  [[nodiscard]] bool is_default(const Relocation& moved, const std::string& place) const {
    return !moved.from.empty() && std::ranges::any_of(situation_.anchors, [&](const std::string& anchor) {
      return place.size() == anchor.size() + 1 + moved.from.size() && place.starts_with(anchor) &&
             place[anchor.size()] == '/' && place.ends_with(moved.from);
    });
  }

  void restate(const Relocation& moved, std::string_view value, const base::AbsPath& place) {
    const std::string base = place.is_root() ? std::string() : place.str();
    for (const HomeRule& rule : rows_below(home_rules(), moved.from)) {
      const std::string_view path = rules_.texts->add({base, rule.path.substr(moved.from.size())});
      if (path.empty() || !can_be_shielded(path, situation_.anchors)) {
        refuse_place(moved, value);
      } else {
        rules_.list.push_back(restated(rule, path, moved.variable));
      }
    }
    for (const HomeRule& wallet : rows_below(alias_paths(), moved.from))
      rules_.alias_paths.push_back(rules_.texts->add({base, wallet.path.substr(moved.from.size())}));
  }

  void refuse_place(const Relocation& moved, std::string_view value) {
    refuse(moved, value, "it leads to the root of the file system, your home or a folder that holds it");
  }

  /// Once for each value, however many things the variable moves.
  void refuse(const Relocation& moved, std::string_view value, std::string_view why) {
    Unshieldable one{std::string(moved.variable), std::string(value), std::string(why)};
    if (std::ranges::find(rules_.unshieldable, one) == rules_.unshieldable.end())
      rules_.unshieldable.push_back(std::move(one));
  }

  const Situation& situation_;
  Rules& rules_;
};

}  // namespace

bool can_be_shielded(std::string_view path, const std::vector<std::string>& anchors) {
  if (path == "/" || path == kNowhere) return false;
  return std::ranges::none_of(anchors, [&](const std::string& anchor) { return base::path_within(anchor, path); });
}

void add_moved(const Situation& situation, Rules& rules) {
  Mover mover(situation, rules);
  for (const Relocation& moved : relocations()) {
    const auto variable = situation.environment.find(std::string(moved.variable));
    if (variable == situation.environment.end()) continue;
    if (!is_list(moved.moves)) {
      mover.move(moved, variable->second);
    } else {
      for (const std::string_view value : base::split(variable->second, ':')) mover.move(moved, value);
    }
  }
}

}  // namespace cordon::policy::shield
