#include "planner/fake_host_test.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <sstream>

#include "base/abs_path.h"
#include "base/text.h"
#include "planner/path_text.h"

namespace cordon::planner::testing {

using plan::PathFact;
using plan::PathState;

namespace {

std::uint32_t type_of(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kDirectory:
    case Node::Kind::kDeadMount:
      return S_IFDIR;
    case Node::Kind::kFile:
      return S_IFREG;
    case Node::Kind::kLink:
      return S_IFLNK;
    case Node::Kind::kSocket:
      return S_IFSOCK;
    case Node::Kind::kDevice:
      return S_IFCHR;
  }
  return 0;
}

std::string below(const std::string& directory, const std::string& name) {
  return directory == "/" ? "/" + name : directory + "/" + name;
}

}  // namespace

FakeHost::FakeHost(std::uint32_t uid) {
  facts.kernel_release = "6.12.1";
  facts.machine = "x86_64";
  facts.landlock_abi = 6;
  facts.uid = uid;
  facts.gid = uid;
  facts.home = uid == 0 ? "/root" : "/home/me";
  facts.working_directory = facts.home;
  facts.search_path = "/usr/local/bin:/usr/bin:/bin";
  facts.mounts.emplace();
  nodes_["/"] = Node{.inode = 2};
}

FakeHost FakeHost::debian(std::uint32_t uid) {
  FakeHost host(uid);
  const std::string ld = "/lib64/ld-linux-x86-64.so.2";
  for (const char* path : {"/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64", "/usr/local/bin", "/etc/ssl/certs",
                           "/etc/alternatives", "/etc/ld.so.conf.d", "/var/lib", "/opt", "/srv", "/run", "/proc",
                           "/sys", "/dev", "/sys/devices/system/cpu", "/usr/share/zoneinfo"}) {
    host.directory(path);
  }
  host.directory("/tmp", 0, 01777);
  for (const char* name : {"bin", "sbin", "lib", "lib64"})
    host.link("/" + std::string(name), "usr/" + std::string(name));
  host.file("/usr/lib64/ld-linux-x86-64.so.2", "ELF", 0, 0755);
  for (const char* name : {"python3.11", "bash", "dash", "env", "node", "perl"}) {
    host.program("/usr/bin/" + std::string(name), "ELF:" + ld);
  }
  host.link("/usr/bin/python3", "python3.11");
  host.link("/usr/bin/sh", "dash");
  for (const char* name : {"ld.so.cache", "ld.so.conf", "passwd", "services", "timezone"}) {
    host.file("/etc/" + std::string(name), "text");
  }
  host.file("/etc/shadow", "secret", 0, 0640);
  host.file("/usr/share/zoneinfo/UTC", "zone");
  host.link("/etc/localtime", "/usr/share/zoneinfo/UTC");
  host.directory("/root", 0, 0700);
  host.directory("/home");
  host.directory("/home/me", 1000, 0700);
  host.account("root", 0, "/root");
  host.account("me", 1000, "/home/me", {1000, 27});
  return host;
}

Node& FakeHost::put(const std::string& path, Node node) {
  const std::string parent(parent_of(path));
  if (!nodes_.contains(parent)) directory(parent, node.uid);
  node.gid = node.uid;
  node.inode = next_inode_++;
  return nodes_[path] = std::move(node);
}

Node& FakeHost::directory(const std::string& path, std::uint32_t uid, std::uint32_t mode) {
  return put(path, {.kind = Node::Kind::kDirectory, .content = {}, .uid = uid, .mode = mode});
}
Node& FakeHost::file(const std::string& path, std::string content, std::uint32_t uid, std::uint32_t mode) {
  return put(path, {.kind = Node::Kind::kFile, .content = std::move(content), .uid = uid, .mode = mode});
}
Node& FakeHost::program(const std::string& path, std::string content, std::uint32_t uid) {
  return file(path, std::move(content), uid, 0755);
}
Node& FakeHost::link(const std::string& path, const std::string& text, std::uint32_t uid) {
  return put(path, {.kind = Node::Kind::kLink, .content = text, .uid = uid, .mode = 0777});
}
Node& FakeHost::special(const std::string& path, Node::Kind kind, std::uint32_t uid) {
  return put(path, {.kind = kind, .content = {}, .uid = uid, .mode = 0666});
}

Node& FakeHost::mount(const std::string& path, const std::string& type) {
  facts.mounts->push_back({.point = path, .type = type});
  return nodes_.contains(path) ? nodes_.at(path) : directory(path);
}

void FakeHost::account(std::string name, std::uint32_t uid, std::string home, std::vector<std::uint32_t> groups) {
  known_.push_back({.name = std::move(name),
                    .uid = uid,
                    .gid = uid,
                    .groups = std::move(groups),
                    .home = std::move(home),
                    .shell = "/bin/bash"});
}

bool FakeHost::may(const Node& node, std::uint32_t bit) const {
  if (facts.uid == 0) return bit != 1 || node.kind == Node::Kind::kDirectory || (node.mode & 0111) != 0;
  const std::uint32_t shift = node.uid == facts.uid ? 6 : node.gid == facts.gid ? 3 : 0;
  return (node.mode >> shift & bit) != 0;
}

void FakeHost::describe(const Node& node, PathFact& fact) const {
  fact.id = {.device = 1, .inode = node.inode, .type = type_of(node), .has_birth_time = true, .birth_ns = 1};
  fact.uid = node.uid;
  fact.gid = node.gid;
  fact.mode = node.mode;
  fact.links = node.links;
  fact.writable = may(node, 2) && !node.read_only;
  fact.executable = may(node, 1);
  fact.noexec = node.noexec;
  fact.read_only = node.read_only;
  fact.filesystem = "ext4";
  fact.mount = 1;
}

PathFact FakeHost::resolve(const std::string& asked) const {
  PathFact fact;
  fact.asked = asked;
  std::vector<std::string> pending;
  const auto push = [&](const std::string& path) {
    const auto parts = base::split(path, '/');
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      if (!part->empty()) pending.emplace_back(*part);
    }
  };
  push(asked);
  std::string at = "/";
  const auto stop = [&](PathState state, int code) {
    fact.state = state;
    fact.code = code;
    fact.real = at;
    return fact;
  };
  std::string deepest = "/";
  std::vector<plan::Gate> gates;
  while (!pending.empty()) {
    const std::string name = pending.back();
    pending.pop_back();
    if (name.size() > 255) return stop(PathState::kTooLong, ENAMETOOLONG);
    if (name == "..") {
      at = std::string(parent_of(at));
      continue;
    }
    const auto here = nodes_.find(at);
    if (here != nodes_.end() && here->second.kind == Node::Kind::kDeadMount) return stop(PathState::kFailed, EIO);
    if (here != nodes_.end() && here->second.kind != Node::Kind::kDirectory)
      return stop(PathState::kNotDirectory, ENOTDIR);
    if (here != nodes_.end() && !may(here->second, 1)) {
      at = below(at, name);
      return stop(PathState::kDenied, EACCES);
    }
    if (here != nodes_.end() && facts.uid == 0 && (here->second.mode & 1) == 0) {
      gates.push_back({at, here->second.uid, here->second.gid, here->second.mode, false});
    }
    const std::string next = below(at, name);
    const auto found = nodes_.find(next);
    if (found == nodes_.end()) {
      if (fact.first_absent.empty()) fact.first_absent = next;
      at = next;
      continue;
    }
    if (found->second.kind == Node::Kind::kLink) {
      if (fact.hops.size() == 40) return stop(PathState::kLoop, ELOOP);
      const Node& directory = nodes_.at(at);
      const bool shared = (directory.mode & 0002) != 0;
      fact.hops.push_back(
          {.at = next, .target = found->second.content, .owner = found->second.uid, .in_shared_directory = shared});
      const auto planted = [&](std::uint32_t uid, const std::string& words) {
        fact.planters.push_back(uid);
        if (fact.planted_by.empty()) fact.planted_by = words;
      };
      if (found->second.uid != 0 && found->second.uid != facts.uid) {
        planted(found->second.uid, "the link " + next + " belongs to uid " + std::to_string(found->second.uid));
      }
      if (directory.uid != 0 && directory.uid != facts.uid && directory.uid != found->second.uid) {
        planted(directory.uid, "uid " + std::to_string(directory.uid) + " owns " + at);
      }
      if (shared && (directory.mode & 01000) == 0) planted(plan::kAnybody, "others may write in " + at);
      push(found->second.content);
      if (found->second.content.starts_with('/')) at = "/";
      continue;
    }
    at = next;
    deepest = next;
  }
  if (!fact.hops.empty()) fact.gates = gates;
  fact.real = at;
  fact.state = fact.first_absent.empty() ? PathState::kPresent : PathState::kAbsent;
  describe(nodes_.at(fact.first_absent.empty() ? at : deepest), fact);
  for (const plan::MountPlace& place : *facts.mounts) {
    if (within(fact.first_absent.empty() ? at : deepest, place.point)) fact.filesystem = place.type;
  }
  fact.on_proc = within(at, "/proc") || fact.filesystem == "proc";
  if (nodes_.contains(at) && nodes_.at(at).kind == Node::Kind::kDeadMount) return stop(PathState::kFailed, EIO);
  return fact;
}

plan::ProgramHop FakeHost::hop(const std::string& path) const {
  plan::ProgramHop out{.file = resolve(path)};
  if (out.file.state != PathState::kPresent || !nodes_.contains(out.file.real)) return out;
  const Node& node = nodes_.at(out.file.real);
  if (node.kind != Node::Kind::kFile) return out;
  const std::string& text = node.content;
  if (text.empty()) {
    out.format = plan::ProgramFormat::kEmpty;
  } else if (text.starts_with("ELF")) {
    out.format = plan::ProgramFormat::kElf;
    if (text.size() > 4) out.elf_interpreter = text.substr(4);
  } else if (text == "FOREIGN") {
    out.format = plan::ProgramFormat::kElf;
    out.elf_foreign = true;
  } else if (text.starts_with("#!")) {
    out.format = plan::ProgramFormat::kScript;
    const std::string line = text.substr(2, text.find('\n') - 2);
    out.shebang_interpreter = line.substr(0, line.find(' '));
    if (line.find(' ') != std::string::npos) out.shebang_argument = line.substr(line.find(' ') + 1);
    if (!out.shebang_argument.empty()) out.arguments = {out.shebang_argument};
  }
  return out;
}

std::string FakeHost::look_up(const std::string& name, std::vector<std::string>* passed_over) const {
  if (name.find('/') != std::string::npos) return name;
  for (const std::string_view entry : base::split(facts.search_path, ':')) {
    const std::string candidate = below(std::string(entry), name);
    const PathFact fact = resolve(candidate);
    if (fact.state != PathState::kPresent || fact.id.type != S_IFREG) continue;
    if (fact.executable) return candidate;
    if (passed_over != nullptr) passed_over->push_back(candidate);
  }
  return {};
}

plan::ProgramFact FakeHost::follow(const std::string& asked) const {
  plan::ProgramFact out{.asked = asked, .found = false, .hops = {}, .passed_over = {}};
  std::string path = look_up(asked, &out.passed_over);
  while (out.hops.size() < 5) {
    if (path.empty()) {
      plan::ProgramHop nowhere;
      nowhere.file.asked = out.hops.empty() ? asked : out.hops.back().arguments.front();
      if (!out.hops.empty()) out.hops.back().arguments.clear();
      out.hops.push_back(nowhere);
      return out;
    }
    out.hops.push_back(hop(path));
    plan::ProgramHop& last = out.hops.back();
    if (out.hops.size() == 1) out.found = last.file.state == PathState::kPresent;
    if (last.format != plan::ProgramFormat::kScript) return out;
    path = last.shebang_interpreter;
    std::string argument = last.shebang_argument;
    const bool split = argument.starts_with("-S ");
    if (!path.ends_with("/env") || argument.empty() || (argument.starts_with('-') && !split)) continue;
    std::istringstream words(split ? argument.substr(3) : argument);
    std::vector<std::string> parts;
    if (split) {
      for (std::string word; words >> word;) parts.push_back(word);
    } else {
      parts = {argument};
    }
    if (parts.front().find('=') != std::string::npos) continue;
    last.via_env = true;
    path = look_up(parts.front(), nullptr);
    last.arguments.assign(parts.begin() + (path.empty() ? 0 : 1), parts.end());
  }
  return out;
}

void FakeHost::answer_names(const std::string& directory, const plan::NameList& names) {
  std::vector<PathFact>& standing = facts.names[directory];
  for (const std::string_view name : names) {
    PathFact fact = resolve(below(directory, std::string(name)));
    if (fact.state != PathState::kAbsent || !fact.hops.empty()) standing.push_back(std::move(fact));
  }
  std::ranges::sort(standing, {}, &PathFact::asked);
}

void FakeHost::answer(const plan::Questions& questions) {
  if (questions.limits) facts.limits = limits;
  for (const std::string& path : questions.paths) facts.paths[path] = resolve(path);
  for (const std::string& name : questions.programs) facts.programs[name] = follow(name);
  for (const std::string& name : questions.environment) {
    if (environment.contains(name)) facts.environment[name] = environment.at(name);
  }
  for (const std::string& path : questions.texts) {
    const PathFact fact = resolve(path);
    const auto found = nodes_.find(fact.real);
    const bool there = fact.state == PathState::kPresent && found != nodes_.end() && fact.id.type == S_IFREG;
    facts.texts[path] = there ? found->second.content : "";
  }
  for (const std::string& name : questions.relocations) {
    if (environment.contains(name)) facts.relocations[name] = environment.at(name);
  }
  for (const auto& [directory, names] : questions.names) answer_names(directory, names);
  for (const std::string& directory : questions.entries) {
    auto& names = facts.entries[directory].emplace();
    for (const auto& [path, node] : nodes_) {
      if (path == "/" || parent_of(path) != directory || node.kind == Node::Kind::kLink) continue;
      names.emplace_back(name_of(path));
    }
  }
  for (const std::string& store : questions.links) {
    std::vector<PathFact>& links = facts.links[store];
    for (const auto& [path, node] : nodes_) {
      if (node.kind == Node::Kind::kLink && within(path, store)) links.push_back(resolve(path));
    }
  }
  for (const auto& [store, levels] : questions.near_links) {
    std::vector<PathFact>& links = facts.near_links[store];
    for (const auto& [path, node] : nodes_) {
      const bool near = within(path, store) && depth_of(path) <= depth_of(store) + levels;
      if (node.kind == Node::Kind::kLink && near) links.push_back(resolve(path));
    }
  }
  for (const std::string& program : questions.libraries) {
    plan::LibraryFact fact{.asked = program, .files = {}, .missing = {}, .whole = true};
    for (const std::string& path : libraries[program]) {
      PathFact file = resolve(path);
      if (file.state == PathState::kPresent) {
        fact.files.push_back(std::move(file));
      } else {
        fact.missing.emplace_back(name_of(path));
      }
    }
    fact.searched = searched[program];
    fact.whole = !untold.contains(program);
    facts.libraries[program] = std::move(fact);
  }
  if (questions.aliases) {
    facts.aliases = aliases;
    facts.aliases->asked = *questions.aliases;
  }
  for (const std::uint32_t uid : questions.accounts) {
    const auto found = std::ranges::find(known_, uid, &plan::Account::uid);
    facts.accounts.push_back(found != known_.end() ? *found : plan::Account{.uid = uid, .gid = uid});
  }
  for (const std::string& directory : questions.directories) {
    std::vector<PathFact>& children = facts.children[directory];
    for (const auto& [path, node] : nodes_) {
      if (path != "/" && parent_of(path) == directory) children.push_back(resolve(path));
    }
  }
}

const plan::HostFacts& FakeHost::know(const policy::Policy& policy) {
  for (int round = 0; round < 16; ++round) {
    const plan::Questions questions = next_questions(policy, facts);
    if (empty(questions)) return facts;
    answer(questions);
  }
  ADD_FAILURE() << "the planner does not stop asking";
  return facts;
}

FakeHost with_script(const std::string& line, std::uint32_t uid) {
  FakeHost host = FakeHost::debian(uid);
  host.program("/home/me/p/run", line + "\nbody\n", 1000);
  return host;
}

PolicyMaker::PolicyMaker(const std::string& entrypoint) {
  policy.entrypoint = grant(entrypoint);
  policy.manifest.written = policy.manifest.path = entrypoint + ".manifest.yaml";
}

policy::Origin PolicyMaker::next() {
  return {.span = {.file = "m.yaml", .line = ++line_, .column = 5, .length = 1}, .source = {}};
}

policy::PathGrant PolicyMaker::grant(const std::string& path) {
  return {.written = path, .path = base::AbsPath::parse(path).value_or(base::AbsPath()).str(), .at = next()};
}

PolicyMaker& PolicyMaker::interpreter(const std::string& written) {
  policy.interpreter = {.value = written, .at = next()};
  if (written.find('/') != std::string::npos) policy.interpreter_path = written;
  return *this;
}
PolicyMaker& PolicyMaker::read(const std::string& path) {
  policy.read.push_back(grant(path));
  return *this;
}
PolicyMaker& PolicyMaker::write(const std::string& path) {
  policy.write.push_back(grant(path));
  return *this;
}
PolicyMaker& PolicyMaker::deny(const std::string& path) {
  policy.deny.push_back(grant(path));
  return *this;
}
PolicyMaker& PolicyMaker::exec(policy::ExecMode mode) {
  policy.exec = {.mode = mode, .programs = {}, .at = next()};
  return *this;
}
PolicyMaker& PolicyMaker::exec(const std::vector<std::string>& programs) {
  exec(policy::ExecMode::kList);
  for (const std::string& program : programs) {
    policy.exec.programs.push_back(grant(program));
    if (program.find('/') == std::string::npos) policy.exec.programs.back().path.clear();
  }
  return *this;
}
PolicyMaker& PolicyMaker::env(const std::string& name, std::optional<std::string> supplied) {
  policy.env.push_back({.name = name, .supplied = std::move(supplied), .at = next()});
  return *this;
}
PolicyMaker& PolicyMaker::args(const std::vector<std::string>& args) {
  for (const std::string& arg : args) policy.args.push_back({.value = arg, .at = next()});
  return *this;
}

plan::Plan must_plan(const Verdict& verdict) {
  if (const auto* plan = std::get_if<plan::Plan>(&verdict)) return *plan;
  for (const plan::RefusedItem& item : std::get<plan::Refusal>(verdict).items) {
    ADD_FAILURE() << item.code << ": " << item.message << " (" << item.mend << ")";
  }
  // So that a test that goes on fails by its expectations and not by a crash.
  plan::Plan nothing;
  nothing.steps.push_back({.act = plan::step::Execute{}});
  return nothing;
}

plan::Refusal must_refuse(const Verdict& verdict) {
  if (const auto* refusal = std::get_if<plan::Refusal>(&verdict)) return *refusal;
  ADD_FAILURE() << "it was planned";
  return {};
}

std::vector<std::string> note_codes(const plan::Plan& plan) {
  std::vector<std::string> out;
  for (const plan::Note& note : plan.notes) out.push_back(note.code);
  return out;
}

std::optional<plan::step::Bind> bind_at(const plan::Plan& plan, std::string_view target) {
  for (plan::step::Bind& bind : steps_of<plan::step::Bind>(plan)) {
    if (bind.target == target) return bind;
  }
  return std::nullopt;
}
bool has_mask(const plan::Plan& plan, std::string_view target) {
  return std::ranges::any_of(steps_of<plan::step::Mask>(plan), [&](const auto& act) { return act.target == target; });
}
bool has_pin(const plan::Plan& plan, std::string_view target) {
  return std::ranges::any_of(steps_of<plan::step::Pin>(plan), [&](const auto& act) { return act.target == target; });
}
const plan::step::Execute& execute_of(const plan::Plan& plan) {
  return std::get<plan::step::Execute>(plan.steps.back().act);
}

}  // namespace cordon::planner::testing
