#include "executorch/reader/memory_places.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "executorch/reader/testing/loaded_method.h"
#include "executorch/reader/testing/pte_builder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::pte {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Location = TensorPlan::Location;

constexpr absl::StatusCode kBroken = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kLacking = absl::StatusCode::kUnimplemented;
constexpr absl::StatusCode kLimit = absl::StatusCode::kResourceExhausted;

constexpr int8_t kIntType = 3;  // c10::ScalarType

// Shorthands for calls.
struct Builder : PteBuilder {
  void Neg(int32_t from, int32_t to) { Call("aten::neg", "out", {from, to, to}); }
  void View(int32_t from, std::vector<int64_t> sizes, int32_t to) {
    std::vector<int64_t> list;
    for (const int64_t size : sizes) list.push_back(Int(size));
    Call("executorch_prim::et_view", "default", {from, IntList(std::move(list)), to});
  }
  void CopyInto(int32_t to, int32_t from) { Call("aten::copy_", "", {to, from, Bool(false), to}); }
  void Dynamic(int32_t value) { tensor(value).shape_dynamism = TensorShapeDynamism::DYNAMIC_BOUND; }
};

// y = neg(x), a view of y, and z = neg(view): z is x, in another shape.
struct ViewProgram : Builder {
  explicit ViewProgram(bool planned = false) : view(planned ? Tensor({4}) : Unplanned({4})) {
    Input(x);
    Neg(x, y);
    View(y, {4}, view);
    Neg(view, z);
    Output(z);
  }
  const int32_t x = Tensor({2, 2}), y = Tensor({2, 2}), z = Tensor({4});
  const int32_t view;
};

const TestTensor& Square() {
  static const TestTensor& x = *new TestTensor(TestTensor::Of<float>({2, 2}, {1, 2, 3, 4}));
  return x;
}

// --- Views ---

TEST(MemoryPlacesTest, PlannedViewAtBaseOffsetNeedsNoInstruction) {
  ViewProgram pte(/*planned=*/true);
  *pte.tensor(pte.view).allocation_info = *pte.tensor(pte.y).allocation_info;
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  EXPECT_EQ(loaded->plan().instructions.size(), 2u);
  EXPECT_THAT(*loaded->Execute({belay::EValue(Square().view())}), ElementsAre(1, 2, 3, 4));
}

TEST(MemoryPlacesTest, PlannedViewAtOtherOffsetIsCopied) {
  const ViewProgram pte(/*planned=*/true);
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  EXPECT_EQ(loaded->plan().instructions.size(), 3u);
  EXPECT_NE(loaded->tensor(pte.view).offset, loaded->tensor(pte.y).offset);
  EXPECT_THAT(*loaded->Execute({belay::EValue(Square().view())}), ElementsAre(1, 2, 3, 4));
}

// The view must have the sizes of the base.
TEST(MemoryPlacesTest, ViewOfResizedBaseIsEmitted) {
  ViewProgram pte;
  pte.Dynamic(pte.x);
  pte.Dynamic(pte.y);
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  EXPECT_EQ(loaded->plan().instructions.size(), 3u);
  EXPECT_EQ(loaded->tensor(pte.view).offset, loaded->tensor(pte.y).offset);
  EXPECT_THAT(*loaded->Execute({belay::EValue(Square().view())}), ElementsAre(1, 2, 3, 4));
  const TestTensor row = TestTensor::Of<float>({1, 2}, {1, 2});
  EXPECT_FALSE(loaded->Call({belay::EValue(row.view())}).ok());
}

TEST(MemoryPlacesTest, DynamicViewsAliasBaseAndResize) {
  for (const bool of_base : {false, true}) {
    ViewProgram pte;
    for (const int32_t value : {pte.x, pte.y}) {
      if (of_base) pte.Dynamic(value);
    }
    for (const int32_t value : {pte.view, pte.z}) pte.Dynamic(value);
    ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
    EXPECT_EQ(loaded->plan().instructions.size(), 3u);
    EXPECT_EQ(loaded->tensor(pte.view).offset, loaded->tensor(pte.y).offset);
    EXPECT_THAT(*loaded->Execute({belay::EValue(Square().view())}), ElementsAre(1, 2, 3, 4));
  }
}

// Views neither reinterpret bytes nor convert elements.
TEST(MemoryPlacesTest, RejectsViewOfOtherDtype) {
  ViewProgram pte;
  pte.tensor(pte.view).scalar_type = pte.tensor(pte.z).scalar_type = kIntType;
  EXPECT_THAT(OpenPte(pte.Serialize()), StatusIs(kBroken, HasSubstr("a view of float32 is int32")));
}

TEST(MemoryPlacesTest, RejectsViewOfFewerElements) {
  for (const bool planned : {false, true}) {
    ViewProgram pte(planned);
    pte.tensor(pte.view).sizes = pte.tensor(pte.z).sizes = {2};
    ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
    EXPECT_NE(loaded->tensor(pte.view).offset, loaded->tensor(pte.y).offset);
    EXPECT_THAT(loaded->Call({belay::EValue(Square().view())}), ::testing::Not(IsOk()));
  }
  ViewProgram pte(/*planned=*/true);
  pte.tensor(pte.view).sizes = pte.tensor(pte.z).sizes = {2};
  *pte.tensor(pte.view).allocation_info = *pte.tensor(pte.y).allocation_info;
  EXPECT_THAT(OpenPte(pte.Serialize()), StatusIs(kBroken, HasSubstr("overlaps")));
}

TEST(MemoryPlacesTest, ViewOfSeveralBasesIsCopied) {
  ViewProgram pte;
  const int32_t again = pte.Tensor({4});
  pte.View(pte.x, {4}, pte.view);
  pte.Neg(pte.view, again);
  pte.Output(again);
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  EXPECT_NE(loaded->tensor(pte.view).offset, loaded->tensor(pte.y).offset);
  EXPECT_THAT(*loaded->Execute({belay::EValue(Square().view())}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(ToVector<float>(*loaded->method->GetOutput(1).get_if<TensorView>()),
              ElementsAre(-1, -2, -3, -4));
}

// The same view at two positions of the program is a view of one tensor.
TEST(MemoryPlacesTest, RepeatedViewAliasesBase) {
  ViewProgram pte;
  pte.View(pte.y, {4}, pte.view);
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  EXPECT_EQ(loaded->plan().instructions.size(), 2u);
  EXPECT_EQ(loaded->tensor(pte.view).offset, loaded->tensor(pte.y).offset);
}

TEST(MemoryPlacesTest, WrittenViewIsCopied) {
  for (const bool in_place : {false, true}) {
    ViewProgram pte;
    const int32_t first = pte.Constant({4}, {5, 6, 7, 8});
    if (in_place) {
      pte.CopyInto(pte.view, first);
    } else {
      pte.Neg(first, pte.view);
    }
    pte.Output(pte.y);
    pte.Output(pte.view);
    ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
    EXPECT_THAT(*loaded->Execute({belay::EValue(Square().view())}), ElementsAre(1, 2, 3, 4));
    const auto output = [&](size_t i) {
      return ToVector<float>(*loaded->method->GetOutput(i).get_if<TensorView>());
    };
    EXPECT_THAT(output(1), ElementsAre(-1, -2, -3, -4));
    EXPECT_EQ(output(2)[0], in_place ? 5 : -5);
  }
}

TEST(MemoryPlacesTest, UnreadViewIsEmitted) {
  ViewProgram pte;
  const int32_t unread = pte.Unplanned({4, 1});
  pte.View(pte.y, {4, 1}, unread);
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  EXPECT_EQ(loaded->tensor(unread).offset, loaded->tensor(pte.y).offset);
}

TEST(MemoryPlacesTest, ViewOfView) {
  ViewProgram pte;
  const int32_t second = pte.Unplanned({1, 4}), w = pte.Tensor({1, 4});
  pte.View(pte.view, {1, 4}, second);
  pte.Neg(second, w);
  pte.Output(w);
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  EXPECT_EQ(loaded->tensor(second).offset, loaded->tensor(pte.y).offset);
  EXPECT_EQ(loaded->plan().instructions.size(), 3u);
}

// Without contents, it reads as zeros.
TEST(MemoryPlacesTest, ViewOfItselfHasMemory) {
  Builder pte;
  const int32_t view = pte.Unplanned({4});
  pte.View(view, {4}, view);
  pte.Output(view);
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  EXPECT_THAT(*loaded->Execute({}), ElementsAre(0, 0, 0, 0));
}

TEST(MemoryPlacesTest, ViewOfCopiedInputAliasesCopy) {
  Builder pte;
  const int32_t x = pte.Tensor({2, 2}), view = pte.Unplanned({4}), y = pte.Tensor({4});
  const int32_t changed = pte.Constant({2, 2}, {5, 6, 7, 8});
  pte.Input(x);
  pte.View(x, {4}, view);
  pte.CopyInto(x, changed);
  pte.Neg(view, y);
  pte.Output(y);
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  EXPECT_EQ(loaded->tensor(view).offset, loaded->tensor(x).offset);
  EXPECT_EQ(loaded->plan().instructions.size(), 3u);
  EXPECT_THAT(*loaded->Execute({belay::EValue(Square().view())}), ElementsAre(-5, -6, -7, -8));
  EXPECT_THAT(ToVector<float>(Square()), ElementsAre(1, 2, 3, 4));
}

TEST(MemoryPlacesTest, ViewOfBufferIsCopied) {
  Builder pte;
  const int32_t x = pte.Tensor({2, 2}), total = pte.Buffer({2, 2}, {10, 20, 30, 40});
  const int32_t view = pte.Unplanned({4}), y = pte.Tensor({4});
  pte.Input(x);
  pte.CopyInto(total, x);
  pte.View(total, {4}, view);
  pte.Neg(view, y);
  pte.Output(y);
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  EXPECT_EQ(loaded->tensor(total).location, Location::kState);
  EXPECT_EQ(loaded->tensor(view).location, Location::kArena);
  EXPECT_THAT(*loaded->Execute({belay::EValue(Square().view())}), ElementsAre(-1, -2, -3, -4));
}

TEST(MemoryPlacesTest, ViewOfConstantIsConstantUnlessDynamic) {
  for (const bool dynamic : {false, true}) {
    Builder pte;
    const int32_t c = pte.Constant({2, 2}, {1, 2, 3, 4}), view = pte.Unplanned({4}),
                  y = pte.Tensor({4});
    if (dynamic) pte.Dynamic(view);
    if (dynamic) pte.Dynamic(y);
    pte.View(c, {4}, view);
    pte.Neg(view, y);
    pte.Output(y);
    ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
    EXPECT_EQ(loaded->tensor(view).location, dynamic ? Location::kArena : Location::kConstant);
    EXPECT_EQ(loaded->plan().instructions.size(), dynamic ? 2u : 1u);
    EXPECT_THAT(*loaded->Execute({}), ElementsAre(-1, -2, -3, -4));
  }
}

TEST(MemoryPlacesTest, RejectsConstantAsView) {
  Builder pte;
  const int32_t x = pte.Tensor({2}), c = pte.Constant({2}, {1, 2});
  pte.Input(x);
  pte.View(x, {2}, c);
  EXPECT_THAT(OpenPte(pte.Serialize()), StatusIs(kLacking, HasSubstr("et_view makes it an alias")));
}

// --- Inputs ---

TEST(MemoryPlacesTest, InputUsedAsViewIsCopied) {
  Builder pte;
  const int32_t x = pte.Tensor({4}), c = pte.Constant({2, 2}, {5, 6, 7, 8}), y = pte.Tensor({4});
  pte.Input(x);
  pte.View(c, {4}, x);
  pte.Neg(x, y);
  pte.Output(y);
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  const TestTensor input = TestTensor::Of<float>({4}, {1, 2, 3, 4});
  EXPECT_THAT(*loaded->Execute({belay::EValue(input.view())}), ElementsAre(-5, -6, -7, -8));
  EXPECT_THAT(ToVector<float>(input), ElementsAre(1, 2, 3, 4));
}

TEST(MemoryPlacesTest, InputWithoutMemoryIsMutatedInPlace) {
  for (const bool in_place : {false, true}) {
    Builder pte;
    const int32_t x = pte.Unplanned({2}), c = pte.Constant({2}, {5, 6});
    pte.Input(x);
    if (in_place) {
      pte.CopyInto(x, c);
    } else {
      pte.Neg(c, x);
    }
    pte.Output(x);
    ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
    EXPECT_TRUE(loaded->plan().inputs[0].mutated);
    TestTensor input = TestTensor::Of<float>({2}, {1, 2});
    ASSERT_OK(loaded->Call({belay::EValue(input.view())}));
    EXPECT_EQ(ToVector<float>(input)[0], in_place ? 5 : -5);
  }
}

// A view has its base's memory; the caller's memory must not be written.
TEST(MemoryPlacesTest, RejectsInputWithoutMemoryAsView) {
  Builder pte;
  const int32_t x = pte.Unplanned({4}), c = pte.Constant({2, 2}, {5, 6, 7, 8});
  pte.Input(x);
  pte.View(c, {4}, x);
  pte.Output(x);
  EXPECT_EQ(Load(pte).status().code(), kBroken);
}

// --- State ---

TEST(MemoryPlacesTest, RejectsInitialContentOfDynamicSizes) {
  Builder pte;
  const int32_t total = pte.Buffer({2}, {1, 2});
  pte.Output(total);
  EXPECT_OK(OpenPte(pte.Serialize()));
  pte.Dynamic(total);
  EXPECT_THAT(OpenPte(pte.Serialize()), StatusIs(kLacking, HasSubstr("of dynamic sizes")));
}

TEST(MemoryPlacesTest, UnwrittenDynamicTensorStaysInArena) {
  Builder pte;
  const int32_t x = pte.Tensor({2});
  pte.Dynamic(x);
  pte.Output(x);
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  EXPECT_EQ(loaded->tensor(x).location, Location::kArena);
}

// --- Limits ---

absl::Status OpenWithin(const PteBuilder& pte, uint64_t arena_bytes) {
  belay::Program::Options options;
  options.limits.arena_bytes = arena_bytes;
  return OpenPte(pte.Serialize(), options).status();
}

TEST(MemoryPlacesTest, LimitsArenaPlusState) {
  Builder pte;
  pte.Output(pte.Buffer({2}, {1, 2}));  // a pool of 16 bytes, and 8 bytes of state
  EXPECT_OK(OpenWithin(pte, 24));
  EXPECT_THAT(OpenWithin(pte, 23), StatusIs(kLimit, HasSubstr("its tensors take 24 bytes, the "
                                                              "limit 'arena_bytes' is 23")));
}

TEST(MemoryPlacesTest, LimitsMemoryAfterPools) {
  Builder output;
  const int32_t x = output.Tensor({2}), y = output.Unplanned({2});
  output.Input(x);
  output.Neg(x, y);
  output.Output(y);
  EXPECT_OK(OpenWithin(output, 72));
  EXPECT_THAT(OpenWithin(output, 71), StatusIs(kLimit, HasSubstr("take 72 bytes")));
  Builder view;
  const int32_t a = view.Unplanned({4}), b = view.Unplanned({2, 2});
  view.Input(a);
  view.View(a, {2, 2}, b);
  view.Output(b);
  EXPECT_OK(OpenWithin(view, 16));
  EXPECT_THAT(OpenWithin(view, 15), StatusIs(kLimit, HasSubstr("take 16 bytes")));
}

// Without an effective limit, sums must not wrap.
TEST(MemoryPlacesTest, ByteSumsDoNotOverflow) {
  constexpr uint64_t kNoLimit = UINT64_MAX - 1;
  const auto open = [](std::vector<int64_t> pools, int32_t bytes) {
    Builder pte;
    const int32_t x = pte.Tensor({2}), y = pte.Unplanned({bytes / 4});
    pte.method().non_const_buffer_sizes = std::move(pools);
    pte.Input(x);
    pte.Neg(x, y);
    pte.Output(y);
    return OpenWithin(pte, kNoLimit);
  };
  constexpr int64_t kMost = INT64_MAX;
  // First: aligning the arena's size overflows. Second: adding the tensor's bytes overflows.
  EXPECT_THAT(open({0, kMost, kMost - 1}, 4), StatusIs(kLimit, HasSubstr("18446744073709551615")));
  EXPECT_THAT(open({0, kMost, kMost - 1000}, 2000),
              StatusIs(kLimit, HasSubstr("18446744073709551615")));
  // The same for pools.
  EXPECT_THAT(open({0, kMost, kMost - 1, 1}, 4), StatusIs(kLimit, HasSubstr("arena_bytes")));
  EXPECT_THAT(open({0, kMost, kMost - 1000, kMost}, 4), StatusIs(kLimit, HasSubstr("arena_bytes")));
  // State and arena, each of them below the limit.
  Builder pte;
  pte.tensor(pte.Tensor({2}, /*scalar_type=*/0)).sizes = {INT32_MAX, INT32_MAX, 2};
  pte.tensor(0).dim_order = {0, 1, 2};
  pte.method().non_const_buffer_sizes = {0, kMost, kMost - 1000};
  pte.Output(0);
  EXPECT_THAT(OpenWithin(pte, kNoLimit), StatusIs(kLimit, HasSubstr("18446744073709551615")));
}

// --- Moves ---

TEST(MemoryPlacesTest, MoveAtSameOffsetIsOmitted) {
  for (const bool elsewhere : {false, true}) {
    Builder pte;
    const int32_t x = pte.Tensor({2, 2}), y = pte.Tensor({2, 2}), to = pte.Tensor({2, 2});
    if (!elsewhere) *pte.tensor(to).allocation_info = *pte.tensor(y).allocation_info;
    pte.Input(x);
    pte.Neg(x, y);
    pte.Move(y, to);
    pte.Move(to, to);
    pte.Output(to);
    ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
    EXPECT_EQ(loaded->plan().instructions.size(), elsewhere ? 2u : 1u);
    EXPECT_THAT(*loaded->Execute({belay::EValue(Square().view())}), ElementsAre(-1, -2, -3, -4));
  }
}

// Elements would be reinterpreted: ExecuTorch's value would alias the other tensor, with its dtype
// and dim order.
TEST(MemoryPlacesTest, RejectsMoveAtSameOffsetToOtherLayout) {
  const auto open = [](auto change) {
    Builder pte;
    const int32_t x = pte.Tensor({2, 2}), y = pte.Tensor({2, 2}), to = pte.Tensor({2, 2});
    *pte.tensor(to).allocation_info = *pte.tensor(y).allocation_info;
    change(pte.tensor(to));
    pte.Input(x);
    pte.Neg(x, y);
    pte.Move(y, to);
    pte.Output(to);
    return OpenPte(pte.Serialize()).status();
  };
  EXPECT_OK(open([](TensorT&) {}));
  EXPECT_EQ(open([](TensorT& to) { to.scalar_type = kIntType; }).code(), kBroken);
  EXPECT_EQ(open([](TensorT& to) { to.sizes = {4, 1}; }).code(), kBroken);
  EXPECT_EQ(open([](TensorT& to) { to.dim_order = {1, 0}; }).code(), kBroken);
  EXPECT_EQ(
      open([](TensorT& to) { to.shape_dynamism = TensorShapeDynamism::DYNAMIC_BOUND; }).code(),
      kBroken);
}

TEST(MemoryPlacesTest, MovesBetweenMemories) {
  Builder pte;
  const int32_t c = pte.Constant({2, 2}, {5, 6, 7, 8}), x = pte.Unplanned({2, 2}),
                buffer = pte.Buffer({2, 2}, {1, 1, 1, 1}), y = pte.Tensor({2, 2});
  pte.Input(x);
  pte.Move(c, y);
  pte.Output(y);
  pte.Move(x, buffer);
  pte.Output(buffer);
  // From the arena to the state, both at the same offset.
  const int32_t other = pte.Buffer({2, 2}, {1, 1, 1, 1});
  pte.Move(y, other);
  ASSERT_OK_AND_ASSIGN(const auto loaded, Load(pte));
  EXPECT_THAT(*loaded->Execute({belay::EValue(Square().view())}), ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(ToVector<float>(*loaded->method->GetOutput(1).get_if<TensorView>()),
              ElementsAre(1, 2, 3, 4));
}

}  // namespace
}  // namespace belay::pte
