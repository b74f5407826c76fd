#include "cli/invocation.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <span>
#include <string_view>

#include "kernel/file.h"
#include "kernel/terminal.h"

namespace cordon::cli {
namespace {

constexpr std::size_t kNarrowest = 40, kWidest = 120, kDefaultWidth = 78;

std::map<std::string, std::string> variables(char** environment) {
  std::map<std::string, std::string> out;
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    out.emplace(entry.substr(0, equals), entry.substr(equals + 1));  // the first of two wins, as getenv(3) has it
  }
  return out;
}

Console console(int number, const std::map<std::string, std::string>& environment) {
  const base::FdView fd(number);
  Console out;
  out.terminal = kernel::is_terminal(fd);
  out.style.width = kDefaultWidth;
  if (!out.terminal) return out;
  if (const auto size = kernel::window_size(fd); size && size->ws_col > 0)
    out.style.width = std::clamp<std::size_t>(size->ws_col, kNarrowest, kWidest);
  const auto no_colour = environment.find("NO_COLOR");
  const auto terminal_type = environment.find("TERM");
  const bool dumb = terminal_type == environment.end() || terminal_type->second == "dumb";
  out.style.colour = !dumb && (no_colour == environment.end() || no_colour->second.empty());
  return out;
}

base::Result<std::string> working_directory() {
  std::array<char, PATH_MAX> buffer{};
  const auto length = kernel::getcwd(buffer);
  if (!length) return base::fail(kernel::error_at(length.error(), "."));
  return std::string(buffer.data());
}

std::vector<std::uint32_t> supplementary_groups() {
  // Asked for their number first: room for all that there may be is 64 pages, touched by every command. Only this
  // process changes its own groups, so the number holds.
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(::getgroups(0, nullptr), 0)));
  const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  return {groups.begin(), groups.end()};
}

}  // namespace

base::Result<Invocation> read_invocation(int argc, char** argv, char** environment) {
  Invocation out;
  const std::span<char*> words(argv, static_cast<std::size_t>(std::max(argc, 0)));
  for (char* word : words.subspan(std::min<std::size_t>(1, words.size()))) out.arguments.emplace_back(word);
  out.caller.environment = variables(environment);
  out.caller.uid = ::geteuid();
  out.caller.gid = ::getegid();
  out.caller.groups = supplementary_groups();
  CORDON_TRY(out.caller.working_directory, working_directory());
  out.in = console(STDIN_FILENO, out.caller.environment);
  out.out = console(STDOUT_FILENO, out.caller.environment);
  out.err = console(STDERR_FILENO, out.caller.environment);
  return out;
}

std::string absolute_variable(const host::Caller& caller, const char* name) {
  const auto found = caller.environment.find(name);
  return found != caller.environment.end() && found->second.starts_with('/') ? found->second : std::string();
}

std::string config_directory(const host::Caller& caller, const std::string& home) {
  if (const std::string config = absolute_variable(caller, "XDG_CONFIG_HOME"); !config.empty())
    return config + "/cordon";
  return home.starts_with('/') ? home + "/.config/cordon" : std::string();
}

std::string state_directory(const host::Caller& caller, const std::string& home) {
  if (const std::string state = absolute_variable(caller, "XDG_STATE_HOME"); !state.empty()) return state + "/cordon";
  return home.starts_with('/') ? home + "/.local/state/cordon" : std::string();
}

}  // namespace cordon::cli
