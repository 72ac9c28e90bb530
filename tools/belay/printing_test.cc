#include "tools/belay/printing.h"

#include <unistd.h>

#include <cstdlib>

#include <string>

#include "gtest/gtest.h"

namespace belay::tools {
namespace {

TEST(PrintingTest, EscapesControlCharacters) {
  EXPECT_EQ(ForTerminal("a\x1b[2J\tb\nc"), "a\\x1b[2J\tb\nc");
  EXPECT_EQ(OneLine("a\x1b[2J\tb\nc"), "a\\x1b[2J\\x09b\\x0ac");
}

TEST(PrintingTest, TruncatesOnlyNames) {
  const std::string text = std::string(100'000, 'x') + "\r" + std::string(10, 'y');
  EXPECT_EQ(ForTerminal(text), std::string(100'000, 'x') + "\\x0d" + std::string(10, 'y'));
  EXPECT_LT(OneLine(text).size(), 17'000u);
}

TEST(PrintingTest, FormatsThreeDigitsAndUnit) {
  EXPECT_EQ(WithUnit(0, "B"), "0 B");
  EXPECT_EQ(WithUnit(999, "B"), "999 B");
  EXPECT_EQ(WithUnit(1000, "B"), "1.00 kB");
  EXPECT_EQ(WithUnit(9996, "B"), "10.0 kB");
  EXPECT_EQ(WithUnit(12'345'678, "FLOP"), "12.3 MFLOP");
  EXPECT_EQ(WithUnit(999'499'999, "B"), "999 MB");
  EXPECT_EQ(WithUnit(999'600'000, "B"), "1.00 GB");
  EXPECT_EQ(WithUnit(1e21, "B"), "1000 EB");
  EXPECT_EQ(Duration(2.5), "2.50 s");
  EXPECT_EQ(Duration(0.0123), "12.3 ms");
  EXPECT_EQ(Duration(0.000012), "12 µs");
}

TEST(PrintingTest, BoldOnlyOnTerminals) {
  EXPECT_EQ(Bold("x"), isatty(1) == 0 ? "x" : Bold("x"));
  setenv("NO_COLOR", "1", 1);
  EXPECT_EQ(Bold("x"), "x");
  unsetenv("NO_COLOR");
}

TEST(PrintingTest, JsonIsValidUtf8) {
  const std::string text =
      JsonText({{"na\xff"
                 "me",
                 "a\xc3("}});
  EXPECT_NE(text.find("na\xef\xbf\xbdme"), std::string::npos) << text;
  EXPECT_NE(text.find("a\xef\xbf\xbd("), std::string::npos) << text;
  EXPECT_EQ(text.back(), '\n');
}

TEST(PrintingTest, JsonKeepsFlatValuesOnOneLine) {
  const auto json = nlohmann::json::parse(
      R"({"a": [1, 2, 3], "b": {"x": 1, "y": "z"}, "c": [[], [4, 5], {"d": {"e": null}}], "f": 1.5})");
  const std::string text = JsonText(json);
  EXPECT_EQ(text, R"({
 "a": [1,2,3],
 "b": {"x":1,"y":"z"},
 "c": [
  [],
  [4,5],
  {
   "d": {"e":null}
  }
 ],
 "f": 1.5
}
)");
  EXPECT_EQ(nlohmann::json::parse(text), json);
  EXPECT_EQ(JsonText(3), "3\n");
  EXPECT_EQ(JsonText(nlohmann::json::array()), "[]\n");
}

}  // namespace
}  // namespace belay::tools
