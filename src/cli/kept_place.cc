#include "cli/kept_place.h"

#include "policy/approval/private_directory.h"
#include "policy/shield/corpus.h"

namespace cordon::cli {

namespace approval = policy::approval;
namespace promote = enforce::promote;

base::Result<std::optional<promote::Kept>> open_kept(const std::string& state_directory, approval::Caller caller,
                                                     Missing missing) {
  if (state_directory.empty()) return std::nullopt;
  const std::string path = state_directory + "/kept";
  approval::Opened place = approval::open_private_directory(path, caller);
  if (place.state == approval::Opened::State::kPrivate) return promote::Kept(std::move(place.fd));
  if (place.state == approval::Opened::State::kUntrusted)
    return base::fail(base::Error{.operation = "open", .subject = path, .detail = place.why});
  if (missing == Missing::kLeave) return std::nullopt;
  CORDON_TRY(base::Fd made, approval::make_private_directory(path, caller));
  return promote::Kept(std::move(made));
}

promote::Task promotion_rules(mode_t umask) {
  promote::Task out;
  for (const auto& rule : policy::shield::workspace_rules()) out.shields.emplace_back(rule.path);
  out.allowed_roots = {"/usr", "/bin", "/lib", "/lib64", "/opt"};
  out.umask = umask;
  return out;
}

}  // namespace cordon::cli
