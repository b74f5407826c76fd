#include "enforce/hold/image.h"

// The build makes CORDON_JANITOR_PATH before this file is compiled (cmake/janitor.cmake).
asm(".pushsection .rodata\n"
    ".balign 4096\n"
    "cordon_janitor_image_begin: .incbin \"" CORDON_JANITOR_PATH
    "\"\n"
    "cordon_janitor_image_end:\n"
    ".popsection\n"
    ".globl cordon_janitor_image_begin, cordon_janitor_image_end\n");

extern "C" const std::byte cordon_janitor_image_begin[];  // NOLINT(readability-identifier-naming): a symbol of the assembler's
extern "C" const std::byte cordon_janitor_image_end[];  // NOLINT(readability-identifier-naming): a symbol of the assembler's

namespace cordon::enforce::hold {

std::span<const std::byte> janitor_image() { return {cordon_janitor_image_begin, cordon_janitor_image_end}; }

}  // namespace cordon::enforce::hold
