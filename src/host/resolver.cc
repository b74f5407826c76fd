#include "host/resolver.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/abs_path.h"
#include "base/text.h"
#include "host/small_file.h"

namespace cordon::host {

using plan::PathFact;
using plan::PathState;

namespace {

/// An owner, in words. In a user namespace whoever has no number there is shown as the overflow uid (proc(5)): that is
/// no user of that number, and may well be the host's root.
std::string somebody(std::uint32_t uid) {
  const auto overflow = base::parse_decimal(read_line("/proc/sys/kernel/overflowuid"));
  const bool knows_everybody = read_line("/proc/self/uid_map").ends_with(" 4294967295");
  if (overflow == uid && !knows_everybody)
    return fmt::format("somebody whom this user namespace has no number for (shown as uid {})", uid);
  return fmt::format("uid {}", uid);
}

}  // namespace

/// One resolution. Components still to walk lie on a stack, the next one on top.
class Walk {
 public:
  Walk(Resolver& resolver, const std::string& asked, Keep keep) : resolver_(resolver), keep_(keep) {
    fact_.asked = asked;
  }

  Resolver::Found run() {
    const auto path = base::AbsPath::parse(fact_.asked);
    if (!path) return stop(PathState::kFailed, EINVAL, nullptr);
    if (path->str().size() > kLongestPath) return stop(PathState::kTooLong, ENAMETOOLONG, nullptr);
    path_ = path->str();
    push(path_);
    at_ = &resolver_.tree_.root();
    if (!at_->is_present()) return stop(at_->state, at_->code, at_);
    while (!pending_.empty()) {
      const std::string_view name = pending_.back();
      pending_.pop_back();
      if (auto end = step(name)) return std::move(*end);
    }
    return arrive();
  }

 private:
  void push(std::string_view path) {
    // "dir/" asks for a directory as "dir/." does.
    if (path.ends_with('/')) pending_.emplace_back(".");
    for (std::size_t end = path.size(); end > 0;) {
      const std::size_t slash = path.rfind('/', end - 1);
      const std::size_t start = slash == std::string_view::npos ? 0 : slash + 1;
      if (start < end) pending_.push_back(path.substr(start, end - start));
      end = slash == std::string_view::npos ? 0 : slash;
    }
  }

  std::optional<Resolver::Found> step(std::string_view name) {
    if (at_->is_present() && !at_->is_directory()) return stop(PathState::kNotDirectory, ENOTDIR, at_);
    if (name == ".") return std::nullopt;
    if (name == "..") {
      note_search();
      if (at_->parent != nullptr) at_ = at_->parent;
      return std::nullopt;
    }
    note_search();
    Node& next = resolver_.tree_.child(*at_, name, pending_.empty() ? keep_ : Keep::kFirst);
    if (next.is_link()) return follow(next);
    if (!next.is_present() && next.state != PathState::kAbsent) return stop(next.state, next.code, &next);
    if (!next.is_present() && first_absent_ == nullptr) {
      first_absent_ = &next;
      note_absence();
    }
    at_ = &next;
    return std::nullopt;
  }

  std::optional<Resolver::Found> follow(Node& link) {
    if (link.magic_link) {
      fact_.on_proc = true;
      return stop(PathState::kFailed, ELOOP, &link);
    }
    if (fact_.hops.size() == kMostLinks) return stop(PathState::kLoop, ELOOP, &link);
    note_link(link);
    push(link.link_text);
    if (link.link_text.starts_with('/')) at_ = &resolver_.tree_.root();
    return std::nullopt;
  }

  Resolver::Found arrive() {
    std::string real = path_of(*at_);
    if (real.size() > kLongestPath) return stop(PathState::kTooLong, ENAMETOOLONG, at_);
    Node* deepest = at_;
    Node* topmost_absent = nullptr;
    for (; !deepest->is_present(); deepest = deepest->parent) topmost_absent = deepest;
    // A link whose text climbs out of a directory that is not there ("gone/../x"): the kernel cannot follow it either.
    if (topmost_absent != first_absent_) return stop(PathState::kFailed, ENOENT, at_);
    fact_.real = std::move(real);
    if (first_absent_ != nullptr) {
      fact_.state = PathState::kAbsent;
      fact_.code = ENOENT;
      fact_.first_absent = path_of(*first_absent_);
    } else {
      fact_.state = PathState::kPresent;
    }
    describe(*deepest);
    if (!fact_.hops.empty()) name_gates();
    return {.fact = std::move(fact_), .node = first_absent_ == nullptr ? at_ : nullptr};
  }

  void describe(Node& node) {
    fact_.id = node.id;
    fact_.uid = node.uid;
    fact_.gid = node.gid;
    fact_.mode = node.mode;
    fact_.links = node.links;
    fact_.rdev = node.rdev;
    fact_.noexec = node.mount->noexec;
    fact_.read_only = node.mount->read_only;
    fact_.filesystem = node.mount->type;
    fact_.mount = node.mount_id;
    fact_.on_proc = node.mount->type == "proc";
    const Access access = resolver_.tree_.access(node);
    fact_.writable = access.writable;
    fact_.executable = access.executable;
  }

  Resolver::Found stop(PathState state, int code, const Node* where) {
    fact_.state = state;
    fact_.code = code;
    if (where != nullptr) fact_.real = path_of(*where);
    return {.fact = std::move(fact_), .node = nullptr};
  }

  [[nodiscard]] bool is_trusted(std::uint32_t uid) const { return uid == 0 || uid == resolver_.caller_; }

  /// Others than the directory's owner and root may make and (unless it is sticky) exchange names in it.
  [[nodiscard]] bool is_shared(Node& directory) const {
    if ((directory.mode & 0002) != 0) return true;
    if ((directory.mode & 0020) == 0) return false;
    return !resolver_.accounts_.group_is_private_to(directory.gid, resolver_.caller_) ||
           resolver_.tree_.has_acl(directory);
  }

  void planted(std::uint32_t who, std::string words) {
    if (std::ranges::find(fact_.planters, who) == fact_.planters.end()) fact_.planters.push_back(who);
    if (fact_.planted_by.empty()) fact_.planted_by = std::move(words);
  }

  void note_link(Node& link) {
    Node& directory = *link.parent;
    const std::string at = path_of(link);
    const bool shared = is_shared(directory);
    fact_.hops.push_back({.at = at, .target = link.link_text, .owner = link.uid, .in_shared_directory = shared});
    if (!is_trusted(link.uid))
      planted(link.uid, fmt::format("the link {} belongs to {}", base::shown(at), somebody(link.uid)));
    if (!is_trusted(directory.uid)) {
      planted(directory.uid, fmt::format("{} owns {} and may exchange the link {}", somebody(directory.uid),
                                         base::shown(path_of(directory)), base::shown(at)));
    }
    // In a sticky directory only the owners of link and directory may exchange it, and they were judged above.
    const bool sticky = (directory.mode & 01000) != 0;
    if (shared && !sticky) {
      planted(plan::kAnybody, fmt::format("others may write in {} and exchange the link {}",
                                          base::shown(path_of(directory)), base::shown(at)));
    }
  }

  /// Looking a name up takes search permission in its directory.
  void note_search() {
    if (resolver_.caller_ != 0 || !at_->is_present()) return;
    if (std::ranges::find(searched_, at_) == searched_.end()) searched_.push_back(at_);
  }

  void name_gates() {
    for (Node* directory : searched_) {
      const bool acl = resolver_.tree_.has_acl(*directory);
      if (!acl && (directory->mode & 0001) != 0) continue;
      fact_.gates.push_back({.directory = path_of(*directory),
                             .uid = directory->uid,
                             .gid = directory->gid,
                             .mode = directory->mode,
                             .has_acl = acl});
    }
  }

  void note_absence() {
    Node& directory = *at_;
    const std::string missing = path_of(*first_absent_);
    if (!is_trusted(directory.uid)) {
      planted(directory.uid, fmt::format("{} owns {} and may make {}", somebody(directory.uid),
                                         base::shown(path_of(directory)), base::shown(missing)));
    }
    if (is_shared(directory)) {
      planted(plan::kAnybody,
              fmt::format("others may write in {} and make {}", base::shown(path_of(directory)), base::shown(missing)));
    }
  }

  Resolver& resolver_;
  Keep keep_;
  PathFact fact_;
  std::string path_;
  std::vector<std::string_view> pending_;  ///< texts of the question and of links, which stay where they are
  Node* at_ = nullptr;
  Node* first_absent_ = nullptr;
  std::vector<Node*> searched_;
};

Resolver::Found Resolver::find(const std::string& asked, Keep keep) { return Walk(*this, asked, keep).run(); }

PathFact Resolver::resolve(const std::string& asked, Keep keep) { return find(asked, keep).fact; }

}  // namespace cordon::host
