#include "policy/manifest/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace cordon::policy::manifest {
namespace {

using ::testing::HasSubstr;

std::string complaint(Rule rule, std::string_view value) {
  const auto fault = check_value(rule, value);
  return fault ? fault->message + " / " + fault->hint : "accepted";
}

void expect_accepted(Rule rule, const std::vector<std::string>& values) {
  for (const std::string& value : values) EXPECT_EQ(complaint(rule, value), "accepted") << value;
}

/// Each value with words that its complaint must hold.
void expect_refused(Rule rule, const std::vector<std::pair<std::string, std::string>>& values) {
  for (const auto& [value, words] : values) EXPECT_THAT(complaint(rule, value), HasSubstr(words)) << value;
}

TEST(Host, names_wildcards_addresses_and_blocks_are_accepted) {
  expect_accepted(Rule::kHost, {"example.com",   "EXAMPLE.com",   "a",         "xn--bcher-kva.example",
                                "a-b.c-d.e1",    "1.example",     "*",         ".example.com",
                                ".com",          "*.example.com", "::1",       std::string(63, 'a') + ".example",
                                "192.0.2.1",     "0.0.0.0",       "::",        "2001:db8::1",
                                "10.0.0.0/8",    "0.0.0.0/0",     "1e100.net", "192.0.2.1/32",
                                "2001:db8::/32", "localhost"});
}

TEST(Host, every_second_spelling_of_an_address_is_refused_with_the_first) {
  expect_refused(Rule::kHost, {{"127.1", "not a canonical one"},
                               {"0177.0.0.1", "not a canonical one"},
                               {"2130706433", "not a canonical one"},
                               {"0x7f000001", "not a canonical one"},
                               {"example.0x1F", "not a canonical one"},
                               {"192.0.2.01", "not a canonical one"},
                               {"256.0.0.1", "not a canonical one"},
                               {"2001:DB8::1", "write 2001:db8::1"},
                               {"2001:db8:0:0:0:0:0:1", "write 2001:db8::1"},
                               {"::ffff:192.0.2.1", "write 192.0.2.1"},
                               {"::ffff:c000:201", "write 192.0.2.1"},
                               {"::192.0.2.1", "write 192.0.2.1"},
                               {"::2", "write 0.0.0.2"},
                               {"[::1]", "without [ and ]"},
                               {"fe80::1%eth0", "zone"},
                               {"1:2:3", "not an IPv6 address"}});
}

TEST(Host, blocks_are_whole_blocks) {
  expect_refused(Rule::kHost, {{"10.0.0.1/8", "write 10.0.0.0/8"},
                               {"10.0.0.0/33", "from 0 to 32"},
                               {"10.0.0.0/08", "from 0 to 32"},
                               {"2001:db8::1/32", "write 2001:db8::/32"},
                               {"2001:db8::/129", "from 0 to 128"},
                               {"::ffff:10.0.0.0/104", "IPv4 address in an IPv6"},
                               {"example.com/24", "without a path"},
                               {"10.0.0.0/", "from 0 to 32"}});
}

TEST(Host, wildcards_in_other_places_say_which_are_valid) {
  const std::string valid = "valid wildcards are \"*\" (every host) and \".example.com\"";
  expect_refused(Rule::kHost, {{"*.com", valid},
                               {"*.com", "write \".com\""},
                               {"a.*.com", valid},
                               {"*example.com", valid},
                               {"*.*.com", valid},
                               {"**", valid},
                               {"*.192.0.2.1", valid},
                               {".192.0.2.1", valid},
                               {"*.", valid}});
}

TEST(Host, what_is_no_host_is_refused) {
  expect_refused(Rule::kHost, {{"", "host is empty"},
                               {"https://example.com:8443/x", "write only the host: \"example.com\""},
                               {"example.com:443", "host: \"example.com\", port: \"443\""},
                               {"user@example.com", "names a user"},
                               {"exa mple.com", "white space"},
                               {"example.com\n", "control"},
                               {std::string("a\0b", 3), "control"},
                               {"a\tb", "control"},
                               {"a_b.com", "underscore"},
                               {"-a.com", "hyphen"},
                               {"a-.com", "hyphen"},
                               {"a..com", "empty label"},
                               {".", "empty label"},
                               {"example.com.", "leave the dot out"},
                               {"b\xc3\xbc"
                                "cher.example",
                                "xn--"},
                               {std::string(64, 'a') + ".com", "longer than 63"},
                               {"example.com!", "it has \"!\""}});
  std::string longest;
  for (int i = 0; i < 127; ++i) longest += "a.";
  expect_refused(Rule::kHost, {{longest + "b", "longer than 253"}});
}

TEST(Port, numbers_ranges_and_the_star) {
  expect_accepted(Rule::kPort, {"1", "443", "65535", "1-65535", "8000-8010", "80-80", "*"});
  for (const char* bad : {"", "0", "65536", "0443", "+1", "-1", "1-", "-", "1-2-3", "1 - 2", "https", "80,443",
                          "1-65536", "**", "99999999999999999999"})
    EXPECT_THAT(complaint(Rule::kPort, bad), HasSubstr("is not a port")) << bad;
  EXPECT_THAT(complaint(Rule::kPort, "10-9"), HasSubstr("write 9-10"));
  expect_accepted(Rule::kPlainPort, {"1", "65535"});
  for (const char* bad : {"", "0", "*", "1-2", "65536", "localhost:80"})
    EXPECT_THAT(complaint(Rule::kPlainPort, bad), HasSubstr("one number from 1 to 65535")) << bad;
}

TEST(Size, whole_numbers_with_k_m_or_g_that_fit_a_signed_64_bit_number) {
  expect_accepted(Rule::kMemory, {"1", "1024", "1K", "512M", "8G", "9223372036854775807", "8589934591G"});
  for (const char* bad : {"", "0", "0M", "-1", "+1", "01M", "1.5G", "512m", "512MB", "512MiB", "1T", "M", " 1M", "1 M"})
    EXPECT_THAT(complaint(Rule::kMemory, bad), HasSubstr("is not a size")) << bad;
  for (const char* large : {"9223372036854775808", "8589934592G", "18446744073709551616K"})
    EXPECT_THAT(complaint(Rule::kMemory, large), HasSubstr("is too large / at most 8589934591G")) << large;
  for (const auto& [written, right] : {std::pair{"512m", "512M"}, {"512MB", "512M"}, {"2GiB", "2G"}, {"1 M", "1M"}})
    EXPECT_THAT(complaint(Rule::kMemory, written), HasSubstr("did you mean " + std::string(right) + "?"));
  for (const char* unclear : {"1.5G", "1T", "M", "01M"})
    EXPECT_THAT(complaint(Rule::kMemory, unclear), ::testing::Not(HasSubstr("did you mean"))) << unclear;
  EXPECT_EQ(parse_size("2K"), 2048U);
  EXPECT_EQ(parse_size("1G"), 1073741824U);
}

TEST(Share, percentages_with_at_most_two_decimals) {
  expect_accepted(Rule::kPercent, {"1%", "0.01%", "50%", "150%", "12.5%", "12.55%", "0.1%", "21474836.47%"});
  for (const char* bad :
       {"", "%", "50", "50 %", "050%", "1.%", ".5%", "1.555%", "-1%", "+1%", "1e2%", "1,5%", "1.2.3%"})
    EXPECT_THAT(complaint(Rule::kPercent, bad), HasSubstr("is not a share")) << bad;
  for (const char* bad : {"0%", "0.0%", "0.00%", "21474836.48%", "21474837%", "99999999999999999%"})
    EXPECT_THAT(complaint(Rule::kPercent, bad), HasSubstr("is out of range")) << bad;
}

TEST(Percent, is_read_in_hundredths) {
  EXPECT_EQ(parse_share("150%"), 15'000U);
  EXPECT_EQ(parse_share("0.5%"), 50U);
  EXPECT_EQ(parse_share("12.55%"), 1'255U);
  EXPECT_EQ(parse_share("21474836.47%"), 2'147'483'647U);
  for (const char* bad : {"", "0%", "50", "1.555%", "21474836.48%"}) EXPECT_EQ(parse_share(bad), std::nullopt) << bad;
}

TEST(Duration, whole_numbers_with_s_m_or_h) {
  EXPECT_THAT(complaint(Rule::kDuration, "90"), HasSubstr("did you mean 90s?"));
  EXPECT_THAT(complaint(Rule::kDuration, "infinity"), HasSubstr("at most 8760h"));
  EXPECT_THAT(complaint(Rule::kPercent, "150"), HasSubstr("did you mean 150%?"));
  expect_accepted(Rule::kDuration, {"1s", "90s", "10m", "24h", "8760h", "525600m", "31536000s"});
  for (const char* bad : {"", "s", "0s", "90", "1.5h", "1d", "1ms", "-1s", "01s", "1h30m"})
    EXPECT_THAT(complaint(Rule::kDuration, bad), HasSubstr("is not a time")) << bad;
  for (const char* long_time : {"8761h", "525601m", "31536001s", "9223372036854775807h", "99999999999999999999h"})
    EXPECT_THAT(complaint(Rule::kDuration, long_time), HasSubstr("is too long")) << long_time;
  EXPECT_EQ(parse_duration_ms("90s"), 90'000U);
  EXPECT_EQ(parse_duration_ms("2h"), 7'200'000U);
}

TEST(Count, positive_decimal_numbers) {
  expect_accepted(Rule::kCount, {"1", "128", "9223372036854775807"});
  for (const char* bad : {"", "0", "-1", "+1", "1.0", "0x10", "1_000", "01", "9223372036854775808"})
    EXPECT_THAT(complaint(Rule::kCount, bad), HasSubstr("positive whole number")) << bad;
}

TEST(EnvName, letters_digits_and_underscores) {
  expect_accepted(Rule::kEnvName, {"A", "_", "a1", "NO_PROXY", "null"});
  expect_refused(Rule::kEnvName, {{"", "is not the name"},
                                  {"1A", "not a digit first"},
                                  {"A-B", "is not the name"},
                                  {"A B", "is not the name"},
                                  {"$HOME", "without the $"},
                                  {"A=secret", "hand the value in with --env"}});
  EXPECT_THAT(complaint(Rule::kEnvName, "A=secret"), ::testing::Not(HasSubstr("secret")));
}

TEST(Path, any_spelling_but_other_homes_and_what_cannot_be_shown) {
  expect_accepted(Rule::kPath, {"a", "./a", "../a", "/", "/a//b/", "~", "~/", "~/a", "a~b", "./~bob", "/home/~bob",
                                "a b", "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d", "$HOME", "*", std::string(255, 'a')});
  expect_refused(Rule::kPath, {{"", "path is empty"},
                               {"~bob", "~user"},
                               {"~bob/x", "./~bob/x"},
                               {"~+", "~user"},
                               {std::string(256, 'a'), "256 bytes"},
                               {std::string(5000, '/'), "5000 bytes"}});
}

TEST(Path, unsafe_runes_are_named_and_pointed_at) {
  const std::vector<std::pair<std::string, std::string>> unsafe = {
      {std::string("a\0b", 3), "a NUL (\\x00)"},
      {"a\nb", "a line feed (\\n)"},
      {"a\tb", "a tab (\\t)"},
      {"a\x1b[2J", "a control character (\\x1b)"},
      {"a\x7f", "a control character (\\x7f)"},
      {"a\xc2\x9b", "a control character (\\x9b)"},
      {"a\xe2\x80\xae", "reorders text (\\u202e)"},
      {"a\xe2\x81\xa6", "reorders text (\\u2066)"},
      {"a\xe2\x80\x8e", "reorders text (\\u200e)"},
      {"a\xe2\x80\xa8", "a line separator (\\u2028)"},
      {"a\xe2\x80\x8b", "an invisible character (\\u200b)"},
      {"a\xf3\xa0\x81\x81", "an invisible character (\\U000e0041)"},
      {"a\xff", "a malformed character (\\xff)"},
      {"a\xed\xa0\x80", "a malformed character (\\xed)"},
  };
  for (const Rule rule :
       {Rule::kPath, Rule::kWritePath, Rule::kDenyPath, Rule::kProgram, Rule::kArgument, Rule::kProse}) {
    expect_refused(rule, unsafe);
    for (const auto& [value, words] : unsafe) EXPECT_EQ(check_value(rule, value).value_or(Fault{}).offset, 1U) << words;
  }
}

TEST(WritePath, neither_the_root_nor_a_home_nor_what_holds_it) {
  expect_accepted(Rule::kWritePath, {"~/a", "~/a/..b", "~/../x", "/a", "..", ".", "/home", "~/a/../b", "~/.../"});
  for (const char* bad : {"~", "~/", "~//", "~/.", "~/..", "~/../..", "~/a/..", "~/a/../..", "~/../x/..", "~/./."})
    EXPECT_THAT(complaint(Rule::kWritePath, bad), HasSubstr("whole home writable")) << bad;
  for (const char* bad : {"/", "//", "/.", "/a/..", "/../.."})
    EXPECT_THAT(complaint(Rule::kWritePath, bad), HasSubstr("whole system writable")) << bad;
  EXPECT_THAT(complaint(Rule::kDenyPath, "/"), HasSubstr("hide everything"));
  expect_accepted(Rule::kDenyPath, {"~", "/home"});
}

TEST(Program, a_path_or_a_name) {
  expect_accepted(Rule::kProgram, {"python3", "./x", "/usr/bin/env", "~/bin/x"});
  expect_refused(Rule::kProgram,
                 {{"", "program is empty"}, {"~", "is a directory"}, {"..", "is a directory"}, {"~bob/x", "~user"}});
}

TEST(Word, known_words_are_listed) {
  expect_accepted(Rule::kAgent, {"ssh"});
  expect_accepted(Rule::kAllowance, {"nested-sandbox"});
  expect_refused(Rule::kAgent, {{"gpg", "known: ssh"}, {"", "known: ssh"}, {"SSH", "known: ssh"}});
  expect_refused(Rule::kAllowance, {{"ptrace", "known: nested-sandbox"}});
}

TEST(Device, a_plain_path_below_dev) {
  expect_accepted(Rule::kDevice, {"/dev/kvm", "/dev/dri/renderD128"});
  for (const char* bad :
       {"kvm", "/dev", "/dev/", "/dev/../etc/passwd", "/dev//kvm", "/dev/kvm/", "/dev/./kvm", "/devices/x"})
    EXPECT_THAT(complaint(Rule::kDevice, bad), HasSubstr("/dev/NAME")) << bad;
}

}  // namespace
}  // namespace cordon::policy::manifest
