// replay: runs a fuzz target without libFuzzer, as an ordinary test. Every file of the directories given is an input;
// so are its beginnings, and copies of it with a byte changed, doubled or taken out. The damages are chosen by a fixed
// generator: a failure comes back.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;
constexpr int kDamages = 200;
constexpr std::size_t kLongestToDamage = 4096;

void run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

std::string damaged(std::string input, std::mt19937& random) {
  // What ends and opens things in the texts that are parsed here, beside bytes that no text holds.
  constexpr char kBytes[] =
      "\0\n\r\t \"'#&*!|>{}[]:,-~%@`<=\\\x7f\xff\xc2\xe2"
      "a0";
  const std::size_t at = random() % (input.size() + 1);
  const char byte = kBytes[random() % (sizeof kBytes - 1)];
  switch (random() % 4) {
    case 0:
      return input.substr(0, at);
    case 1:
      return at < input.size() ? input.erase(at, 1) : input;
    case 2:
      return input.insert(at, 1, byte);
    default:
      if (at < input.size()) input[at] = byte;
      return input;
  }
}

void run_all(const fs::path& file, std::mt19937& random) {
  std::ifstream in(file, std::ios::binary);
  const std::string input{std::istreambuf_iterator<char>(in), {}};
  run(input);
  if (input.size() > kLongestToDamage) return;
  for (int i = 0; i < kDamages; ++i) run(damaged(damaged(input, random), random));
}

}  // namespace

int main(int argc, char** argv) {
  std::mt19937 random(1);
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i)
    for (const auto& entry : fs::recursive_directory_iterator(argv[i]))
      if (entry.is_regular_file()) files.push_back(entry.path());
  std::ranges::sort(files);
  for (const fs::path& file : files) run_all(file, random);
  std::printf("%zu seeds, %d damaged copies of each, no finding\n", files.size(), kDamages);
  return files.empty() ? 1 : 0;
}
