#include "profile_file.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "base/text.h"
#include "profile_values.h"

namespace cordon::profiles {
namespace {

using ecosystem::Profile;
using policy::manifest::Problems;
using policy::manifest::Source;

base::Diagnostic mistake(const std::string& file, std::string code, std::string message) {
  return {.severity = base::Severity::kError,
          .code = std::move(code),
          .at = {file, 1, 1, 1},
          .message = std::move(message),
          .hint = {}};
}

Profile read_profile(const Reader& reader, const Node& root) {
  Fields fields(reader.place, root);
  Profile out;
  out.name = reader.store.text(fields.text("name"));
  const Node* what = fields.need("what");
  if (what != nullptr && shields::check_what(reader.place, *what)) out.what = reader.store.text(what->text);
  out.commands = reader.commands(fields.take("commands"));
  out.commands = reader.interactive(reader.names(fields, "interactive"), out.commands);
  out.markers = reader.names(fields, "markers");
  out.toolchains = reader.places(fields.take("toolchains"));
  out.installs = reader.places(fields.take("installs"));
  out.read = reader.places(fields.take("read"));
  out.credentials = reader.places(fields.take("config_with_credentials"));
  out.caches = reader.caches(fields.take("caches"));
  out.outputs = reader.outputs(fields.take("outputs"));
  out.temporary = reader.names(fields, "temporary");
  out.registries = reader.registries(fields.take("registries"));
  out.domains = reader.hosts(fields, "domains");
  out.environment = reader.variables(fields, "environment");
  fields.end();
  return out;
}

void read_file(const File& file, Read& out, base::Diagnostics& all) {
  const Source source(file.text, file.name);
  Problems problems;
  const shields::Place place{source, problems};
  const auto tree = policy::manifest::read_tree(source, problems);
  if (tree.complete) out.profiles.push_back(read_profile({place, out.store}, tree.root));
  const auto own_name = [&] {
    const auto slash = file.name.rfind('/');
    return slash == std::string::npos ? file.name : file.name.substr(slash + 1);
  }();
  if (tree.complete && own_name != std::string(out.profiles.back().name) + ".yaml")
    all.push_back(mistake(file.name, "name", "a profile's file is called as the profile is"));
  std::ranges::move(problems.take_errors(), std::back_inserter(all));
}

/// Names that only one profile may have.
class Once {
 public:
  Once(std::string_view what, base::Diagnostics& all) : what_(what), all_(all) {}
  void add(std::string_view name, std::string_view profile) {
    const auto [at, is_new] = owners_.emplace(name, profile);
    if (!is_new)
      all_.push_back(mistake(
          std::string(profile) + ".yaml", "twice",
          std::string(what_) + " " + base::quote(name) + " stands in profile " + std::string(at->second) + " too"));
  }

 private:
  std::string_view what_;
  base::Diagnostics& all_;
  std::map<std::string_view, std::string_view> owners_;
};

void check_owners(const std::vector<Profile>& profiles, base::Diagnostics& all) {
  Once names("the name", all), commands("the command", all), markers("the marker", all), roles("the role", all);
  for (const Profile& profile : profiles) {
    names.add(profile.name, profile.name);
    for (const auto& command : profile.commands)
      for (const auto name : command.names) commands.add(name, profile.name);
    for (const auto marker : profile.markers) markers.add(marker, profile.name);
    for (const auto& registry : profile.registries) roles.add(registry.role, profile.name);
  }
  if (std::ranges::find(profiles, "generic", &Profile::name) == profiles.end())
    all.push_back(mistake("", "generic", "no profile is called \"generic\""));
}

}  // namespace

std::string_view Store::text(std::string text) {
  const auto kept = std::make_shared<std::string>(std::move(text));
  kept_.push_back(kept);
  return *kept;
}

base::Result<Read, base::Diagnostics> read_profiles(std::span<const File> files) {
  Read out;
  base::Diagnostics all;
  for (const File& file : files) read_file(file, out, all);
  std::ranges::sort(out.profiles, {}, &Profile::name);
  if (all.empty()) check_owners(out.profiles, all);
  if (!all.empty()) return base::fail(std::move(all));
  return out;
}

}  // namespace cordon::profiles
