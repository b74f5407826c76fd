#include <algorithm>
#include <functional>
#include <unordered_set>
#include <utility>

#include "cgroup/probe.h"
#include "host/accounts.h"
#include "host/bounded.h"
#include "host/fact_cache.h"
#include "host/host.h"
#include "host/identity.h"
#include "host/pin_store.h"
#include "host/probe_cause.h"
#include "host/questions.h"
#include "kernel/process.h"
#include "kernel/security.h"

namespace cordon::host {

using plan::Availability;
using plan::Feature;

namespace {

/// Root of every id, with the capability: containers take the one or the other.
bool overrides_modes(const plan::HostFacts& facts) {
  if (facts.uid != 0 || !facts.uid_spans.empty() || !facts.gid_spans.empty()) return false;
  const auto sets = kernel::capget();
  return sets && ((*sets)[0].effective & (1U << CAP_DAC_OVERRIDE)) != 0;
}

/// Never from a cache: the planner must know how large a ruleset may be, a lower number would be a weaker one, and the
/// call is one of the cheapest. Whether Landlock holds here is the probe's to say.
void ask_landlock_abi(plan::HostFacts& facts) {
  const auto abi = kernel::landlock_query(kernel::kLandlockCreateRulesetVersion);
  facts.landlock_abi = abi.value_or(0);
  facts.landlock_errata = abi ? kernel::landlock_query(kernel::kLandlockCreateRulesetErrata).value_or(0) : 0;
  if (abi) return;
  const Failure failure{.feature = Feature::kLandlock, .code = abi.error().code, .operation = abi.error().call};
  facts.feature(Feature::kLandlock) = explain(failure, read_clues(facts.uid));
}

/// Takes what is remembered as "no" out of the facts and names it.
std::vector<Feature> doubt(plan::HostFacts& facts) {
  std::vector<Feature> doubted;
  for (const Feature feature : all_features()) {
    if (facts.feature(feature).state != Availability::kNo) continue;
    facts.feature(feature) = {};
    doubted.push_back(feature);
  }
  return doubted;
}

base::Result<void> add(Answer& answer, plan::HostFacts& facts) {
  if (auto* path = std::get_if<plan::PathFact>(&answer)) {
    std::string asked = path->asked;
    facts.paths.insert_or_assign(std::move(asked), std::move(*path));
  } else if (auto* program = std::get_if<plan::ProgramFact>(&answer)) {
    const std::string asked = program->asked;
    facts.programs.insert_or_assign(asked, std::move(*program));
  } else if (auto* libraries = std::get_if<plan::LibraryFact>(&answer)) {
    const std::string asked = libraries->asked;
    facts.libraries.insert_or_assign(asked, std::move(*libraries));
  } else if (auto* content = std::get_if<Content>(&answer)) {
    if (content->unread) facts.unread_texts.insert(content->path);
    facts.texts.insert_or_assign(content->path, std::move(content->text));
  } else if (auto* aliases = std::get_if<plan::AliasAnswer>(&answer)) {
    facts.aliases = std::move(*aliases);
  } else if (auto* names = std::get_if<Names>(&answer)) {
    facts.names.insert_or_assign(names->directory, std::move(names->standing));
  } else if (auto* held = std::get_if<Entries>(&answer)) {
    facts.entries.insert_or_assign(held->directory, std::move(held->names));
  } else if (auto* links = std::get_if<Links>(&answer)) {
    auto& known = links->near ? facts.near_links : facts.links;
    known.insert_or_assign(links->directory, std::move(links->links));
  } else {
    auto& listing = std::get<Listing>(answer);
    CORDON_TRY(auto entries, std::move(listing.entries));
    facts.children.insert_or_assign(listing.directory, std::move(entries));
  }
  return {};
}

}  // namespace

struct Session::Impl {
  Caller caller;
  CacheLocation location;
  std::chrono::milliseconds bound{0};
  std::vector<plan::HeldPoint> as_absent;
  std::shared_ptr<const AccountBook> accounts;
  std::shared_ptr<const MountTable> mounts;
  std::shared_ptr<const FactCache> cache;
  std::optional<Inquiry> inquiry;
  Pins pins;

  const AccountBook& account_book() {
    if (!accounts) accounts = std::make_shared<const AccountBook>(AccountBook::read());
    return *accounts;
  }

  std::shared_ptr<const MountTable> mount_table() {
    if (!mounts) mounts = std::make_shared<const MountTable>(MountTable::read());
    return mounts;
  }

  Inquiry& files(const plan::HostFacts& facts) {
    if (!inquiry) {
      (void)account_book();
      inquiry.emplace(InquirySettings{.uid = caller.uid,
                                      .overrides_modes = overrides_modes(facts),
                                      .as_absent = as_absent,
                                      .search_path = variable(caller, "PATH"),
                                      .bound = bound},
                      accounts, mount_table());
    }
    return *inquiry;
  }

  void introduce(plan::HostFacts& facts);
  void use_cache(const plan::HostFacts& facts, std::function<void(const FactCache&)> act);
  std::vector<Question> open_questions(const plan::Questions& questions, const plan::HostFacts& facts) const;
  void answer_accounts(const plan::Questions& questions, plan::HostFacts& facts);
};

/// The cache may lie in a home on a dead server: then this Session does without.
void Session::Impl::use_cache(const plan::HostFacts& facts, std::function<void(const FactCache&)> act) {
  if (location.directory.empty()) return;
  if (!cache) cache = std::make_shared<const FactCache>(location, cache_key(facts, caller, location));
  if (!mount_table()->any_may_hang()) return act(*cache);
  if (!finishes_within(bound, [known = cache, act = std::move(act)] { act(*known); })) location.directory.clear();
}

void Session::Impl::introduce(plan::HostFacts& facts) {
  fill_kernel(facts);
  fill_caller(caller, account_book(), facts);
  facts.mounts = mount_table()->places();
  auto loaded = std::make_shared<std::optional<CachedFacts>>();
  use_cache(facts, [loaded](const FactCache& known) { *loaded = known.load(); });
  if (!location.directory.empty() && *loaded) facts.features = std::move((*loaded)->features);
  const std::vector<Feature> doubted = doubt(facts);
  ask_landlock_abi(facts);
  if (doubted.empty()) return;
  plan::HostFacts found = host::probe(caller, doubted);
  bool changed = false;
  for (const Feature feature : doubted) {
    facts.feature(feature) = std::move(found.feature(feature));
    changed = changed || facts.feature(feature).state != Availability::kNo;
  }
  if (!changed) return;
  const CachedFacts known{.features = facts.features};
  use_cache(facts, [known](const FactCache& store) { store.remember(known); });
}

std::vector<Question> Session::Impl::open_questions(const plan::Questions& questions,
                                                    const plan::HostFacts& facts) const {
  std::vector<Question> open;
  std::unordered_set<std::string_view> seen;
  const std::unordered_set<std::string_view> first(questions.pin_first.begin(), questions.pin_first.end());
  const auto add_path = [&](const std::string& path, Keep keep) {
    if (!facts.paths.contains(path) && seen.insert(path).second) open.emplace_back(PathQuestion{path, keep});
  };
  for (const std::string& path : questions.paths) {
    if (first.contains(path)) add_path(path, Keep::kFirst);
  }
  for (const std::string& path : questions.paths) add_path(path, Keep::kIfRoom);
  const std::string& directory =
      questions.working_directory.empty() ? caller.working_directory : questions.working_directory;
  for (const std::string& program : questions.programs) {
    if (!facts.programs.contains(program)) open.emplace_back(ProgramQuestion{program, directory});
  }
  for (const std::string& program : questions.libraries) {
    if (!facts.libraries.contains(program)) open.emplace_back(LibraryQuestion{program, questions.library_path});
  }
  for (const std::string& listed : questions.directories) {
    if (!facts.children.contains(listed)) open.emplace_back(ListQuestion{listed});
  }
  for (const std::string& text : questions.texts) {
    if (!facts.texts.contains(text)) open.emplace_back(TextQuestion{text});
  }
  if (questions.aliases) open.emplace_back(AliasesQuestion{*questions.aliases});
  for (const auto& [below, names] : questions.names) {
    if (!facts.names.contains(below)) open.emplace_back(NamesQuestion{below, names});
  }
  for (const std::string& listed : questions.entries) {
    if (!facts.entries.contains(listed)) open.emplace_back(EntriesQuestion{listed});
  }
  for (const std::string& store : questions.links) {
    if (!facts.links.contains(store)) open.emplace_back(LinksQuestion{store, std::nullopt});
  }
  for (const auto& [store, levels] : questions.near_links) {
    if (!facts.near_links.contains(store)) open.emplace_back(LinksQuestion{store, levels});
  }
  return open;
}

void Session::Impl::answer_accounts(const plan::Questions& questions, plan::HostFacts& facts) {
  for (const std::uint32_t uid : questions.accounts) {
    const bool known = std::ranges::find(facts.accounts, uid, &plan::Account::uid) != facts.accounts.end();
    if (!known) facts.accounts.push_back(account_of(account_book(), uid));
  }
}

Session::Session(Caller caller, CacheLocation cache, std::uint32_t question_bound_ms)
    : impl_(std::make_unique<Impl>()) {
  impl_->caller = std::move(caller);
  impl_->location = std::move(cache);
  impl_->bound = std::chrono::milliseconds(question_bound_ms);
}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

void Session::take_as_absent(std::vector<plan::HeldPoint> points) { impl_->as_absent = std::move(points); }

base::Result<void> Session::answer(const plan::Questions& questions, plan::HostFacts& facts) {
  if (facts.kernel_release.empty()) impl_->introduce(facts);
  for (const std::string& name : questions.environment) {
    const auto it = impl_->caller.environment.find(name);
    if (it != impl_->caller.environment.end()) facts.environment.insert_or_assign(name, it->second);
  }
  for (const std::string& name : questions.relocations) {
    const auto it = impl_->caller.environment.find(name);
    if (it != impl_->caller.environment.end()) facts.relocations.insert_or_assign(name, it->second);
  }
  impl_->answer_accounts(questions, facts);
  if (questions.limits && !facts.limits) facts.limits = cgroup::probe();
  const std::vector<Question> open = impl_->open_questions(questions, facts);
  if (open.empty()) return {};
  std::vector<Answer> answers = impl_->files(facts).ask(open);
  impl_->pins.stores_ = impl_->inquiry->stores();
  for (Answer& answer : answers) CORDON_OK(add(answer, facts));
  facts.descriptor_limit = impl_->pins.limit_before();
  return {};
}

void Session::probe(std::span<const Feature> features, plan::HostFacts& facts) {
  if (facts.kernel_release.empty()) impl_->introduce(facts);
  plan::HostFacts found = host::probe(impl_->caller, features);
  for (const Feature feature : features) facts.feature(feature) = std::move(found.feature(feature));
  if (std::ranges::find(features, Feature::kLandlock) != features.end()) {
    facts.landlock_abi = found.landlock_abi;
    facts.landlock_errata = found.landlock_errata;
  }
  remember(facts);
}

void Session::remember(const plan::HostFacts& facts) {
  const CachedFacts known{.features = facts.features};
  impl_->use_cache(facts, [known](const FactCache& cache) { cache.remember(known); });
}

void Session::drop(Feature feature, plan::HostFacts& facts) {
  facts.feature(feature) = {};
  impl_->use_cache(facts, [feature](const FactCache& cache) { cache.drop(feature); });
}

bool Session::may_hang() { return impl_->mount_table()->any_may_hang(); }

Pins& Session::pins() { return impl_->pins; }

}  // namespace cordon::host
