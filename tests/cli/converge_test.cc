// Profile, validate, approve, run: no hand touches the manifest, and real programs work under it. For two of them every
// line is needed: without it the run is another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <sstream>

#include "support/promise.h"

namespace cordon::test {
namespace {

using testing::HasSubstr;

class Converges : public Promise {
 protected:
  /// work/NAME, profiled, validated, approved and run; what the run said.
  Finished converged(const std::string& name, const std::string& expected) const {
    const std::string manifest = scene.in_work(name + ".manifest.yaml");
    const Finished profile = scene.cordon({"profile", "./" + name}).timeout(120'000).run();
    EXPECT_EQ(profile.code, 0) << profile;
    const Finished valid = scene.cordon({"validate", manifest}).run();
    EXPECT_EQ(valid.code, 0) << valid;
    EXPECT_EQ(scene.approve(manifest).code, 0);
    const Finished run = scene.cordon({"run", manifest}).timeout(120'000).run();
    EXPECT_EQ(run.code, 0) << run << scene.tree().read("work/" + name + ".manifest.yaml").value_or("");
    EXPECT_THAT(run.out, HasSubstr(expected)) << run;
    return run;
  }

  /// The manifest less each line of a grant in turn: none of them runs as the whole one does.
  void every_line_is_needed(
      const std::string& name, const std::string& expected, const std::function<void()>& clean = [] {}) const {
    const std::string text = scene.tree().read("work/" + name + ".manifest.yaml").value_or("");
    std::istringstream lines(text.substr(0, text.find("provenance:")));
    std::string line;
    for (std::size_t at = 0; std::getline(lines, line); at += line.size() + 1) {
      const bool grant = line.starts_with("  - ") || line == "exec: all";
      if (!grant || line.starts_with("  - host")) continue;
      std::string less = text.substr(0, text.find("provenance:"));
      less.erase(at, line.size() + 1);
      for (const char* key : {"read:\n", "write:\n", "env:\n"}) {
        const std::size_t alone = less.find(key);
        const std::size_t after = alone + std::string_view(key).size();
        if (alone != std::string::npos && !std::string_view(less).substr(after).starts_with("  - "))
          less.erase(alone, std::string_view(key).size());
      }
      clean();
      const Finished run = scene.sandboxed(less);
      EXPECT_FALSE(run.code == 0 && run.says(expected)) << "without '" << line << "'" << run;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(As, Converges, testing::ValuesIn(identities()), identity_name);

TEST_P(Converges, APythonScriptWithImportsAndDataFiles) {
  scene.tree().write("work/helpers/__init__.py", "");
  scene.tree().write("work/helpers/total.py", "def total(rows):\n  return sum(int(row) for row in rows)\n");
  scene.tree().write("work/numbers.txt", "19\n23\n");
  scene.tree().write("work/sum.py",
                     "#!/usr/bin/python3\n"
                     "import json, os\nfrom helpers.total import total\n"
                     "rows = open(os.path.join(os.path.dirname(__file__), 'numbers.txt')).read().split()\n"
                     "os.makedirs('out', exist_ok=True)\n"
                     "json.dump({'sum': total(rows)}, open('out/sum.json', 'w'))\n"
                     "print('sum', total(rows))\n",
                     0755);
  converged("sum.py", "sum 42");
  every_line_is_needed("sum.py", "sum 42", [this] { scene.tree().remove("work/out"); });
}

TEST_P(Converges, AShellPipeline) {
  scene.tree().write("work/words.txt", "b\na\nb\n");
  scene.tree().write("work/top.sh", "#!/bin/sh\nset -e\nsort words.txt | uniq -c | sort -rn | head -1\n", 0755);
  converged("top.sh", "2 b");
  every_line_is_needed("top.sh", "2 b");
}

TEST_P(Converges, ANodeScript) {
  scene.tree().write("work/lib/greet.js", "exports.greet = (name) => 'hello ' + name;\n");
  scene.tree().write("work/name.json", "{\"name\": \"node\"}");
  scene.tree().write("work/app.js",
                     "#!/usr/bin/node\nconst {greet} = require('./lib/greet');\n"
                     "const {name} = JSON.parse(require('fs').readFileSync(__dirname + '/name.json', 'utf8'));\n"
                     "console.log(greet(name));\n",
                     0755);
  converged("app.js", "hello node");
}

TEST_P(Converges, MakeOnACProject) {
  scene.tree().write("work/main.c",
                     "#include <stdio.h>\n#include \"answer.h\"\nint main(void){printf(\"c %d\\n\", answer());}\n");
  scene.tree().write("work/answer.h", "int answer(void);\n");
  scene.tree().write("work/answer.c", "#include \"answer.h\"\nint answer(void){return 42;}\n");
  scene.tree().write(
      "work/Makefile",
      "prog: main.o answer.o\n\tgcc -o $@ $^\n%.o: %.c answer.h\n\tgcc -c -o $@ $<\nclean:\n\trm -f *.o prog\n");
  scene.tree().write("work/build.sh", "#!/bin/sh\nset -e\nmake -s clean\nmake -s\n./prog\n", 0755);
  converged("build.sh", "c 42");
}

TEST_P(Converges, AGitClone) {
  scene.tree().write("work/make.sh",
                     "set -e\ngit init -q origin\ncd origin\necho content >file\ngit add .\n"
                     "git -c user.name=a -c user.email=a@b.c commit -qm one\n");
  const Finished made = scene.bare({"/bin/sh", "make.sh"});
  ASSERT_EQ(made.code, 0) << made;
  scene.tree().write("work/clone.sh",
                     "#!/bin/sh\nset -e\nmkdir -p copies\nto=copies/$(date +%s%N)\n"
                     "git clone -q \"file://$PWD/origin\" $to\ncat $to/file\n",
                     0755);
  converged("clone.sh", "content");
}

/// The server is the script's own, on the loopback of the sandbox, where no other run's port can be in its way.
TEST_P(Converges, AGitCloneFromALoopbackServer) {
  scene.tree().write("work/make.sh",
                     "set -e\ngit init -q origin\ncd origin\necho served >file\ngit add .\n"
                     "git -c user.name=a -c user.email=a@b.c commit -qm one\n");
  const Finished made = scene.bare({"/bin/sh", "make.sh"});
  ASSERT_EQ(made.code, 0) << made;
  scene.tree().write(
      "work/serve.py",
      "#!/usr/bin/python3\n"
      "import os, socket, subprocess, sys, tempfile\n"
      "listener = socket.create_server(('127.0.0.1', 0))\n"
      "here = os.path.dirname(os.path.abspath(__file__))\n"
      "to = tempfile.mkdtemp() + '/copy'\n"
      "url = 'git://127.0.0.1:%d/origin' % listener.getsockname()[1]\n"
      "clone = subprocess.Popen(['git', 'clone', '-q', url, to])\n"
      "connection, _ = listener.accept()\n"
      "subprocess.check_call(['git', 'daemon', '--inetd', '--export-all', '--base-path=' + here, here],\n"
      "                      stdin=connection, stdout=connection)\n"
      "connection.close()\n"
      "assert clone.wait() == 0\n"
      "print(open(to + '/file').read())\n",
      0755);
  converged("serve.py", "served");
}

TEST_P(Converges, AJavaProgram) {
  scene.tree().write(
      "work/Hello.java",
      "public class Hello { public static void main(String[] a) throws Exception {\n"
      "System.out.println(\"java \" + java.nio.file.Files.readString(java.nio.file.Path.of(\"name.txt\"))); } }\n");
  scene.tree().write("work/name.txt", "duke");
  const Finished compiled = scene.bare({"/usr/bin/javac", "Hello.java"});
  ASSERT_EQ(compiled.code, 0) << compiled;
  scene.tree().write("work/hello.sh", "#!/bin/sh\nexec /usr/bin/java -cp . Hello\n", 0755);
  // As it is where a Java machine of the host's has run.
  const std::string kept = "/tmp/hsperfdata_" + std::string(scene.who().account);
  const bool is_ours = std::filesystem::create_directory(kept);
  converged("hello.sh", "java duke");
  if (is_ours) std::filesystem::remove(kept);
  EXPECT_THAT(scene.tree().read("work/hello.sh.manifest.yaml").value_or(""), testing::Not(HasSubstr("hsperfdata")));
}

/// Its draft has a list under exec:, and Java lists the directory that it is started in.
TEST_P(Converges, AJavaProgramAsACommand) {
  scene.tree().write(
      "work/Hello.java",
      "public class Hello { public static void main(String[] a) throws Exception {\n"
      "System.out.println(\"java \" + java.nio.file.Files.readString(java.nio.file.Path.of(\"n.txt\"))); } }\n");
  scene.tree().write("work/n.txt", "duke");
  const std::string manifest = scene.in_work("m.yaml");
  const Finished profile =
      scene.cordon({"profile", "--out", manifest, "--", "/usr/bin/java", "Hello.java"}).timeout(120'000).run();
  EXPECT_EQ(profile.code, 0) << profile;
  EXPECT_EQ(scene.approve(manifest).code, 0);
  const Finished run = scene.cordon({"run", manifest}).timeout(120'000).run();
  EXPECT_EQ(run.out, "java duke\n") << run;
  const Finished check = scene.cordon({"profile", "--check", manifest}).timeout(120'000).run();
  EXPECT_EQ(check.code, 0) << check;
  EXPECT_THAT(check.err, HasSubstr("java did nothing")) << check;
}

}  // namespace
}  // namespace cordon::test
