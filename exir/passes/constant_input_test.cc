#include "exir/passes/constant_input.h"

#include "exir/passes/pass_testing.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;

// a and b share a storage of 16 bytes, c has another of 8.
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

TEST_F(ConstantInputsTest, FindsTensorsButNotUserInputs) {
  const ConstantInputs constants(program_, top_, {"c"});
  EXPECT_THAT(constants.inputs(), ElementsAre(Input(0), Input(1)));
  EXPECT_NE(constants.Find(Input(1)), nullptr);
  EXPECT_EQ(constants.NameOf(Input(1)), "b");
  EXPECT_EQ(constants.Find(Input(2)), nullptr);
  EXPECT_EQ(constants.Find(Input(3)), nullptr);
}

TEST_F(ConstantInputsTest, FreesStorageWithItsLastInput) {
  const ConstantInputs constants(program_, top_, {});
  EXPECT_EQ(constants.FreedBytes({Input(0)}), 0u);
  EXPECT_EQ(constants.FreedBytes({Input(0), Input(1)}), 16u);
  EXPECT_EQ(constants.FreedBytes({Input(0), Input(2), Input(3)}), 8u);
}

TEST_F(ConstantInputsTest, CountsDroppedInputsOnce) {
  ConstantInputs constants(program_, top_, {});
  EXPECT_EQ(constants.Drop(Input(0)), 0u);
  EXPECT_EQ(constants.Drop(Input(0)), 0u);  // b uses it
  EXPECT_EQ(constants.Drop(Input(3)), 0u);
  EXPECT_EQ(constants.FreedBytes({Input(0), Input(1)}), 16u);
  EXPECT_EQ(constants.Drop(Input(1)), 16u);
  EXPECT_EQ(constants.Drop(Input(1)), 0u);
  constants.Finish();
  EXPECT_EQ(program_.signature.inputs.size(), 2u);
  EXPECT_FALSE(program_.state_dict.contains("a"));
  EXPECT_TRUE(program_.state_dict.contains("c"));
}

TEST_F(ConstantInputsTest, AppendsAddedConstants) {
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

// A packed or scaled weight is stored where the weight was.
TEST_F(ConstantInputsTest, DerivedConstantsHaveNameAndFileOfTheirSource) {
  program_.signature.inputs[2].file = "weights";
  ConstantInputs constants(program_, top_, {});
  const ConstantTensor tensor = program_.state_dict.at("c");
  const ValueId first = constants.AddDerived(Input(2), "_scaled", tensor);
  const ValueId second = constants.AddDerived(Input(2), "_scaled", tensor);
  EXPECT_EQ(constants.NameOf(first), "c_scaled");
  EXPECT_EQ(constants.NameOf(second), "c_scaled_1");
  constants.Finish();
  EXPECT_EQ(program_.signature.inputs[3].file, "weights");
  EXPECT_EQ(program_.signature.inputs[4].file, "weights");
}

TEST_F(ConstantInputsTest, ReturnsUnusedNames) {
  program_.constants.emplace("a_1", program_.state_dict.at("c"));
  program_.constants.emplace("n4", program_.state_dict.at("c"));
  EXPECT_EQ(UnusedTensorName(program_, "a"), "a_2");
  EXPECT_EQ(UnusedTensorName(program_, "d"), "d");
  int next = 3;
  EXPECT_EQ(UnusedTensorName(program_, "n", next), "n3");
  EXPECT_EQ(UnusedTensorName(program_, "n", next), "n5");
  EXPECT_EQ(next, 6);
}

// A tensor is erased with its last input; user inputs have no tensor.
TEST(EraseInputsTest, ErasesTensorsWithTheirLastInput) {
  ExportedProgram program = ParseOrDie(R"(program aten {
  constants { state "a": f32[4] }
  graph(%a: f32[4] parameter "a", %b: f32[4] parameter "a", %x: f32[4] user_input, %y: f32[4] user_input) {
    return (%y user_output)
  }
})",
                                       PassTestOps());
  GraphEditor top(program.top());
  EXPECT_TRUE(EraseInputs(program, top, [](size_t i) { return i == 0 || i == 2; }));
  EXPECT_EQ(program.signature.inputs.size(), 2u);
  EXPECT_TRUE(program.state_dict.contains("a"));
  EXPECT_FALSE(EraseInputs(program, top, [](size_t) { return false; }));
  EXPECT_TRUE(EraseInputs(program, top, [](size_t i) { return i == 0; }));
  EXPECT_EQ(program.top().inputs().size(), 1u);
  EXPECT_TRUE(program.state_dict.empty());
}

// A tensor without elements shares no storage, whatever its address.
TEST_F(ConstantInputsTest, MutatedEmptyTensorsShareNoStorage) {
  ExportedProgram program = ParseOrDie(R"(program aten {
  constants { state "e": f32[0] state "f": f32[0] shares state "e" state "c": f32[2] }
  graph(%e: f32[0] buffer "e", %f: f32[0] buffer "f", %c: f32[2] buffer "c", %x: f32[0] user_input) {
    return (%x buffer_mutation "e")
  }
})",
                                       PassTestOps());
  GraphEditor top(program.top());
  const ConstantInputs constants(program, top, {});
  EXPECT_THAT(constants.inputs(),
              ElementsAre(program.top().inputs()[1], program.top().inputs()[2]));
}

}  // namespace
}  // namespace belay::exir
