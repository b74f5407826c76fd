// cordon-shields-audit ACCEPTED CORPUS...: compares the corpus with the lists of firejail and AppArmor on this machine.
// 0 where every difference is accepted, 1 where one is not (or no longer is one), 2 where a list is not as expected.

#include <fmt/core.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "audit.h"
#include "base/text.h"

namespace cordon::shields {
namespace {

struct List {
  std::string path;
  Reading (*read)(std::string_view);
  std::size_t seen_at_least;        ///< home paths: fewer, and the file is not what we know how to read
  std::size_t candidates_at_least;  ///< in scope: fewer, and a section was renamed
};

// What the packages of Debian 12 have (286, 1182, 39, 18 paths; 204, 301, 39, 18 in scope), less a tenth.
const List kLists[]{
    {"/etc/firejail/disable-common.inc", read_firejail_common, 257, 183},
    {"/etc/firejail/disable-programs.inc", read_firejail_programs, 1063, 271},
    {"/etc/apparmor.d/abstractions/private-files", read_apparmor, 35, 35},
    {"/etc/apparmor.d/abstractions/private-files-strict", read_apparmor, 16, 16},
};

bool read_file(const std::string& path, std::string& text) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream all;
  all << in.rdbuf();
  text = all.str();
  if (!in || text.empty()) fmt::print(stderr, "{}: cannot be read; scripts/install-packages test brings it\n", path);
  return in && !text.empty();
}

int say(const base::Diagnostics& mistakes, const std::string& text) {
  for (const auto& mistake : mistakes) fmt::print(stderr, "{}", base::render(mistake, text));
  return 2;
}

/// What the list has that the corpus lacks goes to `found`; false where the list is not as expected.
bool look_at(const List& list, const Corpus& corpus, std::vector<Difference>& found) {
  std::string text;
  if (!read_file(list.path, text)) return false;
  const std::string name = list.path.substr(list.path.rfind('/') + 1);
  const Reading reading = list.read(text);
  bool fine = reading.seen >= list.seen_at_least && reading.candidates.size() >= list.candidates_at_least;
  fmt::print("{}: {} paths below a home, {} of them in scope\n", name, reading.seen, reading.candidates.size());
  if (!fine)
    fmt::print(stderr, "{}: at least {} and {} were expected: was a section renamed?\n", list.path, list.seen_at_least,
               list.candidates_at_least);
  for (const std::string& section : reading.unknown_sections) {
    fmt::print(stderr, "{}: nobody has judged the section {} yet (tools/shields/upstream.cc)\n", list.path,
               base::quote(section));
    fine = false;
  }
  for (auto& one : differences(name, reading, corpus)) found.push_back(std::move(one));
  return fine;
}

int tell(const Findings& findings, std::size_t accepted) {
  for (const Difference& one : findings.fresh)
    fmt::print(stderr, "{}: {} {}\n", one.source, verdict_name(one.verdict), base::shown(one.path));
  for (const Difference& one : findings.stale)
    fmt::print(stderr, "audit-accepted.yaml: {} {} of {} is no difference any more\n", verdict_name(one.verdict),
               base::shown(one.path), one.source);
  if (!findings.fresh.empty())
    fmt::print(stderr, "Add these to shields/, or to shields/audit-accepted.yaml with the reason.\n");
  if (!findings.fresh.empty() || !findings.stale.empty()) return 1;
  fmt::print("audit: no difference but the {} accepted ones\n", accepted);
  return 0;
}

int run(int count, char** names) {
  std::vector<File> files;
  for (int i = 0; i < count; ++i) {
    files.push_back({names[i], {}});
    if (!read_file(names[i], files.back().text)) return 2;
  }
  const File& accepted_file = files.front();
  const auto accepted = read_accepted(accepted_file);
  if (!accepted) return say(accepted.error(), accepted_file.text);
  const auto corpus = read_corpus(std::span(files).subspan(1));
  if (!corpus) return say(corpus.error(), {});
  std::vector<Difference> found;
  bool fine = true;
  for (const List& list : kLists) fine = look_at(list, *corpus, found) && fine;
  const int verdict = tell(compare(std::move(found), *accepted), accepted->size());
  return fine ? verdict : 2;
}

}  // namespace
}  // namespace cordon::shields

int main(int argc, char** argv) {
  if (argc >= 3) return cordon::shields::run(argc - 1, argv + 1);
  fmt::print(stderr, "usage: cordon-shields-audit ACCEPTED CORPUS...\n");
  return 2;
}
