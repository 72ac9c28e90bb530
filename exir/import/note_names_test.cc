#include "exir/import/note_names.h"

#include <string>

#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(NoteNamesTest, ListsTheFirstAndCountsTheRest) {
  NoteNames names;
  EXPECT_TRUE(names.empty());
  EXPECT_EQ(names.ToString(), "");
  names.Add("a");
  EXPECT_EQ(names.ToString(), "'a'");
  for (const char* name : {"b", "c", "d", "e"}) names.Add(name);
  EXPECT_EQ(names.ToString(), "'a', 'b', 'c', 'd', 'e'");
  names.Add("f");
  names.Add("g");
  EXPECT_EQ(names.ToString(), "'a', 'b', 'c', 'd', 'e' and 2 more");
  EXPECT_EQ(names.count(), 7u);
}

TEST(NoteNamesTest, IsTruncated) {
  for (const char c : {'x', '\x01'}) {
    NoteNames names;
    for (int i = 0; i < 1000; ++i) names.Add(std::string(100000, c));
    EXPECT_LT(names.ToString().size(), 600u);
  }
}

TEST(NoteNamesTest, IsOneLine) {
  NoteNames names;
  names.Add("a\nb");
  names.Add("it's");
  names.Add("größe");
  EXPECT_EQ(names.ToString(), R"('a\nb', 'it\'s', 'größe')");
}

}  // namespace
}  // namespace belay::exir
