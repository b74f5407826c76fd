// An errno in words, for the diagnostics of this room: "Permission denied (EACCES)". Private to this room.
#pragma once

#include <cstring>
#include <string>

#include "base/error.h"

namespace cordon::policy::approval {

inline std::string in_words(int code) {
  const char* words = ::strerrordesc_np(code);
  return (words != nullptr ? std::string(words) : "unknown error") + " (" + base::errno_name(code) + ")";
}

}  // namespace cordon::policy::approval
