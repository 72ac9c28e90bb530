#include "runtime/core/str_cat.h"

#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace belay {
namespace {

TEST(StrCatTest, AcceptsBothStringViewTypes) {
  const std::string_view view("abc", 2);
  EXPECT_EQ(absl::StrCat(view), "ab");
  EXPECT_EQ(absl::StrCat("x", view, 1, std::string("y"), absl::string_view("z"), 2.5, view),
            "xab1yz2.5ab");
  EXPECT_EQ(absl::StrCat("x", 1), "x1");
}

TEST(StrCatTest, AppendsStringViews) {
  std::string s = "a";
  absl::StrAppend(&s, std::string_view("b"), 3);
  EXPECT_EQ(s, "ab3");
}

TEST(StrCatTest, ViewsConvertBothWays) {
  EXPECT_EQ(FromAbsl(ToAbsl(std::string_view("a\0b", 3))), std::string_view("a\0b", 3));
}

}  // namespace
}  // namespace belay
