#include "policy/manifest/host_rule.h"

#include <utility>

#include "policy/network/rule.h"

namespace cordon::policy::manifest {
namespace {

template <class T>
std::optional<Fault> fault_of(network::Parsed<T> parsed) {
  if (parsed) return std::nullopt;
  network::Fault& wrong = parsed.error();
  return Fault{std::move(wrong.code), std::move(wrong.message), std::move(wrong.hint), wrong.offset, wrong.length};
}

}  // namespace

std::optional<Fault> check_host(std::string_view host) {
  return fault_of(network::parse_host(host, network::SuffixMeaning::kBelowOnly));
}

std::optional<Fault> check_port_rule(std::string_view port) { return fault_of(network::parse_ports(port)); }

std::optional<Fault> check_plain_port(std::string_view port) { return fault_of(network::parse_port(port)); }

}  // namespace cordon::policy::manifest
