#include "tools/profile/arena_use.h"

#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A plan of tensors in the arena and of calls.
class Plan {
 public:
  uint32_t Tensor(uint64_t offset, uint64_t bytes,
                  TensorPlan::Location location = TensorPlan::Location::kArena) {
    TensorPlan tensor;
    tensor.location = location;
    tensor.offset = offset;
    tensor.max_bytes = bytes;
    plan_.values.emplace_back(tensor);
    return static_cast<uint32_t>(plan_.values.size() - 1);
  }
  uint32_t List(std::vector<uint32_t> elements) {
    plan_.values.emplace_back(ListPlan{std::move(elements)});
    return static_cast<uint32_t>(plan_.values.size() - 1);
  }
  void Call(const std::vector<uint32_t>& arguments, uint32_t output) {
    const OperandRange operands = {.first = static_cast<uint32_t>(plan_.operands.size()),
                                   .arguments = static_cast<uint32_t>(arguments.size()),
                                   .outputs = 1};
    plan_.operands.insert(plan_.operands.end(), arguments.begin(), arguments.end());
    plan_.operands.push_back(output);
    plan_.instructions.emplace_back(KernelCallPlan{.op = 0, .operands = operands});
  }
  void Add(InstructionPlan instruction) { plan_.instructions.push_back(instruction); }
  void Output(uint32_t value) { plan_.outputs.push_back(value); }
  std::vector<uint64_t> Use() const { return ArenaUse(plan_); }

 private:
  MethodPlan plan_;
};

TEST(ArenaUseTest, LiveFromFirstToLastUse) {
  Plan plan;
  const uint32_t x = plan.Tensor(0, 1000, TensorPlan::Location::kExternal);
  const uint32_t a = plan.Tensor(0, 100), b = plan.Tensor(100, 20), c = plan.Tensor(0, 30);
  plan.Call({x}, a);
  plan.Call({a}, b);
  plan.Call({b}, c);
  EXPECT_THAT(plan.Use(), ElementsAre(100, 120, 50));
}

TEST(ArenaUseTest, ResultsLiveToEndAndAliasesCountOnce) {
  Plan plan;
  const uint32_t x = plan.Tensor(0, 0, TensorPlan::Location::kState);
  const uint32_t a = plan.Tensor(64, 100), over_a = plan.Tensor(64, 100), b = plan.Tensor(200, 8);
  plan.Call({x}, a);
  plan.Call({a}, over_a);
  plan.Call({x}, b);
  plan.Output(over_a);
  EXPECT_THAT(plan.Use(), ElementsAre(100, 100, 108));
}

TEST(ArenaUseTest, ListsUseTheirElements) {
  Plan plan;
  const uint32_t a = plan.Tensor(0, 4), b = plan.Tensor(4, 4), c = plan.Tensor(8, 8);
  const uint32_t list = plan.List({a, b});
  plan.Call({}, a);
  plan.Call({}, b);
  plan.Call({list}, c);
  EXPECT_THAT(plan.Use(), ElementsAre(4, 8, 16));
}

TEST(ArenaUseTest, OlderTensorsLiveThroughLoop) {
  Plan plan;
  const uint32_t a = plan.Tensor(0, 4), b = plan.Tensor(4, 4), go = plan.Tensor(8, 1);
  plan.Call({}, a);                                         // 0
  plan.Add(JumpIfFalsePlan{.condition = go, .target = 5});  // 1
  plan.Call({a}, b);                                        // 2
  plan.Add(MovePlan{.from = b, .to = go});                  // 3
  plan.Add(JumpPlan{.target = 1});                          // 4
  plan.Call({b}, b);                                        // 5
  EXPECT_THAT(plan.Use(), ElementsAre(4, 5, 9, 9, 8, 4));
}

TEST(ArenaUseTest, EmptyMethod) {
  EXPECT_THAT(Plan().Use(), IsEmpty());
  Plan plan;
  plan.Call({}, plan.Tensor(0, 0));
  EXPECT_THAT(plan.Use(), ElementsAre(0));
}

}  // namespace
}  // namespace belay::tools
