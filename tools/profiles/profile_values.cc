#include "profile_values.h"

#include <algorithm>

#include "base/text.h"
#include "policy/network/rule.h"

namespace cordon::profiles {
namespace {

using ecosystem::CacheClass;
using ecosystem::Intent;
using ecosystem::ManifestChange;
using ecosystem::OutputClass;
using ecosystem::OutputKind;
using ecosystem::RegistryFormat;
using ecosystem::Then;
using ecosystem::WordUse;
using shields::check_path;
using shields::PathForm;

constexpr std::pair<std::string_view, Intent> kIntents[]{{"unknown", Intent::kUnknown},
                                                         {"install", Intent::kInstall},
                                                         {"build", Intent::kBuild},
                                                         {"test", Intent::kTest},
                                                         {"run", Intent::kRun},
                                                         {"dev", Intent::kDev},
                                                         {"repl", Intent::kRepl},
                                                         {"exec", Intent::kExec},
                                                         {"publish", Intent::kPublish},
                                                         {"create", Intent::kCreate},
                                                         {"format", Intent::kFormat},
                                                         {"tool", Intent::kTool},
                                                         {"interactive", Intent::kInteractive}};
constexpr std::pair<std::string_view, Then> kThens[]{
    {"script", Then::kScript}, {"program", Then::kProgram}, {"module", Then::kModule}, {"generator", Then::kGenerator}};
constexpr std::pair<std::string_view, bool> kYes[]{{"yes", true}};
constexpr std::pair<std::string_view, ManifestChange> kManifests[]{{"keys", ManifestChange::kKeys}};
constexpr std::pair<std::string_view, WordUse> kUses[]{{"each", WordUse::kEach}};
constexpr std::pair<std::string_view, CacheClass> kCaches[]{{"content", CacheClass::kContent},
                                                            {"unpacked", CacheClass::kUnpacked},
                                                            {"mutable", CacheClass::kMutable},
                                                            {"store", CacheClass::kStore}};
constexpr std::pair<std::string_view, RegistryFormat> kFormats[]{{"npmrc", RegistryFormat::kNpmrc},
                                                                 {"yarnrc", RegistryFormat::kYarnrc},
                                                                 {"pip-conf", RegistryFormat::kPipConf},
                                                                 {"uv-toml", RegistryFormat::kUvToml},
                                                                 {"cargo-toml", RegistryFormat::kCargoToml},
                                                                 {"go-env", RegistryFormat::kGoEnv},
                                                                 {"maven-settings", RegistryFormat::kMavenSettings}};

template <class T, std::size_t kCount>
T optional_word(Fields& fields, std::string_view key, const std::pair<std::string_view, T> (&words)[kCount], T none) {
  const Node* node = fields.take(key);
  return node == nullptr ? none : fields.word(node, words);
}

}  // namespace

bool Reader::is_list(const Node* list) const {
  if (list == nullptr) return false;
  if (list->kind == Node::Kind::kSequence) return true;
  place.refuse(*list, "not-a-list", "a list stands here");
  return false;
}

ecosystem::Names Reader::names(const Node* list, Order order) const {
  if (list == nullptr) return {};
  const auto nodes = shields::texts(place, *list);
  if (order == Order::kSorted) shields::check_sorted(place, nodes);
  std::vector<std::string_view> out;
  for (const Node* node : nodes) {
    if (node->text.empty() || base::find_unsafe_rune(node->text))
      place.refuse(*node, "name", "a name without hidden characters stands here");
    out.push_back(store.text(node->text));
  }
  return store.list(std::move(out));
}

ecosystem::Names Reader::names(Fields& fields, std::string_view key, Order order) const {
  return names(fields.take(key), order);
}

ecosystem::Names Reader::hosts(Fields& fields, std::string_view key) const {
  const Node* list = fields.take(key);
  if (list == nullptr) return {};
  for (const Node* node : shields::texts(place, *list)) {
    const auto colon = node->text.find(':');
    const auto host =
        policy::network::parse_host(node->text.substr(0, colon), policy::network::SuffixMeaning::kBelowOnly);
    const bool is_name = host && host->kind == policy::network::HostKind::kName;
    const bool has_port = colon == std::string::npos || policy::network::parse_port(node->text.substr(colon + 1));
    if (!is_name || !has_port)
      place.refuse(*node, "host", "one host stands here, by name, with ':port' where it is not 443");
  }
  return names(list, Order::kSorted);
}

void Reader::check_variable(const Node& name) const {
  std::string_view text = name.text;
  if (text.ends_with('*')) text.remove_suffix(1);
  const bool fine = !text.empty() && (text[0] < '0' || text[0] > '9') && std::ranges::all_of(text, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (!fine) place.refuse(name, "variable", "the name of an environment variable stands here");
}

ecosystem::Names Reader::variables(Fields& fields, std::string_view key) const {
  const Node* list = fields.take(key);
  if (list == nullptr) return {};
  for (const Node* node : shields::texts(place, *list)) check_variable(*node);
  return names(list, Order::kSorted);
}

ecosystem::Word Reader::word(const Node& map) const {
  Fields fields(place, map);
  ecosystem::Word out;
  out.names = names(fields.need("names"), Order::kSorted);
  out.intent = fields.word(fields.need("intent"), kIntents);
  out.then = optional_word(fields, "then", kThens, Then::kNothing);
  out.manifests = optional_word(fields, "manifests", kManifests, ManifestChange::kNone);
  out.keys = names(fields, "keys", Order::kSorted);
  fields.end();
  return out;
}

std::span<const ecosystem::Decider> Reader::deciders(const Node* map) const {
  if (map == nullptr) return {};
  Fields fields(place, *map);
  std::vector<ecosystem::Decider> out;
  for (const auto& [key, value] : map->pairs) {
    fields.take(key.text);
    if (!key.text.starts_with('-')) place.refuse(key, "option", "an option stands here: it begins with '-'");
    out.push_back({store.text(key.text), fields.word(&value, kIntents)});
  }
  return store.list(std::move(out));
}

ecosystem::Command Reader::command(const Node& map) const {
  Fields fields(place, map);
  ecosystem::Command out;
  out.names = names(fields.need("names"), Order::kSorted);
  out.bare = optional_word(fields, "bare", kIntents, Intent::kUnknown);
  out.other = optional_word(fields, "other", kIntents, Intent::kUnknown);
  out.other_then = optional_word(fields, "other_then", kThens, Then::kNothing);
  out.value_options = names(fields, "value_options");
  out.plain_options = names(fields, "plain_options");
  std::vector<ecosystem::Word> words;
  if (const Node* list = fields.take("words"); is_list(list))
    for (const Node& item : list->items) words.push_back(word(item));
  out.words = store.list(std::move(words));
  out.deciders = deciders(fields.take("decides"));
  out.use = optional_word(fields, "use", kUses, WordUse::kFirst);
  fields.end();
  return out;
}

std::span<const ecosystem::Command> Reader::commands(const Node* list) const {
  if (!is_list(list)) return {};
  std::vector<ecosystem::Command> out;
  for (const Node& item : list->items) out.push_back(command(item));
  return store.list(std::move(out));
}

std::span<const ecosystem::Command> Reader::interactive(ecosystem::Names programs,
                                                        std::span<const ecosystem::Command> before) const {
  std::vector<ecosystem::Command> out(before.begin(), before.end());
  ecosystem::Command command;
  command.names = programs;
  command.bare = command.other = Intent::kInteractive;
  if (!programs.empty()) out.push_back(command);
  return store.list(std::move(out));
}

void Reader::check_place(const Node& path) const {
  Node rest = path;
  const bool home = rest.text.starts_with("~/");
  if (home) rest.text.erase(0, 2);
  check_path(place, rest, home ? PathForm::kBelow : PathForm::kAbsolute);
}

std::span<const ecosystem::Mover> Reader::movers(const Node* map) const {
  if (map == nullptr) return {};
  Fields fields(place, *map);
  std::vector<ecosystem::Mover> out;
  for (const auto& [key, value] : map->pairs) {
    fields.take(key.text);
    check_variable(key);
    const bool itself = value.text == ".";
    if (!itself) check_path(place, value, PathForm::kBelow);
    out.push_back({store.text(key.text), itself ? std::string_view() : store.text(value.text)});
  }
  return store.list(std::move(out));
}

void Reader::one_place(Fields& fields, const Node& map, ecosystem::Place& out) const {
  if (const Node* path = fields.take("path")) {
    check_place(*path);
    out.path = store.text(path->text);
  }
  out.moved_by = movers(fields.take("moved_by"));
  if (out.path.empty() && out.moved_by.empty())
    place.refuse(map, "place", "a place has a path, or a variable that names it");
}

std::span<const ecosystem::Place> Reader::places(const Node* list) const {
  if (!is_list(list)) return {};
  std::vector<ecosystem::Place> out;
  for (const Node& item : list->items) {
    ecosystem::Place one;
    if (item.is_scalar()) {
      check_place(item);
      one.path = store.text(item.text);
    } else {
      Fields fields(place, item);
      one_place(fields, item, one);
      fields.end();
    }
    out.push_back(one);
  }
  return store.list(std::move(out));
}

std::span<const ecosystem::Place> Reader::caches(const Node* list) const {
  if (!is_list(list)) return {};
  std::vector<ecosystem::Place> out;
  for (const Node& item : list->items) {
    Fields fields(place, item);
    ecosystem::Place one;
    one_place(fields, item, one);
    one.cache = fields.word(fields.need("class"), kCaches);
    fields.end();
    out.push_back(one);
  }
  return store.list(std::move(out));
}

void Reader::named(const Node* list, OutputKind kind, OutputClass what, std::vector<ecosystem::Output>& out) const {
  if (list == nullptr) return;
  const auto nodes = shields::texts(place, *list);
  shields::check_sorted(place, nodes);
  for (const Node* node : nodes) {
    check_path(place, *node, PathForm::kBelow);
    out.push_back({store.text(node->text), kind, what, {}});
  }
}

std::span<const ecosystem::Output> Reader::outputs(const Node* map) const {
  if (map == nullptr) return {};
  Fields fields(place, *map);
  std::vector<ecosystem::Output> out;
  named(fields.take("directories"), OutputKind::kDirectory, OutputClass::kOutput, out);
  named(fields.take("files"), OutputKind::kFile, OutputClass::kOutput, out);
  named(fields.take("locks"), OutputKind::kFile, OutputClass::kLock, out);
  named(fields.take("where_ignored"), OutputKind::kDirectory, OutputClass::kWhereIgnored, out);
  named(fields.take("marked_by"), OutputKind::kDirectory, OutputClass::kMarked, out);
  if (const Node* programs = fields.take("programs"); programs != nullptr && fields.word(programs, kYes))
    out.push_back({"programs", OutputKind::kFile, OutputClass::kProgram, {}});
  if (const Node* generated = fields.take("generated"))
    for (const auto& [key, value] : generated->pairs) {
      check_path(place, key, PathForm::kBelow);
      check_path(place, value, PathForm::kBelow);
      out.push_back({store.text(key.text), OutputKind::kFile, OutputClass::kGenerated,
                     store.list(std::vector<std::string_view>{store.text(value.text)})});
    }
  if (const Node* manifests = fields.take("manifests"))
    for (const auto& [key, value] : manifests->pairs) {
      check_path(place, key, PathForm::kBelow);
      out.push_back({store.text(key.text), OutputKind::kFile, OutputClass::kManifest, names(&value, Order::kSorted)});
    }
  fields.end();
  return store.list(std::move(out));
}

ecosystem::Registry Reader::registry(const Node& map) const {
  Fields fields(place, map);
  ecosystem::Registry out;
  out.role = store.text(fields.text("role"));
  if (out.role.empty()) place.refuse(map, "role", "\"role\" is missing: what this registry is for");
  out.hosts = hosts(fields, "hosts");
  out.variables = variables(fields, "variables");
  out.ask = names(fields, "ask", Order::kAsWritten);
  std::vector<ecosystem::RegistryFile> files;
  if (const Node* list = fields.take("files"); is_list(list))
    for (const Node& item : list->items) {
      Fields file(place, item);
      ecosystem::RegistryFile one;
      one.format = file.word(file.need("format"), kFormats);
      one_place(file, item, one.place);
      file.end();
      files.push_back(one);
    }
  out.files = store.list(std::move(files));
  fields.end();
  return out;
}

std::span<const ecosystem::Registry> Reader::registries(const Node* list) const {
  if (!is_list(list)) return {};
  std::vector<ecosystem::Registry> out;
  for (const Node& item : list->items) out.push_back(registry(item));
  return store.list(std::move(out));
}

}  // namespace cordon::profiles
