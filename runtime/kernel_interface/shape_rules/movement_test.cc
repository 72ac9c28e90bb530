#include "runtime/kernel_interface/shape_rules/movement.h"

#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/shape_rules/test_call.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<Sizes> Cat(const std::vector<Sizes>& operands, int64_t dim) {
  CatShape<D> shape;
  for (const Sizes& sizes : operands) ABSL_RETURN_IF_ERROR(shape.Add(ToDims(sizes), dim));
  ABSL_ASSIGN_OR_RETURN(const Dims<D> dims, shape.Result());
  return ToSizes(dims);
}

TEST(CatTest, ConcatenatesAlongOneDimension) {
  EXPECT_EQ(*Cat({{2, 3}, {4, 3}}, 0), Sizes({6, 3}));
  EXPECT_EQ(*Cat({{2, 3}, {0}, {2, 1}}, -1), Sizes({2, 4}));
  EXPECT_EQ(*Cat({{0}, {0}}, 7), Sizes({0}));
  EXPECT_THAT(Cat({}, 0), StatusIs(kInvalid, "cat: expected at least one tensor"));
  EXPECT_THAT(Cat({{2}, {}}, 0), StatusIs(kInvalid, "cat: operand 1 is a scalar"));
  EXPECT_THAT(Cat({{2, 3}, {2, 4}}, 0),
              StatusIs(kInvalid,
                       "cat: operand 1 of shape [2,4] does not fit [2,3] along "
                       "dimension 0"));
  EXPECT_THAT(Cat({{2, 3}, {3}}, 0), StatusIs(kInvalid, HasSubstr("operand 1")));
  EXPECT_THAT(Cat({{2, 3}, {2, 3}}, 2), StatusIs(kRange));
}

TEST(MovementTest, RollHasOneShiftPerDimension) {
  const auto roll = [](const Sizes& sizes, const std::vector<int64_t>& shifts,
                       const std::vector<int64_t>& dims) {
    return ReadStatus<RollCall<K>>("self shifts dims", {Tensor(sizes), Ints(shifts), Ints(dims)});
  };
  EXPECT_OK(roll({3}, {1}, {}));
  EXPECT_THAT(roll({3}, {}, {}), StatusIs(kInvalid, "roll: 0 shifts for 0 dims"));
  EXPECT_THAT(roll({3}, {1, 2}, {0}), StatusIs(kInvalid, "roll: 2 shifts for 1 dims"));
  EXPECT_THAT(roll({}, {1}, {0}), StatusIs(kRange, HasSubstr("a scalar tensor")));
}

TEST(MovementTest, NegativeRepeatsOnlyForEmptyDimensions) {
  const auto repeat = [](const Sizes& sizes, const Sizes& repeats) {
    return RepeatedShape<D>(ToDims(sizes), ToDims(repeats));
  };
  EXPECT_EQ(*ToSizes(*repeat({3}, {2, 2})), Sizes({2, 6}));
  EXPECT_OK(repeat({0}, {-1}));
  EXPECT_THAT(repeat({3}, {-1}), StatusIs(kInvalid, HasSubstr("negative number in [-1]")));
  EXPECT_THAT(repeat({0}, {-1, 1}), StatusIs(kInvalid, HasSubstr("negative number")));
  EXPECT_THAT(repeat({3, 3}, {1}), StatusIs(kInvalid, HasSubstr("fewer than the dimensions")));
}

TEST(MovementTest, ChecksDimsAndVectors) {
  EXPECT_THAT(ReadStatus<FlipCall<K>>("self dims", {Tensor({3}), Ints({0, 0})}),
              StatusIs(kInvalid, HasSubstr("more than once")));
  EXPECT_THAT(ReadStatus<RepeatedIndicesCall<K>>("repeats output_size",
                                                 {Tensor({2, 3}, DType::kInt64), None()}),
              StatusIs(kInvalid, HasSubstr("repeats must be a vector, got rank 2")));
  EXPECT_THAT(ReadStatus<TriangleCall<K>>("self diagonal", {Tensor({3}), 0}),
              StatusIs(kInvalid, HasSubstr("expected at least 2 dimensions, got rank 1")));
  EXPECT_THAT(
      ReadStatus<PixelShuffleCall<K>>("self upscale_factor", {Tensor(Sizes(kMaxRank, 1)), 2}),
      StatusIs(kInvalid, HasSubstr("rank 18")));
}

}  // namespace
}  // namespace belay
