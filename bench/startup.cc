// What starting a program costs: bare, under bubblewrap with the mounts of our own plan, under firejail, under Cordon;
// and what each grant adds. Prints ratios; asserts nothing.
//
//   startup CORDON NOOP [ROUNDS]        as the calling user (make bench takes an ordinary one)

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "rounds.h"

namespace cordon::bench {
namespace {
namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr int kMasks = 40;

/// A made-up home and project below the caller's own home (firejail hides /var/tmp), gone at the end; Cordon keeps its
/// state there too.
class Workshop {
 public:
  explicit Workshop(const std::string& noop) {
    const char* home = std::getenv("HOME");
    std::string pattern = std::string(home != nullptr ? home : "/var/tmp") + "/cordon-bench.XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) std::exit(1);
    root_ = pattern;
    fs::create_directories(root_ / "home");
    ::setenv("HOME", (root_ / "home").c_str(), 1);
    for (const char* name : {"XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"}) ::unsetenv(name);
    fs::copy_file(noop, root_ / "noop");
  }
  ~Workshop() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;

  [[nodiscard]] std::string noop() const { return root_ / "noop"; }
  [[nodiscard]] fs::path root() const { return root_; }

  std::string file(const std::string& relative, const std::string& content = "") const {
    const fs::path path = root_ / relative;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << content;
    return path;
  }

 private:
  fs::path root_;
};

Words bwrap_start() {
  return {"bwrap",         "--unshare-user",
          "--unshare-ipc", "--unshare-pid",
          "--unshare-uts", "--unshare-cgroup",
          "--unshare-net", "--die-with-parent",
          "--cap-drop",    "ALL"};
}

bool has(const nlohmann::json& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// The mounts of Cordon's own plan in bubblewrap's words, so that both make the same file system.
Words bwrap_like(const nlohmann::json& plan, const std::string& program) {
  Words argv = bwrap_start();
  const auto add = [&](Words words) { argv.insert(argv.end(), words.begin(), words.end()); };
  for (const auto& step : plan.at("steps")) {
    const std::string kind = step.at("kind");
    const auto at = [&](const char* key) { return step.at(key).get<std::string>(); };
    if (kind == "bind") add({has(step.at("flags"), "read-only") ? "--ro-bind" : "--bind", at("source"), at("target")});
    if (kind == "mount-proc") add({"--proc", at("target")});
    if (kind == "mount-dev") add({"--dev", at("target")});
    if (kind == "mount-tmpfs") add({"--tmpfs", at("target")});
    if (kind == "make-directory") add({"--dir", at("target")});
    if (kind == "make-symlink") add({"--symlink", at("text"), at("target")});
    if (kind == "mask" && step.at("directory").get<bool>()) add({"--tmpfs", at("target")});
    if (kind == "mask" && !step.at("directory").get<bool>()) add({"--ro-bind", "/dev/null", at("target")});
    if (kind == "pin") add({step.at("read_only").get<bool>() ? "--ro-bind" : "--bind", at("target"), at("target")});
  }
  add({"--remount-ro", "/", "--clearenv", "--chdir", "/", program});
  return argv;
}

/// Approved and planned; nullopt-like empty argv where Cordon refuses, with its words on the terminal.
struct Prepared {
  Words cordon, bwrap;
};
Prepared prepare(const std::string& cordon, const Workshop& shop, const std::string& name, const std::string& yaml) {
  const std::string manifest = shop.file(name, yaml);
  if (const Ran done = run_once({cordon, "approve", "--yes", manifest}); done.code != 0) {
    fmt::print("{}: not approved\n{}\n", name, done.out);
    return {};
  }
  const Ran inspected = run_once({cordon, "inspect", "--json", manifest});
  const auto plan = nlohmann::json::parse(inspected.out, nullptr, false);
  if (plan.is_discarded()) return {};
  return {.cordon = {cordon, "run", manifest}, .bwrap = bwrap_like(plan, shop.noop())};
}

bool installed(const std::string& program) { return run_once({"/bin/sh", "-c", "command -v " + program}).code == 0; }

void start_up(const std::string& cordon, const Workshop& shop, int rounds) {
  const auto plain = prepare(cordon, shop, "plain.yaml", "entrypoint: ./noop\n");
  const std::string rule = "network: [{host: a.example, port: '443'}]\n";
  const auto reaching = prepare(cordon, shop, "reaching.yaml", "entrypoint: ./noop\n" + rule);
  const auto all = prepare(cordon, shop, "all.yaml", "entrypoint: ./noop\nexec: all\n");
  std::string deny;
  for (int i = 0; i < kMasks; ++i) {
    shop.file(fmt::format("home/secret{}/key", i));
    deny += fmt::format("  - ~/secret{}\n", i);
  }
  const std::string home = "entrypoint: ./noop\nread: ['~']\ndeny:\n" + deny;
  const auto masked = prepare(cordon, shop, "masked.yaml", home);
  const auto masked_reaching = prepare(cordon, shop, "masked-reaching.yaml", home + rule);
  const std::string same = fmt::format("bubblewrap, the same mounts, {} masks", kMasks);
  std::vector<Contender> contenders{{"bare, static no-op", {shop.noop()}}, {"bare, /bin/true", {"/bin/true"}}};
  if (installed("bwrap")) {
    Words least = bwrap_start();
    for (const char* word : {"--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"}) least.emplace_back(word);
    least.push_back(shop.noop());
    contenders.push_back({"bubblewrap, / read-only and nothing else", least});
    contenders.push_back({"bubblewrap, the mounts of no grant", plain.bwrap});
    contenders.push_back({same, masked.bwrap});
  }
  if (installed("firejail")) {
    contenders.push_back({"firejail, no profile, no network",
                          {"firejail", "--quiet", "--noprofile", "--net=none", "--private-dev", "--caps.drop=all",
                           "--seccomp", "--", shop.noop()}});
  }
  contenders.push_back({"cordon version (no sandbox)", {cordon, "version"}});
  contenders.push_back({"cordon run, no grant, exec: none", plain.cordon});
  contenders.push_back({"cordon run, one network rule", reaching.cordon});
  contenders.push_back({"cordon run, no grant, exec: all", all.cordon});
  contenders.push_back({fmt::format("cordon run, home to read, {} masks", kMasks), masked.cordon});
  contenders.push_back({"cordon run, the same and one network rule", masked_reaching.cordon});
  std::erase_if(contenders, [](const Contender& each) { return each.argv.empty(); });
  print_table(fmt::format("Start-up of a no-op, {} interleaved rounds", rounds), compare(contenders, rounds, 3), same);
}

void cost_of_grants(const std::string& cordon, const Workshop& shop, int rounds) {
  for (const int grants : {0, 10, 100, 500, 2'000}) {
    std::string yaml = "entrypoint: ./noop\n";
    if (grants > 0) yaml += "read:\n";
    for (int i = 0; i < grants; ++i) {
      yaml += "  - " + shop.file(fmt::format("grants{}/f{}", grants, i)) + "\n";
    }
    const auto ready = prepare(cordon, shop, fmt::format("grants{}.yaml", grants), yaml);
    if (ready.cordon.empty()) continue;
    std::vector<Contender> contenders{{"bare", {shop.noop()}},
                                      {fmt::format("cordon, {} read grants", grants), ready.cordon}};
    const std::string yardstick = fmt::format("bubblewrap, {} read grants", grants);
    if (installed("bwrap")) {
      // bubblewrap takes so many arguments by descriptor only.
      std::string arguments;
      for (std::size_t i = 1; i + 1 < ready.bwrap.size(); ++i) arguments += ready.bwrap[i] + '\0';
      const std::string list = shop.file(fmt::format("bwrap{}.args", grants), arguments);
      contenders.push_back({yardstick, {"/bin/sh", "-c", "exec bwrap --args 9 \"$0\" 9<\"$1\"", shop.noop(), list}});
    }
    const int each = grants >= 500 ? std::max(5, rounds / 10) : std::max(10, rounds / 3);
    print_table(fmt::format("{} read grants, {} rounds", grants, each), compare(contenders, each, 2), yardstick);
  }
}

/// One traced run: how many system calls a no-op costs in all, launcher, init and target included.
void system_calls(const std::string& cordon, const Workshop& shop) {
  if (!installed("strace")) return;
  const std::string log = shop.file("strace.log");
  for (const char* name : {"plain.yaml", "masked.yaml"}) {
    const Ran ran = run_once({"strace", "-f", "-qq", "-o", log, cordon, "run", shop.root() / name});
    std::ifstream in(log);
    std::map<std::string, int> calls;
    int total = 0;
    for (std::string line; std::getline(in, line);) {
      const std::size_t start = line.find_first_of("abcdefghijklmnopqrstuvwxyz", line.find(' '));
      const std::size_t end = line.find('(', start);
      if (line.find("<... ") != std::string::npos || end == std::string::npos || line.find("---") != std::string::npos)
        continue;
      ++calls[line.substr(start, end - start)];
      ++total;
    }
    std::vector<std::pair<int, std::string>> most;
    for (const auto& [call, count] : calls) most.emplace_back(count, call);
    std::sort(most.rbegin(), most.rend());
    fmt::print("\nSystem calls of `cordon run {}`: {} in all (exit {})\n ", name, total, ran.code);
    for (std::size_t i = 0; i < std::min<std::size_t>(most.size(), 12); ++i)
      fmt::print(" {} {},", most[i].first, most[i].second);
    fmt::print("\n");
  }
}

}  // namespace
}  // namespace cordon::bench

int main(int argc, char** argv) {
  using namespace cordon::bench;
  if (argc < 3) {
    fmt::print(stderr, "usage: startup CORDON NOOP [ROUNDS]\n");
    return 2;
  }
  const int rounds = argc > 3 ? std::max(3, std::atoi(argv[3])) : 150;
  utsname host{};
  ::uname(&host);
  fmt::print("Linux {} {}, {} processors, uid {}; ratios of one table may be compared, times may not\n", host.release,
             host.machine, ::sysconf(_SC_NPROCESSORS_ONLN), ::getuid());
  const Workshop shop(argv[2]);
  start_up(argv[1], shop, rounds);
  cost_of_grants(argv[1], shop, rounds);
  system_calls(argv[1], shop);
  return 0;
}
