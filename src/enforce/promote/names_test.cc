#include "enforce/promote/names.h"

#include <gtest/gtest.h>

#include "enforce/promote/links.h"

namespace cordon::enforce::promote {
namespace {

TEST(Fold, MakesSmallWhatACaseFoldingFileSystemTakesForTheSame) {
  EXPECT_EQ(fold(".GiT"), ".git");
  EXPECT_EQ(fold(".gitconﬁg"), ".gitconfig");
  EXPECT_EQ(fold("\u212aeys"), "keys");
  EXPECT_EQ(fold("pa\u017f\u017fwd"), "passwd");
  EXPECT_EQ(fold("\u00dfh"), "ssh");
  EXPECT_EQ(fold(".g\u200bi\u00adt"), ".git");
  EXPECT_EQ(fold("\u00c4"), "\u00c4");
  EXPECT_EQ(fold("a\xff"
                 "b"),
            "a\xff"
            "b");
}

TEST(ProtectedNames, KnowsANameAtAnyDepthAndATailAtAnyPlace) {
  const ProtectedNames names({".envrc", ".vscode/tasks.json"});
  EXPECT_EQ(names.why_not(".git"), Reason::kGitRepository);
  EXPECT_EQ(names.why_not("a/b/.Git"), Reason::kGitRepository);
  EXPECT_EQ(names.why_not("a/.Envrc"), Reason::kShielded);
  EXPECT_EQ(names.why_not(".vscode/tasks.json"), Reason::kShielded);
  EXPECT_EQ(names.why_not("a/.VSCODE/tasks.json"), Reason::kShielded);
  EXPECT_EQ(names.why_not("a/x.vscode/tasks.json"), std::nullopt);
  EXPECT_EQ(names.why_not("tasks.json"), std::nullopt);
  EXPECT_EQ(names.why_not(".gitignore"), std::nullopt);
  EXPECT_EQ(names.why_not(".envrc.example"), std::nullopt);
}

bool is_bare(std::initializer_list<const char*> names) {
  BareRepository out;
  for (const char* name : names) out.add(name);
  return out.is_one();
}

TEST(BareRepository, IsWhatGitTakesForOne) {
  EXPECT_TRUE(is_bare({"HEAD", "objects", "refs"}));
  EXPECT_TRUE(is_bare({"refs", "x", "head", "OBJECTS"}));
  EXPECT_TRUE(is_bare({"HEAD", "commondir"}));
  EXPECT_FALSE(is_bare({"HEAD", "objects"}));
  EXPECT_FALSE(is_bare({"objects", "refs", "commondir"}));
}

TEST(Links, MayPointIntoTheWorkspaceAndTheAllowedRootsOnly) {
  const LinkRules rules{.workspace = "/home/me/ws", .allowed_roots = {"/usr"}};
  const ProtectedNames names({".envrc"});
  const auto why = [&](const char* path, const char* target) { return why_not_link(path, target, rules, names); };
  for (const char* good : {"x", "./x", "../x", "../../x", "/usr/bin/python3", "/usr", "/home/me/ws", "/home/me/ws/a"})
    EXPECT_EQ(why("a/b/link", good), std::nullopt) << good;
  for (const char* bad : {"", "../../../x", "/", "/etc/passwd", "/usrx", "/usr/../etc", "x/../../y", "../x/..",
                          "/home/me", "/home/me/ws2", "/home/me/ws/../x"})
    EXPECT_EQ(why("a/b/link", bad), Reason::kLinkLeaves) << bad;
  EXPECT_EQ(why("link", "a"), std::nullopt);
  EXPECT_EQ(why("link", ".."), Reason::kLinkLeaves);
  EXPECT_EQ(why("a/link", ".."), std::nullopt);
  EXPECT_EQ(why("a/link", "../.GIT/config"), Reason::kGitRepository);
  EXPECT_EQ(why("a/link", "/home/me/ws/sub/.envrc"), Reason::kShielded);
}

}  // namespace
}  // namespace cordon::enforce::promote
