#include "exir/passes/constant_input.h"

#include "exir/passes/pass_testing.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;

// a and b are one storage of 16 bytes, c is another of 8.
constexpr char kProgram[] = R"(program aten {
  constants { state "a": f32[4] state "b": f32[4] shares state "a" state "c": f32[2] }
  graph(%a: f32[4] parameter "a", %b: f32[4] parameter "b", %c: f32[2] parameter "c", %x: f32[4] user_input) {
    %y: f32[4] = aten.neg.default(%x)
    return (%y user_output)
  }
})";

class ConstantInputsTest : public ::testing::Test {
 protected:
  ConstantInputsTest() : program_(ParseOrDie(kProgram, PassTestOps())), top_(program_.top()) {}
  ValueId Input(size_t position) const { return program_.top().inputs()[position]; }

  ExportedProgram program_;
  GraphEditor top_;
};

TEST_F(ConstantInputsTest, TensorsAreFoundAndInputsOfTheUserAreNone) {
  const ConstantInputs constants(program_, top_, {"c"});
  EXPECT_THAT(constants.inputs(), ElementsAre(Input(0), Input(1)));
  EXPECT_NE(constants.Find(Input(1)), nullptr);
  EXPECT_EQ(constants.NameOf(Input(1)), "b");
  EXPECT_EQ(constants.Find(Input(2)), nullptr);
  EXPECT_EQ(constants.Find(Input(3)), nullptr);
}

TEST_F(ConstantInputsTest, AStorageIsFreedWithTheLastOfItsNames) {
  const ConstantInputs constants(program_, top_, {});
  EXPECT_EQ(constants.FreedBytes({Input(0)}), 0u);
  EXPECT_EQ(constants.FreedBytes({Input(0), Input(1)}), 16u);
  EXPECT_EQ(constants.FreedBytes({Input(0), Input(2), Input(3)}), 8u);
}

TEST_F(ConstantInputsTest, WhatIsDroppedIsFreedOnce) {
  ConstantInputs constants(program_, top_, {});
  EXPECT_EQ(constants.Drop(Input(0)), 0u);
  EXPECT_EQ(constants.Drop(Input(0)), 0u);  // not for b
  EXPECT_EQ(constants.Drop(Input(3)), 0u);
  EXPECT_EQ(constants.FreedBytes({Input(0), Input(1)}), 16u);
  EXPECT_EQ(constants.Drop(Input(1)), 16u);
  EXPECT_EQ(constants.Drop(Input(1)), 0u);
  constants.Finish();
  EXPECT_EQ(program_.signature.inputs.size(), 2u);
  EXPECT_FALSE(program_.state_dict.contains("a"));
  EXPECT_TRUE(program_.state_dict.contains("c"));
}

TEST_F(ConstantInputsTest, WhatIsAddedStandsBehindTheOthers) {
  ConstantInputs constants(program_, top_, {});
  const ConstantTensor tensor = program_.state_dict.at("c");
  const ValueId added = constants.Add("d", "d", tensor, *program_.top().value(Input(2)).tensor());
  EXPECT_EQ(Input(3), added);
  EXPECT_NE(constants.Find(added), nullptr);
  EXPECT_EQ(constants.FreedBytes({added}), 0u);  // c has the same storage
  constants.Finish();
  ASSERT_EQ(program_.signature.inputs.size(), 5u);
  EXPECT_EQ(program_.signature.inputs[3].kind, InputKind::kTensorConstant);
  EXPECT_EQ(program_.signature.inputs[3].target, "d");
  EXPECT_TRUE(program_.constants.contains("d"));
}

}  // namespace
}  // namespace belay::exir
