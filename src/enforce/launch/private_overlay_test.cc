// A directory that is written nowhere but in a layer of Cordon's own: real runs, each as root and as an ordinary user.
// The control is the same script over a plain bind.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "enforce/launch/harness_test.h"

namespace cordon::enforce::launch {
namespace {

namespace step = plan::step;
using testing::act;
using testing::As;
using testing::identity;
using testing::PlanMaker;
using testing::read_file;
using testing::run;
using testing::Scratch;
using testing::Told;

class PrivateOverlay : public testing::Launch {};
INSTANTIATE_TEST_SUITE_P(Everybody, PrivateOverlay, ::testing::Values(As::kSelf, As::kUser), testing::name_of);

struct Scene {
  Scene() {
    project = scratch.directory("project");
    scratch.directory("project/sub");
    std::ofstream(project + "/file") << "old";
    std::ofstream(project + "/sub/kept") << "kept";
    place = scratch.directory("place");
    scratch.directory("place/upper");
    scratch.directory("place/work");
  }
  [[nodiscard]] step::PrivateOverlay overlay() const {
    return {.source = project, .id = identity(project), .target = "/w", .place = place, .place_id = identity(place)};
  }
  [[nodiscard]] static PlanMaker maker(const step::PrivateOverlay& overlay) {
    PlanMaker out;
    out.mount(step::MakeDirectory{.target = "/w"}).mount(overlay);
    return out;
  }
  [[nodiscard]] PlanMaker bound() const {
    PlanMaker out;
    out.mount(step::MakeDirectory{.target = "/w"}).bind(project, "/w", {});
    return out;
  }
  Scratch scratch;
  std::string project, place;
};

constexpr const char* kWork =
    "cd /w && echo new > file && echo made > other && rm sub/kept && mkdir deep && cat file other && ls sub deep";

TEST_P(PrivateOverlay, IsChangedByTheTargetAndTheHostIsNot) {
  act(GetParam(), [] {
    const Scene scene;
    const Told told = run(Scene::maker(scene.overlay()).shell(kWork).plan());
    EXPECT_EQ(told.output, "new\nmade\ndeep:\n\nsub:\n");
    EXPECT_EQ(read_file(scene.project + "/file"), "old");
    EXPECT_EQ(read_file(scene.project + "/sub/kept"), "kept");
    EXPECT_FALSE(std::filesystem::exists(scene.project + "/other"));
    EXPECT_FALSE(std::filesystem::exists(scene.project + "/deep"));
    EXPECT_EQ(read_file(scene.place + "/upper/file"), "new\n");
    EXPECT_EQ(read_file(scene.place + "/upper/other"), "made\n");

    const Scene control;
    run(control.bound().shell(kWork).plan());
    EXPECT_EQ(read_file(control.project + "/file"), "new\n");
    EXPECT_FALSE(std::filesystem::exists(control.project + "/sub/kept"));
  });
}

TEST_P(PrivateOverlay, MayExecuteWhatWasWrittenUnlessItIsNoexec) {
  act(GetParam(), [] {
    constexpr const char* kScript = "cd /w && printf '#!/bin/sh\\necho ran\\n' > x && chmod +x x && ./x 2>&1; true";
    const Scene scene;
    EXPECT_EQ(run(Scene::maker(scene.overlay()).shell(kScript).plan()).output, "ran\n");
    const Scene other;
    step::PrivateOverlay overlay = other.overlay();
    overlay.attributes.noexec = true;
    EXPECT_NE(run(Scene::maker(overlay).shell(kScript).plan()).output, "ran\n");
  });
}

TEST_P(PrivateOverlay, RefusesAnExchangedDirectoryAndAnExchangedPlace) {
  act(GetParam(), [] {
    for (const bool place : {false, true}) {
      const Scene scene;
      const plan::Plan plan = Scene::maker(scene.overlay()).shell("echo ran").plan();
      const std::string moved = place ? scene.place : scene.project;
      std::filesystem::rename(moved, moved + ".old");
      std::filesystem::copy(moved + ".old", moved, std::filesystem::copy_options::recursive);
      const Told told = run(plan);
      EXPECT_EQ(told.output, "");
      const Message* failed = told.first(Kind::kStepFailed);
      ASSERT_NE(failed, nullptr) << told.error;
      EXPECT_EQ(failed->code, ESTALE);
    }
  });
}

}  // namespace
}  // namespace cordon::enforce::launch
