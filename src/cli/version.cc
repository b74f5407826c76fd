#include <fmt/format.h>

#include "cli/commands.h"
#include "cordon_build_id.h"

namespace cordon::cli {

int version(Context& context, const Arguments& /*arguments*/) {
#if defined(__x86_64__)
  constexpr std::string_view kMachine = "x86_64";
#elif defined(__aarch64__)
  constexpr std::string_view kMachine = "aarch64";
#else
  constexpr std::string_view kMachine = "unverified architecture";
#endif
  context.output.print(fmt::format("cordon {} (build {}, linux/{})\n", CORDON_VERSION, CORDON_BUILD_ID, kMachine));
  return context.output.broken() ? kRefused : 0;
}

}  // namespace cordon::cli
