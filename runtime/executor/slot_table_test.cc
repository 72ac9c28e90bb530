#include "runtime/executor/slot_table.h"

#include <cstdint>
#include <initializer_list>
#include <memory>

#include "runtime/core/memory_budget.h"
#include "runtime/core/testing.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

// Value 0 is an int, value 1 an input f32[4], value 2 a list of it.
class SlotTableTest : public ::testing::Test {
 protected:
  SlotTableTest() {
    TensorPlan tensor;
    tensor.sizes = sizes_;
    tensor.dim_order = order_;
    tensor.max_bytes = 16;
    plan_.values = {int64_t{3}, tensor, ListPlan{{1}}};
    MemoryBudget memory("arena_bytes", 0);
    absl::StatusOr<std::unique_ptr<SlotTable>> slots = SlotTable::Create(plan_, memory);
    EXPECT_OK(slots);
    slots_ = *std::move(slots);
  }

  static constexpr int64_t sizes_[] = {4};
  static constexpr uint8_t order_[] = {0};
  MethodPlan plan_;
  std::unique_ptr<SlotTable> slots_;
};

// A kernel may hold a tensor that it made itself.
TEST_F(SlotTableTest, TensorsOfOthersAreNotResized) {
  TensorView other = *slots_->slot(1).get_if<TensorView>();
  EXPECT_THAT(
      slots_->Resize(other, {3}),
      StatusIs(absl::StatusCode::kInternal, HasSubstr("the tensor is none of this method's")));
  EXPECT_EQ(other.sizes, Sizes({4}));
  EXPECT_THAT(slots_->Resize(*slots_->slot(1).get_if<TensorView>(), {3}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("planned is 4")));
}

TEST_F(SlotTableTest, OnlyItsOwnTensorsAreMutable) {
  const EValue other = slots_->slot(1);
  for (const EValue* argument : std::initializer_list<const EValue*>{&other, &slots_->slot(0)}) {
    EXPECT_THAT(slots_->CheckMutable(*argument),
                StatusIs(absl::StatusCode::kInternal,
                         HasSubstr("the argument is none of this method's tensors")));
  }
  EXPECT_THAT(slots_->CheckMutable(slots_->slot(1)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("does not mutate")));
}

TEST_F(SlotTableTest, TheMemoryOfListsIsThatOfTheirElements) {
  MemoryBound before, after;
  SlotTable::AddMemory(plan_, before);
  std::get<ListPlan>(plan_.values[2]).elements.resize(1001, 1);
  SlotTable::AddMemory(plan_, after);
  EXPECT_EQ(after.bytes() - before.bytes(), 1000 * sizeof(EValue*));
}

}  // namespace
}  // namespace belay
