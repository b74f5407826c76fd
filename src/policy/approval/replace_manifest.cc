#include "policy/approval/replace_manifest.h"

#include <sys/stat.h>

#include "base/text.h"
#include "kernel/file.h"
#include "policy/approval/new_file.h"
#include "policy/approval/steady_read.h"
#include "policy/approval/walk.h"
#include "policy/approval/words.h"
#include "policy/manifest/digest.h"

namespace cordon::policy::approval {
namespace {

using base::Diagnostic;
using base::Diagnostics;

constexpr std::string_view kTemporary = ".cordon-approve-";

class Replacement {
 public:
  Replacement(ManifestFile& manifest, Caller caller)
      : manifest_(manifest), caller_(caller), name_(manifest.real_path.substr(manifest.real_path.rfind('/') + 1)) {}

  base::Result<void, Diagnostics> run(const std::string& text);

 private:
  [[nodiscard]] auto refuse(std::string code, std::string message, std::string hint) const {
    return base::fail(Diagnostics{Diagnostic{.code = std::move(code),
                                             .at = {.file = manifest_.written_path},
                                             .message = std::move(message),
                                             .hint = std::move(hint)}});
  }
  [[nodiscard]] auto changed() const {
    return refuse("manifest-changed", "the manifest changed while you were reading; nothing was stamped",
                  "approve again, and read what it asks for now");
  }
  [[nodiscard]] auto not_written(kernel::Errno why) const {
    const bool may_not = why.code == EACCES || why.code == EPERM || why.code == EROFS;
    return refuse(
        "stamp-not-written", "the stamp could not be written: " + std::string(why.call) + ": " + in_words(why.code),
        may_not ? "the directory must be writable: the stamp is written to a new file beside the manifest" : "");
  }

  base::Result<void, Diagnostics> still_in_place() const;
  [[nodiscard]] bool is_what_was_read(const std::string& name) const;
  base::Result<void, Diagnostics> prepare(NewFile& file, const std::string& text) const;
  base::Result<void, Diagnostics> put_in_place(NewFile& file) const;
  void take_over(base::Fd file, const std::string& text);

  ManifestFile& manifest_;
  Caller caller_;
  std::string name_;
};

/// The file at `name` is the very one that was reviewed, and its bytes are the bytes that were reviewed.
bool Replacement::is_what_was_read(const std::string& name) const {
  const auto there = kernel::openat(manifest_.real_directory, name.c_str(), O_PATH | O_NOFOLLOW);
  if (!there) return false;
  const auto facts = facts_of(*there);
  if (!facts || facts->id != manifest_.facts.id) return false;
  manifest::Sha256 digest;
  const auto end =
      read_steadily(manifest_.file, kMostManifestBytes, [&](std::string_view bytes) { digest.update(bytes); });
  return end && *end == ReadEnd::kComplete && digest.hex() == manifest_.digest;
}

base::Result<void, Diagnostics> Replacement::still_in_place() const {
  const std::string directory = location_of(manifest_.real_directory);
  if ((directory == "/" ? directory : directory + "/") + name_ != manifest_.real_path) {
    return refuse("manifest-moved",
                  "the manifest's directory was moved or removed while you were reading; nothing was stamped",
                  "approve it where it is now");
  }
  if (!is_what_was_read(name_)) return changed();
  return {};
}

base::Result<void, Diagnostics> Replacement::prepare(NewFile& file, const std::string& text) const {
  const auto now = facts_of(manifest_.file);
  if (!now) return not_written(now.error());
  if (auto done = file.write(text); !done) return not_written(done.error());
  if (caller_.uid == 0) {
    if (auto done = kernel::fchown(file.fd(), now->owner, now->group); !done) return not_written(done.error());
  } else {
    // A group that we are not in cannot be kept; the file then has one that the directory or we ourselves give it.
    (void)kernel::fchown(file.fd(), static_cast<uid_t>(-1), now->group).has_value();
  }
  const mode_t mode = now->mode & 0777U & ~static_cast<mode_t>(S_IWGRP | S_IWOTH);
  if (auto done = kernel::fchmod(file.fd(), mode); !done) return not_written(done.error());
  if (auto done = file.sync(); !done) return not_written(done.error());
  return {};
}

base::Result<void, Diagnostics> Replacement::put_in_place(NewFile& file) const {
  auto exchanged = file.exchange(name_);
  if (!exchanged) {
    const int code = exchanged.error().code;
    if (code == ENOENT) return changed();
    if (code != EINVAL && code != ENOSYS) return not_written(exchanged.error());
    CORDON_OK(still_in_place());
    if (auto done = file.replace(name_); !done) return not_written(done.error());
    return {};
  }
  if (!is_what_was_read(file.name())) {
    // Put back what came out. Should that fail, the new file stays in the manifest's place: it is what was reviewed.
    if (auto undone = file.exchange(name_); !undone) return not_written(undone.error());
    return changed();
  }
  file.settle();
  return {};
}

void Replacement::take_over(base::Fd file, const std::string& text) {
  const auto facts = facts_of(file);
  if (facts) manifest_.facts = *facts;
  manifest_.text = text;
  manifest_.digest = manifest::sha256_hex(text);
  manifest_.acl = acl_of(file, manifest_.facts);
  manifest_.located = location_of(file);
  manifest_.file = std::move(file);
}

base::Result<void, Diagnostics> Replacement::run(const std::string& text) {
  CORDON_OK(still_in_place());
  auto file = NewFile::create(manifest_.real_directory, kTemporary);
  if (!file) return not_written(file.error());
  CORDON_OK(prepare(*file, text));
  CORDON_OK(put_in_place(*file));
  sync_directory(manifest_.real_directory);
  take_over(file->take(), text);
  return {};
}

}  // namespace

base::Result<void, Diagnostics> replace_manifest(ManifestFile& manifest, const std::string& text, Caller caller) {
  return Replacement(manifest, caller).run(text);
}

}  // namespace cordon::policy::approval
