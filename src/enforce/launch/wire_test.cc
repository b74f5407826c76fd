// The wire format without a kernel: what encode() writes, what the decoder takes, and that nothing else harms it.
#include "plan/wire_compare.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <random>
#include <string>

#include "enforce/launch/encode.h"
#include "plan/wire_fuzz.h"

namespace cordon::enforce::launch {
namespace {

namespace wire = plan::wire;
namespace step = plan::step;
using wire::Fault;
using wire::Op;

/// One step of every kind, in an order that the wire takes.
plan::Plan whole_plan() {
  plan::Plan plan;
  plan.timeout_ms = 7'000;
  const auto add = [&](step::Any act) { plan.steps.push_back({.act = std::move(act), .reason = "a test"}); };
  add(step::EnterNamespaces{.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET,
                            .uids = {{.inside = 0, .outside = 1000, .count = 1}, {.inside = 7, .outside = 70}},
                            .gids = {{.inside = 1000, .outside = 1000, .count = 1}},
                            .groups = {4, 24},
                            .set_groups = true});
  add(step::BuildRoot{.size_bytes = 4096});
  add(step::MakeDirectory{.target = "/a/b", .mode = 0711});
  add(step::MakeSymlink{.target = "/bin", .text = "usr/bin"});
  add(step::MakeFile{.target = "/etc/passwd", .content = std::string("x\0y", 3), .mode = 0400});
  add(step::Bind{.source = "/home/u/new/deep",
                 .id = {.device = 66, .inode = 77, .type = S_IFDIR, .has_birth_time = true, .birth_ns = -5},
                 .target = "/w",
                 .attributes = {.read_only = true, .noexec = true, .nosuid = true, .nodev = false},
                 .create = {"new", "deep"},
                 .create_owner_uid = 1000});
  add(step::MountProc{});
  add(step::MountDev{.shm_bytes = 99});
  add(step::MountTmpfs{.target = "/tmp", .size_bytes = 1, .mode = 0700, .attributes = {.noexec = true}});
  add(step::Mask{.target = "/w/.ssh", .directory = true});
  add(step::Pin{.target = "/w/.git", .read_only = true});
  add(step::StubOverlay{
      .source = "/home/u/p",
      .id = {.device = 66, .inode = 78, .type = S_IFDIR, .has_birth_time = true, .birth_ns = 5},
      .target = "/p",
      .attributes = {.noexec = true},
      .stubs = {{.path = ".vscode"}, {.path = "a/.envrc", .directory = false}},
      .work = "/home/u/state",
      .work_id = {.device = 66, .inode = 79, .type = S_IFDIR, .has_birth_time = true, .birth_ns = 6}});
  add(step::HoldPoint{.directory = "/home/u/p", .name = ".git", .target = "/p/.git", .is_directory = false});
  add(step::EnterRoot{});
  add(step::Loopback{});
  add(step::ResourceLimit{.resource = 4, .soft = 1, .hard = 2});
  add(step::RunAs{.uid = 5, .gid = 6});
  add(step::DropPrivileges{});
  add(step::Landlock{.handled_access = 15, .scoped = 3, .abi = 6, .rules = {{"/w", 7}, {"/usr", 1}}});
  add(step::Filter{.name = "exec", .program = std::vector<std::uint8_t>(16, 6), .notify = true, .flags = 8});
  add(step::Execute{
      .path = "/usr/bin/env", .argv = {"env", "", "last"}, .environment = {"A=1"}, .working_directory = "/"});
  return plan;
}

base::Result<wire::View, wire::Malformed> decode(const plan::Plan& plan) {
  static std::vector<std::byte> bytes;  // a View only looks
  bytes = encode(plan);
  return wire::View::decode(bytes);
}

wire::Record nth(const wire::View& view, std::size_t step) {
  for (std::size_t i = 0; i < view.size(); ++i) {
    if (view.record(i).step == step) return view.record(i);
  }
  ADD_FAILURE() << "no step " << step;
  return {};
}

TEST(Wire, CarriesEveryStepOfAPlan) {
  const auto view = decode(whole_plan());
  ASSERT_TRUE(view) << wire::fault_name(view.error().fault) << " in step " << view.error().step;
  ASSERT_EQ(view->size(), 25U);  // 21 steps, and a record for each stub and each Landlock rule
  for (std::size_t i = 0, step = 0; i < view->size(); ++i) {
    if (view->record(i).op != Op::kLandlockRule && view->record(i).op != Op::kStub) ++step;
    EXPECT_EQ(view->record(i).step, step);
  }
}

TEST(Wire, WritesIdMapsAsTheKernelReadsThem) {
  const auto view = decode(whole_plan());
  ASSERT_TRUE(view);
  const wire::Record enter = nth(*view, 1);
  EXPECT_STREQ(view->string(enter.refs[0]), "0 1000 1\n7 70 1\n");
  EXPECT_STREQ(view->string(enter.refs[1]), "1000 1000 1\n");
  EXPECT_EQ(view->bytes(enter.refs[2]).size(), 8U);
  EXPECT_EQ(enter.flags, wire::kDenySetgroups | wire::kSetGroups);
  EXPECT_EQ(enter.args[1], 7'000U) << "the time limit, which init keeps as well";
}

TEST(Wire, CarriesABindWithItsIdentityAndWhatToCreate) {
  const auto view = decode(whole_plan());
  ASSERT_TRUE(view);
  const wire::Record bind = nth(*view, 6);
  EXPECT_EQ(bind.args[0], 66U);
  EXPECT_EQ(bind.args[1], 77U);
  EXPECT_EQ(bind.args[2], static_cast<std::uint64_t>(S_IFDIR));
  EXPECT_EQ(static_cast<std::int64_t>(bind.args[3]), -5);
  EXPECT_EQ(bind.args[4], 1000U);
  EXPECT_EQ(bind.flags, wire::kReadOnly | wire::kNoexec | wire::kNosuid | wire::kHasBirthTime | wire::kCreateUid);
  EXPECT_STREQ(view->string(bind.refs[0]), "/w");
  EXPECT_STREQ(view->string(bind.refs[1]), "/home/u/new/deep");
  auto names = view->list(bind.refs[2]);
  EXPECT_EQ(names.count(), 2U);
  EXPECT_STREQ(names.next(), "new");
  EXPECT_STREQ(names.next(), "deep");
  EXPECT_EQ(names.next(), nullptr);
}

TEST(Wire, CarriesAnOverlayWithItsStubsAndAHoldPointAsItsMask) {
  const auto view = decode(whole_plan());
  ASSERT_TRUE(view);
  const wire::Record overlay = view->record(11);
  EXPECT_EQ(overlay.op, Op::kStubOverlay);
  EXPECT_EQ(overlay.args[6], 79U);
  EXPECT_EQ(overlay.args[7], 6U);
  EXPECT_STREQ(view->string(overlay.refs[3]), "/home/u/state");
  EXPECT_EQ(view->record(12).flags, wire::kDirectory);
  EXPECT_STREQ(view->string(view->record(12).refs[0]), "/p/.vscode");
  EXPECT_EQ(view->record(13).flags, 0U);
  EXPECT_STREQ(view->string(view->record(13).refs[0]), "/p/a/.envrc");
  const wire::Record hold = view->record(14);
  EXPECT_EQ(hold.op, Op::kMask);
  EXPECT_EQ(hold.flags, 0U);
  EXPECT_STREQ(view->string(hold.refs[0]), "/p/.git");
}

TEST(Wire, OfAControlGroupOnlySaysThatTheSupervisorIsWaitedFor) {
  plan::Plan plan = whole_plan();
  const plan::Step group{.act = step::Cgroup{.memory_bytes = 1, .cpu_hundredths = 2, .pids = 3}, .reason = "a test"};
  plan.steps.insert(plan.steps.begin() + 15, group);
  auto view = decode(plan);
  ASSERT_TRUE(view);
  std::size_t found = 0;
  for (std::size_t i = 0; i < view->size(); ++i) {
    const wire::Record record = view->record(i);
    if (record.op != Op::kCgroup) continue;
    ++found;
    EXPECT_EQ(record.step, 16);
    EXPECT_EQ(record.args, (std::array<std::uint64_t, 8>{}));
  }
  EXPECT_EQ(found, 1U);
  plan.steps.insert(plan.steps.begin() + 15, group);
  view = decode(plan);
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().fault, Fault::kOrder) << "one at most";
}

/// The whole plan with a private overlay at step 13, and what is wrong with it.
plan::Plan with_private_overlay(const std::function<void(step::PrivateOverlay&)>& spoil) {
  plan::Plan plan = whole_plan();
  step::PrivateOverlay overlay{
      .source = "/home/u/p",
      .id = {.device = 66, .inode = 78, .type = S_IFDIR, .has_birth_time = true, .birth_ns = 5},
      .target = "/v",
      .attributes = {.noexec = true},
      .place = "/home/u/state/1",
      .place_id = {.device = 67, .inode = 79, .type = S_IFDIR, .has_birth_time = true, .birth_ns = 6}};
  spoil(overlay);
  plan.steps.insert(plan.steps.begin() + 12, {.act = std::move(overlay), .reason = "a test"});
  return plan;
}

TEST(Wire, CarriesAPrivateOverlayWithItsPlace) {
  const auto view = decode(with_private_overlay([](step::PrivateOverlay&) {}));
  ASSERT_TRUE(view);
  const wire::Record overlay = view->record(14);
  ASSERT_EQ(overlay.op, Op::kPrivateOverlay);
  EXPECT_EQ(overlay.flags,
            wire::kNoexec | wire::kNosuid | wire::kNodev | wire::kHasBirthTime | wire::kPlaceHasBirthTime);
  EXPECT_EQ(overlay.args, (std::array<std::uint64_t, 8>{66, 78, S_IFDIR, 5, 67, 79, 6, 0}));
  EXPECT_STREQ(view->string(overlay.refs[0]), "/v");
  EXPECT_STREQ(view->string(overlay.refs[1]), "/home/u/p");
  EXPECT_STREQ(view->string(overlay.refs[2]), "/home/u/state/1");
}

TEST(Wire, RefusesAPrivateOverlayThatCannotBe) {
  using O = step::PrivateOverlay;
  const auto fault = [](const std::function<void(O&)>& spoil) {
    const auto bytes = encode(with_private_overlay(spoil));
    const auto view = wire::View::decode(bytes);
    return view ? std::string("taken") : std::string(wire::fault_name(view.error().fault));
  };
  EXPECT_EQ(fault([](O& o) { o.id.type = S_IFREG; }), "value");
  EXPECT_EQ(fault([](O& o) { o.place_id.inode = 0; }), "value");
  EXPECT_EQ(fault([](O& o) { o.target = "/"; }), "value");
  EXPECT_EQ(fault([](O& o) { o.attributes.read_only = true; }), "shape");
  EXPECT_EQ(fault([](O& o) { o.place = "/home/u/../x"; }), "path");
  EXPECT_EQ(fault([](O& o) { o.place = ""; }), "reference");
}

TEST(Wire, KeepsEmptyArgumentsAndBytesWithNuls) {
  const auto view = decode(whole_plan());
  ASSERT_TRUE(view);
  EXPECT_EQ(view->bytes(nth(*view, 5).refs[1]).size(), 3U);
  auto argv = view->list(nth(*view, 21).refs[1]);
  EXPECT_EQ(argv.count(), 3U);
  EXPECT_STREQ(argv.next(), "env");
  EXPECT_STREQ(argv.next(), "");
  EXPECT_STREQ(argv.next(), "last");
}

TEST(Wire, RefusesEveryTruncation) {
  const auto bytes = encode(whole_plan());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(wire::View::decode(std::span(bytes).first(size))) << size;
  }
}

TEST(Wire, RefusesABytesTooMany) {
  auto bytes = encode(whole_plan());
  bytes.push_back(std::byte{0});
  EXPECT_EQ(wire::View::decode(bytes).error().fault, Fault::kSize);
}

TEST(Wire, SurvivesMutations) {
  const auto good = encode(whole_plan());
  std::mt19937 random(20'240'229);
  const auto any = [&](std::size_t below) { return std::uniform_int_distribution<std::size_t>(0, below - 1)(random); };
  constexpr std::array<std::uint8_t, 6> kTelling = {0, 1, 0x7f, 0x80, 0xff, '/'};
  for (int round = 0; round < 40'000; ++round) {
    // Its own allocation of the exact size: a read beyond it is seen by the sanitizer.
    std::vector<std::byte> bytes(good);
    for (std::size_t n = 1 + any(4); n != 0; --n) {
      const auto value = any(2) == 0 ? kTelling[any(kTelling.size())] : static_cast<std::uint8_t>(any(256));
      bytes[any(bytes.size())] = static_cast<std::byte>(value);
    }
    if (any(4) == 0) bytes.resize(any(bytes.size()) + 1);
    bytes.shrink_to_fit();
    wire::fuzz_decode(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
}

TEST(Wire, SurvivesEveryByteChanged) {
  const auto good = encode(whole_plan());
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const std::uint8_t value : {std::uint8_t{0}, std::uint8_t{0xff}, std::uint8_t{'/'}}) {
      auto bytes = good;
      bytes[at] = static_cast<std::byte>(value);
      wire::fuzz_decode(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    }
  }
}

/// A plan that was spoilt in one way, and what is said of it.
struct Spoilt {
  const char* name;
  std::function<void(plan::Plan&)> spoil;
  Fault fault;
  std::uint16_t step;
};

template <class Act>
Act& act(plan::Plan& plan) {
  for (plan::Step& one : plan.steps) {
    if (auto* found = std::get_if<Act>(&one.act)) return *found;
  }
  throw std::logic_error("no such step");
}

TEST(Wire, NamesTheStepThatIsWrong) {
  using P = plan::Plan;
  const std::vector<Spoilt> cases = {
      {"relative target", [](P& p) { act<step::Mask>(p).target = "w/.ssh"; }, Fault::kPath, 10},
      {"parent in a target", [](P& p) { act<step::Mask>(p).target = "/w/../etc"; }, Fault::kPath, 10},
      {"dot in a source", [](P& p) { act<step::Bind>(p).source = "/home/./u"; }, Fault::kPath, 6},
      {"empty component", [](P& p) { act<step::Pin>(p).target = "/w//x"; }, Fault::kPath, 11},
      {"trailing slash", [](P& p) { act<step::Pin>(p).target = "/w/"; }, Fault::kPath, 11},
      {"empty path", [](P& p) { act<step::Execute>(p).path = ""; }, Fault::kReference, 21},
      {"NUL in a path", [](P& p) { act<step::Mask>(p).target = std::string("/w\0/x", 5); }, Fault::kReference, 10},
      {"NUL in an argument", [](P& p) { act<step::Execute>(p).argv[2] = std::string("a\0b", 3); }, Fault::kReference,
       21},
      {"a name of 256 bytes", [](P& p) { act<step::Mask>(p).target = "/" + std::string(256, 'n'); }, Fault::kPath, 10},
      {"a path of 4096 bytes",
       [](P& p) {
         std::string path;
         for (int i = 0; i < 2048; ++i) path += "/n";
         act<step::Mask>(p).target = path;
       },
       Fault::kPath, 10},
      {"a stub above its overlay", [](P& p) { act<step::StubOverlay>(p).stubs[0].path = "../x"; }, Fault::kPath, 12},
      {"a stub without a name", [](P& p) { act<step::StubOverlay>(p).stubs[1].path = ""; }, Fault::kPath, 12},
      {"an overlay of a file", [](P& p) { act<step::StubOverlay>(p).id.type = S_IFREG; }, Fault::kValue, 12},
      {"a work directory on another device", [](P& p) { act<step::StubOverlay>(p).work_id.device = 67; }, Fault::kValue,
       12},
      {"mount over the root", [](P& p) { act<step::MountTmpfs>(p).target = "/"; }, Fault::kValue, 9},
      {"no pid namespace", [](P& p) { act<step::EnterNamespaces>(p).flags &= ~std::uint64_t{CLONE_NEWPID}; },
       Fault::kValue, 1},
      {"clone flags that are no namespace", [](P& p) { act<step::EnterNamespaces>(p).flags |= CLONE_VM; },
       Fault::kValue, 1},
      {"a time limit that overflows in nanoseconds", [](P& p) { p.timeout_ms = ~0ULL / 1'000'000; }, Fault::kValue, 1},
      {"create is not the source's end", [](P& p) { act<step::Bind>(p).create = {"new", "other"}; }, Fault::kValue, 6},
      {"create leads up", [](P& p) { act<step::Bind>(p).create = {"..", "deep"}; }, Fault::kValue, 6},
      {"create with a slash", [](P& p) { act<step::Bind>(p).create = {"new/deep"}; }, Fault::kValue, 6},
      {"create longer than the source", [](P& p) { act<step::Bind>(p).create = {"x", "home", "u", "new", "deep"}; },
       Fault::kValue, 6},
      {"create with an empty name", [](P& p) { act<step::Bind>(p).create = {"", "deep"}; }, Fault::kValue, 6},
      {"half an instruction", [](P& p) { act<step::Filter>(p).program.pop_back(); }, Fault::kValue, 20},
      {"no instruction", [](P& p) { act<step::Filter>(p).program.clear(); }, Fault::kValue, 20},
      {"no argv[0]", [](P& p) { act<step::Execute>(p).argv.clear(); }, Fault::kValue, 21},
      {"uid -1", [](P& p) { act<step::RunAs>(p).uid = UINT32_MAX; }, Fault::kValue, 17},
      {"soft limit above the hard one", [](P& p) { act<step::ResourceLimit>(p).soft = 3; }, Fault::kValue, 16},
      {"no Landlock ABI", [](P& p) { act<step::Landlock>(p).abi = 0; }, Fault::kValue, 19},
      {"two roots", [](P& p) { p.steps.insert(p.steps.begin() + 2, p.steps[1]); }, Fault::kOrder, 3},
      {"a mount after the root was entered", [](P& p) { std::swap(p.steps[12], p.steps[13]); }, Fault::kOrder, 14},
      {"something after the end", [](P& p) { p.steps.push_back(p.steps[15]); }, Fault::kOrder, 22},
      {"nothing to execute", [](P& p) { p.steps.pop_back(); }, Fault::kOrder, 0},
      {"privileges kept", [](P& p) { p.steps.erase(p.steps.begin() + 17); }, Fault::kOrder, 0},
      {"the root not entered", [](P& p) { p.steps.erase(p.steps.begin() + 13); }, Fault::kOrder, 0},
      {"no step at all", [](P& p) { p.steps.clear(); }, Fault::kSize, 0},
  };
  for (const Spoilt& one : cases) {
    plan::Plan plan = whole_plan();
    one.spoil(plan);
    const auto view = decode(plan);
    ASSERT_FALSE(view) << one.name;
    EXPECT_STREQ(wire::fault_name(view.error().fault), wire::fault_name(one.fault)) << one.name;
    EXPECT_EQ(view.error().step, one.step) << one.name;
  }
}

/// The bytes of a record changed, where no plan can be written that way.
TEST(Wire, RefusesWhatNoPlanCanSay) {
  const auto good = encode(whole_plan());
  const auto with = [&](std::size_t record, auto change) {
    auto bytes = good;
    wire::Record one;
    std::byte* at = bytes.data() + sizeof(wire::Header) + record * sizeof one;
    std::memcpy(&one, at, sizeof one);
    change(one);
    std::memcpy(at, &one, sizeof one);
    return wire::View::decode(bytes).error().fault;
  };
  EXPECT_EQ(with(0, [](wire::Record& r) { r.op = Op{0}; }), Fault::kOp);
  EXPECT_EQ(with(0, [](wire::Record& r) { r.op = Op{wire::kOps + 1}; }), Fault::kOp);
  EXPECT_EQ(with(0, [](wire::Record& r) { r.step = 0; }), Fault::kStep);
  EXPECT_EQ(with(3, [](wire::Record& r) { r.step = 3; }), Fault::kStep);
  EXPECT_EQ(with(2, [](wire::Record& r) { r.flags = 1; }), Fault::kShape);
  EXPECT_EQ(with(2, [](wire::Record& r) { r.args[7] = 1; }), Fault::kShape);
  EXPECT_EQ(with(2, [](wire::Record& r) { r.refs[3].size = 1; }), Fault::kShape);
  EXPECT_EQ(with(2, [](wire::Record& r) { r.refs[0].offset = UINT32_MAX; }), Fault::kReference);
  EXPECT_EQ(with(2, [](wire::Record& r) { r.refs[0].size = UINT32_MAX; }), Fault::kReference);
  EXPECT_EQ(with(2, [](wire::Record& r) { r.refs[0].size -= 1; }), Fault::kReference);
  EXPECT_EQ(with(12, [](wire::Record& r) { r.step = 11; }), Fault::kOrder);  // a stub of another step
  EXPECT_EQ(with(11, [](wire::Record& r) { r.flags |= wire::kReadOnly; }), Fault::kShape);
  EXPECT_EQ(with(22, [](wire::Record& r) { r.step = 18; }), Fault::kOrder);  // a rule of another step
  EXPECT_EQ(with(21, [](wire::Record& r) { r.op = Op::kFilter; }), Fault::kStep);
}

/// whole_plan() with a way out behind its first step.
plan::Plan networked_plan() {
  plan::Plan plan = whole_plan();
  std::vector<plan::Step> network;
  const auto add = [&](step::Any act) { network.push_back({.act = std::move(act), .reason = {}, .at = {}}); };
  add(step::LocalNetwork{.address = "198.18.0.1"});
  add(step::LocalNetwork{.address = "fd63:6f72:646e::1"});
  add(step::Redirect{.port = 1, .ipv6 = true});
  add(step::Listen{.what = step::ListenFor::kRedirected, .address = "127.0.0.1", .port = 1});
  add(step::Listen{.what = step::ListenFor::kDnsUdp, .address = "::", .port = 53});
  add(step::SocketPool{.count = 128, .ipv6 = true});
  add(step::Publish{.port = 5173});
  plan.steps.insert(plan.steps.begin() + 1, network.begin(), network.end());
  return plan;
}

TEST(Wire, CarriesANetwork) {
  const auto view = decode(networked_plan());
  ASSERT_TRUE(view) << wire::fault_name(view.error().fault) << " in step " << view.error().step;
  EXPECT_EQ(nth(*view, 2).args[0], static_cast<std::uint64_t>(AF_INET));
  EXPECT_EQ(nth(*view, 2).args[1], 0x010012c6U) << "198.18.0.1, in the order of the network";
  EXPECT_EQ(nth(*view, 3).args[0], static_cast<std::uint64_t>(AF_INET6));
  EXPECT_EQ(nth(*view, 4).flags, wire::kIpv6Too);
  EXPECT_EQ(nth(*view, 5).flags, wire::kRedirected);
  EXPECT_EQ(nth(*view, 5).args[2], 1U);
  EXPECT_EQ(nth(*view, 6).args[0], static_cast<std::uint64_t>(SOCK_DGRAM));
  EXPECT_EQ(nth(*view, 6).args[1], static_cast<std::uint64_t>(AF_INET6));
  EXPECT_EQ(nth(*view, 7).args[0], static_cast<std::uint64_t>(AF_INET6));
  EXPECT_EQ(nth(*view, 7).args[1], 128U);
  EXPECT_EQ(nth(*view, 9).op, Op::kBuildRoot) << "the launcher hears nothing of step 8, the host's side";
}

TEST(Wire, RefusesANetworkThatCannotBe) {
  using P = plan::Plan;
  const std::vector<Spoilt> cases = {
      {"no address", [](P& p) { act<step::LocalNetwork>(p).address = "localhost"; }, Fault::kValue, 2},
      {"no port", [](P& p) { act<step::Redirect>(p).port = 0; }, Fault::kValue, 4},
      {"no port to listen on", [](P& p) { act<step::Listen>(p).port = 0; }, Fault::kValue, 5},
      {"two redirects", [](P& p) { p.steps.insert(p.steps.begin() + 3, p.steps[3]); }, Fault::kOrder, 5},
      {"a third address", [](P& p) { p.steps.insert(p.steps.begin() + 1, p.steps[1]); }, Fault::kOrder, 0},
      {"a network behind the root", [](P& p) { std::swap(p.steps[6], p.steps[8]); }, Fault::kOrder, 9},
      {"a pool of none", [](P& p) { act<step::SocketPool>(p).count = 0; }, Fault::kValue, 7},
      {"a pool of too many", [](P& p) { act<step::SocketPool>(p).count = 257; }, Fault::kValue, 7},
      {"three pools", [](P& p) { p.steps.insert(p.steps.begin() + 7, 2, plan::Step(p.steps[6])); }, Fault::kOrder, 0},
      {"too many sockets",
       [](P& p) { p.steps.insert(p.steps.begin() + 5, wire::kMostListeners, plan::Step(p.steps[4])); }, Fault::kOrder,
       0},
  };
  for (const Spoilt& one : cases) {
    plan::Plan plan = networked_plan();
    one.spoil(plan);
    const auto view = decode(plan);
    ASSERT_FALSE(view) << one.name;
    EXPECT_STREQ(wire::fault_name(view.error().fault), wire::fault_name(one.fault)) << one.name;
    EXPECT_EQ(view.error().step, one.step) << one.name;
  }
}

/// whole_plan() with a socket for the ssh agent's relay as this step.
plan::Plan agent_plan(const std::string& target, std::size_t step = 14) {
  plan::Plan plan = whole_plan();
  plan.steps.insert(plan.steps.begin() + static_cast<std::ptrdiff_t>(step - 1),
                    {.act = step::AgentSocket{.target = target, .source = "/home/me/agent", .id = {}, .owner = 7},
                     .reason = {},
                     .at = {}});
  return plan;
}

TEST(Wire, CarriesAnAgentSocketAndNothingOfTheHosts) {
  const auto view = decode(agent_plan("/run/agent"));
  ASSERT_TRUE(view);
  const wire::Record one = nth(*view, 14);
  EXPECT_EQ(one.op, Op::kAgentSocket);
  EXPECT_STREQ(view->string(one.refs[0]), "/run/agent");
}

TEST(Wire, RefusesAnAgentSocketThatCannotBe) {
  const auto fault = [](const plan::Plan& plan) { return decode(plan) ? Fault::kSize : decode(plan).error().fault; };
  EXPECT_TRUE(decode(agent_plan("/run/" + std::string(107, 'a'))));
  EXPECT_EQ(fault(agent_plan("/run/" + std::string(108, 'a'))), Fault::kValue);
  EXPECT_EQ(fault(agent_plan("/")), Fault::kValue);
  EXPECT_EQ(fault(agent_plan("/run/../agent")), Fault::kPath);
  EXPECT_EQ(fault(agent_plan("/run/agent", 2)), Fault::kOrder) << "there is no root yet";
  plan::Plan twice = agent_plan("/run/agent");
  twice.steps.insert(twice.steps.begin() + 13, plan::Step(twice.steps[13]));
  EXPECT_EQ(fault(twice), Fault::kOrder);
}

TEST(Wire, RefusesOtherMagicAndVersion) {
  auto bytes = encode(whole_plan());
  bytes[0] ^= std::byte{1};
  EXPECT_EQ(wire::View::decode(bytes).error().fault, Fault::kNotAPlan);
  bytes[0] ^= std::byte{1};
  bytes[8] ^= std::byte{1};
  EXPECT_EQ(wire::View::decode(bytes).error().fault, Fault::kOtherVersion);
}

TEST(Wire, TellsAnOpeningFromAPlan) {
  const plan::Plan plan = whole_plan();
  const auto opening = encode(std::get<step::EnterNamespaces>(plan.steps.front().act));
  const auto whole = encode(plan);
  EXPECT_EQ(wire::View::decode(opening).error().fault, Fault::kOrder);
  EXPECT_EQ(wire::View::decode(whole, wire::Extent::kOpening).error().fault, Fault::kOrder);
  auto view = wire::View::decode(opening, wire::Extent::kOpening);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->size(), 1U);
  EXPECT_TRUE(wire::same_opening(*view, *wire::View::decode(whole)));
}

TEST(Wire, SeesEveryByteOfAnOpeningThatIsNotThePlans) {
  const plan::Plan plan = whole_plan();
  const auto good = encode(std::get<step::EnterNamespaces>(plan.steps.front().act));
  const auto whole = encode(plan);
  const auto view = wire::View::decode(whole);
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(wire::View::decode(std::span(good).first(size), wire::Extent::kOpening)) << size;
  }
  const std::size_t time_limit = sizeof(wire::Header) + offsetof(wire::Record, args) + sizeof(std::uint64_t);
  const std::size_t build_id = offsetof(wire::Header, build_id);  // which the launcher looks at, not the decoder
  for (std::size_t at = 0; at < good.size(); ++at) {
    if ((at >= time_limit && at < time_limit + sizeof(std::uint64_t)) ||
        (at >= build_id && at < build_id + sizeof(wire::BuildId)))
      continue;
    auto bytes = good;
    bytes[at] ^= std::byte{1};
    auto other = wire::View::decode(bytes, wire::Extent::kOpening);
    EXPECT_FALSE(other && wire::same_opening(*other, *view)) << at;
  }
}

TEST(Wire, TakesDataThatIsNotAligned) {
  const auto good = encode(whole_plan());
  std::vector<std::byte> shifted(good.size() + 1);
  std::ranges::copy(good, shifted.begin() + 1);
  EXPECT_TRUE(wire::View::decode(std::span(shifted).subspan(1)));
}

}  // namespace
}  // namespace cordon::enforce::launch
