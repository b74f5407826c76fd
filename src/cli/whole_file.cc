#include "cli/whole_file.h"

#include <span>

namespace cordon::cli {

std::string content_of(const kernel::Sys<base::Fd>& file, std::size_t most) {
  if (!file) return {};
  const auto facts = kernel::statx(*file);
  if (!facts || !S_ISREG(facts->stx_mode) || facts->stx_size > most) return {};
  std::string out(static_cast<std::size_t>(facts->stx_size), '\0');
  std::size_t have = 0;
  while (have < out.size()) {
    const auto got = kernel::pread(*file, std::as_writable_bytes(std::span(out)).subspan(have), have);
    if (!got || *got == 0) break;
    have += *got;
  }
  out.resize(have);
  return out;
}

}  // namespace cordon::cli
