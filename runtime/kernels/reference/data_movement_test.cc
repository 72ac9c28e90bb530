// Kernels of views, copies, indexing and padding beyond the conformance cases: operators without
// cases, wrong arguments, and hostile arguments.

#include <cstdint>
#include <deque>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/kernel_interface/test_outputs.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

class DataMovementKernelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (absl::Span<const Kernel> table :
         {ViewKernels(), DataMovementKernels(), IndexKernels(), ScatterKernels(),
          EmbeddingKernels(), PadKernels(), DimOrderKernels()}) {
      ASSERT_OK(registry_.Add(table));
    }
  }

  // Runs the call with output slots `outputs`.
  absl::Status Run(std::string_view op, std::deque<EValue>& arguments,
                   const std::vector<EValue*>& outputs) {
    std::vector<EValue*> slots;
    for (EValue& argument : arguments) slots.push_back(&argument);
    return RunOperator(registry_, op, absl::MakeConstSpan(slots), outputs, allocator_);
  }

  // Returns the single output of the call.
  absl::StatusOr<TensorView> Run(std::string_view op, DType dtype, int rank,
                                 std::vector<EValue> arguments) {
    TensorView planned;
    planned.dtype = dtype;
    planned.sizes = Sizes(rank, 0);
    planned.strides = Strides(rank, 1);
    EValue output(planned);
    std::deque<EValue> list(arguments.begin(), arguments.end());
    ABSL_RETURN_IF_ERROR(Run(op, list, {&output}));
    return *output.get_if<TensorView>();
  }

  EValue List(const std::vector<int64_t>& values) {
    std::vector<EValue> elements(values.begin(), values.end());
    return ListOf(elements);
  }
  EValue ListOf(const std::vector<EValue>& values) {
    std::vector<EValue*>& pointers = lists_.emplace_back();
    for (const EValue& value : values) pointers.push_back(&values_.emplace_back(value));
    return ListView{pointers};
  }

  KernelRegistry registry_;
  FreshOutputs allocator_;
  std::deque<EValue> values_;
  std::deque<std::vector<EValue*>> lists_;
};

TestTensor Count(const Sizes& sizes) {
  std::vector<float> values(*NumElements(sizes));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return TestTensor::Of<float>(sizes, values);
}

TEST_F(DataMovementKernelTest, ViewCopiesInputsOfOtherLayouts) {
  const TestTensor self = TestTensor::Dense<float>({2, 3}, {1, 0}, {0, 1, 2, 3, 4, 5});
  ASSERT_OK_AND_ASSIGN(const TensorView out,
                       Run("aten.view.default", DType::kFloat32, 1, {self.view(), List({6})}));
  EXPECT_THAT(ToVector<float>(out), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST_F(DataMovementKernelTest, ChecksDimensionsAndRanks) {
  const TestTensor self = Count({2, 3});
  const TestTensor deep = Count(Sizes(16, 1));
  const auto run = [&](std::string_view op, std::vector<EValue> arguments) {
    return Run(op, DType::kFloat32, 2, std::move(arguments)).status();
  };
  EXPECT_THAT(run("aten.permute_copy.default", {self.view(), List({0, 2})}),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("dim 2 is out of range [-2, 1]")));
  EXPECT_THAT(run("aten.unsqueeze_copy.default", {deep.view(), int64_t{0}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rank 17")));
  EXPECT_THAT(run("aten.unfold_copy.default", {deep.view(), int64_t{0}, int64_t{1}, int64_t{1}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rank 17")));
  EXPECT_THAT(run("aten.view_copy.default", {self.view(), List(std::vector<int64_t>(17, 1))}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(run("aten.select_copy.int", {self.view(), int64_t{1}, kMin}),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("out of range for size 3")));
  EXPECT_THAT(run("aten.permute_copy.default", {self.view(), int64_t{0}}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(run("aten.permute_copy.default", {int64_t{0}, List({0})}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected tensor, got int")));
}

TEST_F(DataMovementKernelTest, HandlesHugeSizesAndOffsets) {
  const TestTensor self = Count({4, 3});
  const auto slice = [&](int64_t start, int64_t end, int64_t step) {
    return Run("aten.slice_copy.Tensor", DType::kFloat32, 2,
               {self.view(), int64_t{0}, start, end, step});
  };
  ASSERT_OK_AND_ASSIGN(TensorView out, slice(kMin, kMax, kMax));
  EXPECT_THAT(ToVector<float>(out), ElementsAre(0, 1, 2));
  ASSERT_OK_AND_ASSIGN(out, slice(kMax, kMin, 1));
  EXPECT_EQ(out.numel(), 0);
  EXPECT_THAT(Run("aten.as_strided_copy.default", DType::kFloat32, 2,
                  {self.view(), List({2, 2}), List({kMax, 1}), int64_t{0}}),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("reach outside of f32[4,3]")));
  EXPECT_THAT(Run("aten.as_strided_copy.default", DType::kFloat32, 1,
                  {self.view(), List({13}), List({1}), int64_t{0}}),
              StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(Run("aten.as_strided_copy.default", DType::kFloat32, 1,
                  {self.view(), List({1}), List({1}), kMax}),
              StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(Run("aten.constant_pad_nd.default", DType::kFloat32, 2,
                  {self.view(), List({kMax, kMax}), 0.0}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("overflowed")));
  EXPECT_THAT(Run("aten.repeat.default", DType::kFloat32, 2, {self.view(), List({kMax, 2})}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  ASSERT_OK_AND_ASSIGN(out, Run("aten.diagonal_copy.default", DType::kFloat32, 1,
                                {self.view(), kMin, int64_t{0}, int64_t{1}}));
  EXPECT_EQ(out.numel(), 0);
  ASSERT_OK_AND_ASSIGN(
      out, Run("aten.roll.default", DType::kFloat32, 2, {self.view(), List({kMin}), List({})}));
  EXPECT_EQ(out.numel(), 12);
}

TEST_F(DataMovementKernelTest, SplitMustFitTheOutputList) {
  const TestTensor self = Count({5});
  std::deque<EValue> arguments = {self.view(), int64_t{2}, int64_t{0}};
  TensorView planned;
  planned.sizes = {0};
  planned.strides = {1};
  EValue list = ListOf({planned, planned});
  EXPECT_THAT(Run("aten.split_copy.Tensor", arguments, {&list}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("expected an output list of 3 elements, got 2")));
  list = ListOf({planned, planned, planned});
  ASSERT_OK(Run("aten.split_copy.Tensor", arguments, {&list}));
  const ListView pieces = *list.get_if<ListView>();
  EXPECT_THAT(ToVector<float>(*pieces.elements[2]->get_if<TensorView>()), ElementsAre(4));
}

TEST_F(DataMovementKernelTest, ReinterpretationStaysInBounds) {
  const TestTensor bytes = TestTensor::Of<uint8_t>({2, 4}, {1, 0, 0, 0, 2, 0, 0, 0});
  ASSERT_OK_AND_ASSIGN(TensorView out, Run("aten.view_copy.dtype", DType::kInt32, 2,
                                           {bytes.view(), EValue(DType::kInt32)}));
  EXPECT_THAT(ToVector<int32_t>(out), ElementsAre(1, 2));
  EXPECT_THAT(Run("aten.view_copy.dtype", DType::kInt64, 2, {bytes.view(), EValue(DType::kInt64)}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("does not divide")));
  EXPECT_THAT(Run("aten.view_copy.dtype", DType::kInt16, 2, {bytes.view(), EValue(DType::kInt32)}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected int32, got int16")));
}

TEST_F(DataMovementKernelTest, IndicesCountFromBothEndsInBounds) {
  const TestTensor self = Count({3, 2});
  const auto run = [&](std::vector<int64_t> index) -> absl::StatusOr<TensorView> {
    const int64_t count = static_cast<int64_t>(index.size());
    const TestTensor places = TestTensor::Of<int64_t>({count}, index);
    return Run("aten.index.Tensor", DType::kFloat32, 2, {self.view(), ListOf({places.view()})});
  };
  ASSERT_OK_AND_ASSIGN(const TensorView out, run({-1, 0, -3}));
  EXPECT_THAT(ToVector<float>(out), ElementsAre(4, 5, 0, 1, 0, 1));
  EXPECT_THAT(run({0, 3}),
              StatusIs(absl::StatusCode::kOutOfRange,
                       HasSubstr("index 3 is out of range for dimension 0 of size 3")));
  EXPECT_THAT(run({-4}), StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(run({kMin}), StatusIs(absl::StatusCode::kOutOfRange));
}

// An index tensor that aliases the kernel's output would change while it is used.
TEST_F(DataMovementKernelTest, RejectsIndicesThatAliasTheOutput) {
  TestTensor self = TestTensor::Of<int64_t>({4}, {1, 2, 3, 0});
  const TestTensor values = TestTensor::Of<int64_t>({4}, {kMax, kMax, kMax, kMax});
  EValue slot(self.view());
  std::deque<EValue> arguments = {ListOf({self.view()}), values.view(), false};
  std::vector<EValue*> slots = {&slot};
  for (EValue& argument : arguments) slots.push_back(&argument);
  EValue* const outputs[] = {&slot};
  EXPECT_THAT(
      RunOperator(registry_, "aten.index_put_.default", slots, outputs, allocator_),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("overlaps that of argument 1")));
}

TEST_F(DataMovementKernelTest, MutatingKernelsWriteTheirArgument) {
  TestTensor self = Count({2, 2});
  const TestTensor row = TestTensor::Of<int64_t>({2}, {7, 8});
  EValue slot(self.view());
  EValue src(row.view()), flag(false);
  EValue* const slots[] = {&slot, &src, &flag};
  EValue* const outputs[] = {&slot};
  ASSERT_OK(RunOperator(registry_, "aten.copy_.default", slots, outputs, allocator_));
  EXPECT_THAT(ToVector<float>(self), ElementsAre(7, 8, 7, 8));

  const TestTensor part = TestTensor::Of<float>({1, 2}, {5, 6});
  EValue with(part.view()), dim(int64_t{0}), one(int64_t{1}), end(int64_t{2});
  EValue* const replace[] = {&slot, &with, &dim, &one, &end, &one};
  for (const bool where_it_is : {true, false}) {
    TestTensor elsewhere = Count({2, 2});
    EValue other(elsewhere.view());
    EValue* const results[] = {where_it_is ? &slot : &other};
    KernelContext in_place(replace, results, &allocator_, {});
    for (const Kernel* kernel : registry_.Candidates("belay.slice_scatter_.default")) {
      EXPECT_EQ(kernel->Run(in_place).ok(), where_it_is) << kernel->name;
    }
  }
  EXPECT_THAT(ToVector<float>(self), ElementsAre(7, 8, 5, 6));

  const TestTensor place = TestTensor::Of<int64_t>({1}, {1}), rows = Count({1, 2});
  ASSERT_OK(Run("aten.index_copy_.default", DType::kFloat32, 2,
                {self.view(), int64_t{0}, place.view(), rows.view()}));
  EXPECT_THAT(ToVector<float>(self), ElementsAre(7, 8, 0, 1));
}

TEST_F(DataMovementKernelTest, IndexAddCopyAndFill) {
  const TestTensor self = Count({3, 2});
  const TestTensor index = TestTensor::Of<int64_t>({2}, {2, 2});
  const TestTensor source = TestTensor::Of<float>({2, 2}, {10, 20, 30, 40});
  ASSERT_OK_AND_ASSIGN(TensorView out,
                       Run("aten.index_add.default", DType::kFloat32, 2,
                           {self.view(), int64_t{0}, index.view(), source.view(), 0.5}));
  EXPECT_THAT(ToVector<float>(out), ElementsAre(0, 1, 2, 3, 24, 35));
  ASSERT_OK_AND_ASSIGN(out, Run("aten.index_copy.default", DType::kFloat32, 2,
                                {self.view(), int64_t{-2}, index.view(), source.view()}));
  EXPECT_THAT(ToVector<float>(out), ElementsAre(0, 1, 2, 3, 30, 40));
  const TestTensor last = TestTensor::Of<int64_t>({1}, {-1});
  ASSERT_OK_AND_ASSIGN(out, Run("aten.index_fill.int_Scalar", DType::kFloat32, 2,
                                {self.view(), int64_t{1}, last.view(), int64_t{9}}));
  EXPECT_THAT(ToVector<float>(out), ElementsAre(0, 9, 2, 9, 4, 9));
  EXPECT_THAT(Run("aten.index_add.default", DType::kFloat32, 2,
                  {self.view(), int64_t{0}, last.view(), source.view(), int64_t{1}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("do not fit")));
}

TEST_F(DataMovementKernelTest, ScatterReductionsByName) {
  const TestTensor self = TestTensor::Of<BFloat16>({2}, {1, 1});
  const TestTensor index = TestTensor::Of<int32_t>({300}, std::vector<int32_t>(300, 0));
  const TestTensor ones = TestTensor::Of<BFloat16>({300}, std::vector<float>(300, 1));
  // Rounded once at the end: 301 is 300 in bfloat16, whereas adding one by one would stop at 256.
  ASSERT_OK_AND_ASSIGN(TensorView out, Run("aten.scatter.reduce", DType::kBFloat16, 1,
                                           {self.view(), int64_t{0}, index.view(), ones.view(),
                                            EValue(std::string_view("add"))}));
  EXPECT_THAT(ToVector<BFloat16>(out), ElementsAre(300, 1));
  ASSERT_OK_AND_ASSIGN(
      out, Run("aten.scatter.value_reduce", DType::kBFloat16, 1,
               {self.view(), int64_t{0}, index.view(), 1.0, EValue(std::string_view("add"))}));
  EXPECT_THAT(ToVector<BFloat16>(out), ElementsAre(300, 1));
  EXPECT_THAT(
      Run("aten.scatter.reduce", DType::kBFloat16, 1,
          {self.view(), int64_t{0}, index.view(), ones.view(), EValue(std::string_view("mean"))}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("got 'mean'")));
}

TEST_F(DataMovementKernelTest, ReplacesParts) {
  const TestTensor self = Count({2, 3});
  const TestTensor src = TestTensor::Of<float>({2}, {8, 9});
  ASSERT_OK_AND_ASSIGN(TensorView out,
                       Run("aten.diagonal_scatter.default", DType::kFloat32, 2,
                           {self.view(), src.view(), int64_t{1}, int64_t{0}, int64_t{1}}));
  EXPECT_THAT(ToVector<float>(out), ElementsAre(0, 8, 2, 3, 4, 9));
  ASSERT_OK_AND_ASSIGN(out, Run("aten.as_strided_scatter.default", DType::kFloat32, 2,
                                {self.view(), src.view(), List({2}), List({3}), int64_t{2}}));
  EXPECT_THAT(ToVector<float>(out), ElementsAre(0, 1, 8, 3, 4, 9));
  ASSERT_OK_AND_ASSIGN(out,
                       Run("aten.triu.default", DType::kFloat32, 2, {self.view(), int64_t{1}}));
  EXPECT_THAT(ToVector<float>(out), ElementsAre(0, 1, 2, 0, 0, 5));
  ASSERT_OK_AND_ASSIGN(out, Run("aten.repeat_interleave.self_int", DType::kFloat32, 1,
                                {src.view(), int64_t{2}, None(), None()}));
  EXPECT_THAT(ToVector<float>(out), ElementsAre(8, 8, 9, 9));
}

TEST_F(DataMovementKernelTest, SearchsortedLeftAndRight) {
  const TestTensor sorted = TestTensor::Of<float>({4}, {1, 3, 3, 5});
  const TestTensor values = TestTensor::Of<float>({2, 2}, {3, 0, 6, 5});
  const auto search = [&](bool right, EValue side, EValue sorter) {
    return Run("aten.searchsorted.Tensor", DType::kInt64, 2,
               {sorted.view(), values.view(), false, right, side, sorter});
  };
  ASSERT_OK_AND_ASSIGN(TensorView out, search(false, None(), None()));
  EXPECT_THAT(ToVector<int64_t>(out), ElementsAre(1, 0, 4, 3));
  ASSERT_OK_AND_ASSIGN(out, search(false, EValue(std::string_view("right")), None()));
  EXPECT_THAT(ToVector<int64_t>(out), ElementsAre(3, 0, 4, 4));
  const TestTensor wild = TestTensor::Of<int64_t>({4}, {0, 1, 9, 3});
  EXPECT_THAT(search(false, None(), wild.view()), StatusIs(absl::StatusCode::kOutOfRange));
  ASSERT_OK_AND_ASSIGN(out, Run("aten.bucketize.Tensor", DType::kInt32, 2,
                                {values.view(), sorted.view(), true, true}));
  EXPECT_THAT(ToVector<int32_t>(out), ElementsAre(3, 0, 4, 4));
}

TEST_F(DataMovementKernelTest, RejectsSmallScratchMemory) {
  const TestTensor self = Count({3}), mask = TestTensor::Of<bool>({3}, {true, false, true});
  EValue a(self.view()), b = ListOf({mask.view()});
  TensorView planned;
  planned.sizes = {0};
  planned.strides = {1};
  EValue output(planned);
  EValue* const slots[] = {&a, &b};
  EValue* const outputs[] = {&output};
  KernelContext context(slots, outputs, &allocator_, {});
  EXPECT_THAT(registry_.Find("aten.index.Tensor", context)->Run(context),
              StatusIs(absl::StatusCode::kInternal));
}

// Runs every kernel with the right number of arguments of any kind. Whatever the outcome, no access
// is outside of memory (checked by ASan).
class HostileArgumentsTest : public DataMovementKernelTest {
 protected:
  int64_t Pick(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  int64_t Int() {
    constexpr int64_t kNumbers[] = {0,
                                    0,
                                    1,
                                    1,
                                    2,
                                    3,
                                    4,
                                    5,
                                    -1,
                                    -1,
                                    -2,
                                    -3,
                                    17,
                                    kMin,
                                    kMax,
                                    kMax - 1,
                                    int64_t{1} << 31,
                                    int64_t{1} << 62,
                                    -(int64_t{1} << 33)};
    return kNumbers[Pick(std::size(kNumbers))];
  }
  TensorView Tensor() {
    constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat32,  DType::kInt64,
                                DType::kInt64,   DType::kInt32,    DType::kBool,
                                DType::kUint8,   DType::kBFloat16, DType::kComplex64};
    const DType dtype = kTypes[Pick(std::size(kTypes))];
    Sizes sizes;
    const int rank = Pick(12) == 0 ? 16 : static_cast<int>(Pick(5));
    for (int d = 0; d < rank; ++d) sizes.push_back(rank > 5 ? 1 : Pick(5));
    Strides strides = ContiguousStrides(sizes);
    if (Pick(3) == 0) {
      for (int64_t& stride : strides) stride = Pick(4);
    }
    tensors_.push_back(TestTensor::Zeros(dtype, sizes, strides));
    const TensorView& view = tensors_.back().view();
    if (dtype == DType::kInt64 || dtype == DType::kInt32) {
      for (StridedIterator<1> it(sizes, {strides}); !it.done(); it.Next()) {
        const int64_t value = Pick(20) == 0 ? Int() : Pick(4);
        if (dtype == DType::kInt64) view.as<int64_t>()[it.offset(0)] = value;
        if (dtype == DType::kInt32) view.as<int32_t>()[it.offset(0)] = static_cast<int32_t>(value);
      }
    } else if (dtype == DType::kBool) {
      for (StridedIterator<1> it(sizes, {strides}); !it.done(); it.Next()) {
        view.as<uint8_t>()[it.offset(0)] = static_cast<uint8_t>(Pick(3));
      }
    }
    return view;
  }
  EValue Value(bool nested) {
    constexpr std::string_view kNames[] = {"sum", "mean", "amax", "add", "multiply", "left", ""};
    switch (Pick(nested ? 10 : 14)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return Tensor();
      case 4:
      case 5:
        return Int();
      case 6:
        return None();
      case 7:
        return Pick(2) == 0;
      case 8:
        return EValue(1.5);
      case 9:
        return EValue(kNames[Pick(std::size(kNames))]);
      case 10:
      case 11: {
        std::vector<int64_t> numbers(Pick(6));
        for (int64_t& n : numbers) n = Int();
        return List(numbers);
      }
      case 12: {
        std::vector<EValue> values;
        for (int64_t n = Pick(4); n > 0; --n) values.push_back(Value(true));
        return ListOf(values);
      }
      default:
        return EValue(DType::kInt16);
    }
  }
  EValue Output() {
    TensorView planned = Tensor();
    planned.data = nullptr;
    if (Pick(8) == 0) return ListOf({planned, planned});
    return planned;
  }
  void Forget() {
    tensors_.clear();
    values_.clear();
    lists_.clear();
    allocator_ = FreshOutputs();
  }

  std::mt19937_64 random_{TestSeed()};
  std::deque<TestTensor> tensors_;
};

TEST_F(HostileArgumentsTest, NeverAccessOutOfBounds) {
  int succeeded = 0;
  for (const std::string_view op : registry_.Operators()) {
    for (int arity = 1; arity <= 9; ++arity) {
      for (int round = 0; round < 1000; ++round) {
        std::deque<EValue> arguments;
        arguments.push_back(Tensor());
        while (static_cast<int>(arguments.size()) < arity) arguments.push_back(Value(false));
        EValue output = Output();
        if (TensorView* planned = output.get_if<TensorView>(); planned != nullptr && Pick(2) == 0) {
          planned->dtype = arguments[0].get_if<TensorView>()->dtype;
        }
        const absl::Status status = Run(op, arguments, {&output});
        succeeded += status.ok() ? 1 : 0;
        Forget();
        if (absl::StrContains(status.message(), " arguments and ")) break;  // another arity
      }
    }
  }
  EXPECT_GT(succeeded, 1000);  // not all calls are rejected by the first check
}

}  // namespace
}  // namespace belay
