#include "policy/draft/fixture_test.h"

namespace cordon::policy::draft {
namespace {

TEST_F(Draft, ProposesWhatTheProgramReadAndNothingThatEveryRunHas) {
  file("/home/me/data.csv");
  file("/home/me/tool/places.txt");
  file("/usr/lib/python3/os.py");
  for (const char* path : {"/home/me/data.csv", "/home/me/tool/places.txt", "/usr/lib/python3/os.py", "/etc/passwd",
                           "/proc/self/maps", "/dev/urandom", "/sys/kernel/x", "/home/me/tool/not-there"})
    reads(path);
  const Proposal out = propose();
  EXPECT_THAT(lines(out), ElementsAre("read /home/me/data.csv", "read /home/me/tool/places.txt"));
  EXPECT_EQ(out.runtime, 2U);
  EXPECT_THAT(out.withheld, IsEmpty());
  EXPECT_FALSE(out.wants.front().was_given);
  EXPECT_TRUE(out.wants.back().was_given);
  EXPECT_EQ(out.wants.front().purpose, Purpose::kOther);
  EXPECT_EQ(out.wants.back().purpose, Purpose::kProject);
}

TEST_F(Draft, DropsAncestorsThatWereOnlyPassedAndKeepsThoseThatWereListed) {
  directory("/home/me/data");
  directory("/home/me/data/in");
  file("/home/me/data/in/a.csv");
  for (const char* path : {"/home", "/home/me", "/home/me/tool", "/home/me/data", "/home/me/data/in"}) probes(path);
  reads("/home/me/data/in/a.csv");
  EXPECT_THAT(lines(propose()), ElementsAre("read /home/me/data/in/a.csv"));
}

TEST_F(Draft, ADirectoryThatWasListedIsOneLine) {
  bind("/srv/data", "read: /srv/data", true);
  directory("/srv/data/in");
  file("/srv/data/in/a.csv");
  lists("/srv/data/in");
  reads("/srv/data/in/a.csv");
  const Proposal out = propose();
  EXPECT_THAT(lines(out), ElementsAre("read /srv/data/in"));
  EXPECT_THAT(out.flagged, IsEmpty());
}

TEST_F(Draft, OneThatCouldNotBeListedIsTheFilesThatWereNamedInItOrIsFlagged) {
  directory("/home/me/data");
  file("/home/me/data/a.csv");
  file("/home/me/data/b.csv");
  lists("/home/me/data");
  const Proposal alone = propose();
  EXPECT_THAT(lines(alone), ElementsAre("read /home/me/data")) << "nothing tells which file it would have read";
  EXPECT_THAT(remarks(alone.flagged), ElementsAre("whole-directory /home/me/data"));
  probes("/home/me/data/b.csv");
  EXPECT_THAT(remarks(propose().flagged), ElementsAre("whole-directory /home/me/data")) << "looked at, not used";
  reads("/home/me/data/a.csv");
  const Proposal narrow = propose();
  EXPECT_THAT(lines(narrow), ElementsAre("read /home/me/data/a.csv", "read /home/me/data/b.csv"));
  EXPECT_THAT(remarks(narrow.flagged), ElementsAre("directory-not-listed /home/me/data")) << "how Python imports";
  EXPECT_THAT(narrow.withheld, IsEmpty());
  program = "/usr/bin/ls";
  lists("/home/me/data");
  const Proposal other = propose();
  EXPECT_THAT(remarks(other.withheld), ElementsAre("directory-not-listed /home/me/data"));
  EXPECT_THAT(other.flagged, IsEmpty());
}

TEST_F(Draft, ALinkWhoseMiddleLiesElsewhereIsALineOfItsOwn) {
  bind("/srv/data", "read: /srv/data", true);
  directory("/srv/data");
  file("/srv/data/c");
  link("/srv/data/a", "/srv/data/c");
  facts.paths.at("/srv/data/a").hops = {{.at = "/srv/data/a", .target = "c"}};
  lists("/srv/data");
  reads("/srv/data/a");
  EXPECT_THAT(lines(propose()), ElementsAre("read /srv/data")) << "the control: its whole way lies in the directory";
  facts.paths.at("/srv/data/a").hops = {{.at = "/srv/data/a", .target = "/opt/x/b"},
                                        {.at = "/opt/x/b", .target = "/srv/data/c"}};
  EXPECT_THAT(lines(propose()), ElementsAre("read /srv/data", "read /srv/data/a"));
  EXPECT_FALSE(propose().wants.back().was_given) << "its middle was not there";
  Proposal out = propose();
  Policy base;
  base.read = {{.written = "/srv/data", .path = "/srv/data", .at = {}}};
  drop_given(out, base);
  EXPECT_THAT(lines(out), ElementsAre("read /srv/data/a"));
}

TEST_F(Draft, AFileThatIsALineAlreadyNeedsNoDirectoryThoughNobodyApprovedIt) {
  directory("/srv/data");
  file("/srv/data/log.txt");
  writes("/srv/data/log.txt");
  EXPECT_THAT(lines(propose()), ElementsAre("write /srv/data")) << "the control";
  standing = {{.written = "/srv/data/log.txt", .path = "/srv/data/log.txt", .at = {}}};
  EXPECT_THAT(lines(propose()), ElementsAre("write /srv/data/log.txt"));
  seen("/srv/data/log.txt", plan::kActWrite, {"rename"});
  EXPECT_THAT(lines(propose()), ElementsAre("write /srv/data")) << "a new file in its place needs the directory";
}

TEST_F(Draft, WhatTheJavaMachineKeepsInTmpIsInNoDraft) {
  directory("/tmp/hsperfdata_me");
  file("/tmp/hsperfdata_me/42");
  file("/tmp/theirs");
  lists("/tmp/hsperfdata_me");
  reads("/tmp/hsperfdata_me/42");
  writes("/tmp/hsperfdata_me/42");
  reads("/tmp/theirs");
  EXPECT_THAT(lines(propose()), ElementsAre("read /tmp/theirs")) << "the control: another file of the host's /tmp";
}

TEST_F(Draft, WhatItMadeInItsOwnTmpIsNotTheHostsOfThatName) {
  directory("/tmp/work");
  file("/tmp/work/a");
  makes("/tmp/work");
  writes("/tmp/work/a");
  reads("/tmp/work/a");
  lists("/tmp/work");
  EXPECT_THAT(lines(propose()), IsEmpty());
}

TEST_F(Draft, ADirectoryOutsideTheProjectThatWasOnlyLookedAtIsForAPersonToDecide) {
  directory("/home/me/tool/cache");
  directory("/home/me/photos");
  probes("/home/me/tool/cache");
  probes("/home/me/photos");
  const Proposal out = propose();
  EXPECT_THAT(lines(out), ElementsAre("read /home/me/photos", "read /home/me/tool/cache"));
  EXPECT_TRUE(out.wants.front().only_seen);
  EXPECT_FALSE(out.wants.back().only_seen);
}

TEST_F(Draft, TheOwnDirectoryIsOneLineOnlyWhereManyOfItsFilesWereOpened) {
  lists("/home/me/tool");
  file("/home/me/tool/a.txt");
  reads("/home/me/tool/a.txt");
  const Proposal few = propose();
  EXPECT_THAT(lines(few), ElementsAre("read /home/me/tool/a.txt"));
  EXPECT_THAT(remarks(few.flagged), ElementsAre("own-directory-listed /home/me/tool"));
  for (int i = 0; i < 30; ++i) {
    file("/home/me/tool/" + std::to_string(i));
    reads("/home/me/tool/" + std::to_string(i));
  }
  const Proposal many = propose();
  EXPECT_THAT(lines(many), ElementsAre("read /home/me/tool"));
  EXPECT_THAT(remarks(many.flagged), ElementsAre("whole-workdir /home/me/tool"));
}

TEST_F(Draft, WritesBecomeTheirDirectoryAndCoverWhatIsReadBelowIt) {
  directory("/home/me/tool/out");
  file("/home/me/tool/out/old.txt");
  writes("/home/me/tool/out/new.txt");
  reads("/home/me/tool/out/old.txt");
  EXPECT_THAT(lines(propose()), ElementsAre("write /home/me/tool/out"));
}

TEST_F(Draft, ADirectoryThatTheProgramMadeIsItsOwnLine) {
  directory("/home/me/tool/build").id.birth_ns = 2'000;
  directory("/home/me/tool/build/obj").id.birth_ns = 2'000;
  makes("/home/me/tool/build");
  makes("/home/me/tool/build/obj");
  writes("/home/me/tool/build/obj/a.o");
  EXPECT_THAT(lines(propose()), ElementsAre("write /home/me/tool/build"));
}

TEST_F(Draft, OneThatItRemovedOrRenamedAgainNeedsTheDirectoryAroundIt) {
  seen("/home/me/tool/tmp1", plan::kActWrite, {"mkdir", "rmdir"});
  EXPECT_THAT(lines(propose()), ElementsAre("write /home/me/tool"));
}

TEST_F(Draft, MakingDirectoriesThatStandAsksForNothing) {
  for (const char* path : {"/", "/home", "/home/me", "/var"}) makes(path);
  const Proposal out = propose();
  EXPECT_THAT(lines(out), IsEmpty());
  EXPECT_THAT(out.withheld, IsEmpty());
}

TEST_F(Draft, NeverProposesATreeOfManyOwners) {
  directory("/opt");
  directory("/home/other");
  directory("/home/other/x");
  file("/etc/motd");
  for (const char* path :
       {"/etc/cron", "/opt/x", "/var/x", "/home/x", "/home/other/x/y", "/root/x", "/x", "/usr/lib/y", "/run/z"})
    writes(path);
  lists("/home");
  lists("/home/me");
  reads("/home/other/x");
  const Proposal out = propose();
  EXPECT_THAT(lines(out), IsEmpty());
  EXPECT_THAT(remarks(out.withheld),
              testing::UnorderedElementsAre("system-tree /etc", "too-broad /opt", "too-broad /var", "too-broad /home",
                                            "foreign-home /home/other/x", "foreign-home /root", "too-broad /",
                                            "system-tree /usr/lib", "system-tree /run", "too-broad /home/me"));
}

TEST_F(Draft, JudgesWhereALinkLeadsAndNotOnlyItsName) {
  link("/home/me/tool/sys", "/etc");
  writes("/home/me/tool/sys/x");
  EXPECT_THAT(remarks(propose().withheld), ElementsAre("system-tree /home/me/tool/sys"));
}

TEST_F(Draft, AnExistingFileInADirectoryThatIsTooBroadMayBeALineOfItsOwn) {
  file("/home/me/log.txt");
  bind("/home/me/log.txt", "read: ~/log.txt", true);
  writes("/home/me/log.txt");
  const Proposal out = propose();
  EXPECT_THAT(lines(out), ElementsAre("write /home/me/log.txt"));
  EXPECT_FALSE(out.wants.front().directory);
}

TEST_F(Draft, TheRunsOwnScratchIsNobodysNeed) {
  writes("/tmp/a/b");
  makes("/tmp/a");
  reads("/tmp/a/b");
  writes("/dev/null");
  writes("/proc/self/comm");
  const Proposal out = propose();
  EXPECT_THAT(lines(out), IsEmpty());
  EXPECT_THAT(out.withheld, IsEmpty());
  EXPECT_GT(out.scratch, 0U);
}

TEST_F(Draft, WhatStandsInTheHostsTmpIsNamedAsThat) {
  file("/tmp/handed-over.csv");
  reads("/tmp/handed-over.csv");
  const Proposal out = propose();
  EXPECT_THAT(lines(out), ElementsAre("read /tmp/handed-over.csv"));
  EXPECT_THAT(remarks(out.flagged), ElementsAre("target-steerable-tmp /tmp/handed-over.csv"));
}

TEST_F(Draft, CachesBelowThePrivateHomeStayPrivateUnlessTheHomeIsNeeded) {
  directory("/home/me/.cache");
  makes("/home/me/.cache/tool");
  writes("/home/me/.cache/tool/db");
  const Proposal alone = propose();
  EXPECT_THAT(lines(alone), IsEmpty());
  EXPECT_THAT(alone.env, IsEmpty());
  EXPECT_THAT(remarks(alone.flagged), ElementsAre("private-home /home/me/.cache/tool"));
  file("/home/me/data.csv");
  reads("/home/me/data.csv");
  const Proposal needed = propose();
  EXPECT_THAT(lines(needed), ElementsAre("read /home/me/data.csv", "write /home/me/.cache/tool"));
  EXPECT_THAT(needed.env, ElementsAre("HOME"));
  EXPECT_EQ(needed.wants.back().purpose, Purpose::kCache);
}

TEST_F(Draft, AResultBelowHomeIsALineAndNeedsHome) {
  makes("/home/me/results");
  writes("/home/me/results/r.txt");
  const Proposal out = propose();
  EXPECT_THAT(lines(out), ElementsAre("write /home/me/results"));
  EXPECT_THAT(out.env, ElementsAre("HOME"));
}

TEST_F(Draft, AHomeThatTheScriptSpellsOutNeedsNoVariable) {
  script = "open('/home/me/data.csv')";
  file("/home/me/data.csv");
  reads("/home/me/data.csv");
  EXPECT_THAT(propose().env, IsEmpty());
}

TEST_F(Draft, OtherVariablesAreListedWhereSomethingShowsTheirUse) {
  script = "#!/bin/sh\necho $USERS ${USER}\n";
  directory("/srv/data/me");
  file("/srv/data/me/x");
  reads("/srv/data/me/x");
  EXPECT_THAT(propose().env, ElementsAre("USER", "XDG_DATA_HOME"));
  script = "#!/bin/sh\necho $USERS\n";
  outcome.observations.paths.clear();
  EXPECT_THAT(propose().env, IsEmpty());
}

TEST_F(Draft, PythonsBytecodeIsNoNeed) {
  writes("/home/me/tool/__pycache__/a.cpython-311.pyc.1234");
  makes("/home/me/tool/__pycache__");
  reads("/home/me/tool/__pycache__/a.cpython-311.pyc");
  const Proposal out = propose();
  EXPECT_THAT(lines(out), IsEmpty());
  EXPECT_THAT(out.withheld, IsEmpty());
}

TEST_F(Draft, SocketsAndNamesThatNoManifestHoldsAreWithheld) {
  put("/home/me/agent.sock", S_IFSOCK);
  seen("/home/me/agent.sock", plan::kActConnect, {"connect"});
  reads("/home/me/a\nb");
  reads("relative");
  reads("/home/me/\xff");
  EXPECT_THAT(remarks(propose().withheld),
              ElementsAre("unix-socket /home/me/agent.sock", "unrepresentable /home/me/a\nb",
                          "unrepresentable relative", "unrepresentable /home/me/\xff"));
}

TEST_F(Draft, WhatLeadsIntoProcIsDropped) {
  file("/home/me/fd").on_proc = true;
  reads("/home/me/fd");
  EXPECT_THAT(lines(propose()), IsEmpty());
}

TEST_F(Draft, ExecIsAllOnlyWhereTheProgramItselfStartedAnother) {
  started("/usr/bin/python3.11");
  EXPECT_FALSE(propose().exec_all);
  started("/usr/bin/dash", 2);
  const Proposal out = propose();
  EXPECT_TRUE(out.exec_all);
  EXPECT_THAT(out.flagged.back().reason, HasSubstr("/usr/bin/dash"));
  EXPECT_THAT(out.flagged.back().reason, testing::Not(HasSubstr("python")));
}

TEST_F(Draft, AProgramThatStartsItselfAgainStartsAProgram) {
  started("/usr/bin/python3.11", 2);
  EXPECT_TRUE(propose().exec_all);
}

TEST_F(Draft, HostsBecomeExactRulesSortedAndOnce) {
  reached(Reach::kGateDenied, "b.example", 443);
  reached(Reach::kDenied, "a.example", 8443);
  reached(Reach::kDenied, "a.example", 8443);
  reached(Reach::kDenied, "a.example", 443);
  reached(Reach::kDenied, "a.example", 0);
  reached(Reach::kDenied, "", 443);
  const Proposal out = propose();
  std::vector<std::string> rules;
  for (const NetworkRule& rule : out.network) rules.push_back(rule.host + ":" + rule.port);
  EXPECT_THAT(rules, ElementsAre("a.example:443", "a.example:8443", "b.example:443"));
  EXPECT_EQ(out.unnamed, 1U);
  EXPECT_THAT(out.withheld, IsEmpty());
}

TEST_F(Draft, WhatNoRuleCouldOpenIsWithheldWithItsReason) {
  forwarding = Forwarding::kAllowed;
  reached(Reach::kAdmitted, "ok.example", 443);
  reached(Reach::kUnreachable, "down.example", 443);
  reached(Reach::kGuardBlocked, "meta.example", 80);
  reached(Reach::kMalformed, "plain.example", 80);
  reached(Reach::kDenied, "looked.example", 0);
  const Proposal out = propose();
  ASSERT_EQ(out.network.size(), 1U);
  EXPECT_EQ(out.network.front().host, "ok.example");
  EXPECT_THAT(out.blocked_hosts, ElementsAre("meta.example:80"));
  EXPECT_THAT(remarks(out.withheld), ElementsAre("unreachable down.example:443", "guard-blocked meta.example:80",
                                                 "not-tunneled plain.example:80", "looked-up-only looked.example"));
}

TEST_F(Draft, WhatNothingCarriedIsWithheldByItsAddress) {
  const auto named = [&](const char* address, std::uint16_t port, const char* call) {
    outcome.reached.push_back(
        {.address = address, .port = port, .count = 1, .programs = {"/usr/bin/python3.11"}, .calls = {call}});
  };
  reached(Reach::kDenied, "192.0.2.1", 443);
  named("192.0.2.1", 443, "connect");  // and the broker heard of it
  named("192.0.2.1", 443, "sendto");   // a datagram to the same is another thing
  named("192.0.2.2", 123, "connect");
  named("2001:db8::1", 5353, "sendmsg");
  named("198.18.0.1", 53, "sendto");    // a question for a name
  named("198.18.0.7", 443, "connect");  // a name's
  named("198.18.0.7", 443, "sendmsg");  // a datagram to it
  named("127.0.0.1", 8080, "connect");  // its own
  named("::1", 8080, "sendto");
  const Proposal out = propose();
  EXPECT_THAT(remarks(out.withheld), ElementsAre("not-carried 192.0.2.1:443", "not-carried 192.0.2.2:123",
                                                 "not-carried 2001:db8::1:5353", "not-carried 198.18.0.7:443"));
  EXPECT_THAT(out.withheld.back().reason, HasSubstr("stands for a name"));
  ASSERT_EQ(out.network.size(), 1U);
}

TEST_F(Draft, OneThatIsStartedByAnotherIsNoReasonForExecAll) {
  plan.steps.clear();
  starts("/usr/bin/env");
  started("/usr/bin/env");
  started("/usr/bin/make");
  EXPECT_TRUE(propose().exec_all) << "the control: env itself was profiled";
  starter = Starter::kAnother;
  EXPECT_FALSE(propose().exec_all);
  started("/usr/bin/make");
  EXPECT_TRUE(propose().exec_all) << "which started another of its own";
}

TEST_F(Draft, LossesAreCounted) {
  outcome.observations.lost = 3;
  EXPECT_EQ(propose().lost, 3U);
  outcome.observations.lost = 0;
  outcome.observations.complete = false;
  EXPECT_EQ(propose().lost, 1U);
}

TEST_F(Draft, ComesOutTheSameInWhateverOrderThingsWereSeen) {
  for (const char* path : {"/home/me/b", "/home/me/a", "/home/me/c"}) {
    file(path);
    reads(path);
  }
  const Proposal one = propose();
  std::ranges::reverse(outcome.observations.paths);
  EXPECT_EQ(propose(), one);
}

TEST_F(Draft, ComposesPathsThatCanMoveWithTheManifest) {
  const Anchors anchors{"/home/me/tool", "/home/me"};
  EXPECT_EQ(relocatable("/home/me/tool", anchors), ".");
  EXPECT_EQ(relocatable("/home/me/tool/a/b", anchors), "./a/b");
  EXPECT_EQ(relocatable("/home/me/toolbox", anchors), "~/toolbox");
  EXPECT_EQ(relocatable("/home/me", anchors), "/home/me");
  EXPECT_EQ(relocatable("/srv/x", anchors), "/srv/x");
  EXPECT_EQ(relocatable("/srv/x", {"/", "/"}), "/srv/x");
}

TEST_F(Draft, KeepsWhatTheManifestSaysAndAddsWhatItDoesNot) {
  file("/home/me/data.csv");
  file("/home/me/docs/a");
  reads("/home/me/data.csv");
  reads("/home/me/docs/a");
  reached(Reach::kDenied, "a.example", 443);
  Policy base;
  base.read.push_back({"~/docs", "/home/me/docs", {}});
  base.env.push_back({"LANG", {}, {}});
  base.network.push_back({"a.example", "443", "the API", {}});
  Proposal proposal = propose();
  drop_covered(proposal, base);
  const Policy out = compose(base, proposal, {"/home/me/tool", "/home/me"});
  ASSERT_EQ(out.read.size(), 2U);
  EXPECT_EQ(out.read[1].written, "~/data.csv");
  EXPECT_EQ(out.network, base.network);
  ASSERT_EQ(out.env.size(), 2U);
  EXPECT_EQ(out.exec.mode, ExecMode::kNone);
}

TEST_F(Draft, WhatThePlannerRefusesIsWithheldInItsWords) {
  file("/home/me/.ssh/id");
  file("/home/me/ok");
  reads("/home/me/.ssh/id");
  reads("/home/me/ok");
  reached(Reach::kDenied, "localhost", 80);
  Proposal proposal = propose();
  const Policy composed = compose(policy, proposal, {"/home/me/tool", "/home/me"});
  plan::Refusal refusal;
  refusal.items.push_back({.code = "grant-inside-shield",
                           .layer = {},
                           .message = "it holds keys",
                           .mend = {},
                           .at = composed.read[0].at.span,
                           .feature = {}});
  refusal.items.push_back({.code = "network-rule-invalid",
                           .layer = {},
                           .message = "never reached",
                           .mend = {},
                           .at = composed.network[0].at.span,
                           .feature = {}});
  refusal.items.push_back({.code = "other",
                           .layer = {},
                           .message = "not ours",
                           .mend = {},
                           .at = {.file = "m.yaml", .line = 1},
                           .feature = {}});
  EXPECT_TRUE(withhold_refused(proposal, refusal));
  EXPECT_THAT(lines(proposal), ElementsAre("read /home/me/ok"));
  EXPECT_THAT(proposal.network, IsEmpty());
  EXPECT_THAT(remarks(proposal.withheld), ElementsAre("read-shielded /home/me/.ssh/id", "run-refused localhost:80"));
  EXPECT_FALSE(withhold_refused(proposal, {.items = {{.code = "x",
                                                      .layer = {},
                                                      .message = {},
                                                      .mend = {},
                                                      .at = {.file = "m.yaml", .line = 1},
                                                      .feature = {}}}}));
}

TEST_F(Draft, ALineThatWouldLiftAShieldIsWithheld) {
  directory("/home/me/.aws");
  lists("/home/me/.aws");
  Proposal proposal = propose();
  const Policy composed = compose(policy, proposal, {"/home/me/tool", "/home/me"});
  plan::Plan lifted;
  lifted.notes.push_back({"shield-lifted", "it holds AWS credentials", composed.read[0].at.span});
  EXPECT_TRUE(withhold_lifted(proposal, lifted));
  EXPECT_THAT(lines(proposal), IsEmpty());
  EXPECT_THAT(remarks(proposal.withheld), ElementsAre("read-shielded /home/me/.aws"));
}

}  // namespace
}  // namespace cordon::policy::draft
