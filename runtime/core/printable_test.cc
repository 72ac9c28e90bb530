#include "runtime/core/printable.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay {
namespace {

TEST(PrintableTest, KeepsPrintableStrings) {
  EXPECT_EQ(Printable("node 'a':\n\tf32[2,3] … \"x\" \\"), "node 'a':\n\tf32[2,3] … \"x\" \\");
  EXPECT_EQ(Printable(""), "");
}

TEST(PrintableTest, EscapesControlCharacters) {
  EXPECT_EQ(Printable(std::string("a\x1b[31m\0\x7f\r", 9)), "a\\x1b[31m\\x00\\x7f\\x0d");
}

TEST(PrintableTest, TruncatesLongStrings) {
  const std::string shown = Printable(std::string(100000, 'x'));
  EXPECT_EQ(shown, std::string(16384, 'x') + "…");
}

TEST(PrintableTest, KeepsTheCodeOfAStatus) {
  EXPECT_OK(Printable(absl::OkStatus()));
  EXPECT_THAT(Printable(absl::DataLossError("fine")),
              StatusIs(absl::StatusCode::kDataLoss, "fine"));
  EXPECT_THAT(Printable(absl::DataLossError("bell \a")),
              StatusIs(absl::StatusCode::kDataLoss, "bell \\x07"));
  EXPECT_THAT(Printable(absl::DataLossError(std::string(100000, 'x'))),
              StatusIs(absl::StatusCode::kDataLoss, std::string(16384, 'x') + "…"));
}

}  // namespace
}  // namespace belay
