#include "report/refused.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "report/json.h"

namespace cordon::report {
namespace {

constexpr std::string_view kManifest = "entrypoint: ./run.sh\nnetwork:\n  - host: \"*.com\"\n    port: \"443\"\n";

base::Diagnostic wildcard() {
  return {.severity = base::Severity::kError,
          .code = "bad-host",
          .at = {.file = "m.yaml", .line = 3, .column = 11, .length = 7},
          .message = "\"*.com\" is not a host",
          .hint = "a subdomain wildcard is written .com"};
}

TEST(Refused, ShowsFileLineColumnMessageCaretAndMend) {
  EXPECT_EQ(text(refused(base::Diagnostics{wildcard()}), kManifest, "nothing was run", Style{}),
            "m.yaml:3:11: error: \"*.com\" is not a host\n"
            "  3 |   - host: \"*.com\"\n"
            "    |           ^^^^^^^\n"
            "  mend: a subdomain wildcard is written .com\n"
            "cordon: nothing was run\n");
}

TEST(Refused, ShowsEveryProblemInOneGoAndCountsThem) {
  base::Diagnostic warning = wildcard();
  warning.severity = base::Severity::kWarning;
  const Refused both = refused(base::Diagnostics{wildcard(), warning, wildcard()});
  EXPECT_EQ(both.items.size(), 2U);
  EXPECT_THAT(text(both, kManifest, "nothing was run", Style{}),
              testing::EndsWith("cordon: 2 problems; nothing was run\n"));
}

TEST(Refused, AMistakeWithoutAPlaceIsPrefixed) {
  const Refused mistake = refused_usage("unknown-flag", "run has no flag \"--jsn\"", "did you mean --json?",
                                        "usage: cordon run MANIFEST\n");
  EXPECT_EQ(text(mistake, {}, {}, Style{}),
            "cordon: error: run has no flag \"--jsn\"\n"
            "  mend: did you mean --json?\n"
            "usage: cordon run MANIFEST\n");
}

TEST(Refused, EndsWith125AndTellsTheFirstCode) {
  const Refused one = refused(base::Diagnostics{wildcard()});
  EXPECT_EQ(one.exit_code, 125);
  EXPECT_EQ(reason_code(one), "bad-host");
}

TEST(Refused, SourceBytesThatCouldForgeATerminalAreEscapedInTheExcerpt) {
  const std::string hostile = "entrypoint: \"\x1b[2Jx\"\n";
  base::Diagnostic diagnostic{
      .code = "unsafe", .at = {.file = "m.yaml", .line = 1, .column = 13}, .message = "no", .hint = ""};
  EXPECT_THAT(text(refused(base::Diagnostics{diagnostic}), hostile, {}, Style{}),
              testing::Not(testing::HasSubstr("\x1b")));
}

TEST(Refused, APublishedPortThatIsTakenIsSaidAsThatAndNotAsAWeaknessOfTheHost) {
  Report report;
  report.failure = Failure{.error = {.operation = "bind", .subject = "127.0.0.1:5173", .code = EADDRINUSE, .step = {7}},
                           .step = "publish",
                           .reason = "publish",
                           .at = {.file = "m.yaml", .line = 4, .column = 11}};
  const Refused taken = refused(report);
  EXPECT_EQ(taken.exit_code, 125);
  EXPECT_EQ(reason_code(taken), "port-taken");
  EXPECT_EQ(reason(taken), "publish: 127.0.0.1:5173 of this host is taken: another program has it");
  EXPECT_EQ(taken.items.front().at.line, 4);
  EXPECT_THAT(taken.items.front().mend, testing::HasSubstr("publish another port"));
  report.failure->error.code = EACCES;
  EXPECT_EQ(reason_code(refused(report)), "step-failed");
  report.failure->error = {.operation = "getrlimit", .subject = "300", .code = EMFILE, .step = {7}};
  const Refused few = refused(report);
  EXPECT_EQ(reason_code(few), "too-few-descriptors");
  EXPECT_EQ(reason(few), "publish needs some 700 descriptors, and the hard limit here is 300");
  EXPECT_THAT(few.items.front().mend, testing::HasSubstr("ulimit -Hn 1024"));
}

}  // namespace
}  // namespace cordon::report
