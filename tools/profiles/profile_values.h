// The single values of a profile file: texts, places, commands, registries; each refused where it is not what it must
// be. Private to the reader.
#pragma once

#include <string_view>
#include <vector>

#include "fields.h"
#include "profile_file.h"

namespace cordon::profiles {

using policy::manifest::Node;
using shields::Fields;

struct Reader {
  const shields::Place& place;
  Store& store;

  enum class Order { kSorted, kAsWritten };
  /// The texts of the list at `key`; empty where it is not there.
  ecosystem::Names names(Fields& fields, std::string_view key, Order order = Order::kSorted) const;
  ecosystem::Names names(const Node* list, Order order) const;
  ecosystem::Names hosts(Fields& fields, std::string_view key) const;
  ecosystem::Names variables(Fields& fields, std::string_view key) const;

  std::span<const ecosystem::Command> commands(const Node* list) const;
  std::span<const ecosystem::Command> interactive(ecosystem::Names programs,
                                                  std::span<const ecosystem::Command> before) const;
  std::span<const ecosystem::Place> places(const Node* list) const;
  std::span<const ecosystem::Place> caches(const Node* list) const;
  std::span<const ecosystem::Output> outputs(const Node* map) const;
  std::span<const ecosystem::Registry> registries(const Node* list) const;

 private:
  [[nodiscard]] bool is_list(const Node* list) const;
  [[nodiscard]] ecosystem::Command command(const Node& map) const;
  [[nodiscard]] ecosystem::Word word(const Node& map) const;
  [[nodiscard]] std::span<const ecosystem::Decider> deciders(const Node* map) const;
  void one_place(Fields& fields, const Node& map, ecosystem::Place& out) const;
  void check_place(const Node& path) const;
  void check_variable(const Node& name) const;
  [[nodiscard]] std::span<const ecosystem::Mover> movers(const Node* map) const;
  void named(const Node* list, ecosystem::OutputKind kind, ecosystem::OutputClass what,
             std::vector<ecosystem::Output>& out) const;
  [[nodiscard]] ecosystem::Registry registry(const Node& map) const;
};

}  // namespace cordon::profiles
