#include "exir/ir/text_lexer.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Tokens(std::string_view text) {
  std::vector<std::string> tokens;
  for (Lexer lexer(text); lexer.kind() != Lexer::Kind::kEnd; lexer.Next()) {
    if (lexer.kind() == Lexer::Kind::kInvalid) {
      tokens.push_back(std::string(lexer.Expected("x").message()));
      break;
    }
    tokens.emplace_back(lexer.text());
  }
  return tokens;
}

TEST(Lexer, SplitsWordsNumbersAndPunctuation) {
  EXPECT_THAT(Tokens("%a.b_1: f32[2,-3] = x(1.5e-3,+inf) // rest\n#7"),
              ElementsAre("%", "a.b_1", ":", "f32", "[", "2", ",", "-3", "]", "=", "x", "(",
                          "1.5e-3", ",", "+inf", ")", "#", "7"));
  EXPECT_THAT(Tokens("a\t1E5\r\n+.5 1e"), ElementsAre("a", "1E5", "+.5", "1e"));
  EXPECT_THAT(Tokens("2.e 1ex 3E-x 4e+"), ElementsAre("2.e", "1e", "x", "3E-", "x", "4e+"));
  EXPECT_THAT(Tokens("(1+2j)(1e+20-infj)-x"),
              ElementsAre("(", "1", "+2j", ")", "(", "1e+20", "-infj", ")", "-", "x"));
}

TEST(Lexer, ReportsBadStrings) {
  EXPECT_THAT(Tokens("\"abc"),
              ElementsAre("line 1, column 1: expected x, got a string without its closing quote"));
  EXPECT_THAT(Tokens("\n \"a\\q\""), ElementsAre(HasSubstr("line 2, column 2: ")));
  EXPECT_THAT(Tokens("\"\\x4"), ElementsAre(HasSubstr("hexadecimal")));
  EXPECT_THAT(Tokens("\"\\xg0\""), ElementsAre(HasSubstr("hexadecimal")));
  EXPECT_THAT(Tokens("\"\\x4g\""), ElementsAre(HasSubstr("hexadecimal")));
  EXPECT_THAT(Tokens("\"\\"), ElementsAre(HasSubstr("unknown escape")));
}

TEST(Lexer, TakesRawTextUpToAStopOutsideOfParentheses) {
  Lexer lexer("  Max(s0, 2) + 1 , x]");
  EXPECT_EQ(lexer.TakeRaw(",]"), "Max(s0, 2) + 1");
  EXPECT_TRUE(lexer.Is(','));
  lexer.Next();
  EXPECT_EQ(lexer.TakeRaw(",]"), "x");
  EXPECT_TRUE(lexer.Is(']'));
  lexer.Next();
  EXPECT_EQ(lexer.TakeRaw(",]"), "");
}

TEST(Quote, RoundTripsEveryByteString) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  std::mt19937 random(TestSeed());
  constexpr std::string_view kPieces = "\"\\nx\xc3\xb6\xe4\xb8\xad\n\t\x01";
  std::vector<std::string> strings = {
      "", all, "größe \u4e2d\U0001f600", "\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80"};
  for (int i = 0; i < 1000; ++i) {
    std::string text;
    for (size_t n = random() % 12; n > 0; --n) {
      text += i % 2 == 0 ? static_cast<char>(random()) : kPieces[random() % kPieces.size()];
    }
    strings.push_back(text);
  }
  for (const std::string& text : strings) {
    const std::string quoted = Quote(text);
    EXPECT_THAT(Tokens(quoted), ElementsAre(text)) << quoted;
    for (char c : quoted) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20) << quoted;
  }
  EXPECT_EQ(Quote("größe"), "\"größe\"");
  EXPECT_EQ(Quote("a\tb\n"), "\"a\\tb\\n\"");
}

TEST(Quote, ShowsInvalidUtf8AsBytes) {
  const struct {
    std::string text, quoted;
  } kCases[] = {
      {"\xdf\xbf", "\xdf\xbf"},
      {"\xe0\xa0\x80", "\xe0\xa0\x80"},
      {"\xed\x9f\xbf", "\xed\x9f\xbf"},
      {"\xef\xbf\xbd", "\xef\xbf\xbd"},
      {"\xf0\x90\x80\x80", "\xf0\x90\x80\x80"},
      {"\xf3\xbf\xbf\xbf", "\xf3\xbf\xbf\xbf"},
      {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
      {"\x80", "\\x80"},
      // Overlong forms.
      {"\xc1\x81", "\\xc1\\x81"},
      {"\xe0\x9f\xbf", "\\xe0\\x9f\\xbf"},
      {"\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf"},
      // Surrogates, and code points above U+10FFFF.
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
      {"\xf5\x80\x80\x80", "\\xf5\\x80\\x80\\x80"},
      // Truncated.
      {"\xe4\xb8", "\\xe4\\xb8"},
      {"\xe4\xb8-", "\\xe4\\xb8-"},
  };
  for (const auto& [text, quoted] : kCases) EXPECT_EQ(Quote(text), "\"" + quoted + "\"");
}

TEST(QuoteUnlessWord, QuotesAmbiguousWords) {
  EXPECT_EQ(QuoteUnlessWord("p_conv1.weight"), "p_conv1.weight");
  for (const std::string name : {"", "0", "a b", "a-b", "none", "true", "false", "return", "é"}) {
    EXPECT_EQ(QuoteUnlessWord(name), "\"" + name + "\"");
  }
}

TEST(FormatDouble, IsShortestAndNeverAnInteger) {
  EXPECT_EQ(FormatDouble(2), "2.0");
  EXPECT_EQ(FormatDouble(-0.0), "-0.0");
  EXPECT_EQ(FormatDouble(0.1), "0.1");
  EXPECT_EQ(FormatDouble(1e300), "1e+300");
  EXPECT_EQ(FormatDouble(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(FormatDouble(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(FormatDouble(std::numeric_limits<double>::quiet_NaN()), "nan");
}

TEST(FormatDouble, RoundTripsEveryNumber) {
  std::mt19937_64 random(TestSeed());
  std::vector<uint64_t> samples = {0x0000000000000001, 0x000fffffffffffff, 0x7fefffffffffffff,
                                   0x8000000000000000};
  for (int i = 0; i < 10000; ++i) samples.push_back(random());
  for (uint64_t bits : samples) {
    const double value = std::bit_cast<double>(bits);
    if (std::isnan(value)) continue;
    const std::optional<double> back = ParseDouble(FormatDouble(value));
    ASSERT_TRUE(back.has_value()) << FormatDouble(value);
    EXPECT_EQ(std::bit_cast<uint64_t>(*back), bits) << FormatDouble(value);
  }
}

TEST(ParseNumbers, NanIsADouble) {
  ASSERT_TRUE(ParseDouble("nan").has_value());
  EXPECT_EQ(FormatDouble(*ParseDouble("nan")), "nan");
}

TEST(ParseNumbers, RejectsOtherText) {
  EXPECT_EQ(ParseInt64("9223372036854775807"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ParseInt64("-9223372036854775808"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(ParseInt64("+5"), 5);
  EXPECT_EQ(ParseUint64("18446744073709551615"), std::numeric_limits<uint64_t>::max());
  for (const char* text : {"", "9223372036854775808", "1.0", "1x", "+-1", "--1", " 1"}) {
    EXPECT_EQ(ParseInt64(text), std::nullopt) << text;
  }
  for (const char* text : {"", "1e999", "1.5x", "+-1.5", "nan(1)", "-nan", "0x10"}) {
    EXPECT_EQ(ParseDouble(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace belay::exir
