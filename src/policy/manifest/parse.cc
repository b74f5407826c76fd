#include <utility>

#include "base/text.h"
#include "policy/manifest/decode.h"
#include "policy/manifest/manifest.h"
#include "policy/manifest/source.h"
#include "policy/manifest/yaml_tree.h"

namespace cordon::policy::manifest {
namespace {

bool is_script(std::string_view text) { return text.starts_with("#!"); }
bool is_program(std::string_view text) {
  return text.starts_with(
      "\x7f"
      "ELF");
}

/// The program given where its manifest was meant.
base::Diagnostic not_a_manifest(std::string_view text, std::string_view file) {
  const std::string_view what = is_program(text) ? "a program" : "a script";
  const std::string manifest = base::shown(std::string(file) + ".manifest.yaml");
  const std::string name = base::shown("./" + std::string(file.substr(file.rfind('/') + 1)));
  const std::size_t line = is_script(text) ? text.substr(0, text.find('\n')).size() : 1;
  return {base::Severity::kError, "not-a-manifest",
          base::Span{std::string(file), is_script(text) ? 1U : 0U, 1, static_cast<std::uint32_t>(line)},
          "this is " + std::string(what) + ", not its manifest",
          "write its manifest and give that: " + manifest + ", of which the first line is entrypoint: " + name};
}

bool named_as_manifest(std::string_view file) { return file.ends_with(".yaml") || file.ends_with(".yml"); }

base::Diagnostic too_large(std::string_view file) {
  return {base::Severity::kError, "too-large", base::Span{std::string(file), 0, 0, 1},
          "the file is larger than " + std::to_string(kMaxBytes) + " bytes",
          "a manifest is short: is this the right file?"};
}

}  // namespace

base::Result<Loaded, base::Diagnostics> parse(std::string_view text, std::string_view file_name) {
  if (is_program(text)) return base::fail(base::Diagnostics{not_a_manifest(text, file_name)});
  if (text.size() > kMaxBytes) return base::fail(base::Diagnostics{too_large(file_name)});
  const Source source(text, file_name);
  Problems problems;
  const Tree tree = read_tree(source, problems);
  Policy policy = decode(source, tree, problems);
  if (problems.any()) {
    if (is_script(text) && !named_as_manifest(file_name))
      return base::fail(base::Diagnostics{not_a_manifest(text, file_name)});
    return base::fail(problems.take_errors());
  }
  return Loaded{std::move(policy), std::string(text), problems.take_notes()};
}

}  // namespace cordon::policy::manifest
