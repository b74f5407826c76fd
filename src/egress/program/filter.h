// The broker's seccomp program: a list of what it needs, and EPERM for everything else. Written as BPF by hand, because
// it is short and the broker links nothing for it. EPERM rather than death, so that confine() can try what is closed.
#pragma once

#include <linux/filter.h>

#include <vector>

namespace cordon::egress {

std::vector<sock_filter> broker_filter();

}  // namespace cordon::egress
