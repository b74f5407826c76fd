// A host and one watched run of a program in it, made by hand, for the tests of drafts.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "policy/draft/draft.h"

namespace cordon::policy::draft {

using plan::Reach;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

inline constexpr std::string_view kProject = "/home/me/tool";

/// A host and a run of /home/me/tool/fetch.py in it, as the discovery policy gives it.
class Draft : public testing::Test {
 protected:
  Draft() {
    facts.home = "/home/me";
    facts.uid = 1000;
    policy.entrypoint = {.written = "./fetch.py", .path = "/home/me/tool/fetch.py", .at = {}};
    for (const char* name : {"HOME", "USER", "XDG_DATA_HOME"}) policy.env.push_back({name, {}, {}});
    facts.environment = {{"HOME", "/home/me"}, {"USER", "me"}, {"XDG_DATA_HOME", "/srv/data/me"}};
    for (const char* path : {"/", "/home", "/home/me", "/home/me/tool", "/tmp", "/var", "/etc", "/usr", "/mnt"})
      directory(path);
    file("/home/me/tool/fetch.py");
    bind("/usr", "base", true);
    starts("/usr/bin/python3.11");
    bind("/home/me/tool", "write: .", false);
    bind("/usr/bin/python3", "interpreter", true);
    for (const char* own : {"/tmp", "/home/me"})
      plan.steps.push_back({plan::step::MountTmpfs{.target = own, .size_bytes = 1, .mode = 01777, .attributes = {}},
                            plan::Layer::kFilesystem,
                            "base",
                            {}});
    plan.steps.push_back({plan::step::MakeFile{.target = "/etc/passwd", .content = {}, .mode = 0444},
                          plan::Layer::kFilesystem,
                          "base",
                          {}});
  }

  void starts(const std::string& path) {
    plan::step::Execute execute;
    execute.path = path;
    plan.steps.push_back({execute, plan::Layer::kExec, "entrypoint", {}});
  }
  void bind(const std::string& path, std::string reason, bool read_only) {
    plan::step::Bind bind;
    bind.source = bind.target = path;
    bind.attributes.read_only = read_only;
    plan.steps.push_back({bind, plan::Layer::kFilesystem, std::move(reason), {}});
  }
  plan::PathFact& put(const std::string& path, std::uint32_t type) {
    plan::PathFact& fact = facts.paths[path];
    fact.asked = fact.real = path;
    fact.state = plan::PathState::kPresent;
    fact.id.type = type;
    fact.id.has_birth_time = true;
    fact.id.birth_ns = 100;
    return fact;
  }
  plan::PathFact& directory(const std::string& path) { return put(path, S_IFDIR); }
  plan::PathFact& file(const std::string& path) { return put(path, S_IFREG); }
  void link(const std::string& path, const std::string& real) {
    plan::PathFact fact = facts.paths.at(real);
    fact.asked = path;
    facts.paths[path] = fact;
  }
  /// Whatever was not put there does not exist.
  void seen(const std::string& path, std::uint32_t acts, std::vector<std::string> calls = {"openat"}) {
    outcome.observations.paths.push_back(
        {.path = path, .acts = acts, .count = 1, .programs = {program}, .calls = std::move(calls)});
  }
  void reads(const std::string& path) { seen(path, plan::kActRead); }
  void lists(const std::string& path) { seen(path, plan::kActEnumerate); }
  void probes(const std::string& path) { seen(path, plan::kActProbe, {"newfstatat"}); }
  void writes(const std::string& path) { seen(path, plan::kActWrite); }
  void makes(const std::string& path) { seen(path, plan::kActWrite, {"mkdir"}); }
  void reached(Reach reach, const std::string& host, std::uint16_t port) {
    plan::Destination one;
    one.reach = reach;
    one.host = host;
    one.port = port;
    one.count = 1;
    outcome.destinations.push_back(one);
  }
  void started(const std::string& path, std::uint64_t count = 1) {
    outcome.observations.programs.push_back(
        {.path = path, .argv = {}, .argv_cut = false, .count = count, .loaded = {}});
  }

  Proposal propose() {
    for (const std::string& path : paths_to_ask(outcome.observations, plan))
      if (!facts.paths.contains(path))
        facts.paths[path] = {.asked = path, .state = plan::PathState::kAbsent, .real = path};
    Proposal out = draft::propose({.policy = policy,
                                   .plan = plan,
                                   .outcome = outcome,
                                   .facts = facts,
                                   .project = std::string(kProject),
                                   .script = script,
                                   .standing = standing,
                                   .starter = starter,
                                   .began_ns = 1'000,
                                   .forwarding = forwarding});
    drop_covered(out, {});
    return out;
  }
  static std::vector<std::string> lines(const Proposal& proposal) {
    std::vector<std::string> out;
    for (const Want& want : proposal.wants) out.push_back(std::string(access_name(want.access)) + " " + want.path);
    return out;
  }
  static std::vector<std::string> remarks(const std::vector<Remark>& remarks) {
    std::vector<std::string> out;
    for (const Remark& one : remarks)
      out.push_back(one.code + " " + one.path + one.host + (one.port != 0 ? ":" + std::to_string(one.port) : ""));
    return out;
  }

  plan::HostFacts facts;
  Policy policy;
  plan::Plan plan;
  plan::Outcome outcome;
  std::string script;
  std::string program = "/usr/bin/python3.11";
  std::vector<PathGrant> standing;
  Forwarding forwarding = Forwarding::kRefused;
  Starter starter = Starter::kItself;
};

}  // namespace cordon::policy::draft
