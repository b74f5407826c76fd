// The files of shields/ as the tests read them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "corpus_file.h"

namespace cordon::shields {

inline std::filesystem::path repository() { return CORDON_SOURCE_DIR; }

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::vector<File> corpus_files() {
  std::vector<File> files;
  for (const auto& entry : std::filesystem::directory_iterator(repository() / "shields")) {
    const std::string name = entry.path().filename();
    if (name.ends_with(".yaml") && name != "audit-accepted.yaml") files.push_back({name, contents(entry.path())});
  }
  std::ranges::sort(files, {}, &File::name);
  return files;
}

inline std::string said(const base::Diagnostics& mistakes) {
  std::string out;
  for (const auto& one : mistakes)
    out += one.at.file + ":" + std::to_string(one.at.line) + ": [" + one.code + "] " + one.message + "\n";
  return out;
}

}  // namespace cordon::shields
