// The words of a command, read by its row.

#include "policy/ecosystem/words.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace cordon::policy::ecosystem {
namespace {

bool has(Names names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

constexpr std::array kLiveScripts = {std::string_view("dev"),     std::string_view("develop"),
                                     std::string_view("start"),   std::string_view("serve"),
                                     std::string_view("server"),  std::string_view("watch"),
                                     std::string_view("preview"), std::string_view("storybook")};
/// Of every command.
constexpr Decider kWatching[]{{"--watch", Intent::kDev}, {"--watchAll", Intent::kDev}, {"--watch-all", Intent::kDev}};
constexpr std::array kNo = {std::string_view("false"), std::string_view("no"), std::string_view("0"),
                            std::string_view("off"), std::string_view("none")};

const Decider* decider(std::span<const Decider> deciders, std::string_view argument) {
  const auto equals = argument.find('=');
  const std::string_view name = argument.substr(0, equals);
  if (equals != std::string_view::npos && std::ranges::find(kNo, argument.substr(equals + 1)) != kNo.end())
    return nullptr;
  const auto at = std::ranges::find(deciders, name, &Decider::option);
  return at == deciders.end() ? nullptr : &*at;
}

const Decider* first_decider(const Command& command, std::span<const std::string> arguments) {
  for (const auto& argument : arguments)
    if (const Decider* found = decider(kWatching, argument)) return found;
  for (const auto& argument : arguments)
    if (const Decider* found = decider(command.deciders, argument)) return found;
  return nullptr;
}

/// How many words the option at `at` takes; 0 where it is not known.
std::size_t option_words(const Command& command, std::string_view option) {
  if (has(command.plain_options, option) || decider(kWatching, option) || decider(command.deciders, option)) return 1;
  if (has(command.value_options, option)) return 2;
  const std::string_view name = option.substr(0, option.find('='));
  if (name != option && (has(command.value_options, name) || has(command.plain_options, name))) return 1;
  const bool attached = option.size() > 2 && option[1] != '-' && has(command.value_options, option.substr(0, 2));
  return attached ? 1 : 0;
}

bool sets_variable(std::string_view word) {
  const auto equals = word.find('=');
  return equals != std::string_view::npos && equals > 0 && word.find('/') > equals;
}

/// Walks over options, and stops at words.
class Arguments {
 public:
  Arguments(const Command& command, std::span<const std::string> all) : command_(command), all_(all) {}

  enum class At { kWord, kEnd, kUnknownOption };
  At next() {
    while (at_ < all_.size()) {
      const std::string_view argument = all_[at_];
      if (argument == "--") {
        ++at_;
        continue;
      }
      if (find_word(argument) != nullptr) return At::kWord;
      if (!argument.starts_with('-') || argument == "-") {
        // `cargo +nightly`, `make CC=gcc`
        if (!(at_ == 0 && argument.starts_with('+')) && !sets_variable(argument)) return At::kWord;
        ++at_;
        continue;
      }
      const std::size_t words = option_words(command_, argument);
      if (words == 0) return At::kUnknownOption;
      at_ += words;
    }
    return At::kEnd;
  }
  [[nodiscard]] const std::string& word() const { return all_[at_]; }
  void skip() { ++at_; }
  [[nodiscard]] std::vector<std::string> from_here() const {
    const std::size_t at = std::min(at_, all_.size());
    return {all_.begin() + static_cast<std::ptrdiff_t>(at), all_.end()};
  }
  [[nodiscard]] const Word* find_word(std::string_view name) const {
    const auto at = std::ranges::find_if(command_.words, [&](const Word& word) { return has(word.names, name); });
    return at == command_.words.end() ? nullptr : &*at;
  }

 private:
  const Command& command_;
  std::span<const std::string> all_;
  std::size_t at_ = 0;
};

/// What follows a word: the name of a script, or a command line.
void follow(Arguments& arguments, Meaning& meaning) {
  if (meaning.then == Then::kNothing || meaning.then == Then::kGenerator) return;
  if (arguments.next() != Arguments::At::kWord) {
    meaning.then = Then::kNothing;
    return;
  }
  if (meaning.then == Then::kScript) {
    meaning.intent = intent_of_script(arguments.word(), meaning.intent);
    meaning.said_by += (meaning.said_by.empty() ? "" : " ") + arguments.word();
    return;
  }
  meaning.rest = arguments.from_here();
}

/// The stronger of two intents of one command line: `mvn clean verify` tests, `gradle clean bootRun` is live.
int weight(Intent intent) {
  switch (intent) {
    case Intent::kInstall:
      return 1;
    case Intent::kBuild:
      return 2;
    case Intent::kTest:
      return 3;
    case Intent::kUnknown:
      return 4;
    case Intent::kExec:
    case Intent::kTool:
      return 5;
    case Intent::kRun:
      return 6;
    case Intent::kPublish:
      return 7;
    case Intent::kFormat:
    case Intent::kCreate:
      return 8;
    case Intent::kRepl:
      return 9;
    case Intent::kDev:
    case Intent::kInteractive:
      return 10;
  }
  return 4;
}

Meaning each_word(const Command& command, Arguments arguments) {
  Meaning out;
  for (bool is_first = true;; is_first = false) {
    switch (arguments.next()) {
      case Arguments::At::kUnknownOption:
        return {};
      case Arguments::At::kEnd:
        if (is_first) out.intent = command.bare;
        return out;
      case Arguments::At::kWord:
        break;
    }
    const Word* word = arguments.find_word(arguments.word());
    Intent intent = word != nullptr ? word->intent : command.other;
    if (word == nullptr && command.other_then == Then::kScript) intent = intent_of_script(arguments.word(), intent);
    if (is_first || weight(intent) > weight(out.intent)) {
      out.intent = intent;
      out.said_by = arguments.word();
    }
    arguments.skip();
  }
}

Meaning first_word(const Command& command, Arguments arguments) {
  Meaning out;
  // All its command lines are about one thing: no option can change that.
  if (command.words.empty() && command.bare == command.other && command.other_then == Then::kNothing) {
    out.intent = command.bare;
    return out;
  }
  switch (arguments.next()) {
    case Arguments::At::kUnknownOption:
      return out;
    case Arguments::At::kEnd:
      out.intent = command.bare;
      return out;
    case Arguments::At::kWord:
      break;
  }
  if (const Word* word = arguments.find_word(arguments.word())) {
    out = {word->intent, word->manifests, word->keys, word->then, arguments.word(), {}};
    arguments.skip();
  } else {
    out.intent = command.other;
    out.then = command.other_then;
  }
  follow(arguments, out);
  return out;
}

}  // namespace

Row find_command(std::string_view name) {
  const std::string_view without = name.substr(0, name.find_last_not_of("0123456789.-") + 1);
  for (const std::string_view one : {name, without})
    for (const Profile& profile : profiles())
      for (const Command& command : profile.commands)
        if (has(command.names, one)) return {&profile, &command};
  return {};
}

Intent intent_of_script(std::string_view name, Intent otherwise) {
  const auto parts = base::split(name, ':');
  for (const auto part : parts)
    if (std::ranges::find(kLiveScripts, part) != kLiveScripts.end()) return Intent::kDev;
  if (parts.front() == "test") return Intent::kTest;
  if (parts.front() == "build") return Intent::kBuild;
  return otherwise;
}

Meaning meaning_of(const Command& command, std::span<const std::string> arguments) {
  const Arguments start(command, arguments);
  Meaning out = command.use == WordUse::kEach ? each_word(command, start) : first_word(command, start);
  if (const Decider* found = first_decider(command, arguments)) {
    out.intent = found->intent;
    out.said_by = found->option;
  }
  return out;
}

}  // namespace cordon::policy::ecosystem
