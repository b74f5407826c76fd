#include "policy/approval/private_directory.h"

#include <sys/stat.h>

#include "base/abs_path.h"
#include "base/text.h"
#include "kernel/file.h"
#include "policy/approval/walk.h"
#include "policy/approval/words.h"

namespace cordon::policy::approval {
namespace {

using base::shown;

Opened untrusted(std::string why) { return {.state = Opened::State::kUntrusted, .fd = {}, .why = std::move(why)}; }

bool is_foreign(uid_t owner, Caller caller) { return owner != 0 && owner != caller.uid; }

Opened open_entry(base::FdView directory, const std::string& name, mode_t type, Caller caller) {
  auto object = kernel::openat(directory, name.c_str(), O_PATH | O_NOFOLLOW);
  if (!object) {
    if (object.error().code == ENOENT) return {};
    return untrusted("its entry cannot be opened: " + in_words(object.error().code));
  }
  const auto facts = facts_of(*object);
  if (!facts) return untrusted("its entry cannot be examined: " + in_words(facts.error().code));
  if (facts->id.type != type) {
    return untrusted(type == S_IFREG ? "its entry is not a regular file" : "its entry is not a directory");
  }
  if (auto why = why_not_private(*object, *facts, caller)) return untrusted("its entry " + *why);
  return {.state = Opened::State::kPrivate, .fd = std::move(*object), .why = {}};
}

/// Passes one component that stands, or makes it 0700 in `above`. Root with somebody's HOME must not be led by that
/// person's links to make directories elsewhere, nor leave one of root's in that person's home: hence by descriptor,
/// only through own links, only in an own directory.
base::Result<base::Fd> pass_or_make(base::FdView above, const std::string& at, const std::string& name, Caller caller) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    auto reached = walk(at, Acls::kLeave);
    if (reached) {
      for (const WalkStep& step : reached->steps) {
        if (step.kind != WalkStep::Kind::kLink || !is_foreign(step.facts.owner, caller)) continue;
        return base::fail(
            base::Error{.operation = "open", .subject = step.path, .detail = "it is somebody else's link"});
      }
      return std::move(reached->object);
    }
    const kernel::Errno why = reached.error().errno_value;
    if (why.code != ENOENT) return base::fail(kernel::error_at(why, at));
    const auto parent = facts_of(above);
    if (!parent) return base::fail(kernel::error_at(parent.error(), at));
    if (is_foreign(parent->owner, caller)) {
      return base::fail(
          base::Error{.operation = "mkdirat", .subject = at, .detail = "its directory is somebody else's"});
    }
    const auto made = kernel::mkdirat(above, name.c_str(), 0700);
    if (!made && made.error().code != EEXIST) return base::fail(kernel::error_at(made.error(), at));
  }
  return base::fail(base::Error{.operation = "mkdirat", .subject = at, .detail = "it is a link that leads nowhere"});
}

base::Result<void> make_missing(const std::string& path, Caller caller) {
  const auto parsed = base::AbsPath::parse(path);
  if (!parsed) return base::fail(base::Error{.operation = "mkdirat", .subject = path, .code = EINVAL});
  auto above = kernel::openat(kernel::kHere, "/", O_PATH | O_DIRECTORY);
  if (!above) return base::fail(kernel::error_at(above.error(), "/"));
  std::string at;
  for (std::string_view component : parsed->components()) {
    at.append("/").append(component);
    CORDON_TRY(*above, pass_or_make(*above, at, std::string(component), caller));
  }
  return {};
}

}  // namespace

std::optional<std::string> why_not_private(base::FdView object, const FileFacts& facts, Caller caller) {
  if (is_foreign(facts.owner, caller)) return "belongs to user " + std::to_string(facts.owner);
  if ((facts.mode & (S_IWGRP | S_IWOTH)) != 0) return "is writable by others";
  const AclFacts acl = acl_of(object, facts);
  if (acl.state == AclFacts::State::kUnreadable) {
    return "has an access control list that cannot be read: " + in_words(acl.code);
  }
  for (const AclWriter& writer : acl.writers) {
    const bool own = writer.kind == AclWriter::Kind::kUser && !is_foreign(writer.id, caller);
    if (!own) return "is writable by others, by its access control list";
  }
  return std::nullopt;
}

Opened open_private_directory(std::string_view path, Caller caller) {
  auto reached = walk(path, Acls::kLeave);
  if (!reached) {
    const WalkFailure& failure = reached.error();
    if (failure.errno_value.code == ENOENT) return {};
    return untrusted(shown(failure.at) + " cannot be reached: " + in_words(failure.errno_value.code));
  }
  if (reached->name_path != reached->real_path) return untrusted(shown(path) + " is a link");
  for (const WalkStep& step : reached->steps) {
    if (step.kind == WalkStep::Kind::kLink && is_foreign(step.facts.owner, caller)) {
      return untrusted("the link " + shown(step.path) + " belongs to user " + std::to_string(step.facts.owner));
    }
  }
  if (reached->facts.id.type != S_IFDIR) return untrusted(shown(path) + " is not a directory");
  if (auto why = why_not_private(reached->object, reached->facts, caller)) return untrusted(shown(path) + " " + *why);
  return {.state = Opened::State::kPrivate, .fd = std::move(reached->object), .why = {}};
}

Opened open_private_directory_in(base::FdView directory, const std::string& name, Caller caller) {
  return open_entry(directory, name, S_IFDIR, caller);
}

Opened open_private_file(base::FdView directory, const std::string& name, Caller caller) {
  return open_entry(directory, name, S_IFREG, caller);
}

base::Result<base::Fd> make_private_directory(const std::string& path, Caller caller) {
  CORDON_OK(make_missing(path, caller));
  Opened opened = open_private_directory(path, caller);
  if (opened.state == Opened::State::kPrivate) return std::move(opened.fd);
  const std::string why = opened.state == Opened::State::kAbsent ? "it vanished" : opened.why;
  return base::fail(base::Error{.operation = "open", .subject = path, .detail = why});
}

}  // namespace cordon::policy::approval
