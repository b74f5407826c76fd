#include "observe/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "kernel/file.h"
#include "kernel/process.h"

namespace cordon::observe {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::size_t kMostMaps = 256U << 10;

iovec at(std::uint64_t address, std::size_t size) {
  return {.iov_base = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)), .iov_len = size};  // NOLINT
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::optional<std::string_view> read_link(base::FdView directory, const char* name, std::span<char> into) {
  const auto size = kernel::readlinkat(directory, name, into);
  if (!size || *size == into.size()) return std::nullopt;
  return std::string_view(into.data(), *size);
}

std::array<char, 16> name_of_descriptor(int number) {
  std::array<char, 16> name{};
  fmt::format_to_n(name.data(), name.size() - 1, "fd/{}", number);
  return name;
}

}  // namespace

/// Page by page, because the kernel copies each part whole or not at all and the text may end just before a page that
/// is not there; little at first, because most paths are short.
Read PathBuffer::read(pid_t pid, std::uint64_t address) {
  constexpr std::size_t kAtFirst = 256;
  size_ = 0;
  while (size_ < kMostPath) {
    const std::uint64_t here = address + size_;
    const std::size_t wanted = size_ == 0 ? kAtFirst : kMostPath - size_;
    const std::size_t part = std::min<std::size_t>(wanted, kPage - here % kPage);
    const std::array remote{at(here, part)};
    const auto into = std::as_writable_bytes(std::span(bytes_)).subspan(size_, part);
    const auto got = kernel::read_memory(pid, remote, into);
    if (!got || *got != part) return Read::kUnreadable;
    const std::size_t length = strnlen(bytes_.data() + size_, part);
    size_ += length;
    if (length < part) return Read::kWhole;
  }
  return Read::kNoEnd;
}

bool read_bytes(pid_t pid, std::uint64_t address, std::span<std::byte> into) {
  const std::array remote{at(address, into.size())};
  return kernel::read_memory(pid, remote, into).value_or(0) == into.size();
}

std::optional<Process> Process::open(pid_t pid) {
  const std::string path = fmt::format("/proc/{}", pid);
  auto directory = kernel::openat(kernel::kHere, path.c_str(), O_PATH | O_DIRECTORY);
  if (!directory) return std::nullopt;
  return Process(std::move(*directory));
}

std::optional<std::string_view> Process::link(const char* name, std::span<char> into) const {
  return read_link(directory_, name, into);
}

std::optional<std::string_view> Process::descriptor(int number, std::span<char> into) const {
  return link(name_of_descriptor(number).data(), into);
}

std::optional<Process::Link> Process::hold(const char* name) const {
  auto link = kernel::openat(directory_, name, O_PATH | O_NOFOLLOW);
  if (!link) return std::nullopt;
  return Link(std::move(*link));
}

std::optional<Process::Link> Process::hold_descriptor(int number) const {
  return hold(name_of_descriptor(number).data());
}

std::optional<std::string_view> Process::Link::read(std::span<char> into) const { return read_link(link_, "", into); }

bool Process::is_directory(int number) const {
  const auto type = kernel::type_at(directory_, name_of_descriptor(number).data());
  return type && S_ISDIR(*type);
}

std::span<std::byte> Process::read_file(const char* name, std::span<std::byte> into) const {
  const auto file = kernel::openat(directory_, name, O_RDONLY);
  std::size_t size = 0;
  while (file && size < into.size()) {
    const auto got = kernel::read(*file, into.subspan(size));
    if (!got || *got == 0) break;
    size += *got;
  }
  return into.first(size);
}

std::optional<Image> Process::image() const {
  std::array<std::byte, 2048> bytes;  // NOLINT: filled by read_file
  return parse_image(text_of(read_file("stat", bytes)));
}

std::optional<pid_t> Process::process() const {
  std::array<std::byte, 512> bytes;  // NOLINT: likewise; "Tgid:" stands at the top
  return parse_process(text_of(read_file("status", bytes)));
}

Arguments Process::arguments() const {
  std::array<std::byte, kMostArgumentBytes + 1> bytes;  // NOLINT: likewise
  return parse_arguments(text_of(read_file("cmdline", bytes)));
}

std::string Process::loader() const {
  std::array<std::byte, 1024> auxv;  // NOLINT: likewise
  const std::uint64_t address = loader_address(read_file("auxv", auxv));
  if (address == 0) return {};
  std::vector<std::byte> maps(kMostMaps);
  return std::string(mapped_at(text_of(read_file("maps", maps)), address));
}

}  // namespace cordon::observe
