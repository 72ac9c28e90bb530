#include "runtime/kernel_interface/kernel.h"

#include <complex>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/core/thread_pool.h"

namespace belay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

// Accepts sizes up to those of the tensor; keeps its memory.
class BoundedAllocator : public OutputAllocator {
 public:
  absl::Status CheckMutable(const EValue&) override { return writable; }
  absl::Status writable = absl::OkStatus();

  absl::Status Resize(TensorView& tensor, absl::Span<const int64_t> sizes) override {
    for (int d = 0; d < tensor.rank(); ++d) {
      if (sizes[d] > tensor.sizes[d]) return absl::OutOfRangeError("too large");
    }
    tensor.sizes = Sizes(sizes);
    tensor.strides = ContiguousStrides(sizes);
    return absl::OkStatus();
  }
};

class KernelContextTest : public testing::Test {
 protected:
  // Returns a context with these arguments and outputs, which are stored in the fixture.
  KernelContext Context(std::vector<EValue> arguments, std::vector<EValue> outputs = {}) {
    arguments_ = std::move(arguments);
    outputs_ = std::move(outputs);
    argument_slots_.clear();
    output_slots_.clear();
    for (EValue& v : arguments_) argument_slots_.push_back(&v);
    for (EValue& v : outputs_) output_slots_.push_back(&v);
    return KernelContext(argument_slots_, output_slots_, &allocator_, {});
  }

  BoundedAllocator allocator_;
  std::vector<EValue> arguments_, outputs_;
  std::vector<EValue*> argument_slots_, output_slots_;
};

TEST_F(KernelContextTest, CheckArityNamesBothCounts) {
  const KernelContext context = Context({None{}, None{}}, {None{}});
  EXPECT_OK(context.CheckArity(2, 1));
  EXPECT_THAT(context.CheckArity(3, 1),
              StatusIs(kInvalid, HasSubstr("expected 3 arguments and 1 outputs, got 2 and 1")));
  EXPECT_THAT(context.CheckArity(2, 0), StatusIs(kInvalid));
}

TEST_F(KernelContextTest, TensorsAreReadFromTheirSlot) {
  const TestTensor t = TestTensor::Zeros(DType::kFloat32, {2});
  KernelContext context = Context({t.view(), None{}, int64_t{1}});
  ASSERT_OK_AND_ASSIGN(const TensorView* tensor, context.Tensor(0));
  EXPECT_EQ(tensor->data, t.view().data);
  ASSERT_OK_AND_ASSIGN(TensorView * same, context.MutableTensor({0}));
  EXPECT_EQ(same, tensor);
  EXPECT_THAT(context.Tensor(1),
              StatusIs(kInvalid, HasSubstr("argument 1: expected tensor, got none")));
  EXPECT_THAT(context.Tensor(2), StatusIs(kInvalid, HasSubstr("got int")));
  EXPECT_THAT(context.MutableTensor({2}), StatusIs(kInvalid));
}

TEST_F(KernelContextTest, MutableArgumentMustNotOverlapOthers) {
  const TestTensor t = TestTensor::Zeros(DType::kFloat32, {4});
  TensorView first = t.view(), last = t.view();
  first.sizes[0] = last.sizes[0] = 2;
  last.data = last.as<float>() + 2;
  EXPECT_OK(Context({first, last}).MutableTensor({0}).status());
  EXPECT_THAT(Context({t.view(), last}).MutableTensor({1}),
              StatusIs(kInvalid, HasSubstr("argument 1 is written and its memory overlaps that of "
                                           "argument 0")));
  EValue element = last, nothing;
  EValue* const elements[] = {&nothing, &element, nullptr};
  EXPECT_THAT(Context({t.view(), ListView{elements}}).MutableTensor({0}),
              StatusIs(kInvalid, HasSubstr("argument 1")));
}

TEST_F(KernelContextTest, AllocatorDecidesMutability) {
  const TestTensor t = TestTensor::Zeros(DType::kFloat32, {2});
  allocator_.writable = absl::InvalidArgumentError("a constant");
  EXPECT_THAT(Context({None{}, t.view()}).MutableTensor({1}),
              StatusIs(kInvalid, "argument 1: a constant"));
  // Without an allocator, constants are unknown.
  EValue slot(t.view());
  EValue* const arguments[] = {&slot};
  EXPECT_OK(KernelContext(arguments, {}, nullptr, {}).MutableTensor({0}).status());
}

TEST_F(KernelContextTest, PartsRunInOrderWithoutThreadsAndAllOfThemWith) {
  KernelContext alone = Context({});
  EXPECT_EQ(alone.num_threads(), 1);
  std::vector<int> parts;
  alone.RunParts(3, [&](int part) { parts.push_back(part); });
  EXPECT_THAT(parts, ElementsAre(0, 1, 2));
  ThreadPool threads(2);
  const KernelContext shared({}, {}, nullptr, {}, &threads);
  EXPECT_EQ(shared.num_threads(), 2);
  std::vector<int> times(5, 0);
  shared.RunParts(5, [&](int part) { ++times[part]; });
  EXPECT_THAT(times, ElementsAre(1, 1, 1, 1, 1));
}

TEST_F(KernelContextTest, ScalarsConvertOnlyWithoutLoss) {
  const KernelContext context =
      Context({int64_t{3}, true, 2.5, std::complex<double>(1, 2), None{}});
  EXPECT_EQ(*context.Int(0), 3);
  EXPECT_EQ(*context.Int(1), 1);
  EXPECT_THAT(context.Int(2), StatusIs(kInvalid, HasSubstr("expected int, got float")));
  EXPECT_EQ(*context.Double(0), 3.0);
  EXPECT_EQ(*context.Double(1), 1.0);
  EXPECT_EQ(*context.Double(2), 2.5);
  EXPECT_THAT(context.Double(3), StatusIs(kInvalid, HasSubstr("got complex")));
  EXPECT_THAT(context.Double(4), StatusIs(kInvalid, HasSubstr("expected float, got none")));
  EXPECT_EQ(*context.Bool(1), true);
  EXPECT_THAT(context.Bool(0), StatusIs(kInvalid));
  EXPECT_TRUE(context.Scalar(3)->is<std::complex<double>>());
  EXPECT_THAT(context.Scalar(4), StatusIs(kInvalid, HasSubstr("expected number, got none")));
}

TEST_F(KernelContextTest, RealValuedScalarsAreReal) {
  const KernelContext context = Context({false, std::complex<double>(1.5, 0)});
  EXPECT_EQ(*context.Double(0), 0.0);
  EXPECT_EQ(*context.Double(1), 1.5);
}

TEST_F(KernelContextTest, DtypesAndStringsHaveTheirOwnKind) {
  const KernelContext context = Context({None{}, int64_t{4}, DType::kBool, std::string_view("s")});
  EXPECT_EQ(*context.Dtype(2), DType::kBool);
  EXPECT_EQ(*context.String(3), "s");
  EXPECT_THAT(context.Dtype(1), StatusIs(kInvalid));
  EXPECT_THAT(context.String(0), StatusIs(kInvalid));
}

TEST_F(KernelContextTest, IntListsAreReadThroughTheirSlots) {
  EValue two(int64_t{2}), three(int64_t{3});
  EValue* const elements[] = {&two, &three};
  const KernelContext context = Context({ListView{elements}, int64_t{5}, ListView{}, None{}});
  EXPECT_EQ(*context.IntList(0), Sizes({2, 3}));
  two = EValue(int64_t{9});
  EXPECT_EQ(*context.IntList(0), Sizes({9, 3}));
  EXPECT_EQ(*context.IntList(1), Sizes({5}));
  EXPECT_EQ(*context.IntList(2), Sizes());
  EXPECT_THAT(context.IntList(3), StatusIs(kInvalid));
  EXPECT_EQ(context.List(0)->elements.size(), 2u);
  EXPECT_THAT(context.List(1), StatusIs(kInvalid));
}

TEST_F(KernelContextTest, RejectsIntListsWithOtherElements) {
  EValue number(1.5), one(int64_t{1});
  EValue* const mixed[] = {&one, &number};
  EValue* const missing[] = {&one, nullptr};
  const std::vector<EValue*> many(kMaxRank + 1, &one);
  const KernelContext context = Context({ListView{mixed}, ListView{missing}, ListView{many}});
  EXPECT_THAT(context.IntList(0), StatusIs(kInvalid, HasSubstr("element 1 float")));
  EXPECT_THAT(context.IntList(1), StatusIs(kInvalid, HasSubstr("missing")));
  EXPECT_THAT(context.IntList(2), StatusIs(kInvalid, HasSubstr("list of 17 ints")));
}

TEST_F(KernelContextTest, OutputsAreResized) {
  const TestTensor t = TestTensor::Zeros(DType::kFloat32, {4});
  KernelContext context = Context({}, {t.view(), None{}});
  ASSERT_OK_AND_ASSIGN(TensorView * output, context.Output(0, {3}));
  EXPECT_EQ(output->sizes, Sizes({3}));
  EXPECT_EQ((*context.PlannedOutput(0))->sizes, Sizes({3}));
  EXPECT_THAT(context.Output(0, {5}),
              StatusIs(absl::StatusCode::kOutOfRange, "output 0: too large"));
  EXPECT_THAT(context.Output(1, {1}),
              StatusIs(kInvalid, HasSubstr("output 1: expected tensor, got none")));
  EXPECT_THAT(context.PlannedOutput(1), StatusIs(kInvalid, HasSubstr("got none")));
  for (const int i : {-1, 2}) {
    EXPECT_THAT(context.PlannedOutput(i),
                StatusIs(kInvalid, absl::StrCat("output ", i, " does not exist, there are 2")));
  }
}

TEST_F(KernelContextTest, ListOutputsAreResizedByElement) {
  const TestTensor t = TestTensor::Zeros(DType::kFloat32, {4});
  EValue a(t.view()), b(int64_t{1});
  EValue* const elements[] = {&a, &b, nullptr};
  KernelContext context = Context({}, {ListView{elements}, t.view()});
  EXPECT_EQ(*context.OutputListSize(0), 3);
  ASSERT_OK_AND_ASSIGN(TensorView * output, context.OutputListElement(0, 0, {2}));
  EXPECT_EQ(output->sizes, Sizes({2}));
  EXPECT_THAT(context.OutputListElement(0, 1, {2}), StatusIs(kInvalid));
  EXPECT_THAT(context.OutputListElement(0, 2, {2}), StatusIs(kInvalid));
  EXPECT_THAT(context.OutputListElement(0, 3, {2}), StatusIs(kInvalid));
  EXPECT_THAT(context.OutputListElement(0, -1, {2}), StatusIs(kInvalid));
  EXPECT_THAT(context.OutputListElement(1, 0, {2}), StatusIs(kInvalid));
  EXPECT_THAT(context.OutputListSize(1), StatusIs(kInvalid));
}

TEST_F(KernelContextTest, OutputsNeedAnAllocator) {
  const TestTensor t = TestTensor::Zeros(DType::kFloat32, {4});
  EValue slot(t.view());
  EValue* const outputs[] = {&slot};
  KernelContext context({}, outputs, nullptr, {});
  EXPECT_THAT(context.Output(0, {4}), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(KernelContextTest, ScalarOutputsAreSet) {
  KernelContext context = Context({}, {None{}});
  context.SetScalarOutput(0, int64_t{6});
  EXPECT_EQ(*outputs_[0].get_if<int64_t>(), 6);
  EXPECT_EQ(context.output_slot(0), &outputs_[0]);
}

TEST(KernelEngineTest, HasAName) {
  EXPECT_EQ(KernelEngineName(KernelEngine::kReference), "reference");
  EXPECT_EQ(KernelEngineName(KernelEngine::kHighway), "highway");
}

}  // namespace
}  // namespace belay
