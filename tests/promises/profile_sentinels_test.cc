// Promise: while a program is profiled nothing that is shielded is read or changed, nothing on the network is touched,
// and the draft holds none of it: each is said to be withheld, as what it is.
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>

#include "planted.h"

namespace cordon::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ProfiledSentinels : public PlantedHome {};
INSTANTIATE_TEST_SUITE_P(As, ProfiledSentinels, testing::ValuesIn(identities()), identity_name);

TEST_P(ProfiledSentinels, NoCredentialIsSeenOrDraftedThoughTheProgramAsksForEach) {
  const std::vector<Planted> planted = plant();
  std::string names;
  std::size_t hidden = 0;
  for (const Planted& each : planted) {
    if (!each.hidden()) continue;
    names += each.sentinel + "\n";
    ++hidden;
  }
  ASSERT_GT(hidden, 200U);
  scene.tree().write("work/names", names);
  scene.tree().write("home/plain.txt", "plain words\n");
  scene.tree().write("work/thief.py",
                     "#!/usr/bin/python3\nimport os\n"
                     "for name in open('names').read().split('\\n') + [os.path.expanduser('~/plain.txt')]:\n"
                     "  try: print(open(name).read())\n"
                     "  except OSError: pass\n"
                     "  try: os.listdir(os.path.dirname(name))\n"
                     "  except OSError: pass\n",
                     0755);
  const Finished bare = scene.bare({"./thief.py"});
  EXPECT_THAT(bare.out, AllOf(HasSubstr(kSentinel), HasSubstr("plain words"))) << "the control, bare";
  const Finished run = scene.cordon({"profile", "--json", "./thief.py"}).timeout(120'000).run();
  EXPECT_EQ(run.code, 4) << run;
  EXPECT_THAT(run.err, Not(HasSubstr(kSentinel)));
  expect_unchanged(planted);
  const std::string draft = scene.tree().read("work/thief.py.manifest.yaml").value_or("(no draft)");
  EXPECT_THAT(draft, HasSubstr("~/plain.txt")) << "what is no secret is drafted";
  for (const Planted& each : planted) {
    if (!each.hidden()) continue;
    const std::string below_home = "~" + each.sentinel.substr(scene.home().size());
    EXPECT_THAT(draft, Not(HasSubstr("- " + below_home + "\n")));
    EXPECT_THAT(run.out, HasSubstr("\"" + each.sentinel + "\"")) << "withheld in so many words";
  }
  EXPECT_EQ(scene.cordon({"validate", scene.in_work("thief.py.manifest.yaml")}).run().code, 0);
}

/// A service of this host that hears of whoever reaches it.
class Sentinel {
 public:
  explicit Sentinel(int kind) : socket_(::socket(AF_INET, kind | SOCK_CLOEXEC, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address_), size), 0);
    EXPECT_TRUE(kind != SOCK_STREAM || ::listen(socket_, 8) == 0);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address_), &size), 0);
  }
  ~Sentinel() { ::close(socket_); }
  Sentinel(const Sentinel&) = delete;
  Sentinel& operator=(const Sentinel&) = delete;
  [[nodiscard]] std::string port() const { return std::to_string(ntohs(address_.sin_port)); }
  /// Within a moment, where it is asked after whoever should have reached it has ended.
  [[nodiscard]] bool was_reached() const {
    pollfd ready{.fd = socket_, .events = POLLIN, .revents = 0};
    return ::poll(&ready, 1, 0) == 1;
  }

 private:
  int socket_;
  sockaddr_in address_{};
};

TEST_P(ProfiledSentinels, NothingOnTheNetworkIsTouchedAndWhatWasReachedForIsNamed) {
  const Sentinel stream(SOCK_STREAM), datagram(SOCK_DGRAM);
  scene.tree().write("work/reach.py",
                     "#!/usr/bin/python3\nimport socket, sys\n"
                     "def reach(act):\n"
                     "  try: act()\n"
                     "  except OSError: pass\n"
                     "for host in ('127.0.0.1', 'localhost', '192.0.2.7'):\n"
                     "  reach(lambda: socket.create_connection((host, int(sys.argv[1])), 2).sendall(b'x'))\n"
                     "for host in ('127.0.0.1', '192.0.2.8'):\n"
                     "  s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                     "  reach(lambda: s.sendto(b'x', (host, int(sys.argv[2]))))\n"
                     "reach(lambda: socket.create_connection(('api.example', 443), 2))\n",
                     0755);
  const std::vector<std::string> ports = {stream.port(), datagram.port()};
  const Finished run = scene.cordon({"profile", "./reach.py", "--", ports[0], ports[1]}).timeout(120'000).run();
  EXPECT_FALSE(stream.was_reached());
  EXPECT_FALSE(datagram.was_reached());
  EXPECT_EQ(run.code, 4) << run;
  EXPECT_THAT(run.err, AllOf(HasSubstr("192.0.2.8:" + ports[1]), HasSubstr("UDP")));
  const std::string draft = scene.tree().read("work/reach.py.manifest.yaml").value_or("(no draft)");
  EXPECT_THAT(draft, AllOf(HasSubstr("host: api.example"), HasSubstr("host: \"192.0.2.7\""),
                           Not(HasSubstr("192.0.2.8")), Not(HasSubstr("127.0.0.1"))))
      << run;
  static_cast<void>(scene.bare({"./reach.py", ports[0], ports[1]}));
  EXPECT_TRUE(stream.was_reached()) << "the control, bare";
  EXPECT_TRUE(datagram.was_reached()) << "the control, bare";
}

}  // namespace
}  // namespace cordon::test
