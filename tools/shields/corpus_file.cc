#include "corpus_file.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

#include "base/path_order.h"
#include "base/text.h"
#include "fields.h"

namespace cordon::shields {
namespace {

using shield::Deny;
using shield::Holds;
using shield::Kind;
using shield::Moves;
using shield::WriteOptIn;

constexpr std::pair<std::string_view, Deny> kClasses[]{{"hidden", Deny::kAll}, {"read-only", Deny::kWrite}};
constexpr std::pair<std::string_view, Kind> kKinds[]{{"directory", Kind::kDirectory}, {"file", Kind::kFile}};
constexpr std::pair<std::string_view, Holds> kHolds[]{{"credentials", Holds::kCredentials},
                                                      {"private-data", Holds::kPrivateData},
                                                      {"history", Holds::kHistory},
                                                      {"persistence", Holds::kPersistence},
                                                      {"services", Holds::kServices}};
constexpr std::pair<std::string_view, WriteOptIn> kOptIns[]{{"by exact name", WriteOptIn::kByExactName}};
constexpr std::pair<std::string_view, shield::AliasAnchor> kOtherNames[]{{"looked for", shield::AliasAnchor::kYes}};
constexpr std::pair<std::string_view, Moves> kMoves[]{{"base", Moves::kBase},
                                                      {"directory", Moves::kDirectory},
                                                      {"directory list", Moves::kDirectoryList},
                                                      {"file", Moves::kFile},
                                                      {"file list", Moves::kFileList}};

bool is_file(Moves moves) { return moves == Moves::kFile || moves == Moves::kFileList; }

/// Paths with what stands at each, `proto` filled in for all of them.
void read_paths(const Place& place, const Node& map, PathForm form, const Entry& proto, std::vector<Entry>& out) {
  if (map.kind != Node::Kind::kMapping || map.pairs.empty())
    return place.refuse(map, "not-a-map", "a map of paths stands here, each with what it is");
  std::vector<const Node*> keys;
  for (const auto& [key, value] : map.pairs) {
    keys.push_back(&key);
    if (!check_path(place, key, form) || !check_what(place, value)) continue;
    Entry entry = proto;
    entry.path = key.text;
    entry.what = value.text;
    entry.at = place.span(key);
    out.push_back(std::move(entry));
  }
  check_sorted(place, keys);
}

/// class, kind, holds, write_opt_in and other_names, which a group of rules and a relocation both have.
Entry read_protection(const Place& place, Fields& fields) {
  Entry entry;
  entry.deny = fields.word(fields.need("class"), kClasses);
  entry.kind = fields.word(fields.need("kind"), kKinds);
  const Node* holds = fields.take("holds");
  if (holds != nullptr) entry.holds = fields.word(holds, kHolds);
  if (holds != nullptr && entry.deny == Deny::kWrite)
    place.refuse(*holds, "holds", "what may be read holds nothing that is kept from reading");
  if (const Node* opt_in = fields.take("write_opt_in")) {
    entry.write_opt_in = fields.word(opt_in, kOptIns);
    if (entry.deny == Deny::kAll) place.refuse(*opt_in, "opt-in", "what is hidden is never written");
  }
  if (const Node* names = fields.take("other_names")) {
    entry.other_names = fields.word(names, kOtherNames);
    if (entry.deny == Deny::kAll || entry.kind == Kind::kFile)
      place.refuse(*names, "other-names", "only of directories that may be read this is said");
  }
  return entry;
}

enum class Groups { kHome, kWorkspace, kSystem };

void read_groups(const Place& place, const Node& list, Groups groups, std::vector<Entry>& out) {
  if (list.kind != Node::Kind::kSequence) place.refuse(list, "not-a-list", "a list of groups stands here");
  for (const Node& group : list.items) {
    Fields fields(place, group);
    const Entry proto = read_protection(place, fields);
    const bool says_holds = proto.holds != Holds::kNothing;
    if (groups == Groups::kWorkspace && says_holds)
      place.refuse(group, "holds", "a checkout's rules have no \"holds\"");
    if (groups != Groups::kWorkspace && !says_holds && proto.deny == Deny::kAll)
      place.refuse(group, "holds", "\"holds\" is missing: why it is hidden");
    const PathForm form = groups == Groups::kSystem ? PathForm::kAbsolute : PathForm::kBelow;
    if (const Node* paths = fields.need("paths")) read_paths(place, *paths, form, proto, out);
    fields.end();
  }
}

std::string read_variable(const Place& place, Fields& fields) {
  const Node* node = fields.need("variable");
  if (node == nullptr) return {};
  const std::string& name = node->text;
  const bool fine = !name.empty() && (name[0] < '0' || name[0] > '9') && std::ranges::all_of(name, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (!fine) place.refuse(*node, "variable", "this is no name of an environment variable");
  return fine ? name : std::string();
}

std::string optional_path(const Place& place, Fields& fields, std::string_view key) {
  const Node* node = fields.take(key);
  return node != nullptr && check_path(place, *node, PathForm::kBelow) ? node->text : std::string();
}

Moved read_moved(const Place& place, const Node& map) {
  Fields fields(place, map);
  Moved moved;
  moved.at = place.span(map);
  moved.variable = read_variable(place, fields);
  moved.moves = fields.word(fields.need("moves"), kMoves);
  moved.from = optional_path(place, fields, "from");
  moved.below = optional_path(place, fields, "below");
  moved.as = optional_path(place, fields, "as");
  moved.none = fields.text("none");
  if (const Node* what = fields.take("what")) {
    moved.protection = read_protection(place, fields);
    if (check_what(place, *what)) moved.protection.what = what->text;
    if (moved.protection.deny == Deny::kAll && moved.protection.holds == Holds::kNothing)
      place.refuse(map, "holds", "\"holds\" is missing: why it is hidden");
    if (!moved.as.empty()) place.refuse(map, "as", "\"as\" and \"what\": one of the two says how it is protected");
  } else if (const Node* kind = fields.take("kind")) {
    moved.protection.kind = fields.word(kind, kKinds);
  } else {
    moved.protection.kind = is_file(moved.moves) ? Kind::kFile : Kind::kDirectory;
  }
  if (moved.moves == Moves::kBase && (moved.from.empty() || !moved.below.empty() || !moved.as.empty()))
    place.refuse(map, "base", "a base has \"from\" alone");
  fields.end();
  return moved;
}

void read_relocations(const Place& place, const Node& list, std::vector<Moved>& out) {
  if (list.kind != Node::Kind::kSequence) place.refuse(list, "not-a-list", "a list of variables stands here");
  for (const Node& item : list.items) {
    out.push_back(read_moved(place, item));
    if (out.size() < 2 || &item == &list.items.front()) continue;
    const auto key = [](const Moved& moved) { return std::tie(moved.variable, moved.below); };
    const Moved& before = out[out.size() - 2];
    if (key(before) == key(out.back())) place.refuse(item, "twice", "this variable moves this twice");
    if (key(before) > key(out.back()))
      place.refuse(item, "unsorted",
                   base::quote(out.back().variable) + " stands before " + base::quote(before.variable),
                   "sort by variable, then by \"below\"");
  }
}

void read_names(const Place& place, const Node& list, PathForm form, std::vector<std::string>& out) {
  const auto nodes = texts(place, list);
  for (const Node* node : nodes) {
    Node plain = *node;
    if (form == PathForm::kBelow && plain.text.ends_with('/')) plain.text.pop_back();
    if (check_path(place, plain, form)) out.push_back(node->text);
  }
  check_sorted(place, nodes);
}

void read_file(const File& file, Corpus& corpus, base::Diagnostics& all) {
  const Source source(file.text, file.name);
  Problems problems;
  const Place place{source, problems};
  const auto tree = policy::manifest::read_tree(source, problems);
  if (tree.complete) {
    Fields fields(place, tree.root);
    if (const Node* home = fields.take("home")) read_groups(place, *home, Groups::kHome, corpus.home);
    if (const Node* work = fields.take("workspace")) read_groups(place, *work, Groups::kWorkspace, corpus.workspace);
    if (const Node* own = fields.take("system")) read_groups(place, *own, Groups::kSystem, corpus.system);
    Entry wallet;
    wallet.holds = Holds::kCredentials;
    if (const Node* paths = fields.take("alias_paths"))
      read_paths(place, *paths, PathForm::kBelow, wallet, corpus.alias_paths);
    if (const Node* list = fields.take("relocation")) read_relocations(place, *list, corpus.relocations);
    if (const Node* list = fields.take("runtime")) read_names(place, *list, PathForm::kAbsolute, corpus.runtime);
    if (const Node* list = fields.take("auto_executed"))
      read_names(place, *list, PathForm::kBelow, corpus.auto_executed);
    fields.end();
  }
  std::ranges::move(problems.take_errors(), std::back_inserter(all));
}

base::Diagnostic mistake(const base::Span& at, std::string code, std::string message) {
  return {
      .severity = base::Severity::kError, .code = std::move(code), .at = at, .message = std::move(message), .hint = {}};
}

std::string where(const base::Span& at) { return at.file + ":" + std::to_string(at.line); }

/// Sorts, and refuses what stands twice over all files or would never hold.
void settle(std::vector<Entry>& entries, base::Diagnostics& all) {
  std::ranges::stable_sort(entries, base::path_before, &Entry::path);
  const Entry* hidden = nullptr;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    if (i > 0 && entries[i - 1].path == entry.path)
      all.push_back(
          mistake(entry.at, "twice", base::quote(entry.path) + " stands at " + where(entries[i - 1].at) + " too"));
    else if (hidden != nullptr && base::path_within(entry.path, hidden->path))
      all.push_back(mistake(entry.at, "never-holds",
                            base::quote(entry.path) + " lies in " + base::quote(hidden->path) +
                                ", which is hidden: " + where(hidden->at)));
    else if (entry.deny == Deny::kAll)
      hidden = &entry;
  }
}

/// Fills in how a moved thing is protected, from the home rule that it follows.
void resolve(std::vector<Moved>& moved, const std::vector<Entry>& home, base::Diagnostics& all) {
  std::map<std::string_view, const Entry*> rules;
  for (const Entry& entry : home) rules[entry.path] = &entry;
  for (Moved& one : moved) {
    if (one.moves == Moves::kBase || !one.protection.what.empty()) continue;
    const std::string name = !one.as.empty() ? one.as : one.below.empty() ? one.from : one.from + "/" + one.below;
    const auto rule = rules.find(name);
    if (rule == rules.end()) {
      all.push_back(mistake(one.at, "no-rule", "no home rule is called " + base::quote(name)));
      continue;
    }
    const Kind own = one.protection.kind;
    one.protection = *rule->second;
    const bool says_file = is_file(one.moves) || own == Kind::kFile;
    if (says_file) one.protection.kind = Kind::kFile;
  }
}

}  // namespace

shield::AliasAnchor Entry::alias_anchor() const {
  const bool is_small = holds == Holds::kCredentials || holds == Holds::kPersistence;
  const bool looked_for = deny == Deny::kAll && (kind == Kind::kFile || is_small);
  return looked_for ? shield::AliasAnchor::kYes : other_names;
}

base::Result<Corpus, base::Diagnostics> read_corpus(std::span<const File> files) {
  Corpus corpus;
  base::Diagnostics all;
  for (const File& file : files) read_file(file, corpus, all);
  settle(corpus.home, all);
  settle(corpus.workspace, all);
  settle(corpus.system, all);
  std::ranges::sort(corpus.alias_paths, base::path_before, &Entry::path);
  if (all.empty()) resolve(corpus.relocations, corpus.home, all);
  if (!all.empty()) return base::fail(std::move(all));
  return corpus;
}

}  // namespace cordon::shields
