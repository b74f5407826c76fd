#include "policy/approval/location.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "policy/approval/words.h"

namespace cordon::policy::approval {
namespace {

using base::shown;

/// What others may do in a directory, from its mode and ACL.
struct OthersMayWrite {
  bool world = false;
  bool owning_group = false;
  std::vector<AclWriter> named;
  [[nodiscard]] bool any() const { return world || owning_group || !named.empty(); }
};

class Judge {
 public:
  Judge(const ManifestFile& manifest, Caller caller, const AccountFiles& accounts)
      : manifest_(manifest), caller_(caller), accounts_(accounts) {}

  std::vector<Finding> all() {
    for (const WalkStep& step : manifest_.walk) {
      if (step.kind == WalkStep::Kind::kLink) {
        judge_link(step);
      } else {
        judge_directory(step);
      }
    }
    judge_file();
    judge_place();
    return std::move(findings_);
  }

 private:
  enum class Weight { kNotable, kFatal };

  void add(Weight weight, std::string code, std::string path, std::string message, std::string remedy) {
    findings_.push_back({.code = std::move(code),
                         .fatal = weight == Weight::kFatal,
                         .message = std::move(message),
                         .remedy = std::move(remedy),
                         .path = std::move(path)});
  }

  [[nodiscard]] bool is_foreign(uid_t owner) const { return owner != 0 && owner != caller_.uid; }
  [[nodiscard]] OthersMayWrite others(const FileFacts& facts, const AclFacts& acl) const;
  [[nodiscard]] std::string shown_writer(const AclWriter& writer) const;
  void judge_link(const WalkStep& link);
  void judge_directory(const WalkStep& step);
  void judge_foreign_owner(const WalkStep& step);
  void judge_group_write(const WalkStep& step);
  void judge_file();
  void judge_place();

  const ManifestFile& manifest_;
  Caller caller_;
  const AccountFiles& accounts_;
  std::vector<Finding> findings_;
  /// For each other user who owns directories on the way: which finding says so, and of which.
  std::map<uid_t, std::pair<std::size_t, std::vector<std::string>>> foreign_owners_;
};

OthersMayWrite Judge::others(const FileFacts& facts, const AclFacts& acl) const {
  OthersMayWrite out{.world = (facts.mode & S_IWOTH) != 0, .owning_group = acl.owning_group_write, .named = {}};
  for (const AclWriter& writer : acl.writers) {
    if (writer.kind == AclWriter::Kind::kUser && !is_foreign(writer.id)) continue;
    out.named.push_back(writer);
  }
  return out;
}

std::string Judge::shown_writer(const AclWriter& writer) const {
  return writer.kind == AclWriter::Kind::kUser ? "user " + shown_user(accounts_, writer.id)
                                               : "group " + shown_group(accounts_, writer.id);
}

void Judge::judge_link(const WalkStep& link) {
  // A sticky bit protects the link against everybody but its owner; that owner can point it elsewhere at any time. In a
  // directory that only its owner writes a foreign link cannot be replaced.
  if (!is_foreign(link.facts.owner)) return;
  const bool unreadable = link.holder_acl.state == AclFacts::State::kUnreadable;
  if (!unreadable && !others(link.holder, link.holder_acl).any()) return;
  add(Weight::kFatal, "link-foreign-owner", link.path,
      "the link " + shown(link.path) + " on the way belongs to user " + shown_user(accounts_, link.facts.owner) +
          ", who can point it elsewhere",
      "name the file itself: " + shown(manifest_.real_path));
}

void Judge::judge_group_write(const WalkStep& step) {
  const std::string where = "the directory " + shown(step.path);
  const std::string group = "group " + shown_group(accounts_, step.facts.group);
  const std::string remedy = "chmod g-w " + shown(step.path);
  if ((step.facts.mode & S_ISGID) != 0) {
    return add(Weight::kFatal, "directory-group-shared", step.path,
               where + " is set up for sharing: " + group + " may write in it, and its set-group-id bit is on", remedy);
  }
  switch (judge_group(accounts_, step.facts.group, caller_)) {
    case GroupPrivacy::kPrivate:
      return;
    case GroupPrivacy::kShared:
      return add(Weight::kFatal, "directory-group-shared", step.path,
                 where + " is writable by " + group + ", which has other members", remedy);
    case GroupPrivacy::kUnknown:
      return add(Weight::kNotable, "directory-group-unknown", step.path,
                 where + " is writable by " + group + ", whose members cannot be told on this host", remedy);
  }
}

/// One finding for all the directories of one owner: they have one mend.
void Judge::judge_foreign_owner(const WalkStep& step) {
  auto& [finding, places] = foreign_owners_[step.facts.owner];
  places.push_back(shown(step.path));
  const std::string user = "user " + shown_user(accounts_, step.facts.owner);
  if (places.size() > 1) {
    findings_[finding].message =
        "the directories " + base::join(places, ", ") + " belong to " + user + ", who can replace what is in them";
    return;
  }
  finding = findings_.size();
  add(Weight::kFatal, "directory-foreign-owner", step.path,
      "the directory " + shown(step.path) + " belongs to " + user + ", who can replace what is in it",
      "move the manifest to a directory of your own");
}

void Judge::judge_directory(const WalkStep& step) {
  const std::string where = "the directory " + shown(step.path);
  if (is_foreign(step.facts.owner)) judge_foreign_owner(step);
  // In a sticky directory only the owner of an entry, of the directory, or root renames and removes; all three are
  // judged on their own.
  if ((step.facts.mode & S_ISVTX) != 0) return;
  if (step.acl.state == AclFacts::State::kUnreadable) {
    add(Weight::kFatal, "location-unreadable", step.path,
        "the access control list of " + where + " cannot be read: " + in_words(step.acl.code),
        "move the manifest to a directory whose permissions can be read");
  }
  const OthersMayWrite who = others(step.facts, step.acl);
  if (!who.named.empty()) {
    std::vector<std::string> names;
    for (const AclWriter& writer : who.named) names.push_back(shown_writer(writer));
    add(Weight::kFatal, "directory-acl", step.path,
        "the access control list of " + where + " lets " + base::join(names, ", ") + " write in it",
        "setfacl -b " + shown(step.path));
  }
  if (who.world) {
    add(Weight::kFatal, "directory-world-writable", step.path,
        where + " is writable by everybody, who can replace what is in it",
        "chmod o-w " + shown(step.path) + ", or move the manifest to a directory of your own");
  }
  if (who.owning_group) judge_group_write(step);
}

void Judge::judge_file() {
  const std::string& path = manifest_.real_path;
  const FileFacts& facts = manifest_.facts;
  if (is_foreign(facts.owner)) {
    add(Weight::kFatal, "file-foreign-owner", path,
        "the manifest belongs to user " + shown_user(accounts_, facts.owner) + ", who can rewrite it",
        "chown it to yourself, or copy it and approve the copy");
  }
  if ((facts.mode & (S_IWGRP | S_IWOTH)) != 0) {
    // Without a world bit the group bit is set: it stands for the group, or as the mask for whom the ACL names.
    std::vector<std::string> who;
    if ((facts.mode & S_IWOTH) != 0) who.emplace_back("everybody");
    if (manifest_.acl.owning_group_write) who.push_back("group " + shown_group(accounts_, facts.group));
    for (const AclWriter& writer : manifest_.acl.writers) who.push_back(shown_writer(writer));
    if (who.empty()) who.emplace_back("its group");
    add(Weight::kNotable, "file-writable", path, "the manifest is writable by " + base::join(who, ", "),
        "chmod go-w " + shown(path));
  }
}

void Judge::judge_place() {
  const std::string& path = manifest_.real_path;
  const std::string again = "open it again by the name it has now";
  if (manifest_.located.empty()) {
    add(Weight::kFatal, "location-unreadable", path, "the kernel does not say where the opened manifest is",
        "mount /proc");
  } else if (manifest_.facts.links == 0) {
    add(Weight::kFatal, "file-unlinked", path, "the manifest was removed while it was opened", again);
  } else if (manifest_.located != path) {
    add(Weight::kFatal, "location-moved", path,
        "the manifest was reached at " + shown(path) + " but is at " + shown(manifest_.located) +
            ": something on the way was swapped",
        again);
  }
}

}  // namespace

std::vector<Finding> judge_location(const ManifestFile& manifest, Caller caller, const AccountFiles& accounts) {
  return Judge(manifest, caller, accounts).all();
}

bool has_fatal(const std::vector<Finding>& findings) { return std::ranges::any_of(findings, &Finding::fatal); }

base::Diagnostic to_diagnostic(const Finding& finding, const std::string& file) {
  return {.severity = finding.fatal ? base::Severity::kError : base::Severity::kWarning,
          .code = finding.code,
          .at = {.file = file},
          .message = finding.message,
          .hint = finding.remedy};
}

}  // namespace cordon::policy::approval
