#include "exir/emit/method_facts.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/schema/program.pb.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;

// A call of `op` on values 0 and 1 with the result 2.
schema::Method CallOf(const std::string& op) {
  schema::Method method;
  for (int i = 0; i < 3; ++i) method.add_values()->mutable_tensor();
  method.add_operators(op);
  schema::KernelCall* call = method.add_instructions()->mutable_kernel();
  call->add_arguments(0);
  call->add_arguments(1);
  call->add_outputs(2);
  return method;
}

// Destinations of an operator count as written even if the call does not list them as outputs.
TEST(MethodFactsTest, OperatorsWriteToArguments) {
  const auto writes = [](const std::string& op) {
    const schema::Method method = CallOf(op);
    return OperandsOf(method, method.instructions(0)).writes;
  };
  EXPECT_THAT(writes("aten.add.Tensor"), ElementsAre(2));
  EXPECT_THAT(writes("aten.add_.Tensor"), ElementsAre(0, 2));
  EXPECT_THAT(writes("aten.neg.out"), ElementsAre(1, 2));
  EXPECT_THAT(CountWriters(CallOf("aten.add_.Tensor")), ElementsAre(1, 0, 1));
}

TEST(MethodFactsTest, OtherInstructionsReadAndWriteOperands) {
  schema::Method method;
  for (int i = 0; i < 3; ++i) method.add_values()->mutable_tensor();
  method.add_values()->mutable_list()->add_elements(1);
  schema::Instruction delegate, move, branch, jump;
  delegate.mutable_delegate()->add_arguments(0);
  delegate.mutable_delegate()->add_outputs(3);  // the elements of the list
  move.mutable_move()->set_from(2);
  move.mutable_move()->set_to(1);
  branch.mutable_jump_if_false()->set_condition(2);
  jump.mutable_jump()->set_target(2);
  EXPECT_THAT(OperandsOf(method, delegate).reads, ElementsAre(0));
  EXPECT_THAT(OperandsOf(method, delegate).writes, ElementsAre(1));
  EXPECT_THAT(OperandsOf(method, move).reads, ElementsAre(2));
  EXPECT_THAT(OperandsOf(method, move).writes, ElementsAre(1));
  EXPECT_THAT(OperandsOf(method, branch).reads, ElementsAre(2));
  for (const schema::Instruction& none : {jump, schema::Instruction()}) {
    EXPECT_THAT(OperandsOf(method, none).reads, ElementsAre());
    EXPECT_THAT(OperandsOf(method, none).writes, ElementsAre());
  }
}

TEST(MethodFactsTest, BlocksStartAfterJumpsAndAtTargets) {
  schema::Method method;
  for (int i = 0; i < 9; ++i) method.add_instructions()->mutable_move();
  method.mutable_instructions(2)->mutable_jump()->set_target(5);
  EXPECT_THAT(BlockStarts(method), ElementsAre(0, 3, 5, 9));
  method.mutable_instructions(6)->mutable_jump_if_false()->set_target(1);
  EXPECT_THAT(BlockStarts(method), ElementsAre(0, 1, 3, 5, 7, 9));
}

}  // namespace
}  // namespace belay::exir
