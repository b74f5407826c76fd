#include "plan/not_held.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace cordon::plan {
namespace {

using enum Missing;

constexpr std::array kNotHeld = std::to_array<NotHeld>({
    {"metadata-visible", Layer::kFilesystem, kAlways,
     "whether a file that is not granted exists, its size, owner, mode and times can be told by who knows its name"},
    {"other-errors", Layer::kFilesystem, kAlways,
     "what is hidden or not there says EACCES, where the other engine says ENOENT; some calls are refused by other "
     "errors too"},
    {"host-mounts", Layer::kFilesystem, kAlways,
     "file systems are the host's own, with their table, their devices and their set-id programs, which give nothing"},
    {"host-settings-visible", Layer::kFilesystem, kAlways,
     "the host's own /etc/passwd, group, hosts and nsswitch.conf are read, not ones made for the run"},
    {"no-private-tmp", Layer::kFilesystem, kAlways,
     "/tmp is not there; TMPDIR and HOME lead to directories of the run's own"},
    {"written-code", Layer::kExec, kAlways, "what the target writes can be mapped as code, and started by a loader"},
    {"processes-visible", Layer::kProcesses, kAlways,
     "/proc is the host's: names, command lines and numbers of its processes, and names of keys, can be read; nothing "
     "in "
     "it can be written, not even the target's own files"},
    {"names-not-own", Layer::kProcesses, kAlways,
     "the target has no process, host or IPC names of its own: IPC objects are closed instead"},
    {"warden-killed", Layer::kProcesses, kAlways,
     "who kills Cordon and its warden at the same moment (kill -9) leaves alive what the target put into another "
     "session"},
    {"no-sockets", Layer::kNetwork, kAlways,
     "no socket can be made, not even for the target's own loopback; pairs of unix sockets can"},
    {"no-devices", Layer::kFilesystem, kAlways,
     "there are no shared memory objects (/dev/shm) and no terminals of the target's own (/dev/ptmx)"},
    {"absent-names", Layer::kFilesystem, kSometimes,
     "shielded names that do not exist (.git, .envrc and their kind) can be made directly in what is granted for "
     "writing; the report names those that were"},
    {"no-signals", Layer::kProcesses, kSometimes,
     "Landlock cannot keep signals inside here (it can from Linux 6.12 on), so no process can send any"},
    {"bounding-set", Layer::kPrivileges, kSometimes,
     "an ordinary user cannot empty the bounding set of capabilities: that none is gained rests on no_new_privs alone"},
    {"no-attributes", Layer::kFilesystem, kSometimes,
     "modes, owners, times and extended attributes of files cannot be changed at all: calls cannot be notified here"},
    {"loader-starts", Layer::kExec, kSometimes,
     "a program that the list under exec does not name can be started by the loader of one that it names"},
    {"no-views", Layer::kFilesystem, kSometimes,
     "a command works in the workspace itself: sources are read-only, outputs and lock files that stand are written in "
     "place, and nothing is promoted or kept"},
    {"written-outputs-run", Layer::kExec, kSometimes,
     "what a command writes as output on this host can be executed in the same run"},
    {"held-in-write", Layer::kFilesystem, kRefuses, "what is hidden or read-only inside a grant for writing"},
    {"hidden-in-read", Layer::kFilesystem, kRefuses,
     "what is hidden inside a grant for reading, where too much stands beside it for a rule each"},
    {"network", Layer::kNetwork, kRefuses, "a way out to hosts, published ports and services of the host"},
    {"tmp-size", Layer::kLimits, kRefuses, "a limit on the size of the directory for temporary files"},
    {"views", Layer::kFilesystem, kRefuses, "a workspace that can be changed without being changed (view, review)"},
    {"empty-home", Layer::kFilesystem, kRefuses, "an empty home in the place of the real one (profile)"},
});

}  // namespace

std::span<const NotHeld> not_held() { return kNotHeld; }

const NotHeld& not_held(std::string_view code) {
  const auto found = std::ranges::find(kNotHeld, code, &NotHeld::code);
  CORDON_CHECK(found != kNotHeld.end());
  return *found;
}

}  // namespace cordon::plan
