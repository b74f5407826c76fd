#include "base/error.h"

#include <cstring>

#include "base/text.h"

namespace cordon::base {

std::string errno_name(int code) {
  const char* name = strerrorname_np(code);
  return name != nullptr ? std::string(name) : "errno " + std::to_string(code);
}

std::string to_string(const Error& error) {
  std::string out = error.operation;
  if (!error.subject.empty()) out += " " + quote(error.subject);
  if (!error.detail.empty()) out += ": " + error.detail;
  if (error.code != 0) out += std::string(": ") + strerror(error.code) + " (" + errno_name(error.code) + ")";
  return out;
}

}  // namespace cordon::base
