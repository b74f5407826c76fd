// Promise: a port that `host_services` names is reached on the host's loopback, and nothing else of that loopback is.

#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "network/stage.h"
#include "support/promise.h"

namespace cordon::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::uint16_t kService = 5432;
const std::string kGranted = "host_services: [5432]\n";

class HostService : public Promise {
 protected:
  Command started(const std::string& body, const std::string& extra, const std::vector<std::string>& flags = {}) const {
    scene.tree().write("work/main.py",
                       "import errno, os, socket, urllib.request\n"
                       "def said(name, act):\n"
                       "  try: print(name, act())\n"
                       "  except OSError as e: print(name, errno.errorcode.get(e.errno, type(e).__name__))\n"
                       "def get(host, port=5432):\n"
                       "  s = socket.create_connection((host, port), 5); s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')\n"
                       "  return s.makefile('rb').read().split(b'\\r\\n')[-1].decode()\n" +
                           body);
    std::vector<std::string> args{"run", "--allow-unapproved"};
    args.insert(args.end(), flags.begin(), flags.end());
    args.push_back(scene.manifest(
        "entrypoint: main.py\ninterpreter: " + std::filesystem::canonical("/usr/bin/python3").string() + "\n" + extra));
    return scene.cordon(args);
  }
  Finished python(const std::string& body, const std::string& extra, const std::vector<std::string>& flags = {}) const {
    return started(body, extra, flags).run();
  }
};
INSTANTIATE_TEST_SUITE_P(As, HostService, testing::ValuesIn(identities()), identity_name);

TEST_P(HostService, ThatIsGrantedIsReachedWhereClientsLookForIt) {
  const WebServer service("127.0.0.1", kService, "service");
  const std::string body = "for host in ['localhost', '127.0.0.1', '::1']: said(host, lambda: get(host))\n";
  const Finished got = python(body, kGranted);
  for (const char* one : {"localhost service", "127.0.0.1 service", "::1 service"})
    EXPECT_THAT(got.out, HasSubstr(one));
  EXPECT_EQ(got.err, "") << "a clean run says nothing of ours";
  EXPECT_THAT(python(body, "").out, Not(HasSubstr("service"))) << "the control: without the line";
}

TEST_P(HostService, ThatListensOnIpv6AloneIsReachedToo) {
  const WebServer service("::1", kService, "six");
  EXPECT_THAT(python("said('localhost', lambda: get('localhost'))\n", kGranted).out, HasSubstr("localhost six"));
}

TEST_P(HostService, OpensNoOtherPortOfTheLoopbackAndNoOtherWayToIt) {
  const WebServer service("127.0.0.1", kService, "service");
  const WebServer other("127.0.0.1", 5433, "other");
  const Finished got = python(
      "said('port', lambda: get('127.0.0.1', 5433))\n"
      "for host in ['127.0.0.2', '198.18.0.1', '::ffff:127.0.0.2']: said('way', lambda: get(host))\n"
      "def proxied(port):\n"
      "  s = socket.create_connection(('127.0.0.1', 128), 5)\n"
      "  s.sendall(b'CONNECT 127.0.0.1:%d HTTP/1.1\\r\\n\\r\\n' % port); return s.recv(15)\n"
      "for port in [5432, 5433]: said('proxy', lambda: proxied(port))\n",
      kGranted + "network: [{host: '*', port: '*'}]\n");
  EXPECT_THAT(got.out, Not(HasSubstr("service"))) << got;
  EXPECT_THAT(got.out, Not(HasSubstr("other"))) << got;
  EXPECT_THAT(got.out, HasSubstr("port ECONNREFUSED")) << got;
  EXPECT_THAT(got.out, Not(HasSubstr("200"))) << got;
}

TEST_P(HostService, LeavesEverythingElseOfTheNetworkClosed) {
  const WebServer service("127.0.0.1", kService, "service");
  const WebServer web(kPublic4, 8080, "web");
  const Finished got = python(
      "said('address', lambda: get('93.184.216.34', 8080))\n"
      "said('name', lambda: socket.gethostbyname('a.example'))\n"
      "said('service', lambda: get('localhost'))\n",
      kGranted);
  EXPECT_THAT(got.out,
              testing::AllOf(HasSubstr("address ECONNRESET"), HasSubstr("name gaierror"), HasSubstr("service service")))
      << got;
  EXPECT_TRUE(got.says("denied: reaching 93.184.216.34:8080")) << got;
}

TEST_P(HostService, ThatNobodyOffersIsResetAndNamed) {
  const Finished got = python("said('get', lambda: get('localhost'))\nos._exit(3)\n", kGranted);
  EXPECT_TRUE(got.says("not reached: localhost:5432: ECONNREFUSED")) << got;
}

TEST_P(HostService, TakesThePortInsideAndNoOther) {
  const Finished got = python(
      "def bind(port):\n"
      "  s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(('127.0.0.1', port))\n"
      "  s.listen(); return 'bound'\n"
      "said('its', lambda: bind(5432))\nsaid('another', lambda: bind(5433))\n",
      kGranted);
  EXPECT_THAT(got.out, testing::AllOf(HasSubstr("its EADDRINUSE"), HasSubstr("another bound"))) << got;
}

TEST_P(HostService, WorksWithoutNfTables) {
  const WebServer service("127.0.0.1", kService, "service");
  const auto without = [] { lose_sockets(AF_NETLINK, NETLINK_NETFILTER, EPROTONOSUPPORT); };
  for (const std::string extra : {"", "network: [{host: a.example, port: '5432'}]\n"}) {
    const Finished got = started("said('get', lambda: get('localhost'))\n", kGranted + extra).before(without).run();
    EXPECT_THAT(got.out, HasSubstr("get service")) << extra << got;
  }
}

TEST_P(HostService, OnAPortOfCordonsOwnInsideIsRefused) {
  const Finished got = python("", "host_services: [53]\n");
  EXPECT_EQ(got.code, 125) << got;
  EXPECT_TRUE(got.says("host_services: port 53 is Cordon's own inside")) << got;
}

}  // namespace
}  // namespace cordon::test
