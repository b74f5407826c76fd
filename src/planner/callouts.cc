// What a reviewer should look at twice. Nothing here refuses: the same lines may be exactly what is meant.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "planner/base.h"
#include "planner/draft.h"
#include "planner/environment.h"
#include "planner/exec_list.h"
#include "planner/named_path.h"
#include "planner/path_text.h"
#include "planner/planner.h"
#include "planner/shields.h"
#include "planner/shims.h"
#include "planner/wx.h"

namespace cordon::planner {
namespace {

using plan::PathFact;
using plan::PathState;
using policy::PathGrant;

bool is_system_tree(std::string_view real) {
  constexpr std::array kTrees = std::to_array<std::string_view>({"/boot", "/etc", "/opt", "/usr", "/var"});
  return std::ranges::any_of(kTrees, [&](std::string_view tree) { return within(real, tree); });
}

class Review {
 public:
  Review(const policy::Policy& policy, const plan::HostFacts& facts)
      : policy_(policy), facts_(facts), homes_(own_homes(facts)) {}

  std::vector<Callout> take() {
    program();
    environment();
    for (const PathGrant& grant : policy_.read) read(grant);
    for (const PathGrant& grant : policy_.write) is_wx(policy_, grant) ? wx(grant) : write("write", grant);
    for (const policy::Text& port : policy_.host_services) host_service(port);
    for (const policy::Text& port : policy_.publish) published(port);
    for (const policy::Text& agent : policy_.agent)
      add("agent",
          fmt::format("agent: {}: the program can sign as you, to any host that it can reach, as long as it runs",
                      base::shown(agent.value)),
          agent.at.span);
    shield_callouts(policy_, facts_, out_);
    exec();
    nested();
    for (const policy::Text& device : policy_.devices)
      if (const PathFact* fact = fact_of(facts_, device.value); fact != nullptr && (fact->id.type & S_IFMT) == S_IFCHR)
        add("device",
            fmt::format("devices: all that the driver of {} can do is open to the target", base::shown(device.value)),
            device.at.span);
    if (policy_.pin.empty()) {
      add("no-pin", "no file is pinned, so the approval covers no content; approve --pin covers the entrypoint's",
          policy_.entrypoint.at.span);
    }
    return std::move(out_);
  }

 private:
  void add(std::string code, std::string text, const base::Span& at) {
    out_.push_back({.code = std::move(code), .text = std::move(text), .at = at});
  }

  void program() {
    const std::string path = resolved_program(policy_, facts_);
    const policy::Text& interpreter = policy_.interpreter;
    const base::Span& at = interpreter.empty() ? policy_.entrypoint.at.span : interpreter.at.span;
    const PathFact* entrypoint = fact_of(facts_, policy_.entrypoint.path);
    if (!path.empty() && (entrypoint == nullptr || entrypoint->real != path)) {
      add("interpreter-resolved", fmt::format("the interpreter is {} on this host", base::shown(path)), at);
    }
    if (!policy_.interpreter_args.empty()) {
      std::string args;
      for (const policy::Text& arg : policy_.interpreter_args) args += " " + base::quote(arg.value);
      add("interpreter-args", fmt::format("the interpreter is given{}, which may change what it runs", args),
          policy_.interpreter_args.front().at.span);
    }
  }

  void environment() {
    for (const policy::EnvGrant* grant : environment_of(policy_, facts_).unset) {
      add("env-not-set", fmt::format("env: {} is not set here", base::shown(grant->name)), grant->at.span);
    }
    const bool home =
        std::ranges::any_of(policy_.env, [](const policy::EnvGrant& grant) { return grant.name == "HOME"; });
    if (!home) add("home-is-tmp", "HOME is /tmp inside, because env does not list it", {});
  }

  /// What reads and writes have in common. True where there is more to say.
  bool common(std::string_view label, const PathGrant& grant, const PathFact* fact) {
    if (!is_resolved(fact)) {
      add("grant-unresolvable", fmt::format("{}: what it is on this host cannot be told", label), grant.at.span);
      return false;
    }
    if (within(fact->real, "/tmp") || within(fact->real, "/var/tmp") || within(fact->real, "/dev/shm")) {
      add("grant-in-tmp",
          fmt::format("{}: {} is a place where every user may make files, and what is there may not last", label,
                      base::shown(fact->real)),
          grant.at.span);
    }
    return true;
  }

  [[nodiscard]] std::string_view breadth(std::string_view real) const {
    if (real == "/") return "everything on this host";
    if (std::ranges::any_of(homes_, [&](const std::string& home) { return within(home, real); })) {
      return "your whole home directory";
    }
    if (is_home_container(real)) return "the homes of all users";
    if (real == "/root" || is_home_container(parent_of(real))) return "the whole home directory of another user";
    if (depth_of(real) == 1) return "a whole top-level directory";
    return {};
  }

  void read(const PathGrant& grant) {
    const std::string label = label_of("read", grant.written);
    const PathFact* fact = fact_of(facts_, grant.path);
    if (is_own_device_node(grant.path) || !common(label, grant, fact)) return;
    if (fact->state == PathState::kAbsent) {
      add("read-missing",
          fmt::format("{}: {} does not exist here, so nothing is granted", label, base::shown(grant.path)),
          grant.at.span);
      return;
    }
    if (is_socket(*fact)) {
      add("grant-is-socket",
          fmt::format("{}: whatever listens on this socket can be asked to act for the target", label), grant.at.span);
    }
    const std::string_view broad = breadth(fact->real);
    if (!broad.empty() && !in_base(facts_, fact->real)) {
      add("read-broad", fmt::format("{}: this is {}, without credentials and other shielded places", label, broad),
          grant.at.span);
    }
  }

  void write(std::string_view key, const PathGrant& grant) {
    const std::string label = label_of(key, grant.written);
    const PathFact* fact = fact_of(facts_, grant.path);
    if (is_own_device_node(grant.path) || !common(label, grant, fact)) return;
    if (fact->state == PathState::kAbsent) {
      add("write-makes-directory", fmt::format("{}: {} will be made as a directory", label, base::shown(fact->real)),
          grant.at.span);
      if (looks_like_file(fact->real)) {
        add("write-looks-like-file",
            fmt::format("{}: it looks like the name of a file; grant its directory instead", label), grant.at.span);
      }
    } else if (is_regular(*fact)) {
      add("write-single-file",
          fmt::format("{}: a program that replaces this file by renaming needs its directory", label), grant.at.span);
    }
    if (is_system_tree(fact->real)) {
      add("write-system-tree", fmt::format("{}: {} belongs to the system", label, base::shown(fact->real)),
          grant.at.span);
    } else if (const std::string_view broad = breadth(fact->real); !broad.empty()) {
      add("write-broad", fmt::format("{}: this is {}", label, broad), grant.at.span);
    }
    covered(label, grant, *fact, policy_.manifest.path, "manifest", "write-covers-manifest");
    covered(label, grant, *fact, policy_.entrypoint.path, "entrypoint", "write-covers-entrypoint");
  }

  /// The file itself is held read-only in the run, what stands beside it and a link that leads to it are not.
  void covered(std::string_view label, const PathGrant& grant, const PathFact& granted, const std::string& path,
               std::string_view what, std::string code) {
    const PathFact* fact = fact_of(facts_, path);
    if (!is_resolved(fact)) return;
    if (within(fact->real, granted.real)) {
      add(std::move(code),
          fmt::format("{}: it covers the {}, {}; that file stays read-only, what stands beside it does not", label,
                      what, base::shown(fact->real)),
          grant.at.span);
      return;
    }
    for (const plan::LinkHop& hop : fact->hops) {
      if (!within(hop.at, granted.real)) continue;
      add(std::move(code),
          fmt::format("{}: it covers the link {}, which leads to the {}; the target can make it lead elsewhere", label,
                      base::shown(hop.at), what),
          grant.at.span);
      return;
    }
  }

  void wx(const PathGrant& grant) {
    write("wx", grant);
    if (writes_execute(policy_)) return;
    add("writes-and-executes",
        fmt::format("wx: {}: the program may {} what it wrote there{}", base::shown(grant.written),
                    exec_closed(policy_) ? "load as a library" : "start",
                    exec_listed(policy_) ? ", which no list under exec bounds" : ""),
        grant.at.span);
  }

  void nested() {
    for (const policy::Text& allowance : policy_.allow) {
      add("nested-sandbox", "allow: nested-sandbox opens user namespaces inside: more of the kernel can be attacked",
          allowance.at.span);
    }
  }

  void host_service(const policy::Text& port) {
    add("host-service",
        fmt::format("host_services: whatever listens on port {} of this host is reached as by a local user",
                    base::shown(port.value)),
        port.at.span);
  }

  void published(const policy::Text& port) {
    add("published-port",
        fmt::format("publish: every program and user of this host, and a page in a browser, can talk to whatever "
                    "the target listens on at port {}",
                    base::shown(port.value)),
        port.at.span);
  }

  void exec() {
    for (const ListedInterpreter& one : listed_interpreters(policy_, facts_)) {
      add("exec-interpreter",
          fmt::format(
              "exec: {} is in the list and runs whatever it is given: the list bounds which programs start, not "
              "what this one is made to do",
              base::shown(one.program)),
          one.at);
    }
    for (const ListedModules& one : listed_modules(policy_, facts_)) {
      add("exec-modules",
          fmt::format("exec: all that lies below {} may be loaded as code: an interpreter of the list keeps its "
                      "modules there",
                      base::shown(one.directory)),
          one.at);
    }
    if (policy_.exec.mode != policy::ExecMode::kAll) return;
    add("exec-all", "exec: all lets the target start any program that it sees", policy_.exec.at.span);
    if (policy_.write.empty()) return;
    add("writes-execute", "under exec: all what the target writes below a write grant or /tmp may be executed",
        policy_.exec.at.span);
  }

  const policy::Policy& policy_;
  const plan::HostFacts& facts_;
  std::vector<std::string> homes_;
  std::vector<Callout> out_;
};

}  // namespace

std::vector<Callout> callouts(const policy::Policy& policy, const plan::HostFacts& facts) {
  const auto widened = with_wx(policy);
  return Review(widened ? *widened : policy, facts).take();
}

std::string resolved_program(const policy::Policy& policy, const plan::HostFacts& facts) {
  const auto program = program_chain(policy, facts);
  if (!program) return {};
  const plan::ProgramHop& last = program->hops.back();
  return last.file.state == PathState::kPresent && last.format == plan::ProgramFormat::kElf ? last.file.real
                                                                                            : std::string();
}

std::string working_directory(const policy::Policy& policy, const plan::HostFacts& facts) {
  if (policy.command) return policy.command->working_directory;
  const PathFact* entrypoint = fact_of(facts, policy.entrypoint.path);
  if (entrypoint == nullptr || entrypoint->state != PathState::kPresent) return {};
  return std::string(parent_of(entrypoint->real));
}

}  // namespace cordon::planner
