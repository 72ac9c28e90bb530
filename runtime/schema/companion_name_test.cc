#include "runtime/schema/companion_name.h"

#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace belay {
namespace {

TEST(CompanionNameTest, NamesAFileInTheSameFolder) {
  for (const std::string_view name : {"weights", "model.data", "...", ".a", "a b", "\xc3\xa4"}) {
    EXPECT_TRUE(IsCompanionName(name)) << name;
  }
  for (const std::string_view name : {"", ".", ".."}) EXPECT_FALSE(IsCompanionName(name)) << name;
}

TEST(CompanionNameTest, HasAtMost255Bytes) {
  EXPECT_TRUE(IsCompanionName(std::string(255, 'x')));
  EXPECT_FALSE(IsCompanionName(std::string(256, 'x')));
}

TEST(CompanionNameTest, HasNoSeparatorsAndNoControlCharacters) {
  for (const char c : {'/', '\\', ':', '\0', '\n', '\x1f', '\x7f'}) {
    EXPECT_FALSE(IsCompanionName(std::string("a") + c + "b")) << static_cast<int>(c);
  }
  for (const char c : {' ', '~', '\x80', '\xff'}) {
    EXPECT_TRUE(IsCompanionName(std::string("a") + c + "b")) << static_cast<int>(c);
  }
}

}  // namespace
}  // namespace belay
