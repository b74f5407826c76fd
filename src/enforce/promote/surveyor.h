// Surveyor: the state of one survey(), a method for each kind of entry. In two files: the walk (survey.cc), and what
// becomes of a single entry (survey_entry.cc).
#pragma once

#include <optional>

#include "enforce/promote/counterpart.h"
#include "enforce/promote/survey.h"

namespace cordon::enforce::promote {

class Surveyor {
 public:
  Surveyor(const Task& task, Manner manner)
      : task_(task),
        manner_(manner),
        names_(task.shields),
        links_{.workspace = task.workspace, .allowed_roots = task.allowed_roots} {}

  base::Result<Survey> run();

 private:
  /// The directory whose entries are being looked at.
  struct Here {
    std::uint32_t index = 0;
    FdView upper, place;  ///< `place` is not valid where the destination has none
    Mark mark = Mark::kNone;
    [[nodiscard]] bool merged() const { return place.valid(); }
  };
  /// One entry of it.
  struct Found {
    const char* name = "";
    std::string path;
    Facts facts{};
    std::optional<Facts> place;  ///< at the destination
  };

  // survey.cc
  Sys<void> walk();
  Sys<void> walk_directory(std::uint32_t index);
  Sys<void> list_entries(Here& here);
  void drop_repository(const Here& here);
  void settle();
  void drop_what_leads_nowhere();
  void drop_all();
  void visit(const Here& here, const char* name, BareRepository& repository);
  void judge(const Here& here, const Found& found, BareRepository& repository);
  Sys<void> part_shared_files();
  Sys<void> part(Item& item);

  // survey_entry.cc
  void on_directory(const Here& here, const Found& found);
  void on_output_directory(const Here& here, const Found& found);
  void on_leading_directory(const Here& here, const Found& found);
  void on_file(const Here& here, const Found& found);
  void on_link(const Here& here, const Found& found);
  void on_whiteout(const Here& here, const Found& found);
  void enter(const Here& here, const Found& found, Directory directory);
  void drop(const Here& here, const Found& found);
  void take(const Here& here, const Found& found, Item item);
  std::optional<Reason> clean_file(const Here& here, const Found& found, mode_t& mode);
  std::optional<Reason> clean_opened(const Found& found, FdView file, mode_t& mode);
  [[nodiscard]] bool is_marked_file(const Here& here, const Found& found) const;
  std::optional<Reason> clean_directory(const Here& here, FdView directory, const Found& found);
  std::optional<Reason> counterpart_of(const Here& here, const Found& found, Mark mark, Counterpart& out) const;
  std::optional<Reason> why_not_placed(const Here& here, const Found& found, Class wanted) const;
  [[nodiscard]] Class class_of(const Here& here, std::string_view path, Kind kind) const;
  [[nodiscard]] Directory& at(const Here& here) { return out_.directories[here.index]; }
  [[nodiscard]] const Directory& at(const Here& here) const { return out_.directories[here.index]; }

  void leave(const Here& here, std::string path, Reason reason);
  void spoil(std::uint32_t index);
  void over(std::string path) {
    if (!out_.outcome.over_bound) add(out_.outcome.refused, std::move(path), Reason::kOverBound, task_.bounds);
    out_.outcome.over_bound = true;
  }

  const Task& task_;
  Manner manner_;
  ProtectedNames names_;
  LinkRules links_;
  Survey out_;
  struct Dropped {
    std::uint32_t directory = 0;
    std::string path;
  };
  std::vector<Dropped> dropped_;
  bool touched_ = false;                ///< something of the host's is changed by what is kept
  std::vector<std::uint32_t> pending_;  ///< directories to be walked
  std::uint64_t entries_ = 0, bytes_ = 0;
  struct Shared {
    std::uint32_t links = 0;  ///< of the inode
    std::vector<std::uint32_t> items;
  };
  std::map<std::uint64_t, Shared> shared_;  ///< files with more than one name, by inode
};

}  // namespace cordon::enforce::promote
