#include "tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "input.h"

namespace cordon::shields {
namespace {

using shield::AliasAnchor;
using shield::Deny;
using shield::Holds;
using shield::Kind;
using shield::Moves;
using shield::WriteOptIn;

std::string_view word(Deny deny) { return deny == Deny::kAll ? "Deny::kAll" : "Deny::kWrite"; }
std::string_view word(Kind kind) { return kind == Kind::kDirectory ? "Kind::kDirectory" : "Kind::kFile"; }
std::string_view word(AliasAnchor anchor) {
  return anchor == AliasAnchor::kYes ? "AliasAnchor::kYes" : "AliasAnchor::kNo";
}
std::string_view word(WriteOptIn opt_in) {
  return opt_in == WriteOptIn::kNever ? "WriteOptIn::kNever" : "WriteOptIn::kByExactName";
}

std::string_view word(Holds holds) {
  switch (holds) {
    case Holds::kNothing:
      return "Holds::kNothing";
    case Holds::kCredentials:
      return "Holds::kCredentials";
    case Holds::kPrivateData:
      return "Holds::kPrivateData";
    case Holds::kHistory:
      return "Holds::kHistory";
    case Holds::kPersistence:
      return "Holds::kPersistence";
    case Holds::kServices:
      return "Holds::kServices";
  }
  return {};
}

std::string_view word(Moves moves) {
  switch (moves) {
    case Moves::kBase:
      return "Moves::kBase";
    case Moves::kDirectory:
      return "Moves::kDirectory";
    case Moves::kFile:
      return "Moves::kFile";
    case Moves::kFileList:
      return "Moves::kFileList";
    case Moves::kDirectoryList:
      return "Moves::kDirectoryList";
  }
  return {};
}

std::string home_row(const Entry& entry) {
  return fmt::format("{{{}, {}, {}, {}, {}, {}, {}}}", literal(entry.path), word(entry.deny), word(entry.kind),
                     word(entry.holds), literal(entry.what), word(entry.write_opt_in), word(entry.alias_anchor()));
}

std::string workspace_row(const Entry& entry) {
  return fmt::format("{{{}, {}, {}, {}, {}}}", literal(entry.path), word(entry.deny), word(entry.kind),
                     literal(entry.what), word(entry.write_opt_in));
}

std::string moved_row(const Moved& moved) {
  const Entry& rule = moved.protection;
  return fmt::format("{{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}}", literal(moved.variable), word(moved.moves),
                     literal(moved.from), literal(moved.below), word(rule.deny), word(rule.kind), word(rule.holds),
                     literal(rule.what), word(rule.alias_anchor()), word(rule.write_opt_in), literal(moved.none));
}

/// One table and the function of corpus.h that hands it out.
template <class Rows, class ToRow>
std::string table(std::string_view type, std::string_view function, const Rows& rows, ToRow to_row) {
  std::string out = fmt::format("std::span<const {}> {}() {{\n", type, function);
  if (std::empty(rows)) return out + "  return {};\n}\n\n";
  out += fmt::format("  static constexpr {} kRows[] = {{\n", type);
  for (const auto& row : rows) out += fmt::format("      {},\n", to_row(row));
  return out + "  };\n  return kRows;\n}\n\n";
}

}  // namespace

std::string tables_source(const Corpus& corpus) {
  std::set<std::string> variables;
  for (const Moved& moved : corpus.relocations) variables.insert(moved.variable);
  const auto name = [](const std::string& text) { return literal(text); };
  return "// Made from shields/*.yaml; not written by hand.\n#include \"policy/shield/corpus.h\"\n\n"
         "namespace cordon::policy::shield {\n\n" +
         table("HomeRule", "home_rules", corpus.home, home_row) +
         table("HomeRule", "alias_paths", corpus.alias_paths, home_row) +
         table("WorkspaceRule", "workspace_rules", corpus.workspace, workspace_row) +
         table("HomeRule", "system_rules", corpus.system, home_row) +
         table("Relocation", "relocations", corpus.relocations, moved_row) +
         table("std::string_view", "relocation_variables", variables, name) +
         table("std::string_view", "runtime_directories", corpus.runtime, name) +
         table("std::string_view", "auto_executed", corpus.auto_executed, name) +
         "}  // namespace cordon::policy::shield\n";
}

}  // namespace cordon::shields
