#include "report/seen_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "base/text.h"
#include "plan/standing.h"
#include "report/inside.h"

namespace cordon::report {
namespace {

constexpr std::uint32_t kUses =
    plan::kActRead | plan::kActEnumerate | plan::kActExecute | plan::kActEnter | plan::kActConnect;
constexpr std::size_t kManySiblings = 4, kShallowest = 3;

bool is_within(std::string_view path, std::string_view directory) {
  return path == directory || (path.starts_with(directory) && path[directory.size()] == '/');
}

std::size_t depth_of(std::string_view path) {
  return path == "/" ? 0 : static_cast<std::size_t>(std::ranges::count(path, '/'));
}

/// A path in a YAML list: as it is where nothing in it means something there.
std::string yaml_path(std::string_view path) {
  const bool plain = std::ranges::all_of(path, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '.' ||
           c == '-' || c == '_' || c == '+';
  });
  return plain ? std::string(path) : base::quote(path);
}

std::string path_grant(const char* key, std::string_view path) {
  if (!base::is_valid_utf8(path)) return {};  // no manifest can name it
  return fmt::format("{}: [{}]", key, yaml_path(path));
}

bool is_cache(std::string_view path) {
  return path.contains("/.cache/") || path.contains("__pycache__") || path.contains("/cache/");
}

bool is_lock(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.ends_with(".lock") || name.ends_with(".lck") || name == "lock" || name == "LOCK";
}

bool uses(const plan::ObservedPath& one, std::initializer_list<std::string_view> calls) {
  return std::ranges::any_of(one.calls, [&](const std::string& call) {
    return std::ranges::any_of(calls, [&](std::string_view prefix) { return call.starts_with(prefix); });
  });
}

bool only_opens(const plan::ObservedPath& one) {
  return !one.calls.empty() && std::ranges::all_of(one.calls, [](const std::string& call) {
    return call.starts_with("open") || call.starts_with("creat") || call.starts_with("truncate");
  });
}

std::string why_unwritable(std::string_view path) {
  if (is_lock(path)) return "a lock file, and it is granted for reading only: programs say 'read-only file system'";
  if (is_cache(path)) return "a cache, and it is granted for reading only: programs work without it, or more slowly";
  return "it is granted for reading only";
}

struct Found {
  Denial denial;
  int rank = 0;  ///< smaller comes first
  const char* key = "";
  std::string granted;  ///< the path that the smallest line would name; "" for none
  bool whole = false;   ///< it stands for several paths in it
};

class Finder {
 public:
  Finder(const plan::Plan& plan, const plan::Observations& observed, const HostPaths& host, Wholes& wholes)
      : exec_closed_(plan.exec_closed), inside_(plan), host_(host), wholes_(wholes) {
    for (const plan::ObservedPath& path : observed.paths) {
      if ((path.acts & plan::kActWrite) != 0) made_.insert(path.path);
      if (uses(path, {"mkdir"})) directories_.insert(path.path);
    }
  }
  void take(const plan::ObservedPath& path);
  std::vector<Denial> finish();

 private:
  void absent(const plan::ObservedPath& path, std::uint32_t acts, Sight sight);
  bool is_not_started(const plan::ObservedPath& path);
  void unwritable(const plan::ObservedPath& path);
  void group();
  void add(Found found) { found_.push_back(std::move(found)); }
  [[nodiscard]] const HostPath* on_host(std::string_view path) const {
    const auto found = host_.find(std::string(path));
    return found == host_.end() ? nullptr : &found->second;
  }
  /// The run made it, or a directory that it lies in.
  [[nodiscard]] bool is_made(std::string_view path) const {
    for (; path != "/"; path = parent_of(path)) {
      if (made_.contains(path)) return true;
    }
    return false;
  }

  bool exec_closed_;
  Inside inside_;
  const HostPaths& host_;
  Wholes& wholes_;
  /// What a line for writing would name: a file that stands and is opened, of itself; else the directory around it, or
  /// the topmost that the run makes.
  [[nodiscard]] std::string place_to_write(const plan::ObservedPath& path) const {
    const HostPath* const host = on_host(path.path);
    if (host != nullptr && !host->directory && only_opens(path)) return path.path;
    std::string_view at = directories_.contains(path.path) ? std::string_view(path.path) : parent_of(path.path);
    while (directories_.contains(parent_of(at)) && on_host(parent_of(at)) == nullptr) at = parent_of(at);
    return depth_of(at) >= 2 ? std::string(at) : std::string();
  }
  std::set<std::string, std::less<>> made_, directories_;
  std::vector<Found> found_;
};

void Finder::take(const plan::ObservedPath& path) {
  std::uint32_t acts = path.acts;
  if (exec_closed_) acts &= ~std::uint32_t{plan::kActExecute};  // told as what it is
  if ((acts & plan::kActExecute) != 0 && is_not_started(path)) acts &= ~std::uint32_t{plan::kActExecute};
  const HostPath* const host = on_host(path.path);
  if (host != nullptr && host->directory && plan::only_finds_it_standing(path))
    acts &= ~std::uint32_t{plan::kActWrite};  // mkdir -p on its way
  if (acts == 0) return;
  const bool writes = (acts & plan::kActWrite) != 0, uses = (acts & kUses) != 0;
  Sight sight = inside_.at(inside_.resolved(path.path));
  // Where a link leads counts as well: what it stands in may be seen, and what it leads to not. Not for what names the
  // link itself: who makes, renames, removes or looks at one follows it nowhere.
  const bool led_away = host != nullptr && host->real != path.path && sight != Sight::kHidden;
  if (led_away && plan::follows_link(path) && inside_.at(inside_.resolved(host->real)) == Sight::kAbsent)
    sight = Sight::kAbsent;
  switch (sight) {
    case Sight::kHidden:
      if (writes || uses)
        add({.denial = {.act = writes ? "write" : "read",
                        .subject = path.path,
                        .count = path.count,
                        .grant = {},
                        .why = "it is shielded: a file reads as empty there, a directory has nothing in it"},
             .rank = 3});
      return;
    case Sight::kHeld:
      if (writes)
        add({.denial = {.act = "write",
                        .subject = path.path,
                        .count = path.count,
                        .grant = {},
                        .why = "it is shielded against writing"},
             .rank = 3});
      return;
    case Sight::kReadable:
      if (writes) unwritable(path);
      return;
    case Sight::kScratch:
    case Sight::kAbsent:
      return absent(path, acts, sight);
    case Sight::kOwn:
    case Sight::kWritable:
      return;
  }
}

/// A program that a list under exec: does not have; else it is judged by whether it can be read.
bool Finder::is_not_started(const plan::ObservedPath& path) {
  const HostPath* const host = on_host(path.path);
  if (!inside_.lists_programs() || host == nullptr || host->directory) return false;
  if (inside_.starts(host->real) || inside_.starts(inside_.resolved(path.path))) return false;
  add({.denial = {.act = "exec", .subject = path.path, .count = path.count, .why = "the list under exec: has it not"},
       .rank = 0,
       .key = "exec",
       .granted = path.path});
  return true;
}

void Finder::unwritable(const plan::ObservedPath& path) {
  const HostPath* const host = on_host(path.path);
  const HostPath* const above = on_host(parent_of(path.path));
  const bool could = host != nullptr ? host->writable : above != nullptr && above->writable;
  if (!could) return;  // nor outside
  const std::string place = place_to_write(path);
  add({.denial = {.act = "write", .subject = path.path, .count = path.count, .why = why_unwritable(path.path)},
       .rank = 0,
       .key = "write",
       .granted = place.empty() ? path.path : place});
}

void Finder::absent(const plan::ObservedPath& path, std::uint32_t acts, Sight sight) {
  const HostPath* const host = on_host(path.path);
  const bool writes = (acts & plan::kActWrite) != 0, uses = (acts & kUses) != 0;
  if (sight == Sight::kScratch) {
    // The private directory itself is there, whatever the host has by that name.
    if (inside_.at(parent_of(path.path)) != Sight::kScratch) return;
    if (host == nullptr || writes || is_made(path.path)) return;
  } else if (writes) {
    plan::ObservedPath led = path;  // through a link it is written where that leads
    if (host != nullptr && plan::follows_link(path)) led.path = host->real;
    add({.denial = {.act = "write", .subject = path.path, .count = path.count, .why = "no line grants it"},
         .rank = 1,
         .key = "write",
         .granted = place_to_write(led)});
    return;
  }
  if (host == nullptr) return;  // nor outside
  Found found{.denial = {.act = "read", .subject = path.path, .count = path.count, .why = "no line grants it"},
              .rank = uses ? 0 : 2,
              .key = "read",
              .granted = depth_of(path.path) >= 2 ? path.path : std::string()};
  if ((path.acts & plan::kActConnect) != 0) {
    found.denial.why = "a socket of the host's, which no line of a manifest opens";
    found.granted.clear();
  }
  add(std::move(found));
}

/// Several in one directory are one line for the directory, and so on upwards.
void Finder::group() {
  for (bool changed = true; changed;) {
    changed = false;
    std::map<std::string, std::vector<std::size_t>, std::less<>> beside;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if (found_[i].granted.empty() || found_[i].rank > 2 || found_[i].denial.act == "exec") continue;
      const bool is_read = std::string_view(found_[i].key) == "read";
      // A write names its directory already.
      const std::string_view directory = is_read ? parent_of(found_[i].granted) : std::string_view(found_[i].granted);
      beside[fmt::format("{} {}", found_[i].key, directory)].push_back(i);
    }
    std::set<std::size_t> gone;
    for (const auto& [name, members] : beside) {
      const bool is_read = name.starts_with("read ");
      const std::string directory = name.substr(name.find(' ') + 1);
      if (members.size() < (is_read ? kManySiblings : 2)) continue;
      if (is_read && depth_of(directory) < kShallowest) continue;
      if (is_read && (wholes_.none || wholes_.refused.contains(directory))) continue;
      Found& first = found_[members.front()];
      for (std::size_t i = 1; i < members.size(); ++i) {
        const Found& other = found_[members[i]];
        first.denial.count += other.denial.count;
        first.rank = std::min(first.rank, other.rank);
        gone.insert(members[i]);
      }
      first.denial.subject = directory;
      first.denial.why =
          fmt::format("{} paths in it; {}", members.size(), is_read ? "no line grants it" : first.denial.why);
      if (is_read) first.granted = directory;
      first.whole = is_read;
      changed = changed || is_read;
    }
    for (auto index = gone.rbegin(); index != gone.rend(); ++index)
      found_.erase(found_.begin() + static_cast<std::ptrdiff_t>(*index));
  }
}

std::vector<Denial> Finder::finish() {
  group();
  std::ranges::stable_sort(found_, [](const Found& a, const Found& b) {
    return a.rank != b.rank ? a.rank < b.rank : a.denial.count > b.denial.count;
  });
  std::vector<Denial> out;
  std::set<std::pair<std::string, std::string>> granted;
  for (Found& one : found_) {
    // What lies in a directory that another line grants needs none; a line for reading grants no writing.
    const bool covered = std::ranges::any_of(granted, [&](const auto& other) {
      const bool gives = other.first == one.key || (other.first == "write" && std::string_view(one.key) == "read");
      return gives && !one.granted.empty() && is_within(one.granted, other.second);
    });
    if (!one.granted.empty() && !covered) {
      one.denial.grant = path_grant(one.key, one.granted);
      one.denial.path = one.granted;
      if (one.whole) wholes_.suggested.push_back(one.granted);
      granted.emplace(one.key, one.granted);
    }
    out.push_back(std::move(one.denial));
  }
  return out;
}

}  // namespace

std::vector<std::string> paths_to_ask(const plan::Plan& plan, const plan::Observations& observed) {
  const Inside inside(plan);
  std::vector<std::string> out;
  std::set<std::string, std::less<>> known;
  const auto ask = [&](std::string_view path) {
    if (out.size() < kMostPathsAsked && known.emplace(path).second) out.emplace_back(path);
  };
  // What was used before what was only looked at: the latter are many.
  for (const bool uses : {true, false}) {
    for (const plan::ObservedPath& path : observed.paths) {
      if (((path.acts & ~std::uint32_t{plan::kActProbe}) != 0) != uses) continue;
      const Sight sight = inside.at(inside.resolved(path.path));
      const bool starts = inside.lists_programs() && (path.acts & plan::kActExecute) != 0;
      if (starts && !path.path.contains('\0')) ask(path.path);
      if (sight == Sight::kOwn || sight == Sight::kHidden || path.path.contains('\0')) continue;
      ask(path.path);
      if ((path.acts & plan::kActWrite) != 0) ask(parent_of(path.path));
    }
  }
  return out;
}

std::vector<Denial> path_denials(const plan::Plan& plan, const plan::Observations& observed, const HostPaths& host,
                                 Wholes* wholes) {
  Wholes any;
  Wholes& judged = wholes != nullptr ? *wholes : any;
  judged.suggested.clear();
  Finder finder(plan, observed, host, judged);
  for (const plan::ObservedPath& path : observed.paths) finder.take(path);
  return finder.finish();
}

std::vector<plan::Note> symptoms(const Report& report) {
  std::vector<plan::Note> out;
  if (report.ending != Ending::kExited || report.exit_code == 0) return out;
  const auto any = [&](auto is) { return std::ranges::any_of(report.denials, is); };
  if (any([](const Denial& one) { return one.act == "connect" || one.act == "look-up"; }))
    out.push_back({.code = "symptom-network",
                   .text =
                       "an error about TLS, a certificate, a proxy or a name that cannot be resolved may come from a "
                       "host that was denied",
                   .at = {}});
  if (report.exit_code == 127)
    out.push_back({.code = "symptom-127",
                   .text = "a shell answers 127 where it finds no program of that name: what is not below /usr must be "
                           "granted to read, and PATH is the sandbox's unless env lists it",
                   .at = {}});
  if (report.exit_code == 126 && any([](const Denial& one) { return one.act == "exec"; }))
    out.push_back({.code = "symptom-126",
                   .text = "a shell answers 126 where a program may not be started: exec is closed in this run",
                   .at = {}});
  if (any([](const Denial& one) { return one.act == "read" && one.why.contains("shielded"); }))
    out.push_back({.code = "symptom-shielded",
                   .text = "a credential that is empty, or is not found, may be one that is shielded",
                   .at = {}});
  return out;
}

}  // namespace cordon::report
