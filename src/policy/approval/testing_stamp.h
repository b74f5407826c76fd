// One approval, from the opened manifest to the stamp, as cli/ does it; for the tests of this room.
#pragma once

#include "policy/approval/approve.h"
#include "policy/approval/testing_disk.h"

namespace cordon::policy::approval::testing {

/// Files that prove that nobody shares a group, so that only what a test sets up is found.
inline AccountFiles lonely_accounts() {
  return {.nsswitch = "passwd: files\ngroup: files\n", .passwd = "root:x:0:0::/:/\n", .group = "root:x:0:\n"};
}

class Approval {
 public:
  Approval(const std::string& path, JournalPlaces journal, Caller caller)
      : journal_(std::move(journal)), caller_(caller), manifest_(open(path)), policy_(parse(manifest_.text)) {
    reread();
  }

  /// Takes the pins anew, and looks again at the journal and the location.
  void reread() {
    const auto resolved = manifest::resolve(
        policy_, {.manifest_directory = manifest_.directory, .home = "/", .manifest_path = manifest_.name_path});
    if (!resolved) std::abort();
    pins_ = *read_pins(*resolved);
    const std::string fingerprint = manifest::fingerprint(policy_, pins_);
    const std::string approves = policy_.provenance ? policy_.provenance->approves : "";
    review_ = approval::review({.manifest = manifest_,
                                .as_written = policy_,
                                .fingerprint = fingerprint,
                                .pins = pins_,
                                .journal = read_journal(journal_, manifest_.real_path, approves, caller_),
                                .findings = judge_location(manifest_, caller_, lonely_accounts())});
  }

  base::Result<Stamped, base::Diagnostics> stamp(const std::string& at = "2026-03-01T10:00:00Z") {
    return approval::stamp(manifest_, {.as_written = policy_,
                                       .review = review_,
                                       .pins = pins_,
                                       .generated_at = at,
                                       .reviewed = Reviewed::kByHuman,
                                       .journal = journal_,
                                       .caller = caller_});
  }
  /// The code of the one problem, or "" where it was stamped.
  std::string stamp_code() {
    const auto stamped = stamp();
    return stamped ? "" : stamped.error().front().code;
  }

  [[nodiscard]] const ApproveReview& review() const { return review_; }
  [[nodiscard]] const ManifestFile& manifest() const { return manifest_; }
  [[nodiscard]] const Policy& policy() const { return policy_; }

 private:
  static ManifestFile open(const std::string& path) {
    auto opened = open_manifest(path);
    if (!opened) std::abort();
    return std::move(*opened);
  }
  static Policy parse(const std::string& text) {
    auto loaded = manifest::parse(text, "m.yaml");
    if (!loaded) std::abort();
    return std::move(loaded->policy);
  }

  JournalPlaces journal_;
  Caller caller_;
  ManifestFile manifest_;
  Policy policy_;
  std::vector<PinnedContent> pins_;
  ApproveReview review_;
};

/// A directory with a manifest `m.yaml` in d/ and a place for the journal.
class StampDisk : public DiskOf {
 protected:
  static constexpr std::string_view kText = "# what it is for\nentrypoint: ./x   # the script\nread: [./in]\n";

  StampDisk() {
    directory("d");
    file("d/m.yaml", std::string(kText));
    give_all_to(me());
  }
  [[nodiscard]] std::string path() const { return at("d/m.yaml"); }
  [[nodiscard]] JournalPlaces journal() const { return {.own = at("state/approvals"), .older = at("older")}; }
  [[nodiscard]] Approval approval() const { return Approval(path(), journal(), me().caller()); }
  void rewrite(const std::string& text) const { std::ofstream(path(), std::ios::binary) << text; }
  void expect_untouched() const {
    EXPECT_EQ(text_of(path()), kText);
    EXPECT_EQ(names_of(at("d")), std::vector<std::string>{"m.yaml"});
  }
};

}  // namespace cordon::policy::approval::testing
