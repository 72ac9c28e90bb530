#include "tools/belay/printing.h"

#include <string>

#include "gtest/gtest.h"

namespace belay::tools {
namespace {

TEST(PrintingTest, ControlCharactersAreText) {
  EXPECT_EQ(ForTerminal("a\x1b[2J\tb\nc"), "a\\x1b[2J\tb\nc");
  EXPECT_EQ(OneLine("a\x1b[2J\tb\nc"), "a\\x1b[2J\\x09b\\x0ac");
}

TEST(PrintingTest, OnlyNamesAreCut) {
  const std::string text = std::string(100'000, 'x') + "\r" + std::string(10, 'y');
  EXPECT_EQ(ForTerminal(text), std::string(100'000, 'x') + "\\x0d" + std::string(10, 'y'));
  EXPECT_LT(OneLine(text).size(), 17'000u);
}

TEST(PrintingTest, JsonIsUtf8WhateverTheNamesAre) {
  const std::string text =
      JsonText({{"na\xff"
                 "me",
                 "a\xc3("}});
  EXPECT_NE(text.find("na\xef\xbf\xbdme"), std::string::npos) << text;
  EXPECT_NE(text.find("a\xef\xbf\xbd("), std::string::npos) << text;
  EXPECT_EQ(text.back(), '\n');
}

}  // namespace
}  // namespace belay::tools
