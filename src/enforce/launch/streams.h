// What the target may be given as standard input, output and error. It keeps them for its whole life, past every
// mount, filter and namespace, so a stream that is a door (an internet socket, a directory, a namespace) is refused.
#pragma once

#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace cordon::enforce::launch {

/// Passes: pipes, unix sockets, regular files (of proc, sys and their kind only what everybody may read, open for
/// reading only), terminals, and the devices null, zero, full, random, urandom; and a stream that is closed
/// (start() puts /dev/null in its place).
/// `name` ("standard input") is the Error's subject.
base::Result<void> screen_stream(base::FdView stream, std::string_view name);

}  // namespace cordon::enforce::launch
