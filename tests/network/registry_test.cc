// Promise: npm and apt, as they are, fetch from their registry with its host alone granted; where another host is
// granted instead they fail, and the report names the one that they asked for.
//
// The registry is the tests' own. `make registries` does the same with those that a machine is set up for.

#include <filesystem>

#include "network/services.h"
#include "network/way_out.h"

namespace cordon::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

constexpr std::uint16_t kPort = 8080;
const std::string kRegistry = rules({{"a.example", "8080"}}), kElsewhere = rules({{"b.example", "8080"}});

class Registries : public WayOut {
 protected:
  void make(const std::vector<std::string>& argv) const {
    const Finished made = scene.bare(argv);
    ASSERT_EQ(made.code, 0) << made;
  }
  /// `says` with the registry granted; with another host, a failure that names the registry.
  void fetches(const std::string& manifest, const std::string& says) const {
    const Finished got = sandboxed(manifest + kRegistry, {"--json"});
    EXPECT_THAT(stdout_of(got), HasSubstr(says)) << got;
    EXPECT_THAT(verdict_of(got)["egress_denied"], IsEmpty()) << "nothing else was asked for" << got;
    const Finished refused = sandboxed(manifest + kElsewhere);
    EXPECT_NE(refused.code, 0) << refused;
    EXPECT_TRUE(refused.says("denied: looking up a.example")) << refused;
  }
};
INSTANTIATE_TEST_SUITE_P(As, Registries, testing::ValuesIn(identities()), identity_name);

TEST_P(Registries, NpmViewsAndPacksWithItsRegistryAloneGranted) {
  scene.tree().write("work/package/package.json", R"({"name": "small", "version": "1.2.3"})");
  scene.tree().make_directory("work/small");
  make({"/bin/tar", "-czf", "small/small-1.2.3.tgz", "package"});
  const std::string about =
      R"({"name": "small", "dist-tags": {"latest": "1.2.3"}, "versions": {"1.2.3": {"name": "small", "version":)"
      R"( "1.2.3", "dist": {"tarball": "https://a.example:8080/small/small-1.2.3.tgz"}}}})";
  const HttpAnswer files = files_below(scene.work());
  const Authority authority(scene.work());
  const Server registry(kPublic4, kPort, [&](const base::Fd& client) {
    authority.serve(client, [&](const std::string& head) {
      return path_of(head) == "/small" ? http_response(about, "200 OK", "application/json") : files(head);
    });
  });
  const std::string npm = real("/usr/bin/npm");
  scene.tree().write("work/main.sh",
                     "npm() { /usr/bin/node " + npm +
                         " \"$@\" --registry https://a.example:8080/ --cafile \"$here/ca.pem\" --cache /tmp/npm"
                         " --fetch-retries 0 --update-notifier false; }\n"
                         "here=$(pwd)\ncd /tmp\nnpm view small version && npm pack small && echo $?\n");
  fetches("entrypoint: main.sh\ninterpreter: /bin/sh\nexec: all\nread: [ca.pem]\n", "1.2.3\nsmall-1.2.3.tgz\n0\n");
}

TEST_P(Registries, AptUpdatesAndDownloadsWithItsArchiveAloneGranted) {
  scene.tree().write("work/small/DEBIAN/control",
                     "Package: small\nVersion: 1.2.3\nArchitecture: all\nMaintainer: A <a@a.example>\n"
                     "Description: small\n");
  make({"/usr/bin/dpkg-deb", "--build", "--root-owner-group", "small", "small_1.2.3_all.deb"});
  const std::string digest = scene.bare({"/usr/bin/sha256sum", "small_1.2.3_all.deb"}).out.substr(0, 64);
  scene.tree().write("work/Packages", *scene.tree().read("work/small/DEBIAN/control") +
                                          "Filename: ./small_1.2.3_all.deb\nSize: " +
                                          std::to_string(fs::file_size(scene.in_work("small_1.2.3_all.deb"))) +
                                          "\nSHA256: " + digest + "\n");
  scene.tree().write("work/sources.list", "deb [trusted=yes] http://a.example:8080 ./\n");
  scene.tree().write("work/status", "");
  const HttpAnswer files = files_below(scene.work());
  const Server archive(kPublic4, kPort, [&](const base::Fd& client) { serve_http(client, files); });
  scene.tree().write("work/main.sh",
                     "mkdir -p /tmp/state/lists/partial /tmp/cache/archives/partial\n"
                     "here=$(pwd)\ncd /tmp\n"
                     "apt() { apt-get -q -o Dir::Etc::sourcelist=\"$here/sources.list\" -o Dir::Etc::sourceparts=- "
                     "-o Dir::State=/tmp/state -o Dir::State::status=\"$here/status\" -o Dir::Cache=/tmp/cache "
                     "-o APT::Sandbox::User=\"$(id -un)\" -o Acquire::Retries=0 \"$@\"; }\n"
                     "apt -o APT::Update::Error-Mode=any update && apt download small && echo small_*.deb\n");
  fetches("entrypoint: main.sh\ninterpreter: /bin/sh\nexec: all\nread: [sources.list, status]\n",
          "\nsmall_1.2.3_all.deb\n");
}

}  // namespace
}  // namespace cordon::test
