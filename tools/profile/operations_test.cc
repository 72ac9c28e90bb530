#include "tools/profile/operations.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "tools/profile/logged_method.h"

namespace belay::tools {
namespace {

// The one instruction of a program, after a call.
class OperationsTest : public ::testing::Test {
 protected:
  InstructionInfo Only(std::string_view program) {
    absl::StatusOr<std::unique_ptr<LoggedMethod>> logged = LoggedMethod::Create(program, {});
    EXPECT_OK(logged);
    logged_ = *std::move(logged);
    EXPECT_OK(logged_->Execute());
    EXPECT_EQ(logged_->method().instructions().size(), 1u);
    return logged_->method().instructions()[0];
  }
  std::unique_ptr<LoggedMethod> logged_;
};

TEST_F(OperationsTest, OfProducts) {
  const InstructionInfo info = Only(R"(program edge {
  graph(%x: f32[4,3] user_input, %y: f32[3,5] user_input) {
    %a: f32[4,5] = edge.aten.mm.default(%x, %y)
    return (%a user_output)
  }
})");
  EXPECT_EQ(OperationsOf(info), 2 * 4 * 5 * 3);
  EXPECT_EQ(BytesOf(info).read, 4u * (12 + 15));
  EXPECT_EQ(BytesOf(info).written, 4u * 20);
  EXPECT_EQ(OperandText(info), "f32[4,3], f32[3,5] -> f32[4,5]");
}

TEST_F(OperationsTest, OfConvolutions) {
  EXPECT_EQ(OperationsOf(Only(R"(program edge {
  graph(%x: f32[1,4,8,8] user_input, %w: f32[6,2,3,3] user_input) {
    %c: f32[1,6,6,6] = edge.aten.convolution.default(%x, %w, none, [1,1], [0,0], [1,1], false, [0,0], 2)
    return (%c user_output)
  }
})")),
            2.0 * (6 * 6 * 6) * (2 * 3 * 3));
}

TEST_F(OperationsTest, OfTransposedConvolutions) {
  EXPECT_EQ(OperationsOf(Only(R"(program edge {
  graph(%x: f32[1,4,8,8] user_input, %w: f32[4,6,3,3] user_input) {
    %c: f32[1,6,10,10] = edge.aten.convolution.default(%x, %w, none, [1,1], [0,0], [1,1], true, [0,0], 1)
    return (%c user_output)
  }
})")),
            2.0 * (4 * 8 * 8) * (6 * 3 * 3));
}

TEST_F(OperationsTest, OthersAreNotKnownButMoveBytesAlsoOfLists) {
  const InstructionInfo info = Only(R"(program edge {
  graph(%x: f32[2,3] user_input, %y: f32[2,3] user_input) {
    %a: f32[4,3] = edge.aten.cat.default([%x, %y])
    return (%a user_output)
  }
})");
  EXPECT_EQ(OperationsOf(info), 0);
  EXPECT_EQ(BytesOf(info).read, 48u);
  EXPECT_EQ(BytesOf(info).written, 48u);
}

}  // namespace
}  // namespace belay::tools
