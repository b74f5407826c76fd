#include "host/fact_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/abs_path.h"
#include "kernel/file.h"

namespace cordon::host {
namespace {

using base::Fd;
using base::FdView;
using nlohmann::json;
using plan::Availability;
using plan::Feature;

constexpr std::size_t kMostBytes = 64U << 10U;
constexpr std::int64_t kFormat = 2;
constexpr int kHighestErrno = 4095;

std::string_view availability_name(Availability state) {
  switch (state) {
    case Availability::kYes:
      return "yes";
    case Availability::kNo:
      return "no";
    case Availability::kUnknown:
      break;
  }
  return "unknown";
}

/// A member of exactly this type, or nothing.
std::optional<std::string> text_member(const json& object, const char* name) {
  const auto it = object.find(name);
  if (it == object.end() || !it->is_string()) return std::nullopt;
  return it->get<std::string>();
}
std::optional<std::int64_t> number_member(const json& object, const char* name, std::int64_t most) {
  const auto it = object.find(name);
  if (it == object.end() || !it->is_number_unsigned() || it->get<std::uint64_t>() > static_cast<std::uint64_t>(most)) {
    return std::nullopt;
  }
  return it->get<std::int64_t>();
}

std::optional<plan::FeatureFact> decode_feature(const json& object) {
  if (!object.is_object()) return std::nullopt;
  const auto state = text_member(object, "state");
  if (state == "yes" && object.size() == 1) return plan::FeatureFact{.state = Availability::kYes};
  const auto code = number_member(object, "code", kHighestErrno);
  auto operation = text_member(object, "operation");
  auto cause = text_member(object, "cause");
  auto mend = text_member(object, "mend");
  if (state != "no" || object.size() != 5 || !code || !operation || !cause || !mend) return std::nullopt;
  return plan::FeatureFact{.state = Availability::kNo,
                           .code = static_cast<int>(*code),
                           .operation = std::move(*operation),
                           .cause = std::move(*cause),
                           .mend = std::move(*mend)};
}

bool has_key(const json& root, const CacheKey& key) {
  return root.is_object() && root.size() == 8 && number_member(root, "format", kFormat) == kFormat &&
         text_member(root, "boot") == key.boot_id && text_member(root, "kernel") == key.kernel &&
         text_member(root, "lsm") == key.lsm && text_member(root, "build") == key.build &&
         text_member(root, "confinement") == key.confinement &&
         number_member(root, "uid", 0xffffffff) == std::int64_t{key.uid};
}

/// The directory itself, never through a link, ours and closed to everybody else.
kernel::Sys<Fd> open_directory(const std::string& directory, std::uint32_t uid) {
  CORDON_TRY(Fd fd, kernel::openat(kernel::kHere, directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  CORDON_TRY(const auto stat, kernel::statx(fd));
  if (stat.stx_uid != uid || (stat.stx_mode & 077) != 0) return base::fail(kernel::Errno{EPERM, "statx"});
  return fd;
}

/// A directory that the caller or root holds. As root with a user's HOME nothing is made in that user's home, and
/// nothing where a link of that user's leads.
bool is_foreign(FdView directory, std::uint32_t uid) {
  const auto stat = kernel::statx(directory);
  return !stat || (stat->stx_uid != uid && stat->stx_uid != 0);
}

/// Makes `name` in `above`, which must be the caller's own. Judged by descriptor, before anything is made.
kernel::Sys<Fd> pass_or_make(FdView above, const std::string& name, std::uint32_t uid) {
  constexpr int kFlags = O_PATH | O_DIRECTORY;
  auto there = kernel::openat(above, name.c_str(), kFlags);
  if (there || there.error().code != ENOENT) return there;
  const auto stat = kernel::statx(above);
  if (!stat || stat->stx_uid != uid) return base::fail(kernel::Errno{EPERM, "mkdirat"});
  const auto made = kernel::mkdirat(above, name.c_str(), 0700);
  if (!made && made.error().code != EEXIST) return base::fail(made.error());
  return kernel::openat(above, name.c_str(), kFlags | O_NOFOLLOW);
}

/// ~/.cache itself is made where it is missing, as the XDG base directory specification asks; not its parent.
bool make_directory(const std::string& directory, std::uint32_t uid) {
  const auto path = base::AbsPath::parse(directory);
  if (!path) return false;
  const base::AbsPath parent = path->parent();
  const auto top = kernel::openat(kernel::kHere, parent.parent().str().c_str(), O_PATH | O_DIRECTORY);
  if (!top || is_foreign(*top, uid)) return false;
  const auto cache = pass_or_make(*top, std::string(parent.name()), uid);
  if (!cache) return false;
  const auto stat = kernel::statx(*cache);
  if (!stat || stat->stx_uid != uid) return false;
  return pass_or_make(*cache, std::string(path->name()), uid).has_value();
}

/// `size` is what it had a moment ago: one byte of room more tells whether it grew.
std::optional<std::string> read_bounded(FdView file, std::size_t size_before) {
  std::string text(std::min(size_before, kMostBytes) + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const auto n = kernel::read(file, std::as_writable_bytes(std::span(text).subspan(size)));
    if (!n) return std::nullopt;
    if (*n == 0) break;
    size += *n;
  }
  if (size == text.size()) return std::nullopt;
  text.resize(size);
  return text;
}

}  // namespace

std::string encode_facts(const CacheKey& key, const CachedFacts& facts) {
  json features = json::object();
  for (std::size_t i = 0; i < facts.features.size(); ++i) {
    const plan::FeatureFact& fact = facts.features[i];
    if (fact.state == Availability::kUnknown) continue;
    json entry = {{"state", availability_name(fact.state)}};
    if (fact.state == Availability::kNo) {
      entry.update({{"code", static_cast<unsigned>(fact.code)},
                    {"operation", fact.operation},
                    {"cause", fact.cause},
                    {"mend", fact.mend}});
    }
    features[std::string(plan::feature_name(static_cast<Feature>(i)))] = std::move(entry);
  }
  const json root = {{"format", static_cast<unsigned>(kFormat)},
                     {"boot", key.boot_id},
                     {"kernel", key.kernel},
                     {"lsm", key.lsm},
                     {"build", key.build},
                     {"uid", key.uid},
                     {"confinement", key.confinement},
                     {"features", std::move(features)}};
  return root.dump(1, ' ', true, json::error_handler_t::replace) + "\n";
}

std::optional<CachedFacts> decode_facts(std::string_view text, const CacheKey& key) {
  const json root = json::parse(text, nullptr, false);
  if (root.is_discarded() || !has_key(root, key)) return std::nullopt;
  const auto features = root.find("features");
  if (features == root.end() || !features->is_object()) return std::nullopt;
  CachedFacts facts;
  std::size_t known = 0;
  for (std::size_t i = 0; i < facts.features.size(); ++i) {
    const auto it = features->find(std::string(plan::feature_name(static_cast<Feature>(i))));
    if (it == features->end()) continue;
    auto fact = decode_feature(*it);
    if (!fact) return std::nullopt;
    facts.features[i] = std::move(*fact);
    ++known;
  }
  if (known != features->size()) return std::nullopt;
  return facts;
}

std::string FactCache::file_name() const { return fmt::format("facts-{}.json", key_.uid); }

std::optional<CachedFacts> FactCache::load() const {
  if (location_.directory.empty()) return std::nullopt;
  const auto directory = open_directory(location_.directory, key_.uid);
  if (!directory) return std::nullopt;
  const auto file = kernel::openat(*directory, file_name().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (!file) return std::nullopt;
  const auto stat = kernel::statx(*file);
  if (!stat || (stat->stx_mode & S_IFMT) != S_IFREG || stat->stx_size > kMostBytes) return std::nullopt;
  if (stat->stx_uid != key_.uid || (stat->stx_mode & 07777) != 0600 || stat->stx_nlink != 1) return std::nullopt;
  const auto text = read_bounded(*file, stat->stx_size);
  return text ? decode_facts(*text, key_) : std::nullopt;
}

void FactCache::remember(const CachedFacts& facts) const {
  if (location_.directory.empty() || key_.boot_id.empty()) return;
  const CachedFacts before = load().value_or(CachedFacts{});
  CachedFacts after = before;
  for (std::size_t i = 0; i < facts.features.size(); ++i) {
    if (facts.features[i].state != Availability::kUnknown) after.features[i] = facts.features[i];
  }
  if (after != before) store(after);
}

void FactCache::drop(Feature feature) const {
  auto facts = load();
  if (!facts) return;
  plan::FeatureFact& fact = facts->features[static_cast<std::size_t>(feature)];
  if (fact.state == Availability::kUnknown) return;
  fact = {};
  store(*facts);
}

void FactCache::store(const CachedFacts& facts) const {
  if (!make_directory(location_.directory, key_.uid)) return;
  const auto directory = open_directory(location_.directory, key_.uid);
  if (!directory) return;
  const std::string name = file_name();
  const std::string fresh = "." + name + ".new";
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
  auto file = kernel::openat(*directory, fresh.c_str(), kFlags, 0600);
  if (!file && file.error().code == EEXIST) {
    // A writer that was killed left it behind. If it lives still, half a file may stand there for a moment: that
    // counts as none.
    if (!kernel::unlinkat(*directory, fresh.c_str(), 0)) return;
    file = kernel::openat(*directory, fresh.c_str(), kFlags, 0600);
  }
  if (!file) return;
  const std::string text = encode_facts(key_, facts);
  const bool written = kernel::fchmod(*file, 0600) && kernel::write_all(*file, std::as_bytes(std::span(text))) &&
                       kernel::renameat2(*directory, fresh.c_str(), *directory, name.c_str(), 0);
  if (!written) (void)kernel::unlinkat(*directory, fresh.c_str(), 0);
}

}  // namespace cordon::host
