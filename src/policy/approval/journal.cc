#include "policy/approval/journal.h"

#include "base/text.h"
#include "kernel/file.h"
#include "policy/approval/journal_text.h"
#include "policy/approval/new_file.h"
#include "policy/approval/private_directory.h"
#include "policy/approval/steady_read.h"
#include "policy/approval/walk.h"
#include "policy/approval/words.h"
#include "policy/manifest/digest.h"

namespace cordon::policy::approval {
namespace {

JournalReading answer(JournalVerdict verdict, JournalSource source, std::string why) {
  JournalReading reading;
  reading.verdict = verdict;
  reading.source = source;
  reading.why = std::move(why);
  return reading;
}

/// The bytes of an entry, or why there are none.
base::Result<std::string, std::string> read_entry(base::FdView object) {
  auto file = reopen(object, O_RDONLY);
  if (!file) return base::fail("its entry cannot be opened: " + in_words(file.error().code));
  std::string text;
  const auto end = read_steadily(*file, kMostJournalBytes, [&](std::string_view bytes) { text.append(bytes); });
  if (!end) return base::fail("its entry cannot be read: " + in_words(end.error().code));
  if (*end == ReadEnd::kTooLong) return base::fail(std::string("its entry is larger than one ever is"));
  if (*end == ReadEnd::kUnsteady) return base::fail(std::string("its entry was written to while it was read"));
  return text;
}

struct Question {
  std::string_view real_path;
  std::string_view approves;
  Caller caller;
};

JournalReading compare(JournalEntry entry, JournalSource source, const Question& question) {
  auto loaded = manifest::parse(entry.policy, "journal");
  if (!loaded || manifest::fingerprint(loaded->policy, entry.pins) != entry.fingerprint) {
    return answer(JournalVerdict::kUntrusted, source, "its entry does not carry the policy that it names");
  }
  if (source == JournalSource::kOwn && entry.manifest_path != json_spelling(question.real_path)) {
    return answer(JournalVerdict::kSomethingElse, source, "its entry is about " + base::shown(entry.manifest_path));
  }
  if (question.approves.empty()) {
    return answer(
        JournalVerdict::kSomethingElse, source,
        "a version of this manifest was approved here at " + entry.stamped_at + ", but it carries no stamp now");
  }
  if (entry.fingerprint != question.approves) {
    return answer(JournalVerdict::kSomethingElse, source,
                  "the stamp is not the one that was made here at " + entry.stamped_at);
  }
  JournalReading reading = answer(JournalVerdict::kMatches, source, {});
  reading.approved = std::move(loaded->policy);
  reading.entry = std::move(entry);
  return reading;
}

JournalReading read_from(const std::string& directory, JournalSource source, const Question& question) {
  if (directory.empty()) return answer(JournalVerdict::kAbsent, source, {});
  const Opened place = open_private_directory(directory, question.caller);
  if (place.state == Opened::State::kAbsent) return answer(JournalVerdict::kAbsent, source, {});
  if (place.state == Opened::State::kUntrusted) return answer(JournalVerdict::kUntrusted, source, place.why);

  const Opened file = open_private_file(place.fd, journal_entry_name(question.real_path), question.caller);
  if (file.state == Opened::State::kAbsent) return answer(JournalVerdict::kAbsent, source, {});
  if (file.state == Opened::State::kUntrusted) return answer(JournalVerdict::kUntrusted, source, file.why);
  const auto text = read_entry(file.fd);
  if (!text) return answer(JournalVerdict::kUntrusted, source, text.error());
  if (text->empty()) return answer(JournalVerdict::kAbsent, source, {});  // what a full disk leaves of others' writing
  auto entry = parse_entry(*text);
  if (!entry) return answer(JournalVerdict::kUntrusted, source, "its entry is not one that Cordon wrote");
  return compare(std::move(*entry), source, question);
}

}  // namespace

std::string_view verdict_name(JournalVerdict verdict) {
  switch (verdict) {
    case JournalVerdict::kAbsent:
      return "absent";
    case JournalVerdict::kUntrusted:
      return "untrusted";
    case JournalVerdict::kSomethingElse:
      return "describes-something-else";
    case JournalVerdict::kMatches:
      return "matches";
  }
  return {};
}

std::string journal_entry_name(std::string_view real_path) { return manifest::sha256_hex(real_path) + ".json"; }

JournalReading read_journal(const JournalPlaces& places, std::string_view real_path, std::string_view approves,
                            Caller caller) {
  const Question question{.real_path = real_path, .approves = approves, .caller = caller};
  JournalReading own = read_from(places.own, JournalSource::kOwn, question);
  if (own.verdict != JournalVerdict::kAbsent) return own;
  JournalReading older = read_from(places.older, JournalSource::kOlder, question);
  return older.verdict == JournalVerdict::kAbsent ? std::move(own) : std::move(older);
}

base::Result<void> write_journal(const std::string& directory, const JournalEntry& entry, Caller caller) {
  if (directory.empty()) {
    return base::fail(base::Error{.operation = "write", .subject = "journal", .detail = "there is no state directory"});
  }
  CORDON_TRY(const base::Fd place, make_private_directory(directory, caller));
  const std::string name = journal_entry_name(entry.manifest_path);
  const auto at = [&](kernel::Errno why) { return base::fail(kernel::error_at(why, directory + "/" + name)); };

  auto file = NewFile::create(place, ".entry-");
  if (!file) return at(file.error());
  if (auto done = kernel::fchmod(file->fd(), 0600); !done) return at(done.error());
  if (auto done = file->write(entry_text(entry)); !done) return at(done.error());
  if (auto done = file->sync(); !done) return at(done.error());
  if (auto done = file->replace(name); !done) return at(done.error());
  sync_directory(place);
  return {};
}

}  // namespace cordon::policy::approval
