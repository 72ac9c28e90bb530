#include "executorch/reader/prim_kernels.h"

#include <vector>

#include "executorch/reader/testing/pte_builder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/core/testing.h"
#include "runtime/executor/method.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::pte {
namespace {

using ::testing::ElementsAre;

KernelRegistry Kernels() {
  KernelRegistry kernels;
  EXPECT_OK(AddReferenceKernels(kernels));
  EXPECT_OK(kernels.Add(PrimKernels()));
  return kernels;
}

// Computes `op` of two ints, or of a float.
absl::StatusOr<int64_t> Compute(const std::string& name, const std::string& overload,
                                std::vector<belay::EValue> numbers) {
  PteBuilder pte;
  std::vector<int32_t> args;
  for (const belay::EValue& number : numbers) {
    const int64_t* i = number.get_if<int64_t>();
    args.push_back(i != nullptr ? pte.Int(*i) : pte.Double(*number.get_if<double>()));
  }
  const int32_t result = pte.Int(0);
  args.push_back(result);
  pte.Call("executorch_prim::" + name, overload, args);
  pte.Output(result);
  const KernelRegistry kernels = Kernels();
  const BackendRegistry backends;
  ABSL_ASSIGN_OR_RETURN(const belay::Program program, OpenPte(pte.Serialize()));
  ABSL_ASSIGN_OR_RETURN(Method method, Method::Load(program, "forward", kernels, backends));
  ABSL_RETURN_IF_ERROR(method.Execute());
  return *method.GetOutput(0).get_if<int64_t>();
}

belay::EValue I(int64_t value) { return belay::EValue(value); }

TEST(PrimKernelsTest, IntegerDivisionTruncates) {
  EXPECT_EQ(*Compute("floordiv", "int", {I(-7), I(3)}), -2);
  EXPECT_EQ(*Compute("floordiv", "Scalar", {I(-7), I(3)}), -3);  // as in Python
  EXPECT_EQ(*Compute("mod", "int", {I(-7), I(3)}), -1);
  EXPECT_EQ(*Compute("mod", "Scalar", {I(-7), I(3)}), -1);
  EXPECT_EQ(*Compute("mod", "int", {I(INT64_MIN), I(-1)}), 0);
  EXPECT_EQ(*Compute("mod", "int", {I(INT64_MIN), I(10)}), -8);
  EXPECT_EQ(*Compute("floordiv", "int", {I(INT64_MIN), I(2)}), INT64_MIN / 2);
  EXPECT_EQ(*Compute("floordiv", "int", {I(7), I(-1)}), -7);
  EXPECT_THAT(Compute("floordiv", "int", {I(INT64_MIN), I(-1)}),
              StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(Compute("floordiv", "int", {I(1), I(0)}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Compute("mod", "int", {I(1), I(0)}), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(PrimKernelsTest, RoundsHalvesToEven) {
  EXPECT_EQ(*Compute("round", "Scalar", {belay::EValue(2.5)}), 2);
  EXPECT_EQ(*Compute("round", "Scalar", {belay::EValue(3.5)}), 4);
  EXPECT_EQ(*Compute("round", "Scalar", {belay::EValue(-2.5)}), -2);
  EXPECT_THAT(Compute("round", "Scalar", {belay::EValue(1e30)}),
              StatusIs(absl::StatusCode::kOutOfRange));
}

// to[index] = from.
struct CopyIndex : PteBuilder {
  explicit CopyIndex(int64_t index, std::vector<int32_t> row = {2}) {
    tensor(to).shape_dynamism = TensorShapeDynamism::DYNAMIC_BOUND;
    const int32_t from = Constant(row, std::vector<float>(row.size() == 0 ? 1 : row[0], 7));
    Call("executorch_prim::et_copy_index", "tensor", {to, from, Int(index)});
    Output(to);
  }
  const int32_t to = Tensor({3, 2});

  absl::StatusOr<std::vector<float>> Execute() {
    const KernelRegistry kernels = Kernels();
    const BackendRegistry backends;
    ABSL_ASSIGN_OR_RETURN(const belay::Program program, OpenPte(Serialize()));
    ABSL_ASSIGN_OR_RETURN(Method method, Method::Load(program, "forward", kernels, backends));
    ABSL_RETURN_IF_ERROR(method.Execute());
    return ToVector<float>(*method.GetOutput(0).get_if<TensorView>());
  }
};

TEST(PrimKernelsTest, CopyIndexResizesToIndexPlusOneRows) {
  EXPECT_THAT(*CopyIndex(0).Execute(), ElementsAre(7, 7));
  EXPECT_THAT(*CopyIndex(2).Execute(), ElementsAre(0, 0, 0, 0, 7, 7));
}

TEST(PrimKernelsTest, CopyIndexRejectsMismatches) {
  EXPECT_THAT(CopyIndex(3).Execute(), StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(CopyIndex(-1).Execute(), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(CopyIndex(INT64_MAX).Execute(), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(CopyIndex(INT64_MAX - 1).Execute(), StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(CopyIndex(0, {3}).Execute(), StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(CopyIndex(0, {}).Execute(), StatusIs(absl::StatusCode::kInvalidArgument));
  CopyIndex dtype(0);
  dtype.tensor(dtype.to).scalar_type = 3;
  EXPECT_THAT(dtype.Execute(), StatusIs(absl::StatusCode::kInvalidArgument,
                                        ::testing::HasSubstr("expected a contiguous tensor of "
                                                             "float32")));
  CopyIndex order(0);
  order.tensor(order.to).dim_order = {1, 0};
  EXPECT_THAT(order.Execute(), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(PrimKernelsTest, RejectsScalarsOfWrongKind) {
  const auto real = belay::EValue(2.5);
  for (const std::string op : {"floordiv", "mod"}) {
    EXPECT_THAT(Compute(op, "int", {real, I(2)}), StatusIs(absl::StatusCode::kInvalidArgument));
    EXPECT_THAT(Compute(op, "int", {I(2), real}), StatusIs(absl::StatusCode::kInvalidArgument));
  }
}

// An empty row counts as a row.
TEST(PrimKernelsTest, CopyIndexOfEmptyRowResizes) {
  CopyIndex empty(1, {0});
  empty.tensor(empty.to).sizes = {3, 0};
  ASSERT_OK_AND_ASSIGN(const std::vector<float> elements, empty.Execute());
  EXPECT_THAT(elements, ElementsAre());
}

}  // namespace
}  // namespace belay::pte
