// What needs no namespace: single calls, and executing from a memfd.
#include <elf.h>

#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include "host/attempt.h"
#include "host/in_child.h"
#include "kernel/file.h"
#include "kernel/process.h"
#include "kernel/socket.h"

namespace cordon::host {
namespace {

using base::Fd;
using kernel::Errno;
using kernel::Sys;
using plan::Feature;

Sys<void> try_openat2() {
  CORDON_TRY(const Fd root, kernel::openat2(kernel::kHere, "/",
                                            {.flags = O_PATH | O_DIRECTORY,
                                             .mode = 0,
                                             .resolve = kernel::kResolveNoSymlinks | kernel::kResolveNoMagiclinks}));
  return {};
}

Sys<void> try_pidfd() {
  CORDON_TRY(const Fd self, kernel::pidfd_open(::getpid()));
  return kernel::pidfd_send_signal(self, 0);
}

Sys<void> try_close_range() {
  CORDON_TRY(const Fd root, kernel::openat(kernel::kHere, "/", O_PATH));
  const auto number = static_cast<unsigned>(root.get());
  return kernel::close_range(number, number, kernel::kCloseRangeCloexec);
}

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
// mov eax, 60 (exit); mov edi, 42; syscall
constexpr std::array<std::uint8_t, 12> kExit42 = {0xb8, 60, 0, 0, 0, 0xbf, kHeld, 0, 0, 0, 0x0f, 0x05};
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
// mov x8, #93 (exit); mov x0, #42; svc #0
constexpr std::array<std::uint8_t, 12> kExit42 = {0xa8, 0x0b, 0x80, 0xd2, 0x40, 0x05, 0x80, 0xd2, 0x01, 0, 0, 0xd4};
#endif

/// The smallest program that the kernel takes: it ends with 42.
struct TinyProgram {
  Elf64_Ehdr header{};
  Elf64_Phdr segment{};
  std::array<std::uint8_t, 12> code = kExit42;
};

TinyProgram tiny_program() {
  constexpr Elf64_Addr kBase = 0x400000;
  constexpr std::size_t kSize = offsetof(TinyProgram, code) + kExit42.size();
  TinyProgram program;
  std::copy_n(ELFMAG, SELFMAG, reinterpret_cast<char*>(program.header.e_ident));
  program.header.e_ident[EI_CLASS] = ELFCLASS64;
  program.header.e_ident[EI_DATA] = ELFDATA2LSB;
  program.header.e_ident[EI_VERSION] = EV_CURRENT;
  program.header.e_type = ET_EXEC;
  program.header.e_machine = kMachine;
  program.header.e_version = EV_CURRENT;
  program.header.e_entry = kBase + offsetof(TinyProgram, code);
  program.header.e_phoff = offsetof(TinyProgram, segment);
  program.header.e_ehsize = sizeof(Elf64_Ehdr);
  program.header.e_phentsize = sizeof(Elf64_Phdr);
  program.header.e_phnum = 1;
  program.segment.p_type = PT_LOAD;
  program.segment.p_flags = PF_R | PF_X;
  program.segment.p_vaddr = program.segment.p_paddr = kBase;
  program.segment.p_filesz = program.segment.p_memsz = kSize;
  program.segment.p_align = 0x1000;
  return program;
}

Sys<Fd> executable_memfd() {
  auto memfd = kernel::memfd_create("cordon-probe", kernel::kMfdAllowSealing | kernel::kMfdExec);
  // Before 6.3 there is no such flag, and every memfd may be executed.
  if (!memfd && memfd.error().code == EINVAL) {
    memfd = kernel::memfd_create("cordon-probe", kernel::kMfdAllowSealing);
  }
  return memfd;
}

Sys<void> try_memfd_exec() {
  CORDON_TRY(const Fd memfd, executable_memfd());
  const TinyProgram program = tiny_program();
  CORDON_OK(kernel::write_all(memfd, std::as_bytes(std::span(&program, 1))));
  CORDON_OK(kernel::add_seals(memfd, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE));
  CORDON_TRY(const auto pipe, kernel::pipe());
  CORDON_TRY(const siginfo_t end, in_child([&] {
               std::array<char*, 1> nothing{nullptr};
               const auto refused = kernel::execute_descriptor(memfd, nothing.data(), nothing.data());
               const std::int32_t code = refused.error().code;
               (void)kernel::write_all(pipe.write_end, std::as_bytes(std::span(&code, 1)));
               return kNotHeld;
             }));
  if (exited_with(end, kHeld)) return {};
  std::int32_t code = 0;
  if (exited_with(end, kNotHeld)) (void)kernel::read(pipe.read_end, std::as_writable_bytes(std::span(&code, 1)));
  return base::fail(Errno{code, "execveat(memfd)"});
}

}  // namespace

void try_system_calls(FeatureSet wanted, const Reporter& out) {
  if (wanted.has(Feature::kOpenat2)) out.tell(Feature::kOpenat2, try_openat2());
  if (wanted.has(Feature::kPidfd)) out.tell(Feature::kPidfd, try_pidfd());
  if (wanted.has(Feature::kCloseRange)) out.tell(Feature::kCloseRange, try_close_range());
  if (wanted.has(Feature::kMemfdExec)) out.tell(Feature::kMemfdExec, try_memfd_exec());
}

}  // namespace cordon::host
