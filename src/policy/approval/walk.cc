#include "policy/approval/walk.h"

#include <sys/acl.h>

#include <acl/libacl.h>
#include <algorithm>
#include <array>
#include <memory>

#include "base/text.h"
#include "kernel/file.h"
#include "kernel/system.h"
#include "kernel/uapi.h"
#include "policy/approval/manifest_file.h"

namespace cordon::policy::approval {
namespace {

using base::Fd;
using base::FdView;
using kernel::Errno;
using kernel::Sys;

constexpr std::size_t kMostPathBytes = 4096;  // PATH_MAX, with its NUL

std::string proc_path(FdView fd) { return "/proc/self/fd/" + std::to_string(fd.get()); }

Sys<std::string> read_link(FdView directory, const char* path) {
  std::array<char, kMostPathBytes> text{};
  auto length = kernel::readlinkat(directory, path, text);
  if (!length) return base::fail(length.error());
  if (*length == text.size()) return base::fail(Errno{ENAMETOOLONG, "readlinkat"});
  return std::string(text.data(), *length);
}

bool stands_in_proc(FdView link) {
  const auto file_system = kernel::fstatfs(link);
  return file_system && static_cast<std::uint64_t>(file_system->f_type) == kernel::kProcSuperMagic;
}

/// One walk under way. `pending_` holds what is still to be crossed, the next one last.
class Walker {
 public:
  explicit Walker(Acls acls) : acls_(acls) {}
  base::Result<Walk, WalkFailure> go(std::string_view absolute);

 private:
  struct Component {
    std::string name;
    bool last_written = false;
  };

  base::Result<void, WalkFailure> start_at_root();
  base::Result<void, WalkFailure> cross(const Component& component);
  base::Result<void, WalkFailure> cross_link(FdView link, const std::string& at, const FileFacts& facts);
  base::Result<void, WalkFailure> enter(Fd directory, const FileFacts& facts, std::string path);
  base::Result<void, WalkFailure> enter(Fd directory, std::string path);
  void push(std::string_view path);
  Sys<Fd> open_component(const std::string& name) const;
  [[nodiscard]] std::string path_of(std::string_view name) const {
    return (path_ == "/" ? path_ : path_ + "/") + std::string(name);
  }
  [[nodiscard]] auto failed_at(std::string at, Errno why) const {
    return base::fail(WalkFailure{.at = std::move(at), .errno_value = why});
  }

  Acls acls_;
  std::vector<Component> pending_;
  Fd current_;        // the directory that we stand in
  std::string path_;  // of current_
  FileFacts facts_;   // of current_
  AclFacts acl_;      // of current_
  int hops_ = 0;
  Walk out_;
};

void Walker::push(std::string_view path) {
  const auto parts = base::split(path, '/');
  for (std::size_t i = parts.size(); i-- > 0;) {
    // An empty last part is a trailing slash: "." asks for a directory.
    if (parts[i].empty() && i + 1 != parts.size()) continue;
    pending_.push_back({.name = parts[i].empty() ? "." : std::string(parts[i])});
  }
}

Sys<Fd> Walker::open_component(const std::string& name) const {
  constexpr int kLook = O_PATH | O_NOFOLLOW;
  if (pending_.empty()) return kernel::openat(current_, name.c_str(), kLook);
  // O_DIRECTORY makes an automount point appear; a link answers ENOTDIR to it and is looked at as it is.
  auto directory = kernel::openat(current_, name.c_str(), kLook | O_DIRECTORY);
  if (directory || directory.error().code != ENOTDIR) return directory;
  return kernel::openat(current_, name.c_str(), kLook);
}

base::Result<void, WalkFailure> Walker::enter(Fd directory, std::string path) {
  const auto facts = facts_of(directory);
  if (!facts) return failed_at(path, facts.error());
  return enter(std::move(directory), *facts, std::move(path));
}

base::Result<void, WalkFailure> Walker::enter(Fd directory, const FileFacts& facts, std::string path) {
  current_ = std::move(directory);
  path_ = std::move(path);
  facts_ = facts;
  if (acls_ == Acls::kRead) acl_ = acl_of(current_, facts_);
  const auto known = [&](const WalkStep& step) {
    return step.kind == WalkStep::Kind::kDirectory && step.facts.id == facts_.id && step.path == path_;
  };
  if (std::ranges::none_of(out_.steps, known)) {
    out_.steps.push_back({.path = path_, .target = {}, .facts = facts_, .acl = acl_, .holder = {}, .holder_acl = {}});
  }
  return {};
}

base::Result<void, WalkFailure> Walker::start_at_root() {
  auto root = kernel::openat(kernel::kHere, "/", O_PATH | O_DIRECTORY);
  if (!root) return failed_at("/", root.error());
  return enter(std::move(*root), "/");
}

base::Result<void, WalkFailure> Walker::cross_link(FdView link, const std::string& at, const FileFacts& facts) {
  auto text = read_link(link, "");
  if (!text) return failed_at(at, text.error());
  if (++hops_ > kMostLinkHops) return failed_at(at, {ELOOP, "openat"});
  // /proc/self/fd/0 of a pipe reads "pipe:[1234]": not a path, and no file of that name is meant.
  if (!text->starts_with('/') && text->find(":[") != std::string::npos && stands_in_proc(link)) {
    return base::fail(WalkFailure{.at = at, .errno_value = {ENXIO, "openat"}, .nameless = true});
  }
  out_.steps.push_back({.kind = WalkStep::Kind::kLink,
                        .path = at,
                        .target = *text,
                        .facts = facts,
                        .acl = {},
                        .holder = facts_,
                        .holder_acl = acl_});
  push(*text);
  if (text->starts_with('/')) return start_at_root();
  return {};
}

base::Result<void, WalkFailure> Walker::cross(const Component& component) {
  if (component.last_written) out_.name_path = path_of(component.name);
  if (component.name == ".") return {};
  if (component.name == "..") {
    auto above = kernel::openat(current_, "..", O_PATH | O_DIRECTORY);
    if (!above) return failed_at(path_of(".."), above.error());
    const std::size_t slash = path_.rfind('/');
    return enter(std::move(*above), slash == 0 ? "/" : path_.substr(0, slash));
  }
  std::string at = path_of(component.name);
  auto opened = open_component(component.name);
  if (!opened) return failed_at(std::move(at), opened.error());
  auto facts = facts_of(*opened);
  if (!facts) return failed_at(std::move(at), facts.error());
  if (facts->id.type == S_IFLNK) return cross_link(*opened, at, *facts);
  if (!pending_.empty()) {
    if (facts->id.type != S_IFDIR) return failed_at(std::move(at), {ENOTDIR, "openat"});
    return enter(std::move(*opened), *facts, std::move(at));
  }
  out_.object = std::move(*opened);
  out_.facts = *facts;
  out_.real_path = std::move(at);
  return {};
}

base::Result<Walk, WalkFailure> Walker::go(std::string_view absolute) {
  if (absolute.size() >= kMostPathBytes) return failed_at(std::string(absolute), {ENAMETOOLONG, "openat"});
  if (!absolute.starts_with('/') || absolute.find('\0') != std::string_view::npos) {
    return failed_at(std::string(absolute), {EINVAL, "openat"});
  }
  push(absolute.substr(1));
  if (!pending_.empty()) pending_.front().last_written = true;
  CORDON_OK(start_at_root());
  while (!pending_.empty()) {
    const Component next = std::move(pending_.back());
    pending_.pop_back();
    CORDON_OK(cross(next));
  }
  if (!out_.object.valid()) {  // ended on "/", "." or "..": the directory that we stand in
    auto again = kernel::openat(current_, ".", O_PATH | O_DIRECTORY);
    if (!again) return failed_at(path_, again.error());
    out_.object = std::move(*again);
    out_.facts = facts_;
    out_.real_path = path_;
  }
  out_.parent = std::move(current_);
  return std::move(out_);
}

using AclOwner = std::unique_ptr<std::remove_pointer_t<acl_t>, decltype([](acl_t acl) { ::acl_free(acl); })>;

struct AclEntry {
  acl_tag_t tag = ACL_UNDEFINED_TAG;
  bool write = false;
  std::uint32_t id = 0;
};

/// Nothing where libacl does not answer as it should; the caller then says "unreadable".
std::optional<AclEntry> read_entry(acl_entry_t entry) {
  AclEntry out;
  acl_permset_t permissions = nullptr;
  if (::acl_get_tag_type(entry, &out.tag) != 0 || ::acl_get_permset(entry, &permissions) != 0) return std::nullopt;
  const int write = ::acl_get_perm(permissions, ACL_WRITE);
  if (write < 0) return std::nullopt;
  out.write = write == 1;
  if (out.tag == ACL_USER || out.tag == ACL_GROUP) {
    void* qualifier = ::acl_get_qualifier(entry);
    if (qualifier == nullptr) return std::nullopt;
    out.id = *static_cast<std::uint32_t*>(qualifier);  // uid_t and gid_t alike
    ::acl_free(qualifier);
  }
  return out;
}

AclFacts reduce(acl_t acl) {
  AclFacts facts{.state = AclFacts::State::kExtended, .writers = {}};
  bool mask_write = true;
  acl_entry_t entry = nullptr;
  int more = ::acl_get_entry(acl, ACL_FIRST_ENTRY, &entry);
  for (; more == 1; more = ::acl_get_entry(acl, ACL_NEXT_ENTRY, &entry)) {
    const auto read = read_entry(entry);
    if (!read) return {.state = AclFacts::State::kUnreadable, .code = EINVAL, .writers = {}};
    if (read->tag == ACL_MASK) mask_write = read->write;
    if (!read->write) continue;
    if (read->tag == ACL_GROUP_OBJ) facts.owning_group_write = true;
    if (read->tag == ACL_USER) facts.writers.push_back({AclWriter::Kind::kUser, read->id});
    if (read->tag == ACL_GROUP) facts.writers.push_back({AclWriter::Kind::kGroup, read->id});
  }
  if (more < 0) return {.state = AclFacts::State::kUnreadable, .code = EINVAL, .writers = {}};
  if (!mask_write) {
    facts.writers.clear();
    facts.owning_group_write = false;
  }
  return facts;
}

}  // namespace

base::Result<Walk, WalkFailure> walk(std::string_view absolute, Acls acls) { return Walker(acls).go(absolute); }

kernel::Sys<FileFacts> facts_of(FdView fd) {
  auto stat = kernel::statx(fd);
  if (!stat) return base::fail(stat.error());
  const std::int64_t birth = (stat->stx_mask & STATX_BTIME) == 0
                                 ? -1
                                 : stat->stx_btime.tv_sec * 1'000'000'000 + std::int64_t{stat->stx_btime.tv_nsec};
  return FileFacts{.id = {.device = makedev(stat->stx_dev_major, stat->stx_dev_minor),
                          .inode = stat->stx_ino,
                          .type = stat->stx_mode & static_cast<std::uint32_t>(S_IFMT),
                          .birth_ns = birth},
                   .owner = stat->stx_uid,
                   .group = stat->stx_gid,
                   .mode = stat->stx_mode & 07777U,
                   .size = stat->stx_size,
                   .links = stat->stx_nlink};
}

AclFacts acl_of(FdView fd, const FileFacts& facts) {
  const bool group_write = (facts.mode & S_IWGRP) != 0;
  // An O_PATH descriptor answers no fgetxattr; its name in /proc leads to the same object.
  const std::string path = proc_path(fd);
  const auto kept = kernel::getxattr(path.c_str(), "system.posix_acl_access", {});
  if (!kept && kept.error().code == ENODATA) return {.writers = {}, .owning_group_write = group_write};
  const AclOwner acl(::acl_get_file(path.c_str(), ACL_TYPE_ACCESS));
  if (acl == nullptr) {
    const Errno why = kernel::failed("acl_get_file").error();
    return {.state = AclFacts::State::kUnreadable, .code = why.code, .writers = {}};
  }
  if (::acl_equiv_mode(acl.get(), nullptr) == 0) return {.writers = {}, .owning_group_write = group_write};
  return reduce(acl.get());
}

kernel::Sys<Fd> reopen(FdView object, int flags) {
  return kernel::openat(kernel::kHere, proc_path(object).c_str(), flags | O_NONBLOCK | O_NOCTTY);
}

std::string location_of(FdView object) {
  auto path = read_link(kernel::kHere, proc_path(object).c_str());
  return path ? *path : std::string();
}

}  // namespace cordon::policy::approval
