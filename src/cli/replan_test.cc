#include "cli/replan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace cordon::cli {
namespace {

using plan::Feature;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

plan::Plan three_steps() {
  plan::Plan plan;
  plan.steps = {{plan::step::EnterNamespaces{}, plan::Layer::kProcesses, "base", {}},
                {plan::step::Bind{}, plan::Layer::kFilesystem, "read: ./x", {}},
                {plan::step::Landlock{}, plan::Layer::kLandlock, "base", {}}};
  return plan;
}

base::Error failed(std::uint16_t step, int code) {
  return {.operation = "call", .subject = "", .code = code, .step = {step}, .detail = ""};
}

TEST(Replan, ARefusedNamespaceIsAskedAboutAnew) {
  EXPECT_THAT(features_behind(three_steps(), failed(1, EPERM)), Contains(Feature::kUserNamespace));
  EXPECT_THAT(features_behind(three_steps(), failed(3, EOPNOTSUPP)), Contains(Feature::kLandlock));
}

TEST(Replan, AnObjectThatWasSwappedOrIsGoneIsNoFactOfTheHost) {
  EXPECT_THAT(features_behind(three_steps(), failed(2, ESTALE)), IsEmpty());
  EXPECT_THAT(features_behind(three_steps(), failed(2, ENOENT)), IsEmpty());
}

TEST(Replan, AnOverlayThatCannotBeMountedIsAFactOfItsDirectory) {
  plan::Plan plan;
  plan.steps = {{plan::step::StubOverlay{.source = "/p"}, plan::Layer::kFilesystem, "write: /p", {}},
                {plan::step::StubOverlay{.source = "/q"}, plan::Layer::kFilesystem, "write: /q", {}}};
  EXPECT_THAT(refused_overlays(plan, failed(1, EINVAL)), ElementsAre("/p", "/q"));
  EXPECT_THAT(refused_overlays(plan, failed(1, ESTALE)), IsEmpty()) << "another object stands there";
  EXPECT_THAT(refused_overlays(plan, failed(1, ELOOP)), IsEmpty()) << "a stub's name is a link by now";
  EXPECT_THAT(refused_overlays(three_steps(), failed(2, EINVAL)), IsEmpty());
}

TEST(Replan, AFailureOutsideAnyStepIsNotAskedAbout) {
  EXPECT_THAT(features_behind(three_steps(), failed(0, EPERM)), IsEmpty());
  EXPECT_THAT(features_behind(three_steps(), failed(9, EPERM)), IsEmpty());
}

}  // namespace
}  // namespace cordon::cli
