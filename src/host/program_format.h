// What the kernel would make of a file's first bytes: a script's line, an ELF header; what env(1) makes of its own
// argument, and what the loader reads of an ELF file and of its cache. Pure parsers of hostile bytes; each is bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cordon::host {

/// BINPRM_BUF_SIZE: what the kernel reads of a program (since 5.1).
inline constexpr std::size_t kHeadSize = 256;

struct ShebangLine {
  std::string interpreter;
  std::optional<std::string> argument;  ///< may be "", which is passed on too
  friend bool operator==(const ShebangLine&, const ShebangLine&) = default;
};

/// The `#!` line as the kernel reads it (execve(2)): of the first 256 bytes, one argument, cut where it is too long, an
/// interpreter that may have been cut refused. Nothing where the kernel answers ENOEXEC.
std::optional<ShebangLine> parse_shebang(std::string_view head);

struct EnvCommand {
  std::string name;
  std::vector<std::string> arguments;
  friend bool operator==(const EnvCommand&, const EnvCommand&) = default;
};

/// What env(1) runs, given the one argument of a `#!` line: a name, or `-S` with words as GNU env splits them. Nothing
/// for other options, assignments, ${VARIABLE}s and what env itself refuses.
std::optional<EnvCommand> parse_env_argument(std::string_view argument);

struct ElfFacts {
  bool foreign = false;     ///< for another architecture, word size or byte order than this build's
  std::string interpreter;  ///< PT_INTERP
  friend bool operator==(const ElfFacts&, const ElfFacts&) = default;
};

/// Fills the span from this offset; false where that many bytes are not there.
using ReadAt = std::function<bool(std::uint64_t offset, std::span<std::byte> into)>;

/// Nothing where the kernel would not execute it: no ELF, another type than executable or shared, impossible tables.
std::optional<ElfFacts> read_elf(const ReadAt& read);

/// What the loader looks for on behalf of one file, in its order; unexpanded.
struct ElfNeeds {
  std::vector<std::string> names;  ///< DT_NEEDED
  std::string rpath, runpath;      ///< DT_RPATH, DT_RUNPATH
  friend bool operator==(const ElfNeeds&, const ElfNeeds&) = default;
};

inline constexpr std::size_t kMostNeeds = 512;

/// Nothing where this build's loader would not map it: no ELF for this machine, impossible tables, a name that is not
/// there or longer than a path may be, more than kMostNeeds names. A static program needs nothing.
std::optional<ElfNeeds> read_elf_needs(const ReadAt& read);

/// The file of a library by its name, as /etc/ld.so.cache has them for this machine (one name may have several).
using LoaderCache = std::unordered_multimap<std::string, std::string>;
inline constexpr std::size_t kLargestLoaderCache = std::size_t{8} << 20;

/// Empty where `bytes` are no cache that this build's loader reads; an entry that does not lie in them is left out.
LoaderCache parse_loader_cache(std::string_view bytes);

}  // namespace cordon::host
