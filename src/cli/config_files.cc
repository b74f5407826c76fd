#include "cli/config_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/abs_path.h"
#include "base/text.h"
#include "cli/own_places.h"
#include "kernel/file.h"
#include "policy/approval/location.h"
#include "policy/ecosystem/profile.h"

namespace cordon::cli {
namespace {

namespace approval = policy::approval;

/// A manifest that others can write is only warned of, because a stamp shows what they did. Here there is none.
base::Result<void, Stop> only_the_callers(const Invocation& invocation, const std::string& path,
                                          const approval::ManifestFile& file) {
  for (const approval::Finding& finding :
       approval::judge_location(file, approval_caller(invocation), approval::read_account_files())) {
    if (!finding.fatal && finding.code != "file-writable") continue;
    return base::fail(config_refusal(
        path, "config-not-trusted",
        fmt::format("the configuration {} is not only yours: {}", base::shown(path), finding.message), finding.remedy));
  }
  return {};
}

/// Where it leads to is said by whoever can write the link, and changes without the file's doing.
base::Result<void, Stop> no_link(const std::string& path, const approval::ManifestFile& file) {
  const auto is_itself = [&](const approval::WalkStep& step) {
    return step.kind == approval::WalkStep::Kind::kLink && step.path == file.name_path;
  };
  const auto found = std::ranges::find_if(file.walk, is_itself);
  if (found == file.walk.end()) return {};
  return base::fail(config_refusal(path, "config-is-link",
                                   fmt::format("the configuration {} is a symbolic link", base::shown(path)),
                                   fmt::format("put the file itself there: cp --remove-destination {} {}",
                                               base::shown(file.real_path), base::shown(path))));
}

/// The reader of files speaks of manifests.
std::string why_unreadable(const base::Diagnostic& why) {
  if (why.code == "manifest-missing") return "it leads to nothing";
  if (why.code == "manifest-not-regular") return "it is no regular file";
  if (why.code == "manifest-too-large") return "it is larger than a mebibyte";
  return why.message;
}

base::Result<approval::ManifestFile, Stop> opened(const std::string& path) {
  auto file = approval::open_manifest(path);
  if (!file)
    return base::fail(config_refusal(
        path, "config-unreadable",
        fmt::format("the configuration {} cannot be read: {}", base::shown(path), why_unreadable(file.error().front())),
        "mend it, or take it away"));
  CORDON_OK(no_link(path, *file));
  return std::move(*file);
}

base::Result<ConfigFile, Stop> parsed(const std::string& path, approval::ManifestFile file) {
  auto config = policy::config::parse(file.text, path, built_in_profiles());
  if (!config) return base::fail(stop(report::refused(config.error()), file.text));
  const auto real = base::AbsPath::parse(file.real_path);
  return ConfigFile{.path = path,
                    .real_path = file.real_path,
                    .directory = real ? real->parent().str() : std::string(),
                    .text = std::move(file.text),
                    .sha256 = std::move(file.digest),
                    .id = file.facts.id,
                    .config = std::move(*config)};
}

/// Whether anything has the name, a link too.
base::Result<bool, Stop> stands(const std::string& path) {
  const auto there = kernel::statx(kernel::kHere, path.c_str(), AT_SYMLINK_NOFOLLOW);
  if (there) return true;
  if (there.error().code == ENOENT || there.error().code == ENOTDIR) return false;
  return base::fail(stop(report::refused(kernel::error_at(there.error(), path), "config-unreadable", "")));
}

base::Result<MaybeConfig, Stop> callers_config(const Invocation& invocation, const std::string& path) {
  CORDON_TRY(const bool there, stands(path));
  if (!there) return std::nullopt;
  CORDON_TRY(approval::ManifestFile file, opened(path));
  CORDON_OK(only_the_callers(invocation, path, file));
  CORDON_TRY(ConfigFile out, parsed(path, std::move(file)));
  return out;
}

}  // namespace

Stop config_refusal(const std::string& file, std::string code, std::string message, std::string mend) {
  plan::RefusedItem item;
  item.code = std::move(code);
  item.at.file = file;
  item.message = std::move(message);
  item.mend = std::move(mend);
  report::Refused refused;
  refused.items.push_back(std::move(item));
  return stop(std::move(refused));
}

std::vector<std::string_view> built_in_profiles() {
  std::vector<std::string_view> out;
  for (const policy::ecosystem::Profile& profile : policy::ecosystem::profiles()) out.push_back(profile.name);
  return out;
}

base::Result<MaybeConfig, Stop> user_config(const Invocation& invocation, const plan::HostFacts& facts, For what) {
  const std::string directory = config_directory(invocation.caller, own_home(facts));
  if (directory.empty()) return std::nullopt;
  CORDON_TRY(MaybeConfig own, callers_config(invocation, directory + "/config.yaml"));
  if (own || what == For::kManifest) return own;
  return callers_config(invocation, directory.substr(0, directory.rfind('/')) + "/sbe/config.yaml");
}

base::Result<MaybeConfig, Stop> project_config_at(const Invocation& invocation, const std::string& path,
                                                  std::uint32_t owner) {
  CORDON_TRY(const bool there, stands(path));
  if (!there) return std::nullopt;
  CORDON_TRY(approval::ManifestFile file, opened(path));
  const uid_t whose = file.facts.owner;
  if (whose != 0 && whose != invocation.caller.uid && whose != owner)
    return base::fail(config_refusal(
        path, "config-not-trusted",
        fmt::format("the configuration {} belongs to user {}, who is neither you nor the workspace's owner",
                    base::shown(path), whose),
        "take it away, or make it yours"));
  CORDON_TRY(ConfigFile out, parsed(path, std::move(file)));
  return out;
}

base::Result<MaybeConfig, Stop> project_config(const Invocation& invocation, const std::string& from,
                                               const std::string& workspace, std::uint32_t owner) {
  constexpr std::array kNames = std::to_array<const char*>({".cordon.yaml", ".sbe.yaml", ".sbe.yml"});
  const auto root = base::AbsPath::parse(workspace);
  auto at = base::AbsPath::parse(from);
  while (root && at && at->is_within(*root)) {
    for (const char* name : kNames) {
      const auto path = at->join(name);
      if (!path) continue;
      CORDON_TRY(MaybeConfig found, project_config_at(invocation, path->str(), owner));
      if (found) return found;
    }
    if (*at == *root) break;
    at = at->parent();
  }
  return std::nullopt;
}

base::Result<ConfigFile, Stop> named_config(const Invocation& invocation, const std::string& path) {
  const auto here = base::AbsPath::parse(invocation.caller.working_directory);
  const auto full = here && !path.empty() ? here->join(path) : std::nullopt;
  MaybeConfig found;
  if (full) {
    CORDON_TRY(found, callers_config(invocation, full->str()));
  }
  if (found) return std::move(*found);
  return base::fail(config_refusal(path, "config-missing", fmt::format("--config {} does not exist", base::quote(path)),
                                   "name a file that does, or leave --config out"));
}

base::Result<void, Stop> add_global_config(const Invocation& invocation, const plan::HostFacts& facts,
                                           policy::Posture& posture) {
  CORDON_TRY(const MaybeConfig file, user_config(invocation, facts, For::kManifest));
  if (!file) return {};
  for (const policy::Text& block : file->config.allow_address) posture.allow_address.push_back(block);
  return {};
}

std::string origin_words(const policy::Origin& at) {
  if (!at.source.empty() || at.span.file.empty()) return at.source;
  return at.span.line == 0 ? at.span.file : fmt::format("{}:{}", at.span.file, at.span.line);
}

}  // namespace cordon::cli
