// git_index_fuzz: any bytes as git's index. Whatever it is, an answer comes and is the same twice; a truncated index
// tracks everything.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "cli/git_index.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cordon;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const cli::Tracked tracked = cli::parse_git_index(text);
  const cli::Tracked again = cli::parse_git_index(text);
  for (const std::string_view path : {"a", "a/b", "a/b/c", "d", ""})
    CORDON_CHECK(tracked.holds(path) == again.holds(path));
  constexpr std::size_t kHeader = 12;
  if (size < kHeader || !text.starts_with("DIRC")) CORDON_CHECK(tracked.holds("anything"));
  return 0;
}
