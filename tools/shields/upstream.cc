#include "upstream.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>

#include "base/text.h"

namespace cordon::shields {
namespace {

using policy::shield::Deny;

// Parts of section titles, in lower case.
constexpr std::array<std::string_view, 20> kInScope{
    "autostart",       "cloud provider", "desktop entries", "history files", "initialization files",
    "$path",           "mail director",  "pass utility",    "portable apps", "remote access",
    "session manager", "ssh-agent",      "startup files",   "systemd",       "thumbnailer",
    "tor-browser",     "top secret",     "veracrypt",       "truecrypt",     "zulucrypt"};
// Judged, and left out: settings of desktops, machines and containers that are neither secret nor run by themselves.
constexpr std::array<std::string_view, 9> kOutOfScope{"kde config", "gnome",         "virtualbox", "libvirt", "dconf",
                                                      "flatpak",    "recently used", "snap",       "trash"};

// What the name of a program's folder has in it when it keeps secrets, mail or chats.
constexpr std::array<std::string_view, 133> kTokens{
    "1password",  "abook",      "address",        "akonadi",     "anydesk",   "auth",        "balsa",
    "basilisk",   "bitcoin",    "bitwarden",      "borg",        "brave",     "cargo",       "chrome",
    "chromium",   "claws",      "cliqz",          "coin",        "cointop",   "contacts",    "cookie",
    "coyim",      "cred",       "crypt",          "curlrc",      "dash",      "dino",        "discord",
    "dooble",     "dropbox",    "microsoft-edge", "electrum",    "element",   "empathy",     "enpass",
    "epiphany",   "ethereum",   "evolution",      "exodus",      "falkon",    "ferdi",       "filezilla",
    "firedragon", "fossamail",  "franz",          "gajim",       "gdfuse",    "geary",       "gist",
    "git-cola",   "gitconfig",  "gitkraken",      "gitter",      "gradle",    "hexchat",     "icedove",
    "inox",       "iridium",    "ivy2",           "jami",        "jitsi",     "keepass",     "key",
    "kmail",      "konqueror",  "kube",           "lastpass",    "ledger",    "librewolf",   "linphone",
    "mail",       "mattermost", "midori",         "monero",      "mozilla",   "msmtp",       "mumble",
    "mutt",       "neochat",    "nextcloud",      "nheko",       "npmrc",     "nylas",       "opera",
    "otter",      "pale moon",  "pass",           "pine",        "profanity", "psi",         "purple",
    "quassel",    "quaternion", "qupzilla",       "qutebrowser", "rambox",    "rclone",      "remmina",
    "retroshare", "ricochet",   "riot",           "rocket.chat", "sbt",       "seafile",     "secret",
    "signal",     "skype",      "slack",          "slimjet",     "smartgit",  "snox",        "spectral",
    "subversion", "sylpheed",   "teams",          "telegram",    "telepathy", "thunderbird", "tor-browser",
    "torbrowser", "tox",        "ts3client",      "viber",       "vivaldi",   "wallet",      "waterfox",
    "weechat",    "wget",       "whalebird",      "yandex",      "yarn",      "zoom",        "zulip"};

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

template <std::size_t kCount>
bool holds_any(std::string_view text, const std::array<std::string_view, kCount>& parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t') || text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

bool drop_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool has_wildcard(std::string_view path) { return path.find_first_of("*?[") != std::string_view::npos; }

/// "blacklist ${HOME}/x", "blacklist-nolog …", "read-only …", with a comment at the end or not.
std::optional<Candidate> firejail_line(std::string_view line, std::size_t number) {
  Candidate found;
  found.line = number;
  if (drop_prefix(line, "read-only ")) {
    found.deny = Deny::kWrite;
  } else if (!drop_prefix(line, "blacklist ") && !drop_prefix(line, "blacklist-nolog ")) {
    return std::nullopt;
  }
  if (!drop_prefix(line, "${HOME}/")) return std::nullopt;
  found.path = trimmed(line.substr(0, line.find(" #")));
  found.wildcard = has_wildcard(found.path);
  return found;
}

/// A title is a run of comment lines right before the entries; a directive that is commented out is none.
bool is_title(std::string_view line) {
  if (!drop_prefix(line, "#")) return false;
  return !trimmed(line).starts_with("blacklist") && !trimmed(line).starts_with("read-") && !line.starts_with('?');
}

template <class Judge>
Reading read_firejail(std::string_view text, Judge judge) {
  Reading reading;
  std::string title;
  bool in_title = false;
  std::size_t number = 0;
  for (const std::string_view raw : base::split(text, '\n')) {
    const std::string_view line = trimmed(raw);
    ++number;
    if (is_title(line)) {
      title = (in_title ? title + " " : std::string()) + lower(line);
      in_title = true;
      continue;
    }
    in_title = false;
    auto found = firejail_line(line, number);
    if (!found) continue;
    ++reading.seen;
    judge(title, std::move(*found), reading);
  }
  return reading;
}

/// "a{b,c}d" to "abd" and "acd", innermost last; AppArmor's alternations hold no other ones that matter here.
std::vector<std::string> alternatives(const std::string& pattern) {
  const std::size_t open = pattern.find('{');
  if (open == std::string::npos) return {pattern};
  std::size_t close = open;
  int depth = 0;
  std::vector<std::size_t> cuts{open};
  for (; close < pattern.size(); ++close) {
    if (pattern[close] == '{') ++depth;
    if (pattern[close] == ',' && depth == 1) cuts.push_back(close);
    if (pattern[close] == '}' && --depth == 0) break;
  }
  if (close == pattern.size()) return {pattern};
  cuts.push_back(close);
  std::vector<std::string> out;
  for (std::size_t i = 1; i < cuts.size(); ++i) {
    const std::string part = pattern.substr(cuts[i - 1] + 1, cuts[i] - cuts[i - 1] - 1);
    for (auto& rest : alternatives(pattern.substr(0, open) + part + pattern.substr(close + 1)))
      out.push_back(std::move(rest));
  }
  return out;
}

/// "deny @{HOME}/x mrwkl,": what may not be read is hidden, what may not be written is read-only.
void apparmor_line(std::string_view line, std::size_t number, Reading& reading) {
  drop_prefix(line, "audit ");
  if (!drop_prefix(line, "deny @{HOME}/")) return;
  const std::size_t space = line.find_last_of(' ');
  if (space == std::string_view::npos) return;
  const std::string_view rights = line.substr(space + 1);
  std::set<std::string> paths;
  constexpr std::string_view kWhole = "{,**}";
  std::string pattern(trimmed(line.substr(0, space)));
  bool directory = false;
  if (pattern.ends_with("/" + std::string(kWhole))) {
    pattern.resize(pattern.size() - kWhole.size() - 1);
    directory = true;
  } else if (pattern.ends_with('/')) {
    return;  // the making of the folder itself, not what is in it
  }
  for (const std::string& path : alternatives(pattern)) {
    if (path.ends_with('/') || !paths.insert(path).second) continue;
    ++reading.seen;
    const Deny deny = rights.find('r') != std::string_view::npos ? Deny::kAll : Deny::kWrite;
    reading.candidates.push_back({path, deny, has_wildcard(path), directory, number});
  }
}

}  // namespace

Reading read_firejail_common(std::string_view text) {
  std::set<std::string> unknown;
  Reading all = read_firejail(text, [&](const std::string& title, Candidate found, Reading& reading) {
    if (holds_any(title, kInScope)) {
      reading.candidates.push_back(std::move(found));
    } else if (!holds_any(title, kOutOfScope)) {
      unknown.insert(title);
    }
  });
  all.unknown_sections.assign(unknown.begin(), unknown.end());
  return all;
}

Reading read_firejail_programs(std::string_view text) {
  return read_firejail(text, [](const std::string&, Candidate found, Reading& reading) {
    if (holds_any(lower(found.path), kTokens)) reading.candidates.push_back(std::move(found));
  });
}

Reading read_apparmor(std::string_view text) {
  Reading reading;
  std::size_t number = 0;
  for (const std::string_view line : base::split(text, '\n')) apparmor_line(trimmed(line), ++number, reading);
  return reading;
}

}  // namespace cordon::shields
