// require(): what a test itself needs. A failure here is a failure of the harness and ends the test program with a
// reason; it is never an expectation about Cordon.
#pragma once

#include <cstring>
#include <string>

namespace cordon::test {

/// Ends the program where `held` is false; `what` is followed by the current errno in words.
void require(bool held, const std::string& what);

}  // namespace cordon::test
