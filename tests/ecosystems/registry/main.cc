// Tools that come from the npm registry, through the one that this machine's npm is set up for. Where that is not
// reached these tests do not exist: whoever lists them is told so, and of what.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "ecosystems/registry/reached.h"

int main(int argc, char** argv) {
  const bool lists = std::any_of(argv, argv + argc, [](const char* one) {
    return std::string_view(one).find("list_tests") != std::string_view::npos;
  });
  if (lists && !cordon::test::registry_is_reached()) {
    std::fputs(
        "npm reaches no registry from here: npx, npm create, approval of scripts, yarn, pnpm and bun are not tried\n",
        stderr);
    cordon::test::leave_out_registry();
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
