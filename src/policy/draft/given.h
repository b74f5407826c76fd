// Given: what a watched run had of the file system, told from its plan. What every run of the program has (the base,
// the interpreter and what it brings) needs no line; what a line granted was no surprise to the program.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

#include "plan/host_facts.h"
#include "plan/plan.h"

namespace cordon::policy::draft {

class Given {
 public:
  explicit Given(const plan::Plan& plan);

  /// Without any line under read: or write:.
  [[nodiscard]] bool always(std::string_view path) const { return holds(always_, path); }
  [[nodiscard]] bool for_reading(std::string_view path) const { return holds(read_, path) || for_writing(path); }
  [[nodiscard]] bool for_writing(std::string_view path) const { return holds(write_, path); }
  /// The path was there, with what it leads to: each link on the way has to be given itself, and so has what is behind
  /// the last.
  [[nodiscard]] bool led_to(std::string_view path, const plan::PathFact& fact) const;
  /// Something that the run had lies below: it was there, if with nothing else in it.
  [[nodiscard]] bool leads_on(std::string_view path) const { return ancestors_.contains(std::string(path)); }
  /// The private directory itself.
  [[nodiscard]] bool is_private(std::string_view path) const { return scratch_.contains(std::string(path)); }
  /// In a directory that is the run's own and empty when it begins: /tmp, the private home.
  [[nodiscard]] bool scratch(std::string_view path) const;

 private:
  using Places = std::unordered_set<std::string>;
  static bool holds(const Places& places, std::string_view path);
  Places always_, read_, write_, scratch_, links_, ancestors_;
};

/// /proc, /sys, /dev and their kind: the kernel's own, which every run has in its own way.
bool is_of_the_kernel(std::string_view path);

}  // namespace cordon::policy::draft
