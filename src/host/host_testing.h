// For the tests of this room: a real temporary tree, and children that act as root, as an ordinary user, or behind
// restrictions. Not part of the library.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "host/host.h"

namespace cordon::host::testing {

/// A directory below /tmp that everybody may search, removed at the end with all that is in it.
class TempTree {
 public:
  TempTree();
  TempTree(const TempTree&) = delete;
  TempTree& operator=(const TempTree&) = delete;
  ~TempTree();

  /// The absolute path of a name in it; "" is the tree itself.
  [[nodiscard]] std::string path(std::string_view name = "") const;
  std::string dir(std::string_view name, unsigned mode = 0755) const;
  std::string file(std::string_view name, std::string_view content = "x", unsigned mode = 0644) const;
  std::string link(std::string_view name, std::string_view text) const;
  /// chown without following; as root only.
  void own(std::string_view name, std::uint32_t uid, std::uint32_t gid) const;
  void mode(std::string_view name, unsigned bits) const;

 private:
  std::string root_;
};

/// A user that no account has, for acting as somebody else when the tests run as root.
inline constexpr std::uint32_t kStranger = 54321;

bool is_root();

/// Runs the body in a child of its own; its failures are this test's.
void in_forked(const std::function<void()>& body);

/// Runs the body as this user and, where that is root, as kStranger as well.
void as_each_user(const std::function<void()>& body);

/// Runs the body as uid 0 of a new user namespace with these further namespaces (CLONE_NEW*), mounts private.
void in_user_namespace(std::uint64_t namespaces, const std::function<void()>& body);

/// The effective ids of this process, with this environment, in "/".
Caller caller(std::map<std::string, std::string> environment = {});

/// seccomp: this system call answers with this errno from now on (as a container's profile does).
void refuse_call(long number, int code);

}  // namespace cordon::host::testing
