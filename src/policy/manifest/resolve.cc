#include <optional>
#include <string>
#include <utility>

#include "base/abs_path.h"
#include "base/text.h"
#include "policy/manifest/manifest.h"
#include "policy/manifest/values.h"

namespace cordon::policy::manifest {
namespace {

constexpr std::size_t kPathMax = 4095;

class Resolver {
 public:
  explicit Resolver(const Anchors& anchors)
      : directory_(base::AbsPath::parse(anchors.manifest_directory)), home_text_(anchors.home) {
    if (!base::find_unsafe_rune(anchors.home)) home_ = base::AbsPath::parse(anchors.home);
  }

  void grant(PathGrant& grant, std::string_view key) {
    if (auto path = absolute(grant.written, grant.at, key)) grant.path = std::move(*path);
  }
  void grants(std::vector<PathGrant>& grants, std::string_view key) {
    for (PathGrant& one : grants) grant(one, key);
  }

  /// As absolute(), then refuses what the written spelling did not yet show: "..", a link-free way up to the home.
  void write_grants(std::vector<PathGrant>& grants, std::string_view key) {
    for (PathGrant& one : grants) {
      grant(one, key);
      if (!one.path.empty()) check_write(one, key);
    }
  }
  void deny_grants(std::vector<PathGrant>& grants) {
    for (PathGrant& one : grants) {
      grant(one, "deny");
      if (one.path == "/")
        fail("deny-root", one.at, "deny", leads_to(one) + ": everything would be hidden", "name what is to be hidden");
    }
  }

  /// A listed program or the interpreter: a path where it has a '/', else a name for the host to look up.
  std::string program(const std::string& written, const Origin& at, std::string_view key) {
    if (written.find('/') == std::string::npos && !written.starts_with('~')) return {};
    return absolute(written, at, key).value_or(std::string());
  }

  base::Diagnostics take() { return std::move(problems_); }
  [[nodiscard]] bool failed() const { return !problems_.empty(); }

 private:
  /// What is written, and what it is here where that is not the same.
  static std::string leads_to(const PathGrant& grant) {
    const std::string written = base::quote(grant.written);
    return grant.written == grant.path ? written : written + " is " + base::quote(grant.path) + " here";
  }

  void fail(std::string code, const Origin& at, std::string_view key, std::string message, std::string hint) {
    problems_.push_back({base::Severity::kError, std::move(code), at.span, std::string(key) + ": " + std::move(message),
                         std::move(hint)});
  }

  std::optional<std::string> absolute(const std::string& written, const Origin& at, std::string_view key) {
    if (const auto wrong = check_value(Rule::kPath, written)) {
      fail(wrong->code, at, key, wrong->message, wrong->hint);
      return std::nullopt;
    }
    const auto below = below_home(written);
    const auto path = below ? at_home(*below, written, at, key) : at_directory(written, at, key);
    if (!path) return std::nullopt;
    if (path->str().size() <= kPathMax) return path->str();
    fail("path-too-long", at, key, "resolves to a path of " + std::to_string(path->str().size()) + " bytes",
         "Linux allows " + std::to_string(kPathMax));
    return std::nullopt;
  }

  std::optional<base::AbsPath> at_home(std::string_view below, const std::string& written, const Origin& at,
                                       std::string_view key) {
    if (home_) return below.empty() ? home_ : home_->join(below);
    fail("home-unknown", at, key,
         base::quote(written) + " needs a home directory, and HOME is " +
             (home_text_.empty() ? "not set" : base::quote(home_text_)),
         "set HOME to an absolute path, or write the path out");
    return std::nullopt;
  }

  std::optional<base::AbsPath> at_directory(const std::string& written, const Origin& at, std::string_view key) {
    if (written.starts_with('/')) return base::AbsPath::parse(written);
    if (directory_) return directory_->join(written);
    fail("directory-unknown", at, key, "the manifest's own directory is not known", "write an absolute path");
    return std::nullopt;
  }

  void check_write(const PathGrant& grant, std::string_view key) {
    const auto path = base::AbsPath::parse(grant.path);
    if (!path) return;
    if (path->is_root()) {
      fail("write-root", grant.at, key, leads_to(grant) + ": the whole system would be writable",
           "name the directory to write");
    } else if (home_ && home_->is_within(*path)) {
      fail("write-home", grant.at, key, leads_to(grant) + ": a whole home would be writable",
           "name a directory below it");
    }
  }

  std::optional<base::AbsPath> directory_, home_;
  std::string home_text_;
  base::Diagnostics problems_;
};

}  // namespace

base::Result<Policy, base::Diagnostics> resolve(Policy policy, const Anchors& anchors) {
  Resolver resolver(anchors);
  policy.manifest.path = anchors.manifest_path;
  resolver.grant(policy.entrypoint, "entrypoint");
  policy.interpreter_path = resolver.program(policy.interpreter.value, policy.interpreter.at, "interpreter");
  resolver.grants(policy.read, "read");
  resolver.write_grants(policy.write, "write");
  resolver.deny_grants(policy.deny);
  resolver.write_grants(policy.wx, "wx");
  resolver.grants(policy.pin, "pin");
  for (PathGrant& program : policy.exec.programs) program.path = resolver.program(program.written, program.at, "exec");
  if (resolver.failed()) return base::fail(resolver.take());
  return policy;
}

}  // namespace cordon::policy::manifest
