#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "planner/path_text.h"
#include "policy/draft/draft.h"
#include "policy/network/matcher.h"
#include "policy/network/rule.h"

namespace cordon::policy::draft {
namespace {

using planner::within;

/// Where a line of the proposal stands, in no file: its number, counted from 1.
base::Span place_of(std::size_t index) {
  return {.file = {}, .line = static_cast<std::uint32_t>(index + 1), .column = 1, .length = 1};
}

void add_path(std::vector<PathGrant>& to, const std::string& path, const Anchors& anchors, const base::Span& at) {
  PathGrant grant{.written = relocatable(path, anchors), .path = path, .at = {.span = at, .source = "profile"}};
  const bool there = std::ranges::any_of(
      to, [&](const PathGrant& other) { return other.written == grant.written || other.path == path; });
  if (!there) to.push_back(std::move(grant));
}

/// By where it really lies: a link below a grant leads to what the grant does not show.
bool gives(const PathGrant& grant, const Want& want) {
  if (grant.path.empty()) return false;
  const bool whole_way =
      std::ranges::all_of(want.through, [&](const std::string& link) { return within(link, grant.path); });
  if (within(want.real, grant.path)) return (within(want.path, grant.path) && whole_way) || want.path == want.real;
  return within(want.path, grant.path) && want.real.ends_with(std::string_view(want.path).substr(grant.path.size()));
}

}  // namespace

std::string relocatable(std::string_view path, const Anchors& anchors) {
  const auto below = [&](const std::string& directory) {
    return !directory.empty() && directory != "/" && within(path, directory);
  };
  if (below(anchors.manifest_directory)) {
    const std::string_view rest = path.substr(anchors.manifest_directory.size());
    return rest.empty() ? "." : "." + std::string(rest);
  }
  if (below(anchors.home) && path != anchors.home) return "~" + std::string(path.substr(anchors.home.size()));
  return std::string(path);
}

bool covers(const Want& other, const Want& want) {
  if (other.access == Access::kRead && want.access == Access::kWrite) return false;
  if (!other.directory || other.only_seen) return false;
  if (other.path == want.path) return other.access != want.access;
  if (!within(want.real, other.real)) return false;
  const bool whole_way = std::ranges::all_of(want.through, [&](const std::string& link) {
    return within(link, other.path) || within(link, other.real) ||
           std::ranges::find(other.through, link) != other.through.end();
  });
  if (!whole_way) return false;
  // A link is there only where the line gives its own name as well.
  return within(want.path, other.path) || (within(want.path, other.real) && want.real != other.real);
}

bool covers(const PathGrant& grant, Access access, const Want& want) {
  return (access == Access::kWrite || want.access == Access::kRead) && gives(grant, want);
}

namespace {

/// As the broker names it, and as programs do.
bool is_loopback(std::string_view host, const std::optional<network::Address>& address) {
  static const network::Block kIpv4{network::Address::v4(127, 0, 0, 0), 8};
  return host == "localhost" || (address && kIpv4.contains(*address)) || (address && host == "::1");
}

}  // namespace

bool lets_through(const Policy& base, std::string_view host, std::uint16_t port) {
  const auto address = network::read_address(host);
  const auto name = network::parse_client_host(host);
  if (!address && !name) return false;
  if (is_loopback(host, address)) {
    const auto is_it = [&](const Text& text) {
      const auto service = network::parse_port(text.value);
      return service && *service == port;
    };
    return std::ranges::any_of(base.host_services, is_it);
  }
  network::Rules rules;
  for (const NetworkRule& rule : base.network)
    if (auto parsed = network::parse_rule(rule.host, rule.port, network::SuffixMeaning::kBelowOnly))
      rules.allow.push_back(std::move(*parsed));
  return rules.decide(address ? network::Host(*address) : *name, port).outcome == network::Outcome::kAllowed;
}

void drop_given(Proposal& proposal, const Policy& base) {
  std::erase_if(proposal.network, [&](const NetworkRule& rule) {
    const auto port = base::parse_decimal(rule.port);
    return port && *port <= 65'535 && lets_through(base, rule.host, static_cast<std::uint16_t>(*port));
  });
  std::erase_if(proposal.wants, [&](const Want& want) {
    const auto by = [&](Access access) {
      return [&want, access](const PathGrant& one) { return covers(one, access, want); };
    };
    return std::ranges::any_of(base.write, by(Access::kWrite)) || std::ranges::any_of(base.read, by(Access::kRead));
  });
}

void drop_covered(Proposal& proposal, const Policy& base) {
  drop_given(proposal, base);
  const std::vector<Want> all = proposal.wants;
  std::erase_if(proposal.wants, [&](const Want& want) {
    return std::ranges::any_of(all, [&](const Want& other) { return covers(other, want); });
  });
}

namespace {

/// Takes line `number` out of the proposal; false where it has no such line.
bool take_out(Proposal& proposal, std::set<std::uint32_t>& gone, const base::Span& at, std::string_view code,
              std::string_view reason) {
  if (!at.file.empty() || at.line == 0) return false;
  const std::size_t index = at.line - 1;
  const std::size_t wants = proposal.wants.size();
  if (index >= wants + proposal.network.size()) return false;
  if (!gone.insert(at.line).second) return true;
  Remark remark{
      .kind = "network", .path = {}, .host = {}, .port = 0, .code = std::string(code), .reason = std::string(reason)};
  if (index < wants) {
    remark.kind = access_name(proposal.wants[index].access);
    remark.path = proposal.wants[index].path;
  } else {
    const NetworkRule& rule = proposal.network[index - wants];
    remark.host = rule.host;
    remark.port = static_cast<std::uint16_t>(base::parse_decimal(rule.port).value_or(0));
  }
  proposal.withheld.push_back(std::move(remark));
  return true;
}

void forget(Proposal& proposal, const std::set<std::uint32_t>& gone) {
  const std::size_t wants = proposal.wants.size();
  for (auto line = gone.rbegin(); line != gone.rend(); ++line) {
    const std::size_t index = *line - 1;
    if (index < wants)
      proposal.wants.erase(proposal.wants.begin() + static_cast<std::ptrdiff_t>(index));
    else
      proposal.network.erase(proposal.network.begin() + static_cast<std::ptrdiff_t>(index - wants));
  }
}

/// What a shield says of a line is the same thing however the planner came to it.
std::string_view code_of(const plan::RefusedItem& item) {
  if (item.code == "grant-inside-shield") return "read-shielded";
  if (item.code == "write-inside-shield" || item.code == "write-inside-read-only-shield") return "write-shielded";
  return "run-refused";
}

}  // namespace

bool withhold_refused(Proposal& proposal, const plan::Refusal& refusal) {
  std::set<std::uint32_t> gone;
  for (const plan::RefusedItem& item : refusal.items) take_out(proposal, gone, item.at, code_of(item), item.message);
  forget(proposal, gone);
  return !gone.empty();
}

bool withhold_lifted(Proposal& proposal, const plan::Plan& plan) {
  std::set<std::uint32_t> gone;
  for (const plan::Note& note : plan.notes)
    if (note.code == "shield-lifted") take_out(proposal, gone, note.at, "read-shielded", note.text);
  forget(proposal, gone);
  return !gone.empty();
}

Policy compose(const Policy& base, const Proposal& proposal, const Anchors& anchors) {
  Policy out = base;
  std::size_t index = 0;
  for (const Want& want : proposal.wants)
    add_path(want.access == Access::kWrite ? out.write : out.read, want.path, anchors, place_of(index++));
  for (const std::string& name : proposal.env)
    if (std::ranges::find(out.env, name, &EnvGrant::name) == out.env.end())
      out.env.push_back({.name = name, .supplied = std::nullopt, .at = {}});
  for (const NetworkRule& rule : proposal.network) {
    const bool there = std::ranges::any_of(out.network, [&](const NetworkRule& other) {
      return std::tie(other.host, other.port) == std::tie(rule.host, rule.port);
    });
    if (!there) out.network.push_back(rule);
    if (!there) out.network.back().at = {.span = place_of(index), .source = "profile"};
    ++index;
  }
  if (out.exec.mode == ExecMode::kList)
    for (const std::string& path : proposal.exec_programs) add_path(out.exec.programs, path, anchors, {});
  if (proposal.exec_all) out.exec.mode = ExecMode::kAll;
  if (proposal.exec_all) out.exec.programs.clear();
  return out;
}

}  // namespace cordon::policy::draft
