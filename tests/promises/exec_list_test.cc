// Promise: under `exec:` as a list the programs in it start, with what they need, and nothing else does: no other
// program, no copy, nothing that the target wrote, whether the kernel starts it or a loader maps it.

#include "support/promise.h"

namespace cordon::test {
namespace {
using testing::HasSubstr;

CORDON_PROMISE(ExecList);

std::string loader() {
#if defined(__x86_64__)
  return "/lib64/ld-linux-x86-64.so.2";
#else
  return "/lib/ld-linux-aarch64.so.1";
#endif
}

/// A shell script as the entrypoint; what it says.
Finished script(const Scene& scene, const std::string& text, const std::string& extra) {
  scene.tree().write("work/run.sh", "#!/bin/sh\n" + text, 0755);
  return scene.sandboxed("entrypoint: ./run.sh\n" + extra);
}

TEST_P(ExecList, ListedProgramsStartAndOthersAreRefused) {
  const std::string exec = "exec: ['true', /usr/bin/env]\n";
  allowed_inside({"exec=/usr/bin/true", "exec=/bin/true", "execveat=/usr/bin/true", "exec=/usr/bin/env", "fork"}, exec);
  denied_inside({"exec=/usr/bin/id", "exec=/bin/sh", "execveat=/usr/bin/id", "exec-memfd=/usr/bin/true"}, exec);
  const Finished inside = scene.acts({"exec=/usr/bin/id", "exec=/usr/bin/nothing"}, exec);
  EXPECT_EQ(verdict(inside, "exec=/usr/bin/id"), "DENIED EACCES") << inside;
  EXPECT_EQ(verdict(inside, "exec=/usr/bin/nothing"), "DENIED ENOENT") << inside;
}

TEST_P(ExecList, WhatIsWrittenIsNeitherStartedNorMapped) {
  scene.tree().copy("work/out/program", programs().act);
  scene.tree().copy("work/out/renamed", "/usr/bin/true");
  denied_inside({"exec=" + scene.in_work("out/program"), "mmap-exec=" + scene.in_work("out/program"),
                 "execveat=" + scene.in_work("out/program"), "exec=" + scene.in_work("out/renamed")},
                list("write", {"./out"}) + "exec: ['true']\n");
}

TEST_P(ExecList, APayloadWrittenAtRunTimeIsNotStarted) {
  scene.tree().make_directory("work/out");
  for (const std::string& place : {std::string("/tmp"), scene.in_work("out"), std::string("/dev/shm")}) {
    const std::string payload = place + "/payload";
    const std::string text = "cp /usr/bin/id " + payload + " && chmod +x " + payload + " && echo copied\n" + payload +
                             " && echo started\n" + loader() + " " + payload + " && echo loaded\ntrue\n";
    const Finished inside = script(scene, text, list("write", {"./out"}) + "exec: [cp, chmod, 'true']\n");
    EXPECT_EQ(inside.out, "copied\n") << place << inside;
    const Finished control = script(scene, text, list("write", {"./out"}) + "exec: all\n");
    if (place == "/dev/shm") continue;  // noexec in every run
    EXPECT_THAT(control.out, HasSubstr("started\n")) << place << control;
    EXPECT_THAT(control.out, HasSubstr("loaded\n")) << place << control;
  }
}

TEST_P(ExecList, TheLoaderRunsNoProgramThatIsNotListed) {
  const std::string text =
      loader() + " /usr/bin/true && echo listed\n" + loader() + " /usr/bin/id && echo unlisted\ntrue\n";
  const Finished inside = script(scene, text, "exec: ['true']\n");
  EXPECT_EQ(inside.out, "listed\n") << inside;
  EXPECT_THAT(script(scene, text, "exec: all\n").out, HasSubstr("unlisted\n")) << "the control";
}

TEST_P(ExecList, ATextIsNotStartedByAnInterpreterThatIsNotListed) {
  scene.tree().write("work/tool", "#!/usr/bin/perl\nprint \"ran\\n\";\n", 0755);
  const std::string text = scene.in_work("tool") + " || echo refused\n";
  EXPECT_EQ(script(scene, text, list("read", {"./tool"}) + "exec: ['true']\n").out, "refused\n");
  EXPECT_EQ(script(scene, text, list("read", {"./tool"}) + "exec: [./tool]\n").out, "ran\n");
}

TEST_P(ExecList, AChainOfInterpretersComesWithItsProgram) {
  scene.tree().write("work/tool", "#!/usr/bin/env python3\nprint('ran')\n", 0755);
  const Finished inside = script(scene, "./tool\n", list("read", {"./tool"}) + "exec: [./tool]\n");
  EXPECT_EQ(inside.out, "ran\n") << inside;
}

TEST_P(ExecList, TheEntrypointAndItsInterpreterAreAlwaysInIt) {
  scene.tree().write("work/run.py",
                     "#!/usr/bin/env python3\nimport os, sys\n"
                     "if len(sys.argv) > 1: print('again')\n"
                     "else: sys.stdout.flush(); os.execv(sys.argv[0], [sys.argv[0], 'x'])\n",
                     0755);
  const Finished inside = scene.sandboxed("entrypoint: ./run.py\nexec: ['true']\n");
  EXPECT_EQ(inside.out, "again\n") << inside;
}

TEST_P(ExecList, AListedInterpreterStartsNothingElse) {
  const std::string python =
      "python3 -c \"import ctypes, ssl, subprocess\n"
      "try: subprocess.run(['/usr/bin/id']); print('started')\n"
      "except PermissionError: print('refused')\n"
      "\"\n";
  EXPECT_EQ(script(scene, python, "exec: [python3]\n").out, "refused\n") << script(scene, python, "exec: [python3]\n");
  EXPECT_THAT(script(scene, python, "exec: all\n").out, HasSubstr("started\n")) << "the control";
}

TEST_P(ExecList, AVirtualEnvironmentLoadsItsModules) {
  const Finished where = scene.bare(
      {"python3", "-c", "import sys, _ctypes; print('%d.%d' % sys.version_info[:2]); print(_ctypes.__file__)"});
  const std::string version = where.out.substr(0, where.out.find('\n'));
  const std::string module = where.out.substr(version.size() + 1, where.out.rfind('\n') - version.size() - 1);
  const std::string packages = "work/venv/lib/python" + version + "/site-packages";
  scene.tree().write("work/venv/pyvenv.cfg", "home = /usr/bin\n");
  scene.tree().make_directory("work/venv/bin");
  scene.tree().link("work/venv/bin/python", "/usr/bin/python3");
  scene.tree().copy(packages + "/module.so", module);
  scene.tree().copy("work/out/module.so", module);
  scene.tree().write("work/run.py",
                     "import ctypes, sys\n"
                     "ctypes.CDLL(sys.prefix + '/lib/python" +
                         version +
                         "/site-packages/module.so'); print('loaded')\n"
                         "try: ctypes.CDLL('out/module.so'); print('written one loaded')\n"
                         "except OSError: print('refused')\n");
  for (const char* more : {"read: [./venv]\n", ""}) {
    const Finished inside = scene.sandboxed("entrypoint: ./run.py\ninterpreter: ./venv/bin/python\nexec: ['true']\n" +
                                            list("write", {"./out"}) + more);
    EXPECT_EQ(inside.out, "loaded\nrefused\n") << more << inside;
  }
}

TEST_P(ExecList, MemoryIsNoFileToStartFrom) {
  const std::string python =
      "import os\n"
      "try:\n"
      "  fd = os.memfd_create('payload', os.MFD_CLOEXEC)\n"
      "  os.write(fd, open('/usr/bin/true', 'rb').read())\n"
      "  pid = os.fork()\n"
      "  if pid == 0: os.execve('/proc/self/fd/%d' % fd, ['x'], {})\n"
      "  print('status', os.waitpid(pid, 0)[1])\n"
      "except PermissionError as e: print('refused', e.errno)\n";
  scene.tree().write("work/run.py", "#!/usr/bin/python3\n" + python, 0755);
  EXPECT_EQ(scene.sandboxed("entrypoint: ./run.py\nexec: ['true']\n").out, "refused 1\n");
  EXPECT_EQ(scene.sandboxed("entrypoint: ./run.py\nexec: all\n").out, "status 0\n") << "the control";
}

// MFD_NOEXEC_SEAL keeps such a file from execve alone.
TEST_P(ExecList, NorIsASealedOneThatALoaderMaps) {
  const std::string python =
      "import os, subprocess\n"
      "try:\n"
      "  fd = os.memfd_create('payload', 8)\n"
      "  os.write(fd, open('/usr/bin/true', 'rb').read())\n"
      "  print('status', subprocess.run(['" +
      loader() +
      "', '/proc/self/fd/%d' % fd], pass_fds=[fd]).returncode)\n"
      "except PermissionError as e: print('refused', e.errno)\n";
  scene.tree().write("work/run.py", "#!/usr/bin/python3\n" + python, 0755);
  EXPECT_EQ(scene.sandboxed("entrypoint: ./run.py\nexec: ['true']\n").out, "refused 1\n");
  EXPECT_EQ(scene.sandboxed("entrypoint: ./run.py\nexec: all\n").out, "status 0\n") << "the control";
}

TEST_P(ExecList, AListedProgramInAWriteGrantIsNotReplaced) {
  scene.tree().copy("work/out/tool", "/usr/bin/id");
  const std::string tool = scene.in_work("out/tool");
  const std::string text =
      "./out/tool >/dev/null && echo ran\ncp /usr/bin/true ./out/tool || echo held\n"
      "mv ./out/tool ./out/other || echo pinned\n";
  const Finished inside = script(scene, text, list("write", {"./out"}) + "exec: [./out/tool, cp, mv]\n");
  EXPECT_EQ(inside.out, "ran\nheld\npinned\n") << inside;
}

TEST_P(ExecList, ANameIsLookedUpOnTheTargetsPath) {
  scene.tree().copy("home/bin/tool", "/usr/bin/true");
  scene.tree().write("work/run.sh", "#!/bin/sh\ntool && echo ran\n", 0755);
  const std::string yaml = "entrypoint: ./run.sh\nexec: [tool]\nenv: [PATH]\n" + list("read", {scene.home() + "/bin"});
  const std::string path = scene.home() + "/bin:/usr/bin:/bin", manifest = scene.manifest(yaml);
  EXPECT_EQ(scene.cordon({"approve", "--yes", manifest}).env("PATH", path).run().code, 0);
  const Finished inside = scene.cordon({"run", manifest}).env("PATH", path).run();
  EXPECT_EQ(inside.out, "ran\n") << inside;
  const Finished refused = scene.approve(scene.manifest("entrypoint: ./run.sh\nexec: [tool]\n"));
  EXPECT_EQ(refused.code, 125) << refused;
  EXPECT_TRUE(refused.says("tool is not on the target's PATH (/usr/bin:/bin)")) << refused;
}

TEST_P(ExecList, AnotherNameOfAListedProgramThatTheTargetMayWriteIsRefused) {
  for (const char* app : {"out/app", "bin/app"}) {
    scene.tree().copy(std::string("work/") + app, "/usr/bin/true");
    scene.tree().make_directory("work/out/deps");
    const std::string other = scene.in_work("out/deps/app-1");
    EXPECT_EQ(scene.bare({"ln", "-f", scene.in_work(app), other}).code, 0);
    scene.tree().write("work/run.sh", "#!/bin/sh\n", 0755);
    const std::string yaml = std::string("entrypoint: ./run.sh\nexec: [./") + app + ", cat]\nread: [.]\n";
    const Finished refused = scene.approve(scene.manifest(yaml + list("write", {"./out"})));
    EXPECT_EQ(refused.code, 125) << app << refused;
    EXPECT_TRUE(refused.says(other) && refused.says("hard link")) << app << refused;
    EXPECT_EQ(scene.approve(scene.manifest(yaml)).code, 0) << "nothing is written";
  }
}

TEST_P(ExecList, ANameOrALibraryThatIsLookedForWhereTheTargetMayWriteIsRefused) {
  scene.tree().make_directory("work/bin");
  scene.tree().write("work/run.sh", "#!/bin/sh\n", 0755);
  const std::string bin = scene.in_work("bin");
  const std::string yaml = "entrypoint: ./run.sh\nexec: [git, cp]\nread: [.]\n" + list("write", {"./bin"});
  const auto approved = [&](const std::string& variable, const std::string& value) {
    const std::string manifest = scene.manifest(yaml + list("env", {variable}));
    return scene.cordon({"approve", "--yes", manifest}).env(variable, value).run();
  };
  for (const std::string& before : {bin, bin + "/absent"}) {
    const Finished refused = approved("PATH", before + ":/usr/bin:/bin");
    EXPECT_EQ(refused.code, 125) << refused;
    EXPECT_TRUE(refused.says("is looked for in " + before)) << refused;
    EXPECT_TRUE(approved("LD_LIBRARY_PATH", before).says("a library is looked for in " + before));
  }
  const Finished behind = approved("PATH", "/usr/bin:/bin:" + bin);
  EXPECT_EQ(behind.code, 0) << behind;
}

TEST_P(ExecList, ADirectoryNamedAfterAProgramIsNotOpenedToItsLoader) {
  scene.tree().copy("work/bin/mytool", "/usr/bin/true");
  for (const char* to : {"/usr/bin", ""}) {
    scene.tree().remove("work/lib");
    if (*to != '\0') {
      scene.tree().link("work/lib/mytool", to);
    } else {
      scene.tree().copy("work/lib/mytool/id", "/usr/bin/id");
    }
    const std::string program = *to != '\0' ? "/usr/bin/id" : scene.in_work("lib/mytool/id");
    const std::string text = "./bin/mytool && echo listed\n" + loader() + " " + program + " && echo unlisted\ntrue\n";
    const std::string read = "read: [./bin, ./lib]\n";
    EXPECT_EQ(script(scene, text, read + "exec: [./bin/mytool]\n").out, "listed\n");
    EXPECT_THAT(script(scene, text, read + "exec: all\n").out, HasSubstr("unlisted\n")) << "the control";
  }
}

TEST_P(ExecList, AChangeOfWhatItsLinesLeadToIsNotRunUnseen) {
  scene.tree().copy("work/one/tool", "/usr/bin/true");
  scene.tree().copy("work/two/tool", "/usr/bin/id");
  scene.tree().write("work/run.sh", "#!/bin/sh\ntool && echo ran\n", 0755);
  const std::string manifest =
      scene.manifest("entrypoint: ./run.sh\nexec: [tool]\nenv: [PATH]\nread: [./one, ./two]\n");
  const std::string one = scene.in_work("one"), two = scene.in_work("two");
  EXPECT_EQ(scene.cordon({"approve", "--yes", manifest}).env("PATH", one + ":/usr/bin").run().code, 0);
  EXPECT_EQ(scene.cordon({"run", manifest}).env("PATH", one + ":/usr/bin").run().out, "ran\n");
  const Finished changed = scene.cordon({"run", manifest}).env("PATH", two + ":/usr/bin").run();
  EXPECT_EQ(changed.code, 125) << changed;
  EXPECT_TRUE(changed.says("'exec: tool' leads to " + two + "/tool")) << changed;
}

TEST_P(ExecList, ProjectsAreBuiltAndCommittedWithTheHelpersListed) {
  const auto helper = [&](const std::string& name) {
    const std::string out = scene.bare({"gcc", "-print-prog-name=" + name}).out;
    return out.substr(0, out.find('\n'));
  };
  scene.tree().write("work/out/main.c", "int main(void) { return 0; }\n");
  scene.tree().write("work/out/Makefile", "main: main.c\n\tgcc -o main main.c\n");
  const Finished built =
      script(scene, "cd out && make >/dev/null && echo built\n",
             list("write", {"./out"}) + list("exec", {"make", "gcc", "as", "ld", helper("cc1"), helper("collect2")}));
  EXPECT_EQ(built.out, "built\n") << built;
  scene.tree().make_directory("work/repo");
  EXPECT_EQ(scene.bare({"git", "init", "-q", scene.in_work("repo")}).code, 0);
  const Finished committed =
      script(scene,
             "cd repo && echo x >f && git add f && git -c user.name=a -c user.email=b commit -qm c && "
             "git status --short && echo committed\n",
             list("write", {"./repo"}) + "exec: [git, /usr/lib/git-core/git]\n");
  EXPECT_EQ(committed.out, "committed\n") << committed;
}

TEST_P(ExecList, NobodyIsShownAFileBecauseOfIt) {
  scene.tree().copy("home/tool", "/usr/bin/true");
  const std::string yaml = act_manifest({"stat=" + scene.home() + "/tool"}, "exec: ['" + scene.home() + "/tool']\n");
  const Finished refused = scene.approve(scene.manifest(yaml));
  EXPECT_EQ(refused.code, 125) << refused;
  EXPECT_TRUE(refused.says("add 'read: " + scene.home() + "/tool'")) << refused;
}

}  // namespace
}  // namespace cordon::test
