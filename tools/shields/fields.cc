#include "fields.h"

#include <algorithm>

#include "base/text.h"

namespace cordon::shields {
namespace {

std::string listed(const std::vector<std::string_view>& names) {
  std::string out;
  for (const auto name : names) out += (out.empty() ? "" : ", ") + std::string(name);
  return out;
}

}  // namespace

void Place::refuse(const Node& node, std::string code, std::string message, std::string hint) const {
  problems.error(std::move(code), span(node), std::move(message), std::move(hint));
}

Fields::Fields(const Place& place, const Node& map) : place_(place), map_(map), taken_(map.pairs.size(), false) {
  if (map.kind != Node::Kind::kMapping) place.refuse(map, "not-a-map", "a map of keys and values stands here");
}

const Node* Fields::take(std::string_view key) {
  const Node* found = nullptr;
  for (std::size_t i = 0; i < map_.pairs.size(); ++i) {
    const Node& name = map_.pairs[i].key;
    if (name.text != key) continue;
    if (found != nullptr) place_.refuse(name, "key-twice", base::quote(key) + " stands here twice");
    taken_[i] = true;
    found = &map_.pairs[i].value;
  }
  return found;
}

const Node* Fields::need(std::string_view key) {
  if (const Node* found = take(key)) return found;
  place_.refuse(map_, "key-missing", base::quote(key) + " is missing");
  return nullptr;
}

std::string Fields::text(std::string_view key) {
  const Node* node = take(key);
  if (node == nullptr) return {};
  if (!node->is_scalar() || node->is_null()) place_.refuse(*node, "not-text", base::quote(key) + " is a text");
  return node->text;
}

void Fields::end() {
  for (std::size_t i = 0; i < map_.pairs.size(); ++i)
    if (!taken_[i])
      place_.refuse(map_.pairs[i].key, "unknown-key",
                    "nothing is called " + base::quote(map_.pairs[i].key.text) + " here");
}

void Fields::refuse_word(const Node& node, const std::vector<std::string_view>& names) const {
  place_.refuse(node, "unknown-word", "one of these stands here: " + listed(names));
}

std::vector<const Node*> texts(const Place& place, const Node& list) {
  std::vector<const Node*> out;
  if (list.kind != Node::Kind::kSequence) place.refuse(list, "not-a-list", "a list stands here");
  for (const Node& item : list.items) {
    if (item.is_scalar() && !item.is_null()) {
      out.push_back(&item);
    } else {
      place.refuse(item, "not-text", "a text stands here");
    }
  }
  return out;
}

bool check_path(const Place& place, const Node& node, PathForm form) {
  const std::string& path = node.text;
  std::string message;
  std::string_view rest = path;
  if (form == PathForm::kAbsolute) {
    if (!path.starts_with('/')) message = "this path is absolute";
    rest.remove_prefix(message.empty() ? 1 : 0);
  } else if (path.starts_with('/') || path.starts_with('~')) {
    message = "this path is relative: it is seen from a home or a checkout";
  }
  for (const std::string_view part : base::split(rest, '/'))
    if (!message.empty()) {
      break;
    } else if (part.empty() || part == "." || part == "..") {
      message = "this path has no empty part, no '.' and no '..'";
    }
  if (base::find_unsafe_rune(path)) message = "this path holds a character that cannot be seen";
  if (message.empty()) return true;
  place.refuse(node, "path", std::move(message));
  return false;
}

bool check_what(const Place& place, const Node& node) {
  const bool fine = node.is_scalar() && !node.is_null() && !node.text.empty() && !node.text.ends_with('.') &&
                    !base::find_unsafe_rune(node.text);
  if (!fine) place.refuse(node, "what", "a few words stand here, without a full stop: whose it is");
  return fine;
}

void check_sorted(const Place& place, const std::vector<const Node*>& nodes) {
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    if (nodes[i - 1]->text == nodes[i]->text) {
      place.refuse(*nodes[i], "twice", base::quote(nodes[i]->text) + " stands here twice");
    } else if (nodes[i - 1]->text > nodes[i]->text) {
      place.refuse(*nodes[i], "unsorted",
                   base::quote(nodes[i]->text) + " stands before " + base::quote(nodes[i - 1]->text),
                   "sort by bytes, as LC_ALL=C sort does");
    }
  }
}

}  // namespace cordon::shields
