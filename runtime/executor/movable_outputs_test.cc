#include "runtime/executor/movable_outputs.h"

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "runtime/core/testing.h"

namespace belay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Plans of four-byte tensors; value 0 is the input x.
class MovableOutputsTest : public ::testing::Test {
 protected:
  MovableOutputsTest() { Tensor(TensorPlan::Location::kExternal, 0); }

  uint32_t Tensor(TensorPlan::Location location, uint64_t offset, uint64_t bytes = 4) {
    TensorPlan tensor;
    tensor.location = location;
    tensor.offset = offset;
    tensor.max_bytes = bytes;
    plan_.values.push_back(tensor);
    return static_cast<uint32_t>(plan_.values.size()) - 1;
  }
  uint32_t Arena(uint64_t offset, uint64_t bytes = 4) {
    return Tensor(TensorPlan::Location::kArena, offset, bytes);
  }
  uint32_t List(const std::vector<uint32_t>& elements) {
    plan_.values.push_back(ListPlan{elements});
    return static_cast<uint32_t>(plan_.values.size()) - 1;
  }
  OperandRange Operands(std::initializer_list<uint32_t> arguments,
                        std::initializer_list<uint32_t> outputs) {
    const OperandRange range = {static_cast<uint32_t>(plan_.operands.size()),
                                static_cast<uint32_t>(arguments.size()),
                                static_cast<uint32_t>(outputs.size())};
    plan_.operands.insert(plan_.operands.end(), arguments);
    plan_.operands.insert(plan_.operands.end(), outputs);
    return range;
  }
  void Call(std::initializer_list<uint32_t> arguments, std::initializer_list<uint32_t> outputs) {
    plan_.instructions.push_back(KernelCallPlan{0, Operands(arguments, outputs)});
  }
  std::vector<uint32_t> Movable(const std::vector<uint32_t>& outputs) {
    plan_.outputs = outputs;
    return MovableOutputs(plan_);
  }

  static constexpr uint32_t kX = 0;
  MethodPlan plan_;
};

TEST_F(MovableOutputsTest, IncludeOutputOfSingleKernelCall) {
  const uint32_t a = Arena(0), b = Arena(4);
  Call({kX}, {a});
  Call({a}, {b});
  EXPECT_THAT(Movable({b}), ElementsAre(b));
}

TEST_F(MovableOutputsTest, IncludeOutputOfSingleDelegateCall) {
  const uint32_t a = Arena(0), b = Arena(4);
  plan_.instructions.push_back(DelegateCallPlan{0, Operands({kX}, {a, b})});
  EXPECT_THAT(Movable({b, a}), ElementsAre(b, a));
}

TEST_F(MovableOutputsTest, ListDuplicateOutputOnce) {
  const uint32_t a = Arena(0);
  Call({kX}, {a});
  EXPECT_THAT(Movable({a, a}), ElementsAre(a));
}

TEST_F(MovableOutputsTest, ExcludeInputsStateAndScalars) {
  const uint32_t state = Tensor(TensorPlan::Location::kState, 0);
  const uint32_t constant = Tensor(TensorPlan::Location::kConstant, 0);
  plan_.values.push_back(ScalarKind::kInt);
  Call({kX}, {state});
  Call({kX}, {3});
  EXPECT_THAT(Movable({kX, state, constant, 3}), IsEmpty());
}

TEST_F(MovableOutputsTest, ExcludeDynamicSizes) {
  const uint32_t a = Arena(0);
  std::get<TensorPlan>(plan_.values[a]).dynamic_dims = 1;
  Call({kX}, {a});
  EXPECT_THAT(Movable({a}), IsEmpty());
}

TEST_F(MovableOutputsTest, ExcludeEmptyTensors) {
  const uint32_t a = Arena(0, 0);
  Call({kX}, {a});
  EXPECT_THAT(Movable({a}), IsEmpty());
}

TEST_F(MovableOutputsTest, ExcludeReadValues) {
  const uint32_t a = Arena(0), b = Arena(4);
  Call({kX}, {a});
  Call({a}, {b});
  EXPECT_THAT(Movable({a}), IsEmpty());
}

TEST_F(MovableOutputsTest, ExcludeValuesReadInLists) {
  const uint32_t a = Arena(0), b = Arena(4), list = List({a});
  Call({kX}, {a});
  Call({list}, {b});
  EXPECT_THAT(Movable({a, b}), ElementsAre(b));
}

TEST_F(MovableOutputsTest, ExcludeValuesWrittenTwice) {
  const uint32_t a = Arena(0);
  Call({kX}, {a});
  Call({kX}, {a});
  EXPECT_THAT(Movable({a}), IsEmpty());
}

TEST_F(MovableOutputsTest, ExcludeUnwrittenValues) {
  const uint32_t a = Arena(0);
  EXPECT_THAT(Movable({a}), IsEmpty());
}

TEST_F(MovableOutputsTest, ExcludeMoveTargets) {
  const uint32_t a = Arena(0), b = Arena(4);
  Call({kX}, {a});
  plan_.instructions.push_back(MovePlan{a, b});
  EXPECT_THAT(Movable({a, b}), IsEmpty());
}

TEST_F(MovableOutputsTest, EmptyForMethodsWithJumps) {
  const uint32_t a = Arena(0);
  Call({kX}, {a});
  plan_.instructions.push_back(JumpPlan{2});
  EXPECT_THAT(Movable({a}), IsEmpty());
  plan_.instructions.back() = JumpIfFalsePlan{0, 2};
  EXPECT_THAT(Movable({a}), IsEmpty());
}

TEST_F(MovableOutputsTest, AllowEarlierUsesOfSameMemory) {
  const uint32_t a = Arena(0), b = Arena(4), c = Arena(2);
  Call({kX}, {a});
  Call({kX}, {b});
  Call({kX}, {c});
  EXPECT_THAT(Movable({c}), ElementsAre(c));
}

// The call overwrites its argument elementwise.
TEST_F(MovableOutputsTest, AllowOutputsOverArguments) {
  const uint32_t a = Arena(0), b = Arena(0);
  Call({kX}, {a});
  Call({a}, {b});
  EXPECT_THAT(Movable({b}), ElementsAre(b));
}

TEST_F(MovableOutputsTest, ExcludeOutputsOverArgumentsThatAreUsedLater) {
  const uint32_t a = Arena(0), b = Arena(0), c = Arena(4);
  Call({kX}, {a});
  Call({a}, {b});
  Call({a}, {c});
  EXPECT_THAT(Movable({b, c}), ElementsAre(c));
}

TEST_F(MovableOutputsTest, ExcludeOutputsOverOtherResultsOfTheCall) {
  const uint32_t a = Arena(0), b = Arena(2);
  Call({kX}, {a, b});
  EXPECT_THAT(Movable({a}), IsEmpty());
}

TEST_F(MovableOutputsTest, ExcludeMemoryReadThroughAlias) {
  const uint32_t a = Arena(0), b = Arena(0), c = Arena(4);
  Call({kX}, {a});
  Call({b}, {c});
  EXPECT_THAT(Movable({a, c}), ElementsAre(c));
}

TEST_F(MovableOutputsTest, ExcludeMemoryReadThroughAliasInList) {
  const uint32_t a = Arena(0), b = Arena(0), c = Arena(4), list = List({b});
  Call({kX}, {a});
  Call({list}, {c});
  EXPECT_THAT(Movable({a, c}), ElementsAre(c));
}

TEST_F(MovableOutputsTest, ExcludeMemoryOfAliasedOutput) {
  const uint32_t a = Arena(0), b = Arena(0);
  Call({kX}, {a});
  EXPECT_THAT(Movable({a, b}), IsEmpty());
}

TEST_F(MovableOutputsTest, IgnoreArenaNeighbors) {
  const uint32_t before = Arena(0), a = Arena(4), behind = Arena(8), c = Arena(12);
  Call({kX}, {before});
  Call({kX}, {behind});
  Call({kX}, {a});
  Call({before, behind}, {c});
  EXPECT_THAT(Movable({a}), ElementsAre(a));
}

TEST_F(MovableOutputsTest, AreLimitedToFirstOutputs) {
  std::vector<uint32_t> outputs;
  for (size_t i = 0; i < kMostMovableOutputs + 1; ++i) {
    outputs.push_back(Arena(4 * i));
    Call({kX}, {outputs.back()});
  }
  std::vector<uint32_t> first = outputs;
  first.pop_back();
  EXPECT_EQ(Movable(outputs), first);
}

}  // namespace
}  // namespace belay
