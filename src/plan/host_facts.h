// HostFacts: what the planner may know of this host, as a plain value. Filled by host/, cached by it, comparable,
// printable.
//
// Facts are only ever wrong towards refusal or re-planning: enforcement compares identities again and verifies itself.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plan/aliases.h"
#include "plan/name_list.h"

namespace cordon::plan {

/// What makes a file the same file: device, inode, type and birth time. A descriptor is kept on it (host::Pins) from
/// the moment this was read until it is mounted, so that the inode number cannot be given to another file meanwhile.
struct FileId {
  std::uint64_t device = 0;  ///< as stat's st_dev, encoded by makedev
  std::uint64_t inode = 0;
  std::uint32_t type = 0;       ///< S_IFMT bits
  bool has_birth_time = false;  ///< not every file system has one
  std::int64_t birth_ns = 0;    ///< nanoseconds since the epoch
  friend bool operator==(const FileId&, const FileId&) = default;
};

/// A mount point that a run which still goes on made on this host (step::HoldPoint). It goes with the last run that
/// uses it, so whoever asks is told that nothing is there.
struct HeldPoint {
  std::string path;
  FileId id;
  friend bool operator==(const HeldPoint&, const HeldPoint&) = default;
};

/// Each thing that a kernel or a host's configuration may lack. The names are the JSON and text names, kebab-case.
enum class Feature : std::uint8_t {
  kUserNamespace,
  kMountNamespace,
  kPidNamespace,
  kNetNamespace,
  kIpcNamespace,
  kUtsNamespace,
  kCgroupNamespace,
  kProcMount,
  kTmpfsMount,
  kDevptsMount,
  kOverlayMount,
  kMountApi,
  kOpenat2,
  kPidfd,
  kCloseRange,
  kLandlock,
  kSeccompFilter,
  kUserNotification,
  kNotificationKillable,
  kNotificationSyncWakeup,
  kMemfdExec,
  kIpv6,
  kNatRedirect,
  kCount
};
std::string_view feature_name(Feature feature);

enum class Availability : std::uint8_t { kUnknown, kYes, kNo };

struct FeatureFact {
  Availability state = Availability::kUnknown;  ///< kUnknown: nobody asked yet; the planner assumes it is there
  int code = 0;                                 ///< errno of the real attempt, for kNo
  std::string operation;                        ///< what was tried: "clone(CLONE_NEWUSER)"
  std::string cause;                            ///< the likely reason, in words
  std::string mend;                             ///< the exact command or setting that mends it, if any
  friend bool operator==(const FeatureFact&, const FeatureFact&) = default;
};

struct LinkHop {
  std::string at;      ///< where the link stands (its directory is already resolved)
  std::string target;  ///< its text
  std::uint32_t owner = 0;
  bool in_shared_directory = false;  ///< its directory is writable by others than owner and root
  friend bool operator==(const LinkHop&, const LinkHop&) = default;
};

/// A directory on the way that not everybody may search.
struct Gate {
  std::string directory;
  std::uint32_t uid = 0, gid = 0, mode = 0;
  bool has_acl = false;  ///< its mode is then not the whole answer
  friend bool operator==(const Gate&, const Gate&) = default;
};

/// In PathFact::planters: not one user but whoever a directory's mode lets in.
inline constexpr std::uint32_t kAnybody = 0xffffffff;

enum class PathState : std::uint8_t {
  kPresent,
  kAbsent,        ///< ENOENT; `real` is where it would be, `first_absent` the first missing component's path
  kLoop,          ///< ELOOP or more than 40 links
  kDenied,        ///< EACCES on the way: cannot be checked
  kNotDirectory,  ///< ENOTDIR on the way
  kTooLong,       ///< ENAMETOOLONG
  kFailed,        ///< anything else, or no answer within the time allowed (dead network mount); `code` says
};

/// One path, resolved once, component by component, by descriptor.
struct PathFact {
  std::string asked;  ///< absolute, lexically normal
  PathState state = PathState::kAbsent;
  int code = 0;
  std::string real;                          ///< no link left in it (kPresent, kAbsent); else how far it came
  std::string first_absent;                  ///< kAbsent only
  FileId id;                                 ///< of `real`, or for kAbsent of the deepest directory that exists
  std::uint32_t uid = 0, gid = 0, mode = 0;  ///< mode: permission bits; as `id`
  std::uint64_t links = 0;                   ///< st_nlink
  std::uint64_t rdev = 0;                    ///< of a device: its number, encoded by makedev
  std::vector<LinkHop> hops;                 ///< every symbolic link crossed, in order
  std::string planted_by;  ///< not empty: somebody else could have planted what was followed; says who and where
  /// The same as uids, for a caller that trusts more than itself and root (root running as the workspace's owner):
  /// every one but the caller and root that could; kAnybody where a mode or a group lets several.
  std::vector<std::uint32_t> planters;
  /// Where the caller is root and a link was followed: the directories on the way that keep somebody out. Root passes
  /// them all, and must not do so for the sake of another user's link.
  std::vector<Gate> gates;
  bool on_proc = false;     ///< lies on a procfs; its magic links (/proc/PID/cwd) are not followed: kFailed, ELOOP
  bool writable = false;    ///< the caller may write there (access(2) with the caller's ids)
  bool executable = false;  ///< the caller may execute or search it
  bool noexec = false;      ///< its mount is noexec
  bool read_only = false;   ///< its mount is read-only
  std::string filesystem;   ///< "ext4", "overlay", "nfs", …
  std::uint64_t mount = 0;  ///< which mount it lies on (statx's mnt_id); 0: not known
  friend bool operator==(const PathFact&, const PathFact&) = default;
};

struct PathHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view path) const { return std::hash<std::string_view>()(path); }
};
/// By PathFact::asked. A thousand grants are looked up a dozen times each.
using PathFacts = std::unordered_map<std::string, PathFact, PathHash, std::equal_to<>>;

enum class ProgramFormat : std::uint8_t { kElf, kScript, kUnknown, kEmpty };

/// One hop of a program: a file, what the kernel would make of it, and for `#!` the line.
struct ProgramHop {
  PathFact file;
  ProgramFormat format = ProgramFormat::kUnknown;
  std::string shebang_interpreter;  ///< kScript: the path after #!
  std::string shebang_argument;     ///< kScript: the rest of the line, as the kernel passes it (one argument)
  /// kScript: what stands between the next hop and this file in its argv: the argument above, or behind `env` what NAME
  /// is given. The next hop is then NAME's file and not env's. Where env cannot be followed (its other options,
  /// assignments, ${VARIABLE}s), the next hop is env itself and via_env is false.
  std::vector<std::string> arguments;
  bool via_env = false;
  std::string elf_interpreter;  ///< kElf: PT_INTERP, if any
  bool elf_foreign = false;     ///< kElf for another architecture
  friend bool operator==(const ProgramHop&, const ProgramHop&) = default;
};

/// Where a program that was asked for leads: the file itself, then each interpreter, until an ELF file or an end.
/// `#!/usr/bin/env NAME` (with -S and assignments-free forms) is followed through the asked PATH.
struct ProgramFact {
  std::string asked;  ///< a path, or a bare name looked up on `search_path`
  bool found = false;
  std::vector<ProgramHop> hops;          ///< [0] is the program itself
  std::vector<std::string> passed_over;  ///< PATH candidates that exist but are not executable
  friend bool operator==(const ProgramFact&, const ProgramFact&) = default;
};

/// The libraries that a program's loader maps before the program runs, of it and of each other (DT_NEEDED).
struct LibraryFact {
  std::string asked;                 ///< the program's real path
  std::vector<PathFact> files;       ///< regular files, in the order of their finding
  std::vector<std::string> missing;  ///< names that stand nowhere where the loader looks
  /// Every directory that was looked into before or at a find: whoever writes in one of them chooses what is mapped.
  std::vector<std::string> searched = {};
  bool whole = true;  ///< false: too many, or something on the way could not be read
  friend bool operator==(const LibraryFact&, const LibraryFact&) = default;
};

/// A file or directory that decides what Cordon does. Named by the caller of the planner.
struct OwnPlace {
  std::string path;     ///< absolute
  std::string what;     ///< in words: "Cordon's cache"
  bool hidden = false;  ///< not to be read either: what is read can be locked
  friend bool operator==(const OwnPlace&, const OwnPlace&) = default;
};

/// What is mounted at a place and not covered by another mount.
struct MountPlace {
  std::string point;  ///< real, absolute
  std::string type;   ///< "ext4", "proc", "cgroup2"
  friend bool operator==(const MountPlace&, const MountPlace&) = default;
};

struct Account {
  std::string name;
  std::uint32_t uid = 0, gid = 0;
  std::vector<std::uint32_t> groups;  ///< supplementary
  std::string home, shell;
  friend bool operator==(const Account&, const Account&) = default;
};

/// Ids `first` to `first + count - 1`.
struct IdSpan {
  std::uint32_t first = 0, count = 0;
  friend bool operator==(const IdSpan&, const IdSpan&) = default;
};

/// RLIMIT_NOFILE as the caller had it.
struct DescriptorLimit {
  std::uint64_t soft = 0, hard = 0;
  friend bool operator==(const DescriptorLimit&, const DescriptorLimit&) = default;
};

/// How a run gets a control group of its own.
enum class CgroupWay : std::uint8_t {
  kNone,
  kDirect,  ///< made by ourselves, in a subtree that is delegated to us or that no manager claims
  kScope,   ///< in a transient scope of the systemd manager that is the caller's
};

/// What came of making one here, with a limit of each kind, and putting a process into it.
struct LimitsFact {
  CgroupWay way = CgroupWay::kNone;
  bool memory = false, cpu = false, pids = false;  ///< these can be limited, and read back as set
  int code = 0;                                    ///< as the next three: why one of them cannot
  std::string operation, cause, mend;
  friend bool operator==(const LimitsFact&, const LimitsFact&) = default;
};

struct HostFacts {
  std::string kernel_release;  ///< "6.18.44"
  std::string machine;         ///< "x86_64", "aarch64"
  std::string boot_id;
  std::array<FeatureFact, static_cast<std::size_t>(Feature::kCount)> features;
  int landlock_abi = 0;  ///< 0: none or not asked; see features
  int landlock_errata = 0;

  std::uint32_t uid = 0, gid = 0;  ///< of the caller
  std::vector<std::uint32_t> groups;
  /// Ids that exist where the caller stands (the first and third number of each line of /proc/self/uid_map): a map of
  /// a new namespace may name no others. Empty: all of them. Only a caller that is root needs more than itself.
  std::vector<IdSpan> uid_spans, gid_spans;
  /// What the target gets, where holding many descriptors raised Cordon's own soft limit; nothing where it did not.
  std::optional<DescriptorLimit> descriptor_limit;
  std::optional<std::uint32_t> sudo_uid;
  std::string home;  ///< $HOME if absolute, else the passwd home
  std::string working_directory;
  std::string search_path;                         ///< the caller's PATH
  std::map<std::string, std::string> environment;  ///< only names the policy lists and that are set; secrets
  /// Of the caller, of owners the planner asked about. An id that has no account is answered with an empty name, its
  /// uid, and gid of the same number: so it is not asked again.
  std::vector<Account> accounts;

  /// Every account's home, where the caller is root or came by sudo; else none. Absolute, sorted, each once, never "/".
  std::vector<std::string> account_homes;
  /// Of the caller's variables that move shields those that are set: for the planner alone, the target never sees them.
  std::map<std::string, std::string> relocations;
  /// Where a StubOverlay may have its work directory: a directory of Cordon's own ($XDG_STATE_HOME/cordon/work), or ""
  /// where there is none. Its PathFact says on which mount it lies.
  std::string work_place;
  /// The name that the run's own directory would have in /tmp (step::PrivateDirectory); chosen anew for each run.
  std::string private_name = "cordon-private";
  /// By StubOverlay::source: directories over which no overlay could be mounted on this host, found by doing; the
  /// planner uses HoldPoints there.
  std::map<std::string, FeatureFact> refused_overlays;

  std::vector<OwnPlace> own_places;  ///< held against write grants

  /// Every mount that a path leads to, by place; nothing where the mount table could not be read whole: then nobody
  /// can say what a directory shows.
  std::optional<std::vector<MountPlace>> mounts;

  PathFacts paths;
  std::map<std::string, ProgramFact> programs;   ///< by `asked`
  std::map<std::string, LibraryFact> libraries;  ///< by `asked`
  std::map<std::string, std::vector<PathFact>>
      children;  ///< entries of directories that the planner asked to be listed

  /// By `asked`: small files whose content decides (which version a version manager starts). "" for one that is absent,
  /// cannot be read, is no regular file or is longer than kLongestText.
  std::map<std::string, std::string> texts;
  std::set<std::string> unread_texts;  ///< of `texts` those that stand there, and nobody knows what they say

  /// By directory, of the names below it that were asked for: those that stand there, that cannot be told or that are
  /// reached over a link, in the order of Questions::names. A name that is not here is absent.
  std::map<std::string, std::vector<PathFact>> names;
  /// By directory: what it holds, by name, without symbolic links; nothing where that is more than is listed or cannot
  /// be told.
  std::map<std::string, std::optional<std::vector<std::string>>> entries;
  /// By directory: the symbolic links in it and below it, resolved. Where it holds more than is walked or cannot be
  /// read, the last is the place where that was found, kFailed.
  std::map<std::string, std::vector<PathFact>> links;
  /// The same, only as many levels down as Questions::near_links asked for: what is deeper ends no walk.
  std::map<std::string, std::vector<PathFact>> near_links;
  std::optional<AliasAnswer> aliases;  ///< of the last scan; `asked` says of what
  std::optional<LimitsFact> limits;    ///< asked where limits are; never from a cache: it depends on where Cordon runs

  [[nodiscard]] const FeatureFact& feature(Feature which) const { return features[static_cast<std::size_t>(which)]; }
  [[nodiscard]] FeatureFact& feature(Feature which) { return features[static_cast<std::size_t>(which)]; }
  friend bool operator==(const HostFacts&, const HostFacts&) = default;
};

inline constexpr std::size_t kLongestText = std::size_t{1} << 20;

/// What the planner wants answered before it plans; plain data, answered by host::answer().
struct Questions {
  std::vector<std::string> paths;        ///< absolute
  std::vector<std::string> pin_first;    ///< of `paths`: hold these where descriptors are short (writable, shields)
  std::vector<std::string> programs;     ///< a path, or a bare name
  std::vector<std::string> libraries;    ///< real paths of ELF programs
  std::string library_path;              ///< LD_LIBRARY_PATH of their loader
  std::vector<std::string> directories;  ///< list these (one level)
  std::vector<std::string> environment;  ///< names
  std::vector<std::string> texts;        ///< absolute: the content of these
  std::vector<std::uint32_t> accounts;   ///< uids
  std::vector<std::string> relocations;  ///< names of variables that move shields
  /// By directory: relative paths below it, asked together so that a directory is listed once instead of asked for
  /// each.
  std::map<std::string, NameList> names;
  std::vector<std::string> entries;  ///< directories whose entries' names must be known
  std::vector<std::string> links;    ///< directories whose links, at any depth, must be known
  /// Directories whose links must be known, in them and so many levels of directories down (1: in them alone).
  std::map<std::string, std::size_t> near_links;
  std::string working_directory;         ///< for the policy's relative programs
  std::optional<AliasQuestion> aliases;  ///< asked last, when everything else is known
  bool limits = false;                   ///< can memory, CPU time and processes be limited here?
  friend bool operator==(const Questions&, const Questions&) = default;
};

}  // namespace cordon::plan
