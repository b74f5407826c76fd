#include "enforce/launch/program/intake.h"

#include <sys/mman.h>

#include <cstdlib>

#include "cordon_build_id.h"
#include "plan/wire_compare.h"

namespace cordon::enforce::launch {

namespace wire = plan::wire;
using kernel::Errno;
using kernel::FdView;
using kernel::Sys;
using wire::View;

namespace {

kernel::Received receive_from_supervisor(std::span<std::byte> into, Channel& control) {
  auto got = kernel::receive_message(FdView(kControlFd), into, 0);
  if (!got) control.fail_step(0, got.error());
  if (got->bytes == 0) std::_Exit(1);
  return std::move(*got);
}

/// Nobody may change the plan's bytes once they were checked, hence the seals.
Sys<std::span<const std::byte>> map_plan(FdView memory) {
  constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  CORDON_TRY(const int seals, kernel::get_seals(memory));
  if ((seals & kSeals) != kSeals) return base::fail(Errno{EPERM, "fcntl(F_GET_SEALS)"});
  CORDON_TRY(auto facts, kernel::statx(memory));
  const auto size = static_cast<std::size_t>(facts.stx_size);
  void* bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, memory.get(), 0);
  if (bytes == MAP_FAILED) return kernel::failed("mmap");
  return std::span(static_cast<const std::byte*>(bytes), size);
}

View decode(std::span<const std::byte> bytes, wire::Extent extent, Channel& control) {
  wire::BuildId ours{};
  static_assert(sizeof(CORDON_BUILD_ID) == ours.size() + 1);
  std::memcpy(ours.data(), CORDON_BUILD_ID, ours.size());
  // Another build's plan may have another layout: the id is looked at before anything else of it is.
  wire::Header header;
  if (bytes.size() < sizeof header) control.refuse_plan("size");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != wire::kMagic || header.build_id != ours) control.refuse_plan(kOtherBuild);
  auto view = View::decode(bytes, extent);
  if (!view) control.refuse_plan(wire::fault_name(view.error().fault), view.error().step);
  return *view;
}

}  // namespace

View take_opening(std::span<std::byte> into, Channel& control) {
  const std::size_t size = receive_from_supervisor(into, control).bytes;
  return decode(into.first(size), wire::Extent::kOpening, control);
}

Plan take_plan(const View& opening, Channel& control) {
  Message message;
  const auto got = receive_from_supervisor(std::as_writable_bytes(std::span(&message, 1)), control);
  auto bytes = map_plan(got.fd);
  if (!bytes) control.fail_step(0, bytes.error());
  const bool begins = message.kind == Kind::kBeginning;
  const View view = decode(*bytes, begins ? wire::Extent::kBeginning : wire::Extent::kPlan, control);
  if (!wire::same_opening(opening, view)) control.refuse_plan("opening", opening.record(0).step);
  return {.kind = begins ? Kind::kBeginning : Kind::kPlan, .view = view, .bytes = *bytes};
}

}  // namespace cordon::enforce::launch
