#include "runtime/kernel_interface/shape_rules/resample.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/shape_rules/test_call.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

TEST(ResampleTest, ScaledSizesMustFitInInt64) {
  EXPECT_EQ(ScaledSize(D(5), 1.5)->value(), 7);
  for (const double scale : {1e30, -1e30}) {
    EXPECT_THAT(ScaledSize(D(5), scale), StatusIs(kInvalid, "scale_factors: out of range"));
  }
  EXPECT_THAT(ScaledSize(D(5), std::nan("")), StatusIs(kInvalid));
  EXPECT_THAT(ScaledSize(Overflowed(), 1), StatusIs(kInvalid));
}

absl::StatusOr<Dims<D>> Image(const Dims<D>& patches, const Dims<D>& size,
                              const std::vector<int64_t>& kernel) {
  const std::vector<int64_t> one = {1, 1}, none = {0, 0};
  ABSL_ASSIGN_OR_RETURN(const PatchParams params, MakePatchParams(kernel, one, none, one));
  return Col2ImShape<D>(patches, size, params);
}

TEST(ResampleTest, PatchesMatchTheImage) {
  const std::vector<int64_t> two = {2, 2};
  EXPECT_EQ(*ToSizes(*Image(ToDims({12, 6}), ToDims({3, 4}), two)), Sizes({3, 3, 4}));
  EXPECT_EQ(*ToSizes(*Image(ToDims({5, 12, 6}), ToDims({3, 4}), two)), Sizes({5, 3, 3, 4}));
  for (const Sizes& empty : {Sizes({0, 6}), Sizes({12, 0})}) {
    EXPECT_THAT(Image(ToDims(empty), ToDims({3, 4}), two),
                StatusIs(kInvalid, HasSubstr("have no elements")));
  }
  const auto expect_misfit = [&](const Sizes& patches, const Sizes& size) {
    EXPECT_THAT(Image(ToDims(patches), ToDims(size), two),
                StatusIs(kInvalid, HasSubstr("do not belong to an image")));
  };
  expect_misfit({11, 6}, {3, 4});
  expect_misfit({12, 5}, {3, 4});
  expect_misfit({12, 2}, {9, 1});
  expect_misfit({12, 6}, {1, 4});
  EXPECT_THAT(Image(ToDims({12}), ToDims({3, 4}), two),
              StatusIs(kInvalid, HasSubstr("rank 2 or 3")));
  EXPECT_THAT(Image(ToDims({12, 6}), ToDims({3}), two),
              StatusIs(kInvalid, HasSubstr("two output sizes")));
  EXPECT_OK(Image({Overflowed(), D(6)}, ToDims({3, 4}), two));
  EXPECT_OK(Image({D(12), Overflowed()}, ToDims({3, 4}), two));
}

TEST(ResampleTest, ScalesMayBeMissing) {
  const TestCall call("self output_size scales_h scales_w",
                      {Tensor({1, 3, 8, 8}), Ints({4, 4}), None(), 0.5});
  ASSERT_OK_AND_ASSIGN(const UpsampleCall<K> read, call.Read<UpsampleCall<K>>());
  EXPECT_EQ(read.scales[0], std::nullopt);
  EXPECT_EQ(read.scales[1], 0.5);
}

TEST(ResampleTest, SizesOrScalesAreGiven) {
  const std::string names = "input output_size scale_factors";
  const EValue image = Tensor({1, 3, 8, 8});
  const TestArgument scales = std::vector<EValue>{1.5, 2.0};
  EXPECT_EQ(*ToSizes(*ShapeOf<UpsampleCall<K>>(names, {image, None(), scales})),
            Sizes({1, 3, 12, 16}));
  EXPECT_THAT(ReadStatus<UpsampleCall<K>>(names, {image, Ints({4, 4}), scales}),
              StatusIs(kInvalid, "upsample: expected one of output_size and scale_factors"));
  EXPECT_THAT(ReadStatus<UpsampleCall<K>>(names, {image, None(), None()}), StatusIs(kInvalid));
  EXPECT_THAT(ReadStatus<UpsampleCall<K>>(names, {Tensor({3, 8, 8}), None(), scales}),
              StatusIs(kInvalid, HasSubstr("an input of rank 4 and two scale factors")));
  EXPECT_THAT(ReadStatus<UpsampleCall<K>>(names, {image, None(), std::vector<EValue>{1.5}}),
              StatusIs(kInvalid, HasSubstr("an input of rank 4 and two scale factors")));
  EXPECT_THAT(
      ReadStatus<UpsampleCall<K>>(names, {image, None(), std::vector<EValue>{1.5, EValue()}}),
      StatusIs(kInvalid, HasSubstr("element 1 of the list is not a float")));
}

TEST(ResampleTest, ChecksSamplingModes) {
  const auto status = [](int interpolation, int padding) {
    return ReadStatus<GridSampleCall<K, 3>>(
        "input grid interpolation_mode padding_mode align_corners",
        {Tensor({1, 3, 4, 4, 4}), Tensor({1, 2, 2, 2, 3}), interpolation, padding, true});
  };
  EXPECT_OK(status(1, 2));
  EXPECT_THAT(status(2, 0), StatusIs(kInvalid, HasSubstr("interpolation_mode: expected a mode")));
  EXPECT_THAT(status(0, 3), StatusIs(kInvalid, HasSubstr("padding_mode: expected a mode")));
  EXPECT_THAT(status(-1, 0), StatusIs(kInvalid));
}

}  // namespace
}  // namespace belay
