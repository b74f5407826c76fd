// Asking the file system within a bound. Where no mount may hang (the normal case) the questions are answered here and
// now; else by a thread that is left behind when an answer does not come, with all it holds, and the mount counts as
// dead from then on.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/result.h"
#include "host/accounts.h"
#include "host/mounts.h"
#include "host/pin_store.h"
#include "host/programs.h"
#include "host/resolver.h"
#include "host/tree.h"

namespace cordon::host {

struct PathQuestion {
  std::string path;
  Keep keep = Keep::kIfRoom;
};
struct ProgramQuestion {
  std::string program;
  std::string working_directory;
};
struct LibraryQuestion {
  std::string program;
  std::string library_path;
};
struct ListQuestion {
  std::string directory;
};
struct TextQuestion {
  std::string path;
};
struct NamesQuestion {
  std::string directory;
  plan::NameList names;
};
struct EntriesQuestion {
  std::string directory;
};
struct LinksQuestion {
  std::string directory;
  std::optional<std::size_t> levels;  ///< nothing: all of them, or the walk has not come to its end
};
/// For other names of credentials: by far the longest question, and the last.
struct AliasesQuestion {
  plan::AliasQuestion asked;
};
using Question = std::variant<PathQuestion, ProgramQuestion, LibraryQuestion, ListQuestion, TextQuestion, NamesQuestion,
                              EntriesQuestion, LinksQuestion, AliasesQuestion>;

struct Listing {
  std::string directory;
  base::Result<std::vector<plan::PathFact>> entries;
};
struct Content {
  std::string path;
  std::string text;     ///< "" where there is none to be had
  bool unread = false;  ///< something stands there
};
struct Names {
  std::string directory;
  std::vector<plan::PathFact> standing;
};
struct Entries {
  std::string directory;
  std::optional<std::vector<std::string>> names;
};
struct Links {
  std::string directory;
  std::vector<plan::PathFact> links;
  bool near = false;
};
using Answer = std::variant<plan::PathFact, plan::ProgramFact, plan::LibraryFact, Listing, Content, Names, Entries,
                            Links, plan::AliasAnswer>;

struct InquirySettings {
  std::uint32_t uid = 0;
  bool overrides_modes = false;            ///< as TreeSettings
  std::vector<plan::HeldPoint> as_absent;  ///< as TreeSettings
  std::string search_path;
  std::chrono::milliseconds bound{0};
};

/// What is known of this host's files; one for each Session, made at its first question.
class Inquiry {
 public:
  Inquiry(InquirySettings settings, std::shared_ptr<const AccountBook> accounts,
          std::shared_ptr<const MountTable> mounts);
  ~Inquiry();

  /// As many answers as questions, in their order. A question that hangs is answered as PathState::kFailed, ETIMEDOUT.
  [[nodiscard]] std::vector<Answer> ask(const std::vector<Question>& questions);

  /// Every store that holds a pin, those of threads left behind included.
  [[nodiscard]] const std::vector<std::shared_ptr<PinStore>>& stores() const { return stores_; }

 private:
  struct State;
  struct Job;
  void start_over();
  enum class End { kAnswered, kHangs, kNoThread };
  End run_bounded(const std::shared_ptr<Job>& job);
  static void work(const std::shared_ptr<State>& state, const std::shared_ptr<Job>& job);

  InquirySettings settings_;
  std::shared_ptr<const AccountBook> accounts_;
  std::shared_ptr<const MountTable> mounts_;
  std::vector<std::string> dead_mounts_;
  std::shared_ptr<State> state_;
  std::vector<std::shared_ptr<PinStore>> stores_;
};

}  // namespace cordon::host
