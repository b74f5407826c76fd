// Published ports, the host's side: a socket that listens at 127.0.0.1 and, where this host has IPv6, one at ::1, and
// at no other address. Made before anything of the run is, so that a port that is taken refuses it.
#pragma once

#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "base/result.h"
#include "egress/config.h"
#include "plan/plan.h"

namespace cordon::enforce::outlet {

struct HostListener {
  base::Fd socket;
  egress::Listener listener;
};

/// One or two for each Publish step, in their order. An Error names the step, and the address as its subject.
base::Result<std::vector<HostListener>> listen_on_host(const plan::Plan& plan);

/// A socket of a pool must be of another network than these, or what comes to a published port would stay on this host.
base::Result<void> check_inner(base::FdView socket, const std::vector<HostListener>& host, base::StepId step);

}  // namespace cordon::enforce::outlet
