// The paths of one watched run, sorted into what the draft would grant and what it would not. Private to this room.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/draft/draft.h"
#include "policy/draft/given.h"

namespace cordon::policy::draft {

class Paths {
 public:
  explicit Paths(const Watched& run);

  /// Each observation once, in any order; then finish().
  void take(const plan::ObservedPath& one);
  /// Fills wants, withheld, flagged and the counts.
  void finish(Proposal& out);
  /// Lines below the home lead there only where HOME says so inside.
  [[nodiscard]] bool needs_home() const { return needs_home_; }

 private:
  void pass_through(const plan::ObservedPath& one, const plan::PathFact& fact, bool always);
  void take_write(const plan::ObservedPath& one, const plan::PathFact& fact);
  void take_read(const plan::ObservedPath& one, const plan::PathFact& fact);
  void write_at(const std::string& place, const plan::ObservedPath& one);
  void write_file(const plan::ObservedPath& one, const plan::PathFact& fact);
  void read_at(const plan::ObservedPath& one, const plan::PathFact& fact);
  void withhold(Access access, const std::string& path, std::string_view code, std::string reason);
  void flag(std::string kind, std::string path, std::string code, std::string reason);
  void add(std::map<std::string, Want>& to, Want want, const plan::ObservedPath& one);
  void settle_home();
  void settle_own_directory();
  void settle_refused_listings();
  void drop_ancestors();
  void flag_wants();
  [[nodiscard]] const plan::PathFact* fact(const std::string& path) const;
  [[nodiscard]] bool born_in_the_run(const plan::PathFact& fact) const;
  [[nodiscard]] bool is_made_in_scratch(std::string_view path) const;
  [[nodiscard]] bool held_in_scratch(std::string_view place) const;
  [[nodiscard]] bool is_below_project(std::string_view path) const;
  [[nodiscard]] bool leads_to_a_want(const Want& directory) const;

  const Watched& run_;
  Given given_;
  std::map<std::string, Want> reads_, writes_;
  std::map<std::string, std::pair<Want, plan::ObservedPath>> home_writes_;  ///< in hidden directories of the own home
  std::set<std::string> made_;    ///< directories that the run made, or tried to
  std::set<std::string> passed_;  ///< that it tried to make, found standing, and only went through
  std::set<std::pair<std::string, std::string>> said_;
  std::vector<Remark> withheld_, flagged_;
  std::uint64_t runtime_ = 0, scratch_ = 0, lost_ = 0;
  bool needs_home_ = false;
};

/// An absolute, normal path that a manifest can hold.
bool is_representable(std::string_view path);

}  // namespace cordon::policy::draft
