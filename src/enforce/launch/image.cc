#include "enforce/launch/image.h"

// The build makes CORDON_LAUNCHER_PATH before this file is compiled (cmake/launcher.cmake).
asm(".pushsection .rodata\n"
    ".balign 4096\n"
    "cordon_launcher_image_begin: .incbin \"" CORDON_LAUNCHER_PATH
    "\"\n"
    "cordon_launcher_image_end:\n"
    ".popsection\n"
    ".globl cordon_launcher_image_begin, cordon_launcher_image_end\n");

// NOLINTBEGIN(readability-identifier-naming): symbols of the assembler
extern "C" const std::byte cordon_launcher_image_begin[];
extern "C" const std::byte cordon_launcher_image_end[];
// NOLINTEND(readability-identifier-naming)

namespace cordon::enforce::launch {

std::span<const std::byte> launcher_image() { return {cordon_launcher_image_begin, cordon_launcher_image_end}; }

}  // namespace cordon::enforce::launch
