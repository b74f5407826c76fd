#include "cli/global_config.h"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "base/text.h"
#include "cli/own_places.h"
#include "kernel/file.h"
#include "policy/approval/location.h"
#include "policy/config/config.h"

namespace cordon::cli {
namespace {

namespace approval = policy::approval;

std::string file_of(const Invocation& invocation, const plan::HostFacts& facts) {
  const std::string directory = config_directory(invocation.caller, own_home(facts));
  return directory.empty() ? std::string() : directory + "/config.yaml";
}

Stop refusal(const std::string& file, std::string code, std::string message, std::string mend) {
  plan::RefusedItem item;
  item.code = std::move(code);
  item.at.file = file;
  item.message = std::move(message);
  item.mend = std::move(mend);
  report::Refused refused;
  refused.items.push_back(std::move(item));
  return stop(std::move(refused));
}

/// A manifest that others can write is only warned of, because a stamp shows what they did. Here there is none.
base::Result<void, Stop> trusted(const Invocation& invocation, const std::string& path,
                                 const approval::ManifestFile& file) {
  for (const approval::Finding& finding :
       approval::judge_location(file, approval_caller(invocation), approval::read_account_files())) {
    if (!finding.fatal && finding.code != "file-writable") continue;
    return base::fail(refusal(
        path, "config-not-trusted",
        fmt::format("the configuration {} is not only yours: {}", base::shown(path), finding.message), finding.remedy));
  }
  return {};
}

}  // namespace

base::Result<void, Stop> add_global_config(const Invocation& invocation, const plan::HostFacts& facts,
                                           policy::Posture& posture) {
  const std::string path = file_of(invocation, facts);
  if (path.empty()) return {};
  const auto there = kernel::statx(kernel::kHere, path.c_str(), AT_SYMLINK_NOFOLLOW);
  if (!there && (there.error().code == ENOENT || there.error().code == ENOTDIR)) return {};
  auto file = approval::open_manifest(path);
  if (!file)
    return base::fail(
        refusal(path, "config-unreadable",
                fmt::format("the configuration {} cannot be read: {}", base::shown(path), file.error().front().message),
                "mend it, or take it away"));
  CORDON_OK(trusted(invocation, path, *file));
  auto config = policy::config::parse(file->text, path);
  if (!config) return base::fail(stop(report::refused(config.error()), file->text));
  for (policy::Text& block : config->allow_address) posture.allow_address.push_back(std::move(block));
  return {};
}

}  // namespace cordon::cli
