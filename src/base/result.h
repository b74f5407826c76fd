// Result<T, E>: a value or the reason why there is none. Dropping one does not compile.
//
// A class of our own over std::expected because the one of GCC 12 is not [[nodiscard]].
#pragma once

#include <expected>
#include <utility>

#include "base/error.h"

namespace cordon::base {

template <class T, class E = Error>
class [[nodiscard]] Result : public std::expected<T, E> {
 public:
  using std::expected<T, E>::expected;
};

/// A failed Result of any value type: `return fail(error);`
template <class E>
constexpr auto fail(E&& error) {
  return std::unexpected<std::decay_t<E>>(std::forward<E>(error));
}

}  // namespace cordon::base

#define CORDON_CONCAT_INNER(a, b) a##b
#define CORDON_CONCAT(a, b) CORDON_CONCAT_INNER(a, b)

/// CORDON_TRY(auto file, open_file(path)); binds the value, or returns the error from the calling function.
#define CORDON_TRY(declaration, expression) \
  CORDON_TRY_IMPL(CORDON_CONCAT(cordon_try_, __LINE__), declaration, expression)
#define CORDON_TRY_IMPL(name, declaration, expression)             \
  auto name = (expression);                                        \
  if (!name) return ::cordon::base::fail(std::move(name).error()); \
  declaration = std::move(*name)

/// CORDON_OK(remove_file(path)); goes on, or returns the error from the calling function.
#define CORDON_OK(expression)                                                                                 \
  do {                                                                                                        \
    if (auto cordon_ok = (expression); !cordon_ok) return ::cordon::base::fail(std::move(cordon_ok).error()); \
  } while (false)
