#include "cgroup/image.h"

// The build makes CORDON_SCOPE_PATH before this file is compiled (cmake/scope.cmake).
asm(".pushsection .rodata\n"
    ".balign 4096\n"
    "cordon_scope_image_begin: .incbin \"" CORDON_SCOPE_PATH
    "\"\n"
    "cordon_scope_image_end:\n"
    ".popsection\n"
    ".globl cordon_scope_image_begin, cordon_scope_image_end\n");

// NOLINTBEGIN(readability-identifier-naming): symbols of the assembler
extern "C" const std::byte cordon_scope_image_begin[];
extern "C" const std::byte cordon_scope_image_end[];
// NOLINTEND(readability-identifier-naming)

namespace cordon::cgroup {

std::span<const std::byte> scope_image() { return {cordon_scope_image_begin, cordon_scope_image_end}; }

}  // namespace cordon::cgroup
