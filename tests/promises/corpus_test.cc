// Promise: of every rule of the corpus nothing is read, changed, moved, replaced, linked, removed or made again,
// whatever is granted around it, and whatever in a granted project leads to it. The control is the same acts, bare.

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "planted.h"
#include "support/require.h"

namespace cordon::test {
namespace {
namespace fs = std::filesystem;
namespace shield = policy::shield;
using testing::IsEmpty;

using Corpus = PlantedHome;
INSTANTIATE_TEST_SUITE_P(As, Corpus, testing::ValuesIn(identities()), identity_name);

using Verdicts = std::map<std::string, std::string>;

/// What `act` said of each act, all at once.
Verdicts verdicts(const Finished& finished) {
  Verdicts all;
  std::istringstream in(finished.out);
  const std::string shown = "| " + std::string(kSentinel);  // no newline follows it
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(shown)) line.erase(0, shown.size());
    for (const char* word : {" ALLOWED", " DENIED "}) {
      const std::size_t at = line.rfind(word);
      if (at != std::string::npos) all[line.substr(0, at)] = line.substr(at + 1);
    }
  }
  return all;
}

/// Thousands of acts: a file of them, and one run.
class Acts {
 public:
  explicit Acts(const Scene& scene) : scene_(scene) {}

  void add(std::string act) { all_.push_back(std::move(act)); }
  [[nodiscard]] Finished inside(std::string_view grants) const {
    return scene_.sandboxed(act_manifest({from()}, grants));
  }
  [[nodiscard]] Finished bare() const { return scene_.acts_bare({from()}); }

  void expect_all_denied(const Finished& inside) const {
    EXPECT_EQ(inside.code, 0) << inside.err;
    expect(inside, "DENIED", "inside");
    EXPECT_EQ(inside.out.find("| " + std::string(kSentinel)), std::string::npos);
  }
  void expect_all_allowed(const Finished& bare) const {
    expect(bare, "ALLOWED", "the control, bare");
    const auto reads =
        std::ranges::count_if(all_, [](const std::string& act) { return act.starts_with("show-file="); });
    std::ptrdiff_t shown = 0;
    const std::string sentinel = "| " + std::string(kSentinel);
    for (std::size_t at = bare.out.find(sentinel); at != std::string::npos; at = bare.out.find(sentinel, at + 1))
      ++shown;
    EXPECT_EQ(shown, reads) << "the control reads every one";
  }

 private:
  /// Beside the program, whose directory every manifest of the scene shows.
  [[nodiscard]] std::string from() const {
    std::string text;
    for (const std::string& act : all_) text += act + "\n";
    return "from=" + scene_.tree().write("work/acts", text);
  }
  /// A few lines of what is wrong, not thousands.
  void expect(const Finished& finished, std::string_view start, std::string_view where) const {
    const Verdicts said = verdicts(finished);
    std::vector<std::string> wrong;
    for (const std::string& act : all_) {
      const auto found = said.find(act);
      const std::string answer = found == said.end() ? "(not tried)" : found->second;
      // What stands for a hidden file may be opened: it is empty, which is looked at above.
      const bool fine = answer.starts_with(start) || (act.starts_with("show-file=") && answer == "ALLOWED");
      if (!fine) wrong.push_back(act + " " + answer);
    }
    EXPECT_GT(all_.size(), 0U);
    EXPECT_EQ(wrong.size(), 0U) << where << ", of " << all_.size() << " acts";
    for (std::size_t i = 0; i < std::min<std::size_t>(wrong.size(), 5); ++i) ADD_FAILURE() << where << ": " << wrong[i];
  }

  const Scene& scene_;
  std::vector<std::string> all_;
};

/// In an order in which each succeeds where nothing stands against it.
void add_acts(Acts& acts, const Planted& each, const std::string& at) {
  if (each.hidden()) acts.add("show-file=" + at);
  acts.add("append=" + at);
  acts.add("link=" + at + ":" + at + ".link");
  acts.add("rename=" + at + ":" + at + ".moved");
  acts.add("create=" + at);
  acts.add("rename=" + at + ".moved:" + at);
  acts.add("unlink=" + at);
  acts.add("symlink=" + at + ".link:" + at);
}

TEST_P(Corpus, NoSentinelIsReachedUnderAReadOfTheRootOrOfTheHome) {
  const std::vector<Planted> planted = plant();
  ASSERT_GT(planted.size(), 500U);
  Acts acts(scene);
  for (const Planted& each : planted) add_acts(acts, each, each.sentinel);
  for (const char* grant : {"/", "~"}) {
    acts.expect_all_denied(acts.inside(list("read", {grant, "./acts"})));
    expect_unchanged(planted);
  }
  acts.expect_all_allowed(acts.bare());
}

TEST_P(Corpus, NoLinkInAWritableProjectLeadsToASentinel) {
  const std::vector<Planted> planted = plant();
  Acts acts(scene);
  for (std::size_t i = 0; i < planted.size(); ++i) {
    const fs::path sentinel(planted[i].sentinel);
    const std::string link = scene.tree().link("home/project/in/" + std::to_string(i), sentinel.parent_path());
    add_acts(acts, planted[i], link + "/" + sentinel.filename().string());
  }
  const std::string write = list("write", {"~/project"});
  for (const std::vector<std::string>& read : {std::vector<std::string>{"./acts"}, {"./acts", "~"}, {"./acts", "/"}}) {
    acts.expect_all_denied(acts.inside(write + list("read", read)));
    expect_unchanged(planted);
  }
  acts.expect_all_allowed(acts.bare());
}

/// Directories of the home that hold shields and are none themselves.
std::set<std::string> tops_of(const std::vector<Planted>& planted, const std::string& home) {
  std::set<std::string> tops, stores;
  for (const Planted& each : planted) stores.insert(each.store);
  for (const Planted& each : planted) {
    const std::string below = each.store.substr(home.size() + 1);
    const std::string top = home + "/" + below.substr(0, below.find('/'));
    if (below.contains('/') && !stores.contains(top)) tops.insert(top);
  }
  return tops;
}

/// The store itself and every directory between it and its top.
std::vector<std::string> chain_of(const Planted& each, const std::string& top) {
  std::vector<std::string> out;
  for (fs::path at = each.store; at != top; at = at.parent_path()) out.push_back(at.string());
  return out;
}

TEST_P(Corpus, NoAncestorOfAShieldIsMovedExchangedOrReplacedBelowAWriteGrant) {
  const std::vector<Planted> planted = plant();
  const std::set<std::string> tops = tops_of(planted, scene.home());
  ASSERT_GT(tops.size(), 10U);
  for (const std::string& top : tops) {
    const std::string name = "home/" + fs::path(top).filename().string();
    scene.tree().make_directory(name + "/spare");
    scene.tree().write(name + "/mine", "mine");
  }
  std::set<std::string> chain, directories;
  for (const Planted& each : planted) {
    if (!tops.contains(top_of(each.store))) continue;
    for (std::string& at : chain_of(each, top_of(each.store))) {
      if (fs::is_directory(at)) directories.insert(at);
      chain.insert(std::move(at));
    }
  }
  Acts reversible(scene), more(scene);
  for (const std::string& at : chain) {
    const std::string spare = top_of(at) + (directories.contains(at) ? "/spare" : "/mine");
    reversible.add("rename=" + at + ":" + at + ".moved");
    reversible.add("rename=" + at + ".moved:" + at);
    reversible.add("exchange=" + at + ":" + spare);
    reversible.add("exchange=" + spare + ":" + at);
    for (const char* act : {"unlink=", "rmdir=", "mkdir=", "create=", "append="}) more.add(act + at);
    more.add("rename=" + spare + ":" + at);
    more.add("link=" + top_of(at) + "/mine:" + at);
    more.add("symlink=" + spare + ":" + at);
  }
  std::vector<std::string> grants(tops.begin(), tops.end());
  const std::string lines = list("write", grants) + list("read", {"./acts"});
  const Snapshot before = snapshot(scene.home());
  reversible.expect_all_denied(reversible.inside(lines));
  more.expect_all_denied(more.inside(lines));
  // What .local/state holds of Cordon's own is no matter of this promise; `spare` and `mine` may be worked on.
  expect_unchanged(planted);
  for (const std::string& at : chain) {
    const std::string name = at.substr(scene.home().size());
    EXPECT_EQ(snapshot(at).at(""), before.at(name)) << at;
  }
  reversible.expect_all_allowed(reversible.bare());
}

/// In a mount namespace of the command's own these directories (or files) are shown once more.
Command& with_binds(Command& command, const std::vector<std::pair<std::string, std::string>>& binds) {
  const uid_t uid = ::geteuid();
  const gid_t gid = ::getegid();
  return command.before([binds, uid, gid] {
    const auto write = [](const char* path, const std::string& text) {
      const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
      require(fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()), path);
      ::close(fd);
    };
    require(::unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) == 0, "unshare");
    if (uid != 0) {
      const auto same = [](unsigned id) { return std::to_string(id) + " " + std::to_string(id) + " 1"; };
      write("/proc/self/setgroups", "deny");
      write("/proc/self/uid_map", same(uid));
      write("/proc/self/gid_map", same(gid));
    }
    require(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "private mounts");
    for (const auto& [from, to] : binds) require(::mount(from.c_str(), to.c_str(), nullptr, MS_BIND, nullptr) == 0, to);
  });
}

class CorpusAliases : public PlantedHome {
 protected:
  CorpusAliases() : project(scene.tree().make_directory("home/project")) {
    planted = plant();
    manifest = scene.manifest(act_manifest({"append=" + project + "/0"}, list("write", {"~/project"})));
  }
  [[nodiscard]] Command cordon(std::vector<std::string> words) const {
    words.push_back(manifest);
    return scene.cordon(words).timeout(120'000);
  }
  /// Which rules' other names are seen, where all in the project are accepted.
  [[nodiscard]] std::set<std::string> seen(const Finished& inspected) const {
    std::set<std::string> out;
    const auto plan = nlohmann::json::parse(inspected.out, nullptr, false);
    EXPECT_FALSE(plan.is_discarded()) << inspected;
    if (plan.is_discarded()) return out;
    for (const auto& alias : plan.value("accepted_aliases", nlohmann::json::array())) {
      out.insert(alias.at("path").get<std::string>());
    }
    return out;
  }
  [[nodiscard]] std::string name_of(std::size_t i) const { return project + "/" + std::to_string(i); }

  std::string project, manifest;
  std::vector<Planted> planted;
};
INSTANTIATE_TEST_SUITE_P(As, CorpusAliases, testing::ValuesIn(identities()), identity_name);

/// Files of large trees, and of trees whose files have other names as a matter of course, are not looked at one by one.
bool files_are_looked_at(const policy::shield::HomeRule& rule) {
  return rule.kind == shield::Kind::kFile || rule.alias_anchor == shield::AliasAnchor::kYes;
}

TEST_P(CorpusAliases, AHardLinkOfASentinelInAWritableProjectRefuses) {
  std::set<std::string> expected;
  for (std::size_t i = 0; i < planted.size(); ++i) {
    ASSERT_EQ(::link(planted[i].sentinel.c_str(), name_of(i).c_str()), 0) << planted[i].sentinel;
    if (files_are_looked_at(*planted[i].rule)) expected.insert(name_of(i));
  }
  ASSERT_GT(expected.size(), 250U);
  std::set<std::string> found = seen(cordon({"inspect", "--json", "--accept-alias", project}).run());
  std::vector<std::string> missed;
  std::ranges::set_difference(expected, found, std::back_inserter(missed));
  EXPECT_THAT(missed, IsEmpty());
  const Finished refused = cordon({"run", "--allow-unapproved"}).run();
  EXPECT_EQ(refused.code, 125) << refused;
  EXPECT_TRUE(refused.says("hard link")) << refused;
  expect_unchanged(planted);
}

TEST_P(CorpusAliases, AMountOfAStoreInAWritableProjectRefuses) {
  std::vector<std::pair<std::string, std::string>> binds;
  std::set<std::string> expected;
  for (std::size_t i = 0; i < planted.size(); ++i) {
    const std::string name = "home/project/" + std::to_string(i);
    fs::is_directory(planted[i].store) ? scene.tree().make_directory(name) : scene.tree().write(name, "");
    binds.emplace_back(planted[i].store, name_of(i));
    expected.insert(name_of(i));
  }
  Command inspect = cordon({"inspect", "--json", "--accept-alias", project});
  const std::set<std::string> found = seen(with_binds(inspect, binds).run());
  std::vector<std::string> missed;
  std::ranges::set_difference(expected, found, std::back_inserter(missed));
  EXPECT_THAT(missed, IsEmpty());
  Command run = cordon({"run", "--allow-unapproved"});
  const Finished refused = with_binds(run, binds).run();
  EXPECT_EQ(refused.code, 125) << refused;
  EXPECT_TRUE(refused.says("(a mount)")) << refused;
  expect_unchanged(planted);
  Command bare = scene.outside({"cat", name_of(0) + (fs::is_directory(planted[0].store) ? "/sentinel" : "")});
  EXPECT_EQ(with_binds(bare, binds).run().out, kSentinel) << "the control: it is shown there";
}

// What starts at login, and small directories of start-up files: in a store whose files have other names as a matter of
// course nothing is looked for, which is the control.
TEST_P(CorpusAliases, AHardLinkOfAFileInAStartUpDirectoryRefuses) {
  for (const char* store : {".config/autostart", ".config/systemd", ".bashrc.d", ".config/fish"}) {
    const std::string link = project + "/link";
    ASSERT_EQ(::link((scene.home() + "/" + store + "/sentinel").c_str(), link.c_str()), 0) << store;
    const Finished refused = cordon({"run", "--allow-unapproved"}).run();
    EXPECT_EQ(refused.code, 125) << refused;
    EXPECT_TRUE(refused.says("hard link")) << store << refused;
    fs::remove(link);
  }
  ASSERT_EQ(::link((scene.home() + "/.vim/sentinel").c_str(), name_of(1).c_str()), 0);
  EXPECT_EQ(cordon({"run", "--allow-unapproved"}).run().code, 0);
}

// A start-up file that has another name in what is only read harms nobody.
TEST_P(CorpusAliases, AnotherNameOfAReadableFileMattersBelowAWriteGrantAlone) {
  const std::string startup = scene.home() + "/.bashrc";
  ASSERT_EQ(::link(startup.c_str(), name_of(0).c_str()), 0);
  EXPECT_EQ(cordon({"run", "--allow-unapproved"}).run().code, 125);
  manifest = scene.manifest(act_manifest({"show-file=" + name_of(0)}, list("read", {"~/project"})));
  const Finished read = cordon({"run", "--allow-unapproved"}).run();
  EXPECT_EQ(read.code, 0) << read;
  EXPECT_TRUE(read.says("| " + std::string(kSentinel))) << read;
}

}  // namespace
}  // namespace cordon::test
