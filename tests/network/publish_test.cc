// Promise: a port that `publish` names is reached by this host, at its loopback and nowhere else, and is no way out:
// the target reaches nothing by it that it could not reach before.

#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <csignal>
#include <functional>
#include <optional>
#include <thread>

#include "network/way_out.h"

namespace cordon::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint16_t kPort = 5173;
const std::string kPublished = "publish: [5173]\n";

/// Answers by the first line: GET as a web server, "size" with how much followed, "send N" with so much.
const std::string kServe =
    "import threading\n"
    "def answer(c):\n"
    "  f = c.makefile('rb'); words = f.readline().split()\n"
    "  if words[:1] == [b'GET']:\n"
    "    while f.readline().strip(): pass\n"
    "    c.sendall(b'HTTP/1.0 200 OK\\r\\nContent-Length: 6\\r\\n\\r\\ninside')\n"
    "  elif words[:1] == [b'size']: c.sendall(b'%d' % len(f.read()))\n"
    "  elif words[:1] == [b'send']: c.sendall(b'abcdefghij' * (int(words[1]) // 10))\n"
    "  elif words[:1] == [b'peer']: c.sendall(repr(c.getpeername()[0]).encode())\n"
    "  elif words[:1] == [b'end']: c.sendall(b'last words'); os._exit(0)\n"
    "  f.close(); c.close()\n"
    "def listen(host='127.0.0.1', port=5173):\n"
    "  s = socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET)\n"
    "  s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind((host, port)); s.listen(500); return s\n"
    "def serve(s):\n"
    "  print('ready', flush=True)\n"
    "  while True: threading.Thread(target=answer, args=(s.accept()[0],), daemon=True).start()\n";

/// What `request` is answered, over a connection to the host's port; "(none)" where nobody is there.
std::string ask(const std::string& request, const std::string& address = "127.0.0.1", std::uint16_t port = kPort) {
  const base::Fd socket = connect_to(address, port);
  if (!socket.valid()) return "(none)";
  if (!write_all(socket, request)) return "(reset)";
  ::shutdown(socket.get(), SHUT_WR);
  return read_all(socket);
}

std::string get(const std::string& address = "127.0.0.1", std::uint16_t port = kPort) {
  const std::string answer = ask("GET / HTTP/1.0\r\n\r\n", address, port);
  return answer.ends_with("inside") ? "inside" : answer;
}

/// Within some seconds: a broker sees that its supervisor is gone, and goes.
bool is_closed() {
  const auto anybody = [] { return get() != "(none)" || get("::1") != "(none)"; };
  for (int i = 0; i < 20'000; ++i)
    if (!anybody()) return true;
  return false;
}

class Publish : public WayOut {
 protected:
  void SetUp() override { ASSERT_TRUE(is_closed()) << "of the test before"; }

  std::optional<Running> served(const std::string& body, const std::string& extra = kPublished,
                                const std::vector<std::string>& flags = {}) {
    std::optional<Running> run(run_of(python_manifest(kServe + body) + extra, flags).start());
    EXPECT_TRUE(run->expect("ready")) << run->wait();
    return run;
  }
};
INSTANTIATE_TEST_SUITE_P(As, Publish, testing::ValuesIn(identities()), identity_name);

TEST_P(Publish, AServerOfTheTargetIsReachedByTheHost) {
  const auto run = served("serve(listen())\n");
  for (const char* url : {"http://localhost:5173/", "http://127.0.0.1:5173/", "http://[::1]:5173/"}) {
    const Finished got = Command({"/usr/bin/curl", "-sSg", "--max-time", "20", url}).run();
    EXPECT_EQ(got.out, "inside") << url << got;
  }
}

TEST_P(Publish, WithoutTheLineItIsNot) {
  const auto run = served("serve(listen())\n", "");
  EXPECT_EQ(get(), "(none)");
}

TEST_P(Publish, AServerOfIpv6AloneIsReachedToo) {
  const auto run = served("serve(listen('::1'))\n");
  EXPECT_EQ(get(), "inside");
  EXPECT_EQ(get("::1"), "inside");
}

TEST_P(Publish, AThousandConnectionsAreServedByTheSameSockets) {
  const auto run = served("serve(listen())\n");
  for (int i = 0; i < 800; ++i) ASSERT_EQ(get(), "inside") << i;
  std::vector<std::string> got(200);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < 20; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = t; i < got.size(); i += 20) got[i] = get();
      });
    }
  }
  EXPECT_THAT(got, testing::Each("inside"));
}

TEST_P(Publish, MuchPassesWholeBothWaysAndAHalfClosedConnectionGoesOn) {
  const auto run = served("serve(listen())\n");
  EXPECT_EQ(ask("size\n" + std::string(20'000'000, 'x')), "20000000");
  const std::string sent = ask("send 20000000\n");
  std::string expected;
  for (int i = 0; i < 2'000'000; ++i) expected += "abcdefghij";
  EXPECT_EQ(sent.size(), expected.size());
  EXPECT_EQ(sent == expected, true);
}

TEST_P(Publish, WhoComesBeforeTheServerListensIsAnswered) {
  const auto run = served("print('ready', flush=True); time.sleep(1); serve(listen())\n");
  EXPECT_EQ(get(), "inside");
}

TEST_P(Publish, OnceSomethingHasListenedAConnectionToNothingIsResetAtOnce) {
  auto run = served(
      "s = listen(); print('ready', flush=True)\n"
      "for i in range(2): answer(s.accept()[0])\n"
      "s.close(); print('closed', flush=True); time.sleep(60)\n");
  EXPECT_EQ(get(), "inside");
  EXPECT_EQ(get("::1"), "inside");
  ASSERT_TRUE(run->expect("closed"));
  EXPECT_EQ(get(), "(reset)");
  EXPECT_EQ(get("::1"), "(reset)");
}

TEST_P(Publish, WhatListensOnAnotherLoopbackAddressIsNotFoundAndTheRunSaysSo) {
  auto run = served(
      "import signal; signal.signal(signal.SIGTERM, lambda *_: os._exit(0))\n"
      "print('ready', flush=True); serve(listen('127.0.0.2'))\n");
  EXPECT_EQ(get(), "(reset)");
  run->signal(SIGTERM);
  const Finished ended = run->wait();
  EXPECT_TRUE(ended.says("1 connection came to port 5173, and nothing listened on 127.0.0.1 or ::1 there")) << ended;
  EXPECT_THAT(ended.err, Not(HasSubstr("arpa"))) << ended;
}

TEST_P(Publish, TwoHundredAtOnceAreAllAnswered) {
  const auto run = served("serve(listen())\n");
  std::vector<std::string> got(200);
  {
    std::vector<std::jthread> threads;
    for (std::string& one : got) threads.emplace_back([&one] { one = get(); });
  }
  EXPECT_THAT(got, testing::Each("inside"));
}

TEST_P(Publish, IdleConnectionsOfAnotherDoNotShutThePort) {
  auto run = served("serve(listen())\n", kPublished, {"--report", scene.in_work("r.json")});
  std::vector<base::Fd> idle;
  for (int i = 0; i < 200; ++i) idle.push_back(connect_to("127.0.0.1", kPort));
  EXPECT_EQ(get(), "inside");
  idle.clear();
  ASSERT_EQ(ask("end\n"), "last words");
  const Finished ended = run->wait();
  EXPECT_TRUE(ended.says("to port 5173 were reset for want of room")) << ended;
  const auto document = nlohmann::json::parse(scene.bare({"/bin/cat", scene.in_work("r.json")}).out, nullptr, false);
  ASSERT_FALSE(document.is_discarded());
  EXPECT_GT(document["inbound"][0]["no_room"], 0);
}

TEST_P(Publish, APortThatIsTakenRefusesTheRunAndNamesIt) {
  for (const char* address : {"127.0.0.1", "::1", "0.0.0.0"}) {
    const base::Fd taken = listen_on(address, kPort, Reuse::kAgain);
    const Finished got = python("print('ran', flush=True)\n", kPublished);
    EXPECT_EQ(got.code, 125) << address << got;
    EXPECT_TRUE(got.says("5173 of this host is taken: another program has it")) << address << got;
    EXPECT_TRUE(got.says("mend: end what has it, or publish another port")) << got;
    EXPECT_THAT(got.out, Not(HasSubstr("ran")));
  }
  EXPECT_THAT(python("print('ran', flush=True)\n", kPublished).out, HasSubstr("ran")) << "the control";
}

TEST_P(Publish, OpensNoOtherPortAndNoOtherAddressOfTheHost) {
  const auto run = served("other = listen(port=5174)\nserve(listen('0.0.0.0'))\n");
  EXPECT_EQ(get(), "inside") << "the control";
  EXPECT_EQ(get("127.0.0.1", 5174), "(none)");
  for (const char* address : {kOwn4, kOwn6, kOwnPrivate4, "127.0.0.2"}) EXPECT_EQ(get(address), "(none)") << address;
}

TEST_P(Publish, IsNoWayToTheHostOrOutOfIt) {
  const WebServer of_the_host("127.0.0.1", 5174, "host");
  const WebServer far(kPublic4, 8080, "far");
  const std::string tries =
      "def reach(host, port):\n"
      "  s = socket.create_connection((host, port), 5); s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')\n"
      "  return s.makefile('rb').read().split(b'\\r\\n')[-1].decode()\n"
      "def try_all():\n"
      "  for host, port in [('127.0.0.1', 5174), ('::1', 5174), ('93.184.216.1', 5174), ('93.184.216.34', 8080)]:\n"
      "    said(host, lambda: reach(host, port))\n"
      "  said('name', lambda: socket.gethostbyname('a.example'))\n";
  scene.tree().write("work/bare.py",
                     "import socket, errno\n"
                     "def said(name, act):\n"
                     "  try: print(name, act(), flush=True)\n"
                     "  except OSError as e: print(name, 'failed', flush=True)\n" +
                         tries + "try_all()\n");
  const Finished bare = scene.bare({python_path(), scene.in_work("bare.py")});
  EXPECT_THAT(bare.out, AllOf(HasSubstr("127.0.0.1 host"), HasSubstr("93.184.216.34 far"), HasSubstr("name 93.")))
      << "the control" << bare;
  // While the host is connected, and to the very end that its connection comes from.
  auto run = served(tries +
                    "s = listen()\nprint('ready', flush=True)\nc, peer = s.accept()\n"
                    "try_all(); said('peer', lambda: reach(*peer)); print('over', flush=True)\n");
  const base::Fd host = connect_to("127.0.0.1", kPort);
  ASSERT_TRUE(run->expect("over")) << run->seen();
  EXPECT_THAT(run->seen(), AllOf(Not(HasSubstr(" host")), Not(HasSubstr(" far")), Not(HasSubstr("name 93."))))
      << run->seen();
  EXPECT_THAT(run->seen(), AllOf(HasSubstr("127.0.0.1 ECONNREFUSED"), HasSubstr("93.184.216.34 ENETUNREACH"),
                                 HasSubstr("peer ECONNREFUSED")));
}

TEST_P(Publish, TheTargetSeesItsOwnLoopbackAndNothingOfTheHost) {
  const auto run = served("serve(listen())\n");
  EXPECT_EQ(ask("peer\n"), "'127.0.0.1'");
  EXPECT_EQ(ask("peer\n", "::1"), "'127.0.0.1'");
}

TEST_P(Publish, StandsBesideAWayOut) {
  const WebServer far(kPublic4, 8080, "far");
  const std::string both = kPublished + rules({{"a.example", "8080"}});
  auto run = served(
      "def fetch(): return urllib.request.urlopen('http://a.example:8080/', timeout=20).read().decode()\n"
      "said('out', fetch)\nserve(listen())\n",
      both);
  EXPECT_THAT(run->seen(), HasSubstr("out far"));
  EXPECT_EQ(get(), "inside");
}

TEST_P(Publish, ALowLimitOfDescriptorsIsNoHindranceAndStaysTheTargets) {
  const std::string manifest = python_manifest(
      kServe + "import resource\nprint('limit', resource.getrlimit(resource.RLIMIT_NOFILE)[0])\nserve(listen())\n");
  for (const rlim_t most : {rlim_t{256}, rlim_t{100}}) {
    ASSERT_TRUE(is_closed());
    const auto lower = [most] {
      rlimit limit{};
      ::getrlimit(RLIMIT_NOFILE, &limit);
      limit.rlim_cur = most;
      ::setrlimit(RLIMIT_NOFILE, &limit);
    };
    Running run = run_of(manifest + kPublished).before(lower).start();
    ASSERT_TRUE(run.expect("ready")) << run.wait();
    EXPECT_THAT(run.seen(), HasSubstr("limit " + std::to_string(most) + "\n"));
    EXPECT_EQ(get(), "inside");
  }
}

TEST_P(Publish, TooLowAHardLimitOfDescriptorsRefusesTheRunAndNamesIt) {
  for (const auto& [most, code] : {std::pair{rlim_t{400}, 125}, {rlim_t{1'024}, 0}}) {
    const auto lower = [most] {
      const rlimit limit{most, most};
      ::setrlimit(RLIMIT_NOFILE, &limit);
    };
    const Finished got = run_of(python_manifest("print('ran', flush=True)\n") + kPublished).before(lower).run();
    EXPECT_EQ(got.code, code) << got;
    EXPECT_EQ(got.says("publish needs some 700 descriptors, and the hard limit here is 400"), code != 0) << got;
  }
}

TEST_P(Publish, WorksOnAKernelWithoutIpv6OrNfTables) {
  const std::vector<std::function<void()>> kernels = {
      [] { lose_sockets(AF_INET6, -1, EAFNOSUPPORT); },
      [] { lose_sockets(AF_NETLINK, NETLINK_NETFILTER, EPROTONOSUPPORT); },
  };
  for (const auto& without : kernels) {
    ASSERT_TRUE(is_closed());
    Running run = run_of(python_manifest(kServe + "serve(listen())\n") + kPublished).before(without).start();
    ASSERT_TRUE(run.expect("ready")) << run.wait();
    EXPECT_EQ(get(), "inside");
  }
}

TEST_P(Publish, EndsWithTheRunAndItsLastWordsArrive) {
  auto run = served("serve(listen())\n");
  EXPECT_EQ(ask("end\n"), "last words");
  EXPECT_EQ(run->wait().code, 0);
  EXPECT_EQ(get(), "(none)");
  const auto again = served("serve(listen())\n");
  EXPECT_EQ(get(), "inside") << "the port can be published again at once";
}

TEST_P(Publish, AKilledCordonLeavesNoPortOpen) {
  auto run = served("serve(listen())\n");
  const base::Fd open = connect_to("127.0.0.1", kPort);
  ASSERT_EQ(get(), "inside");
  run->signal(SIGKILL);
  EXPECT_EQ(run->wait().signal, SIGKILL);
  EXPECT_EQ(read_all(open), "(reset)");
  EXPECT_TRUE(is_closed());
}

TEST_P(Publish, IsReportedOnceForEachPortAndOnlyToWhoAsks) {
  auto run = served("serve(listen())\n", kPublished, {"--report", scene.in_work("r.json")});
  for (int i = 0; i < 3; ++i) ASSERT_EQ(get(), "inside");
  ASSERT_EQ(ask("end\n"), "last words");
  const Finished ended = run->wait();
  EXPECT_EQ(ended.err, "") << "a clean run says nothing of ours";
  const Finished report = scene.bare({"/bin/cat", scene.in_work("r.json")});
  const auto document = nlohmann::json::parse(report.out, nullptr, false);
  ASSERT_FALSE(document.is_discarded()) << report;
  ASSERT_TRUE(document.contains("inbound")) << report;
  ASSERT_EQ(document["inbound"].size(), 1U) << report;
  EXPECT_EQ(document["inbound"][0]["port"], kPort);
  EXPECT_EQ(document["inbound"][0]["count"], 4);
  EXPECT_EQ(document["egress_connections"], 0);
  const Finished explained = scene.cordon({"explain"}).run();
  EXPECT_TRUE(explained.says("published: port 5173 was reached 4 times")) << explained;
}

TEST_P(Publish, WhatCanNeverBeIsRefusedByEveryCommandAlike) {
  for (const std::string ports : {"[80]", "[5173, 5173]", "[5432]"}) {
    const std::string yaml = python_manifest("print('ran')\n") + "publish: " + ports + "\nhost_services: [5432]\n";
    const std::string path = scene.manifest(yaml);
    const Finished ran = run_of(yaml).run();
    EXPECT_EQ(ran.code, 125) << ran;
    EXPECT_TRUE(ran.says("publish: ")) << ran;
    const Finished validated = scene.cordon({"validate", path}).run();
    EXPECT_TRUE(validated.says("publish: ")) << validated;
    EXPECT_EQ(scene.cordon({"validate", "--strict", path}).run().code, 125);
    EXPECT_EQ(scene.cordon({"inspect", path}).run().code, 125);
  }
}

}  // namespace
}  // namespace cordon::test
