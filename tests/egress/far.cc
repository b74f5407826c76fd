#include "egress/far.h"

#include <fcntl.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <functional>
#include <thread>

#include "egress/netlink.h"
#include "support/require.h"

namespace cordon::test {
namespace {

constexpr std::array kFar = {kPublic4, kPublic6, kOther4, kPrivate4};
constexpr std::array kOwn = {kOwn4, kOwn6, kOwnPrivate4};

/// Its namespace lives as long as this descriptor.
base::Fd& far_namespace() {
  static base::Fd out;
  return out;
}

/// A namespace is a thread's: what is done there is done on one that ends with it.
void in_far(const std::function<void()>& act) {
  std::jthread([&] {
    require(::setns(far_namespace().get(), CLONE_NEWNET) == 0, "setns");
    act();
  }).join();
}

}  // namespace

void make_far_machine() {
  std::jthread([] {
    require(::unshare(CLONE_NEWNET) == 0, "unshare(CLONE_NEWNET)");
    far_namespace() = base::Fd(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    require(far_namespace().valid(), "open the far namespace");
    bring_up("lo");
  }).join();
  join_by_veth("near", "far", far_namespace().get());
  in_far([] {
    bring_up("far");
    for (const char* one : kFar) add_address(one);
  });
  bring_up("near");
  for (const char* one : kOwn) add_address(one);
  for (const char* one : kFar) add_route(one, "near");
  in_far([] {
    for (const char* one : kOwn) add_route(one, "far");
  });
}

bool is_far(const std::string& address) { return std::ranges::find(kFar, address) != kFar.end(); }

base::Fd listen_far(const std::string& address, std::uint16_t port, Reuse reuse) {
  base::Fd out;
  in_far([&] { out = listen_on(address, port, reuse); });
  return out;
}

}  // namespace cordon::test
