#include "enforce/outlet/programs.h"

#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "enforce/outlet/image.h"
#include "kernel/file.h"

namespace cordon::enforce::outlet {

using base::Fd;
using base::Result;

Fd installed_program(const std::string& directory, const char* name) {
  if (directory.empty()) return {};
  auto program = kernel::openat(kernel::kHere, (directory + "/" + name).c_str(), O_RDONLY);
  if (!program) return {};
  const auto facts = kernel::statx(*program);
  const bool trusted = facts && S_ISREG(facts->stx_mode) && (facts->stx_uid == 0 || facts->stx_uid == ::geteuid()) &&
                       (facts->stx_mode & (S_IWGRP | S_IWOTH)) == 0;
  return trusted ? std::move(*program) : Fd();
}

Result<Fd> embedded_program(const char* name) {
  const std::string_view which = name;
  const auto bytes = which == kBroker ? broker_image() : which == kAgent ? agent_image() : resolver_image();
  return sealed_memory(name, bytes, kernel::kMfdExec);
}

Result<Fd> sealed_memory(const char* name, std::span<const std::byte> bytes, unsigned kind) {
  auto memory = kernel::memfd_create(name, kernel::kMfdAllowSealing | kind);
  // The kinds came with 6.3; before that every memfd may be executed and none need be said to be.
  if (!memory && memory.error().code == EINVAL) memory = kernel::memfd_create(name, kernel::kMfdAllowSealing);
  if (!memory) return base::fail(kernel::error_at(memory.error(), name));
  if (auto written = kernel::write_all(*memory, bytes); !written) {
    return base::fail(kernel::error_at(written.error(), name));
  }
  const auto sealed = kernel::add_seals(*memory, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
  if (!sealed) return base::fail(kernel::error_at(sealed.error(), name));
  return std::move(*memory);
}

}  // namespace cordon::enforce::outlet
