// Plan: what will be done, step by step; the narrow waist. The planner makes it, `inspect` prints it, the launcher
// carries it out and sees nothing else: no policy, no YAML, no options.
//
// Steps are carried out in order. A step's place (from 1) is its StepId: the policy line that asked for it, a failure
// in the child and a report line all name it. Paths in steps are absolute and hold no symbolic link on the side that
// they name: `source` on the host, `target` inside the new root.
//
// Mount points are never made by the way: every target of a mount, mask or pin stands already, made by a Make… step
// before it or as part of what an earlier step mounted. Make… steps name only paths on file systems of our own (the
// private root, the tmpfs of a MountTmpfs), and make missing parents on the way, 0755. So nothing but `create` (of
// Bind, StubOverlay, HoldPoint) and a HoldPoint itself ever makes anything on the host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/diagnostic.h"
#include "base/error.h"
#include "plan/host_facts.h"
#include "plan/observation.h"

namespace cordon::plan {

enum class Engine : std::uint8_t { kNamespace, kLandlock };

/// A part of the sandbox that doctor, refusals and reports speak of.
enum class Layer : std::uint8_t {
  kFilesystem,
  kProcesses,
  kNetwork,
  kExec,
  kSystemCalls,
  kLandlock,
  kLimits,
  kPrivileges
};
enum class Tier : std::uint8_t { kCore, kHardening };
enum class LayerState : std::uint8_t { kNotRequested, kEnforced, kDegraded, kUnavailable };
std::string_view layer_name(Layer layer);
std::string_view layer_state_name(LayerState state);
Tier tier_of(Layer layer);

struct MountAttributes {
  bool read_only = false;
  bool noexec = false;
  bool nosuid = true;
  bool nodev = true;
  friend bool operator==(const MountAttributes&, const MountAttributes&) = default;
};

struct IdRange {
  std::uint32_t inside = 0, outside = 0, count = 1;
  friend bool operator==(const IdRange&, const IdRange&) = default;
};

namespace step {

/// New user, mount, pid, ipc, uts, cgroup and net namespaces, with these maps. Init (pid 1) is born here.
struct EnterNamespaces {
  std::uint64_t flags = 0;  ///< CLONE_NEW*
  std::vector<IdRange> uids, gids;
  bool deny_setgroups = true;         ///< must be true where the caller is not privileged (user_namespaces(7))
  std::vector<std::uint32_t> groups;  ///< supplementary groups set before the map; only where the caller is root
  bool set_groups = false;
  friend bool operator==(const EnterNamespaces&, const EnterNamespaces&) = default;
};

/// Instead of EnterNamespaces, first of a plan of the landlock engine: no namespace, and the host's own file system.
/// The warden is born here: it stands for init, has no power over the target but to end it, and outlives it.
struct StartWarden {
  std::vector<std::uint32_t> groups;  ///< supplementary groups of the target; only where the caller is root
  bool set_groups = false;
  friend bool operator==(const StartWarden&, const StartWarden&) = default;
};

/// A host path that the target may use where it stands (landlock engine): the launcher opens `source` anew, following
/// nothing, compares with `id` on that very descriptor, and gives that object a Landlock rule.
struct Grant {
  std::string source;
  FileId id;
  std::uint64_t access = 0;         ///< LANDLOCK_ACCESS_FS_*
  std::vector<std::string> create;  ///< as Bind's
  std::optional<std::uint32_t> create_owner_uid, create_owner_gid;
  friend bool operator==(const Grant&, const Grant&) = default;
};

/// A directory made for this run alone (landlock engine), 0700, with "home" and "tmp" in it, and removed by the warden
/// when everything of the run is gone. A name that is there already fails.
struct PrivateDirectory {
  std::string parent;
  FileId id;  ///< of `parent`
  std::string name;
  std::uint64_t access = 0;
  std::optional<std::uint32_t> owner_uid, owner_gid;  ///< whose it is, where that is not the caller
  friend bool operator==(const PrivateDirectory&, const PrivateDirectory&) = default;
};

/// The private root: a tmpfs, sealed read-only by EnterRoot.
struct BuildRoot {
  std::uint64_t size_bytes = 0;
  friend bool operator==(const BuildRoot&, const BuildRoot&) = default;
};

/// A directory of the private root. One that was made before, as a parent of something else, is not an error.
struct MakeDirectory {
  std::string target;
  std::uint32_t mode = 0755;
  friend bool operator==(const MakeDirectory&, const MakeDirectory&) = default;
};

struct MakeSymlink {
  std::string target;  ///< where the link stands
  std::string text;
  friend bool operator==(const MakeSymlink&, const MakeSymlink&) = default;
};

/// A synthesised file of the private root (passwd, group, hosts, …); an empty one is the mount point of a file.
struct MakeFile {
  std::string target;
  std::string content;
  std::uint32_t mode = 0444;
  friend bool operator==(const MakeFile&, const MakeFile&) = default;
};

/// A host path made visible. The launcher opens `source` anew, following nothing, compares with `id` on that very
/// descriptor, and mounts that descriptor. Directories are bound with what is mounted below them.
struct Bind {
  std::string source;
  FileId id;
  std::string target;
  MountAttributes attributes;
  /// Not empty: `source` did not exist; `id` is then the deepest existing directory's, and these components are made
  /// below it (0700, never through a link) before the mount. They persist: a write grant asked for them. A component
  /// that an earlier step of this plan made is entered; `source` is always that directory joined with all of them.
  std::vector<std::string> create;
  std::optional<std::uint32_t> create_owner_uid, create_owner_gid;
  friend bool operator==(const Bind&, const Bind&) = default;
};

/// A private proc of the new pid namespace; everything in it that is not a process is masked or read-only.
struct MountProc {
  std::string target = "/proc";
  friend bool operator==(const MountProc&, const MountProc&) = default;
};

/// A minimal /dev: null zero full random urandom tty, pts with its own ptmx, shm, fd stdin stdout stderr.
struct MountDev {
  std::string target = "/dev";
  std::uint64_t shm_bytes = 0;
  friend bool operator==(const MountDev&, const MountDev&) = default;
};

/// A device of the host in the /dev that the step before made: the node's own mount, read-only, so that nobody changes
/// its mode there. `id` is compared as a Bind's is.
struct Device {
  std::string path;  ///< on the host and in the sandbox: "/dev/dri/renderD128"
  FileId id;
  friend bool operator==(const Device&, const Device&) = default;
};

struct MountTmpfs {
  std::string target;
  std::uint64_t size_bytes = 0;
  std::uint32_t mode = 01777;
  MountAttributes attributes;
  friend bool operator==(const MountTmpfs&, const MountTmpfs&) = default;
};

/// Hides what stands at `target` behind an empty, read-only object: a directory, or for anything else a regular file.
struct Mask {
  std::string target;
  bool directory = true;
  friend bool operator==(const Mask&, const Mask&) = default;
};

/// Binds a directory (or file) of the new root onto itself: pins it against rename and exchange, and with read_only
/// keeps what is below it from being written. Recursive, with the attributes of what it is bound from: what was mounted
/// below it, by the host or by an earlier step, is there afterwards as well. Of a symbolic link, with its text: the
/// link itself, so that it goes on leading where it led; one with another text fails.
struct Pin {
  std::string target;
  bool read_only = false;
  std::string link = {};
  friend bool operator==(const Pin&, const Pin&) = default;
};

/// What is seen where a shielded name does not exist: in both cases something empty that cannot be written, made,
/// removed or renamed. The word is for people: what the shield is for.
enum class Shield : std::uint8_t { kHidden, kReadOnly };

/// What a held file says. kDot is for git's `commondir`: git fails where it is empty, and stays where it is by ".".
enum class StubText : std::uint8_t { kNone, kDot };
constexpr std::string_view text_of(StubText text) { return text == StubText::kDot ? ".\n" : ""; }

struct Stub {
  std::string path;  ///< below the mount, without a leading '/'; no stub lies below another
  bool directory = true;
  Shield shield = Shield::kHidden;
  StubText text = StubText::kNone;  ///< of a file
  friend bool operator==(const Stub&, const Stub&) = default;
};

/// A Bind below which names that do not exist yet are shielded, without anything being made on the host: an overlay
/// with the stubs as its lower layer and the real directory as its upper one; everything else is made, renamed and
/// removed directly in the real directory. The stubs are masked by this step; the directories that lead to them are
/// pinned by the planner, as those of any shield are. For finite runs only: a name that the host makes, renames or
/// removes meanwhile may be seen late or never, and file locks do not reach the host's processes.
struct StubOverlay {
  std::string source;
  FileId id;  ///< as Bind's, with `create`
  std::string target;
  MountAttributes attributes;  ///< of the overlay itself: it inherits nothing. Never read_only
  std::vector<std::string> create;
  std::optional<std::uint32_t> create_owner_uid, create_owner_gid;
  std::vector<Stub> stubs;  ///< at least one
  /// A directory of Cordon's own (HostFacts::work_place) on the same mount as `source`, neither of the two below the
  /// other. What the overlay needs there is removed as soon as it is mounted.
  std::string work;
  FileId work_id;
  friend bool operator==(const StubOverlay&, const StubOverlay&) = default;
};

/// A directory of the host that the target sees whole and may change, and that stays as it is: an overlay whose upper
/// layer is the directory "upper" of `place`, with "work" beside it. What is written there is looked at after the run
/// (enforce/promote). What the host changes in `source` meanwhile may be seen late or never.
struct PrivateOverlay {
  std::string source;
  FileId id;
  std::string target;
  MountAttributes attributes;  ///< of the overlay itself: it inherits nothing. Never read_only
  std::string place;           ///< a directory of Cordon's own, below nothing that the target sees
  FileId place_id;
  friend bool operator==(const PrivateOverlay&, const PrivateOverlay&) = default;
};

/// The first absent component of a shield, made on the host as an empty mount point (a directory 0700 or a file 0600)
/// and masked; one with a text (0444) is pinned read-only. The supervisor makes it before the launcher starts, or
/// shares one that another run made; it is removed at the end of the last of them if it is still that object and still
/// empty (or as it was written), whoever of us dies how.
struct HoldPoint {
  std::string directory;  ///< of the host; holds `name`
  FileId id;              ///< of `directory`, or with `create` of the deepest directory that exists
  std::vector<std::string>
      create;  ///< as Bind's: the end of `directory`, made for good since a write grant asks for it
  std::optional<std::uint32_t> create_owner_uid, create_owner_gid;
  std::string name;
  std::string target;  ///< where it is seen, in the new root
  bool is_directory = true;
  Shield shield = Shield::kHidden;
  StubText text = StubText::kNone;  ///< of a file
  friend bool operator==(const HoldPoint&, const HoldPoint&) = default;
};

/// pivot_root into the private root, detach the host, seal the root read-only.
struct EnterRoot {
  friend bool operator==(const EnterRoot&, const EnterRoot&) = default;
};

/// lo up in the empty network namespace, for the target's own servers.
struct Loopback {
  friend bool operator==(const Loopback&, const Loopback&) = default;
};

/// lo up, with an address of its own, and every other address of its family local: whatever the target aims at stays
/// inside, and what comes of it has this source. Instead of Loopback, once for each family, before the mounts: the
/// broker starts meanwhile.
struct LocalNetwork {
  std::string address;
  friend bool operator==(const LocalNetwork&, const LocalNetwork&) = default;
};

/// Every TCP connection but to 127.0.0.0/8 and ::1 is led to this port of 127.0.0.1 or ::1 (nf_tables).
struct Redirect {
  std::uint16_t port = 0;
  bool ipv6 = false;  ///< of this family as well
  friend bool operator==(const Redirect&, const Redirect&) = default;
};

/// What a socket of the broker's is for.
enum class ListenFor : std::uint8_t {
  kRedirected,  ///< connections that the Redirect leads here; tried once before anything else can connect
  kPort,        ///< connections to this port of any address, where there is no Redirect
  kProxy,       ///< proxy requests
  kDnsUdp,
  kDnsTcp,
  kHostService,  ///< connections to this port of the loopback inside, meant for the host's
};

/// A socket of the new network namespace that listens there; the supervisor gets it, for the broker.
struct Listen {
  ListenFor what = ListenFor::kRedirected;
  std::string address;
  std::uint16_t port = 0;
  friend bool operator==(const Listen&, const Listen&) = default;
};

/// Unconnected TCP sockets of the new network namespace. The supervisor gets them, for the broker, which connects them
/// to what listens on a published port inside, and uses each again: how many there are is how many connections there
/// can be at once.
struct SocketPool {
  std::uint16_t count = 0;
  bool ipv6 = false;  ///< of this family, else of IPv4
  friend bool operator==(const SocketPool&, const SocketPool&) = default;
};

/// The host reaches what the target listens on at this port, by the same port of the host's 127.0.0.1 and ::1 and of
/// no other address. The supervisor listens there before the launcher starts; the launcher never hears of it.
struct Publish {
  std::uint16_t port = 0;
  friend bool operator==(const Publish&, const Publish&) = default;
};

/// The ssh agent that a run may list the keys of and sign with: a unix socket of the private root, on which a relay
/// serves. The supervisor gets it, and connects the relay to the host's agent before the launcher starts; of that the
/// launcher hears nothing.
struct AgentSocket {
  std::string target;       ///< in the new root
  std::string source;       ///< the agent's own socket, on the host
  FileId id;                ///< of `source`
  std::uint32_t owner = 0;  ///< uid of `source`: whoever listens there is that user or root
  friend bool operator==(const AgentSocket&, const AgentSocket&) = default;
};

/// The target's resource limits that need no cgroup (setrlimit(2)); lowered only.
struct ResourceLimit {
  std::uint32_t resource = 0;  ///< RLIMIT_*
  std::uint64_t soft = 0, hard = 0;
  friend bool operator==(const ResourceLimit&, const ResourceLimit&) = default;
};

/// A control group (v2) of the run's own, with these limits; 0: none of that kind. Swap is closed where memory is
/// limited. The supervisor makes it, puts init in before the plan is given to it, and reads everything back before the
/// target's child is let on; the child waits for that.
struct Cgroup {
  CgroupWay way = CgroupWay::kDirect;
  std::uint64_t memory_bytes = 0;
  std::uint64_t cpu_hundredths = 0;  ///< of a percent of one CPU: 5000 is half a CPU
  std::uint64_t pids = 0;            ///< processes and threads, init among them
  friend bool operator==(const Cgroup&, const Cgroup&) = default;
};

/// The target's ids, for a run as root on somebody else's workspace.
struct RunAs {
  std::uint32_t uid = 0, gid = 0;
  friend bool operator==(const RunAs&, const RunAs&) = default;
};

/// No capability in any set, empty bounding set, securebits locked, no_new_privs.
struct DropPrivileges {
  friend bool operator==(const DropPrivileges&, const DropPrivileges&) = default;
};

/// What a Landlock rule is for.
enum class RuleFor : std::uint8_t {
  kTarget,
  kTargetIfThere,  ///< left out where nothing is there by then, or a link
  kMaskedFile,     ///< what stands for every masked file, this one among them; never what took a mask's place meanwhile
};

struct LandlockRule {
  std::string
      target;  ///< path inside the new root; of a directory, or of a file (then only rights that a file can have)
  std::uint64_t access = 0;
  RuleFor object = RuleFor::kTarget;
  friend bool operator==(const LandlockRule&, const LandlockRule&) = default;
};

/// The file system policy once more, by another mechanism.
struct Landlock {
  std::uint64_t handled_access = 0;
  std::uint64_t scoped = 0;           ///< ABI ≥ 6
  std::uint64_t handled_network = 0;  ///< LANDLOCK_ACCESS_NET_*, ABI ≥ 4; none of it is granted
  int abi = 0;
  std::vector<LandlockRule> rules;
  friend bool operator==(const Landlock&, const Landlock&) = default;
};

/// A compiled seccomp program (struct sock_filter[], native byte order).
struct Filter {
  std::string name;  ///< "exec", "system-calls"
  std::vector<std::uint8_t> program;
  bool notify = false;      ///< has USER_NOTIF: a listener goes to the supervisor
  std::uint32_t flags = 0;  ///< as seccomp(2) is given them; with SECCOMP_FILTER_FLAG_NEW_LISTENER where notify is true
  friend bool operator==(const Filter&, const Filter&) = default;
};

/// The end of set-up: working directory, environment, execve.
struct Execute {
  std::string path;
  std::vector<std::string> argv;
  std::vector<std::string> environment;  ///< "NAME=VALUE"; values are secrets, never printed
  std::string working_directory;
  friend bool operator==(const Execute&, const Execute&) = default;
};

using Any = std::variant<EnterNamespaces, BuildRoot, MakeDirectory, MakeSymlink, MakeFile, Bind, MountProc, MountDev,
                         Device, MountTmpfs, Mask, Pin, StubOverlay, PrivateOverlay, HoldPoint, EnterRoot, Loopback,
                         LocalNetwork, Redirect, Listen, SocketPool, Publish, AgentSocket, Cgroup, ResourceLimit, RunAs,
                         DropPrivileges, Landlock, Filter, Execute, StartWarden, Grant, PrivateDirectory>;

}  // namespace step

struct Step {
  step::Any act;
  Layer layer = Layer::kFilesystem;
  std::string reason;  ///< "read: ~/data" or "base" – the policy line or the built-in that asked for it
  base::Span at;       ///< the policy line, if one asked
  friend bool operator==(const Step&, const Step&) = default;
};

/// One line under `network:`, its host and ports in their canonical spelling.
struct NetworkRule {
  std::string host, ports;
  base::Span at;
  friend bool operator==(const NetworkRule&, const NetworkRule&) = default;
};

/// A proxy of the host's network, through which the broker reaches names.
struct Upstream {
  std::string host;
  std::uint16_t port = 0;
  std::string authorization;        ///< "Basic …": a secret, never printed
  std::vector<NetworkRule> direct;  ///< these are reached without it
  friend bool operator==(const Upstream&, const Upstream&) = default;
};

/// What the broker may let through.
struct Egress {
  std::vector<NetworkRule> allow;
  std::vector<std::string> opened;           ///< address blocks that --allow-address opened
  std::vector<std::uint16_t> host_services;  ///< ports of the host's loopback, sorted
  bool ipv6 = false;                         ///< inside
  bool asks = false;                         ///< what no rule covers is asked about (--ask)
  std::optional<Upstream> upstream;
  friend bool operator==(const Egress&, const Egress&) = default;
};

/// A promise that this host holds only in part or not at all, accepted by posture. The Report repeats it.
struct Degradation {
  Layer layer = Layer::kFilesystem;
  LayerState state = LayerState::kDegraded;
  std::string what;  ///< what is not held, one sentence
  std::string mend;
  std::string code = {};  ///< kebab-case, of what an engine cannot hold; "" where a Feature is missing
  friend bool operator==(const Degradation&, const Degradation&) = default;
};

/// Something worth saying that refuses nothing ("env HOME is listed but not set").
struct Note {
  std::string code;  ///< kebab-case
  std::string text;
  base::Span at;
  friend bool operator==(const Note&, const Note&) = default;
};

/// A call that the run is notified of, on the machine that the plan is for.
struct WatchedCall {
  std::uint32_t number = 0;
  std::uint16_t row = 0;  ///< of kPathCalls
  friend bool operator==(const WatchedCall&, const WatchedCall&) = default;
};

struct Plan {
  Engine engine = Engine::kNamespace;
  std::vector<Step> steps;
  std::optional<Egress> egress;  ///< of a run with a way out; its Listen steps are what the broker serves
  std::uint64_t timeout_ms = 0;  ///< 0: none
  bool exec_closed = false;      ///< a notify filter answers every execve but the launcher's with EPERM
  /// Calls that change a file's mode, owner, times or extended attributes are notified, and done by the supervisor
  /// where the file lies in what is granted for writing: Landlock has no right for them.
  bool serves_attributes = false;
  Watching watching = Watching::kNothing;
  std::vector<WatchedCall> watched;  ///< what the notify filter hands to the supervisor for it, sorted by number
  std::vector<Layer> requested;      ///< layers that this run promises
  std::vector<Degradation> degradations;
  std::vector<Note> notes;
  std::vector<Alias> accepted_aliases;  ///< other names of credentials that the target sees: --accept-alias

  [[nodiscard]] const Step& at(base::StepId id) const { return steps.at(id.value - 1U); }
  friend bool operator==(const Plan&, const Plan&) = default;
};

/// The kebab-case name of a step's kind: "bind", "mount-proc".
std::string_view step_name(const step::Any& act);
std::string_view engine_name(Engine engine);         ///< "namespace", "landlock"
std::string_view listen_name(step::ListenFor what);  ///< "redirected", "dns-udp"
std::string_view way_name(CgroupWay way);            ///< "direct", "scope"
std::string_view shield_name(step::Shield shield);   ///< "hidden", "read-only"

}  // namespace cordon::plan
