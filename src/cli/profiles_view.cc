#include "cli/profiles_view.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/json.h"

namespace cordon::cli {
namespace {

namespace ecosystem = policy::ecosystem;
using ecosystem::CacheClass;
using ecosystem::Names;
using ecosystem::OutputClass;
using ecosystem::OutputKind;
using ecosystem::Place;
using ecosystem::Profile;
using json = nlohmann::ordered_json;

std::string joined(const std::vector<std::string>& parts) { return fmt::format("{}", fmt::join(parts, ", ")); }
std::string joined(Names names) { return fmt::format("{}", fmt::join(names, ", ")); }

std::string moved(const ecosystem::Mover& mover) {
  return fmt::format("${}{}{}", mover.variable, mover.below.empty() ? "" : "/", mover.below);
}

/// "~/.cargo/bin"; a place that only a variable names: "$JAVA_HOME".
std::string place_name(const Place& place) {
  return place.path.empty() ? moved(place.moved_by.front()) : std::string(place.path);
}

std::string places(std::span<const Place> all) {
  std::vector<std::string> out;
  for (const Place& place : all) out.push_back(place_name(place));
  return joined(out);
}

std::string caches(const Profile& profile, CacheClass cache) {
  std::vector<std::string> out;
  for (const Place& place : profile.caches)
    if (place.cache == cache) out.push_back(place_name(place));
  return joined(out);
}

std::string outputs(const Profile& profile, OutputClass what) {
  std::vector<std::string> out;
  for (const auto& output : profile.outputs) {
    if (output.what != what) continue;
    out.push_back(std::string(output.name) + (output.kind == OutputKind::kDirectory ? "/" : ""));
    if (!output.keys.empty()) out.back() += " (" + joined(output.keys) + ")";
  }
  return joined(out);
}

std::string commands_of(const Profile& profile) {
  std::vector<std::string> out;
  for (const auto& command : profile.commands) out.insert(out.end(), command.names.begin(), command.names.end());
  return joined(out);
}

std::string registries(const Profile& profile) {
  std::vector<std::string> out;
  for (const auto& registry : profile.registries)
    out.push_back(fmt::format("{} ({})", registry.role,
                              registry.hosts.empty() ? fmt::format("what {} answers", fmt::join(registry.ask, " "))
                                                     : joined(registry.hosts)));
  return joined(out);
}

std::string environment(const Profile& profile) {
  constexpr std::size_t kShown = 12;
  if (profile.environment.size() <= kShown + 3) return joined(profile.environment);
  return fmt::format("{} and {} more: --json lists them", joined(profile.environment.first(kShown)),
                     profile.environment.size() - kShown);
}

json list(Names names) {
  json out = json::array();
  for (const auto name : names) out.push_back(std::string(name));
  return out;
}

json place_json(const Place& place) {
  json out;
  if (!place.path.empty()) out["path"] = std::string(place.path);
  json movers = json::array();
  for (const auto& mover : place.moved_by) movers.push_back(moved(mover));
  if (!movers.empty()) out["moved_by"] = movers;
  return out;
}

json places_json(std::span<const Place> all) {
  json out = json::array();
  for (const Place& place : all) out.push_back(place_json(place));
  return out;
}

json caches_json(const Profile& profile) {
  json out = json::array();
  for (const Place& place : profile.caches) {
    out.push_back(place_json(place));
    out.back()["class"] = std::string(to_string(place.cache));
  }
  return out;
}

std::string_view class_name(OutputClass what) {
  switch (what) {
    case OutputClass::kOutput:
      return "output";
    case OutputClass::kLock:
      return "lock";
    case OutputClass::kManifest:
      return "manifest";
    case OutputClass::kWhereIgnored:
      return "where-ignored";
    case OutputClass::kProgram:
      return "program";
    case OutputClass::kMarked:
      return "marked";
    case OutputClass::kGenerated:
      return "generated";
  }
  return "output";
}

json outputs_json(const Profile& profile) {
  json out = json::array();
  for (const auto& output : profile.outputs) {
    json one{{"name", std::string(output.name)},
             {"kind", output.kind == OutputKind::kDirectory ? "directory" : "file"},
             {"class", std::string(class_name(output.what))}};
    if (!output.keys.empty()) one["keys"] = list(output.keys);
    out.push_back(std::move(one));
  }
  return out;
}

json registries_json(const Profile& profile) {
  json out = json::array();
  for (const auto& registry : profile.registries) {
    json files = json::array();
    for (const auto& file : registry.files) {
      files.push_back(place_json(file.place));
      files.back()["format"] = std::string(to_string(file.format));
    }
    out.push_back({{"role", std::string(registry.role)},
                   {"hosts", list(registry.hosts)},
                   {"variables", list(registry.variables)},
                   {"files", std::move(files)},
                   {"ask", list(registry.ask)}});
  }
  return out;
}

json commands_json(const Profile& profile) {
  json out = json::array();
  for (const auto& command : profile.commands)
    for (const auto name : command.names) out.push_back(std::string(name));
  return out;
}

json profile_json(const Profile& profile) {
  return {{"name", std::string(profile.name)},
          {"what", std::string(profile.what)},
          {"commands", commands_json(profile)},
          {"markers", list(profile.markers)},
          {"toolchains", places_json(profile.toolchains)},
          {"installs", places_json(profile.installs)},
          {"read", places_json(profile.read)},
          {"kept_out", places_json(profile.credentials)},
          {"caches", caches_json(profile)},
          {"outputs", outputs_json(profile)},
          {"temporary", list(profile.temporary)},
          {"registries", registries_json(profile)},
          {"domains", list(profile.domains)},
          {"environment", list(profile.environment)}};
}

}  // namespace

std::string profiles_text(std::span<const Profile> profiles, const report::Style& style) {
  std::vector<std::vector<std::string>> rows;
  for (const Profile& profile : profiles) {
    std::vector<std::string> roles;
    for (const auto& registry : profile.registries) roles.emplace_back(registry.role);
    rows.push_back({std::string(profile.name),
                    std::string(profile.what) + (roles.empty() ? "" : "; fetches from " + joined(roles))});
  }
  return report::table(rows, style) + "\ncordon profiles NAME shows what one grants.\n";
}

std::string profile_text(const Profile& profile, const report::Style& style) {
  std::vector<std::vector<std::string>> rows;
  const auto row = [&](std::string_view title, std::string text) {
    if (!text.empty()) rows.push_back({std::string(title), std::move(text)});
  };
  row("commands", commands_of(profile));
  row("markers", joined(profile.markers));
  row("run and read", places(profile.toolchains));
  row("installs to", places(profile.installs));
  row("read", places(profile.read));
  row("kept out", places(profile.credentials));
  row("caches", caches(profile, CacheClass::kContent));
  row("seen caches", caches(profile, CacheClass::kUnpacked));
  row("own caches", caches(profile, CacheClass::kMutable));
  row("own stores", caches(profile, CacheClass::kStore));
  row("outputs", outputs(profile, OutputClass::kOutput));
  row("where ignored", outputs(profile, OutputClass::kWhereIgnored));
  row("where marked", outputs(profile, OutputClass::kMarked));
  row("by content", outputs(profile, OutputClass::kProgram));
  row("generated", outputs(profile, OutputClass::kGenerated));
  row("lock files", outputs(profile, OutputClass::kLock));
  row("manifests", outputs(profile, OutputClass::kManifest));
  row("beside sources", joined(profile.temporary));
  row("registries", registries(profile));
  row("other hosts", joined(profile.domains));
  row("environment", environment(profile));
  return fmt::format("{}: {}\n\n", profile.name, profile.what) + report::table(rows, style, 2);
}

json profiles_json(std::span<const Profile> profiles) {
  json all = json::array();
  for (const Profile& profile : profiles) all.push_back(profile_json(profile));
  return {{"schema_version", report::kSchemaVersion}, {"profiles", std::move(all)}};
}

}  // namespace cordon::cli
