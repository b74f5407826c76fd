// The parsers against what they stand for: the kernel's reading of `#!` lines, and env(1)'s of its argument.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "host/host_testing.h"
#include "host/program_format.h"

namespace cordon::host {
namespace {

using std::string_literals::operator""s;
using testing::TempTree;

/// What the program prints, or "refused" where it cannot be executed.
std::string output_of(const std::string& program, std::vector<std::string> argv) {
  std::array<int, 2> pipe{};
  EXPECT_EQ(::pipe(pipe.data()), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(pipe[1], 1);
    ::close(pipe[0]);
    ::close(pipe[1]);
    std::vector<char*> pointers;
    for (std::string& one : argv) pointers.push_back(one.data());
    pointers.push_back(nullptr);
    std::array<char*, 1> environment{nullptr};
    ::execve(program.c_str(), pointers.data(), environment.data());
    ::_exit(126);
  }
  ::close(pipe[1]);
  std::string text;
  std::array<char, 4096> chunk{};
  for (ssize_t n = 0; (n = ::read(pipe[0], chunk.data(), chunk.size())) > 0;)
    text.append(chunk.data(), static_cast<std::size_t>(n));
  ::close(pipe[0]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : "refused";
}

TEST(KernelAgrees, OnShebangLines) {
  const TempTree tree;
  const std::vector<std::string> heads = {
      "#!/bin/echo\n",
      "#!/bin/echo",
      "#! \t/bin/echo  \n",
      "#!/bin/echo one\n",
      "#!/bin/echo one two  \t\nthree\n",
      "#!/bin/echo one",
      "#!/bin/echo ",
      "#!/bin/echo\0one\n"s,
      "#!/bin/echo one\0two\n"s,
      "#!/bin/echo " + std::string(400, 'a') + "\n",
      "#!/bin/echo " + std::string(243, 'a') + "\n",
      "#!/bin/echo " + std::string(243, 'a') + "bc\n",
      "#!" + std::string(244, '/') + "/bin/echo\n",
      "#!" + std::string(243, '/') + "/bin/echo\n",
      "#!" + std::string(245, '/') + "/bin/echo\n",
      "#!" + std::string(242, '/') + "/bin/echo x\n",
      "#!" + std::string(240, ' ') + "/bin/echo\n",
      "#!" + std::string(243, ' ') + "/bin/echo\n",
      "#!" + std::string(247, ' ') + "/bin/echo\n",
      "#!\n/bin/echo\n",
      "#!\0/bin/echo\n"s,
      "#! \0/bin/echo\n"s,
      "#!",
  };
  int index = 0;
  for (const std::string& head : heads) {
    const std::string script = tree.file("s" + std::to_string(index++), head, 0755);
    const auto line = parse_shebang(head.substr(0, kHeadSize));
    std::string want = "refused";
    if (line) want = (line->argument ? *line->argument + " " : "") + script + "\n";
    EXPECT_EQ(output_of(script, {script}), want) << ::testing::PrintToString(head);
  }
}

TEST(EnvAgrees, OnSplitStrings) {
  const std::vector<std::string> arguments = {
      "echo",
      "-S echo a b",
      "-Secho a",
      "--split-string=echo a",
      "-S echo 'a  b' \"c  d\"",
      "-S echo a\"b\"'c'd",
      "-S echo a\\_b",
      "-S echo \"a\\_\\_b\"",
      "-S echo \\\\ \\# \\$ \\\" \\'",
      "-S echo '\\n' '\\'' '\\q'",
      "-S echo a # b",
      "-S echo a#b \\#c",
      "-S echo a\\cb",
      "-S echo a \\c b",
      "-S echo '$HOME'",
      "-S echo \\t. \\v. \\f. \\r. \\n.",
      "-S \t echo \n a",
      "-S echo '#a' \"#b\"",
  };
  for (const std::string& argument : arguments) {
    const auto command = parse_env_argument(argument);
    ASSERT_TRUE(command) << argument;
    EXPECT_EQ(command->name, "echo") << argument;
    std::vector<std::string> argv = {"echo"};
    argv.insert(argv.end(), command->arguments.begin(), command->arguments.end());
    EXPECT_EQ(output_of("/usr/bin/env", {"env", argument}), output_of("/bin/echo", argv)) << argument;
  }
}

TEST(EnvAgrees, OnWhatItRefuses) {
  for (const char* argument : {"-S echo 'open", "-S echo \\q", "-S echo \\", "-S echo \"a\\cb\"", "-S echo $HOME"}) {
    EXPECT_FALSE(parse_env_argument(argument)) << argument;
    EXPECT_EQ(output_of("/usr/bin/env", {"env", argument}), "refused") << argument;
  }
}

}  // namespace
}  // namespace cordon::host
