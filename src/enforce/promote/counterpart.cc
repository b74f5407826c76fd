#include "enforce/promote/counterpart.h"

namespace cordon::enforce::promote {
namespace {

class Search {
 public:
  Search(FdView root, const timespec& since, const ProtectedNames& names, const Bounds& bounds)
      : root_(root), since_(since), names_(names), bounds_(bounds) {}

  std::optional<Reason> in(std::string_view path) {
    pending_.emplace_back(path);
    while (!pending_.empty() && !why_) {
      const std::string directory = std::move(pending_.back());
      pending_.pop_back();
      look_into(directory);
    }
    return why_;
  }

 private:
  void look_into(const std::string& path) {
    const auto opened = open_directory(root_, path);
    if (!opened) {
      why_ = opened.error().code == EXDEV ? Reason::kMountAtPlace : Reason::kHostFailed;
      return;
    }
    BareRepository repository;
    const auto read = each_entry(*opened, [&](const char* name, unsigned char) {
      repository.add(name);
      why_ = judge(*opened, path, name);
      return !why_;
    });
    if (!read && !why_) why_ = Reason::kHostFailed;
    if (!why_ && repository.is_one()) why_ = Reason::kProtectedAtPlace;
  }

  std::optional<Reason> judge(FdView directory, const std::string& above, const char* name) {
    std::string path = below(above, name);
    if (++entries_ > bounds_.entries || path.size() > bounds_.path) return Reason::kOverBound;
    if (names_.why_not(path)) return Reason::kProtectedAtPlace;
    const auto facts = look(directory, name);
    if (!facts) return Reason::kChangedMeanwhile;
    if (is_mount(*facts)) return Reason::kMountAtPlace;
    if (is_since(*facts, since_)) return Reason::kChangedMeanwhile;
    if (is_directory(*facts)) pending_.push_back(std::move(path));
    return std::nullopt;
  }

  FdView root_;
  const timespec& since_;
  const ProtectedNames& names_;
  const Bounds& bounds_;
  std::vector<std::string> pending_;
  std::optional<Reason> why_;
  std::uint64_t entries_ = 0;
};

}  // namespace

std::optional<Reason> why_not_replaced(FdView destination, std::string_view path, const Facts& facts,
                                       const timespec& since, const ProtectedNames& names, const Bounds& bounds) {
  if (is_mount(facts)) return Reason::kMountAtPlace;
  if (is_since(facts, since)) return Reason::kChangedMeanwhile;
  if (!is_directory(facts)) return std::nullopt;
  return Search(destination, since, names, bounds).in(path);
}

}  // namespace cordon::enforce::promote
