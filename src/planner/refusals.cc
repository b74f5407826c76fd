#include "planner/refusals.h"

#include <array>

#include "base/check.h"

namespace cordon::planner {
namespace {

using plan::Blame;
using plan::Layer;

constexpr std::array<CodeFacts, static_cast<std::size_t>(Code::kCount)> kCodes = {{
    {"kernel-too-old", Blame::kHost, Layer::kFilesystem},
    {"machine-unsupported", Blame::kHost, Layer::kSystemCalls},
    {"feature-missing", Blame::kHost, Layer::kFilesystem},
    {"filter-not-built", Blame::kHost, Layer::kSystemCalls},
    {"engine-cannot-hold", Blame::kHost, Layer::kFilesystem},
    {"path-cannot-be-checked", Blame::kPolicy, Layer::kFilesystem},
    {"path-loops", Blame::kPolicy, Layer::kFilesystem},
    {"path-not-directory", Blame::kPolicy, Layer::kFilesystem},
    {"path-too-long", Blame::kPolicy, Layer::kFilesystem},
    {"path-planted", Blame::kPolicy, Layer::kFilesystem},
    {"grant-in-proc", Blame::kPolicy, Layer::kFilesystem},
    {"grant-managed", Blame::kPolicy, Layer::kFilesystem},
    {"write-root", Blame::kPolicy, Layer::kFilesystem},
    {"write-covers-home", Blame::kPolicy, Layer::kFilesystem},
    {"write-home-container", Blame::kPolicy, Layer::kFilesystem},
    {"write-other-home", Blame::kPolicy, Layer::kFilesystem},
    {"write-covers-base", Blame::kPolicy, Layer::kFilesystem},
    {"write-not-file-or-directory", Blame::kPolicy, Layer::kFilesystem},
    {"write-not-permitted", Blame::kPolicy, Layer::kFilesystem},
    {"write-read-only-mount", Blame::kPolicy, Layer::kFilesystem},
    {"grant-inside-deny", Blame::kPolicy, Layer::kFilesystem},
    {"deny-too-broad", Blame::kPolicy, Layer::kFilesystem},
    {"deny-missing-in-write", Blame::kPolicy, Layer::kFilesystem},
    {"credential-alias", Blame::kPolicy, Layer::kFilesystem},
    {"credential-aliases-unchecked", Blame::kPolicy, Layer::kFilesystem},
    {"accept-alias-too-broad", Blame::kPolicy, Layer::kFilesystem},
    {"no-home", Blame::kHost, Layer::kFilesystem},
    {"grant-inside-shield", Blame::kPolicy, Layer::kFilesystem},
    {"write-inside-shield", Blame::kPolicy, Layer::kFilesystem},
    {"write-inside-read-only-shield", Blame::kPolicy, Layer::kFilesystem},
    {"shield-redirected", Blame::kPolicy, Layer::kFilesystem},
    {"shield-folded", Blame::kPolicy, Layer::kFilesystem},
    {"shield-cannot-be-held", Blame::kPolicy, Layer::kFilesystem},
    {"program-inside-shield", Blame::kPolicy, Layer::kExec},
    {"entrypoint-missing", Blame::kPolicy, Layer::kExec},
    {"entrypoint-not-a-file", Blame::kPolicy, Layer::kExec},
    {"entrypoint-not-executable", Blame::kPolicy, Layer::kExec},
    {"entrypoint-unknown-format", Blame::kPolicy, Layer::kExec},
    {"interpreter-not-found", Blame::kPolicy, Layer::kExec},
    {"interpreter-not-a-file", Blame::kPolicy, Layer::kExec},
    {"interpreter-not-executable", Blame::kPolicy, Layer::kExec},
    {"interpreter-unknown-format", Blame::kPolicy, Layer::kExec},
    {"shebang-interpreter-missing", Blame::kPolicy, Layer::kExec},
    {"program-foreign-architecture", Blame::kPolicy, Layer::kExec},
    {"program-on-noexec", Blame::kPolicy, Layer::kExec},
    {"program-needs-exec", Blame::kPolicy, Layer::kExec},
    {"program-inside-deny", Blame::kPolicy, Layer::kExec},
    {"loader-missing", Blame::kPolicy, Layer::kExec},
    {"exec-not-found", Blame::kPolicy, Layer::kExec},
    {"exec-not-a-program", Blame::kPolicy, Layer::kExec},
    {"exec-not-visible", Blame::kPolicy, Layer::kExec},
    {"exec-writable", Blame::kPolicy, Layer::kExec},
    {"nested-sandbox-needs-user", Blame::kPolicy, Layer::kSystemCalls},
    {"device-missing", Blame::kPolicy, Layer::kFilesystem},
    {"device-kept", Blame::kPolicy, Layer::kFilesystem},
    {"network-rule-invalid", Blame::kPolicy, Layer::kNetwork},
    {"agent-missing", Blame::kHost, Layer::kNetwork},
    {"agent-foreign", Blame::kHost, Layer::kNetwork},
    {"limit-too-small", Blame::kPolicy, Layer::kLimits},
    {"limit-too-large", Blame::kPolicy, Layer::kLimits},
    {"limit-not-held", Blame::kHost, Layer::kLimits},
    {"too-many-steps", Blame::kPolicy, Layer::kFilesystem},
}};

}  // namespace

CodeFacts code_facts(Code code) {
  CORDON_CHECK(code < Code::kCount);
  return kCodes[static_cast<std::size_t>(code)];
}

plan::RefusedItem refused(Code code, base::Span at, std::string message, std::string mend) {
  const CodeFacts facts = code_facts(code);
  return {.code = std::string(facts.name),
          .blame = facts.blame,
          // A mistake in the policy is never told as a weakness of a layer.
          .layer = facts.blame == plan::Blame::kHost ? std::optional(facts.layer) : std::nullopt,
          .message = std::move(message),
          .mend = std::move(mend),
          .at = std::move(at),
          .is_grant = false,
          .feature = std::nullopt};
}

}  // namespace cordon::planner
