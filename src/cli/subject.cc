#include "cli/subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/abs_path.h"
#include "base/text.h"
#include "policy/draft/places.h"

namespace cordon::cli {
namespace {

using policy::Text;

constexpr auto kEnvironment = std::to_array<const char*>(
    {"HOME", "USER", "LOGNAME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"});

constexpr const char* kEnv = "/usr/bin/env";

auto mistake(const Arguments& arguments, std::string code, std::string message, std::string mend) {
  return base::fail(stop(
      report::refused_usage(std::move(code), std::move(message), std::move(mend), usage_line(*arguments.command, 78))));
}

policy::Origin from_here() { return {.span = {}, .source = "profile"}; }

std::string parent_of(const std::string& path) {
  const auto normal = base::AbsPath::parse(path);
  return normal ? normal->parent().str() : std::string("/");
}

class Reader {
 public:
  Reader(const Invocation& invocation, const Arguments& arguments, Host& host)
      : invocation_(invocation), arguments_(arguments), host_(host) {}

  base::Result<Subject, Stop> read() {
    CORDON_OK(find_program());
    CORDON_OK(find_out());
    CORDON_OK(ask_about_it());
    place_it();
    CORDON_OK(find_interpreter());
    CORDON_OK(stand_where_the_user_does());
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string absolute(const std::string& path) const {
    const auto here = base::AbsPath::parse(invocation_.caller.working_directory);
    const auto joined = here ? here->join(path) : base::AbsPath::parse(path);
    return joined ? joined->str() : std::string();
  }

  base::Result<void, Stop> answer(const plan::Questions& questions) {
    if (auto answered = host_.session.answer(questions, host_.facts); !answered)
      return base::fail(stop(report::refused(answered.error(), "host-unanswered", "")));
    return {};
  }

  base::Result<void, Stop> find_program() {
    std::vector<std::string> words = arguments_.after;
    out_.is_command = arguments_.operands.empty();
    if (out_.is_command) {
      if (words.empty())
        return mistake(arguments_, "missing-operand", "profile needs a SCRIPT, or a command after --",
                       "cordon profile ./script.py, or cordon profile -- make all");
      out_.named = words.front();
      words.erase(words.begin());
    } else {
      out_.named = arguments_.operand();
    }
    for (std::string& word : words) out_.base.args.push_back({.value = std::move(word), .at = from_here()});
    if (!out_.is_command || out_.named.contains('/')) {
      out_.base.entrypoint.path = absolute(out_.named);
      return {};
    }
    plan::Questions questions;
    questions.programs = {out_.named};
    CORDON_OK(answer(questions));
    const plan::ProgramFact& fact = host_.facts.programs.at(out_.named);
    if (!fact.found)
      return mistake(arguments_, "command-not-found",
                     fmt::format("there is no program {} on PATH", base::quote(out_.named)),
                     "name the program by its path");
    out_.base.entrypoint.path = fact.hops.front().file.asked;
    return {};
  }

  base::Result<void, Stop> find_out() {
    const std::string given = arguments_.value("--out");
    if (given == "-") {
      out_.anchors.manifest_directory = invocation_.caller.working_directory;
      return {};
    }
    if (given.empty() && arguments_.has("--out"))
      return mistake(arguments_, "out-malformed", "--out needs a file", "--out FILE, or --out -");
    const std::string& program = out_.base.entrypoint.path;
    if (!given.empty())
      out_.out = absolute(given);
    else if (out_.is_command)
      out_.out = absolute(program.substr(program.rfind('/') + 1) + ".manifest.yaml");
    else
      out_.out = program + ".manifest.yaml";
    if (out_.out.empty()) return mistake(arguments_, "out-malformed", "--out needs a file", "--out FILE, or --out -");
    out_.anchors.manifest_directory = parent_of(out_.out);
    return {};
  }

  base::Result<void, Stop> ask_about_it() {
    const std::string& program = out_.base.entrypoint.path;
    const std::string around = out_.is_command ? invocation_.caller.working_directory : parent_of(program);
    plan::Questions questions;
    questions.paths = {program, around, host_.facts.home};
    std::erase(questions.paths, "");
    questions.programs = {program};
    questions.texts = {program};
    CORDON_OK(answer(questions));
    const plan::PathFact& fact = host_.facts.paths.at(program);
    if (fact.state != plan::PathState::kPresent)
      return mistake(arguments_, "entrypoint-missing", fmt::format("there is no program {}", base::shown(out_.named)),
                     out_.is_command ? "name the program by its path" : "for a command: cordon profile -- COMMAND");
    out_.project = host_.facts.paths.at(around).real;
    if (!out_.is_command) out_.project = parent_of(fact.real);
    return {};
  }

  void place_it() {
    out_.anchors.home = host_.facts.home;
    out_.base.entrypoint.written = policy::draft::relocatable(out_.base.entrypoint.path, out_.anchors);
    out_.base.entrypoint.at = from_here();
    if (!out_.out.empty()) out_.base.manifest = {.written = out_.out, .path = out_.out, .at = from_here()};
    const std::string& text = host_.facts.texts[out_.base.entrypoint.path];
    if (!text.contains('\0')) out_.script = text;
  }

  /// A directory that is there inside whether or not a line names it, or that may be granted.
  [[nodiscard]] bool can_stand_there() const {
    const std::string& here = out_.project;
    if (here == "/" || here == "/tmp" || here == host_.facts.home) return true;
    return policy::draft::floor_of(policy::draft::Access::kWrite, here, host_.facts).empty();
  }

  base::Result<void, Stop> stand_where_the_user_does() {
    const std::string program = out_.base.entrypoint.path;
    const plan::PathFact& fact = host_.facts.paths.at(program);
    if (!out_.is_command || parent_of(fact.real) == out_.project || program.contains('=') || !can_stand_there())
      return {};
    plan::Questions questions;
    questions.paths = {kEnv};
    CORDON_OK(answer(questions));
    if (host_.facts.paths.at(kEnv).state != plan::PathState::kPresent) return {};
    out_.alone = out_.base;
    policy::Policy& base = out_.base;
    std::vector<Text> words = {{.value = "-C", .at = from_here()}, {.value = out_.project, .at = from_here()}};
    if (!base.interpreter.empty()) words.push_back({.value = base.interpreter.value, .at = from_here()});
    if (!base.interpreter_path.empty()) words.back().value = base.interpreter_path;
    words.insert(words.end(), base.interpreter_args.begin(), base.interpreter_args.end());
    words.push_back({.value = program, .at = from_here()});
    words.insert(words.end(), base.args.begin(), base.args.end());
    const policy::PathGrant itself = base.entrypoint;
    base.args = std::move(words);
    base.exec.mode = base.interpreter.empty() ? policy::ExecMode::kList : policy::ExecMode::kAll;
    if (base.interpreter.empty()) base.exec.programs = {itself};
    base.interpreter = {};
    base.interpreter_path.clear();
    base.interpreter_args.clear();
    base.entrypoint = {.written = kEnv, .path = kEnv, .at = from_here()};
    const bool in_every_run = program.starts_with("/usr/") || program.starts_with("/bin/");
    if (!in_every_run) base.read.push_back(itself);
    return {};
  }

  /// What the kernel would find by itself needs no line.
  base::Result<void, Stop> find_interpreter() {
    const std::string given = arguments_.value("--interpreter");
    if (!given.empty()) return set_interpreter(given);
    const plan::ProgramFact& fact = host_.facts.programs.at(out_.base.entrypoint.path);
    if (!fact.found || fact.hops.empty()) return guess_by_name();
    const plan::ProgramHop& hop = fact.hops.front();
    const bool starts = hop.file.executable && hop.format != plan::ProgramFormat::kUnknown;
    if (starts) return {};
    if (hop.format != plan::ProgramFormat::kScript) return guess_by_name();
    return set_by_shebang(hop);
  }

  base::Result<void, Stop> set_by_shebang(const plan::ProgramHop& hop) {
    if (!hop.via_env) {
      if (!hop.shebang_argument.empty())
        out_.base.interpreter_args.push_back({.value = hop.shebang_argument, .at = from_here()});
      return set_interpreter(hop.shebang_interpreter);
    }
    for (const std::string& word : hop.arguments)
      out_.base.interpreter_args.push_back({.value = word, .at = from_here()});
    const std::string& argument = hop.shebang_argument;
    const std::size_t name = argument.starts_with("-S") ? argument.find_first_not_of(' ', 2) : 0;
    return set_interpreter(argument.substr(name, argument.find(' ', name) - name));
  }

  base::Result<void, Stop> guess_by_name() {
    constexpr auto kByName = std::to_array<std::pair<std::string_view, std::string_view>>({{".py", "python3"},
                                                                                           {".sh", "bash"},
                                                                                           {".bash", "bash"},
                                                                                           {".js", "node"},
                                                                                           {".mjs", "node"},
                                                                                           {".cjs", "node"},
                                                                                           {".rb", "ruby"},
                                                                                           {".pl", "perl"}});
    for (const auto& [ending, program] : kByName)
      if (out_.base.entrypoint.path.ends_with(ending)) return set_interpreter(std::string(program));
    return {};
  }

  base::Result<void, Stop> set_interpreter(const std::string& named) {
    out_.base.interpreter = {.value = named, .at = from_here()};
    if (!named.contains('/')) return {};
    out_.base.interpreter_path = absolute(named);
    out_.base.interpreter.value = policy::draft::relocatable(out_.base.interpreter_path, out_.anchors);
    return {};
  }

  const Invocation& invocation_;
  const Arguments& arguments_;
  Host& host_;
  Subject out_;
};

}  // namespace

base::Result<Subject, Stop> subject_of(const Invocation& invocation, const Arguments& arguments, Host& host) {
  return Reader(invocation, arguments, host).read();
}

bool starts_the_same(const Subject& subject, const policy::Policy& one, const policy::Policy& other) {
  if (one.entrypoint.path != other.entrypoint.path) return false;
  if (!subject.alone || one.entrypoint.path != kEnv) return true;
  constexpr std::size_t kWhereAndWhat = 3;  // -C, the directory, the program
  return one.args.size() >= kWhereAndWhat && other.args.size() >= kWhereAndWhat &&
         std::ranges::equal(std::span(one.args).first(kWhereAndWhat), std::span(other.args).first(kWhereAndWhat), {},
                            &Text::value, &Text::value);
}

policy::Policy discovery_policy(const Subject& subject, const Invocation& invocation, policy::Posture posture,
                                OwnDirectory own, policy::draft::Forwarding forwarding) {
  policy::Policy out = subject.base;
  out.exec.mode = policy::ExecMode::kAll;
  out.exec.programs.clear();
  for (const char* name : kEnvironment)
    if (invocation.caller.environment.contains(name))
      out.env.push_back({.name = name, .supplied = {}, .at = from_here()});
  const policy::PathGrant directory{.written = subject.project, .path = subject.project, .at = from_here()};
  if (own == OwnDirectory::kWritten) out.write.push_back(directory);
  if (own == OwnDirectory::kRead) out.read.push_back(directory);
  if (forwarding == policy::draft::Forwarding::kAllowed)
    out.network.push_back({.host = "*", .port = "*", .reason = {}, .at = from_here()});
  out.posture = std::move(posture);
  out.posture.watch = policy::Watch::kPaths;
  out.posture.home = policy::HomeShown::kEmpty;
  out.posture.ask = forwarding == policy::draft::Forwarding::kRefused;
  return out;
}

}  // namespace cordon::cli
