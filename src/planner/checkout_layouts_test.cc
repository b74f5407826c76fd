// What a write grant over a checkout must not reach, and what it may.
#include <gtest/gtest.h>

#include "planner/layout_test.h"

namespace cordon::planner {
namespace {

using testing::FakeHost;
using testing::Layout;
using testing::PolicyMaker;

const std::vector<Layout>& layouts() {
  using H = FakeHost&;
  using P = PolicyMaker&;
  static const std::vector<Layout> kLayouts = {
      {"hooks and configuration of a checkout",
       [](H h, P p) {
         h.directory("/home/me/p/.git/hooks", 1000);
         h.file("/home/me/p/.git/config", "", 1000);
         h.directory("/home/me/p", 1000);
         p.write("/home/me/p");
       },
       "",
       {},
       {"/home/me/p/.git/hooks", "/home/me/p/.git/config"},
       {}},
      {"hooks by name",
       [](H h, P p) {
         h.directory("/home/me/p/.git/hooks", 1000);
         p.write("/home/me/p/.git/hooks");
       },
       "write-inside-read-only-shield"},
      {"editor settings by name",
       [](H h, P p) {
         h.directory("/home/me/p/.git", 1000);
         h.directory("/home/me/p/.vscode", 1000);
         p.write("/home/me/p").write("/home/me/p/.vscode");
       },
       "",
       {},
       {},
       {}},
      {"editor settings",
       [](H h, P p) {
         h.directory("/home/me/p/.git", 1000);
         h.directory("/home/me/p/.vscode", 1000);
         h.directory("/home/me/p", 1000);
         p.write("/home/me/p");
       },
       "",
       {},
       {"/home/me/p/.vscode"},
       {}},
      {"a repository without a checkout",
       [](H h, P p) {
         h.directory("/srv/b.git/hooks", 1000);
         h.file("/srv/b.git/HEAD", "ref: refs/heads/main", 1000);
         h.file("/srv/b.git/config", "", 1000);
         h.directory("/srv/b.git", 1000);
         p.write("/srv/b.git");
       },
       "",
       {},
       {"/srv/b.git/hooks", "/srv/b.git/config"},
       {}},
      {"a repository that only what it holds tells",
       [](H h, P p) {
         h.directory("/srv/x/b/hooks", 1000);
         h.directory("/srv/x/b/refs", 1000);
         h.directory("/srv/x/b/objects/in", 1000);
         h.file("/srv/x/b/HEAD", "ref: refs/heads/main", 1000);
         h.file("/srv/x/b/config", "", 1000);
         h.directory("/srv/x/b", 1000);
         p.write("/srv/x");
         p.write("/srv/x/b/objects/in");
       },
       "",
       {},
       {"/srv/x/b/hooks", "/srv/x/b/config"},
       {}},
      {"a git directory by way of a link in the checkout",
       [](H h, P p) {
         h.directory("/home/me/p/deep/g/hooks", 1000);
         h.file("/home/me/p/deep/g/config", "", 1000);
         h.directory("/home/me/p", 1000);
         h.link("/home/me/p/way", "deep", 1000);
         h.file("/home/me/p/.git", "gitdir: way/g\n", 1000);
         p.write("/home/me/p");
       },
       "",
       {},
       {"/home/me/p/deep/g/hooks", "/home/me/p/deep/g/config", "/home/me/p/.git"},
       {},
       {"/home/me/p/way"}},
      {"a submodule's repository and the file that leads to it",
       [](H h, P p) {
         h.directory("/home/me/p/.git/modules/sub/hooks", 1000);
         h.file("/home/me/p/.git/modules/sub/config", "[core]\nworktree = ../../../sub\n", 1000);
         h.file("/home/me/p/sub/.git", "gitdir: ../.git/modules/sub", 1000);
         h.directory("/home/me/p", 1000);
         p.write("/home/me/p");
       },
       "",
       {},
       {"/home/me/p/.git/modules/sub/hooks", "/home/me/p/.git/modules/sub/config", "/home/me/p/sub/.git"},
       {}},
      {"a checkout whose git directory is a link",
       [](H h, P p) {
         h.directory("/home/me/g/hooks", 1000);
         h.directory("/home/me/p", 1000);
         h.link("/home/me/p/.git", "../g", 1000);
         p.write("/home/me/p").write("/home/me/g");
       },
       "",
       {},
       {"/home/me/g/hooks"},
       {},
       {"/home/me/p/.git"}},
  };
  return kLayouts;
}

TEST(Checkout, EachLayoutHasItsVerdict) { testing::expect_verdicts(layouts()); }

}  // namespace
}  // namespace cordon::planner
