// The content of small files, for whom the planner asks: whole, or not at all.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "host/host.h"
#include "host/host_testing.h"

namespace cordon::host {
namespace {

using testing::caller;
using testing::TempTree;

std::string text_of(const std::string& path) {
  Session session(caller(), {});
  plan::HostFacts facts;
  plan::Questions questions;
  questions.texts = {path};
  EXPECT_TRUE(session.answer(questions, facts));
  EXPECT_EQ(facts.texts.count(path), 1U) << "every question is answered";
  return facts.texts[path];
}

TEST(Texts, AreReadWholeThroughLinks) {
  const TempTree tree;
  tree.file("version", "3.11.7\n");
  tree.link("link", "version");
  EXPECT_EQ(text_of(tree.path("version")), "3.11.7\n");
  EXPECT_EQ(text_of(tree.path("link")), "3.11.7\n");
}

TEST(Texts, AreEmptyWhereThereIsNoneAndNobodyWaits) {
  const TempTree tree;
  tree.dir("directory");
  ASSERT_EQ(::mkfifo(tree.path("fifo").c_str(), 0600), 0);
  for (const char* name : {"absent", "directory", "fifo"}) EXPECT_EQ(text_of(tree.path(name)), "") << name;
}

TEST(Texts, AreNeverCut) {
  const TempTree tree;
  tree.file("longest", std::string(plan::kLongestText, 'x'));
  tree.file("longer", std::string(plan::kLongestText + 1, 'x'));
  EXPECT_EQ(text_of(tree.path("longest")).size(), plan::kLongestText);
  EXPECT_EQ(text_of(tree.path("longer")), "");
}

}  // namespace
}  // namespace cordon::host
