// What is understood of the agent's protocol, byte by byte, and that nothing else is.
#include "agent/protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "agent/message.h"
#include "agent/testing_test.h"

namespace cordon::agent {
namespace {

using testing::bytes;
using ::testing::ElementsAre;
using testing::key;
using testing::message;
using testing::number;
using testing::string;

enum class Read { kRefused, kList, kSign };
Read read(const std::string& body) {
  const std::string copy = body;
  return static_cast<Read>(read_request(bytes(copy)).index());
}

std::string sign_body(const std::string& blob, const std::string& data, std::uint32_t flags) {
  return "\x0d" + string(blob) + string(data) + number(flags);
}

TEST(AgentProtocol, AListIsOneByteAndNoMore) {
  EXPECT_EQ(read("\x0b"), Read::kList);
  EXPECT_EQ(read(std::string("\x0b\0", 2)), Read::kRefused);
}

TEST(AgentProtocol, ASignatureIsAskedForByKeyDataAndKnownFlags) {
  const std::string body = sign_body(key("one"), "data", 4);
  const Request request = read_request(bytes(body));
  ASSERT_TRUE(std::holds_alternative<Sign>(request));
  EXPECT_EQ(testing::text(std::get<Sign>(request).key), key("one"));
  EXPECT_EQ(testing::text(std::get<Sign>(request).data), "data");
  EXPECT_EQ(std::get<Sign>(request).flags, 4U);
  EXPECT_EQ(testing::text(write_sign(std::get<Sign>(request))), message(body)) << "written anew it is the same";
  EXPECT_EQ(read(sign_body(key("one"), "", 0)), Read::kSign) << "there may be nothing to sign";
}

TEST(AgentProtocol, ASignatureThatIsNotExactlyAskedForIsRefused) {
  const std::string whole = sign_body(key("one"), "data", 2);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(read(whole.substr(0, size)), Read::kRefused) << size;
  EXPECT_EQ(read(whole + '\0'), Read::kRefused);
  for (const std::uint32_t flags : {1U, 8U, 0x80000000U, 6U | 16U})
    EXPECT_EQ(read(sign_body(key("one"), "d", flags)), Read::kRefused) << flags;
  for (const std::string& blob :
       {std::string(), std::string("x"), string(""), string("ssh-ed25519"), string("ssh ed") + "x",
        string(std::string(65, 'a')) + "x", string(std::string("ssh-\0rsa", 8)) + "x"})
    EXPECT_EQ(read(sign_body(blob, "d", 0)), Read::kRefused) << ::testing::PrintToString(blob);
  EXPECT_EQ(read(sign_body(key(std::string(kMostKeyBytes, 'k')), "d", 0)), Read::kRefused) << "a key without end";
  EXPECT_EQ(read("\x0d" + number(0xffffffffU) + "x"), Read::kRefused) << "a length that wraps";
}

TEST(AgentProtocol, EveryOtherKindIsRefused) {
  EXPECT_EQ(read(""), Read::kRefused);
  for (int kind = 0; kind < 256; ++kind) {
    if (kind == 11) continue;
    EXPECT_EQ(read(std::string(1, static_cast<char>(kind))), Read::kRefused) << kind;
    if (kind == 13) continue;
    EXPECT_EQ(read(static_cast<char>(kind) + sign_body(key("one"), "data", 0).substr(1)), Read::kRefused) << kind;
  }
}

TEST(AgentProtocol, AListOfKeysIsReadAndWrittenAnew) {
  const std::string body =
      "\x0c" + number(2) + string(key("one")) + string("me@home") + string(key("two")) + string("");
  const auto got = read_identities(bytes(body));
  ASSERT_TRUE(got);
  ASSERT_EQ(got->size(), 2U);
  EXPECT_EQ(testing::text(got->at(0).key), key("one"));
  EXPECT_EQ(got->at(0).comment, "me@home");
  EXPECT_EQ(testing::text(write_identities(*got)), message(body));
}

TEST(AgentProtocol, AListThatIsNoneIsNotRead) {
  const std::string one = string(key("one")) + string("c");
  const std::string whole = "\x0c" + number(2) + one + one;
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(read_identities(bytes(whole.substr(0, size)))) << size;
  EXPECT_FALSE(read_identities(bytes(whole + "x"))) << "more than it says";
  EXPECT_FALSE(read_identities(bytes("\x0c" + number(0xffffffffU) + one)));
  EXPECT_FALSE(read_identities(bytes("\x0e" + whole.substr(1)))) << "another kind";
  EXPECT_TRUE(read_identities(bytes("\x0c" + number(0)))) << "an agent may be empty, or locked";
}

TEST(AgentProtocol, WhatIsNoKeyIsLeftOutAndALongCommentIsCut) {
  const std::string body = "\x0c" + number(3) + string("no key") + string("bad") + string(key("one")) +
                           string(std::string(5'000, 'c')) + string(key(std::string(kMostKeyBytes, 'k'))) +
                           string("long");
  const auto got = read_identities(bytes(body));
  ASSERT_TRUE(got);
  ASSERT_EQ(got->size(), 1U);
  EXPECT_EQ(got->front().comment.size(), kMostComment);
}

TEST(AgentProtocol, AListIsNeverLongerThanAMessage) {
  const std::string one = string(key(std::string(60'000, 'k'))) + string("c");
  const auto got = read_identities(bytes("\x0c" + number(4) + one + one + one + one));
  ASSERT_TRUE(got);
  std::vector<Identity> many = *got;
  many.insert(many.end(), got->begin(), got->end());
  const auto written = write_identities(many);
  EXPECT_LE(written.size(), kMostMessage + kLengthBytes);
  const auto again = read_identities(Bytes(written).subspan(kLengthBytes));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->size(), 4U);
}

TEST(AgentProtocol, ASignatureIsReadWholeOrNotAtAll) {
  const std::string signature = string("ssh-ed25519") + string("s");
  const std::string whole = "\x0e" + string(signature);
  ASSERT_TRUE(read_signature(bytes(whole)));
  EXPECT_EQ(testing::text(write_signature(*read_signature(bytes(whole)))), message(whole));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(read_signature(bytes(whole.substr(0, size)))) << size;
  EXPECT_FALSE(read_signature(bytes(whole + "x")));
  EXPECT_FALSE(read_signature(bytes("\x05")));
  EXPECT_FALSE(read_signature(bytes("\x0e" + string("")))) << "a signature of nothing";
}

TEST(AgentProtocol, ACertificateIsKnownByTheKeyThatItCertifies) {
  const std::string plain = string("ssh-ed25519") + string("the key");
  const std::string certificate =
      string("ssh-ed25519-cert-v01@openssh.com") + string("nonce") + string("the key") + "serial and all the rest";
  EXPECT_EQ(testing::text(plain_key(bytes(certificate))), plain);
  EXPECT_EQ(testing::text(plain_key(bytes(plain))), plain);
  const std::string cut = certificate.substr(0, 50);
  EXPECT_EQ(testing::text(plain_key(bytes(cut))), cut) << "what cannot be read is known by all of it";
}

TEST(AgentProtocol, ALengthIsOfAMessageThatCanBe) {
  const auto length = [](std::uint32_t value) {
    const std::string text = number(value);
    return read_length(std::span<const std::byte, kLengthBytes>(bytes(text)));
  };
  EXPECT_EQ(length(1), 1U);
  EXPECT_EQ(length(kMostMessage), kMostMessage);
  EXPECT_EQ(length(0), std::nullopt);
  EXPECT_EQ(length(kMostMessage + 1), std::nullopt);
  EXPECT_EQ(length(0xffffffffU), std::nullopt);
}

/// Feeds it in pieces of this size; how many bytes it wanted of these.
std::size_t feed(Incoming& in, const std::string& text, std::size_t piece) {
  std::size_t at = 0;
  while (in.state() == Incoming::State::kMore && at < text.size()) {
    const std::size_t size = std::min({piece, in.room().size(), text.size() - at});
    std::memcpy(in.room().data(), text.data() + at, size);
    in.took(size);
    at += size;
  }
  return at;
}

TEST(AgentMessage, IsPutTogetherFromAnyPiecesAndTakesNothingOfTheNext) {
  const std::string first = message("\x0b"), second = message(sign_body(key("one"), "data", 0));
  for (const std::size_t piece : {1U, 2U, 3U, 4U, 5U, 1'000U}) {
    Incoming in;
    const std::size_t taken = feed(in, first + second, piece);
    EXPECT_EQ(taken, first.size()) << piece;
    ASSERT_EQ(in.state(), Incoming::State::kWhole);
    EXPECT_EQ(testing::text(in.message()), "\x0b");
    in.clear();
    EXPECT_FALSE(in.begun());
    feed(in, second, piece);
    EXPECT_EQ(message(std::string(testing::text(in.message()))), second);
  }
}

TEST(AgentMessage, OfALengthThatCannotBeIsBadAndTakesNoRoom) {
  Incoming in;
  EXPECT_EQ(feed(in, number(0xffffffffU) + "x", 100), kLengthBytes);
  EXPECT_EQ(in.state(), Incoming::State::kBad);
}

}  // namespace
}  // namespace cordon::agent
