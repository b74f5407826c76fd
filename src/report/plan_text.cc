#include <fmt/format.h>

#include <string_view>
#include <variant>

#include "base/text.h"
#include "report/plan_names.h"
#include "report/plan_view.h"

namespace cordon::report {
namespace {

namespace step = plan::step;

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};

std::string ids(const std::vector<plan::IdRange>& ranges) {
  constexpr std::uint32_t kAll = 0xffffffff;
  std::string out;
  for (const plan::IdRange& range : ranges) {
    if (range.count == kAll) return "all";
    if (!out.empty()) out += ",";
    out += range.inside == range.outside ? fmt::format("{}", range.inside)
                                         : fmt::format("{}={}", range.inside, range.outside);
    if (range.count > 1) out += fmt::format("+{}", range.count);
  }
  return out;
}

std::string namespaces_text(const step::EnterNamespaces& enter) {
  std::string out =
      fmt::format("{}  uids {}  gids {}", joined(namespace_names(enter.flags), " "), ids(enter.uids), ids(enter.gids));
  if (enter.set_groups) out += fmt::format("  groups [{}]", fmt::join(enter.groups, " "));
  return out;
}

/// Of a Bind or a StubOverlay.
template <class Bound>
std::string bound_text(const Bound& bind) {
  std::string out = base::shown(bind.source);
  if (bind.source != bind.target) out += " -> " + base::shown(bind.target);
  out += "  " + joined(mount_flags(bind.attributes), " ");
  if (!bind.create.empty()) out += fmt::format("  makes {}", base::shown(base::join(bind.create, "/")));
  return out;
}

std::string grant_text(const step::Grant& grant) {
  std::string out = base::shown(grant.source) + "  " + joined(landlock_rights(grant.access), " ");
  if (!grant.create.empty()) out += fmt::format("  makes {}", base::shown(base::join(grant.create, "/")));
  return out;
}

std::string hold_text(const step::HoldPoint& hold) {
  return fmt::format("{}  {}, {}, made empty for this run", base::shown(hold.target),
                     hold.is_directory ? "directory" : "file", plan::shield_name(hold.shield));
}

std::string landlock_text(const step::Landlock& landlock) {
  std::string out = fmt::format("ABI {}  {} rules", landlock.abi, landlock.rules.size());
  if (landlock.handled_network != 0) out += "  no TCP port";
  if (landlock.scoped != 0) out += "  scopes " + joined(landlock_scopes(landlock.scoped), " ");
  return out;
}

/// What does not fit on a step's own line stands below it.
std::string below(const step::Any& act) {
  std::string out;
  if (const auto* overlay = std::get_if<step::StubOverlay>(&act)) {
    for (const step::Stub& stub : overlay->stubs) {
      out += fmt::format("{:26}{}  {}, {}\n", "", base::shown(stub.path), stub.directory ? "directory" : "file",
                         plan::shield_name(stub.shield));
    }
  }
  const auto* landlock = std::get_if<step::Landlock>(&act);
  if (landlock == nullptr) return out;
  std::map<std::string, std::size_t> entries;  // of directories whose entries have a rule each
  for (const step::LandlockRule& rule : landlock->rules) {
    if (rule.object == step::RuleFor::kTargetIfThere) {
      ++entries[rule.target.substr(0, std::max<std::size_t>(rule.target.rfind('/'), 1))];
      continue;
    }
    out += fmt::format("{:26}{}  {}\n", "", base::shown(rule.target), joined(landlock_rights(rule.access), " "));
  }
  for (const auto& [directory, count] : entries) {
    out += fmt::format("{:26}{}  read-file, {} of its entries one by one\n", "", base::shown(directory), count);
  }
  return out;
}

std::string execute_text(const step::Execute& execute) {
  std::string argv;
  std::string names;
  for (const std::string& arg : execute.argv) argv += (argv.empty() ? "" : " ") + base::quote(arg);
  for (const std::string& name : environment_names(execute.environment)) names += " " + base::shown(name);
  return fmt::format("{}  argv [{}]  in {}  env{}", base::shown(execute.path), argv,
                     base::shown(execute.working_directory), names.empty() ? " (empty)" : names);
}

std::string cgroup_text(const step::Cgroup& group) {
  std::string out(group.way == plan::CgroupWay::kScope ? "in a scope of systemd's" : "of our own");
  if (group.memory_bytes != 0) out += fmt::format("  memory {}, no swap", size_text(group.memory_bytes));
  if (group.cpu_hundredths != 0) out += "  cpu " + share_text(group.cpu_hundredths);
  if (group.pids != 0) out += fmt::format("  {} processes and threads", group.pids);
  return out;
}

std::string what(const step::Any& act) {
  return std::visit(
      Overloaded{
          [](const step::EnterNamespaces& enter) { return namespaces_text(enter); },
          [](const step::BuildRoot& root) { return size_text(root.size_bytes); },
          [](const step::MakeDirectory& make) {
            return fmt::format("{}  mode {:04o}", base::shown(make.target), make.mode);
          },
          [](const step::MakeSymlink& make) {
            return fmt::format("{} -> {}", base::shown(make.target), base::shown(make.text));
          },
          [](const step::MakeFile& make) {
            return fmt::format("{}  {}  mode {:04o}", base::shown(make.target), size_text(make.content.size()),
                               make.mode);
          },
          [](const step::Bind& bind) { return bound_text(bind); },
          [](const step::MountProc& mount) { return base::shown(mount.target); },
          [](const step::MountDev& mount) {
            return fmt::format("{}  shm {}", base::shown(mount.target), size_text(mount.shm_bytes));
          },
          [](const step::Device& device) { return base::shown(device.path); },
          [](const step::MountTmpfs& mount) {
            return fmt::format("{}  {}  mode {:04o}  {}", base::shown(mount.target), size_text(mount.size_bytes),
                               mount.mode, joined(mount_flags(mount.attributes), " "));
          },
          [](const step::Mask& mask) { return base::shown(mask.target); },
          [](const step::Pin& pin) {
            const std::string led = pin.link.empty() ? "" : "  link to " + base::shown(pin.link);
            return base::shown(pin.target) + (pin.read_only ? "  read-only" : "") + led;
          },
          [](const step::StubOverlay& overlay) {
            return fmt::format("{}  {} absent names", bound_text(overlay), overlay.stubs.size());
          },
          [](const step::PrivateOverlay& view) {
            return fmt::format("{}  writes go to {}/upper  {}", base::shown(view.source), base::shown(view.place),
                               joined(mount_flags(view.attributes), " "));
          },
          [](const step::HoldPoint& hold) { return hold_text(hold); },
          [](const step::EnterRoot&) { return std::string("read-only"); },
          [](const step::Loopback&) { return std::string("lo"); },
          [](const step::LocalNetwork& local) { return fmt::format("{}, and all others local", local.address); },
          [](const step::Redirect& redirect) {
            return fmt::format("TCP{} to port {}", redirect.ipv6 ? "" : " (IPv4)", redirect.port);
          },
          [](const step::Listen& listen) {
            return fmt::format("{}  {} port {}", plan::listen_name(listen.what), listen.address, listen.port);
          },
          [](const step::SocketPool& pool) {
            return fmt::format("{} sockets of {} to come in by", pool.count, pool.ipv6 ? "IPv6" : "IPv4");
          },
          [](const step::Publish& publish) {
            return fmt::format("this host's 127.0.0.1 and ::1 port {} lead to the same port inside", publish.port);
          },
          [](const step::AgentSocket& agent) {
            return fmt::format("{}  lists the keys of the ssh agent at {} and signs with them, nothing else",
                               base::shown(agent.target), base::shown(agent.source));
          },
          [](const step::Cgroup& group) { return cgroup_text(group); },
          [](const step::ResourceLimit& limit) {
            return fmt::format("{}  soft {} hard {}", resource_name(limit.resource), limit.soft, limit.hard);
          },
          [](const step::RunAs& run_as) { return fmt::format("uid {} gid {}", run_as.uid, run_as.gid); },
          [](const step::DropPrivileges&) { return std::string("all"); },
          [](const step::Landlock& landlock) { return landlock_text(landlock); },
          [](const step::Filter& filter) {
            return fmt::format("{}  {} instructions{}", base::shown(filter.name), filter.program.size() / 8,
                               filter.notify ? "  asks the supervisor" : "");
          },
          [](const step::Execute& execute) { return execute_text(execute); },
          [](const step::StartWarden& warden) {
            return warden.set_groups ? fmt::format("groups [{}]", fmt::join(warden.groups, " ")) : std::string();
          },
          [](const step::Grant& grant) { return grant_text(grant); },
          [](const step::PrivateDirectory& own) {
            return base::shown(own.parent + "/" + own.name) + "  home and tmp in it, gone with the run";
          },
      },
      act);
}

/// The heading that a step stands under.
std::string_view group_of(const plan::Step& step) {
  return std::visit(Overloaded{
                        [](const step::EnterNamespaces&) -> std::string_view { return "Namespaces"; },
                        [](const step::StartWarden&) -> std::string_view { return "Warden"; },
                        [](const step::EnterRoot&) -> std::string_view { return "Lock-down"; },
                        [](const step::Loopback&) -> std::string_view { return "Lock-down"; },
                        [](const step::LocalNetwork&) -> std::string_view { return "Network"; },
                        [](const step::Redirect&) -> std::string_view { return "Network"; },
                        [](const step::Listen&) -> std::string_view { return "Network"; },
                        [](const step::SocketPool&) -> std::string_view { return "Network"; },
                        [](const step::Publish&) -> std::string_view { return "Network"; },
                        [](const step::Cgroup&) -> std::string_view { return "Lock-down"; },
                        [](const step::ResourceLimit&) -> std::string_view { return "Lock-down"; },
                        [](const step::RunAs&) -> std::string_view { return "Lock-down"; },
                        [](const step::DropPrivileges&) -> std::string_view { return "Lock-down"; },
                        [](const step::Landlock&) -> std::string_view { return "Lock-down"; },
                        [](const step::Filter&) -> std::string_view { return "Lock-down"; },
                        [](const step::Execute&) -> std::string_view { return "Program"; },
                        [&](const auto&) -> std::string_view { return step.reason == "base" ? "Base" : "Granted"; },
                    },
                    step.act);
}

std::string egress_text(const plan::Egress& egress) {
  std::string out = "\nReached\n";
  for (const plan::NetworkRule& rule : egress.allow)
    out += fmt::format("        {} port {}\n", base::shown(rule.host), rule.ports);
  for (const std::uint16_t port : egress.host_services)
    out += fmt::format("        this host's own service on port {}, at the same port inside\n", port);
  for (const std::string& block : egress.opened) out += fmt::format("        names may lead to {}\n", block);
  if (egress.upstream)
    out += fmt::format("        by the proxy {}:{}\n", base::shown(egress.upstream->host), egress.upstream->port);
  if (egress.asks) out += "        and what is asked for and allowed during the run\n";
  return out;
}

std::string place(const base::Span& at) {
  return at.line == 0 ? std::string() : fmt::format(", {}:{}", base::shown(at.file), at.line);
}

}  // namespace

std::string plan_text(const plan::Plan& plan) {
  std::string out = fmt::format("{} steps, engine {}{}\n", plan.steps.size(), plan::engine_name(plan.engine),
                                plan.timeout_ms == 0 ? "" : fmt::format(", ended after {} ms", plan.timeout_ms));
  std::string_view group;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const plan::Step& step = plan.steps[i];
    if (group_of(step) != group) {
      group = group_of(step);
      out += fmt::format("\n{}\n", group);
    }
    out += fmt::format("{:6}  {:16}  {}  ({}{})\n", i + 1, plan::step_name(step.act), what(step.act), step.reason,
                       place(step.at));
    out += below(step.act);
  }
  if (plan.egress) out += egress_text(*plan.egress);
  if (!plan.degradations.empty()) out += "\nNot held\n";
  for (const plan::Degradation& degradation : plan.degradations) {
    out += fmt::format("        {}{}: {}{}\n", plan::layer_name(degradation.layer),
                       degradation.code.empty() ? "" : ", " + degradation.code, degradation.what,
                       degradation.mend.empty() ? "" : "; mend: " + degradation.mend);
  }
  if (!plan.accepted_aliases.empty()) out += "\nAccepted\n";
  for (const plan::Alias& alias : plan.accepted_aliases) {
    out += fmt::format("        {} is another name of {}\n", base::shown(alias.path), base::shown(alias.credential));
  }
  if (!plan.notes.empty()) out += "\nNotes\n";
  for (const plan::Note& note : plan.notes) out += fmt::format("        {}\n", note.text);
  return out;
}

}  // namespace cordon::report
