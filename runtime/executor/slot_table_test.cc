#include "runtime/executor/slot_table.h"

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>

#include "runtime/core/memory_budget.h"
#include "runtime/core/testing.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

// Value 0 is an int, value 1 an input f32[4], value 2 a list of it, value 3 is in the arena and has
// up to 4 elements.
class SlotTableTest : public ::testing::Test {
 protected:
  SlotTableTest() {
    TensorPlan tensor;
    tensor.sizes = sizes_;
    tensor.dim_order = order_;
    tensor.max_bytes = 16;
    TensorPlan dynamic = tensor;
    dynamic.location = TensorPlan::Location::kArena;
    dynamic.dynamic_dims = 1;
    plan_.values = {int64_t{3}, tensor, ListPlan{{1}}, dynamic};
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

// A kernel may hold a tensor that it created itself.
TEST_F(SlotTableTest, RejectsForeignTensors) {
  TensorView other = *slots_->slot(1).get_if<TensorView>();
  EXPECT_THAT(slots_->Resize(other, {3}),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("the tensor does not belong to this method")));
  EXPECT_EQ(other.sizes, Sizes({4}));
  EXPECT_THAT(slots_->Resize(*slots_->slot(1).get_if<TensorView>(), {3}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected 4")));
}

TEST_F(SlotTableTest, SizesStayWithinTheirBounds) {
  TensorView& tensor = *slots_->slot(3).get_if<TensorView>();
  for (const int64_t size : {int64_t{-1}, int64_t{5}}) {
    EXPECT_THAT(slots_->Resize(tensor, {size}),
                StatusIs(absl::StatusCode::kOutOfRange,
                         HasSubstr("expected at most 4, got " + std::to_string(size))));
    EXPECT_EQ(tensor.sizes, Sizes({4}));
  }
  EXPECT_OK(slots_->Resize(tensor, {0}));
  EXPECT_EQ(tensor.sizes, Sizes({0}));
}

TEST_F(SlotTableTest, ForeignTensorsAreNotMutable) {
  const EValue other = slots_->slot(1);
  // Before the slots, after them, elsewhere, and a slot without a tensor.
  for (const EValue* argument : std::initializer_list<const EValue*>{
           &slots_->slot(0) - 1, &slots_->slot(3) + 1, &other, &slots_->slot(0)}) {
    EXPECT_THAT(slots_->CheckMutable(*argument),
                StatusIs(absl::StatusCode::kInternal,
                         HasSubstr("the argument is not a tensor of this method")));
  }
  EXPECT_THAT(slots_->CheckMutable(slots_->slot(1)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("does not mutate")));
}

TEST_F(SlotTableTest, ListMemoryBoundCountsElements) {
  MemoryBound before, after;
  SlotTable::AddMemory(plan_, before);
  std::get<ListPlan>(plan_.values[2]).elements.resize(1001, 1);
  SlotTable::AddMemory(plan_, after);
  EXPECT_EQ(after.bytes() - before.bytes(), 1000 * sizeof(EValue*));
}

}  // namespace
}  // namespace belay
