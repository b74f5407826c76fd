#include "egress/dns_answerer.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace cordon::egress {
namespace {

using policy::network::Address;
using policy::network::Family;
using policy::network::HostName;

/// Nothing where a label holds a dot: the text would read as another name.
std::optional<std::string> joined(std::span<const std::string> labels) {
  std::string out;
  for (const std::string& label : labels) {
    if (label.find('.') != std::string::npos) return std::nullopt;
    if (!out.empty()) out += '.';
    out += label;
  }
  return out;
}

std::string printable(std::span<const std::string> labels) {
  std::string out;
  for (const std::string& label : labels) {
    if (!out.empty()) out += '.';
    out += label;
  }
  for (char& c : out)
    if (c < 0x21 || c > 0x7e) c = '?';
  return policy::network::lower_case(out);
}

std::optional<std::uint8_t> number_in(std::string_view text, int base, unsigned most) {
  unsigned value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (code != std::errc() || end != text.data() + text.size() || value > most) return std::nullopt;
  return static_cast<std::uint8_t>(value);
}

/// "4.3.2.1.in-addr.arpa" and the 32 nibbles of ip6.arpa.
std::optional<Address> reversed_address(std::span<const std::string> labels) {
  const auto ends_in = [&](std::string_view zone) {
    return policy::network::lower_case(labels[labels.size() - 2]) == zone &&
           policy::network::lower_case(labels.back()) == "arpa";
  };
  Address out;
  if (labels.size() == 6 && ends_in("in-addr")) {
    for (std::size_t i = 0; i < 4; ++i) {
      const auto byte = number_in(labels[3 - i], 10, 255);
      if (!byte) return std::nullopt;
      out.bytes[i] = *byte;
    }
    return out;
  }
  if (labels.size() != 34 || !ends_in("ip6")) return std::nullopt;
  out.family = Family::kIpv6;
  for (std::size_t i = 0; i < 32; ++i) {
    const auto nibble = number_in(labels[31 - i], 16, 15);
    if (!nibble || labels[31 - i].size() != 1) return std::nullopt;
    out.bytes[i / 2] = static_cast<std::uint8_t>(out.bytes[i / 2] << 4 | *nibble);
  }
  return out;
}

DnsReply reply(const DnsQuery& query, Rcode rcode, const DnsData& data = {}) {
  return {write_answer(query, rcode, data), DnsEvent::kNone, {}};
}

DnsReply refused(const DnsQuery& query, DnsEvent event, std::string name) {
  const Rcode rcode = event == DnsEvent::kFull ? Rcode::kServFail : Rcode::kNxDomain;
  return {write_answer(query, rcode, {}), event, std::move(name)};
}

}  // namespace

DnsAnswerer::DnsAnswerer(const policy::network::Rules& rules, Gate gate, Ipv6 ipv6, NameTable& names,
                         std::string_view own_name)
    : own_name_(HostName::parse(own_name)), told_(rules), ipv6_(ipv6), names_(names) {
  if (own_name_ && told_.could_allow(*own_name_)) own_name_.reset();
  if (gate == Gate::kAttached) told_.allow.emplace_back();
}

DnsReply DnsAnswerer::answer(std::span<const std::byte> bytes) {
  const DnsParsed parsed = parse_query(bytes);
  if (const auto* query = std::get_if<DnsQuery>(&parsed)) return answer_query(*query);
  if (const auto* refusal = std::get_if<DnsRefusal>(&parsed))
    return {write_refusal(*refusal), DnsEvent::kMalformed, {}};
  return {{}, DnsEvent::kMalformed, {}};
}

DnsReply DnsAnswerer::answer_query(const DnsQuery& query) {
  if (query.klass != rr::kIn) return reply(query, Rcode::kRefused);
  std::string shown = printable(query.labels);
  if (query.type == rr::kPtr) return answer_pointer(query, shown);
  const auto text = joined(query.labels);
  const auto name = text ? HostName::parse(*text) : std::nullopt;
  if (name) return answer_name(query, *name);
  if (is_service_of_a_told_name(query)) return reply(query, Rcode::kNoError);
  return refused(query, DnsEvent::kMalformed, std::move(shown));
}

DnsReply DnsAnswerer::answer_pointer(const DnsQuery& query, const std::string& shown) {
  const auto address = reversed_address(query.labels);
  const HostName* name = address ? names_.find(*address) : nullptr;
  if (name != nullptr) return reply(query, Rcode::kNoError, name->str());
  // Only of a name can a report say which rule would allow it: "*" or a block would be a rule for everything.
  return refused(query, HostName::parse(shown) ? DnsEvent::kDenied : DnsEvent::kMalformed, shown);
}

DnsReply DnsAnswerer::answer_name(const DnsQuery& query, const HostName& name) {
  const bool wants_ipv4 = query.type == rr::kA;
  const bool wants_ipv6 = query.type == rr::kAaaa && ipv6_ == Ipv6::kPresent;
  if (name.is_local() || name == own_name_) {
    if (wants_ipv4) return reply(query, Rcode::kNoError, Address::v4(127, 0, 0, 1));
    if (wants_ipv6) return reply(query, Rcode::kNoError, *policy::network::parse_address("::1"));
    return reply(query, Rcode::kNoError);
  }
  if (!told_.could_allow(name)) return refused(query, DnsEvent::kDenied, name.str());
  if (!wants_ipv4 && !wants_ipv6) return reply(query, Rcode::kNoError);
  const auto number = names_.number_of(name);
  if (!number) return refused(query, DnsEvent::kFull, name.str());
  return reply(query, Rcode::kNoError, wants_ipv4 ? names_.ipv4(*number) : names_.ipv6(*number));
}

/// "_http._tcp.example.com": what apt and others ask before they ask for the host.
bool DnsAnswerer::is_service_of_a_told_name(const DnsQuery& query) const {
  const auto first = std::ranges::find_if(query.labels, [](const std::string& one) { return !one.starts_with('_'); });
  if (first == query.labels.begin()) return false;
  const auto text = joined(std::span(first, query.labels.end()));
  const auto name = text ? HostName::parse(*text) : std::nullopt;
  return name && told_.could_allow(*name);
}

}  // namespace cordon::egress
