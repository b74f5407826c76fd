#include "cli/own_places.h"

#include <algorithm>

#include "cli/launcher.h"
#include "cli/leavings.h"
#include "cordon_build_id.h"
#include "kernel/file.h"

namespace cordon::cli {
namespace {

bool is_foreign(const std::string& home, std::uint32_t uid) {
  const auto stat = kernel::statx(kernel::kHere, home.c_str(), 0);
  return stat && stat->stx_uid != 0 && stat->stx_uid != uid;
}

}  // namespace

std::string own_home(const plan::HostFacts& facts) {
  if (!facts.home.starts_with('/') || !is_foreign(facts.home, facts.uid)) return facts.home;
  const auto account = std::ranges::find(facts.accounts, facts.uid, &plan::Account::uid);
  const bool usable =
      account != facts.accounts.end() && account->home.starts_with('/') && !is_foreign(account->home, facts.uid);
  return usable ? account->home : std::string();
}

std::vector<plan::OwnPlace> own_places(const Invocation& invocation, const plan::HostFacts& facts) {
  std::vector<plan::OwnPlace> out;
  const auto add = [&](const std::string& path, const char* what) {
    if (path.starts_with('/')) out.push_back({path, what, false});
  };
  const host::Caller& caller = invocation.caller;
  add(own_program(), "Cordon's own program");
  for (const std::string& place : launcher_places()) add(place, "where Cordon looks for its launcher");
  add(host::cache_location(caller, CORDON_BUILD_ID).directory, "Cordon's cache");
  const std::string home = own_home(facts);
  const std::string state = state_directory(caller, home);
  add(state, "Cordon's state");
  if (state.starts_with('/'))
    out.push_back({hold_registry_of(state), "where Cordon notes the mount points that its runs need", true});
  // Read where it stands, never written: nobody is asked to make it.
  const std::string older = state.substr(0, state.rfind('/')) + "/bento";
  if (kernel::statx(kernel::kHere, older.c_str(), AT_SYMLINK_NOFOLLOW))
    add(older, "the state of the system before Cordon");
  add(config_directory(caller, home), "Cordon's configuration");
  return out;
}

}  // namespace cordon::cli
