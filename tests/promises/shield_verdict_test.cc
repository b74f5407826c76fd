// Promise: of a grant in, over or through a shield every command says the same, with the same code: validate, approve,
// inspect and run, for every layout of a home that is known to be met.

#include <pwd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "support/promise.h"

namespace cordon::test {
namespace {
using nlohmann::json;
using Codes = std::set<std::string>;

constexpr const char* kFine = "";

struct Case {
  const char* what;
  const char* lines;  ///< of the manifest; @ stands for the scene's tree
  const char* code;   ///< of the refusal, or kFine
  std::map<std::string, std::string> environment = {};
};

class ShieldVerdict : public Promise {
 protected:
  ShieldVerdict() {
    const Tree& tree = scene.tree();
    for (const char* file : {"home/.ssh/id", "home/.config/gh/hosts.yml", "home/.vim/vimrc", "home/.vscode/argv.json",
                             "home/.bashrc", "home/dotfiles-of-mine/aws/credentials", "home/keys/secring",
                             "home/free/file", "home/p/.git/hooks/pre-commit", "home/p/.git/config", "home/p/src/a.c",
                             "home/q/hooks/pre-push", "config/gh/hosts.yml", "other/.ssh/id"}) {
      tree.write(file, "x");
    }
    tree.link("home/.aws", "dotfiles-of-mine/aws");
    tree.link("home/to-ssh", ".ssh");
    tree.link("home/to-vim", ".vim");
    tree.link("home/to-free", "free");
    tree.link("home/around", "free/../.ssh");
    tree.write("home/q/.git/config", "[core]\n");
    tree.link("home/q/.git/hooks", "../hooks");
    tree.copy("home/.ssh/program", programs().act);
  }

  [[nodiscard]] std::string expanded(std::string text) const {
    for (std::size_t at = text.find('@'); at != std::string::npos; at = text.find('@', at))
      text.replace(at, 1, scene.tree().root());
    return text;
  }
  [[nodiscard]] Finished ask(const Case& one, std::vector<std::string> words) const {
    Command command = scene.cordon(std::move(words));
    for (const auto& [name, value] : one.environment) command.env(name, expanded(value));
    return command.run();
  }
};
INSTANTIATE_TEST_SUITE_P(As, ShieldVerdict, testing::ValuesIn(identities()), identity_name);

/// The codes of everything that is refused, wherever in the document it is said.
void collect(const json& at, Codes& codes) {
  if (at.is_object() && at.contains("code") && at.contains("blame")) codes.insert(at["code"].get<std::string>());
  for (const json& below : at) {
    if (below.is_structured()) collect(below, codes);
  }
}

Codes codes_of(const Finished& finished) {
  Codes codes;
  const std::string& text = finished.out.find('{') != std::string::npos ? finished.out : finished.err;
  json whole = json::parse(text, nullptr, false);
  if (!whole.is_discarded()) {
    collect(whole, codes);
    return codes;
  }
  std::istringstream in(text);  // a stream of events
  for (std::string line; std::getline(in, line);) {
    const json event = json::parse(line, nullptr, false);
    if (!event.is_discarded()) collect(event, codes);
  }
  return codes;
}

std::string first_message(const Finished& inspected) {
  const json whole = json::parse(inspected.out, nullptr, false);
  return whole.is_discarded() || !whole.contains("items") ? "" : whole["items"][0].value("message", "");
}

std::vector<Case> cases() {
  return {
      {"reads beside every shield", "read: ['~/free']", kFine},
      {"a read over a store", "read: ['~/.config']", kFine},
      {"a read over all stores", "read: ['~']", kFine},
      {"a read of a store's own name", "read: ['~/.ssh']", kFine},
      {"a read in a store", "read: ['~/.ssh/id']", "grant-inside-shield"},
      {"a read of what does not exist in a store", "read: ['~/.ssh/new']", "grant-inside-shield"},
      {"a read in a store that another line names", "read: ['~/.ssh', '~/.ssh/id']", kFine},
      {"a read in a store whose directory is granted", "read: ['~/.config', '~/.config/gh/hosts.yml']",
       "grant-inside-shield"},
      {"a write over a store", "write: ['~/.config']", kFine},
      {"a write of a store's own name", "write: ['~/.ssh']", "write-inside-shield"},
      {"a write in a store", "write: ['~/.ssh/new']", "write-inside-shield"},
      {"a write in a store that is shown", "read: ['~/.ssh']\nwrite: ['~/.ssh/new']", "write-inside-shield"},
      {"a write of the home", "write: ['~']", "write-home"},
      {"a read of a start-up file", "read: ['~/.bashrc']", kFine},
      {"a write of a start-up file", "write: ['~/.bashrc']", "write-inside-read-only-shield"},
      {"a write of a start-up file that does not exist", "write: ['~/.zshrc']", "write-inside-read-only-shield"},
      {"a write in what runs later", "write: ['~/.vim/new']", "write-inside-read-only-shield"},
      {"a write that ordinary work needs, by its own name", "write: ['~/.vscode']", kFine},
      {"a write in that", "write: ['~/.vscode/new']", "write-inside-read-only-shield"},
      {"a read through a link to a store", "read: ['~/to-ssh/id']", "grant-inside-shield"},
      {"a read of a link to a store", "read: ['~/to-ssh']", "grant-inside-shield"},
      {"a read through a link that goes around", "read: ['~/around/id']", "grant-inside-shield"},
      {"a write through a link to a store", "write: ['~/to-ssh/new']", "write-inside-shield"},
      {"a write through a link to what runs later", "write: ['~/to-vim/new']", "write-inside-read-only-shield"},
      {"a write through a link that leads to no shield", "write: ['~/to-free']", kFine},
      {"a store that is a link, by its own name", "read: ['~/.aws']", kFine},
      {"where a store really is", "read: ['~/dotfiles-of-mine/aws/credentials']", "grant-inside-shield"},
      {"a read over where a store really is", "read: ['~/dotfiles-of-mine']", kFine},
      {"a write where a store really is", "write: ['~/dotfiles-of-mine/aws/new']", "write-inside-shield"},
      {"a read in a moved store", "read: ['~/keys/secring']", "grant-inside-shield", {{"GNUPGHOME", "@/home/keys"}}},
      {"the same where nothing moved it", "read: ['~/keys/secring']", kFine},
      {"a write in a moved store", "write: ['~/keys/new']", "write-inside-shield", {{"GNUPGHOME", "@/home/keys"}}},
      {"a read in a store below a moved base",
       "read: ['@/config/gh/hosts.yml']",
       "grant-inside-shield",
       {{"XDG_CONFIG_HOME", "@/config"}}},
      {"the same where nothing moved that", "read: ['@/config/gh/hosts.yml']", kFine},
      {"a read in a store of another HOME", "read: ['~/.ssh/id']", "grant-inside-shield", {{"HOME", "@/other"}}},
      {"a write in the store of another HOME",
       "write: ['@/other/.ssh/new']",
       "write-inside-shield",
       {{"HOME", "@/other"}}},
      {"a write in a checkout", "write: ['~/p']", kFine},
      {"a write in a checkout's directory", "write: ['~/p/src']", kFine},
      {"a write of hooks", "write: ['~/p/.git/hooks']", "write-inside-read-only-shield"},
      {"a write of git's configuration", "write: ['~/p/.git/config']", "write-inside-read-only-shield"},
      {"a write of hooks that do not exist", "write: ['~/p/.git/hooks/post-merge']", "write-inside-read-only-shield"},
      {"a write of a checkout whose hooks are elsewhere", "write: ['~/q']", kFine},
      {"a write where the hooks really are", "write: ['~/q/hooks']", "write-inside-read-only-shield"},
  };
}

TEST_P(ShieldVerdict, IsTheSameFromEveryCommand) {
  for (const Case& one : cases()) {
    const std::string manifest = scene.manifest("entrypoint: ./act\n" + expanded(one.lines) + "\n");
    const Codes expected = one.code == kFine ? Codes{} : Codes{one.code};
    const int code = expected.empty() ? 0 : 125;
    const Finished inspected = ask(one, {"inspect", "--json", manifest});
    EXPECT_EQ(inspected.code, code) << one.what << inspected.err;
    EXPECT_EQ(codes_of(inspected), expected) << one.what;
    const Finished validated = ask(one, {"validate", "--json", manifest});
    EXPECT_EQ(codes_of(validated), expected) << one.what << validated;
    const Finished ran = ask(one, {"run", "--json", "--allow-unapproved", manifest});
    EXPECT_EQ(ran.code, code) << one.what << ran;
    EXPECT_EQ(codes_of(ran), expected) << one.what << ran;
    const Finished approved = ask(one, {"approve", "--yes", manifest});
    EXPECT_EQ(approved.code, code) << one.what << approved;
    EXPECT_TRUE(expected.empty() || approved.says(first_message(inspected))) << one.what << approved;
  }
}

// The account's own home keeps its shields whatever HOME says.
TEST_P(ShieldVerdict, HomeThatPointsElsewhereLiftsNothingOfTheAccounts) {
  const passwd* account = ::getpwuid(GetParam().uid);
  ASSERT_NE(account, nullptr);
  const std::string manifest =
      scene.manifest("entrypoint: ./act\n" + list("read", {std::string(account->pw_dir) + "/.ssh/cordon-test"}));
  const Case one{"", "", "", {}};
  EXPECT_EQ(codes_of(ask(one, {"inspect", "--json", manifest})), Codes{"grant-inside-shield"});
}

TEST_P(ShieldVerdict, AProgramInAStoreIsNotStarted) {
  const std::string manifest = scene.manifest("entrypoint: ../home/.ssh/program\n");
  const Case one{"", "", "", {}};
  for (const char* command : {"inspect", "run"}) {
    std::vector<std::string> words{command, "--json", manifest};
    if (command == std::string("run")) words.insert(words.begin() + 1, "--allow-unapproved");
    EXPECT_EQ(codes_of(ask(one, words)), Codes{"program-inside-shield"}) << command;
  }
}

}  // namespace
}  // namespace cordon::test
