// Maven's settings.xml as a command may see it. A positive list of elements; servers, proxies and properties stay away.
#include <pugixml.hpp>

#include <algorithm>
#include <array>
#include <sstream>
#include <vector>

#include "policy/ecosystem/tool_settings.h"

namespace cordon::policy::ecosystem {
namespace {

constexpr int kDeepest = 32;
constexpr std::array kElements = std::to_array<std::string_view>({"settings",
                                                                  "interactiveMode",
                                                                  "offline",
                                                                  "pluginGroups",
                                                                  "pluginGroup",
                                                                  "mirrors",
                                                                  "mirror",
                                                                  "id",
                                                                  "mirrorOf",
                                                                  "url",
                                                                  "blocked",
                                                                  "layout",
                                                                  "profiles",
                                                                  "profile",
                                                                  "activation",
                                                                  "activeByDefault",
                                                                  "activeProfiles",
                                                                  "repositories",
                                                                  "activeProfile",
                                                                  "repository",
                                                                  "pluginRepositories",
                                                                  "pluginRepository",
                                                                  "releases",
                                                                  "snapshots",
                                                                  "enabled",
                                                                  "updatePolicy",
                                                                  "checksumPolicy"});

/// Elements and their texts alone; of an element that may not pass nothing is left.
void strip(pugi::xml_node node, int depth) {
  std::vector<pugi::xml_node> gone;
  for (pugi::xml_node child : node.children()) {
    if (child.type() == pugi::node_pcdata) {
      if (node.find_child([](const pugi::xml_node& one) { return one.type() == pugi::node_element; })) {
        gone.push_back(child);  // text beside elements is no setting
        continue;
      }
      const auto bare = without_users(child.value());
      if (!bare || !child.set_value(bare->c_str())) gone.push_back(child);
      continue;
    }
    const bool passes = child.type() == pugi::node_element && depth < kDeepest &&
                        std::ranges::find(kElements, std::string_view(child.name())) != kElements.end();
    if (!passes) {
      gone.push_back(child);
      continue;
    }
    while (child.first_attribute()) child.remove_attribute(child.first_attribute());
    strip(child, depth + 1);
  }
  for (const pugi::xml_node& child : gone) node.remove_child(child);
}

}  // namespace

std::string maven_settings(std::string_view text) {
  pugi::xml_document document;
  const auto parsed = document.load_buffer(text.data(), text.size(), pugi::parse_escapes | pugi::parse_wconv_attribute);
  const pugi::xml_node root = document.document_element();
  if (!parsed || std::string_view(root.name()) != "settings") return {};
  strip(document, 0);
  if (!document.document_element().first_child()) return {};
  std::ostringstream out;
  document.save(out, "", pugi::format_raw | pugi::format_no_declaration);
  return out.str();
}

}  // namespace cordon::policy::ecosystem
