// start(): a Plan becomes a running launcher, on cordon's side of the fence.
//
// It screens the standard streams, encodes the plan into a sealed memfd, finds the launcher (the installed one, else
// the copy that is linked into this program, run from a sealed memfd; equal build id in any case), makes the control
// and the life socket, starts the launcher (spawn.h: nobody waits for its execve), sends it the plan's first step and
// then the plan, waits until init was born and the outer launcher is gone, and hands over what supervises init. It
// returns long before the target runs: what happens then is told by the control socket (protocol.h).
//
// Init is a child of the calling process: its end is waited for by Started::init_pidfd. Nothing here is shared between
// calls; any thread may call. Called by enforce/supervise only. It must not print or read the environment.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "enforce/launch/protocol.h"
#include "plan/plan.h"

namespace cordon::enforce::launch {

struct LauncherSource {
  /// Absolute path of an installed cordon-launch ("" for none). Taken where it is a regular file of root's or of the
  /// caller's, writable by nobody else, and of this build; else the embedded copy is. AppArmor grants user namespaces
  /// by path, which a memfd has none of: hence installed first.
  std::string installed_path;
};

/// What the target's standard streams are.
struct Streams {
  base::FdView in{0}, out{1}, error{2};
};

enum class Session : std::uint8_t {
  kCallers,  ///< the caller's session and process group: a job of the caller's shell
  kOwn,      ///< setsid(2): no controlling terminal
};

struct Options {
  Streams streams;
  Session session = Session::kCallers;
  /// Signals that the target ignores from its start on; all others have their default. For what cordon's own caller
  /// ignored (nohup, a shell's background job).
  std::vector<int> keep_ignored;
};

enum class LauncherKind : std::uint8_t { kInstalled, kEmbedded };

struct Started {
  base::Fd init_pidfd;
  pid_t init = 0;
  base::Fd control;
  base::Fd life;
  LauncherKind launcher = LauncherKind::kEmbedded;
  std::string passed_over;  ///< why the installed launcher was not taken; "" where it was, or none was named
};

/// Called with init's pid once it was born, before the plan is given to it: all that init starts comes after. Init is a
/// child of ours, so that the number is its own. An Error ends it. May be called again, for another launcher's init.
using OnBorn = std::function<base::Result<void>(pid_t init)>;

/// An Error means that init was not born, and no process is left; it carries the StepId where the namespaces could not
/// be made. What fails after that (init's id maps are the first) is a kStepFailed on the control socket.
base::Result<Started> start(const plan::Plan& plan, const LauncherSource& source, const Options& options = {},
                            const OnBorn& on_born = {});

/// A launcher that is started before there is a plan, on a guess at the plan's first step: while the caller plans, init
/// is born and does what no plan says anything about. It can only be faster than start(), never otherwise: where the
/// plan begins with another step, where the host's mounts have changed since (init has a copy of them), or where the
/// early launcher failed, it is ended and another one started, which says what is wrong. One that nobody starts a plan
/// with is ended, and waited for, by the destructor; where the process ends, by the end of its sockets.
class Early {
 public:
  static base::Result<Early> begin(const plan::step::EnterNamespaces& assumed, const LauncherSource& source,
                                   const Options& options);
  Early(Early&&) noexcept;
  Early& operator=(Early&&) noexcept;
  ~Early();
  /// The steps that the plan is expected to begin with: init builds them at once. They make nothing on the host, or are
  /// not taken (wire::Extent::kBeginning); a plan that begins otherwise costs another launcher, as with the first step.
  void begin_plan(std::vector<plan::Step> steps);
  /// As start(), with the source and the options of begin().
  base::Result<Started> start(const plan::Plan& plan, const OnBorn& on_born = {}) &&;

 private:
  struct Parts;
  explicit Early(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

/// The kebab-case name of a check ("root-read-only") and the layer that it stands for.
std::string_view check_name(Check check);
plan::Layer check_layer(Check check);

}  // namespace cordon::enforce::launch
