#include "audit.h"

#include <algorithm>
#include <iterator>

#include "base/path_order.h"
#include "base/text.h"
#include "fields.h"

namespace cordon::shields {
namespace {

using shield::Deny;
using shield::Kind;

constexpr std::pair<std::string_view, Verdict> kVerdicts[]{{"missing", Verdict::kMissing},
                                                           {"weaker", Verdict::kWeaker},
                                                           {"narrowed", Verdict::kNarrowed},
                                                           {"wildcard", Verdict::kWildcard}};

/// The rules at `path` or above it, the one that hides first.
const Entry* rule_over(std::string_view path, const std::vector<Entry>& rules) {
  const Entry* found = nullptr;
  for (const Entry& rule : rules)
    if (base::path_within(path, rule.path) && (found == nullptr || rule.deny == Deny::kAll)) found = &rule;
  return found;
}

/// The part of a pattern before the first component with a wildcard.
std::string_view fixed_part(std::string_view pattern) {
  const std::size_t wildcard = pattern.find_first_of("*?[");
  const std::size_t slash = pattern.substr(0, wildcard).rfind('/');
  return slash == std::string_view::npos ? std::string_view() : pattern.substr(0, slash);
}

void read_group(const Place& place, const Node& group, std::vector<Difference>& out) {
  Fields fields(place, group);
  Difference proto;
  proto.source = fields.text("source");
  if (proto.source.empty()) place.refuse(group, "key-missing", "\"source\" is missing: the list that has them");
  proto.verdict = fields.word(fields.need("verdict"), kVerdicts);
  if (const Node* why = fields.need("why")) check_what(place, *why);
  if (const Node* paths = fields.need("paths")) {
    const auto nodes = texts(place, *paths);
    check_sorted(place, nodes);
    for (const Node* node : nodes) {
      proto.path = node->text;
      out.push_back(proto);
    }
  }
  fields.end();
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  for (const auto& [name, value] : kVerdicts)
    if (value == verdict) return name;
  return "covered";
}

Verdict judge(const Candidate& candidate, const Corpus& corpus) {
  const std::string_view place = candidate.wildcard ? fixed_part(candidate.path) : std::string_view(candidate.path);
  const Entry* rule = place.empty() ? nullptr : rule_over(place, corpus.home);
  const bool strong = rule != nullptr && (rule->deny == Deny::kAll || candidate.deny == Deny::kWrite);
  const bool whole = rule != nullptr && !(candidate.directory && rule->path == place && rule->kind == Kind::kFile);
  if (strong && whole) return Verdict::kCovered;
  if (candidate.wildcard) return Verdict::kWildcard;
  if (rule != nullptr) return strong ? Verdict::kNarrowed : Verdict::kWeaker;
  const bool parts = std::ranges::any_of(
      corpus.home, [&](const Entry& entry) { return base::path_within(entry.path, candidate.path); });
  return parts ? Verdict::kNarrowed : Verdict::kMissing;
}

std::vector<Difference> differences(const std::string& source, const Reading& reading, const Corpus& corpus) {
  std::vector<Difference> out;
  for (const Candidate& candidate : reading.candidates) {
    const Verdict verdict = judge(candidate, corpus);
    if (verdict != Verdict::kCovered) out.push_back({source, candidate.path, verdict});
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

base::Result<std::vector<Difference>, base::Diagnostics> read_accepted(const File& file) {
  const Source source(file.text, file.name);
  Problems problems;
  const Place place{source, problems};
  std::vector<Difference> accepted;
  const auto tree = policy::manifest::read_tree(source, problems);
  if (tree.complete) {
    Fields fields(place, tree.root);
    if (const Node* list = fields.need("accepted"))
      for (const Node& group : list->items) read_group(place, group, accepted);
    fields.end();
  }
  if (problems.any()) return base::fail(problems.take_errors());
  return accepted;
}

Findings compare(std::vector<Difference> found, std::vector<Difference> accepted) {
  std::ranges::sort(found);
  std::ranges::sort(accepted);
  Findings findings;
  std::ranges::set_difference(found, accepted, std::back_inserter(findings.fresh));
  std::ranges::set_difference(accepted, found, std::back_inserter(findings.stale));
  return findings;
}

}  // namespace cordon::shields
