// values: what one value of a manifest may look like. One table of rules, each with a name for people, a pattern for
// editors (JSON Schema) and a check that decides.
//
// A check looks at the text alone and says what is wrong and what to write instead; it never mends a value on its own.
// The pattern may let through more than the check, never less. Called by decode (every value), schema (the patterns),
// and by whatever else takes the same values from a person (flags, configuration).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cordon::policy::manifest {

enum class Rule : std::uint8_t {
  kPath,       ///< a file or directory: relative, absolute or below ~
  kWritePath,  ///< a path that is given for writing: never "/", a home or what holds it
  kDenyPath,   ///< a path to hide: never "/"
  kProgram,    ///< a path, or a bare name to look up
  kArgument,   ///< any text, empty too
  kEnvName,
  kHost,
  kPort,       ///< of a rule: one, a range, or *
  kPlainPort,  ///< one port
  kProse,      ///< one line of text
  kAgent,      ///< "ssh"
  kAllowance,  ///< "nested-sandbox"
  kDevice,     ///< below /dev
  kMemory,     ///< bytes, with K, M or G
  kPercent,    ///< of one CPU
  kCount,      ///< a positive integer
  kDuration,   ///< with s, m or h
};

/// What is wrong with a value. `offset` and `length` are the offending bytes of it (the whole of it where length is 0).
struct Fault {
  std::string code;
  std::string message;  ///< begins with the quoted value: "\"512m\" is not …"
  std::string hint;
  std::size_t offset = 0, length = 0;
};

std::optional<Fault> check_value(Rule rule, std::string_view value);

/// For documentation and error messages: "a path", "a port".
std::string_view rule_name(Rule rule);

/// An ECMA regular expression that every accepted value matches; empty where there is none.
std::string_view rule_pattern(Rule rule);

/// Hundredths of a percent of a share that kPercent accepts; nothing otherwise.
std::optional<std::uint64_t> parse_share(std::string_view value);
/// Bytes of a size that kMemory accepts; nothing otherwise.
std::optional<std::uint64_t> parse_size(std::string_view value);

/// Milliseconds of a time that kDuration accepts; nothing otherwise.
std::optional<std::uint64_t> parse_duration_ms(std::string_view value);

/// A path that starts with "~" or "~/": what follows, without leading slashes. Nothing for other paths.
std::optional<std::string_view> below_home(std::string_view path);

}  // namespace cordon::policy::manifest
