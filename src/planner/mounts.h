// From what is wanted of the file system to the mounts that give it, in an order in which each lands on what it is for.
//
// A Want is one path that must be readable, writable or hidden. arrange() drops what another want gives already, puts
// parents before children, and pins the chain between a writable mount and whatever is held read-only or hidden below
// it: a mount holds its own name only, so without pins the target renames a parent and plants its own tree under the
// old name (pitfalls A1). One sort and one sweep: the cost grows with the number of wants, not with its square.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/diagnostic.h"
#include "plan/host_facts.h"
#include "plan/plan.h"
#include "policy/policy.h"

namespace cordon::planner {

enum class Access : std::uint8_t { kReadOnly, kWritable, kHidden };

/// What asks; of two wants for the same path the first in this order decides.
enum class Why : std::uint8_t {
  kKernel,   ///< hidden: a file system of the kernel, mounted below what is granted
  kDeny,     ///< hidden whatever else is granted
  kShield,   ///< hidden, though a broader grant would show it
  kProgram,  ///< the entrypoint's or the interpreter's file: read-only and executable, even below a write grant
  kPlace,    ///< a directory of Cordon's own, seen there as the run's own
  kHeld,     ///< a shield that may be read: read-only where a write grant would cover it, nothing elsewhere
  kWrite,
  kRead,    ///< read-only, even below a write grant
  kPrefix,  ///< what an interpreter needs beside itself: below a write grant only where that may not execute
  kSocket,  ///< hidden where a broader grant would show it
  kGuard,   ///< as kHeld, bound anew from the host
  kBase,    ///< given way to by every other want
};

struct Want {
  std::string path;  ///< real: no link left in it
  plan::FileId id;
  bool directory = true;
  Access access = Access::kReadOnly;
  Why why = Why::kRead;
  std::vector<std::string> create;
  std::string reason;
  base::Span at;
  /// Of a shield: nothing stands at `path`, which is the first component that is missing. Held where a write grant
  /// would let the target make it. `create` then says what of its directory a write grant makes first.
  bool absent = false;
  bool hidden_when_made = false;                            ///< of an absent one: what it would be if it were there
  plan::step::StubText text = plan::step::StubText::kNone;  ///< of an absent file: what it says while it is held
  bool only_without_trace = false;                          ///< of an absent one: by an overlay or not at all
  const plan::PathFact* fact = nullptr;                     ///< of a grant
  bool credentials = false;  ///< of a mask: Landlock leaves it out of a read grant around it
  std::string link = {};     ///< of a symbolic link that must go on leading where it leads: its text
  /// kPlace: the directory that is mounted there. Of a view: the directory that holds its layers.
  std::string source = {};
  const policy::PrivateView* view = nullptr;  ///< a kRead that may be changed in a layer of its own
  bool executes = false;  ///< of `wx`; and under exec as a list, where all that is not so is mounted noexec
};

/// A symbolic link that a spelling crosses; made again in the private root, so that the spelling works there.
struct Link {
  std::string at, text, reason;
  base::Span span;
};

enum class MountAct : std::uint8_t {
  kBind,
  kMask,
  kPin,   ///< bound onto itself: it cannot be renamed
  kHold,  ///< nothing is there, and nothing may be made
};

struct Mount {
  MountAct act = MountAct::kBind;
  std::string path;
  const Want* want = nullptr;   ///< who asks; of a pin: what it protects
  bool needs_point = false;     ///< nothing of the host shows at `path`: the mount point must be made
  bool read_only = false;       ///< kPin: and cannot be written
  const Want* outer = nullptr;  ///< kHold: the writable mount that it lies in
};

struct Arranged {
  std::vector<Mount> mounts;  ///< in order
  std::vector<Link> links;    ///< those that nothing mounted shows already

  /// The mount that `path` is seen through, or nothing. Pins do not count: they show what was there.
  [[nodiscard]] const Mount* showing(std::string_view path) const;

 private:
  friend Arranged arrange(std::vector<Want>& wants, const std::vector<Link>& links, bool writes_execute);
  std::unordered_map<std::string, std::size_t> at_;
};

/// Sorts `wants`, which must outlive the answer. `writes_execute`: writable mounts may execute (exec: all).
Arranged arrange(std::vector<Want>& wants, const std::vector<Link>& links, bool writes_execute);

}  // namespace cordon::planner
