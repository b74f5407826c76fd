// Waiting for many descriptors at once: epoll, eventfd, and what a signalfd tells.
#pragma once

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <span>

#include "kernel/errno.h"
#include "kernel/file.h"

namespace cordon::kernel {

inline Sys<Fd> epoll_create() {
  const int fd = ::epoll_create1(EPOLL_CLOEXEC);
  if (fd < 0) return failed("epoll_create1");
  return Fd(fd);
}
/// Level-triggered; `tag` comes back in epoll_event.data.u64.
inline Sys<void> epoll_add(FdView epoll, FdView fd, std::uint32_t events, std::uint64_t tag) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  return done(::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd.get(), &event), "epoll_ctl");
}
inline Sys<void> epoll_modify(FdView epoll, FdView fd, std::uint32_t events, std::uint64_t tag) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  return done(::epoll_ctl(epoll.get(), EPOLL_CTL_MOD, fd.get(), &event), "epoll_ctl");
}
inline Sys<void> epoll_remove(FdView epoll, FdView fd) {
  epoll_event unused{};
  return done(::epoll_ctl(epoll.get(), EPOLL_CTL_DEL, fd.get(), &unused), "epoll_ctl");
}
/// How many of `into` were filled; 0 for a signal as well as for the time having passed (-1: none).
inline Sys<std::size_t> epoll_wait(FdView epoll, std::span<epoll_event> into, int timeout_ms) {
  const int n = ::epoll_wait(epoll.get(), into.data(), static_cast<int>(into.size()), timeout_ms);
  if (n < 0 && errno == EINTR) return 0;
  if (n < 0) return failed("epoll_wait");
  return static_cast<std::size_t>(n);
}

inline Sys<Fd> eventfd() {
  const int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0) return failed("eventfd");
  return Fd(fd);
}
/// Makes the eventfd readable; any thread.
inline Sys<void> eventfd_raise(FdView event) {
  const std::uint64_t one = 1;
  const auto n = retry([&] { return ::write(event.get(), &one, sizeof one); });
  if (n < 0 && errno != EAGAIN) return failed("write");  // EAGAIN: the counter is full, so it is readable
  return {};
}

/// The next pending signal of a non-blocking signalfd, or nothing.
inline Sys<std::optional<signalfd_siginfo>> signalfd_read(FdView signals) {
  signalfd_siginfo info{};
  const auto n = retry([&] { return ::read(signals.get(), &info, sizeof info); });
  if (n < 0 && errno == EAGAIN) return std::optional<signalfd_siginfo>();
  if (n < 0) return failed("read");
  return std::optional(info);
}

}  // namespace cordon::kernel
