// Promise: what a target of ill will tries against the way out gets it nowhere. It cannot leave by another socket, ask
// a name server of its choice, change its network, see or touch Cordon's programs, nor wear the broker out; its own
// servers stay its own.

#include <atomic>

#include "network/way_out.h"

namespace cordon::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::uint16_t kPort = 8080;
const std::string kGranted = rules({{"a.example", "8080"}});
const std::string kEverything = rules({{"*", "*"}});

class Attempts : public WayOut {
 protected:
  WebServer web4{kPublic4, kPort, "over"};
};
INSTANTIATE_TEST_SUITE_P(As, Attempts, testing::ValuesIn(identities()), identity_name);

TEST_P(Attempts, OwnServersAreReachedUnderEveryAddressOfTheirOwnAndNobodyElses) {
  const Finished got = python(
      "def own(family, at, reached, port):\n"
      "  s = socket.socket(family); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n"
      "  s.bind((at, port)); s.listen(); c = socket.create_connection((reached, port), 5)\n"
      "  s.settimeout(5); a, peer = s.accept(); a.sendall(b'mine'); out = c.recv(9); a.close(); return out\n"
      "four, six = socket.AF_INET, socket.AF_INET6\n"
      "for port in [8080, 1024, 5353, 65535]:\n"
      "  for family, at, reached in [(four, '127.0.0.1', '127.0.0.1'), (four, '0.0.0.0', '127.0.0.1'),\n"
      "      (four, '0.0.0.0', '127.1.2.3'), (four, '0.0.0.0', 'localhost'), (six, '::1', '::1'), (six, '::', '::1'),\n"
      "      (six, '::', '127.0.0.1'), (six, '::', 'localhost')]:\n"
      "    said(f'{port} {at} {reached}', lambda: own(family, at, reached, port))\n"
      "# Bound to everything, it still stands for none of the addresses that lead out.\n"
      "s = socket.create_server(('0.0.0.0', 8080))\n"
      "t = socket.create_server(('::', 8080), family=six)\n"
      "for host in ['a.example', '198.18.0.1', 'fd63:6f72:646e::1', '93.184.216.34', '2606:2800:220::1']:\n"
      "  for server in [s, t]: server.settimeout(0.2)\n"
      "  def reach():\n"
      "    c = socket.create_connection((host, 8080), 5); c.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n'); return "
      "c.recv(99)[:12]\n"
      "  said('out ' + host, reach)\n"
      "for server in [s, t]:\n"
      "  try: print('taken', server.accept())\n"
      "  except OSError: pass\n",
      kGranted);
  for (const char* port : {"8080", "1024", "5353", "65535"}) {
    for (const char* pair : {"127.0.0.1 127.0.0.1", "0.0.0.0 127.0.0.1", "0.0.0.0 127.1.2.3", "0.0.0.0 localhost",
                             "::1 ::1", ":: ::1", ":: 127.0.0.1", ":: localhost"})
      EXPECT_THAT(got.out, HasSubstr(std::string(port) + " " + pair + " b'mine'\n")) << got;
  }
  EXPECT_THAT(got.out, HasSubstr("out a.example b'HTTP/1.1 200'")) << got;
  for (const char* host : {"198.18.0.1", "fd63:6f72:646e::1", "93.184.216.34", "2606:2800:220::1"})
    EXPECT_THAT(got.out, HasSubstr("out " + std::string(host) + " ECONNRESET")) << got;
  EXPECT_THAT(got.out, Not(HasSubstr("taken"))) << got;
}

TEST_P(Attempts, NobodyConnectsToItselfByAccident) {
  const Finished got = python(
      "def itself(family, source, to):\n"
      "  s = socket.socket(family); s.settimeout(5); s.bind((source, 40000)); s.connect((to, 40000))\n"
      "  s.sendall(b'x'); return s.recv(1) or 'closed'\n"
      "name4 = socket.getaddrinfo('a.example', 1, socket.AF_INET)[0][4][0]\n"
      "name6 = socket.getaddrinfo('a.example', 1, socket.AF_INET6)[0][4][0]\n"
      "for to in ['198.18.0.1', name4, '93.184.216.34']:\n"
      "  for source in ['0.0.0.0', '198.18.0.1', to]: said(f'four {source} {to}', lambda: itself(socket.AF_INET, "
      "source, to))\n"
      "for to in ['fd63:6f72:646e::1', name6, '2606:2800:220::1']:\n"
      "  for source in ['::', 'fd63:6f72:646e::1', to]: said(f'six {source} {to}', lambda: itself(socket.AF_INET6, "
      "source, to))\n",
      kGranted);
  EXPECT_THAT(got.out, AllOf(HasSubstr("four 0.0.0.0 198.18.0.1 "), HasSubstr("six :: fd63:6f72:646e::2 "),
                             Not(HasSubstr("b'x'"))))
      << got;
}

TEST_P(Attempts, AnAddressStandsForOneNameAsLongAsTheRunLasts) {
  const Finished got = python(
      "def addresses(name): return tuple(sorted(a[4][0] for a in socket.getaddrinfo(name, 1, 0, socket.SOCK_STREAM)))\n"
      "names = [f'n{i}.many.example' for i in range(300)]\n"
      "first = {name: addresses(name) for name in names}\n"
      "again = {name: addresses(name) for name in reversed(names)}\n"
      "print(first == again, len(set(first.values())), len({a for pair in first.values() for a in pair}))\n"
      "print(socket.gethostbyaddr(first['n7.many.example'][0])[0])\n",
      rules({{".many.example", "8080"}}));
  EXPECT_EQ(got.out, "True 300 600\nn7.many.example\n") << got;
}

TEST_P(Attempts, NoQuestionLeavesWhoeverIsAskedAndHowever) {
  NameServer names;
  std::atomic<int> strangers = 0;
  const Server stranger(kOther4, 53, [&](const base::Fd&) { ++strangers; });
  const Server own(kPublic4, 53, [&](const base::Fd&) { ++strangers; });
  const Finished got = python(
      "import struct\n"
      "def question(name, kind):\n"
      "  labels = b''.join(bytes([len(l)]) + l.encode() for l in name.split('.'))\n"
      "  return struct.pack('>HHHHHH', 7, 0x100, 1, 0, 0, 0) + labels + b'\\0' + struct.pack('>HH', kind, 1)\n"
      "def udp(server, name, kind):\n"
      "  s = socket.socket(socket.AF_INET6 if ':' in server else socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5)\n"
      "  s.sendto(question(name, kind), (server, 53)); return s.recv(512)[3] & 15\n"
      "def tcp(server, name, kind):\n"
      "  s = socket.create_connection((server, 53), 5); q = question(name, kind)\n"
      "  s.sendall(struct.pack('>H', len(q)) + q); return s.recv(514)[5] & 15\n"
      "for server in ['198.18.0.1', '127.0.0.1', '93.184.216.35', '2606:2800:220::1']:\n"
      "  for kind in [1, 28, 16, 255, 12]:\n"
      "    for name in ['stolen.evil.example', 'dns.example', 'x' * 60 + '.dns.example', '_dns._udp.dns.example']:\n"
      "      said(f'udp {server}', lambda: udp(server, name, kind)); said(f'tcp {server}', lambda: tcp(server, name, "
      "kind))\n"
      "said('search', lambda: socket.getaddrinfo('stolen', 1))\n",
      rules({{"dns.example", "8080"}}));
  EXPECT_THAT(names.asked(), IsEmpty());
  EXPECT_EQ(strangers, 0);
  EXPECT_THAT(got.out,
              AllOf(HasSubstr("udp 198.18.0.1 0"), HasSubstr("udp 198.18.0.1 3"), HasSubstr("udp 93.184.216.35 3"),
                    HasSubstr("udp 2606:2800:220::1 3"), HasSubstr("tcp 198.18.0.1 3")))
      << got;
}

TEST_P(Attempts, OtherSocketsLeadNowhereAndTheNetworkCannotBeChanged) {
  const Finished got = python(
      "import struct, ctypes\n"
      "libc = ctypes.CDLL(None, use_errno=True)\n"
      "def call(number, *args):\n"
      "  if libc.syscall(number, *args) < 0: raise OSError(ctypes.get_errno(), '')\n"
      "  return 'done'\n"
      "def udp(family, to):\n"
      "  s = socket.socket(family, socket.SOCK_DGRAM); s.settimeout(1); s.connect((to, 8080)); s.send(b'x'); return "
      "s.recv(9)\n"
      "def kernel(protocol, kind, flags, body):\n"
      "  s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol); s.settimeout(5); s.bind((0, 0))\n"
      "  s.send(struct.pack('=IHHII', 16 + len(body), kind, flags | 5, 1, 0) + body); answer = s.recv(8192)\n"
      "  code = struct.unpack_from('=i', answer, 16)[0]\n"
      "  if code < 0: raise OSError(-code, '')\n"
      "  return 'done'\n"
      "said('udp', lambda: udp(socket.AF_INET, '93.184.216.34')); said('udp6', lambda: udp(socket.AF_INET6, "
      "'2606:2800:220::1'))\n"
      "said('ping', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, "
      "socket.IPPROTO_ICMP).connect(('93.184.216.34', 1)))\n"
      "said('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 255))\n"
      "said('raw6', lambda: socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58))\n"
      "said('sctp', lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132))\n"
      "said('mptcp', lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262))\n"
      "said('packet', lambda: socket.socket(17, socket.SOCK_DGRAM, 0x300))\n"
      "said('vsock', lambda: socket.socket(40, socket.SOCK_STREAM).connect((2, 1)))\n"
      "said('xdp', lambda: socket.socket(44, socket.SOCK_RAW))\n"
      "said('address', lambda: kernel(0, 20, 0x600, struct.pack('=BBBBI', 2, 32, 0, 0, 1) + struct.pack('=HH4B', 8, 2, "
      "10, 9, 8, 7)))\n"
      "said('route', lambda: kernel(0, 25, 0, struct.pack('=BBBBBBBBI', 2, 0, 0, 0, 254, 0, 0, 0, 0)))\n"
      "said('link', lambda: kernel(0, 16, 0, struct.pack('=BxHiII', 0, 0, 1, 0, 1)))\n"
      "said('table', lambda: kernel(12, 0xa02, 0, struct.pack('=BBH', 0, 0, 0)))\n"
      "said('namespace', lambda: call(272, 0x10000000 | 0x40000000))\n"
      "said('net namespace', lambda: call(272, 0x40000000))\n",
      kEverything);
  for (const char* what : {"udp", "udp6", "ping", "raw", "raw6", "sctp", "mptcp", "packet", "vsock", "xdp", "address",
                           "route", "link", "table", "namespace", "net namespace"})
    EXPECT_THAT(got.out, testing::ContainsRegex("(^|\n)" + std::string(what) + " E[A-Z]+")) << what << got;
}

TEST_P(Attempts, NothingOfCordonsIsSeenInside) {
  const Finished got = python(
      "import ctypes\n"
      "libc = ctypes.CDLL(None, use_errno=True)\n"
      "pids = sorted(int(p) for p in os.listdir('/proc') if p.isdigit())\n"
      "print('pids', pids == [1, os.getpid()])\n"
      "print('fds', sorted(os.listdir('/proc/self/fd')) == ['0', '1', '2', '3'])\n"
      "print('unix', len(open('/proc/net/unix').readlines()))\n"
      "said('signal', lambda: os.kill(1, 9)); said('freeze', lambda: os.kill(1, 19))\n"
      "def trace():\n"
      "  if libc.ptrace(16, 1, 0, 0) < 0: raise OSError(ctypes.get_errno(), '')\n"
      "said('trace', trace)\n"
      "said('memory', lambda: open('/proc/1/mem', 'rb')); said('its pipe', lambda: open('/proc/1/fd/4'))\n"
      "print('still', urllib.request.urlopen('http://a.example:8080/').read())\n",
      kGranted);
  EXPECT_THAT(got.out, AllOf(HasSubstr("pids True"), HasSubstr("fds True"), HasSubstr("unix 1\n"))) << got;
  for (const char* what : {"trace", "memory", "its pipe"})
    EXPECT_THAT(got.out, testing::ContainsRegex(std::string(what) + " E(PERM|ACCES|NOENT)")) << what << got;
  EXPECT_THAT(got.out, HasSubstr("still b'over'")) << got;
  EXPECT_EQ(got.code, 0) << "init is not to be killed or stopped" << got;
}

TEST_P(Attempts, ATargetThatTakesAllItCanDoesNotStarveTheBroker) {
  const Finished got = python(
      "import resource, signal\n"
      "resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)\n"
      "busy = []\n"
      "for i in range(12):\n"
      "  pid = os.fork()\n"
      "  if pid == 0:\n"
      "    while True: pass\n"
      "  busy.append(pid)\n"
      "name = socket.getaddrinfo('a.example', 8080, socket.AF_INET)[0][4]\n"
      "held, refused = [], 0\n"
      "for i in range(700):\n"
      "  s = socket.socket(); s.settimeout(10)\n"
      "  try: s.connect(name); s.send(b'GET'); held.append(s)\n"
      "  except OSError: refused += 1\n"
      "flood = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); flood.connect(('198.18.0.1', 53)); "
      "flood.setblocking(False)\n"
      "until = time.monotonic() + 3\n"
      "i = 0\n"
      "while time.monotonic() < until:\n"
      "  i += 1; label = b'%08x' % i\n"
      "  try: flood.send(b'\\0\\7\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\x08' + label + b'\\4many\\7example\\0\\0\\1\\0\\1')\n"
      "  except OSError: pass\n"
      "print('asked', i > 1000)\n"
      "print('still', urllib.request.urlopen('http://a.example:8080/', timeout=20).read())\n"
      "for pid in busy: os.kill(pid, signal.SIGKILL)\n",
      rules({{"a.example", "8080"}, {".many.example", "8080"}}), {"--json"});
  EXPECT_THAT(stdout_of(got), HasSubstr("asked True\nstill b'over'\n")) << got;
  EXPECT_EQ(got.code, 0) << got;
}

TEST_P(Attempts, ABrokerWithoutDescriptorsEndsTheRun) {
  const std::string manifest = python_manifest(
                                   "print('waiting', flush=True)\nsys.stdin.readline()\n"
                                   "kept = []\n"
                                   "while True:\n"
                                   "  try: kept.append(socket.create_connection(('a.example', 8080), 5))\n"
                                   "  except OSError as e: pass\n"
                                   "  time.sleep(0.01)\n") +
                               kGranted;
  Running running = run_of(manifest).pty().start();
  ASSERT_TRUE(running.expect("waiting"));
  const pid_t broker = broker_of(running.pid());
  ASSERT_GT(broker, 0);
  const Finished limited = scene.bare({"/usr/bin/prlimit", "--pid", std::to_string(broker), "--nofile=8:8"});
  ASSERT_EQ(limited.code, 0) << limited;
  running.type("\n");
  const Finished ended = running.wait();
  EXPECT_EQ(ended.code, 124) << ended;
  EXPECT_TRUE(ended.says("it has run out of descriptors")) << ended;
}

}  // namespace
}  // namespace cordon::test
