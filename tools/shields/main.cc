// cordon-shields OUT FILE...: reads the corpus and writes its tables to OUT, or says what is wrong with it. Build time
// only.

#include <cstdio>
#include <fstream>
#include <sstream>

#include "base/diagnostic.h"
#include "corpus_file.h"
#include "tables.h"

namespace {

using cordon::shields::File;

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

void say(const cordon::base::Diagnostics& mistakes, const std::vector<File>& files) {
  for (const auto& mistake : mistakes)
    for (const File& file : files)
      if (file.name == mistake.at.file) std::fputs(cordon::base::render(mistake, file.text).c_str(), stderr);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: cordon-shields OUT FILE...\n");
    return 2;
  }
  std::vector<File> files;
  if (!read_files(argc - 2, argv + 2, files)) return 1;
  const auto corpus = cordon::shields::read_corpus(files);
  if (!corpus) {
    say(corpus.error(), files);
    return 1;
  }
  std::ofstream out(argv[1], std::ios::binary);
  out << cordon::shields::tables_source(*corpus);
  out.close();
  return out ? 0 : 1;
}
