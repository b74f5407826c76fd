#include "enforce/outlet/image.h"

// The build makes the programs before this file is compiled (cmake/egress.cmake).
asm(".pushsection .rodata\n"
    ".balign 4096\n"
    "cordon_broker_image_begin: .incbin \"" CORDON_BROKER_PATH
    "\"\n"
    "cordon_broker_image_end:\n"
    ".balign 4096\n"
    "cordon_resolver_image_begin: .incbin \"" CORDON_RESOLVER_PATH
    "\"\n"
    "cordon_resolver_image_end:\n"
    ".balign 4096\n"
    "cordon_agent_image_begin: .incbin \"" CORDON_AGENT_PATH
    "\"\n"
    "cordon_agent_image_end:\n"
    ".popsection\n"
    ".globl cordon_broker_image_begin, cordon_broker_image_end\n"
    ".globl cordon_resolver_image_begin, cordon_resolver_image_end\n"
    ".globl cordon_agent_image_begin, cordon_agent_image_end\n");

// NOLINTBEGIN(readability-identifier-naming): symbols of the assembler
extern "C" const std::byte cordon_broker_image_begin[];
extern "C" const std::byte cordon_broker_image_end[];
extern "C" const std::byte cordon_resolver_image_begin[];
extern "C" const std::byte cordon_resolver_image_end[];
extern "C" const std::byte cordon_agent_image_begin[];
extern "C" const std::byte cordon_agent_image_end[];
// NOLINTEND(readability-identifier-naming)

namespace cordon::enforce::outlet {

std::span<const std::byte> broker_image() { return {cordon_broker_image_begin, cordon_broker_image_end}; }
std::span<const std::byte> resolver_image() { return {cordon_resolver_image_begin, cordon_resolver_image_end}; }
std::span<const std::byte> agent_image() { return {cordon_agent_image_begin, cordon_agent_image_end}; }

}  // namespace cordon::enforce::outlet
