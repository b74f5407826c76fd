// Names that do not exist, kept from being made by an overlay over stubs: real runs, each as root and as an ordinary
// user. The control of every refusal is the same script over a plain bind.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "enforce/launch/harness_test.h"

namespace cordon::enforce::launch {
namespace {

namespace step = plan::step;
using testing::act;
using testing::As;
using testing::identity;
using testing::Manner;
using testing::PlanMaker;
using testing::read_file;
using testing::run;
using testing::Scratch;
using testing::Told;

class StubOverlay : public testing::Launch {};
INSTANTIATE_TEST_SUITE_P(Everybody, StubOverlay, ::testing::Values(As::kSelf, As::kUser), testing::name_of);

/// A project with a directory `sub`, and beside it the place for work directories.
struct Scene {
  Scene() {
    project = scratch.directory("project");
    scratch.directory("project/sub");
    work = scratch.directory("work");
  }
  [[nodiscard]] step::StubOverlay overlay() const {
    return {.source = project,
            .id = identity(project),
            .target = "/w",
            .stubs = {{.path = ".vscode"}, {.path = ".envrc", .directory = false}, {.path = "sub/.git"}},
            .work = work,
            .work_id = identity(work)};
  }
  [[nodiscard]] PlanMaker maker(const step::StubOverlay& overlay) const {
    PlanMaker out;
    out.mount(step::MakeDirectory{.target = "/w"}).mount(overlay).mount(step::Pin{.target = "/w/sub"});
    return out;
  }
  [[nodiscard]] PlanMaker bound() const {
    PlanMaker out;
    out.mount(step::MakeDirectory{.target = "/w"}).bind(project, "/w", {});
    return out;
  }
  Scratch scratch;
  std::string project, work;
};

enum class Marks : std::uint8_t { kShown, kIgnored };

/// Every name below, with type, mode and the names of its extended attributes; the overlay's own are its marks.
std::string listing(const std::string& root, Marks marks = Marks::kShown) {
  std::vector<std::string> lines;
  const auto add = [&](const std::string& path) {
    struct stat facts{};
    lstat(path.c_str(), &facts);
    std::array<char, 4096> names{};
    const ssize_t length = llistxattr(path.c_str(), names.data(), names.size());
    std::string line = path + " " + std::to_string(facts.st_mode);
    for (ssize_t i = 0; i < length;
         i += static_cast<ssize_t>(std::strlen(&names.at(static_cast<std::size_t>(i))) + 1)) {
      const std::string_view name = &names.at(static_cast<std::size_t>(i));
      if (marks == Marks::kShown || !name.starts_with("user.overlay.")) line.append(" ").append(name);
    }
    lines.push_back(line);
  };
  add(root);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) add(entry.path());
  std::ranges::sort(lines);
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

/// Each line makes, moves or removes a shielded name; "made" for each that could.
constexpr const char* kAttack =
    "cd /w; exec 2>/dev/null\n"
    "mkdir .vscode && echo made .vscode\n"
    "echo x > .vscode/tasks.json && echo made tasks\n"
    "echo x >> .envrc && echo made .envrc\n"
    "ln -sf /x .envrc && echo linked .envrc\n"
    "mkdir d; mv -T d .vscode && echo moved onto .vscode\n"
    "touch f; mv -T f .envrc && echo moved onto .envrc\n"
    "ln f .envrc && echo linked .envrc\n"
    "mv .vscode v && echo moved .vscode\n"
    "rmdir sub/.git && echo removed .git\n"
    "mkdir sub/.git && echo made .git\n"
    "mkdir -p sub/.git/hooks && echo made hooks\n"
    "mv sub sub2 && echo moved the parent\n"
    "rm -rf sub && echo removed the parent\n"
    "true";

TEST_P(StubOverlay, KeepsShieldedNamesFromBeingMade) {
  act(GetParam(), [] {
    const Scene scene;
    const Told told = run(scene.maker(scene.overlay()).shell(kAttack).plan());
    EXPECT_EQ(told.output, "") << told.error;
    EXPECT_EQ(told.exit_code(), 0);
    EXPECT_TRUE(told.held(Check::kMasked));
    EXPECT_TRUE(told.held(Check::kMountFlags));
    const Scene control;
    EXPECT_NE(run(control.bound().shell(kAttack).plan()).output.find("moved the parent"), std::string::npos);
  });
}

TEST_P(StubOverlay, ShowsThemEmpty) {
  act(GetParam(), [] {
    const Scene scene;
    const Told told = run(scene.maker(scene.overlay()).shell("cd /w; ls -A .vscode sub/.git; cat .envrc").plan());
    EXPECT_EQ(told.output, ".vscode:\n\nsub/.git:\n") << told.error;
  });
}

TEST_P(StubOverlay, DoesEverythingElseInTheRealDirectory) {
  act(GetParam(), [] {
    const Scene scene;
    std::ofstream(scene.project + "/old") << "old\n";
    const Told told = run(scene.maker(scene.overlay())
                              .shell("set -e; cd /w; echo new > new; cat old; mkdir -p d/e; mv d moved; ln new hard;"
                                     "ln -s new soft; mv old sub/old; rm new; rm -r moved; mkdir moved; touch moved/x;"
                                     "echo y > y; mv y hard; chmod 700 moved; mkdir sub/a; mv sub/a b; rmdir b")
                              .plan());
    EXPECT_EQ(told.output, "old\n") << told.error;
    EXPECT_EQ(told.exit_code(), 0);
    EXPECT_EQ(read_file(scene.project + "/hard"), "y\n");
    EXPECT_EQ(read_file(scene.project + "/sub/old"), "old\n");
    EXPECT_TRUE(std::filesystem::is_symlink(scene.project + "/soft"));
    EXPECT_TRUE(std::filesystem::exists(scene.project + "/moved/x"));
    EXPECT_FALSE(std::filesystem::exists(scene.project + "/b"));
  });
}

TEST_P(StubOverlay, LeavesNoStubAndNoWorkDirectory) {
  act(GetParam(), [] {
    const Scene scene;
    const std::string before = listing(scene.scratch.path(), Marks::kIgnored);
    std::string during;
    Manner manner;
    manner.hear = [&](const Started&, const Message& message) {
      if (message.kind == Kind::kReady) during = listing(scene.scratch.path(), Marks::kIgnored);
    };
    const Told told = run(scene.maker(scene.overlay()).shell("cd /w; ls -R; touch x; rm x").plan(), manner);
    EXPECT_EQ(told.exit_code(), 0) << told.error << told.output;
    EXPECT_EQ(during, before) << "while the target runs, as after it: whoever is killed then, nothing is left";
    EXPECT_EQ(listing(scene.scratch.path(), Marks::kIgnored), before);
  });
}

TEST_P(StubOverlay, FailsWhereAMarkHidesAStub) {
  act(GetParam(), [] {
    const Scene scene;
    const auto plan = scene.maker(scene.overlay()).shell("echo ran").plan();
    EXPECT_EQ(run(plan).output, "ran\n") << "the control";
    ASSERT_EQ(::setxattr((scene.project + "/sub").c_str(), "user.overlay.opaque", "y", 1, 0), 0);
    const Told told = run(plan);
    EXPECT_EQ(told.output, "") << told.error;
    EXPECT_NE(told.exit_code(), 0);
  });
}

TEST_P(StubOverlay, HasTheAttributesOfItsOwn) {
  act(GetParam(), [] {
    const Scene scene;
    std::ofstream(scene.project + "/run") << "#!/bin/sh\necho ran\n";
    std::filesystem::permissions(scene.project + "/run", std::filesystem::perms(0755));
    step::StubOverlay overlay = scene.overlay();
    EXPECT_EQ(run(scene.maker(overlay).shell("/w/run").plan()).output, "ran\n") << "the control";
    overlay.attributes.noexec = true;
    EXPECT_EQ(run(scene.maker(overlay).shell("/w/run 2>/dev/null").plan()).output, "");
    const Told told = run(scene.maker(overlay).shell("grep ' /w .* overlay ' /proc/self/mountinfo").plan());
    EXPECT_NE(told.output.find("nosuid,nodev,noexec"), std::string::npos) << told.output;
  });
}

TEST_P(StubOverlay, IsNotDetachedByWhatTheHostPutsInItsPlace) {
  act(GetParam(), [] {
    const Scene scene;
    Manner manner;
    manner.hear = [&](const Started&, const Message& message) {
      if (message.kind != Kind::kReady) return;
      std::filesystem::create_directory(scene.project + "/.vscode");
      std::ofstream(scene.project + "/.tmp") << "from the host";
      std::filesystem::rename(scene.project + "/.tmp", scene.project + "/.envrc");
      std::filesystem::remove(scene.project + "/.vscode");
      std::filesystem::create_directory(scene.project + "/.vscode");
      std::ofstream(scene.project + "/go") << "go";
    };
    const Told told = run(scene.maker(scene.overlay())
                              .shell("sleep 0.3; cd /w; cat .envrc; echo evil > .envrc; echo evil > .vscode/x; ls sub")
                              .plan(),
                          manner);
    EXPECT_EQ(told.output.find("from the host"), std::string::npos) << told.output;
    EXPECT_EQ(read_file(scene.project + "/.envrc"), "from the host");
    EXPECT_FALSE(std::filesystem::exists(scene.project + "/.vscode/x"));
  });
}

TEST_P(StubOverlay, CreatesTheGrantItselfWhereItIsMissing) {
  act(GetParam(), [] {
    const Scene scene;
    step::StubOverlay overlay = scene.overlay();
    overlay.source += "/new";
    overlay.create = {"new"};
    overlay.stubs = {{.path = ".git"}};
    PlanMaker maker;
    maker.mount(step::MakeDirectory{.target = "/w"}).mount(overlay);
    const Told told = run(maker.shell("cd /w; touch x; mkdir .git/hooks 2>/dev/null && echo made").plan());
    EXPECT_EQ(told.output, "") << told.error;
    EXPECT_TRUE(std::filesystem::exists(scene.project + "/new/x"));
    EXPECT_FALSE(std::filesystem::exists(scene.project + "/new/.git"));
  });
}

void expect_refused(const plan::Plan& plan, std::initializer_list<int> codes) {
  const Told told = run(plan);
  const Message* failed = told.first(Kind::kStepFailed);
  ASSERT_NE(failed, nullptr) << told.error << told.output;
  EXPECT_EQ(plan::step_name(plan.at({failed->step}).act), "stub-overlay");
  EXPECT_NE(std::ranges::find(codes, failed->code), codes.end()) << failed->text.data() << " " << failed->code;
  EXPECT_EQ(told.output, "");
}

TEST_P(StubOverlay, RefusesAnExchangedDirectoryAndAnExchangedWorkPlace) {
  act(GetParam(), [] {
    for (const bool work : {false, true}) {
      const Scene scene;
      const plan::Plan plan = scene.maker(scene.overlay()).shell("echo ran").plan();
      const std::string& gone = work ? scene.work : scene.project;
      std::filesystem::rename(gone, scene.scratch.path() + "/old");
      std::filesystem::create_directory(gone);
      expect_refused(plan, {ESTALE});
    }
  });
}

TEST_P(StubOverlay, FailsByNameWhereNoOverlayCanBe) {
  act(GetParam(), [] {
    testing::leave_the_hosts_mounts();
    const Scene scene;
    // The work place on another mount, and below the directory itself.
    ASSERT_EQ(::mount(scene.work.c_str(), scene.work.c_str(), nullptr, MS_BIND, nullptr), 0);
    expect_refused(scene.maker(scene.overlay()).shell("echo ran").plan(), {EINVAL});
    step::StubOverlay below = scene.overlay();
    below.work = scene.scratch.directory("project/sub/work");
    below.work_id = identity(below.work);
    expect_refused(scene.maker(below).shell("echo ran").plan(), {EINVAL});
    EXPECT_TRUE(std::filesystem::is_empty(below.work));
  });
}

TEST_P(StubOverlay, FailsWhereAStubIsALinkOrAFileByNow) {
  act(GetParam(), [] {
    const Scene scene;
    const plan::Plan plan = scene.maker(scene.overlay()).shell("echo ran").plan();
    std::filesystem::create_symlink("sub", scene.project + "/.vscode");
    expect_refused(plan, {ELOOP});
    std::filesystem::remove(scene.project + "/.vscode");
    std::ofstream(scene.project + "/.vscode") << "x";
    expect_refused(plan, {ENOTDIR, EINVAL});
  });
}

}  // namespace
}  // namespace cordon::enforce::launch
