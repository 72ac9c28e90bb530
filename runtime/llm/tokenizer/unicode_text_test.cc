#include "runtime/llm/tokenizer/unicode_text.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/llm/tokenizer/byte_characters.h"

namespace belay::llm {
namespace {

using ::testing::ElementsAre;

TEST(UnicodeTextTest, CodePointsOfEveryLengthRoundTrip) {
  for (char32_t c :
       {U'\0', U'a', U'\x7f', U'\x80', U'\x7ff', U'\x800', U'\xffff', U'\x10000', U'\x10ffff'}) {
    std::string text;
    AppendCodePoint(c, text);
    EXPECT_EQ(Utf8Length(text[0]), text.size());
    EXPECT_EQ(FirstCodePoint(text + "x"), c);
    EXPECT_EQ(LastCodePoint("x" + text), c);
    EXPECT_EQ(CodePoints(text + text), 2u);
  }
}

TEST(UnicodeTextTest, VisitsCodePointsWithTheirBytes) {
  std::vector<std::string> bytes;
  ForEachCodePoint("aé你😀", [&](char32_t, std::string_view b) { bytes.emplace_back(b); });
  EXPECT_THAT(bytes, ElementsAre("a", "é", "你", "😀"));
}

TEST(UnicodeTextTest, ClassifiesCodePoints) {
  EXPECT_TRUE(IsWhitespace(U'\u3000'));
  EXPECT_FALSE(IsWhitespace(U'\u200b'));
  EXPECT_TRUE(IsPunctuation(U'$'));
  EXPECT_TRUE(IsPunctuation(U'。'));
  EXPECT_FALSE(IsPunctuation(U'€'));
  EXPECT_FALSE(IsPunctuation(U'a'));
  EXPECT_TRUE(IsNumeric(U'½'));
  EXPECT_FALSE(IsNumeric(U'x'));
  EXPECT_TRUE(IsMark(U'\u0903'));
  EXPECT_FALSE(IsNonspacingMark(U'\u0903'));
  EXPECT_TRUE(IsNonspacingMark(U'\u0301'));
  EXPECT_TRUE(IsOtherCategory(U'\u200b'));
  EXPECT_TRUE(IsWordCharacter(U'_'));
  EXPECT_FALSE(IsWordCharacter(U'-'));
}

TEST(UnicodeTextTest, MapsToLowerCase) { EXPECT_EQ(Lowercase("ÀΣẞİ1"), "àσßi\u03071"); }

TEST(UnicodeTextTest, MapsToUpperCase) { EXPECT_EQ(Uppercase("aàσßя1"), "AÀΣSSЯ1"); }

TEST(UnicodeTextTest, NormalizesToEachForm) {
  EXPECT_EQ(*Normalized("e\u0301ﬁ", NormalizationForm::kNfc), "éﬁ");
  EXPECT_EQ(*Normalized("éﬁ", NormalizationForm::kNfd), "e\u0301ﬁ");
  EXPECT_EQ(*Normalized("e\u0301ﬁ", NormalizationForm::kNfkc), "éfi");
  EXPECT_EQ(*Normalized("éﬁ", NormalizationForm::kNfkd), "e\u0301fi");
  EXPECT_EQ(*Normalized("", NormalizationForm::kNfc), "");
}

TEST(UnicodeTextTest, ReplacesMaximalIllFormedParts) {
  // Unicode 15, table 3-8.
  EXPECT_EQ(ToUtf8("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64"),
            "a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd");
  EXPECT_EQ(ToUtf8("é\xff"), "é\uFFFD");
  EXPECT_EQ(ToUtf8("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");  // a surrogate
}

TEST(UnicodeTextTest, ByteCharactersAreABijection) {
  std::string bytes;
  for (int b = 0; b < 256; ++b) bytes.push_back(static_cast<char>(b));
  const std::string characters = BytesToCharacters(bytes);
  EXPECT_EQ(CodePoints(characters), 256u);
  EXPECT_EQ(CharactersToBytes(characters), bytes);
  EXPECT_EQ(BytesToCharacters(" a\n"), "ĠaĊ");
  EXPECT_EQ(CharactersToBytes("a b"), std::nullopt);
  EXPECT_EQ(CharactersToBytes("你"), std::nullopt);
}

}  // namespace
}  // namespace belay::llm
