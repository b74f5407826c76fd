#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "report/plan_names.h"
#include "report/plan_view.h"

namespace cordon::report {
namespace {

namespace step = plan::step;
using Json = nlohmann::ordered_json;

void put_words(Json& out, const char* key, const std::vector<std::string_view>& words) {
  Json list = Json::array();
  for (std::string_view word : words) list.push_back(std::string(word));
  out[key] = std::move(list);
}

void put_place(Json& out, const base::Span& at) {
  if (at.line == 0) return;
  out["file"] = at.file;
  out["line"] = at.line;
  out["column"] = at.column;
}

Json ranges_json(const std::vector<plan::IdRange>& ranges) {
  Json out = Json::array();
  for (const plan::IdRange& range : ranges) {
    out.push_back({{"inside", range.inside}, {"outside", range.outside}, {"count", range.count}});
  }
  return out;
}

std::string octal(std::uint32_t mode) { return fmt::format("{:04o}", mode); }

void fields(Json& out, const step::EnterNamespaces& enter) {
  put_words(out, "namespaces", namespace_names(enter.flags));
  out["uids"] = ranges_json(enter.uids);
  out["gids"] = ranges_json(enter.gids);
  out["setgroups_denied"] = enter.deny_setgroups;
  if (enter.set_groups) out["groups"] = enter.groups;
}
void fields(Json& out, const step::BuildRoot& root) { out["size_bytes"] = root.size_bytes; }
void fields(Json& out, const step::MakeDirectory& make) {
  out["target"] = make.target;
  out["mode"] = octal(make.mode);
}
void fields(Json& out, const step::MakeSymlink& make) {
  out["target"] = make.target;
  out["text"] = make.text;
}
void fields(Json& out, const step::MakeFile& make) {
  out["target"] = make.target;
  out["content"] = make.content;
  out["mode"] = octal(make.mode);
}
void fields(Json& out, const step::Bind& bind) {
  out["source"] = bind.source;
  out["target"] = bind.target;
  put_words(out, "flags", mount_flags(bind.attributes));
  if (!bind.create.empty()) out["makes"] = bind.create;
}
void fields(Json& out, const step::MountProc& mount) { out["target"] = mount.target; }
void fields(Json& out, const step::MountDev& mount) {
  out["target"] = mount.target;
  out["shm_bytes"] = mount.shm_bytes;
}
void fields(Json& out, const step::Device& device) { out["target"] = device.path; }
void fields(Json& out, const step::MountTmpfs& mount) {
  out["target"] = mount.target;
  out["size_bytes"] = mount.size_bytes;
  out["mode"] = octal(mount.mode);
  put_words(out, "flags", mount_flags(mount.attributes));
}
void fields(Json& out, const step::Mask& mask) {
  out["target"] = mask.target;
  out["directory"] = mask.directory;
}
void fields(Json& out, const step::Pin& pin) {
  out["target"] = pin.target;
  out["read_only"] = pin.read_only;
  if (!pin.link.empty()) out["link"] = pin.link;
}
void fields(Json& out, const step::StubOverlay& overlay) {
  out["source"] = overlay.source;
  out["target"] = overlay.target;
  put_words(out, "flags", mount_flags(overlay.attributes));
  if (!overlay.create.empty()) out["makes"] = overlay.create;
  Json stubs = Json::array();
  for (const step::Stub& stub : overlay.stubs) {
    stubs.push_back({{"path", stub.path}, {"directory", stub.directory}, {"shield", plan::shield_name(stub.shield)}});
    if (stub.text != step::StubText::kNone) stubs.back()["content"] = step::text_of(stub.text);
  }
  out["stubs"] = std::move(stubs);
  out["work"] = overlay.work;
}
void fields(Json& out, const step::PrivateOverlay& view) {
  out["source"] = view.source;
  out["target"] = view.target;
  put_words(out, "flags", mount_flags(view.attributes));
  out["place"] = view.place;
}
void fields(Json& out, const step::HoldPoint& hold) {
  out["target"] = hold.target;
  out["host_directory"] = hold.directory;
  out["name"] = hold.name;
  out["directory"] = hold.is_directory;
  out["shield"] = plan::shield_name(hold.shield);
  if (hold.text != step::StubText::kNone) out["content"] = step::text_of(hold.text);
  if (!hold.create.empty()) out["makes"] = hold.create;
}
void fields(Json& out, const step::StartWarden& warden) {
  if (warden.set_groups) out["groups"] = warden.groups;
}
void fields(Json& out, const step::Grant& grant) {
  out["source"] = grant.source;
  put_words(out, "access", landlock_rights(grant.access));
  if (!grant.create.empty()) out["makes"] = grant.create;
}
void fields(Json& out, const step::PrivateDirectory& own) {
  out["directory"] = own.parent == "/" ? "/" + own.name : own.parent + "/" + own.name;
  put_words(out, "access", landlock_rights(own.access));
}
void fields(Json&, const step::EnterRoot&) {}
void fields(Json&, const step::Loopback&) {}
void fields(Json& out, const step::LocalNetwork& local) { out["address"] = local.address; }
void fields(Json& out, const step::Redirect& redirect) {
  out["port"] = redirect.port;
  out["ipv6"] = redirect.ipv6;
}
void fields(Json& out, const step::Listen& listen) {
  out["for"] = plan::listen_name(listen.what);
  out["address"] = listen.address;
  out["port"] = listen.port;
}
void fields(Json& out, const step::SocketPool& pool) {
  out["count"] = pool.count;
  out["ipv6"] = pool.ipv6;
}
void fields(Json& out, const step::Publish& publish) { out["port"] = publish.port; }
void fields(Json& out, const step::AgentSocket& agent) {
  out["target"] = agent.target;
  out["source"] = agent.source;
}
void fields(Json& out, const step::Cgroup& group) {
  out["way"] = plan::way_name(group.way);
  if (group.memory_bytes != 0) out["memory_bytes"] = group.memory_bytes;
  if (group.cpu_hundredths != 0) out["cpu"] = share_text(group.cpu_hundredths);
  if (group.pids != 0) out["pids"] = group.pids;
}
void fields(Json& out, const step::ResourceLimit& limit) {
  out["resource"] = resource_name(limit.resource);
  out["soft"] = limit.soft;
  out["hard"] = limit.hard;
}
void fields(Json& out, const step::RunAs& run_as) {
  out["uid"] = run_as.uid;
  out["gid"] = run_as.gid;
}
void fields(Json&, const step::DropPrivileges&) {}
void fields(Json& out, const step::Landlock& landlock) {
  out["abi"] = landlock.abi;
  put_words(out, "handled", landlock_rights(landlock.handled_access));
  put_words(out, "scopes", landlock_scopes(landlock.scoped));
  if (landlock.handled_network != 0) out["tcp"] = "closed";
  Json rules = Json::array();
  for (const step::LandlockRule& rule : landlock.rules) {
    Json entry = {{"target", rule.target}};
    put_words(entry, "rights", landlock_rights(rule.access));
    if (rule.object == step::RuleFor::kTargetIfThere) entry["optional"] = true;
    if (rule.object == step::RuleFor::kMaskedFile) entry["masked"] = true;
    rules.push_back(std::move(entry));
  }
  out["rules"] = std::move(rules);
}
void fields(Json& out, const step::Filter& filter) {
  out["name"] = filter.name;
  out["instructions"] = filter.program.size() / 8;
  out["asks_supervisor"] = filter.notify;
  put_words(out, "flags", filter_flags(filter.flags));
}
void fields(Json& out, const step::Execute& execute) {
  out["path"] = execute.path;
  out["argv"] = execute.argv;
  out["environment_names"] = environment_names(execute.environment);
  out["working_directory"] = execute.working_directory;
}

Json rules_json(const std::vector<plan::NetworkRule>& rules) {
  Json out = Json::array();
  for (const plan::NetworkRule& rule : rules) {
    Json entry = {{"host", rule.host}, {"port", rule.ports}};
    put_place(entry, rule.at);
    out.push_back(std::move(entry));
  }
  return out;
}

Json egress_json(const plan::Egress& egress) {
  Json out = {{"allow", rules_json(egress.allow)}, {"ipv6", egress.ipv6}, {"asks", egress.asks}};
  if (!egress.host_services.empty()) out["host_services"] = egress.host_services;
  if (!egress.opened.empty()) out["allow_address"] = egress.opened;
  if (egress.upstream) {
    out["upstream"] = {{"host", egress.upstream->host},
                       {"port", egress.upstream->port},
                       {"authorized", !egress.upstream->authorization.empty()},
                       {"direct", rules_json(egress.upstream->direct)}};
  }
  return out;
}

Json step_json(std::size_t id, const plan::Step& step) {
  Json out = {{"id", id}, {"kind", plan::step_name(step.act)}, {"layer", plan::layer_name(step.layer)}};
  std::visit([&](const auto& act) { fields(out, act); }, step.act);
  out["reason"] = step.reason;
  put_place(out, step.at);
  return out;
}

}  // namespace

nlohmann::ordered_json plan_json(const plan::Plan& plan) {
  Json out = {{"schema_version", 1}, {"engine", plan::engine_name(plan.engine)}, {"exec_closed", plan.exec_closed}};
  if (plan.timeout_ms != 0) out["timeout_ms"] = plan.timeout_ms;
  Json steps = Json::array();
  for (std::size_t i = 0; i < plan.steps.size(); ++i) steps.push_back(step_json(i + 1, plan.steps[i]));
  out["steps"] = std::move(steps);
  if (plan.egress) out["egress"] = egress_json(*plan.egress);
  Json requested = Json::array();
  for (const plan::Layer layer : plan.requested) requested.push_back(plan::layer_name(layer));
  out["requested"] = std::move(requested);
  out["degradations"] = Json::array();
  for (const plan::Degradation& degradation : plan.degradations) {
    out["degradations"].push_back({{"layer", plan::layer_name(degradation.layer)},
                                   {"state", plan::layer_state_name(degradation.state)},
                                   {"what", degradation.what},
                                   {"mend", degradation.mend}});
    if (!degradation.code.empty()) out["degradations"].back()["code"] = degradation.code;
  }
  for (const plan::Alias& alias : plan.accepted_aliases) {
    out["accepted_aliases"].push_back({{"path", alias.path}, {"credential", alias.credential}});
  }
  out["notes"] = Json::array();
  for (const plan::Note& note : plan.notes) {
    Json entry = {{"code", note.code}, {"text", note.text}};
    put_place(entry, note.at);
    out["notes"].push_back(std::move(entry));
  }
  return out;
}

}  // namespace cordon::report
