#include "host/questions.h"

#include <dirent.h>

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "host/alias_scan.h"
#include "host/bounded.h"
#include "host/host.h"
#include "host/libraries.h"
#include "host/names.h"
#include "kernel/file.h"

namespace cordon::host {

using std::chrono::steady_clock;

/// Everything that the thread at work touches. A thread that is left behind keeps it alive.
struct Inquiry::State {
  State(const InquirySettings& settings, std::vector<std::string> dead, std::shared_ptr<const AccountBook> known,
        std::shared_ptr<const MountTable> table)
      : accounts(std::move(known)),
        mounts(std::move(table)),
        watch(mounts->any_may_hang() ? std::make_shared<Watch>() : nullptr),
        pins(std::make_shared<PinStore>()),
        aliases({.uid = settings.uid, .dead_mounts = dead, .watch = watch, .bounds = {}}),
        tree({.uid = settings.uid,
              .overrides_modes = settings.overrides_modes,
              .as_absent = settings.as_absent,
              .dead_mounts = std::move(dead),
              .watch = watch},
             *mounts, pins),
        resolver(tree, *accounts, settings.uid),
        programs(tree, resolver, settings.search_path),
        libraries(tree, resolver) {}

  Answer answer(const Question& question) {
    return std::visit([this](const auto& asked) { return answer_one(asked); }, question);
  }
  Answer answer_one(const PathQuestion& asked) { return resolver.resolve(asked.path, asked.keep); }
  Answer answer_one(const ProgramQuestion& asked) { return programs.find(asked.program, asked.working_directory); }
  Answer answer_one(const LibraryQuestion& asked) { return libraries.find(asked.program, asked.library_path); }
  Answer answer_one(const ListQuestion& asked) {
    return Listing{.directory = asked.directory, .entries = list(asked.directory)};
  }

  Answer answer_one(const AliasesQuestion& asked) { return scan_aliases(asked.asked, *mounts, aliases); }
  Answer answer_one(const NamesQuestion& asked) {
    return Names{.directory = asked.directory, .standing = resolve_names(tree, resolver, asked.directory, asked.names)};
  }
  Answer answer_one(const EntriesQuestion& asked) {
    Entries out{.directory = asked.directory, .names = std::nullopt};
    const Resolver::Found found = resolver.find(asked.directory, Keep::kIfRoom);
    const auto listed = found.node != nullptr ? tree.typed_entries(*found.node, kMostListed)
                                              : base::fail(kernel::Errno{ENOENT, "openat"});
    if (!listed) return out;
    out.names.emplace();
    for (const Tree::Entry& entry : *listed) {
      if (entry.type != DT_LNK) out.names->push_back(entry.name);
    }
    std::ranges::sort(*out.names);
    return out;
  }
  Answer answer_one(const LinksQuestion& asked) {
    return Links{.directory = asked.directory,
                 .links = find_links(tree, resolver, asked.directory, asked.levels),
                 .near = asked.levels.has_value()};
  }

  Answer answer_one(const TextQuestion& asked) {
    const Resolver::Found found = resolver.find(asked.path, Keep::kIfRoom);
    Content content{.path = asked.path, .text = {}};
    if (found.fact.state == plan::PathState::kAbsent || found.fact.state == plan::PathState::kNotDirectory)
      return content;
    const bool is_file = found.node != nullptr && found.node->is_file();
    const auto fd = is_file ? tree.open_file(*found.node) : base::fail(kernel::Errno{EINVAL, "openat"});
    content.unread = !fd || !read_whole(*fd, content.text);
    return content;
  }

  /// A text that was cut would be another text: longer than the bound is none.
  static bool read_whole(base::FdView fd, std::string& text) {
    constexpr std::size_t kChunk = 16'384;
    for (std::size_t have = 0; have <= plan::kLongestText;) {
      text.resize(have + kChunk);
      const auto got = kernel::pread(fd, std::as_writable_bytes(std::span(text)).subspan(have), have);
      text.resize(have + got.value_or(0));
      if (!got) break;
      if (*got == 0) return true;
      have += *got;
    }
    text.clear();
    return false;
  }

  base::Result<std::vector<plan::PathFact>> list(const std::string& directory) {
    const Resolver::Found found = resolver.find(directory, Keep::kFirst);
    if (found.node == nullptr)
      return base::fail(base::Error{.operation = "openat", .subject = directory, .code = found.fact.code});
    const auto names = tree.entries(*found.node, kMostListed);
    if (!names) {
      base::Error error = kernel::error_at(names.error(), directory);
      if (error.code == E2BIG) error.detail = fmt::format("it has more than {} entries", kMostListed);
      return base::fail(std::move(error));
    }
    std::vector<plan::PathFact> entries;
    entries.reserve(names->size());
    const std::string prefix = directory.ends_with('/') ? directory : directory + "/";
    for (const std::string& name : *names) entries.push_back(resolver.resolve(prefix + name, Keep::kIfRoom));
    return entries;
  }

  std::shared_ptr<const AccountBook> accounts;
  std::shared_ptr<const MountTable> mounts;
  std::shared_ptr<Watch> watch;
  std::shared_ptr<PinStore> pins;
  AliasSettings aliases;
  Tree tree;
  Resolver resolver;
  Programs programs;
  Libraries libraries;
};

namespace {

/// For a question that nobody could be asked.
Answer unanswered(const Question& question, int code) {
  struct Visitor {
    int code;
    [[nodiscard]] plan::PathFact path(const std::string& asked) const {
      plan::PathFact fact;
      fact.asked = asked;
      fact.state = plan::PathState::kFailed;
      fact.code = code;
      return fact;
    }
    Answer operator()(const PathQuestion& asked) const { return path(asked.path); }
    Answer operator()(const ProgramQuestion& asked) const {
      plan::ProgramFact fact;
      fact.asked = asked.program;
      fact.hops.push_back({.file = path(asked.program)});
      return fact;
    }
    Answer operator()(const LibraryQuestion& asked) const {
      return plan::LibraryFact{.asked = asked.program, .files = {}, .missing = {}, .whole = false};
    }
    Answer operator()(const ListQuestion& asked) const {
      base::Error error{.operation = "clone", .subject = asked.directory, .code = code};
      return Listing{.directory = asked.directory, .entries = base::fail(std::move(error))};
    }
    Answer operator()(const NamesQuestion& asked) const {
      Names names{.directory = asked.directory, .standing = {}};
      for (const std::string_view name : asked.names)
        names.standing.push_back(path(fmt::format("{}/{}", asked.directory, name)));
      return names;
    }
    Answer operator()(const EntriesQuestion& asked) const {
      return Entries{.directory = asked.directory, .names = std::nullopt};
    }
    Answer operator()(const LinksQuestion& asked) const {
      return Links{.directory = asked.directory, .links = {path(asked.directory)}, .near = asked.levels.has_value()};
    }
    Answer operator()(const TextQuestion& asked) const {
      return Content{.path = asked.path, .text = {}, .unread = true};
    }
    Answer operator()(const AliasesQuestion& asked) const {
      return plan::AliasAnswer{
          .asked = asked.asked, .end = plan::AliasScanEnd::kCannotBeRead, .where = "/", .code = code};
    }
  };
  return std::visit(Visitor{code}, question);
}

}  // namespace

/// One batch, between the thread that waits and the one that works.
struct Inquiry::Job {
  std::vector<Question> questions;
  std::mutex mutex;
  std::condition_variable progress;
  std::vector<Answer> answers;
  bool left_behind = false;
};

Inquiry::Inquiry(InquirySettings settings, std::shared_ptr<const AccountBook> accounts,
                 std::shared_ptr<const MountTable> mounts)
    : settings_(std::move(settings)), accounts_(std::move(accounts)), mounts_(std::move(mounts)) {
  start_over();
}

Inquiry::~Inquiry() = default;

void Inquiry::start_over() {
  state_ = std::make_shared<State>(settings_, dead_mounts_, accounts_, mounts_);
  stores_.push_back(state_->pins);
}

void Inquiry::work(const std::shared_ptr<State>& state, const std::shared_ptr<Job>& job) {
  for (std::size_t next = job->answers.size(); next < job->questions.size(); ++next) {
    Answer answer = state->answer(job->questions[next]);
    const std::lock_guard lock(job->mutex);
    if (job->left_behind) return;
    job->answers.push_back(std::move(answer));
    if (job->answers.size() == job->questions.size()) job->progress.notify_one();
  }
}

/// Where the worker hangs, what it was asking is known as dead from then on.
Inquiry::End Inquiry::run_bounded(const std::shared_ptr<Job>& job) {
  state_->watch->asks("/");
  const std::size_t wanted = job->questions.size();
  auto worker = start_thread([state = state_, job] { work(state, job); });
  if (!worker) return End::kNoThread;
  std::unique_lock lock(job->mutex);
  for (;;) {
    const auto deadline = state_->watch->question().since + settings_.bound;
    if (job->progress.wait_until(lock, deadline, [&] { return job->answers.size() == wanted; })) break;
    const Watch::Question question = state_->watch->question();
    if (steady_clock::now() < question.since + settings_.bound) continue;
    job->left_behind = true;
    lock.unlock();
    worker->detach();
    const Mount* mount = mounts_->may_hang_above(question.path);
    dead_mounts_.push_back(mount != nullptr ? mount->point : question.path);
    return End::kHangs;
  }
  lock.unlock();
  worker->join();
  return End::kAnswered;
}

std::vector<Answer> Inquiry::ask(const std::vector<Question>& questions) {
  if (state_->pins->released()) start_over();
  auto job = std::make_shared<Job>();
  job->questions = questions;
  job->answers.reserve(questions.size());
  if (questions.empty()) return {};
  if (!state_->watch) {
    work(state_, job);
    return std::move(job->answers);
  }
  for (;;) {
    const End end = run_bounded(job);
    if (end == End::kAnswered) return std::move(job->answers);
    const auto before = std::exchange(job, std::make_shared<Job>());
    job->questions = questions;
    const std::lock_guard lock(before->mutex);
    job->answers = std::move(before->answers);
    if (end == End::kHangs) {
      start_over();
      continue;
    }
    while (job->answers.size() < questions.size()) {
      job->answers.push_back(unanswered(questions[job->answers.size()], EAGAIN));
    }
    return std::move(job->answers);
  }
}

}  // namespace cordon::host
