// System calls without the C library: no errno, which belongs to a thread, and no cancellation point. For code that
// runs in memory that it shares with a thread which goes on (enforce/launch/spawn.h), and for nothing else.
#pragma once

namespace cordon::kernel {

/// The result as the kernel gives it: negative is -errno.
__attribute__((always_inline)) inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0,
                                                       long e = 0) {
#if defined(__x86_64__)
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
               : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  asm volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
  return x0;
#else
#error "no system call convention for this processor"
#endif
}

}  // namespace cordon::kernel
