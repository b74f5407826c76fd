// For this room's tests: hand-made plans, and a supervisor that is just large enough to run one and write down what it
// was told. Everything is done twice, as root and as an ordinary user; who runs the tests as an ordinary user does it
// twice as that.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "enforce/launch/start.h"
#include "plan/plan.h"

namespace cordon::enforce::launch::testing {

/// Runs `body` in a child process: with uid and gid of nobody's in particular where the caller is root and `as` says
/// so. What gtest finds wrong in it fails the caller's test.
enum class As { kSelf, kUser };
void act(As as, const std::function<void()>& body);

/// Each test once as either.
class Launch : public ::testing::TestWithParam<As> {};
inline std::string name_of(const ::testing::TestParamInfo<As>& as) {
  return as.param == As::kSelf ? "AsSelf" : "AsUser";
}

/// From here on this process (a child of act()'s) has mounts of its own.
void leave_the_hosts_mounts();

/// A directory below /tmp, owned by whoever makes it, gone in the end.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  std::string file(const std::string& name, const std::string& content) const;
  std::string directory(const std::string& name) const;

 private:
  std::string path_;
};

std::string read_file(const std::string& path);
plan::FileId identity(const std::string& path);

/// A plan with a base in which /bin/sh works: /usr, proc, dev, tmp. Steps are added before EnterRoot (mounts) or before
/// the end (target), so that the order is right.
class PlanMaker {
 public:
  PlanMaker();
  PlanMaker& mount(plan::step::Any act);
  PlanMaker& target(plan::step::Any act);
  /// Before all other mounts.
  PlanMaker& begin_with(std::vector<plan::step::Any> acts);
  PlanMaker& bind(const std::string& source, const std::string& at, plan::MountAttributes attributes);
  /// What /bin/sh -c is to do.
  PlanMaker& shell(const std::string& script);
  PlanMaker& execute(std::vector<std::string> argv);
  [[nodiscard]] plan::Plan plan() const;

  plan::step::EnterNamespaces enter;
  std::string working_directory = "/tmp";

 private:
  std::vector<plan::step::Any> mounts_, target_;
  std::vector<std::string> argv_{"/bin/true"};
};

/// Seccomp programs: everything allowed but these calls.
plan::step::Filter notify_exec_filter();
plan::step::Filter refuse_filter(const std::string& name, std::initializer_list<std::uint32_t> calls, int code);

struct Told {
  std::string error;  ///< of start(), if it failed
  base::StepId error_step;
  std::vector<Message> control, life;
  std::string output;
  int refused_execs = 0;
  bool init_gone = false;  ///< before the time was up

  [[nodiscard]] const Message* first(Kind kind) const;
  [[nodiscard]] bool held(Check check) const;  ///< at least once, and never not
  [[nodiscard]] int exit_code() const;         ///< of the target; -1 where it did not exit
};

/// How the supervisor in this file behaves.
struct Manner {
  LauncherSource source;
  bool answer_execs = true;                                  ///< as exec: none asks
  bool continue_all = false;                                 ///< a supervisor that lets everything through
  std::function<void(const Started&, const Message&)> hear;  ///< every message, as it comes
};
Told run(const plan::Plan& plan, const Manner& manner = {});

}  // namespace cordon::enforce::launch::testing
