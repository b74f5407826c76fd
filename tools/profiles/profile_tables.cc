#include "profile_tables.h"

#include <fmt/format.h>

#include <string_view>

#include "input.h"

namespace cordon::profiles {
namespace {

namespace ecosystem = policy::ecosystem;
using shields::literal;

/// An enumerator by its number: the enum is the same on both sides, so the number is exact.
template <class T>
std::string number(std::string_view type, T value) {
  return fmt::format("{}{{{}}}", type, static_cast<unsigned>(value));
}

/// Writes every list as an array of its own, those inside before those outside.
class Writer {
 public:
  std::string names(ecosystem::Names list) {
    return array("std::string_view", list, [](std::string_view name) { return literal(name); });
  }
  std::string profile(const ecosystem::Profile& one);
  template <class List, class ToRow>
  std::string array(std::string_view type, const List& list, ToRow to_row) {
    if (std::empty(list)) return "{}";
    std::string rows;
    for (const auto& item : list) rows += fmt::format("    {},\n", to_row(item));
    const std::string name = fmt::format("kList{}", ++count_);
    out_ += fmt::format("constexpr {} {}[] = {{\n{}}};\n", type, name, rows);
    return name;
  }
  [[nodiscard]] const std::string& source() const { return out_; }

 private:
  std::string command(const ecosystem::Command& one);
  std::string place(const ecosystem::Place& one);
  std::string places(std::span<const ecosystem::Place> list) {
    return array("Place", list, [this](const auto& one) { return place(one); });
  }
  std::string output(const ecosystem::Output& one) {
    return fmt::format("{{{}, {}, {}, {}}}", literal(one.name), number("OutputKind", one.kind),
                       number("OutputClass", one.what), names(one.keys));
  }
  std::string registry(const ecosystem::Registry& one);

  std::string out_;
  unsigned count_ = 0;
};

std::string Writer::command(const ecosystem::Command& one) {
  const auto word = [this](const ecosystem::Word& row) {
    return fmt::format("{{{}, {}, {}, {}, {}}}", names(row.names), number("Intent", row.intent),
                       number("Then", row.then), number("ManifestChange", row.manifests), names(row.keys));
  };
  const auto decider = [](const ecosystem::Decider& row) {
    return fmt::format("{{{}, {}}}", literal(row.option), number("Intent", row.intent));
  };
  const std::string own = names(one.names);
  const std::string with_value = names(one.value_options);
  const std::string plain = names(one.plain_options);
  const std::string words = array("Word", one.words, word);
  const std::string deciders = array("Decider", one.deciders, decider);
  return fmt::format("{{{}, {}, {}, {}, {}, {}, {}, {}, {}}}", own, number("Intent", one.bare),
                     number("Intent", one.other), number("Then", one.other_then), with_value, plain, words, deciders,
                     number("WordUse", one.use));
}

std::string Writer::place(const ecosystem::Place& one) {
  const std::string movers = array("Mover", one.moved_by, [](const ecosystem::Mover& row) {
    return fmt::format("{{{}, {}}}", literal(row.variable), literal(row.below));
  });
  return fmt::format("{{{}, {}, {}}}", literal(one.path), movers, number("CacheClass", one.cache));
}

std::string Writer::registry(const ecosystem::Registry& one) {
  const std::string hosts = names(one.hosts);
  const std::string variables = names(one.variables);
  const std::string files = array("RegistryFile", one.files, [this](const ecosystem::RegistryFile& row) {
    return fmt::format("{{{}, {}}}", number("RegistryFormat", row.format), place(row.place));
  });
  return fmt::format("{{{}, {}, {}, {}, {}}}", literal(one.role), hosts, variables, files, names(one.ask));
}

std::string Writer::profile(const ecosystem::Profile& one) {
  const std::string parts[] = {
      array("Command", one.commands, [this](const auto& row) { return command(row); }),
      names(one.markers),
      places(one.toolchains),
      places(one.installs),
      places(one.read),
      places(one.credentials),
      places(one.caches),
      array("Output", one.outputs, [this](const auto& row) { return output(row); }),
      names(one.temporary),
      array("Registry", one.registries, [this](const auto& row) { return registry(row); }),
      names(one.domains),
      names(one.environment),
  };
  return fmt::format("{{{}, {}, {}}}", literal(one.name), literal(one.what), fmt::join(parts, ", "));
}

}  // namespace

std::string tables_source(std::span<const ecosystem::Profile> profiles) {
  Writer writer;
  const std::string all = writer.array("Profile", profiles, [&](const auto& one) { return writer.profile(one); });
  return fmt::format(
      "// Made from profiles/*.yaml; not written by hand.\n#include \"policy/ecosystem/profile.h\"\n\n"
      "namespace cordon::policy::ecosystem {{\nnamespace {{\n\n{}\n}}  // namespace\n\n"
      "std::span<const Profile> profiles() {{ return {}; }}\n\n}}  // namespace cordon::policy::ecosystem\n",
      writer.source(), all);
}

}  // namespace cordon::profiles
