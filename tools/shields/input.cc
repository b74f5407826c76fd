#include "input.h"

#include <cstdio>
#include <fstream>
#include <sstream>

namespace cordon::shields {

bool read_files(int count, char** names, std::vector<File>& files) {
  for (int i = 0; i < count; ++i) {
    std::ifstream in(names[i], std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    if (!in) {
      std::fprintf(stderr, "%s: cannot be read\n", names[i]);
      return false;
    }
    files.push_back({names[i], text.str()});
  }
  return true;
}

void say(const base::Diagnostics& mistakes, const std::vector<File>& files) {
  for (const auto& mistake : mistakes)
    for (const File& file : files)
      if (file.name == mistake.at.file) std::fputs(base::render(mistake, file.text).c_str(), stderr);
}

std::string literal(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace cordon::shields
