#include "planner/refusals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <seccomp.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "planner/fake_host_test.h"

namespace cordon::planner {
namespace {

using plan::Blame;
using plan::RefusedItem;
using testing::FakeHost;
using testing::must_refuse;
using testing::Node;
using testing::PolicyMaker;

/// One way to be refused: what is done to an ordinary host and an ordinary policy, and what must be said.
struct Case {
  std::string what;
  Code code;
  std::function<void(FakeHost&, PolicyMaker&)> spoil;
  std::string says;  ///< part of the message
  std::string mend;  ///< part of the mend
  std::uint32_t line = 2;
  std::uint32_t uid = 1000;
};

FakeHost ordinary(std::uint32_t uid) {
  FakeHost host = FakeHost::debian(uid);
  host.program("/home/me/run.sh", "#!/bin/sh\necho\n", 1000);
  return host;
}

const std::vector<Case>& cases() {
  using H = FakeHost&;
  using P = PolicyMaker&;
  static const std::vector<Case> kCases = {
      // The host.
      {"an old kernel", Code::kKernelTooOld, [](H h, P) { h.facts.kernel_release = "5.10.0-9"; }, "5.10.0-9", "5.13", 0},
      {"another machine", Code::kMachineUnsupported, [](H h, P) { h.facts.machine = "riscv64"; }, "riscv64", "x86_64", 0},
      {"no user namespaces", Code::kFeatureMissing,
       [](H h, P) {
         h.facts.feature(plan::Feature::kUserNamespace) = {plan::Availability::kNo, 1, "clone(CLONE_NEWUSER)",
                                                           "AppArmor restricts them", "give it a profile"};
       },
       "clone(CLONE_NEWUSER) failed (EPERM); AppArmor restricts them", "give it a profile", 0},
      {"a proc that cannot be mounted", Code::kFeatureMissing,
       [](H h, P) {
         h.facts.feature(plan::Feature::kProcMount) = {plan::Availability::kNo, 1, "fsmount(proc)", "/proc is masked", "unmask it"};
       },
       "/proc is masked", "unmask it", 0},
      {"no user notification for exec: none", Code::kFeatureMissing,
       [](H h, P) { h.facts.feature(plan::Feature::kUserNotification).state = plan::Availability::kNo; }, "exec: none", "", 0},
      {"Landlock missing under --strict", Code::kFeatureMissing,
       [](H h, P p) {
         h.facts.landlock_abi = 0;
         h.facts.feature(plan::Feature::kLandlock).state = plan::Availability::kNo;
         p.policy.posture.strict = true;
       },
       "--strict", "", 0},
      {"a network rule that nobody can read", Code::kNetworkRuleInvalid,
       [](H, P p) { p.policy.network.push_back({"a example", "443", "", {{"m.yaml", 2, 1, 1}, ""}}); }, "a example", ""},
      {"a memory limit that this host cannot hold", Code::kLimitNotHeld,
       [](H h, P p) {
         h.limits = {.way = plan::CgroupWay::kNone, .cause = "cgroup v1", .mend = "boot with v2"};
         p.policy.limits.memory = "1G";
         p.policy.limits.memory_bytes = 1ULL << 30U;
         p.policy.limits.memory_at = {{"m.yaml", 2, 1, 1}, ""};
       },
       "limits.memory", "boot with v2"},
      {"a memory limit that nothing starts in", Code::kLimitTooSmall,
       [](H, P p) {
         p.policy.limits.memory = "1K";
         p.policy.limits.memory_bytes = 1024;
         p.policy.limits.memory_at = {{"m.yaml", 2, 1, 1}, ""};
       },
       "nothing starts in 1K", "4M"},
      {"no ssh agent", Code::kAgentMissing, [](H, P p) { p.policy.agent.push_back({"ssh", {{"m.yaml", 2, 1, 1}, ""}}); }, "SSH_AUTH_SOCK is not set", "eval $(ssh-agent)"},
      {"somebody else's ssh agent", Code::kAgentForeign,
       [](H h, P p) {
         h.special("/tmp/agent", Node::Kind::kSocket, 2000);
         h.environment["SSH_AUTH_SOCK"] = "/tmp/agent";
         p.policy.agent.push_back({"ssh", {{"m.yaml", 2, 1, 1}, ""}});
       },
       "belongs to uid 2000", "an agent of your own"},
      {"wx where nothing is written", Code::kWriteCoversBase, [](H, P p) { p.policy.wx.push_back({"/usr", "/usr", {{"m.yaml", 2, 1, 1}, ""}}); }, "wx: /usr", "below it"},
      {"a sandbox inside, of root", Code::kNestedNeedsUser,
       [](H, P p) {
         p.policy.entrypoint = {"/usr/bin/dash", "/usr/bin/dash", {{"m.yaml", 1, 1, 1}, ""}};
         p.policy.exec.mode = policy::ExecMode::kAll;
         p.policy.allow.push_back({"nested-sandbox", {{"m.yaml", 2, 1, 1}, ""}});
       },
       "uid 0", "ordinary user", 2, 0},
      {"a device that is not there", Code::kDeviceMissing, [](H, P p) { p.policy.devices.push_back({"/dev/kvm", {{"m.yaml", 2, 1, 1}, ""}}); }, "devices: /dev/kvm does not exist", "driver"},
      {"a device that opens the host", Code::kDeviceKept,
       [](H h, P p) { h.special("/dev/mem", Node::Kind::kDevice); p.policy.devices.push_back({"/dev/mem", {{"m.yaml", 2, 1, 1}, ""}}); }, "is none that a run may have", "kvm"},
      {"more processes than there can be", Code::kLimitTooLarge,
       [](H, P p) {
         p.policy.limits.pids = 4'194'305;
         p.policy.limits.pids_at = {{"m.yaml", 2, 1, 1}, ""};
       },
       "no kernel has 4194305 processes", "limits: {pids: 4194304} or less"},
      {"what the other engine does not hold", Code::kEngineCannotHold,
       [](H h, P p) {
         h.directory("/tmp", 0, 01777);
         p.policy.posture.engine = policy::EngineChoice::kLandlock;
         p.policy.limits.tmp = "8M";
         p.policy.limits.tmp_bytes = 8ULL << 20U;
         p.policy.limits.tmp_at.span = {"m.yaml", 2, 1, 1};
       },
       "tmp-size", "leave the line out"},
      // Any path.
      {"a directory that may not be searched", Code::kPathCannotBeChecked,
       [](H h, P p) {
         h.file("/home/other/secret/x", "x", 2000);
         h.directory("/home/other/secret", 2000, 0700);
         p.read("/home/other/secret/x");
       },
       "/home/other/secret", "reach yourself"},
      {"a mount that does not answer", Code::kPathCannotBeChecked,
       [](H h, P p) {
         h.special("/mnt", Node::Kind::kDeadMount);
         p.write("/mnt/data");
       },
       "EIO", ""},
      {"links that loop", Code::kPathLoops,
       [](H h, P p) {
         h.link("/home/me/a", "b", 1000);
         h.link("/home/me/b", "a", 1000);
         p.read("/home/me/a");
       },
       "has no end", "itself"},
      {"a file where a directory should be", Code::kPathNotDirectory,
       [](H h, P p) {
         h.file("/home/me/f", "x", 1000);
         p.read("/home/me/f/g");
       },
       "/home/me/f is a file", "name that file"},
      {"a name of 300 bytes", Code::kPathTooLong, [](H, P p) { p.read("/home/me/" + std::string(300, 'x')); }, "longer", "shorten"},
      {"another user's link", Code::kPathPlanted,
       [](H h, P p) {
         h.directory("/home/me/d", 1000);
         h.link("/tmp/l", "/home/me/d", 2000);
         p.write("/tmp/l");
       },
       "somebody else can choose", "/home/me/d"},
      {"a process of the host", Code::kGrantInProc, [](H h, P p) { h.directory("/proc/1"); p.read("/proc/1"); }, "/proc", "of its own"},
      {"/proc itself", Code::kGrantInProc, [](H, P p) { p.read("/proc"); }, "/proc", "of its own"},
      {"a link into /proc", Code::kGrantInProc,
       [](H h, P p) {
         h.directory("/proc/1/root");
         h.link("/home/me/p", "/proc/1/root", 1000);
         p.read("/home/me/p");
       },
       "/proc", ""},
      {"/dev", Code::kGrantManaged, [](H, P p) { p.read("/dev"); }, "/dev", "minimal /dev"},
      {"/sys", Code::kGrantManaged, [](H h, P p) { h.directory("/sys/class"); p.read("/sys/class"); }, "/sys", ""},
      {"/tmp", Code::kGrantManaged, [](H, P p) { p.write("/tmp"); }, "/tmp", "below /tmp"},
      {"writing to a cpu's files", Code::kGrantManaged,
       [](H h, P p) { h.directory("/sys/devices/system/cpu/cpu0"); p.write("/sys/devices/system/cpu/cpu0"); }, "/sys", "", 2, 0},
      {"writing the manifest", Code::kGrantManaged,
       [](H h, P p) { h.file("/home/me/run.sh.manifest.yaml", "x", 1000); p.write("/home/me/run.sh.manifest.yaml"); }, "manifest", ""},
      // Grants.
      {"write: /", Code::kWriteRoot, [](H, P p) { p.write("/"); }, "whole file system", "the directory"},
      {"write: ~", Code::kWriteCoversHome, [](H, P p) { p.write("/home/me"); }, "home directory", "below"},
      {"a link to the home", Code::kWriteCoversHome, [](H h, P p) { h.link("/srv/h", "/home/me"); p.write("/srv/h"); }, "home", "below"},
      {"write: /home", Code::kWriteHomeContainer, [](H, P p) { p.write("/home"); }, "homes of all users", "your own home"},
      {"write to another's home", Code::kWriteOtherHome,
       [](H h, P p) { h.directory("/home/other", 2000, 0777); p.write("/home/other"); }, "another user's home", "your own"},
      {"write: /usr", Code::kWriteCoversBase, [](H, P p) { p.write("/usr"); }, "covers /usr", "below", 2, 0},
      {"write: /etc", Code::kWriteCoversBase, [](H, P p) { p.write("/etc"); }, "covers /etc", "below", 2, 0},
      {"writing to a socket", Code::kWriteNotFileOrDirectory,
       [](H h, P p) { h.special("/home/me/s", Node::Kind::kSocket, 1000); p.write("/home/me/s"); }, "neither", "directory"},
      {"writing where the caller may not", Code::kWriteNotPermitted, [](H, P p) { p.write("/opt"); }, "owner 0, mode 0755", "may write"},
      {"making where the caller may not", Code::kWriteNotPermitted, [](H, P p) { p.write("/opt/new"); }, "/opt", "may write"},
      {"writing on a read-only mount", Code::kWriteReadOnlyMount,
       [](H h, P p) { h.directory("/srv/ro", 1000).read_only = true; p.write("/srv/ro"); }, "read-only", "can be written"},
      {"a grant below a denied directory", Code::kGrantInsideDeny,
       [](H h, P p) { h.directory("/home/me/d/x", 1000); p.read("/home/me/d/x").deny("/home/me/d"); }, "deny: /home/me/d", "one of the two"},
      {"a grant that is denied", Code::kGrantInsideDeny,
       [](H h, P p) { h.directory("/home/me/d", 1000); p.write("/home/me/d").deny("/home/me/d"); }, "deny:", ""},
      {"deny: ~", Code::kDenyTooBroad, [](H, P p) { p.deny("/home/me"); }, "home", "hidden anyway"},
      {"deny: /", Code::kDenyTooBroad, [](H, P p) { p.deny("/"); }, "root directory", ""},
      {"writing by a pattern", Code::kPathCannotBeChecked, [](H, P p) { p.write("/home/me/out/*.txt"); },
       "patterns are not expanded, and nothing has this name", "name the directory"},
      {"writing by a variable", Code::kPathCannotBeChecked, [](H, P p) { p.write("/home/me/$OUT/x"); },
       "variables are not expanded", "write the path out"},
      {"denying what the target could make", Code::kDenyMissingInWrite,
       [](H h, P p) { h.directory("/home/me/w", 1000); p.deny("/home/me/w/.env").write("/home/me/w"); }, "lets the target make it", "mkdir"},
      // Other names of credentials.
      {"a hard link to a key", Code::kCredentialAlias,
       [](H h, P p) {
         h.directory("/home/me/.ssh", 1000);
         h.file("/home/me/d/key", "k", 1000);
         h.aliases.found = {{"/home/me/d/key", "/home/me/.ssh/id", plan::AliasKind::kHardLink}};
         p.read("/home/me/d");
       },
       "is the same file as /home/me/.ssh/id", "--accept-alias /home/me/d"},
      {"a search that never ended", Code::kAliasesUnchecked,
       [](H h, P p) {
         h.directory("/home/me/.ssh", 1000);
         h.directory("/home/me/d", 1000);
         h.aliases.end = plan::AliasScanEnd::kTooLong;
         h.aliases.where = "/home/me/d";
         p.read("/home/me/d");
       },
       "did not end: it took too long", "narrower"},
      {"--accept-alias of a home", Code::kAcceptAliasTooBroad,
       [](H, P p) { p.policy.posture.accept_alias.push_back({"~", "/home/me", {{}, "--accept-alias"}}); },
       "holds or lies in a store", "name the directory", 0},
      // Shields.
      {"no home at all", Code::kNoHome,
       [](H h, P) { h.facts.home = ""; h.forget_accounts(); },
       "not known", "set HOME", 0},
      {"a key in a store", Code::kGrantInsideShield,
       [](H h, P p) { h.file("/home/me/.ssh/id", "k", 1000); p.read("/home/me/.ssh/id"); }, "/home/me/.ssh", "'read: /home/me/.ssh'"},
      {"writing a store", Code::kWriteInsideShield,
       [](H h, P p) { h.directory("/home/me/.ssh", 1000); p.write("/home/me/.ssh"); }, "no line lets", "of its own"},
      {"writing hooks", Code::kWriteInsideReadOnlyShield,
       [](H h, P p) { h.directory("/home/me/p/.git/hooks", 1000); p.write("/home/me/p/.git/hooks"); }, "read-only", "remove the line"},
      {"a store behind a link that could be replaced", Code::kShieldRedirected,
       [](H h, P p) { h.directory("/home/me/.config/a", 1000); h.directory("/data/gh", 1000); h.link("/home/me/.config/gh", "a/../../../../data/gh", 1000); p.write("/home/me/.config"); },
       "behind the link /home/me/.config/gh", "/data/gh"},
      {"another spelling of a store", Code::kShieldFolded,
       [](H h, P p) {
         h.directory("/home/me/.ssh", 1000);
         h.directory("/home/me/.SSH", 1000).inode = h.at("/home/me/.ssh").inode;
         p.read("/home/me/.SSH");
       },
       "another spelling", "on the disk"},
      {"a store that has another spelling below a read grant", Code::kShieldFolded,
       [](H h, P p) {
         h.mount("/home/me", "9p");
         h.directory("/home/me/.ssh", 1000);
         h.directory("/home/me/.SSH", 1000).inode = h.at("/home/me/.ssh").inode;
         p.read("/home/me");
       },
       "takes /home/me/.SSH for /home/me/.ssh", "tells the two apart"},
      {"a store on a dead mount below a read grant", Code::kShieldCannotBeHeld,
       [](H h, P p) { h.directory("/home/me/.config", 1000); h.special("/home/me/.config/gh", Node::Kind::kDeadMount); p.read("/home/me/.config"); },
       "cannot be protected", "narrower"},
      {"an entrypoint in a store", Code::kProgramInsideShield,
       [](H h, P p) { h.program("/home/me/.ssh/run", "#!/bin/sh\n", 1000); p.policy.entrypoint.path = "/home/me/.ssh/run"; },
       "entrypoint /home/me/.ssh/run", "elsewhere", 1},
      // The program.
      {"no entrypoint", Code::kEntrypointMissing, [](H h, P) { h.remove("/home/me/run.sh"); }, "does not exist", "correct", 1},
      {"a directory as entrypoint", Code::kEntrypointNotFile,
       [](H h, P) { h.remove("/home/me/run.sh"); h.directory("/home/me/run.sh", 1000); }, "a directory", "script or program", 1},
      {"a script without x bit", Code::kEntrypointNotExecutable,
       [](H h, P) { h.at("/home/me/run.sh").mode = 0644; }, "not executable", "chmod +x /home/me/run.sh", 1},
      {"a text without x bit", Code::kEntrypointNotExecutable,
       [](H h, P) { h.file("/home/me/run.sh", "print(1)", 1000); }, "no interpreter is named", "interpreter:", 1},
      {"a text with x bit", Code::kEntrypointUnknownFormat,
       [](H h, P) { h.program("/home/me/run.sh", "print(1)", 1000); }, "neither", "'#!' line", 1},
      {"an empty file with x bit", Code::kEntrypointUnknownFormat, [](H h, P) { h.program("/home/me/run.sh", "", 1000); }, "empty", "", 1},
      {"an interpreter that is not on PATH", Code::kInterpreterNotFound, [](H, P p) { p.interpreter("ruby"); }, "PATH", "install"},
      {"an interpreter path that is not there", Code::kInterpreterNotFound,
       [](H, P p) { p.interpreter("/opt/x/bin/py"); }, "does not exist", "correct"},
      {"a directory as interpreter", Code::kInterpreterNotFile, [](H, P p) { p.interpreter("/usr/bin"); }, "no regular file", ""},
      {"a PATH candidate without x bit", Code::kInterpreterNotExecutable,
       [](H h, P p) { h.file("/usr/local/bin/ruby", "ELF"); p.interpreter("ruby"); }, "/usr/local/bin/ruby", "chmod +x"},
      {"an interpreter path without x bit", Code::kInterpreterNotExecutable,
       [](H h, P p) { h.file("/opt/py", "ELF"); p.interpreter("/opt/py"); }, "not executable", "chmod +x /opt/py"},
      {"a #! to a file without x bit", Code::kInterpreterNotExecutable,
       [](H h, P) { h.file("/opt/py", "ELF"); h.program("/home/me/run.sh", "#!/opt/py\n", 1000); }, "#!/opt/py", "'interpreter:'", 1},
      {"an interpreter that is a text", Code::kInterpreterUnknownFormat,
       [](H h, P p) { h.program("/opt/py", "hello"); p.interpreter("/opt/py"); }, "no program", "another"},
      {"#! lines in a circle", Code::kInterpreterUnknownFormat,
       [](H h, P) { h.program("/opt/a", "#!/opt/b\n"); h.program("/opt/b", "#!/opt/a\n"); h.program("/home/me/run.sh", "#!/opt/a\n", 1000); },
       "do not come to an end", "", 1},
      {"a #! to nothing", Code::kShebangInterpreterMissing,
       [](H h, P) { h.program("/home/me/run.sh", "#!/opt/none -x\n", 1000); }, "#!/opt/none -x", "correct the line", 1},
      {"a #! with a carriage return", Code::kShebangInterpreterMissing,
       [](H h, P) { h.program("/home/me/run.sh", "#!/bin/sh\r\n", 1000); }, "\\r", "Unix line ends", 1},
      {"env for a name that is not on PATH", Code::kShebangInterpreterMissing,
       [](H h, P) { h.program("/home/me/run.sh", "#!/usr/bin/env ruby\n", 1000); }, "ruby is not on PATH", "install ruby", 1},
      {"env for a name with options", Code::kShebangInterpreterMissing,
       [](H h, P) { h.program("/home/me/run.sh", "#!/usr/bin/env python3 -u\n", 1000); }, "not on PATH", "env -S", 1},
      {"a program for another architecture", Code::kProgramForeign,
       [](H h, P) { h.program("/home/me/run.sh", "FOREIGN", 1000); }, "another architecture than x86_64", "this machine", 1},
      {"a program on a noexec mount", Code::kProgramOnNoexec,
       [](H h, P) { h.program("/home/me/run.sh", "ELF", 1000).noexec = true; }, "noexec", "move it", 1},
      {"env with an assignment under exec: none", Code::kProgramNeedsExec,
       [](H h, P) { h.program("/home/me/run.sh", "#!/usr/bin/env -i sh\n", 1000); }, "cannot be followed", "exec: all", 1},
      {"a shim that is a shell script", Code::kProgramNeedsExec,
       [](H h, P p) { h.program("/usr/local/bin/python", "#!/usr/bin/env bash\nexec pyenv\n"); p.interpreter("python"); },
       "is a script for bash", "real interpreter"},
      {"a #! to a shim that is a shell script", Code::kProgramNeedsExec,
       [](H h, P) { h.program("/opt/py", "#!/bin/sh\nexec x\n"); h.program("/home/me/run.sh", "#!/opt/py\n", 1000); }, "script for dash", "", 1},
      {"a shim that is a link to its manager", Code::kProgramNeedsExec,
       [](H h, P p) { h.program("/opt/volta/volta-shim", "ELF"); h.link("/usr/local/bin/node", "/opt/volta/volta-shim"); p.interpreter("node"); },
       "is volta-shim", "real interpreter"},
      {"env as interpreter", Code::kProgramNeedsExec, [](H, P p) { p.interpreter("env"); }, "is env", ""},
      {"a denied entrypoint", Code::kProgramInsideDeny, [](H, P p) { p.deny("/home/me/run.sh"); }, "entrypoint /home/me/run.sh", "", 1},
      {"a denied interpreter", Code::kProgramInsideDeny, [](H, P p) { p.deny("/usr/bin/dash"); }, "interpreter /usr/bin/dash", "", 1},
      {"a denied loader", Code::kProgramInsideDeny, [](H, P p) { p.deny("/usr/lib64"); }, "loader", "", 1},
      {"a loader that is not there", Code::kLoaderMissing,
       [](H h, P) { h.program("/home/me/run.sh", "ELF:/lib/ld-musl-x86_64.so.1", 1000); }, "ld-musl", "static", 1},
      // A list of programs.
      {"a program that is not on the target's PATH", Code::kExecNotFound, [](H, P p) { p.exec({"ruby"}); },
       "exec: ruby: ruby is not on the target's PATH (/usr/bin:/bin)", "env: [PATH]", 3},
      {"a listed program that is not there", Code::kExecNotFound, [](H, P p) { p.exec({"/opt/tool"}); }, "/opt/tool does not exist", "", 3},
      {"a listed directory", Code::kExecNotProgram, [](H, P p) { p.exec({"/usr/bin"}); }, "a directory", "its own path", 3},
      {"a listed text", Code::kExecNotProgram, [](H h, P p) { h.program("/usr/bin/text", "words"); p.exec({"text"}); }, "neither", "", 3},
      {"a listed script without the x bit", Code::kExecNotProgram,
       [](H h, P p) { h.file("/usr/bin/tool", "#!/bin/sh\n"); p.exec({"/usr/bin/tool"}); }, "not executable", "chmod +x", 3},
      {"a listed script whose interpreter is missing", Code::kShebangInterpreterMissing,
       [](H h, P p) { h.program("/usr/bin/tool", "#!/usr/bin/ruby\n"); p.exec({"tool"}); }, "/usr/bin/ruby does not exist", "", 3},
      {"a listed script whose env finds nothing", Code::kExecNotFound,
       [](H h, P p) { h.program("/usr/bin/tool", "#!/usr/bin/env ruby\n"); p.exec({"tool"}); }, "ruby is not on the target's PATH", "", 3},
      {"a listed program of another machine", Code::kProgramForeign,
       [](H h, P p) { h.program("/usr/bin/tool", "FOREIGN"); p.exec({"tool"}); }, "another architecture", "", 3},
      {"a listed program on noexec", Code::kProgramOnNoexec,
       [](H h, P p) { h.program("/usr/bin/tool", "ELF").noexec = true; p.exec({"tool"}); }, "noexec", "", 3},
      {"a listed program without its loader", Code::kLoaderMissing,
       [](H h, P p) { h.program("/usr/bin/tool", "ELF:/lib/ld-musl-x86_64.so.1"); p.exec({"tool"}); }, "ld-musl", "static", 3},
      {"a listed program that is not visible", Code::kExecNotVisible,
       [](H h, P p) { h.program("/opt/tool", "ELF"); p.exec({"/opt/tool"}); }, "exec: /opt/tool: the target does not see it", "add 'read: /opt/tool'", 3},
      {"a listed program that is written", Code::kExecWritable,
       [](H h, P p) { h.program("/home/me/tool", "ELF", 1000); p.exec({"/home/me/tool"}).write("/home/me/tool"); }, "for writing", "remove one", 3},
      {"a planted interpreter", Code::kPathPlanted,
       [](H h, P p) { h.link("/usr/local/bin/ruby", "/usr/bin/perl", 2000); p.interpreter("ruby"); }, "/usr/local/bin/ruby", "/usr/bin/perl"},
      {"an interpreter in /dev", Code::kGrantManaged,
       [](H h, P p) { h.program("/dev/shm/py", "ELF"); h.link("/usr/local/bin/ruby", "/dev/shm/py"); p.interpreter("ruby"); }, "of its own", ""},
      {"more steps than have names", Code::kTooManySteps,
       [](H h, P p) {
         for (int i = 0; i < 33000; ++i) {
           h.directory("/srv/d/" + std::to_string(i));
           p.read("/srv/d/" + std::to_string(i));
         }
       },
       "steps", "directories", 0},
  };
  return kCases;
}

TEST(Refusals, EachProblemIsNamedWithItsLineAndItsMend) {
  for (const Case& test : cases()) {
    SCOPED_TRACE(test.what);
    FakeHost host = ordinary(test.uid);
    PolicyMaker maker("/home/me/run.sh");
    test.spoil(host, maker);
    const plan::Refusal refusal = must_refuse(host.plan(maker.policy));
    ASSERT_EQ(refusal.items.size(), 1U) << (refusal.items.size() > 1 ? refusal.items[1].message : "");
    const RefusedItem& item = refusal.items.front();
    EXPECT_EQ(item.code, code_facts(test.code).name);
    EXPECT_EQ(item.blame, code_facts(test.code).blame);
    EXPECT_THAT(item.message, ::testing::HasSubstr(test.says));
    EXPECT_THAT(item.mend, ::testing::HasSubstr(test.mend));
    EXPECT_EQ(item.at.line, test.line);
    // Nothing of the user's mistake may look like a weakness of the host.
    EXPECT_TRUE(item.blame != Blame::kPolicy || !item.layer) << item.message;
  }
}

/// memfd_create fails for the calling thread from now on. (A limit on descriptors would also stop UBSan, which needs a
/// pipe to look at an object.)
bool deny_memfd_to_this_thread() {
  const std::unique_ptr<void, decltype(&seccomp_release)> filter(seccomp_init(SCMP_ACT_ALLOW), seccomp_release);
  return filter && seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(EMFILE), SCMP_SYS(memfd_create), 0) == 0 &&
         seccomp_load(filter.get()) == 0;
}

/// Without a memfd libseccomp has nowhere to write a program to.
plan::Refusal refused_without_memfd() {
  FakeHost host = ordinary(1000);
  const policy::Policy policy = PolicyMaker("/home/me/run.sh").policy;
  const plan::HostFacts& facts = host.know(policy);
  plan::Refusal refusal;
  std::thread([&] {
    ASSERT_TRUE(deny_memfd_to_this_thread());
    refusal = must_refuse(plan(policy, facts));
  }).join();
  return refusal;
}

TEST(Refusals, AFilterThatCannotBeCompiledIsNeverLeftOut) {
  const plan::Refusal refusal = refused_without_memfd();
  ASSERT_EQ(refusal.items.size(), 2U);
  for (const RefusedItem& item : refusal.items) {
    EXPECT_EQ(item.code, code_facts(Code::kFilterNotBuilt).name);
    EXPECT_EQ(item.blame, Blame::kHost);
  }
}

TEST(Refusals, EveryCodeIsProducedByATest) {
  std::set<std::string_view> produced = {code_facts(Code::kFilterNotBuilt).name};  // by the test above
  for (const Case& test : cases()) produced.insert(code_facts(test.code).name);
  for (std::size_t i = 0; i < static_cast<std::size_t>(Code::kCount); ++i) {
    const std::string_view name = code_facts(static_cast<Code>(i)).name;
    EXPECT_TRUE(produced.contains(name)) << name;
  }
}

TEST(Refusals, CodesAreKebabCaseAndDistinct) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < static_cast<std::size_t>(Code::kCount); ++i) {
    const std::string_view name = code_facts(static_cast<Code>(i)).name;
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_TRUE(std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; })) << name;
  }
}

TEST(Refusals, AllProblemsAreToldAtOnce) {
  FakeHost host = ordinary(1000);
  host.remove("/home/me/run.sh");
  PolicyMaker maker("/home/me/run.sh");
  maker.read("/proc/1").write("/").write("/home/me").interpreter("ruby").exec({"nowhere"});
  host.facts.feature(plan::Feature::kUserNamespace).state = plan::Availability::kNo;
  const plan::Refusal refusal = must_refuse(host.plan(maker.policy));
  std::vector<std::string> codes;
  for (const RefusedItem& item : refusal.items) codes.push_back(item.code);
  EXPECT_THAT(codes,
              ::testing::UnorderedElementsAre("entrypoint-missing", "interpreter-not-found", "grant-in-proc",
                                              "write-root", "write-covers-home", "exec-not-found", "feature-missing"));
}

TEST(Refusals, OnlyGrantsAreMarkedAsGrants) {
  FakeHost host = ordinary(1000);
  host.remove("/home/me/run.sh");
  PolicyMaker maker("/home/me/run.sh");
  maker.write("/");
  for (const RefusedItem& item : must_refuse(host.plan(maker.policy)).items) {
    EXPECT_EQ(item.is_grant, item.code == "write-root") << item.code;
  }
}

TEST(Refusals, HostileBytesInPathsAreEscaped) {
  FakeHost host = ordinary(1000);
  PolicyMaker maker("/home/me/run.sh");
  maker.write("/opt/a\n\x1b[31mb\xe2\x80\xae");
  const plan::Refusal refusal = must_refuse(host.plan(maker.policy));
  ASSERT_EQ(refusal.items.size(), 1U);
  EXPECT_THAT(refusal.items[0].message, ::testing::Not(::testing::ContainsRegex("[\x01-\x1f\x7f-\xff]")));
}

TEST(Refusals, APathThatNobodyLookedUpIsRefused) {
  FakeHost host = ordinary(1000);
  PolicyMaker maker("/home/me/run.sh");
  (void)host.know(maker.policy);
  maker.read("/home/me/later");
  const plan::Refusal refusal = must_refuse(plan(maker.policy, host.facts));
  ASSERT_EQ(refusal.items.size(), 1U);
  EXPECT_EQ(refusal.items[0].code, "path-cannot-be-checked");
}

TEST(Refusals, AFactThatTellsWhyIsNamedForProbingAnew) {
  FakeHost host = ordinary(1000);
  host.facts.feature(plan::Feature::kMountApi).state = plan::Availability::kNo;
  const plan::Refusal refusal = must_refuse(host.plan(PolicyMaker("/home/me/run.sh").policy));
  ASSERT_EQ(refusal.items.size(), 1U);
  EXPECT_EQ(refusal.items[0].feature, plan::Feature::kMountApi);
  EXPECT_EQ(refusal.items[0].layer, plan::Layer::kFilesystem);
}

}  // namespace
}  // namespace cordon::planner
