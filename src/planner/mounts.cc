#include "planner/mounts.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "planner/path_text.h"

namespace cordon::planner {
namespace {

class Sweep {
 public:
  explicit Sweep(bool writes_execute) : writes_execute_(writes_execute) {}

  void visit(const Want& want) {
    while (!open_.empty() && !within(want.path, open_.back()->path)) open_.pop_back();
    const Want* outer = open_.empty() ? nullptr : open_.back();
    if (want.path == decided_ || (outer != nullptr && outer->access == Access::kHidden)) return;
    const bool is_own = outer != nullptr && outer->why == Why::kPlace;  // nothing of the host shows in it
    if (is_own && want.access == Access::kHidden) return;
    const bool writable_here = outer != nullptr && outer->access == Access::kWritable && !is_own;
    if (want.absent) {
      if (writable_here) hold(want, *outer);
      return;
    }
    const bool holds = want.access != Access::kHidden && (want.why == Why::kGuard || want.why == Why::kHeld);
    if (holds && !writable_here) return;
    decided_ = want.path;
    if (want.why == Why::kHeld) return pin_read_only(want, *outer);
    switch (want.access) {
      case Access::kHidden:
        return hide(want, outer);
      case Access::kWritable:
        if (writable_here && want.why != Why::kPlace && want.create.empty() && !opens_execution(want, *outer)) return;
        return bind(want, outer);
      case Access::kReadOnly:
        if (is_wanted(want, outer)) bind(want, outer);
        return;
    }
  }

  std::vector<Mount> take() {
    // The base first: nothing of it lies below a grant (it would have given way), so grants land on it.
    std::ranges::stable_partition(mounts_, [](const Mount& mount) { return mount.want->why == Why::kBase; });
    return std::move(mounts_);
  }

 private:
  /// `wx` below a directory that is only written.
  [[nodiscard]] bool opens_execution(const Want& want, const Want& outer) const {
    return want.executes && !outer.executes && !writes_execute_;
  }

  [[nodiscard]] bool is_wanted(const Want& want, const Want* outer) const {
    if (outer == nullptr) return true;
    if (outer->why == Why::kPlace || want.view != nullptr) return true;
    if (outer->access == Access::kReadOnly) return want.executes && !outer->executes;
    return want.why == Why::kPrefix ? !writes_execute_ : want.why != Why::kBase;
  }

  void hide(const Want& want, const Want* outer) {
    if (outer != nullptr) {
      pin_chain(want, *outer);
      mounts_.push_back({.act = MountAct::kMask, .path = want.path, .want = &want, .needs_point = false});
    }
    // A shield that nothing shows needs no mask; what a line names in it (a socket) stands alone.
    if (outer != nullptr || want.why != Why::kShield) open_.push_back(&want);
  }

  void bind(const Want& want, const Want* outer) {
    if (outer != nullptr && want.access == Access::kReadOnly) pin_chain(want, *outer);
    mounts_.push_back({.act = MountAct::kBind, .path = want.path, .want = &want, .needs_point = outer == nullptr});
    open_.push_back(&want);
  }

  void pin_read_only(const Want& want, const Want& outer) {
    pin_chain(want, outer);
    const bool read_only = want.link.empty();  // a link has no content but its text
    mounts_.push_back(
        {.act = MountAct::kPin, .path = want.path, .want = &want, .needs_point = false, .read_only = read_only});
    open_.push_back(&want);
  }

  void hold(const Want& want, const Want& outer) {
    // What a write grant makes is there only once it is mounted, and then it is that mount.
    if (want.create.empty()) pin_chain(want, outer);
    mounts_.push_back(
        {.act = MountAct::kHold, .path = want.path, .want = &want, .needs_point = false, .outer = &outer});
  }

  void pin_chain(const Want& inner, const Want& outer) {
    if (outer.access != Access::kWritable || outer.why == Why::kPlace) return;
    for (std::string& directory : between(outer.path, inner.path)) {
      if (!pinned_.insert(directory).second) continue;
      mounts_.push_back({.act = MountAct::kPin, .path = std::move(directory), .want = &inner, .needs_point = false});
    }
  }

  bool writes_execute_;
  std::vector<const Want*> open_;
  std::string_view decided_;  ///< the path that the last want decided, for the weaker ones of the same path
  std::vector<Mount> mounts_;
  std::unordered_set<std::string> pinned_;
};

}  // namespace

const Mount* Arranged::showing(std::string_view path) const {
  for (std::string at(path);; at = parent_of(at)) {
    if (const auto found = at_.find(at); found != at_.end()) return &mounts[found->second];
    if (at == "/") return nullptr;
  }
}

namespace {

/// By what points to them: a want is large, and each is moved once.
void sort(std::vector<Want>& wants) {
  std::vector<Want*> order;
  order.reserve(wants.size());
  for (Want& want : wants) order.push_back(&want);
  std::ranges::stable_sort(order, [](const Want* a, const Want* b) {
    return a->path == b->path ? a->why < b->why : path_before(a->path, b->path);
  });
  std::vector<Want> sorted;
  sorted.reserve(wants.size());
  for (Want* want : order) sorted.push_back(std::move(*want));
  wants = std::move(sorted);
}

}  // namespace

Arranged arrange(std::vector<Want>& wants, const std::vector<Link>& links, bool writes_execute) {
  sort(wants);
  Sweep sweep(writes_execute);
  for (const Want& want : wants) sweep.visit(want);
  Arranged out;
  out.mounts = sweep.take();
  for (std::size_t i = 0; i < out.mounts.size(); ++i) {
    if (out.mounts[i].act != MountAct::kPin) out.at_.emplace(out.mounts[i].path, i);
  }
  std::unordered_set<std::string_view> made;
  for (const Link& link : links) {
    if (out.showing(link.at) == nullptr && made.insert(link.at).second) out.links.push_back(link);
  }
  std::ranges::sort(out.links, path_before, &Link::at);
  return out;
}

}  // namespace cordon::planner
