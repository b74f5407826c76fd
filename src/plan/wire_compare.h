// Whether two plans as bytes are one as far as the launcher may have been told of it before: it takes no plan that
// opens, or begins, otherwise than what it has carried out already.
#pragma once

#include "plan/wire.h"

namespace cordon::plan::wire {

/// But for the numbers, and where in their tables the texts stand.
inline bool same_texts(const View& one, const View& other, std::size_t index) {
  const Record a = one.record(index);
  const Record b = other.record(index);
  bool same = a.op == b.op && a.step == b.step && a.flags == b.flags;
  for (std::size_t i = 0; i < a.refs.size(); ++i) {
    same = same && a.refs[i].size == b.refs[i].size &&
           std::memcmp(one.string(a.refs[i]), other.string(b.refs[i]), a.refs[i].size) == 0;
  }
  return same;
}

/// Both enter the same namespaces, with the same ids. Not looked at: the time limit, which no namespace has.
inline bool same_opening(const View& one, const View& other) {
  return same_texts(one, other, 0) && one.record(0).args[0] == other.record(0).args[0];
}

/// `plan` is a whole one, and begins so.
inline bool begins_with(const View& plan, const View& beginning) {
  if (plan.size() <= beginning.size() || !same_opening(plan, beginning)) return false;
  for (std::size_t i = 1; i < beginning.size(); ++i) {
    if (!same_texts(plan, beginning, i) || plan.record(i).args != beginning.record(i).args) return false;
  }
  return true;
}

}  // namespace cordon::plan::wire
