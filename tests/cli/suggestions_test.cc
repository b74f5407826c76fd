// `run --explain`: the line that it suggests is the smallest that a person would write, and never a whole home.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/promise.h"

namespace cordon::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Suggestions : public Promise {
 protected:
  /// What is said of work/s.sh, in bash, under these lines.
  [[nodiscard]] std::string said(const std::string& text, const std::string& lines) const {
    scene.tree().write("work/s.sh", "#!/bin/bash\n" + text, 0755);
    std::string out = scene.cordon({"run", "--explain", scene.approved("entrypoint: ./s.sh\n" + lines)}).run().err;
    for (std::size_t at = out.find("\ncordon:   "); at != std::string::npos; at = out.find("\ncordon:   ", at))
      out.replace(at, out.find_first_not_of(' ', at + 9) - at, " ");
    return out;
  }
  [[nodiscard]] std::string in_work(const std::string& name) const { return scene.in_work(name); }
};
INSTANTIATE_TEST_SUITE_P(As, Suggestions, testing::ValuesIn(identities()), identity_name);

TEST_P(Suggestions, AHomeIsNeverOneAsAWhole) {
  scene.tree().make_directory("home/.cache");
  const std::string text = said("ls ~ ~/.cache; exit 1\n", "exec: all\nenv: [HOME]\n");
  EXPECT_THAT(text, AllOf(Not(HasSubstr("read: [" + scene.home() + "]")),
                          Not(HasSubstr("read: [" + scene.home() + "/.cache]"))));
}

TEST_P(Suggestions, AProgramThatTheListHasNotIsALineUnderExec) {
  const std::string text = said("/usr/bin/id; exit $?\n", "exec: [/usr/bin/date]\n");
  EXPECT_THAT(text, AllOf(HasSubstr("exec: [/usr/bin/id]"), Not(HasSubstr("read: [/usr/bin/id]")))) << text;
}

TEST_P(Suggestions, AnExistingFileIsOneByItselfAndAnOddNameIsQuoted) {
  scene.tree().write("work/data/state.txt", "");
  scene.tree().write("work/a b.txt", "x");
  const std::string text = said("echo x >>data/state.txt; cat 'a b.txt'; exit 1\n", "exec: all\nread: [./data]\n");
  EXPECT_THAT(text, HasSubstr("write: [" + in_work("data/state.txt") + "]")) << text;
  EXPECT_THAT(text, HasSubstr("read: [\"" + in_work("a b.txt") + "\"]")) << text;
}

TEST_P(Suggestions, TheDirectoryOfTheProgramIsNeverOneForWriting) {
  const std::string text = said("echo x >new.txt; exit 1\n", "exec: all\nread: [.]\n");
  EXPECT_THAT(text, AllOf(HasSubstr("new.txt"),
                          Not(HasSubstr("write: [" + in_work("").substr(0, in_work("").size() - 1) + "]"))))
      << text;
}

TEST_P(Suggestions, TheTopmostDirectoryThatItMakesIsTheLine) {
  const std::string text = said("mkdir -p out/x/y && echo >out/x/y/z || exit 3\n", "exec: all\n");
  EXPECT_THAT(text, AllOf(HasSubstr(in_work("out")), Not(HasSubstr("write: [" + in_work("out/x"))),
                          Not(HasSubstr("write: [" + in_work("").substr(0, in_work("").size() - 1) + "]"))))
      << text;
}

TEST_P(Suggestions, WhatTheCLibraryLooksAtIsNotSaid) {
  EXPECT_THAT(said("getent hosts nowhere.example; exit 1\n", "exec: all\n"), Not(HasSubstr("host.conf")));
}

}  // namespace
}  // namespace cordon::test
