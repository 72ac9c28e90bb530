#include "runtime/kernel_interface/shape_rules/slice.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/shape_rules/test_call.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

TEST(SliceTest, BoundsFollowPython) {
  const auto slice = [](std::optional<D> start, std::optional<D> end, int64_t step) {
    return Text(SliceRule<K>{0, step, start, end}.Apply(Dense({10, 2})));
  };
  EXPECT_EQ(slice(std::nullopt, std::nullopt, 1), "[10,2] [2,1] 0");
  EXPECT_EQ(slice(D(2), D(INT64_MAX), 3), "[3,2] [6,1] 4");
  EXPECT_EQ(slice(D(-3), D(-1), 1), "[2,2] [2,1] 14");
  EXPECT_EQ(slice(D(-30), D(30), 1), "[10,2] [2,1] 0");
  EXPECT_EQ(slice(D(5), D(2), 2), "[0,2] [4,1] 10");
  for (const int step : {0, -1}) {
    EXPECT_THAT((ReadStatus<SliceRule<K>>("dim start end step", {0, None(), None(), step})),
                StatusIs(kInvalid, absl::StrCat("slice: the step must be positive, got ", step)));
  }
  EXPECT_THAT(SliceRule<K>{}.Apply({}), StatusIs(kInvalid, "slice: a scalar has no dimensions"));
}

TEST(SliceTest, NarrowStaysInRange) {
  const auto narrow = [](D start, D length) {
    return NarrowRule<K>{0, start, length}.Apply(Dense({10}));
  };
  EXPECT_EQ(Text(narrow(2, 8)), "[8] [1] 2");
  EXPECT_EQ(Text(narrow(-3, 3)), "[3] [1] 7");
  EXPECT_EQ(Text(narrow(10, 0)), "[0] [1] 10");
  for (const auto& [start, length] :
       {std::pair(-11, 1), std::pair(0, -1), std::pair(11, 0), std::pair(3, 8)}) {
    EXPECT_THAT(narrow(start, length),
                StatusIs(kRange, absl::StrCat("narrow: start ", start, " and length ", length,
                                              " are out of range for size 10")));
  }
}

TEST(SliceTest, WindowsFitTheirDimension) {
  const auto unfold = [](const Sizes& sizes, int64_t window, int64_t step) {
    return UnfoldRule<K>{0, window, step}.Apply(Dense(sizes));
  };
  EXPECT_EQ(Text(unfold({10}, 3, 2)), "[4,3] [2,1] 0");
  EXPECT_EQ(Text(unfold({}, 1, 1)), "[1] [1] 0");
  EXPECT_THAT(unfold({10}, -1, 1), StatusIs(kInvalid, HasSubstr("window -1 with step 1")));
  EXPECT_THAT(unfold({10}, 3, 0), StatusIs(kInvalid, HasSubstr("window 3 with step 0")));
  EXPECT_THAT(unfold({10}, 11, 1), StatusIs(kInvalid, HasSubstr("does not fit size 10")));
  EXPECT_THAT(unfold(Sizes(kMaxRank, 1), 1, 1), StatusIs(kInvalid, HasSubstr("rank 17")));
}

TEST(SliceTest, DiagonalNeedsTwoDimensions) {
  EXPECT_EQ(Text(DiagonalRule<K>{1, 0, 1}.Apply(Dense({3, 4}))), "[3] [5] 1");
  EXPECT_EQ(Text(DiagonalRule<K>{-1, 0, 1}.Apply(Dense({3, 4}))), "[2] [5] 4");
  EXPECT_EQ(Text(DiagonalRule<K>{9, 0, 1}.Apply(Dense({3, 4}))), "[0] [5] 0");
  EXPECT_THAT(DiagonalRule<K>({0, 1, -1}).Apply(Dense({3, 4})),
              StatusIs(kInvalid, "diagonal: dim1 and dim2 are both dimension 1"));
  EXPECT_THAT(DiagonalRule<K>({0, 2, 0}).Apply(Dense({3, 4})), StatusIs(kRange));
}

TEST(SliceTest, PiecesAreCounted) {
  EXPECT_EQ(*PieceCount("split", D(kMaxPieces)), kMaxPieces);
  EXPECT_THAT(PieceCount("split", D(kMaxPieces + 1)),
              StatusIs(kInvalid, "split: 65537 results are above the limit of 65536"));
  EXPECT_THAT(PieceCount("split", D(-1)), StatusIs(kInvalid));
  EXPECT_THAT(PieceCount("split", Overflowed()),
              StatusIs(kInvalid, "split: the number of results, overflow, must not be symbolic"));
  EXPECT_EQ(*(SplitRule<K>{D(3), 0}.Count(Dense({10}))), 4);
  EXPECT_EQ(*(SplitRule<K>{D(0), 0}.Count(Dense({0}))), 1);
  EXPECT_THAT((SplitRule<K>{D(0), 0}.Count(Dense({10}))),
              StatusIs(kInvalid, "split: pieces of 0 do not divide size 10"));
  EXPECT_THAT((SplitRule<K>{D(-3), 0}.Count(Dense({10}))), StatusIs(kInvalid));
  EXPECT_THAT((SplitRule<K>{Overflowed(), 0}.Count(Dense({10}))), StatusIs(kInvalid));
  EXPECT_THAT((SplitRule<K>{D(3), 0}.Count({{Overflowed()}, {D(1)}, D(0)})), StatusIs(kInvalid));
}

// Formats the pieces into which `rule` splits [4,2], up to the piece at which `emit` fails.
template <class Rule>
std::string Pieces(const Rule& rule, const Sizes& sizes, int fails_at = -1) {
  std::string text;
  const absl::Status status =
      rule.ForEach(Dense(sizes), [&](int k, const StridedDims<D>& piece) -> absl::Status {
        if (k == fails_at) return absl::InternalError("stop");
        absl::StrAppend(&text, Text(piece), "; ");
        return absl::OkStatus();
      });
  return status.ok() ? text : absl::StrCat(text, FromAbsl(status.message()));
}

TEST(SliceTest, PiecesAreConsecutive) {
  EXPECT_EQ(Pieces(UnbindRule<K>{0}, {2, 3}), "[3] [1] 0; [3] [1] 3; ");
  EXPECT_EQ(Pieces(SplitRule<K>{D(2), 0}, {3, 2}), "[2,2] [2,1] 0; [1,2] [2,1] 4; ");
  const TestCall call("split_sizes dim", {Ints({1, 2}), 0});
  const auto rule = *call.Read<SplitWithSizesRule<K>>();
  EXPECT_EQ(Pieces(rule, {3, 2}), "[1,2] [2,1] 0; [2,2] [2,1] 2; ");
}

TEST(SliceTest, PiecesEndWithTheFirstError) {
  EXPECT_EQ(Pieces(UnbindRule<K>{0}, {2, 3}, 1), "[3] [1] 0; stop");
  EXPECT_EQ(Pieces(SplitRule<K>{D(2), 0}, {3, 2}, 1), "[2,2] [2,1] 0; stop");
  const TestCall call("split_sizes dim", {Ints({1, 2}), 0});
  const auto rule = *call.Read<SplitWithSizesRule<K>>();
  EXPECT_EQ(Pieces(rule, {3, 2}, 1), "[1,2] [2,1] 0; stop");
  EXPECT_EQ(Pieces(rule, {4, 2}), "split_with_sizes: the sizes sum to 3, not to 4");
  EXPECT_EQ(Pieces(SplitRule<K>{D(-1), 0}, {3}), "split: pieces of -1 do not divide size 3");
  EXPECT_EQ(Pieces(UnbindRule<K>{0}, {}), "unbind: a scalar has no dimensions");
  const TestCall negative("split_sizes dim", {Ints({4, -1}), 0});
  EXPECT_EQ(Pieces(*negative.Read<SplitWithSizesRule<K>>(), {3, 2}),
            "split_with_sizes: size 1 is negative: -1");
}

TEST(SliceTest, AsStridedRejectsNegativeValues) {
  const std::string names = "size stride storage_offset";
  EXPECT_OK((ReadStatus<AsStridedRule<K>>(names, {Ints({2, 3}), Ints({0, 1}), None()})));
  EXPECT_THAT((ReadStatus<AsStridedRule<K>>(names, {Ints({2, 3}), Ints({1}), None()})),
              StatusIs(kInvalid, "as_strided: 2 sizes and 1 strides"));
  EXPECT_THAT((ReadStatus<AsStridedRule<K>>(names, {Ints({-2}), Ints({1}), None()})),
              StatusIs(kInvalid, HasSubstr("must not be negative")));
  EXPECT_THAT((ReadStatus<AsStridedRule<K>>(names, {Ints({2}), Ints({-1}), None()})),
              StatusIs(kInvalid, HasSubstr("must not be negative")));
  EXPECT_THAT((ReadStatus<AsStridedRule<K>>(names, {Ints({2}), Ints({1}), -1})),
              StatusIs(kInvalid, HasSubstr("offset -1 must not be negative")));
}

}  // namespace
}  // namespace belay
