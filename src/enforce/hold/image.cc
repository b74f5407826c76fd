#include "enforce/hold/image.h"

// The build makes CORDON_JANITOR_PATH before this file is compiled (cmake/janitor.cmake).
asm(".pushsection .rodata\n"
    ".balign 4096\n"
    "cordon_janitor_image_begin: .incbin \"" CORDON_JANITOR_PATH
    "\"\n"
    "cordon_janitor_image_end:\n"
    ".popsection\n"
    ".globl cordon_janitor_image_begin, cordon_janitor_image_end\n");

// NOLINTBEGIN(readability-identifier-naming): symbols of the assembler
extern "C" const std::byte cordon_janitor_image_begin[];
extern "C" const std::byte cordon_janitor_image_end[];
// NOLINTEND(readability-identifier-naming)

namespace cordon::enforce::hold {

std::span<const std::byte> janitor_image() { return {cordon_janitor_image_begin, cordon_janitor_image_end}; }

}  // namespace cordon::enforce::hold
