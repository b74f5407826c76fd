#include "cli/git_index.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "cli/whole_file.h"
#include "kernel/file.h"

namespace cordon::cli {
namespace {

using Known = Tracked::Known;

constexpr std::size_t kLargestIndex = std::size_t{256} << 20U;
constexpr std::size_t kFixed = 62;  // of an entry, before its name (gitformat-index(5)), with SHA-1

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  [[nodiscard]] bool has(std::size_t count) const { return bytes_.size() - at_ >= count; }
  std::uint32_t number(std::size_t at) const {
    std::uint32_t out = 0;
    for (std::size_t i = 0; i < 4; ++i) out = out << 8U | static_cast<unsigned char>(bytes_[at + i]);
    return out;
  }
  std::string_view take(std::size_t count) {
    const std::string_view out = bytes_.substr(at_, count);
    at_ += count;
    return out;
  }
  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] std::string_view rest() const { return bytes_.substr(at_); }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

/// Version 4: how many bytes of the name before go, as a number of 7 bits a byte.
std::optional<std::size_t> varint(Reader& reader) {
  std::size_t out = 0;
  for (int i = 0; i < 5; ++i) {
    if (!reader.has(1)) return std::nullopt;
    const auto byte = static_cast<unsigned char>(reader.take(1).front());
    out = i == 0 ? byte & 0x7fU : ((out + 1) << 7U | (byte & 0x7fU));
    if ((byte & 0x80U) == 0) return out;
  }
  return std::nullopt;
}

void add(std::set<std::string, std::less<>>& directories, std::string_view name) {
  directories.emplace(name);
  for (std::size_t slash = name.rfind('/'); slash != std::string_view::npos; slash = name.rfind('/')) {
    name = name.substr(0, slash);
    if (!directories.emplace(name).second) return;  // and so are those above it
  }
}

std::string read_in(base::FdView directory, const char* path) {
  return content_of(kernel::openat(directory, path, O_RDONLY | O_NONBLOCK | O_NOCTTY), kLargestIndex);
}

}  // namespace

Tracked parse_git_index(std::string_view bytes) {
  const Tracked unknown(Known::kNothing, {});
  Reader reader(bytes);
  if (bytes.size() < 12 || bytes.substr(0, 4) != "DIRC") return unknown;
  const std::uint32_t version = reader.number(4), count = reader.number(8);
  if (version < 2 || version > 4) return unknown;
  reader.take(12);
  std::set<std::string, std::less<>> directories;
  std::string name;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::size_t begin = reader.at();
    if (!reader.has(kFixed)) return unknown;
    const bool extended = (static_cast<unsigned char>(bytes[begin + 60]) & 0x40U) != 0;
    reader.take(kFixed);
    if (extended && version < 3) return unknown;
    if (extended && !reader.has(2)) return unknown;
    if (extended) reader.take(2);
    if (version == 4) {
      const auto cut = varint(reader);
      if (!cut || *cut > name.size()) return unknown;
      name.resize(name.size() - *cut);
    } else {
      name.clear();
    }
    const std::size_t end = reader.rest().find('\0');
    if (end == std::string_view::npos) return unknown;
    name += reader.take(end);
    reader.take(1);
    const std::size_t length = reader.at() - 1 - begin;
    const std::size_t padded = (length + 8) / 8 * 8;
    if (version != 4) {
      if (!reader.has(padded - length - 1)) return unknown;
      reader.take(padded - length - 1);
    }
    add(directories, name);
  }
  if (reader.rest().starts_with("link")) return unknown;  // a split index: most entries stand elsewhere
  return {Known::kAll, std::move(directories)};
}

Tracked read_git_index(base::FdView workspace) {
  const auto git = kernel::statx(workspace, ".git", AT_SYMLINK_NOFOLLOW);
  if (!git) return {Known::kNoRepository, {}};
  if (S_ISDIR(git->stx_mode)) {
    if (!kernel::statx(workspace, ".git/index", AT_SYMLINK_NOFOLLOW))
      return {Known::kNoRepository, {}};  // no commit yet
    return parse_git_index(read_in(workspace, ".git/index"));
  }
  // A worktree or a submodule: the file says where.
  std::string text = read_in(workspace, ".git");
  constexpr std::string_view kSays = "gitdir: ";
  if (!text.starts_with(kSays)) return {Known::kNothing, {}};
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return parse_git_index(read_in(workspace, (text.substr(kSays.size()) + "/index").c_str()));
}

Tracked tracked_in(const std::string& workspace) {
  const auto fd = kernel::openat(kernel::kHere, workspace.c_str(), O_RDONLY | O_DIRECTORY);
  return fd ? read_git_index(*fd) : Tracked(Tracked::Known::kNothing, {});
}

}  // namespace cordon::cli
