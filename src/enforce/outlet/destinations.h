// The broker's rows as destinations: one line for each host, port and fate, however many rows it has.
#pragma once

#include <map>
#include <vector>

#include "egress/records.h"
#include "plan/outcome.h"

namespace cordon::enforce::outlet {

/// In the order of their fate, then host and port. Without what came in.
std::vector<plan::Destination> destinations_of(const std::map<std::uint32_t, egress::Row>& rows);

/// What came in by published ports, by port.
std::vector<plan::Inbound> inbound_of(const std::map<std::uint32_t, egress::Row>& rows);

/// The broker refused for want of descriptors, which its bounds are made to prevent.
bool wants_descriptors(const egress::Row& row);

}  // namespace cordon::enforce::outlet
