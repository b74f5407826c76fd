// Promise: programs as people have them, none of which knows of Cordon or was told of a proxy, reach a granted host and
// port by its name, over both families, and nothing else; and the report names everything else that they tried.
//
// Each client (clients/) is given the same seven destinations, and at each of them somebody answers.

#include <algorithm>
#include <deque>
#include <filesystem>
#include <functional>
#include <vector>

#include "network/services.h"
#include "network/way_out.h"

namespace cordon::test {
namespace {

using nlohmann::json;
using testing::UnorderedElementsAreArray;
namespace fs = std::filesystem;

/// A program of clients/: started by an interpreter, or built.
struct Client {
  std::string file;
  std::string interpreter = "";          ///< "" where the file is the program
  std::string grants = "";               ///< what it needs besides the network
  std::vector<std::string> before = {};  ///< arguments before the destinations
  std::vector<std::string> interpreter_args = {};
};

/// As clients take it: the family (4, 6, any), the host as in a URL, the port.
struct Destination {
  std::string family, host;
  std::uint16_t port;
};

using Destinations = std::vector<Destination>;
using Serve = std::function<void(const base::Fd&)>;

constexpr std::uint16_t kPort = 8080, kOtherPort = 8081;
const std::string kBracketed6 = std::string("[") + kPublic6 + "]";
const Destinations kGranted{{"4", "a.example", kPort}, {"6", "a.example", kPort}};
const Destinations kRefused{{"any", "b.example", kPort},
                            {"any", "alias.example", kPort},
                            {"any", "a.example", kOtherPort},
                            {"any", kPublic4, kPort},
                            {"any", kBracketed6, kPort}};

std::string in_clients(const std::string& name) { return CORDON_SOURCE_DIR "/tests/network/clients/" + name; }

std::string answers(const Destinations& all, const std::string& what) {
  std::string out;
  for (const Destination& one : all)
    out += one.family + " " + one.host + " " + std::to_string(one.port) + ": " + what + "\n";
  return out;
}

std::vector<std::string> arguments(const Client& client) {
  std::vector<std::string> args = client.before;
  for (const Destinations& some : {kGranted, kRefused})
    for (const Destination& one : some) args.insert(args.end(), {one.family, one.host, std::to_string(one.port)});
  return args;
}

/// What the report has to name: names that were asked for and do not exist have port 0.
std::vector<json> denied_rows() {
  const auto at = [](const std::string& host, int port) { return json{{"host", host}, {"port", port}}; };
  return {at("b.example", 0), at("alias.example", 0), at("a.example", kOtherPort), at(kPublic4, kPort),
          at(kPublic6, kPort)};
}

class Clients : public WayOut {
 protected:
  void reaches_what_is_granted(const Client& client, const Serve& serve) const {
    std::deque<Server> servers;
    for (const char* address : {kPublic4, kPublic6})
      for (const std::uint16_t port : {kPort, kOtherPort}) servers.emplace_back(address, port, serve);
    servers.emplace_back(kOther4, kPort, serve);

    const std::string copied = scene.tree().copy("work/" + fs::path(client.file).filename().string(), client.file);
    const std::vector<std::string> args = arguments(client);
    std::vector<std::string> argv = client.interpreter_args;
    if (!client.interpreter.empty()) argv.insert(argv.begin(), client.interpreter);
    argv.push_back(copied);
    argv.insert(argv.end(), args.begin(), args.end());
    const Finished outside = scene.bare(argv);
    EXPECT_EQ(outside.out, answers(kGranted, "over") + answers(kRefused, "over")) << "the control, bare" << outside;

    std::string starts;
    if (!client.interpreter.empty()) starts = "interpreter: " + real(client.interpreter) + "\n";
    if (!client.interpreter_args.empty()) starts += list("interpreter_args", client.interpreter_args);
    const Finished inside = sandboxed("entrypoint: " + copied + "\n" + starts + list("args", args) + client.grants +
                                          rules({{"a.example", std::to_string(kPort)}}),
                                      {"--json"});
    EXPECT_EQ(stdout_of(inside), answers(kGranted, "over") + answers(kRefused, "refused")) << inside;
    EXPECT_THAT(verdict_of(inside)["egress_denied"], UnorderedElementsAreArray(denied_rows())) << inside;
  }
  void reaches_http(const Client& client) const {
    reaches_what_is_granted(
        client, [](const base::Fd& to) { serve_http(to, [](const std::string&) { return http_response("over"); }); });
  }
  /// Below "/" a repository, where `client` is git.
  void reaches_https(const Client& client) const {
    const Authority authority(scene.work());
    const HttpAnswer files = files_below(scene.work());
    reaches_what_is_granted(client, [&](const base::Fd& to) {
      authority.serve(
          to, [&](const std::string& head) { return path_of(head) == "/" ? http_response("over") : files(head); });
    });
  }
};
INSTANTIATE_TEST_SUITE_P(As, Clients, testing::ValuesIn(identities()), identity_name);

const std::string kShell = "/bin/sh", kPython = "/usr/bin/python3", kNode = "/usr/bin/node";
const std::string kStartsOthers = "exec: all\n", kReadsAuthority = "read: [ca.pem]\n";

TEST_P(Clients, CurlReachesWhatIsGranted) { reaches_http({in_clients("curl.sh"), kShell, kStartsOthers}); }
TEST_P(Clients, WgetReachesWhatIsGranted) { reaches_http({in_clients("wget.sh"), kShell, kStartsOthers}); }
TEST_P(Clients, PythonsOwnClientReachesWhatIsGranted) { reaches_http({in_clients("http_client.py"), kPython}); }
TEST_P(Clients, PythonRequestsReachesWhatIsGranted) { reaches_http({in_clients("python_requests.py"), kPython}); }
TEST_P(Clients, NodeFetchReachesWhatIsGranted) { reaches_http({in_clients("fetch.mjs"), kNode}); }
TEST_P(Clients, NodeHttpsReachesWhatIsGranted) { reaches_https({in_clients("https.mjs"), kNode, kReadsAuthority}); }
TEST_P(Clients, JavaReachesWhatIsGranted) {
  reaches_http({.file = CORDON_JAVA_CLIENT, .interpreter = "/usr/bin/java", .interpreter_args = {"-jar"}});
}
TEST_P(Clients, AStaticGoProgramReachesWhatIsGranted) { reaches_http({CORDON_GO_CLIENT}); }
TEST_P(Clients, AMuslProgramReachesWhatIsGranted) { reaches_http({CORDON_MUSL_CLIENT}); }

TEST_P(Clients, GitOverHttpsReachesWhatIsGranted) {
  scene.tree().write("home/.gitconfig", "[user]\n\tname = A\n\temail = a@a.example\n");
  scene.tree().write("work/origin/file", "over");
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{"init", "-q", "origin"},
                                             {"-C", "origin", "add", "file"},
                                             {"-C", "origin", "commit", "-qm", "file"},
                                             {"clone", "-q", "--bare", "origin", "repo.git"},
                                             {"-C", "repo.git", "update-server-info"}}) {
    std::vector<std::string> argv{"/usr/bin/git"};
    argv.insert(argv.end(), args.begin(), args.end());
    const Finished made = scene.bare(argv);
    ASSERT_EQ(made.code, 0) << made;
  }
  reaches_https({in_clients("git.sh"), kShell, kStartsOthers + kReadsAuthority});
}

TEST_P(Clients, TrustTheAuthorityThatTheCallersEnvironmentNames) {
  const Authority authority(scene.work());
  const Server server(kPublic4, kPort, [&](const base::Fd& to) {
    authority.serve(to, [](const std::string&) { return http_response("over"); });
  });
  const std::string manifest = python_manifest(
                                   "import ssl\n"
                                   "def trusting():\n"
                                   "  connection = http.client.HTTPSConnection('a.example', 8080, timeout=10)\n"
                                   "  connection.request('GET', '/')\n"
                                   "  return connection.getresponse().read().decode()\n"
                                   "print('names it', 'SSL_CERT_FILE' in os.environ, flush=True)\n"
                                   "try: print('answer', trusting())\n"
                                   "except ssl.SSLCertVerificationError: print('not trusted'); sys.exit(3)\n") +
                               rules({{"a.example", std::to_string(kPort)}});
  const Finished without = run_of(manifest, {}, "without.yaml").run();
  EXPECT_TRUE(without.says("not trusted") && without.says("names it False")) << without;

  const std::string named = scene.work() + "/ca.pem";
  const Finished trusting = run_of(manifest, {}, "with.yaml").env("SSL_CERT_FILE", named).run();
  EXPECT_TRUE(trusting.says("answer over") && trusting.says("names it True")) << trusting;

  const std::string store = scene.tree().copy("home/.ssh/ca.pem", named);
  const Finished shielded = run_of(manifest, {}, "shielded.yaml").env("SSL_CERT_FILE", store).run();
  EXPECT_TRUE(shielded.says("SSL_CERT_FILE is not passed") && shielded.says("names it False")) << shielded;
}

TEST_P(Clients, RedisCliReachesWhatIsGranted) {
  reaches_what_is_granted({in_clients("redis.sh"), kShell, kStartsOthers}, serve_redis);
}

TEST_P(Clients, PsqlReachesWhatIsGranted) {
  // Each version has a directory of its own; /usr/bin/psql is a script that chooses one.
  std::string psql;
  for (const auto& one : fs::directory_iterator("/usr/lib/postgresql"))
    psql = std::max(psql, (one.path() / "bin/psql").string());
  reaches_what_is_granted({in_clients("psql.sh"), kShell, kStartsOthers, {psql}}, serve_postgres);
}

}  // namespace
}  // namespace cordon::test
