#include "profile_page.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

namespace cordon::profiles {
namespace {

namespace ecosystem = policy::ecosystem;
using ecosystem::OutputClass;
using ecosystem::OutputKind;

constexpr std::string_view kIntroduction = R"(# Profiles

<!-- Made from profiles/*.yaml; CORDON_REGENERATE=1 with the test "profiles" writes it anew. -->

What `cordon run -- COMMAND` grants, by ecosystem. A profile is found by the command's name, else by the nearest marker file
up to the repository's root; several may take part. Every command has what `generic` has. No profile lifts a shield
([shields.md](shields.md)).

- **Toolchains** may be read and run, **read** may be read. Neither is ever written.
- **Kept out**: tool configuration that may hold passwords or tokens. It is read on the host for the names of registries alone.
- **Caches**: *content* is checked by its tool when it is used: runs see the host's, and only new entries go back to it. *unpacked*
  is not checked again: runs see the host's, and what they add stays with this project. *mutable* and *store* (programs that a tool fetched) are Cordon's own, one per project, at the usual place.
- **Outputs** go back to the workspace, wherever in it they stand. Of a **manifest** only the keys that are named may change. Those
  *where ignored* count only where git ignores the whole folder.
- **While a watcher runs** sources are read-only; the names listed there may still be written beside them, and are thrown away.
- **Registries** have roles. The hosts are what your own configuration of the tool says, else what the tool answers, else
  those listed.

A variable in parentheses moves the place, and the grant with it.
)";

std::string code(std::string_view text) { return "`" + std::string(text) + "`"; }

std::string list(ecosystem::Names names) {
  std::string out;
  for (const auto name : names) out += (out.empty() ? "" : ", ") + code(name);
  return out;
}

std::string movers(std::span<const ecosystem::Mover> moved_by) {
  std::string out;
  for (const auto& mover : moved_by)
    out += (out.empty() ? "" : ", ") +
           code("$" + std::string(mover.variable) + (mover.below.empty() ? "" : "/" + std::string(mover.below)));
  return out;
}

std::string place(const ecosystem::Place& one) {
  if (one.path.empty()) return movers(one.moved_by);
  return code(one.path) + (one.moved_by.empty() ? "" : " (" + movers(one.moved_by) + ")");
}

void line(std::string& out, std::string_view title, std::string_view text) {
  if (!text.empty()) out += fmt::format("- **{}**: {}\n", title, text);
}

std::string places(std::span<const ecosystem::Place> all) {
  std::string out;
  for (const auto& one : all) out += (out.empty() ? "" : ", ") + place(one);
  return out;
}

std::string caches(const ecosystem::Profile& profile, ecosystem::CacheClass cache) {
  std::string out;
  for (const auto& one : profile.caches)
    if (one.cache == cache) out += (out.empty() ? "" : ", ") + place(one);
  return out;
}

std::string outputs(const ecosystem::Profile& profile, OutputClass what) {
  std::string out;
  for (const auto& one : profile.outputs) {
    if (one.what != what) continue;
    out += (out.empty() ? "" : ", ") + code(std::string(one.name) + (one.kind == OutputKind::kDirectory ? "/" : ""));
    if (!one.keys.empty()) out += " (" + list(one.keys) + ")";
  }
  return out;
}

std::string registries(const ecosystem::Profile& profile) {
  std::string out;
  for (const auto& one : profile.registries) {
    out += (out.empty() ? "" : "; ") + std::string(one.role);
    if (!one.hosts.empty()) out += " " + list(one.hosts);
    std::string asked;
    for (const auto word : one.ask) asked += (asked.empty() ? "" : " ") + std::string(word);
    if (!asked.empty()) out += ", asked with " + code(asked);
  }
  return out;
}

std::string commands(const ecosystem::Profile& profile) {
  std::string out;
  for (const auto& command : profile.commands) out += (out.empty() ? "" : ", ") + list(command.names);
  return out;
}

std::string section(const ecosystem::Profile& profile) {
  std::string out = fmt::format("\n## {}\n\n{}\n\n", profile.name, profile.what);
  line(out, "Commands", commands(profile));
  line(out, "Markers", list(profile.markers));
  line(out, "Toolchains", places(profile.toolchains));
  line(out, "Programs are installed to", places(profile.installs));
  line(out, "Read", places(profile.read));
  line(out, "Kept out", places(profile.credentials));
  line(out, "Content caches", caches(profile, ecosystem::CacheClass::kContent));
  line(out, "Unpacked caches", caches(profile, ecosystem::CacheClass::kUnpacked));
  line(out, "Mutable caches", caches(profile, ecosystem::CacheClass::kMutable));
  line(out, "Stores", caches(profile, ecosystem::CacheClass::kStore));
  line(out, "Outputs", outputs(profile, OutputClass::kOutput));
  line(out, "Where ignored", outputs(profile, OutputClass::kWhereIgnored));
  line(out, "Where marked by", outputs(profile, OutputClass::kMarked));
  line(out, "By content", outputs(profile, OutputClass::kProgram));
  line(out, "Generated", outputs(profile, OutputClass::kGenerated));
  line(out, "Lock files", outputs(profile, OutputClass::kLock));
  line(out, "Manifests", outputs(profile, OutputClass::kManifest));
  line(out, "While a watcher runs", list(profile.temporary));
  line(out, "Registries", registries(profile));
  line(out, "Other hosts", list(profile.domains));
  line(out, "Environment", list(profile.environment));
  return out;
}

}  // namespace

std::string page(std::span<const ecosystem::Profile> profiles) {
  std::string out(kIntroduction);
  for (const auto& profile : profiles) out += section(profile);
  return out;
}

}  // namespace cordon::profiles
