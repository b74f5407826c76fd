#include "host/program_format.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace cordon::host {
namespace {

constexpr std::size_t kLongestInterpreter = 4096;
constexpr std::size_t kLargestProgramHeaders = 65536;

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

std::optional<ElfFacts> read_elf(const ReadAt& read) {
  Elf64_Ehdr header{};
  std::array<unsigned char, EI_NIDENT> ident{};
  if (!read_object(read, 0, ident) || std::memcmp(ident.data(), ELFMAG, SELFMAG) != 0) return std::nullopt;
  if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB)
    return ElfFacts{.foreign = true, .interpreter = ""};
  if (!read_object(read, 0, header)) return std::nullopt;
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN) return std::nullopt;
  if (header.e_machine != kOurMachine) return ElfFacts{.foreign = true, .interpreter = ""};
  const std::size_t count = header.e_phnum;
  if (header.e_phentsize != sizeof(Elf64_Phdr) || count == 0) return std::nullopt;
  if (count * sizeof(Elf64_Phdr) > kLargestProgramHeaders) return std::nullopt;
  std::vector<Elf64_Phdr> segments(count);
  if (!read(header.e_phoff, std::as_writable_bytes(std::span(segments)))) return std::nullopt;
  const auto interp = std::ranges::find(segments, static_cast<Elf64_Word>(PT_INTERP), &Elf64_Phdr::p_type);
  if (interp == segments.end()) return ElfFacts{};
  const std::uint64_t size = interp->p_filesz;
  if (size < 2 || size > kLongestInterpreter) return std::nullopt;
  std::string path(size, '\0');
  if (!read(interp->p_offset, std::as_writable_bytes(std::span(path)))) return std::nullopt;
  if (path.back() != '\0') return std::nullopt;
  path.resize(std::strlen(path.c_str()));
  return ElfFacts{.foreign = false, .interpreter = std::move(path)};
}

}  // namespace cordon::host
