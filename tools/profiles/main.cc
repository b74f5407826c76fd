// cordon-profiles OUT FILE...: reads the profiles and writes their tables to OUT, or says what is wrong with them.
// Build time only.

#include <cstdio>
#include <fstream>

#include "profile_file.h"
#include "profile_tables.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: cordon-profiles OUT FILE...\n");
    return 2;
  }
  std::vector<cordon::profiles::File> files;
  if (!cordon::shields::read_files(argc - 2, argv + 2, files)) return 1;
  const auto read = cordon::profiles::read_profiles(files);
  if (!read) {
    for (const auto& mistake : read.error())
      std::fprintf(stderr, "%s: [%s] %s\n", mistake.at.file.c_str(), mistake.code.c_str(), mistake.message.c_str());
    cordon::shields::say(read.error(), files);
    return 1;
  }
  std::ofstream out(argv[1], std::ios::binary);
  out << cordon::profiles::tables_source(read->profiles);
  out.close();
  return out ? 0 : 1;
}
