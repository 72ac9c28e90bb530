#include "runtime/core/utf8.h"

#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace belay {
namespace {

struct Case {
  std::string_view name, text;
  bool valid;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

// Both sides of the boundaries in RFC 3629's table.
constexpr Case kCases[] = {
    {"Empty", "", true},
    {"Ascii", "aten.add.Tensor", true},
    {"LastAscii", "\x7f", true},
    {"LoneContinuation", "\x80", false},
    {"OverlongOfTwo", "\xc1\xbf", false},
    {"FirstOfTwo", "\xc2\x80", true},
    {"LastOfTwo", "\xdf\xbf", true},
    {"SecondOfTwoMissing", "\xdf", false},
    {"SecondOfTwoIsAscii", "\xdf\x7f", false},
    {"OverlongOfThree", "\xe0\x9f\xbf", false},
    {"FirstOfThree", "\xe0\xa0\x80", true},
    {"BeforeSurrogates", "\xed\x9f\xbf", true},
    {"FirstSurrogate", "\xed\xa0\x80", false},
    {"AfterSurrogates", "\xee\x80\x80", true},
    {"LastOfThree", "\xef\xbf\xbf", true},
    {"ThirdOfThreeMissing", "\xef\xbf", false},
    {"ThirdOfThreeIsFirst", "\xef\xbf\xc2", false},
    {"OverlongOfFour", "\xf0\x8f\xbf\xbf", false},
    {"FirstOfFour", "\xf0\x90\x80\x80", true},
    {"LastOfFour", "\xf4\x8f\xbf\xbf", true},
    {"AboveUnicode", "\xf4\x90\x80\x80", false},
    {"NoFirstByte", "\xf5\x80\x80\x80", false},
    {"FourthOfFourMissing", "a\xf0\x90\x80", false},
    {"Mixed", "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x9a\x80!", true},
};

class Utf8Test : public ::testing::TestWithParam<Case> {};

TEST_P(Utf8Test, IsValidated) { EXPECT_EQ(IsUtf8(GetParam().text), GetParam().valid); }

TEST(FirstUtf8LengthTest, IsNegativeForIllFormedSubparts) {
  EXPECT_EQ(FirstUtf8Length("ab"), 1);
  EXPECT_EQ(FirstUtf8Length("\xf0\x9f\x9a\x80!"), 4);
  EXPECT_EQ(FirstUtf8Length("\xf1\x80\x80\xe1"), -3);
  EXPECT_EQ(FirstUtf8Length("\xe1\x80"), -2);
  EXPECT_EQ(FirstUtf8Length("\xed\xa0\x80"), -1);
  EXPECT_EQ(FirstUtf8Length("\x80"), -1);
}

INSTANTIATE_TEST_SUITE_P(All, Utf8Test, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace belay
