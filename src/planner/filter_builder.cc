#include "planner/filter_builder.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

#include "base/fd.h"

namespace cordon::planner {

std::optional<std::uint32_t> architecture(std::string_view machine) {
  if (machine == "x86_64") return SCMP_ARCH_X86_64;
  if (machine == "aarch64") return SCMP_ARCH_AARCH64;
  return std::nullopt;
}

std::uint32_t number_of(std::uint32_t arch, const char* name) {
  return static_cast<std::uint32_t>(seccomp_syscall_resolve_name_rewrite(arch, name));
}

bool knows(std::uint32_t arch, const char* name) { return seccomp_syscall_resolve_name_rewrite(arch, name) >= 0; }

scmp_arg_cmp masked(unsigned argument, std::uint64_t mask, std::uint64_t value) {
  return SCMP_CMP64(argument, SCMP_CMP_MASKED_EQ, mask, value);
}

Builder::Builder(std::uint32_t arch) : arch_(arch), context_(seccomp_init(SCMP_ACT_ALLOW)) {
  // Without this the library would ask the running kernel what it knows; that is a fact's business, not the filter's.
  static const int level = seccomp_api_set(6);
  good_ = level == 0 && context_ != nullptr;
  if (good_ && seccomp_arch_native() != arch) {
    good_ =
        seccomp_arch_add(context_.get(), arch) == 0 && seccomp_arch_remove(context_.get(), seccomp_arch_native()) == 0;
  }
  attribute(SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  attribute(SCMP_FLTATR_CTL_NNP, 0);
}

void Builder::rule(std::uint32_t action, const char* name, std::initializer_list<scmp_arg_cmp> when) {
  if (!good_ || !knows(arch_, name)) return;  // no such call on this architecture
  // Rules are given in numbers of the machine we run on; the library turns them into the other's.
  good_ = seccomp_rule_add_array(context_.get(), action, seccomp_syscall_resolve_name(name),
                                 static_cast<unsigned>(when.size()), when.begin()) == 0;
}

void Builder::attribute(scmp_filter_attr which, std::uint32_t value) {
  good_ = good_ && seccomp_attr_set(context_.get(), which, value) == 0;
}

/// libseccomp 2.5 writes to descriptors only, so a piece of memory with a descriptor is what it gets.
std::vector<std::uint8_t> Builder::program() const {
  const base::Fd memory(good_ ? ::memfd_create("filter", MFD_CLOEXEC) : -1);
  if (!memory.valid() || seccomp_export_bpf(context_.get(), memory.get()) != 0) return {};
  const off_t size = ::lseek(memory.get(), 0, SEEK_END);
  if (size <= 0) return {};
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size));
  if (::pread(memory.get(), bytes.data(), bytes.size(), 0) != size) return {};
  return bytes;
}

std::vector<std::uint8_t> joined(std::span<const sock_filter> before, std::span<const std::uint8_t> after) {
  if (after.empty()) return {};
  const auto* first = reinterpret_cast<const std::uint8_t*>(before.data());
  std::vector<std::uint8_t> out(first, first + before.size_bytes());
  out.insert(out.end(), after.begin(), after.end());
  return out;
}

}  // namespace cordon::planner
