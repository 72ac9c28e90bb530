#include "runtime/kernels/operands/strided_view.h"

#include <cstdint>
#include <vector>

#include "runtime/core/testing.h"
#include "runtime/kernels/operands/element_run.h"
#include "runtime/kernels/operands/scalar_element.h"
#include "runtime/kernels/operands/tensor_list.h"

namespace belay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kOutOfRange = absl::StatusCode::kOutOfRange,
               kInvalid = absl::StatusCode::kInvalidArgument;

CheckedInt Overflowed() { return CheckedInt(INT64_MAX) + CheckedInt(1); }

// For all numbers that a rule may compute from a call, no view leads outside the tensor.
TEST(ViewOfTest, StaysInBounds) {
  const TestTensor base = TestTensor::Of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto view = [&](Dims<CheckedInt> sizes, Dims<CheckedInt> strides, CheckedInt offset) {
    return ViewOf(base, {std::move(sizes), std::move(strides), offset});
  };
  ASSERT_OK_AND_ASSIGN(const TensorView part, view({2, 2}, {3, 1}, 1));
  EXPECT_THAT(ToVector<float>(part), ElementsAre(2, 3, 5, 6));
  EXPECT_THAT(view({2, 2}, {3, 1}, 2), StatusIs(kOutOfRange, HasSubstr("reach outside of")));
  EXPECT_THAT(view({2, 2}, {3, 1}, -1), StatusIs(kOutOfRange));
  EXPECT_THAT(view({2, 2}, {3, 1}, Overflowed()), StatusIs(kOutOfRange));
  EXPECT_THAT(view({2, 2}, {3, -1}, 1), StatusIs(kOutOfRange));
  EXPECT_THAT(view({2, 2}, {Overflowed(), 1}, 0), StatusIs(kOutOfRange));
  EXPECT_THAT(view({2, 2}, {INT64_MAX, 1}, 1), StatusIs(kOutOfRange));
  EXPECT_THAT(view({2, -1}, {3, 1}, 0), StatusIs(kInvalid));
  // The strides of single elements are not used, and an empty view is valid everywhere.
  ASSERT_OK_AND_ASSIGN(const TensorView one, view({1, 1}, {Overflowed(), -7}, 5));
  EXPECT_THAT(ToVector<float>(one), ElementsAre(6));
  EXPECT_OK(view({0, 9}, {100, 100}, 100));
  // A tensor without elements has no nonempty view.
  const TestTensor none = TestTensor::Of<float>({0}, {});
  EXPECT_THAT(ViewOf(none, {{1}, {1}, 0}), StatusIs(kOutOfRange));
}

TEST(CopyReshapedTest, AnyLayouts) {
  const KernelContext context({}, {}, nullptr, {});
  const std::vector<float> numbers = {1, 2, 3, 4, 5, 6};
  const DimOrder reversed = {1, 0};
  const TestTensor row_major = TestTensor::Of<float>({2, 3}, numbers),
                   transposed = TestTensor::Dense<float>({2, 3}, reversed, numbers);
  for (const TestTensor* from : {&row_major, &transposed}) {
    for (const bool reverse : {false, true}) {
      const TestTensor to =
          reverse ? TestTensor::Dense<float>({3, 2}, reversed, std::vector<float>(6, 0.0f))
                  : TestTensor::Of<float>({3, 2}, std::vector<float>(6, 0.0f));
      ASSERT_OK(CopyReshaped(context, from->view(), to.view()));
      EXPECT_THAT(ToVector<float>(to.view()), ElementsAre(1, 2, 3, 4, 5, 6));
    }
  }
  const TestTensor other = TestTensor::Dense<double>({3, 2}, reversed, std::vector<double>(6, 0.0));
  EXPECT_OK(CopyReshaped(context, row_major.view(), other.view()));
  EXPECT_THAT(ToVector<double>(other.view()), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(CopyReshaped(context, transposed.view(), other.view()),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("shape, memory order and dtype all differ")));
  const TestTensor fewer = TestTensor::Of<float>({5}, std::vector<float>(5, 0.0f));
  EXPECT_THAT(CopyReshaped(context, row_major.view(), fewer.view()),
              StatusIs(kInvalid, HasSubstr("the numbers of elements differ")));
}

TEST(ConvertScalarTest, AcceptsOnlyNumbers) {
  EXPECT_THAT(ConvertScalar(EValue(), DType::kFloat32),
              StatusIs(kInvalid, "expected a number, got none"));
  EXPECT_THAT(ConvertScalar(EValue(1.0), DType::kComplex32),
              StatusIs(kInvalid, "dtype complex32 is not supported"));
}

TEST(ScalarElementTest, RejectsUnsupportedDtypes) {
  const TestTensor number = TestTensor::Of<float>({}, {2.5f});
  EXPECT_OK(ScalarElement::Load(number.view(), DType::kInt32));
  EXPECT_FALSE(ScalarElement::Load(number.view(), DType::kComplex32).ok());
}

TEST(TensorListTest, NoneIsAllowedInOptionalLists) {
  EValue none, number = int64_t{3};
  EValue* const slots[] = {&none, &number, nullptr};
  const ListView list{slots};
  ASSERT_OK_AND_ASSIGN(const TensorView* optional, OptionalListTensor(list, 0));
  EXPECT_EQ(optional, nullptr);
  EXPECT_THAT(ListTensor(list, 0),
              StatusIs(kInvalid, "element 0 of the list: expected tensor, got none"));
  EXPECT_THAT(ListTensor(list, 1),
              StatusIs(kInvalid, "element 1 of the list: expected tensor, got int"));
  EXPECT_THAT(OptionalListTensor(list, 2),
              StatusIs(kInvalid, "element 2 of the list: expected tensor, got nothing"));
}

}  // namespace
}  // namespace belay
