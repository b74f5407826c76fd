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

}  // namespace

base::Result<void, Diagnostics> write_new_draft(const std::string& path, const std::string& text) {
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  const auto held = kernel::openat(kernel::kHere, directory.c_str(), O_PATH | O_DIRECTORY);
  if (!held) return not_written(path, held.error());
  auto file = NewFile::create(*held, ".cordon-profile-");
  if (!file) return not_written(path, file.error());
  if (auto done = file->write(text); !done) return not_written(path, done.error());
  if (auto done = file->sync(); !done) return not_written(path, done.error());
  if (auto done = file->place(name); !done) return not_written(path, done.error());
  sync_directory(*held);
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
