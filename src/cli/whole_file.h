// Files of the caller's that are read whole or not at all.
#pragma once

#include <cstddef>
#include <string>

#include "kernel/file.h"

namespace cordon::cli {

/// The content of what was opened; "" where that failed, where it is no regular file, or one of more than `most` bytes.
std::string content_of(const kernel::Sys<base::Fd>& file, std::size_t most);

}  // namespace cordon::cli
