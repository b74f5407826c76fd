#include "host/program_format.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace cordon::host {
namespace {

constexpr std::size_t kLongestInterpreter = 4096;
constexpr std::size_t kLargestProgramHeaders = 65536;
constexpr std::size_t kLargestDynamic = 65536;
constexpr std::uint64_t kFurthest = std::uint64_t{1} << 61U;  // no file is that long, and sums of two do not wrap

bool is_blank(char c) { return c == ' ' || c == '\t'; }

#if defined(__x86_64__)
constexpr Elf64_Half kOurMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kOurMachine = EM_AARCH64;
#else
#error "Cordon runs on x86-64 and arm64"
#endif

template <class T>
bool read_object(const ReadAt& read, std::uint64_t offset, T& into) {
  return read(offset, std::as_writable_bytes(std::span(&into, 1)));
}

}  // namespace

std::optional<ShebangLine> parse_shebang(std::string_view head) {
  if (!head.starts_with("#!")) return std::nullopt;
  // The kernel's buffer: zero-padded, the last byte never part of the line.
  std::string line(head.substr(0, kHeadSize));
  line.resize(kHeadSize, '\0');
  std::size_t end = line.find_first_of(std::string_view("\n\0", 2));
  const bool whole = end != std::string::npos && line[end] == '\n';
  if (!whole) {
    const std::size_t name = line.find_first_not_of(" \t", 2);
    if (name == std::string::npos) return std::nullopt;
    // Without a blank or NUL behind it the name may have been cut, and another program would be run.
    if (line.find_first_of(std::string_view(" \t\0", 3), name) == std::string::npos) return std::nullopt;
    end = kHeadSize - 1;
  }
  while (end > 2 && is_blank(line[end - 1])) --end;
  line.resize(end);
  const std::size_t name = line.find_first_not_of(" \t", 2);
  if (name == std::string::npos) return std::nullopt;
  const std::size_t name_end = std::min(line.find_first_of(std::string_view(" \t\0", 3), name), line.size());
  ShebangLine out{.interpreter = line.substr(name, name_end - name), .argument = std::nullopt};
  if (out.interpreter.empty()) return std::nullopt;
  if (name_end == line.size() || line[name_end] == '\0') return out;
  const std::size_t argument = line.find_first_not_of(" \t", name_end);
  if (argument != std::string::npos) out.argument = std::string(line.c_str() + argument);  // to the first NUL
  return out;
}

namespace {

/// GNU env's splitting of the text behind -S.
class EnvSplitter {
 public:
  explicit EnvSplitter(std::string_view text) : text_(text) {}

  /// Nothing where env refuses the text or a variable would have to be expanded.
  std::optional<std::vector<std::string>> run() {
    while (at_ < text_.size() && !done_) {
      const char c = text_[at_++];
      if (!take(c)) return std::nullopt;
    }
    if (quote_ != '\0') return std::nullopt;
    finish_word();
    return words_;
  }

 private:
  bool take(char c) {
    if (quote_ == '\0' && std::strchr(" \t\n\v\f\r", c) != nullptr && c != '\0') {
      finish_word();
      return true;
    }
    if (c == '#' && quote_ == '\0' && !in_word_) {
      done_ = true;
      return true;
    }
    if ((c == '\'' || c == '"') && (quote_ == '\0' || quote_ == c)) {
      quote_ = quote_ == '\0' ? c : '\0';
      in_word_ = true;
      return true;
    }
    if (c == '\\') return escape();
    if (c == '$' && quote_ != '\'') return false;
    add(c);
    return true;
  }

  bool escape() {
    if (at_ == text_.size()) return false;
    const char c = text_[at_++];
    if (quote_ == '\'') {
      if (c != '\\' && c != '\'') add('\\');
      add(c);
      return true;
    }
    constexpr std::string_view kNames = "fnrtv";
    constexpr std::string_view kMeans = "\f\n\r\t\v";
    if (const std::size_t which = kNames.find(c); which != std::string_view::npos) {
      add(kMeans[which]);
    } else if (c == '_') {
      if (quote_ == '"') {
        add(' ');
      } else {
        finish_word();
      }
    } else if (c == 'c' && quote_ == '\0') {
      done_ = true;
    } else if (std::string_view("\"#$'\\").find(c) != std::string_view::npos) {
      add(c);
    } else {
      return false;
    }
    return true;
  }

  void add(char c) {
    word_.push_back(c);
    in_word_ = true;
  }

  void finish_word() {
    if (in_word_) words_.push_back(std::move(word_));
    word_.clear();
    in_word_ = false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string> words_;
  std::string word_;
  bool in_word_ = false;
  bool done_ = false;
  char quote_ = '\0';
};

}  // namespace

std::optional<EnvCommand> parse_env_argument(std::string_view argument) {
  constexpr std::string_view kLong = "--split-string=";
  std::vector<std::string> words;
  if (argument.starts_with("-S") || argument.starts_with(kLong)) {
    auto split = EnvSplitter(argument.substr(argument.starts_with("-S") ? 2 : kLong.size())).run();
    if (!split) return std::nullopt;
    words = std::move(*split);
  } else {
    words.emplace_back(argument);
  }
  if (words.empty() || words[0].empty()) return std::nullopt;
  if (words[0].starts_with('-') || words[0].find('=') != std::string::npos) return std::nullopt;
  EnvCommand command{.name = std::move(words[0]), .arguments = {}};
  words.erase(words.begin());
  command.arguments = std::move(words);
  return command;
}

namespace {

struct Image {
  bool foreign = false;
  std::vector<Elf64_Phdr> segments;
};

std::optional<Image> read_image(const ReadAt& read) {
  Elf64_Ehdr header{};
  std::array<unsigned char, EI_NIDENT> ident{};
  if (!read_object(read, 0, ident) || std::memcmp(ident.data(), ELFMAG, SELFMAG) != 0) return std::nullopt;
  if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB) return Image{.foreign = true, .segments = {}};
  if (!read_object(read, 0, header)) return std::nullopt;
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN) return std::nullopt;
  if (header.e_machine != kOurMachine) return Image{.foreign = true, .segments = {}};
  const std::size_t count = header.e_phnum;
  if (header.e_phentsize != sizeof(Elf64_Phdr) || count == 0) return std::nullopt;
  if (count * sizeof(Elf64_Phdr) > kLargestProgramHeaders) return std::nullopt;
  Image image{.foreign = false, .segments = std::vector<Elf64_Phdr>(count)};
  if (!read(header.e_phoff, std::as_writable_bytes(std::span(image.segments)))) return std::nullopt;
  return image;
}

const Elf64_Phdr* find_segment(const Image& image, Elf64_Word type) {
  const auto found = std::ranges::find(image.segments, type, &Elf64_Phdr::p_type);
  return found == image.segments.end() ? nullptr : &*found;
}

/// Where in the file the byte lies that is mapped at `address`.
std::optional<std::uint64_t> offset_of(const Image& image, std::uint64_t address) {
  for (const Elf64_Phdr& segment : image.segments) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const std::uint64_t into = address - segment.p_vaddr;
    if (into < segment.p_filesz && segment.p_offset <= kFurthest && into <= kFurthest) return segment.p_offset + into;
  }
  return std::nullopt;
}

/// The loader's table of strings, read one at a time: it may be many megabytes long.
class Strings {
 public:
  Strings(const ReadAt& read, std::uint64_t offset, std::uint64_t size) : read_(read), offset_(offset), size_(size) {}

  [[nodiscard]] std::optional<std::string> at(std::uint64_t index) const {
    for (const std::uint64_t longest : {std::uint64_t{64}, std::uint64_t{kLongestInterpreter}}) {
      if (index >= size_) return std::nullopt;
      std::string text(std::min(longest, size_ - index), '\0');
      if (!read_(offset_ + index, std::as_writable_bytes(std::span(text)))) return std::nullopt;
      const std::size_t end = text.find('\0');
      if (end == std::string::npos) continue;
      text.resize(end);
      return text;
    }
    return std::nullopt;
  }

 private:
  const ReadAt& read_;
  std::uint64_t offset_, size_;
};

std::optional<std::vector<Elf64_Dyn>> read_dynamic(const ReadAt& read, const Elf64_Phdr& segment) {
  if (segment.p_filesz > kLargestDynamic) return std::nullopt;
  std::vector<Elf64_Dyn> entries(segment.p_filesz / sizeof(Elf64_Dyn));
  if (!read(segment.p_offset, std::as_writable_bytes(std::span(entries)))) return std::nullopt;
  const auto end = std::ranges::find(entries, Elf64_Sxword{DT_NULL}, &Elf64_Dyn::d_tag);
  entries.erase(end, entries.end());
  return entries;
}

std::optional<std::uint64_t> value_of(const std::vector<Elf64_Dyn>& entries, Elf64_Sxword tag) {
  const auto found = std::ranges::find(entries, tag, &Elf64_Dyn::d_tag);
  return found == entries.end() ? std::nullopt : std::optional<std::uint64_t>(found->d_un.d_val);
}

}  // namespace

std::optional<ElfFacts> read_elf(const ReadAt& read) {
  const auto image = read_image(read);
  if (!image) return std::nullopt;
  if (image->foreign) return ElfFacts{.foreign = true, .interpreter = ""};
  const Elf64_Phdr* interp = find_segment(*image, PT_INTERP);
  if (interp == nullptr) return ElfFacts{};
  const std::uint64_t size = interp->p_filesz;
  if (size < 2 || size > kLongestInterpreter) return std::nullopt;
  std::string path(size, '\0');
  if (!read(interp->p_offset, std::as_writable_bytes(std::span(path)))) return std::nullopt;
  if (path.back() != '\0') return std::nullopt;
  path.resize(std::strlen(path.c_str()));
  return ElfFacts{.foreign = false, .interpreter = std::move(path)};
}

std::optional<ElfNeeds> read_elf_needs(const ReadAt& read) {
  const auto image = read_image(read);
  if (!image || image->foreign) return std::nullopt;
  const Elf64_Phdr* segment = find_segment(*image, PT_DYNAMIC);
  if (segment == nullptr) return ElfNeeds{};
  const auto entries = read_dynamic(read, *segment);
  if (!entries) return std::nullopt;
  const auto table = value_of(*entries, DT_STRTAB);
  const auto at = table ? offset_of(*image, *table) : std::nullopt;
  const std::uint64_t size = value_of(*entries, DT_STRSZ).value_or(0);
  ElfNeeds needs;
  for (const Elf64_Dyn& entry : *entries) {
    if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_RPATH && entry.d_tag != DT_RUNPATH) continue;
    if (!at || size > kFurthest) return std::nullopt;
    auto text = Strings(read, *at, size).at(entry.d_un.d_val);
    if (!text) return std::nullopt;
    if (entry.d_tag == DT_NEEDED) {
      needs.names.push_back(std::move(*text));
    } else {
      (entry.d_tag == DT_RPATH ? needs.rpath : needs.runpath) = std::move(*text);
    }
    if (needs.names.size() > kMostNeeds) return std::nullopt;
  }
  return needs;
}

namespace {

// glibc's dl-cache.h; the numbers are the format's.
constexpr std::string_view kCacheMagic = "glibc-ld.so.cache1.1";
constexpr std::size_t kCacheHeader = 48;
constexpr std::size_t kCacheEntry = 24;
#if defined(__x86_64__)
constexpr std::uint32_t kOurLibraries = 0x0303;
#else
constexpr std::uint32_t kOurLibraries = 0x0a03;
#endif

std::uint32_t number_at(std::string_view bytes, std::size_t offset) {
  std::uint32_t number = 0;
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

std::string_view text_at(std::string_view bytes, std::size_t offset) {
  if (offset >= bytes.size()) return {};
  const std::string_view rest = bytes.substr(offset, kLongestInterpreter);
  const std::size_t end = rest.find('\0');
  return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
}

}  // namespace

LoaderCache parse_loader_cache(std::string_view bytes) {
  LoaderCache out;
  // An older table may stand in front; what both have is read from the newer one.
  const std::size_t start = bytes.find(kCacheMagic);
  if (start == std::string_view::npos || bytes.size() > kLargestLoaderCache) return out;
  bytes.remove_prefix(start);
  if (bytes.size() < kCacheHeader) return out;
  const std::size_t count = std::min<std::size_t>(number_at(bytes, 20), (bytes.size() - kCacheHeader) / kCacheEntry);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t entry = kCacheHeader + i * kCacheEntry;
    if (number_at(bytes, entry) != kOurLibraries) continue;
    const std::string_view name = text_at(bytes, number_at(bytes, entry + 4));
    const std::string_view file = text_at(bytes, number_at(bytes, entry + 8));
    if (!name.empty() && file.starts_with('/')) out.emplace(name, file);
  }
  return out;
}

}  // namespace cordon::host
