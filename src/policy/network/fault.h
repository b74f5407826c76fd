// Fault: what is wrong with the spelling of a host, an address or a port, in words for the person who wrote it.
#pragma once

#include <cstddef>
#include <string>

namespace cordon::policy::network {

/// `offset` and `length` are the offending bytes of the value (the whole of it where length is 0).
struct Fault {
  std::string code;     ///< "bad-host", "bad-port", "empty-value"
  std::string message;  ///< begins with the quoted value
  std::string hint;     ///< the smallest mend, or empty
  std::size_t offset = 0, length = 0;
};

}  // namespace cordon::policy::network
