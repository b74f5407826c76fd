// cordon-shields OUT FILE...: reads the corpus and writes its tables to OUT, or says what is wrong with it. Build time
// only.

#include <cstdio>
#include <fstream>

#include "corpus_file.h"
#include "input.h"
#include "tables.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: cordon-shields OUT FILE...\n");
    return 2;
  }
  std::vector<cordon::shields::File> files;
  if (!cordon::shields::read_files(argc - 2, argv + 2, files)) return 1;
  const auto corpus = cordon::shields::read_corpus(files);
  if (!corpus) {
    cordon::shields::say(corpus.error(), files);
    return 1;
  }
  std::ofstream out(argv[1], std::ios::binary);
  out << cordon::shields::tables_source(*corpus);
  out.close();
  return out ? 0 : 1;
}
