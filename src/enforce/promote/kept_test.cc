#include "enforce/promote/kept.h"

#include <fcntl.h>
#include <unistd.h>

#include "enforce/promote/beneath.h"
#include "enforce/promote/desk_test.h"

namespace cordon::enforce::promote {
namespace {

using testing::as;
using testing::As;
using testing::Desk;
using ::testing::ElementsAre;
using testing::words;

class KeptChanges : public testing::Everybody {};
INSTANTIATE_TEST_SUITE_P(Everybody, KeptChanges, ::testing::Values(As::kSelf, As::kUser), testing::name_of);

Fd open_at(const std::string& path) {
  auto opened = kernel::openat(kernel::kHere, path.c_str(), O_RDONLY | O_DIRECTORY);
  EXPECT_TRUE(opened) << path;
  return opened ? std::move(*opened) : Fd();
}

Kept registry(const Desk& desk, KeptBounds bounds = {}) {
  desk.directory("kept", 0700);
  return Kept(open_at(desk.at("kept")), bounds);
}

About about(const Desk& desk, const std::string& id) {
  const auto facts = kernel::statx(open_at(desk.at("ws")));
  About out{.id = id, .workspace = desk.at("ws"), .command = {"npm", "install\n"}};
  out.device = kernel::device_of(*facts);
  out.inode = facts->stx_ino;
  out.since = desk.task().since;
  out.uid = geteuid();
  out.gid = getegid();
  return out;
}

void keep(const Desk& desk, Kept& kept, const std::string& id, std::int64_t now, const std::string& workspace = "") {
  About what = about(desk, id);
  if (!workspace.empty()) what.workspace = workspace;
  const auto added = kept.keep(open_at(desk.at("")), "up", std::move(what), now);
  ASSERT_TRUE(added) << base::to_string(added.error());
  desk.directory("up");
}

std::vector<std::string> shown(const Changes& changes) {
  std::vector<std::string> out;
  for (const Change& change : changes.changes)
    out.push_back(change.path + " " + std::to_string(static_cast<int>(change.what)) + " " +
                  std::to_string(change.size));
  return out;
}

TEST_P(KeptChanges, AreListedShownAndApplied) {
  as(GetParam(), [] {
    Desk desk;
    desk.file("ws/src/changes", "old");
    desk.file("ws/src/goes", "old");
    desk.begin();
    desk.file("up/src/changes", "newer");
    desk.whiteout("up/src/goes");
    desk.made("up/docs");
    desk.file("up/docs/page", "page");
    Kept kept = registry(desk);
    keep(desk, kept, "run-1", 100);
    const auto found = kept.find("run");
    ASSERT_TRUE(found && *found);
    EXPECT_EQ((*found)->command, (std::vector<std::string>{"npm", "install\n"}));
    EXPECT_EQ((*found)->entries, 5U);
    const auto changes = kept.show(**found, open_at(desk.at("ws")));
    ASSERT_TRUE(changes);
    EXPECT_THAT(shown(*changes), ElementsAre("docs 0 0", "docs/page 0 4", "src/changes 1 5", "src/goes 2 0"));
    const auto applied = kept.apply(**found, open_at(desk.at("ws")), desk.task());
    ASSERT_TRUE(applied) << base::to_string(applied.error());
    EXPECT_TRUE(applied->is_all());
    EXPECT_EQ(desk.listing("ws"), "docs 40755\ndocs/page 100644 'page'\nsrc 40755\nsrc/changes 100644 'newer'\n");
    EXPECT_EQ(desk.listing("kept"), "");
  });
}

TEST_P(KeptChanges, StayWhereTheyCannotBeApplied) {
  as(GetParam(), [] {
    Desk desk;
    desk.file("ws/a", "old");
    desk.begin();
    desk.file("up/a", "run");
    desk.file("up/.git/hooks/post-commit", "evil");
    desk.link("up/link", "/home/victim/.bashrc");
    desk.file("ws/a", "host");
    Kept kept = registry(desk);
    keep(desk, kept, "run-1", 100);
    const auto entry = *kept.find("");
    const auto applied = kept.apply(*entry, open_at(desk.at("ws")), desk.task());
    ASSERT_TRUE(applied);
    EXPECT_THAT(words(applied->conflicts), ElementsAre("a: changed-meanwhile"));
    EXPECT_THAT(words(applied->refused), ElementsAre(".git: git-repository", "link: link-leaves"));
    EXPECT_EQ(desk.listing("ws"), "a 100644 'host'\n");
    EXPECT_TRUE(*kept.find("run-1"));
    EXPECT_FALSE(kept.apply(*entry, open_at(desk.at("scratch")), desk.task()));  // another directory
    EXPECT_TRUE(kept.discard(*entry));
    EXPECT_FALSE(*kept.find("run-1"));
  });
}

TEST_P(KeptChanges, GoByAgeAndFromTheOldestOnWhereTheyAreTooMany) {
  as(GetParam(), [] {
    Desk desk;
    desk.begin();
    Kept kept = registry(desk, {.seconds = 50, .bytes = 100'000, .entries = 3});
    for (int i = 1; i <= 4; ++i) {
      desk.file("up/f", std::string(20'000, 'x'));
      keep(desk, kept, "run-" + std::to_string(i), 100 + i * 10);
    }
    EXPECT_EQ(kept.list()->size(), 3U);
    EXPECT_FALSE(*kept.find("run-1"));
    desk.file("up/f", std::string(90'000, 'x'));
    keep(desk, kept, "run-5", 150);
    EXPECT_EQ(kept.list()->size(), 1U);
    const auto expired = kept.expire(201);
    ASSERT_TRUE(expired);
    EXPECT_EQ(expired->size(), 1U);
    EXPECT_EQ(desk.listing("kept"), "");
  });
}

TEST_P(KeptChanges, OfOneWorkspaceDoNotPushOutThoseOfAnother) {
  as(GetParam(), [] {
    Desk desk;
    desk.begin();
    Kept kept = registry(desk, {.seconds = 5'000, .bytes = 100'000, .entries = 6});
    desk.file("up/f", std::string(20'000, 'x'));
    keep(desk, kept, "mine", 100, "/elsewhere");
    for (int i = 1; i <= 8; ++i) {
      desk.file("up/f", std::string(40'000, 'x'));
      keep(desk, kept, "run-" + std::to_string(i), 100 + i * 10);
    }
    EXPECT_TRUE(*kept.find("mine"));
    desk.file("up/f", std::string(300'000, 'x'));
    keep(desk, kept, "huge", 300);
    EXPECT_TRUE(*kept.find("mine"));
    EXPECT_TRUE(*kept.find("huge"));
  });
}

TEST_P(KeptChanges, HaveIDsThatLeadNowhereElse) {
  as(GetParam(), [] {
    Desk desk;
    desk.begin();
    Kept kept = registry(desk);
    for (const char* id : {"", "..", ".x", "a/b", "a b"})
      EXPECT_FALSE(kept.keep(open_at(desk.at("")), "up", about(desk, id), 1)) << id;
    keep(desk, kept, "a", 1);
    EXPECT_FALSE(kept.keep(open_at(desk.at("")), "up", about(desk, "a"), 1));
    EXPECT_TRUE(*kept.find("a"));
    EXPECT_FALSE(*kept.find("../a"));
  });
}

}  // namespace
}  // namespace cordon::enforce::promote
