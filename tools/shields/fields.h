// Fields: one map of a shield file, taken apart key by key; what nobody asked for is refused at the end.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/manifest/source.h"
#include "policy/manifest/yaml_tree.h"

namespace cordon::shields {

using policy::manifest::Node;
using policy::manifest::Problems;
using policy::manifest::Source;

/// Where mistakes of one file go.
struct Place {
  const Source& source;
  Problems& problems;

  void refuse(const Node& node, std::string code, std::string message, std::string hint = {}) const;
  [[nodiscard]] base::Span span(const Node& node) const { return source.span(node.begin, node.end); }
};

class Fields {
 public:
  Fields(const Place& place, const Node& map);

  const Node* take(std::string_view key);  ///< nullptr where it is not there
  const Node* need(std::string_view key);  ///< as take(), and refused where it is not there
  std::string text(std::string_view key);  ///< "" where it is not there; refused where it is no text
  void end();                              ///< refuses every key that was not taken

  /// The value that the word stands for; the first one, and a refusal, for another word.
  template <class T, std::size_t kCount>
  T word(const Node* node, const std::pair<std::string_view, T> (&words)[kCount]) const {
    std::vector<std::string_view> names;
    for (const auto& [name, value] : words) {
      if (node != nullptr && node->is_scalar() && node->text == name) return value;
      names.push_back(name);
    }
    if (node != nullptr) refuse_word(*node, names);
    return words[0].second;
  }

 private:
  void refuse_word(const Node& node, const std::vector<std::string_view>& names) const;

  const Place& place_;
  const Node& map_;
  std::vector<bool> taken_;
};

/// Every text of the list, refused where it is none.
std::vector<const Node*> texts(const Place& place, const Node& list);

/// A path in its plainest form: below a home or a checkout where `absolute` is not wanted. Refused otherwise.
enum class PathForm { kBelow, kAbsolute };
bool check_path(const Place& place, const Node& node, PathForm form);

/// A few words on whose it is: not empty, one line, no full stop.
bool check_what(const Place& place, const Node& node);

/// That the texts of these nodes stand in the order of their bytes, each once.
void check_sorted(const Place& place, const std::vector<const Node*>& nodes);

}  // namespace cordon::shields
