// cordon-scope: asks a systemd manager for a transient scope, stays in it until nobody needs it any more, and is gone.
//
// Started by cgroup/helper.cc where limits are asked for, with the manager's private socket and the scope's name as
// arguments and one stream socket as standard input and output. Dynamic, because libsystemd has no static library: so
// it is the only program of Cordon's that loads it, and it loads nothing else.
//
//   to us    "attach PID\n"    moves a process into the group "run" of the scope
//   from us  "ok\n", or "failed WHAT: WHY\n"; the first answer is about the scope itself
//
// It ends when the socket's other end is closed, and with it (and the run) the scope.
#include <systemd/sd-bus.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

constexpr const char* kService = "org.freedesktop.systemd1";
constexpr const char* kManagerPath = "/org/freedesktop/systemd1";
constexpr const char* kManager = "org.freedesktop.systemd1.Manager";
constexpr std::uint64_t kPatienceUs = 5'000'000;

void say(const std::string& line) {
  if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) std::_Exit(1);
}

bool failed(const char* what, int code, const sd_bus_error& error = {}) {
  std::string why = error.message != nullptr ? error.message : std::strerror(-code);
  for (char& c : why)
    if (c == '\n') c = ' ';
  say(std::string("failed ") + what + ": " + why + "\n");
  return false;
}

struct Job {
  std::string path, result;
};

int job_removed(sd_bus_message* message, void* data, sd_bus_error*) {
  auto& job = *static_cast<Job*>(data);
  std::uint32_t id = 0;
  const char *path = nullptr, *unit = nullptr, *result = nullptr;
  if (sd_bus_message_read(message, "uoss", &id, &path, &unit, &result) >= 0 && job.path == path) job.result = result;
  return 0;
}

bool wait_for(sd_bus* bus, const Job& job) {
  while (job.result.empty()) {
    int code = sd_bus_process(bus, nullptr);
    if (code == 0) code = sd_bus_wait(bus, kPatienceUs);
    if (code == 0) return failed("StartTransientUnit", -ETIMEDOUT);
    if (code < 0) return failed("StartTransientUnit", code);
  }
  if (job.result == "done") return true;
  say("failed StartTransientUnit: the job ended as '" + job.result + "'\n");
  return false;
}

/// The manager's jobs are told from here on. One path is kept for all: the answer may come after its signal.
bool start_scope(sd_bus* bus, const std::string& name) {
  sd_bus_message* call = nullptr;
  sd_bus_message* answer = nullptr;
  sd_bus_error error = SD_BUS_ERROR_NULL;
  int code = sd_bus_message_new_method_call(bus, &call, kService, kManagerPath, kManager, "StartTransientUnit");
  const auto append = [&](const char* property, const char* type, auto... values) {
    if (code >= 0) code = sd_bus_message_append(call, "(sv)", property, type, values...);
  };
  if (code >= 0) code = sd_bus_message_append(call, "ss", name.c_str(), "fail");
  if (code >= 0) code = sd_bus_message_open_container(call, 'a', "(sv)");
  append("Description", "s", "a run of cordon's");
  append("PIDs", "au", 1, static_cast<std::uint32_t>(::getpid()));
  append("Delegate", "b", 1);
  append("CollectMode", "s", "inactive-or-failed");
  if (code >= 0) code = sd_bus_message_close_container(call);
  if (code >= 0) code = sd_bus_message_append(call, "a(sa(sv))", 0);
  if (code < 0) return failed("StartTransientUnit", code);
  code = sd_bus_call(bus, call, kPatienceUs, &error, &answer);
  if (code < 0) return failed("StartTransientUnit", code, error);
  const char* path = nullptr;
  code = sd_bus_message_read(answer, "o", &path);
  if (code < 0) return failed("StartTransientUnit", code);
  Job job{.path = path, .result = {}};
  code = sd_bus_match_signal(bus, nullptr, nullptr, kManagerPath, kManager, "JobRemoved", job_removed, &job);
  if (code < 0) return failed("JobRemoved", code);
  return wait_for(bus, job);
}

bool attach(sd_bus* bus, const std::string& name, std::uint32_t pid) {
  sd_bus_error error = SD_BUS_ERROR_NULL;
  const int code = sd_bus_call_method(bus, kService, kManagerPath, kManager, "AttachProcessesToUnit", &error, nullptr,
                                      "ssau", name.c_str(), "/run", 1, pid);
  return code >= 0 || failed("AttachProcessesToUnit", code, error);
}

sd_bus* connect_to(const std::string& socket) {
  sd_bus* bus = nullptr;
  int code = sd_bus_new(&bus);
  if (code >= 0) code = sd_bus_set_address(bus, ("unix:path=" + socket).c_str());
  if (code >= 0) code = sd_bus_start(bus);
  if (code < 0) {
    failed("connect", code);
    return nullptr;
  }
  return bus;
}

/// Until the other end is closed.
void serve(sd_bus* bus, const std::string& name) {
  std::string unread;
  std::array<char, 64> piece{};
  while (true) {
    const ssize_t size = ::read(STDIN_FILENO, piece.data(), piece.size());
    if (size <= 0) return;
    unread.append(piece.data(), static_cast<std::size_t>(size));
    for (std::size_t end = unread.find('\n'); end != std::string::npos; end = unread.find('\n')) {
      std::uint32_t pid = 0;
      constexpr std::string_view kAttach = "attach ";
      if (!unread.starts_with(kAttach)) return;
      const char* const last = unread.data() + end;
      if (std::from_chars(unread.data() + kAttach.size(), last, pid).ptr != last) return;
      unread.erase(0, end + 1);
      if (attach(bus, name, pid)) say("ok\n");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  sd_bus* const bus = connect_to(argv[1]);
  const std::string name = argv[2];
  if (bus == nullptr || !start_scope(bus, name)) return 1;
  say("ok\n");
  serve(bus, name);
  return 0;
}
