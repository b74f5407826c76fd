// Promise: a target leaves no set-user-id or set-group-id program on the host, whichever call it tries, and what the
// caller redirected to it gets no such bit either.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/promise.h"

namespace cordon::test {
namespace {

CORDON_PROMISE(SetId);

TEST_P(SetId, NoCallLeavesSuchABitOnAFile) {
  scene.tree().make_directory("work/out");
  for (const char* call : {"chmod", "fchmod", "fchmodat2", "open", "openat2", "mknod"}) {
    const std::string inside_path = scene.in_work(std::string("out/inside-") + call);
    const std::string outside_path = scene.in_work(std::string("out/outside-") + call);
    const std::string act = std::string("set-id=") + call + ":";
    if (std::string(call).find("chmod") != std::string::npos) {
      for (const std::string& path : {inside_path, outside_path}) ASSERT_EQ(scene.bare({"touch", path}).code, 0);
    }
    const Finished outside = scene.acts_bare({act + outside_path});
    EXPECT_EQ(verdict(outside, act + outside_path), "ALLOWED") << "the control, bare" << outside;
    const Finished inside = scene.acts({act + inside_path}, list("write", {"./out"}));
    EXPECT_EQ(verdict(inside, act + inside_path), std::string(call) == "openat2" ? "DENIED ENOSYS" : "DENIED EPERM")
        << inside;
  }
}

// mkdir(2) takes no such bit, and a directory below a set-group-id one inherits it without asking: both go on working.
TEST_P(SetId, DirectoriesKeepWorking) {
  scene.tree().make_directory("work/out");
  ASSERT_EQ(scene.bare({"chmod", "2755", scene.in_work("out")}).code, 0);
  scene.tree().write("work/d.sh",
                     "#!/bin/sh\nset -e\nmkdir out/a\ntouch out/a/f\nchmod 750 out/a/f\nstat -c %a out/a\n", 0755);
  const Finished inside = scene.sandboxed("entrypoint: ./d.sh\nexec: all\n" + list("write", {"./out"}));
  EXPECT_EQ(inside.code, 0) << inside;
  EXPECT_EQ(inside.out, "2755\n") << inside;
  const std::string act = "set-id=mkdir:" + scene.in_work("out/b");
  EXPECT_NE(verdict(scene.acts({act}, list("write", {"./out"})), act), "DENIED EPERM");
}

TEST_P(SetId, ARedirectedFileGetsNone) {
  const std::string path = scene.tree().write("work/input", "x\n", 0600);
  const std::string manifest = scene.approved(act_manifest({"set-id=fchmod-stdin:x"}));
  const auto redirect = [&path] {
    const int fd = ::open(path.c_str(), O_RDONLY);
    ::dup2(fd, 0);
  };
  const Finished inside = scene.cordon({"run", manifest}).before(redirect).run();
  EXPECT_EQ(verdict(inside, "set-id=fchmod-stdin:x"), "DENIED EPERM") << inside;
  const Finished outside = scene.outside({scene.in_work("act"), "set-id=fchmod-stdin:x"}).before(redirect).run();
  EXPECT_EQ(verdict(outside, "set-id=fchmod-stdin:x"), "ALLOWED") << "the control, bare" << outside;
}

// openat2 does not exist for them: programs that know it use the older call.
TEST_P(SetId, OrdinaryToolsFallBack) {
  scene.tree().write("work/tools.sh",
                     "#!/bin/sh\nset -e\ncd out\nmkdir from && echo text >from/file && chmod 755 from/file\n"
                     "cp -a from copy\ntar -cf - from | (mkdir unpacked && tar -C unpacked -xf -)\n"
                     "python3 -c 'open(\"made\", \"w\").write(open(\"copy/file\").read())'\n"
                     "git init -q repo 2>&1\ncat made unpacked/from/file\n",
                     0755);
  scene.tree().make_directory("work/out");
  const Finished inside = scene.sandboxed("entrypoint: ./tools.sh\nexec: all\n" + list("write", {"./out"}));
  EXPECT_EQ(inside.code, 0) << inside;
  EXPECT_EQ(inside.out, "text\ntext\n") << inside;
}

}  // namespace
}  // namespace cordon::test
