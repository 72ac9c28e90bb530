#include "runtime/kernel_interface/shape_rules/factorization.h"

#include <cstdint>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/shape_rules/test_call.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

absl::Status System(const Sizes& a, const Sizes& b, bool left) {
  return CheckShapesOf<TriangularCall<K>>("self B upper left unitriangular",
                                          {Tensor(a), Tensor(b), true, left, false});
}

TEST(SystemTest, SidesMatchASquareMatrix) {
  EXPECT_OK(System({2, 3, 3}, {2, 3, 5}, true));
  EXPECT_OK(System({2, 3, 3}, {2, 5, 3}, false));
  EXPECT_THAT(System({2, 3, 3}, {2, 5, 3}, true),
              StatusIs(kInvalid,
                       "a system of shape [2,3,3] does not fit right hand sides of shape "
                       "[2,5,3]"));
  EXPECT_THAT(System({2, 3, 3}, {2, 3, 5}, false), StatusIs(kInvalid, HasSubstr("does not fit")));
  EXPECT_THAT(System({2, 3, 3}, {4, 3, 3}, true), StatusIs(kInvalid, HasSubstr("does not fit")));
  EXPECT_THAT(System({3, 3}, {3}, true), StatusIs(kInvalid, HasSubstr("does not fit")));
  EXPECT_THAT(System({3, 4}, {3, 4}, true),
              StatusIs(kInvalid, "expected square matrices, got shape [3,4]"));
  EXPECT_THAT(System({3}, {3}, true), StatusIs(kInvalid, HasSubstr("expected square matrices")));
}

absl::Status LuSolve(const Sizes& lu, const Sizes& pivots, const Sizes& b) {
  return CheckShapesOf<LuSolveCall<K>>(
      "LU pivots B left adjoint",
      {Tensor(lu), Tensor(pivots, DType::kInt32), Tensor(b), true, false});
}

TEST(LuSolveTest, OnePivotPerRow) {
  EXPECT_OK(LuSolve({2, 3, 3}, {2, 3}, {2, 3, 1}));
  EXPECT_THAT(LuSolve({2, 3, 3}, {2, 4}, {2, 3, 1}),
              StatusIs(kInvalid,
                       "pivots of shape [2,4] do not belong to matrices of shape "
                       "[2,3,3]"));
  EXPECT_THAT(LuSolve({2, 3, 3}, {3}, {2, 3, 1}), StatusIs(kInvalid, HasSubstr("do not belong")));
  EXPECT_THAT(LuSolve({2, 3, 3}, {4, 3}, {2, 3, 1}),
              StatusIs(kInvalid, HasSubstr("do not belong")));
  EXPECT_THAT(LuSolve({3, 4}, {3}, {3, 1}), StatusIs(kInvalid, HasSubstr("square")));
}

TEST(QrTest, HasThreeModes) {
  EXPECT_EQ(*ParseQrMode("reduced"), QrMode::kReduced);
  EXPECT_EQ(*ParseQrMode("complete"), QrMode::kComplete);
  EXPECT_EQ(*ParseQrMode("r"), QrMode::kOnlyR);
  EXPECT_THAT(ReadStatus<QrCall<K>>("A mode", {Tensor({3, 3}), "raw"}),
              StatusIs(kInvalid, "mode: expected reduced, complete or r"));
}

TEST(EighTest, TriangleNamesAreCaseInsensitive) {
  for (const char* name : {"U", "u", "L", "l"}) {
    const TestCall call("A UPLO compute_v", {Tensor({3, 3}), name, true});
    ASSERT_OK_AND_ASSIGN(const EighCall<K> read, call.Read<EighCall<K>>());
    EXPECT_EQ(read.upper, *name == 'U' || *name == 'u');
  }
  EXPECT_THAT(ReadStatus<EighCall<K>>("A UPLO compute_v", {Tensor({3, 3}), "X", true}),
              StatusIs(kInvalid, "UPLO: expected L or U"));
  EXPECT_THAT(ShapeOf<EighCall<K>>("A UPLO compute_v", {Tensor({3, 4}), "L", true}),
              StatusIs(kInvalid, HasSubstr("square")));
}

TEST(MatricesTest, HaveAtLeastTwoDimensions) {
  EXPECT_THAT(ShapeOf<SvdCall<K>>("A full_matrices compute_uv", {Tensor({3}), true, true}),
              StatusIs(kInvalid, "expected matrices, got shape [3]"));
  EXPECT_OK(ShapeOf<SvdCall<K>>("A full_matrices compute_uv", {Tensor({2, 3}), true, true}));
  EXPECT_THAT(CheckShapesOf<MatrixExpCall<K>>("self", {Tensor({2, 3})}),
              StatusIs(kInvalid, HasSubstr("square")));
}

}  // namespace
}  // namespace belay
