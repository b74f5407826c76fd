// The decoder's door for fuzz/ and for the mutation tests: reads everything that a decoded plan lets one read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plan/wire.h"

namespace cordon::plan::wire {

inline std::size_t fuzz_read(const View& view) {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < view.size(); ++i) {
    const Record record = view.record(i);
    for (std::size_t r = 0; r < record.refs.size(); ++r) {
      const RefKind kind = shape_of(record.op).refs[r];
      if (kind == RefKind::kPath || kind == RefKind::kText) sum = sum + std::strlen(view.string(record.refs[r]));
      if (kind == RefKind::kBytes) {
        for (const std::byte byte : view.bytes(record.refs[r])) sum = sum + static_cast<std::size_t>(byte);
      }
      if (kind != RefKind::kList) continue;
      List list = view.list(record.refs[r]);
      sum = sum + list.count();
      while (const char* text = list.next()) sum = sum + std::strlen(text);
    }
  }
  return sum;
}

/// Always 0, as LLVMFuzzerTestOneInput wants it. The sum keeps the reads from being left out.
inline int fuzz_decode(const std::uint8_t* data, std::size_t size) {
  volatile std::size_t sum = 0;
  for (const Extent extent : {Extent::kPlan, Extent::kOpening}) {
    const auto view = View::decode({reinterpret_cast<const std::byte*>(data), size}, extent);
    if (!view) continue;
    sum = sum + fuzz_read(*view);
    if (extent == Extent::kOpening) sum = sum + (same_opening(*view, *view) ? 1U : 0U);
  }
  return 0;
}

}  // namespace cordon::plan::wire
