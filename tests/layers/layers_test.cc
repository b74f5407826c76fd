// The rooms' direction, held by the build: a forbidden include does not compile, and a few things happen in one room
// only. Each rule has its control, so that a test that looks at nothing cannot pass.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {
namespace fs = std::filesystem;
using testing::IsEmpty;

struct Room {
  std::string name;
  std::set<std::string> uses;
  std::vector<std::string> roots;
};

std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

/// What CMake's layer() calls said: "room: used…: root…" a line.
std::vector<Room> rooms() {
  std::vector<Room> all;
  std::istringstream in(slurp(CORDON_ROOM_LIST));
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto used = words(line.substr(first + 1, second - first - 1));
    all.push_back({line.substr(0, first), {used.begin(), used.end()}, words(line.substr(second + 1))});
  }
  return all;
}

std::vector<fs::path> headers_of(const std::string& room) {
  std::vector<fs::path> found;
  const fs::path directory = fs::path(CORDON_SOURCE_DIR) / "src" / room;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() == ".h") found.push_back(entry.path().filename());
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// Whether a source of `room` that includes `header` gets through the compiler's preprocessor, which is where an
/// include that is not found ends a compilation.
bool includes(const Room& room, const std::string& header) {
  const fs::path source = fs::path(testing::TempDir()) / ("include_" + std::to_string(::getpid()) + ".cc");
  std::ofstream(source) << "#include \"" << header << "\"\n";
  std::string command = std::string(CORDON_COMPILER) + " -std=c++23 -E -o /dev/null";
  for (const auto& root : room.roots) command += " -I'" + root + "'";
  command += " '" + source.string() + "' 2>/dev/null";
  const bool found = std::system(command.c_str()) == 0;  // NOLINT(cert-env33-c): a compiler, a path of ours
  fs::remove(source);
  return found;
}

/// The code alone: comments go, and the insides of string and character literals.
std::string without_comments_and_strings(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 2, "//") == 0) {
      i = std::min(text.find('\n', i), text.size());
      out += '\n';
    } else if (text.compare(i, 2, "/*") == 0) {
      i = std::min(text.find("*/", i), text.size()) + 1;
    } else if (text.compare(i, 3, "R\"(") == 0) {
      i = std::min(text.find(")\"", i), text.size()) + 1;
    } else if (text[i] == '"' ||
               (text[i] == '\'' && (i == 0 || std::isalnum(static_cast<unsigned char>(text[i - 1])) == 0))) {
      const char quote = text[i];
      for (++i; i < text.size() && text[i] != quote; ++i) i += text[i] == '\\' ? 1U : 0U;
    } else {
      out += text[i];
    }
  }
  return out;
}

struct Source {
  std::string path;  ///< below src/
  std::string code;
};

std::vector<Source> sources() {
  std::vector<Source> all;
  const fs::path root = fs::path(CORDON_SOURCE_DIR) / "src";
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".cc" && extension != ".h") continue;
    all.push_back({fs::relative(entry.path(), root).string(), without_comments_and_strings(slurp(entry.path()))});
  }
  return all;
}

bool is_test(const std::string& path) { return path.ends_with("_test.cc"); }

/// Files outside `allowed` (a prefix below src/) whose code matches.
std::vector<std::string> offenders(const std::regex& pattern, const std::function<bool(const std::string&)>& allowed) {
  std::vector<std::string> found;
  for (const auto& source : sources()) {
    if (!allowed(source.path) && std::regex_search(source.code, pattern)) found.push_back(source.path);
  }
  return found;
}

auto below(const std::string& prefix) {
  return [prefix](const std::string& path) { return path.starts_with(prefix) || is_test(path); };
}

TEST(Layers, AnIncludeThatTheRoomDoesNotUseDoesNotCompile) {
  ASSERT_GE(rooms().size(), 10U);
  int tried = 0;
  for (const auto& room : rooms()) {
    for (const auto& other : rooms()) {
      if (other.name == room.name || room.uses.contains(other.name) || headers_of(other.name).empty()) continue;
      const std::string header = other.name + "/" + headers_of(other.name).front().string();
      EXPECT_FALSE(includes(room, header)) << room.name << " can include " << header;
      ++tried;
    }
  }
  EXPECT_GE(tried, 30);
}

TEST(Layers, AnIncludeThatTheRoomUsesDoesCompile) {
  // Headers are tried up to the first missing include of ours: the control for the test above.
  int tried = 0;
  for (const auto& room : rooms()) {
    for (const auto& used : room.uses) {
      ASSERT_TRUE(fs::is_directory(fs::path(CORDON_SOURCE_DIR) / "src" / used)) << room.name << " uses " << used;
      if (headers_of(used).empty()) continue;
      const std::string name = headers_of(used).front().string();
      bool reachable = false;
      for (const auto& root : room.roots) reachable = reachable || fs::exists(fs::path(root) / used / name);
      EXPECT_TRUE(reachable) << room.name << " uses " << used;
      ++tried;
    }
  }
  EXPECT_GE(tried, 10);
  const auto all = rooms();
  const auto kernel = std::find_if(all.begin(), all.end(), [](const Room& room) { return room.name == "kernel"; });
  ASSERT_NE(kernel, all.end());
  EXPECT_TRUE(includes(*kernel, "base/error.h"));
}

TEST(Layers, TheRoomsHaveNoCycle) {
  std::map<std::string, std::set<std::string>> uses;
  for (const auto& room : rooms()) uses[room.name] = room.uses;
  std::set<std::string> settled;
  for (std::size_t round = 0; round <= uses.size(); ++round) {
    for (const auto& [name, used] : uses) {
      if (std::includes(settled.begin(), settled.end(), used.begin(), used.end())) settled.insert(name);
    }
  }
  EXPECT_EQ(settled.size(), uses.size());
}

TEST(Layers, NoIncludeClimbsOutOfItsRoom) {
  std::vector<std::string> climbing;
  for (const auto& source : sources()) {
    const std::string text = slurp(fs::path(CORDON_SOURCE_DIR) / "src" / source.path);
    if (text.find("#include \"../") != std::string::npos) climbing.push_back(source.path);
  }
  EXPECT_THAT(climbing, IsEmpty());
}

TEST(Layers, ErrnoIsReadInKernelOnly) {
  const std::regex reads(R"(\berrno\b)");
  EXPECT_THAT(offenders(reads, below("kernel/")), IsEmpty());
  EXPECT_THAT(offenders(reads, [](const std::string&) { return false; }), testing::Contains("kernel/errno.h"));
}

TEST(Layers, TheEnvironmentIsReadInCliOnly) {
  const std::regex reads(R"(\b(secure_)?getenv\b|\benviron\b)");
  EXPECT_THAT(offenders(reads, below("cli/")), IsEmpty());
  EXPECT_TRUE(std::regex_search(std::string("x = std::getenv(name);"), reads));
}

TEST(Layers, NothingPrintsOutsideCli) {
  // base/check.h says why the program ends at a bug of ours; nothing runs after it.
  const std::regex prints(R"(\b(printf|fprintf|puts|fputs|putchar|perror|cout|cerr|clog)\b)");
  EXPECT_THAT(offenders(prints,
                        [](const std::string& path) {
                          return path.starts_with("cli/") || path == "base/check.h" || is_test(path);
                        }),
              IsEmpty());
  EXPECT_TRUE(std::regex_search(std::string("std::cerr << x;"), prints));
}

TEST(Layers, NoRoomThrows) {
  const std::regex throws(R"(\bthrow\b)");
  EXPECT_THAT(offenders(throws, [](const std::string& path) { return is_test(path); }), IsEmpty());
  EXPECT_TRUE(std::regex_search(std::string("throw 1;"), throws));
}

TEST(Layers, CommentsAndStringsAreNotCode) {
  EXPECT_EQ(without_comments_and_strings("a; // errno\nb(\"errno\"); /* errno */ c'e';"), "a; \nb();  c'e';");
}

}  // namespace
