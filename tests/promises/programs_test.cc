// Promise: ordinary programs run unchanged, each under its own approved manifest, and what it does not grant fails: a
// Python script, a Node script, a compiled C program, a shell script, make, git, an interactive shell (terminal_test).

#include <unistd.h>

#include "support/promise.h"

namespace cordon::test {
namespace {
using testing::HasSubstr;
using testing::Not;

class RealPrograms : public Promise {
 protected:
  /// Runs bare (the control: everything works) and inside; both outputs are the caller's to look at.
  struct Both {
    Finished outside, inside;
  };
  [[nodiscard]] Both both(const std::vector<std::string>& argv, const std::string& yaml) const {
    const Finished outside = scene.bare(argv);
    return {.outside = outside, .inside = scene.sandboxed(yaml)};
  }
};
INSTANTIATE_TEST_SUITE_P(As, RealPrograms, testing::ValuesIn(identities()), identity_name);

TEST_P(RealPrograms, APythonScript) {
  scene.tree().write("work/in/numbers.txt", "1\n2\n3\n");
  scene.tree().make_directory("work/out");
  scene.tree().write("home/secret.txt", "s");
  scene.tree().write("work/sum.py", R"(import json, os, pathlib, socket, subprocess, sys, tempfile, threading
total = sum(int(n) for n in pathlib.Path("in/numbers.txt").read_text().split())
pathlib.Path("out/total.json").write_text(json.dumps({"total": total}))
with tempfile.NamedTemporaryFile() as scratch: scratch.write(b"x")
worker = threading.Thread(target=lambda: print("thread ok")); worker.start(); worker.join()
def attempt(name, act):
    try: act(); print(name, "worked")
    except OSError as error: print(name, "failed", type(error).__name__)
attempt("secret", lambda: open(sys.argv[1]).read())
attempt("subprocess", lambda: subprocess.run(["/bin/true"], check=True))
attempt("rewrite", lambda: open("in/numbers.txt", "a").write(""))
)");
  const auto [outside, inside] =
      both({"/usr/bin/python3", "sum.py", scene.home() + "/secret.txt"},
           "entrypoint: ./sum.py\ninterpreter: /usr/bin/python3\nread: [./in]\nwrite: [./out]\n" +
               list("args", {scene.home() + "/secret.txt"}));
  EXPECT_EQ(outside.out, "thread ok\nsecret worked\nsubprocess worked\nrewrite worked\n") << outside;
  EXPECT_EQ(inside.out,
            "thread ok\nsecret failed FileNotFoundError\nsubprocess failed PermissionError\nrewrite failed OSError\n")
      << inside;
  EXPECT_EQ(inside.code, 0);
  EXPECT_EQ(scene.tree().read("work/out/total.json"), "{\"total\": 6}");
}

TEST_P(RealPrograms, ANodeScript) {
  scene.tree().write("work/in.json", "{\"a\": 1}");
  scene.tree().make_directory("work/out");
  scene.tree().write("home/secret.txt", "s");
  scene.tree().write("work/app.js", R"(const fs = require('fs'), { spawnSync } = require('child_process');
const a = JSON.parse(fs.readFileSync('in.json')).a;
fs.writeFileSync('out/result.txt', String(a + 1));
const attempt = (name, act) => { try { act(); console.log(name, 'worked'); } catch (e) { console.log(name, 'failed', e.code); } };
attempt('secret', () => fs.readFileSync(process.argv[2]));
attempt('spawn', () => { const r = spawnSync('/bin/true'); if (r.error) throw r.error; });
attempt('rewrite', () => fs.appendFileSync('in.json', ' '));
Promise.resolve().then(() => console.log('async ok'));
)");
  const auto [outside, inside] =
      both({"/usr/bin/node", "app.js", scene.home() + "/secret.txt"},
           "entrypoint: ./app.js\ninterpreter: /usr/bin/node\nread: [./in.json]\nwrite: [./out]\n" +
               list("args", {scene.home() + "/secret.txt"}));
  EXPECT_EQ(outside.out, "secret worked\nspawn worked\nrewrite worked\nasync ok\n") << outside;
  EXPECT_EQ(inside.out, "secret failed ENOENT\nspawn failed EPERM\nrewrite failed EROFS\nasync ok\n") << inside;
  EXPECT_EQ(inside.code, 0);
  EXPECT_EQ(scene.tree().read("work/out/result.txt"), "2");
}

TEST_P(RealPrograms, ACompiledCProgram) {
  scene.tree().write("work/tool.c", R"(#include <errno.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    FILE *file = fopen(argv[i], "r");
    printf("%d %s\n", i, file ? "read" : strerror(errno));
  }
  FILE *out = fopen("out/made", "w");
  return out && fputs("made", out) >= 0 && fclose(out) == 0 ? 0 : 1;
}
)");
  scene.tree().write("work/in.txt", "i");
  scene.tree().write("home/secret.txt", "s");
  scene.tree().make_directory("work/out");
  ASSERT_EQ(scene.bare({"/usr/bin/gcc", "-o", "tool", "tool.c"}).code, 0);
  const auto [outside, inside] = both({"./tool", "in.txt", scene.home() + "/secret.txt"},
                                      "entrypoint: ./tool\nread: [./in.txt]\nwrite: [./out]\n" +
                                          list("args", {"in.txt", scene.home() + "/secret.txt"}));
  EXPECT_EQ(outside.out, "1 read\n2 read\n") << outside;
  EXPECT_EQ(inside.out, "1 read\n2 No such file or directory\n") << inside;
  EXPECT_EQ(inside.code, 0);
  EXPECT_EQ(scene.tree().read("work/out/made"), "made");
}

TEST_P(RealPrograms, AShellScript) {
  scene.tree().write("work/in.txt", "b\na\n");
  scene.tree().write("home/secret.txt", "s");
  scene.tree().make_directory("work/out");
  scene.tree().write("work/job.sh",
                     "#!/bin/sh\nsort in.txt | tr a-z A-Z >out/sorted && cat out/sorted\n"
                     "cat \"$1\" >/dev/null 2>&1 && echo secret || echo no secret\n"
                     "echo x 2>/dev/null >in.txt && echo rewrote || echo not rewritten\n",
                     0755);
  const std::string secret = scene.home() + "/secret.txt";
  const Finished inside =
      scene.sandboxed("entrypoint: ./job.sh\nexec: all\nread: [./in.txt]\nwrite: [./out]\n" + list("args", {secret}));
  EXPECT_EQ(inside.out, "A\nB\nno secret\nnot rewritten\n") << inside;
  EXPECT_EQ(inside.code, 0);
  const Finished outside = scene.bare({"./job.sh", secret});
  EXPECT_EQ(outside.out, "A\nB\nsecret\nrewrote\n") << outside;
}

TEST_P(RealPrograms, AShellScriptUnderExecNoneStartsNothing) {
  scene.tree().write("work/job.sh", "#!/bin/sh\necho builtin\n/bin/cat /dev/null\necho $?\n", 0755);
  const Finished inside = scene.sandboxed("entrypoint: ./job.sh\n");
  EXPECT_THAT(inside.out, testing::StartsWith("builtin\n12")) << inside;
  EXPECT_TRUE(inside.says("Operation not permitted")) << inside;
}

TEST_P(RealPrograms, MakeOverASmallCProject) {
  scene.tree().write("work/project/main.c", "int twice(int);\nint main(void) { return twice(21) == 42 ? 0 : 1; }\n");
  scene.tree().write("work/project/twice.c", "int twice(int n) { return 2 * n; }\n");
  scene.tree().write("work/project/Makefile",
                     "OBJ = main.o twice.o\nall: app\n\t./app && echo tested\napp: $(OBJ)\n\t$(CC) -o $@ $(OBJ)\n"
                     "steal:\n\tcp ../../home/secret.txt stolen\n");
  scene.tree().write("work/project/build.sh", "#!/bin/sh\nset -e\nmake -j2 all\nmake steal || echo not stolen\n", 0755);
  scene.tree().write("home/secret.txt", "s");
  const Finished inside = scene.sandboxed("entrypoint: ./project/build.sh\nexec: all\nwrite: [./project]\n");
  EXPECT_EQ(inside.code, 0) << inside;
  EXPECT_THAT(inside.out, HasSubstr("tested\n")) << inside;
  EXPECT_THAT(inside.out, HasSubstr("not stolen\n")) << inside;
  EXPECT_TRUE(scene.tree().exists("work/project/app"));
  EXPECT_FALSE(scene.tree().exists("work/project/stolen"));
  ASSERT_EQ(scene.bare({"/usr/bin/make", "-C", "project", "clean", "steal"}).code, 2) << "no rule clean";
  EXPECT_EQ(scene.bare({"/usr/bin/make", "-C", "project", "steal"}).code, 0) << "the control, bare";
}

TEST_P(RealPrograms, GitLogInARepository) {
  const std::string repository = scene.tree().make_directory("work/repo");
  scene.tree().write("work/repo/a.txt", "a");
  const std::string git = "git -c user.name=t -c user.email=t@example.com ";
  ASSERT_EQ(
      scene.bare({"/bin/sh", "-c", "cd repo && git init -q && git add a.txt && " + git + "commit -q -m first"}).code,
      0);
  scene.tree().write("work/repo/log.sh",
                     "#!/bin/sh\ngit log --format=%s\ngit status --porcelain a.txt\n" + git +
                         "commit -q --allow-empty -m second 2>/dev/null && echo committed || echo not committed\n",
                     0755);
  const Finished inside = scene.sandboxed("entrypoint: ./repo/log.sh\nexec: all\nread: [./repo]\n");
  EXPECT_EQ(inside.out, "first\nnot committed\n") << inside;
  const Finished outside = scene.bare({"/bin/sh", "-c", "cd repo && ./log.sh"});
  EXPECT_EQ(outside.out, "first\ncommitted\n") << outside;
}

TEST_P(RealPrograms, AnEntrypointWithoutInterpreterIsFoundByItsShebangWithArguments) {
  scene.tree().write("work/script", "#!/usr/bin/python3 -sE\nimport sys; print(sys.flags.no_user_site)\n", 0755);
  const Finished inside = scene.sandboxed("entrypoint: ./script\n");
  EXPECT_EQ(inside.out, "1\n") << inside;
}

TEST_P(RealPrograms, EnvDashSInAShebang) {
  scene.tree().write("work/script", "#!/usr/bin/env -S python3 -s -E\nimport sys; print(sys.flags.no_user_site)\n",
                     0755);
  const Finished inside = scene.sandboxed("entrypoint: ./script\n");
  EXPECT_EQ(inside.out, "1\n") << inside;
}

TEST_P(RealPrograms, InterpreterArgumentsStandBeforeTheEntrypoint) {
  scene.tree().write("work/script.py", "import sys; print(sys.flags.optimize, sys.argv[1:])\n");
  const Finished inside = scene.sandboxed(
      "entrypoint: ./script.py\ninterpreter: python3\ninterpreter_args: ['-O']\nargs: ['~', '$HOME', '*']\n");
  EXPECT_EQ(inside.out, "1 ['~', '$HOME', '*']\n") << inside;
}

}  // namespace
}  // namespace cordon::test
