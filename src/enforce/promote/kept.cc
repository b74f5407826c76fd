#include "enforce/promote/kept.h"

#include <algorithm>
#include <map>

#include "base/path_order.h"
#include "enforce/promote/clean.h"
#include "enforce/promote/copy.h"
#include "enforce/promote/fields.h"
#include "enforce/promote/remove_tree.h"

namespace cordon::enforce::promote {
namespace {

constexpr const char* kAbout = "about";
constexpr const char* kUpper = "upper";
constexpr const char* kScratch = "scratch";
constexpr std::string_view kHead = "cordon-kept-1";
constexpr std::uint64_t kLargestAbout = 1 << 20;
constexpr std::size_t kMostWords = 1'000;
constexpr std::size_t kMostChanges = 10'000;
constexpr std::uint64_t kMostWalked = 2'000'000;
constexpr std::size_t kLongestPath = 4'000;

std::unexpected<base::Error> wrong(kernel::Errno why, std::string_view what) {
  return base::fail(kernel::error_at(why, what));
}

bool is_id(std::string_view id) {
  const auto good = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '.';
  };
  return !id.empty() && id.size() <= 64 && id.front() != '.' && std::ranges::all_of(id, good);
}

std::string encode(const About& about) {
  std::string out;
  put_field(out, kHead);
  put_field(out, about.workspace);
  for (const std::uint64_t number : std::initializer_list<std::uint64_t>{
           static_cast<std::uint64_t>(about.kept_at), about.device, about.inode,
           static_cast<std::uint64_t>(about.since.tv_sec), static_cast<std::uint64_t>(about.since.tv_nsec), about.uid,
           about.gid, about.entries, about.bytes, static_cast<std::uint64_t>(about.command.size())})
    put_field(out, std::to_string(number));
  for (const std::string& word : about.command) put_field(out, word);
  return out;
}

std::optional<About> decode(std::string_view text, std::string id) {
  FieldReader in(text);
  if (in.text() != kHead) return std::nullopt;
  About out{.id = std::move(id)};
  out.workspace = in.text();
  out.kept_at = static_cast<std::int64_t>(in.number(INT64_MAX));
  out.device = in.number();
  out.inode = in.number();
  out.since.tv_sec = static_cast<time_t>(in.number(INT64_MAX));
  out.since.tv_nsec = static_cast<long>(in.number(999'999'999));
  out.uid = static_cast<uid_t>(in.number(UINT32_MAX));
  out.gid = static_cast<gid_t>(in.number(UINT32_MAX));
  out.entries = in.number();
  out.bytes = in.number();
  const std::uint64_t words = in.number(kMostWords);
  for (std::uint64_t i = 0; i < words && in.good(); ++i) out.command.emplace_back(in.text());
  return in.good() && in.at_end() ? std::optional(std::move(out)) : std::nullopt;
}

/// Calls `visit(path, directory, name, facts)` for everything below; what it answers true for is entered. False where
/// something could not be reached.
template <class Visit>
bool walk(FdView root, Visit visit) {
  bool whole = true;
  std::uint64_t entries = 0;
  std::vector<std::string> pending{""};
  while (!pending.empty() && whole) {
    const std::string path = std::move(pending.back());
    pending.pop_back();
    const auto directory = open_locked_directory(root, path);
    if (!directory) return false;
    const auto read = each_entry(*directory, [&](const char* name, unsigned char) {
      std::string inner = below(path, name);
      const auto facts = look(*directory, name);
      whole = facts && ++entries <= kMostWalked && inner.size() <= kLongestPath;
      if (whole && visit(inner, FdView(*directory), name, *facts)) pending.push_back(std::move(inner));
      return whole;
    });
    whole = whole && read;
  }
  return whole;
}

/// What cannot be measured, for its depth above all, counts as a registry full.
void measure(FdView upper, About& about, std::uint64_t full) {
  const bool whole = walk(upper, [&](const std::string&, FdView, const char*, const Facts& facts) {
    ++about.entries;
    about.bytes += facts.stx_blocks * 512;
    return is_directory(facts);
  });
  if (!whole) about.bytes = full;
}

class Lister {
 public:
  Lister(FdView upper, FdView workspace, Changes& out) : upper_(upper), workspace_(workspace), out_(out) {}

  bool list() {
    const bool whole = walk(upper_, [&](const std::string& path, FdView directory, const char* name,
                                        const Facts& facts) { return visit(path, directory, name, facts); });
    std::ranges::sort(out_.changes, base::path_before, &Change::path);
    return whole;
  }

 private:
  bool visit(const std::string& path, FdView directory, const char* name, const Facts& facts) {
    const auto there = at_workspace(path);
    if (is_whiteout(facts)) {
      if (there) add({.path = path, .what = Change::What::kDeleted, .kind = kind_of(*there)});
      return false;
    }
    if (is_directory(facts)) return visit_directory(path, directory, name, there);
    const bool usual = S_ISREG(facts.stx_mode) || S_ISLNK(facts.stx_mode);
    const bool was_directory = there && is_directory(*there);
    const auto known = was_directory ? Change::What::kReplaced : there ? Change::What::kChanged : Change::What::kNew;
    add({.path = path,
         .what = usual ? known : Change::What::kUnusual,
         .kind = kind_of(facts),
         .size = S_ISREG(facts.stx_mode) ? facts.stx_size : 0});
    return false;
  }

  bool visit_directory(const std::string& path, FdView directory, const char* name, const std::optional<Facts>& there) {
    if (!there || !is_directory(*there)) {
      add({.path = path, .what = there ? Change::What::kReplaced : Change::What::kNew, .kind = Kind::kDirectory});
      return true;
    }
    const auto opened = open_locked_directory(directory, name);
    const auto mark = opened ? overlay_mark(*opened) : Sys<Mark>(base::fail(opened.error()));
    if (mark && *mark == Mark::kOpaque) add({.path = path, .what = Change::What::kReplaced, .kind = Kind::kDirectory});
    return true;
  }

  static Kind kind_of(const Facts& facts) {
    if (is_directory(facts)) return Kind::kDirectory;
    return S_ISLNK(facts.stx_mode) ? Kind::kLink : Kind::kFile;
  }

  std::optional<Facts> at_workspace(const std::string& path) {
    if (!workspace_.valid()) return std::nullopt;
    const auto above = open_beneath(workspace_, directory_of(path), O_PATH | O_DIRECTORY);
    if (!above) return std::nullopt;
    const auto facts = look(*above, std::string(name_of(path)).c_str());
    return facts ? std::optional(*facts) : std::nullopt;
  }

  void add(Change change) {
    ++out_.total;
    if (out_.changes.size() < kMostChanges) out_.changes.push_back(std::move(change));
  }

  FdView upper_, workspace_;
  Changes& out_;
};

Sys<void> store_about(FdView entry, const About& about) {
  static constexpr const char* kNew = "about.new";
  CORDON_OK(remove_name(entry, kNew));
  CORDON_TRY(const Fd file, kernel::openat(entry, kNew, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  const std::string text = encode(about);
  CORDON_OK(kernel::write_all(file, std::as_bytes(std::span(text))));
  return kernel::renameat2(entry, kNew, entry, kAbout, 0);
}

Sys<void> make_entry(FdView registry, FdView from, const std::string& name, About& about, std::uint64_t full) {
  CORDON_OK(kernel::mkdirat(registry, about.id.c_str(), 0700));
  CORDON_TRY(const Fd entry, open_directory(registry, about.id));
  CORDON_OK(kernel::mkdirat(entry, kScratch, 0700));
  CORDON_OK(store_about(entry, about));
  CORDON_OK(kernel::renameat2(from, name.c_str(), entry, kUpper, 0));
  CORDON_TRY(const Fd upper, open_locked_directory(entry, kUpper));
  measure(upper, about, full);
  return store_about(entry, about);
}

/// Which goes next for want of room: the oldest of a workspace that has more than half of it, so that one project's
/// runs cannot push out what others left; else the oldest. Never the new one, and for it alone nothing of what fits in
/// the other half. `all`: newest first.
std::optional<std::size_t> next_to_go(const std::vector<About>& all, const About& kept, const KeptBounds& bounds) {
  struct Share {
    std::uint64_t bytes = 0;
    std::size_t entries = 0;
  };
  Share total;
  std::map<std::string_view, Share> shares;
  for (const About& one : all) {
    for (Share* share : {&total, &shares[one.workspace]}) {
      share->bytes += std::min(one.bytes, bounds.bytes);
      ++share->entries;
    }
  }
  if (total.bytes <= bounds.bytes && total.entries <= bounds.entries) return std::nullopt;
  const auto is_greedy = [&](const Share& share) {
    return share.bytes > bounds.bytes / 2 || share.entries > bounds.entries / 2;
  };
  const auto oldest = [&](const auto& fits) -> std::optional<std::size_t> {
    for (std::size_t i = all.size(); i-- > 0;)
      if (all[i].id != kept.id && fits(all[i])) return i;
    return std::nullopt;
  };
  const auto greedy = oldest([&](const About& one) { return is_greedy(shares[one.workspace]); });
  if (greedy) return greedy;
  const auto own = shares[kept.workspace];
  if (is_greedy(own) && total.bytes - own.bytes <= bounds.bytes / 2 && total.entries <= bounds.entries)
    return std::nullopt;
  return oldest([](const About&) { return true; });
}

/// Whoever keeps, applies or discards does it alone.
Sys<Fd> lock(FdView registry) {
  CORDON_TRY(Fd out, kernel::openat(registry, ".", O_RDONLY | O_DIRECTORY));
  CORDON_OK(kernel::flock(out, LOCK_EX));
  return out;
}

}  // namespace

base::Result<Kept::Added> Kept::keep(FdView from, const std::string& name, About about, std::int64_t now) {
  if (!is_id(about.id))
    return base::fail(base::Error{.operation = "keep", .subject = about.id, .detail = "it is no ID"});
  const auto locked = lock(registry_);
  if (!locked) return wrong(locked.error(), "the kept changes");
  about.kept_at = now;
  about.entries = about.bytes = 0;
  if (const auto made = make_entry(registry_, from, name, about, bounds_.bytes); !made) {
    // Its upper, if it had moved, stays: an entry is made in an order in which nothing is lost.
    if (const auto entry = open_directory(registry_, about.id); entry && !look(*entry, kUpper))
      static_cast<void>(remove_tree(registry_, about.id));
    return wrong(made.error(), about.id);
  }
  Added out{.about = about, .dropped = {}};
  CORDON_TRY(std::vector<About> all, list());
  while (const auto gone = next_to_go(all, about, bounds_)) {
    CORDON_OK(remove_tree(registry_, all[*gone].id));
    out.dropped.push_back(std::move(all[*gone]));
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(*gone));
  }
  return out;
}

base::Result<std::vector<About>> Kept::expire(std::int64_t now) {
  const auto locked = lock(registry_);
  if (!locked) return wrong(locked.error(), "the kept changes");
  CORDON_TRY(std::vector<About> all, list());
  std::erase_if(all, [&](const About& about) { return now - about.kept_at <= bounds_.seconds; });
  for (const About& about : all) CORDON_OK(remove_tree(registry_, about.id));
  return all;
}

base::Result<std::vector<About>> Kept::list() const {
  std::vector<About> out;
  const auto readable = open_directory(registry_, "");
  if (!readable) return wrong(readable.error(), "the kept changes");
  const auto read = each_entry(*readable, [&](const char* name, unsigned char) {
    const auto entry = is_id(name) ? open_directory(registry_, name) : Sys<Fd>(base::fail(kernel::Errno{}));
    const auto text = entry ? read_whole(*entry, kAbout, kLargestAbout) : Sys<std::string>(base::fail(kernel::Errno{}));
    auto about = text ? decode(*text, name) : std::nullopt;
    if (about) out.push_back(std::move(*about));
    return true;
  });
  if (!read) return wrong(read.error(), "the kept changes");
  std::ranges::sort(
      out, [](const About& a, const About& b) { return a.kept_at != b.kept_at ? a.kept_at > b.kept_at : a.id > b.id; });
  return out;
}

base::Result<std::optional<About>> Kept::find(const std::string& id) const {
  CORDON_TRY(std::vector<About> all, list());
  std::erase_if(all, [&](const About& about) { return !about.id.starts_with(id); });
  if (all.empty() || (!id.empty() && all.size() > 1)) return std::nullopt;
  return std::move(all.front());
}

base::Result<Fd> Kept::open_upper(const About& about) const {
  auto upper = open_locked_directory(registry_, below(about.id, kUpper));
  if (!upper) return wrong(upper.error(), about.id);
  return std::move(*upper);
}

base::Result<Changes> Kept::show(const About& about, FdView workspace) const {
  CORDON_TRY(const Fd upper, open_upper(about));
  Changes out;
  out.whole = Lister(upper, workspace, out).list();
  return out;
}

base::Result<Outcome> Kept::apply(const About& about, Fd workspace, Task rules) {
  const auto locked = lock(registry_);
  if (!locked) return wrong(locked.error(), "the kept changes");
  const auto facts = kernel::statx(workspace);
  if (!facts) return wrong(facts.error(), about.workspace);
  if (facts->stx_ino != about.inode || kernel::device_of(*facts) != about.device)
    return base::fail(base::Error{
        .operation = "apply", .subject = about.workspace, .detail = "it is not the directory that the run had"});
  auto scratch = open_directory(registry_, below(about.id, kScratch));
  if (!scratch) return wrong(scratch.error(), about.id);
  CORDON_TRY(rules.upper, open_upper(about));
  CORDON_OK(replay(rules.upper, workspace, *scratch));
  rules.destination = std::move(workspace);
  rules.scratch = std::move(*scratch);
  rules.since = about.since;
  rules.workspace = about.workspace;
  rules.uid = about.uid;
  rules.gid = about.gid;
  rules.classify = [](std::string_view, Kind) { return Class::kOutput; };
  rules.siblings = Siblings::kIgnored;
  CORDON_TRY(Outcome outcome, promote(rules));
  if (outcome.is_all() && !outcome.over_bound) CORDON_OK(remove_tree(registry_, about.id));
  return outcome;
}

base::Result<void> Kept::discard(const About& about) {
  const auto locked = lock(registry_);
  if (!locked) return wrong(locked.error(), "the kept changes");
  CORDON_OK(remove_tree(registry_, about.id));
  return {};
}

}  // namespace cordon::enforce::promote
