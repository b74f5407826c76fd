#include "enforce/promote/journal.h"

#include <fmt/format.h>

#include <array>
#include <span>

#include "base/text.h"
#include "enforce/promote/copy.h"
#include "enforce/promote/fields.h"

namespace cordon::enforce::promote {
namespace {

constexpr const char* kName = "journal";
constexpr const char* kUnfinished = "journal.new";
constexpr std::string_view kHead = "cordon-promotion-1";
constexpr std::uint64_t kLargest = std::uint64_t{1} << 31U;
constexpr std::size_t kFields = 13;

bool is_below(std::string_view path) {
  if (path.empty() || path.size() > Bounds{}.path) return false;
  for (std::string_view component : base::split(path, '/'))
    if (component.empty() || component == "." || component == "..") return false;
  return true;
}

void put(std::string& out, const Act& act) {
  const std::array<std::uint64_t, kFields - 2> numbers{static_cast<std::uint64_t>(act.does),
                                                       static_cast<std::uint64_t>(act.kind),
                                                       static_cast<std::uint64_t>(act.wanted),
                                                       act.mode,
                                                       act.parent,
                                                       act.source,
                                                       act.place,
                                                       act.files,
                                                       act.directories,
                                                       act.links,
                                                       act.bytes};
  for (const std::uint64_t number : numbers) out.append(std::to_string(number)).push_back('\0');
  out.append(std::to_string(act.modified.tv_sec)).push_back('\0');
  out.append(std::to_string(act.modified.tv_nsec)).push_back('\0');
  out.append(act.path).push_back('\0');
}

Act get_act(FieldReader& in) {
  Act out;
  out.does = in.one_of(Act::Does::kRemove);
  out.kind = in.one_of(Kind::kLink);
  out.wanted = in.one_of(Class::kManifest);
  out.mode = static_cast<mode_t>(in.number(0777));
  out.parent = in.number();
  out.source = in.number();
  out.place = in.number();
  out.files = in.number();
  out.directories = in.number();
  out.links = in.number();
  out.bytes = in.number();
  out.modified.tv_sec = in.seconds();
  out.modified.tv_nsec = static_cast<long>(in.number(999'999'999));
  out.path = in.text();
  return out;
}

base::Error at(kernel::Errno why) { return kernel::error_at(why, "the journal of a promotion"); }

Sys<void> store(FdView scratch, std::string_view text) {
  CORDON_OK(remove_name(scratch, kUnfinished));
  CORDON_TRY(const Fd file, kernel::openat(scratch, kUnfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  CORDON_OK(kernel::write_all(file, std::as_bytes(std::span(text))));
  CORDON_OK(kernel::fsync(file));
  CORDON_OK(kernel::renameat2(scratch, kUnfinished, scratch, kName, 0));
  CORDON_TRY(const Fd directory, kernel::openat(scratch, ".", O_RDONLY | O_DIRECTORY));
  return kernel::fsync(directory);
}

}  // namespace

std::string encode(const Work& work) {
  std::string out;
  for (const std::string& field :
       {std::string(kHead), std::to_string(static_cast<int>(work.way)), work.stage, std::to_string(work.device),
        std::to_string(work.inode), std::to_string(work.since.tv_sec), std::to_string(work.since.tv_nsec),
        std::to_string(work.uid), std::to_string(work.gid), std::to_string(work.acts.size())})
    out.append(field).push_back('\0');
  for (const Act& act : work.acts) put(out, act);
  return out.append("end").append(1, '\0');
}

std::optional<Work> decode(std::string_view text) {
  FieldReader in(text);
  if (in.text() != kHead) return std::nullopt;
  Work out;
  out.way = in.one_of(Way::kCopy);
  out.stage = in.text();
  out.device = in.number();
  out.inode = in.number();
  out.since.tv_sec = in.seconds();
  out.since.tv_nsec = static_cast<long>(in.number(999'999'999));
  out.uid = static_cast<uid_t>(in.number(UINT32_MAX));
  out.gid = static_cast<gid_t>(in.number(UINT32_MAX));
  const std::uint64_t count = in.number(text.size() / kFields);
  const bool staged = out.way == Way::kCopy;
  if (!in.good() || staged != is_below(out.stage) || out.stage.find('/') != std::string::npos) return std::nullopt;
  for (std::uint64_t i = 0; i < count && in.good(); ++i) {
    out.acts.push_back(get_act(in));
    if (!is_below(out.acts.back().path)) return std::nullopt;
  }
  if (in.text() != "end" || !in.good() || !in.at_end()) return std::nullopt;
  return out;
}

base::Result<void> write_journal(FdView scratch, const Work& work) {
  const auto stored = store(scratch, encode(work));
  if (stored) return {};
  static_cast<void>(remove_name(scratch, kUnfinished));
  return base::fail(at(stored.error()));
}

base::Result<std::optional<Work>> read_journal(FdView scratch) {
  auto text = read_whole(scratch, kName, kLargest);
  if (!text && text.error().code == ENOENT) return std::nullopt;
  if (!text) return base::fail(at(text.error()));
  auto work = decode(*text);
  if (!work)
    return base::fail(
        base::Error{.operation = "read", .subject = "the journal of a promotion", .detail = "it is none of ours"});
  return work;
}

base::Result<void> remove_journal(FdView scratch) {
  for (const char* name : {kName, kUnfinished})
    if (const auto gone = remove_name(scratch, name); !gone) return base::fail(at(gone.error()));
  return {};
}

}  // namespace cordon::enforce::promote
