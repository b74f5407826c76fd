#include "enforce/supervise/listener_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "enforce/supervise/process_file.h"

namespace cordon::enforce::supervise {
namespace {

constexpr std::uint64_t kBetweenLooksNs = 400'000'000;
constexpr std::uint16_t kFirst = 1'024, kFirstPicked = 32'768;

/// Of "0100007F:1435".
std::uint16_t port_of(std::string_view local) {
  std::uint16_t out = 0;
  const std::size_t colon = local.rfind(':');
  if (colon != std::string_view::npos) std::from_chars(local.data() + colon + 1, local.data() + local.size(), out, 16);
  return out;
}

}  // namespace

std::optional<std::uint16_t> lowest_listener(std::string_view table, const std::set<std::uint16_t>& own) {
  std::optional<std::uint16_t> out;
  for (const std::string_view line : base::split(table, '\n')) {
    std::vector<std::string_view> fields = base::split(line, ' ');
    std::erase(fields, std::string_view());
    if (fields.size() < 4 || fields[3] != "0A") continue;
    const std::uint16_t port = port_of(fields[1]);
    if (port >= kFirst && port < kFirstPicked && !own.contains(port)) out = std::min(port, out.value_or(port));
  }
  return out;
}

ListenerWatch::ListenerWatch(const plan::Plan& plan, Call call) : call_(std::move(call)) {
  for (const plan::Step& step : plan.steps)
    if (const auto* listen = std::get_if<plan::step::Listen>(&step.act)) own_.insert(listen->port);
}

void ListenerWatch::look(pid_t init, std::uint64_t now_ns) {
  if (!call_ || now_ns < next_ns_ || looks_left_ == 0) return;
  next_ns_ = now_ns + kBetweenLooksNs;
  --looks_left_;
  for (const char* table : {"tcp", "tcp6"}) {
    const auto port = lowest_listener(read_table(fmt::format("/proc/{}/net/{}", init, table)), own_);
    if (port) return std::exchange(call_, {})(*port);
  }
}

}  // namespace cordon::enforce::supervise
