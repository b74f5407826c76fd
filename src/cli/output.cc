#include "cli/output.h"

#include "kernel/file.h"

namespace cordon::cli {

void Output::print(std::string_view text) {
  if (text.empty() || broken_) return;
  if (!kernel::write_all(out_, std::as_bytes(std::span(text)))) broken_ = true;
}

void Output::say(std::string_view text) {
  if (text.empty()) return;
  // Where even standard error is gone there is nobody left to tell.
  static_cast<void>(kernel::write_all(err_, std::as_bytes(std::span(text))));
}

}  // namespace cordon::cli
