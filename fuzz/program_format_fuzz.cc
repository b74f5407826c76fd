// program_format_fuzz: any bytes as a program and as the loader's cache. No read asks for what is not there, no answer
// is longer than its bound, and what is mapped as a program is read as one both times.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/check.h"
#include "host/program_format.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cordon;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const host::ReadAt read = [&](std::uint64_t offset, std::span<std::byte> into) {
    CORDON_CHECK(into.size() <= std::size_t{1} << 20U);
    if (offset > size || into.size() > size - offset) return false;
    if (!into.empty()) std::memcpy(into.data(), data + offset, into.size());
    return true;
  };
  const auto facts = host::read_elf(read);
  const auto needs = host::read_elf_needs(read);
  if (needs) {
    CORDON_CHECK(needs->names.size() <= host::kMostNeeds);
    for (const std::string& name : needs->names) CORDON_CHECK(name.size() < 4096 && name.find('\0') == name.npos);
  }
  if (facts && facts->foreign) CORDON_CHECK(!needs);
  for (const auto& [name, file] : host::parse_loader_cache(text)) {
    CORDON_CHECK(!name.empty() && file.front() == '/' && name.size() < 4096 && file.size() < 4096);
  }
  (void)host::parse_shebang(text);
  (void)host::parse_env_argument(text);
  return 0;
}
