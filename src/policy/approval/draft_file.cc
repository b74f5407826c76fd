#include "policy/approval/draft_file.h"

#include <utility>

#include "base/text.h"
#include "kernel/file.h"
#include "policy/approval/new_file.h"
#include "policy/approval/replace_manifest.h"
#include "policy/approval/words.h"

namespace cordon::policy::approval {
namespace {

using base::Diagnostic;
using base::Diagnostics;

auto refuse(const std::string& path, std::string code, std::string message, std::string hint = {}) {
  return base::fail(Diagnostics{Diagnostic{
      .code = std::move(code), .at = {.file = path}, .message = std::move(message), .hint = std::move(hint)}});
}

auto not_written(const std::string& path, kernel::Errno why) {
  if (why.code == EEXIST)
    return refuse(path, "draft-in-the-way", "something has this name by now, and is left as it is",
                  "it was not there before the program ran, so it may be the program's own: read it, take it away, and "
                  "profile again; or --out FILE");
  return refuse(path, "draft-not-written",
                "the draft could not be written: " + std::string(why.call) + ": " + in_words(why.code),
                "name a file in a directory that you may write: --out FILE");
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

bool is_where_it_was(const DraftPlace& place) {
  const auto held = kernel::statx(place.directory, "", AT_EMPTY_PATH);
  const auto named = kernel::statx(kernel::kHere, directory_of(place.path).c_str(), 0);
  return held && named && held->stx_ino == named->stx_ino && held->stx_dev_major == named->stx_dev_major &&
         held->stx_dev_minor == named->stx_dev_minor;
}

}  // namespace

base::Result<DraftPlace, Diagnostics> hold_place_for_draft(const std::string& path) {
  DraftPlace out{.path = path, .name = path.substr(path.rfind('/') + 1), .directory = {}};
  auto held = kernel::openat(kernel::kHere, directory_of(path).c_str(), O_PATH | O_DIRECTORY);
  if (!held) return not_written(path, held.error());
  out.directory = std::move(*held);
  return out;
}

base::Result<void, Diagnostics> write_new_draft(const DraftPlace& place, const std::string& text) {
  const std::string& path = place.path;
  if (!is_where_it_was(place))
    return refuse(path, "draft-in-the-way", "its directory is another by now, and nothing is written there",
                  "the program may have moved it, or put a link in its place: look at it, and profile again; or --out "
                  "FILE");
  auto file = NewFile::create(place.directory, ".cordon-profile-");
  if (!file) return not_written(path, file.error());
  if (auto done = file->write(text); !done) return not_written(path, done.error());
  if (auto done = file->sync(); !done) return not_written(path, done.error());
  if (auto done = file->place(place.name); !done) return not_written(path, done.error());
  sync_directory(place.directory);
  return {};
}

base::Result<void, Diagnostics> replace_with_draft(ManifestFile& manifest, const std::string& text, Caller caller) {
  auto done = replace_manifest(manifest, text, caller);
  if (done) return {};
  const Diagnostic& why = done.error().front();
  if (why.code != "stamp-not-written")
    return refuse(manifest.written_path, "draft-changed",
                  "the manifest changed while the program ran, and is left as it is", "profile again");
  std::string message = why.message;
  if (const std::size_t at = message.find("the stamp"); at != std::string::npos) message.replace(at, 9, "the draft");
  return refuse(manifest.written_path, "draft-not-written", std::move(message),
                "name a file in a directory that you may write: --out FILE");
}

}  // namespace cordon::policy::approval
