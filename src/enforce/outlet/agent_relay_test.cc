// The supervisor's side of the relay to the ssh agent: which socket it connects to, and how the relay is lost.
#include "enforce/outlet/agent_relay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "kernel/file.h"
#include "kernel/socket.h"

namespace cordon::enforce::outlet {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class AgentOutlet : public testing::Test {
 protected:
  void SetUp() override {
    directory = fs::temp_directory_path() / ("agent-outlet-" + std::to_string(::getpid()));
    fs::create_directories(directory);
    listen();
  }
  void TearDown() override { fs::remove_all(directory); }
  void listen() {
    fs::remove(path());
    auto made = kernel::unix_listener(path().c_str());
    ASSERT_TRUE(made);
    agent = std::move(*made);
  }
  [[nodiscard]] std::string path() const { return directory / "agent"; }
  [[nodiscard]] plan::step::AgentSocket as_it_is() const {
    const auto facts = kernel::statx(kernel::kHere, path().c_str(), AT_SYMLINK_NOFOLLOW);
    return {.target = "/run/cordon/ssh-agent.sock",
            .source = path(),
            .id = {.device = makedev(facts->stx_dev_major, facts->stx_dev_minor),
                   .inode = facts->stx_ino,
                   .type = S_IFSOCK,
                   .has_birth_time = (facts->stx_mask & STATX_BTIME) != 0,
                   .birth_ns = facts->stx_btime.tv_sec * 1'000'000'000 + facts->stx_btime.tv_nsec},
            .owner = facts->stx_uid};
  }
  static plan::Plan plan_of(plan::step::AgentSocket act) {
    plan::Plan out;
    out.steps.push_back({.act = plan::step::EnterRoot{}, .reason = {}, .at = {}});
    out.steps.push_back({.act = std::move(act), .reason = {}, .at = {}});
    return out;
  }
  static std::string refused(plan::step::AgentSocket act) {
    const auto made = AgentRelay::make(plan_of(std::move(act)), "");
    if (made) return "connected";
    EXPECT_EQ(made.error().step.value, 2);
    return to_string(made.error());
  }
  /// As init makes it, here below our own directory.
  [[nodiscard]] base::Fd inner() const {
    const std::string inside = directory / "inside";
    fs::remove(inside);
    auto made = kernel::unix_listener(inside.c_str());
    EXPECT_TRUE(made);
    return std::move(*made);
  }
  void start() {
    auto made = AgentRelay::make(plan_of(as_it_is()), "");
    ASSERT_TRUE(made) << to_string(made.error());
    relay.emplace(std::move(*made));
    EXPECT_FALSE(relay->take_socket({1}, inner())) << "of another step";
    const auto taken = relay->take_socket({2}, inner());
    ASSERT_TRUE(taken) << to_string(taken.error());
    serve_until(AgentRelay::State::kServing);
    ASSERT_EQ(relay->state(), AgentRelay::State::kServing);
  }
  void serve_until(AgentRelay::State wanted) {
    for (int i = 0; i < 100 && relay->state() < wanted; ++i) {
      pollfd one{relay->poll_fd().get(), POLLIN, 0};
      ::poll(&one, 1, 100);
      relay->service();
    }
  }

  fs::path directory;
  base::Fd agent;
  std::optional<AgentRelay> relay;
};

TEST_F(AgentOutlet, ConnectsToTheSocketThatWasPlannedAndToNoOther) {
  EXPECT_EQ(refused(as_it_is()), "connected");
  const plan::step::AgentSocket planned = as_it_is();
  fs::rename(path(), path() + ".away");
  EXPECT_THAT(refused(planned), HasSubstr("ENOENT"));
  listen();
  EXPECT_THAT(refused(planned), HasSubstr("not the socket that was planned"));
  fs::remove(path());
  fs::create_symlink(path() + ".away", path());
  EXPECT_THAT(refused(planned), HasSubstr("not the socket that was planned")) << "the same one, by a link";
}

TEST_F(AgentOutlet, WhoListensThereMustBeItsOwner) {
  plan::step::AgentSocket of_another = as_it_is();
  of_another.owner += 1;
  EXPECT_THAT(refused(of_another), HasSubstr("not the socket that was planned"));
}

TEST_F(AgentOutlet, ASocketThatNobodyListensOnIsRefused) {
  const plan::step::AgentSocket planned = as_it_is();
  agent.reset();
  EXPECT_THAT(refused(planned), HasSubstr("ECONNREFUSED"));
}

TEST_F(AgentOutlet, ServesOnceTheSocketHasComeAndEndsWhenAsked) {
  start();
  EXPECT_FALSE(relay->take_socket({2}, inner())) << "one more than the plan has";
  const plan::AgentUse use = relay->finish();
  EXPECT_EQ(use, (plan::AgentUse{.step = {2}}));
  EXPECT_EQ(relay->pid(), -1) << "it is waited for";
}

TEST_F(AgentOutlet, ARelayThatIsKilledIsOverAndSaidSo) {
  start();
  ASSERT_GT(relay->pid(), 0);
  ::kill(relay->pid(), SIGKILL);
  serve_until(AgentRelay::State::kOver);
  EXPECT_EQ(relay->state(), AgentRelay::State::kOver);
  EXPECT_THAT(relay->finish().lost, HasSubstr("cordon-agent was lost"));
}

}  // namespace
}  // namespace cordon::enforce::outlet
