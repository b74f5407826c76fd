// Turn: what of a machine is one for all tests, such as the ports of its loopback, is had by one test at a time. ctest
// runs tests beside each other, and each is a process of its own.
#pragma once

namespace cordon::test {

/// Held from construction to destruction, or to the end of the process; another process waits for it.
class Turn {
 public:
  /// `name` of a lock in /var/tmp: "port" for a port of the host's loopback that is chosen or fixed.
  explicit Turn(const char* name);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  int lock_;
};

}  // namespace cordon::test
