#include "runtime/kernels/packed/quantized_weights.h"

#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace belay {
namespace {

// Never zero, to distinguish elements from padding.
int8_t Nonzero(int64_t i) { return static_cast<int8_t>(i % 127 + 1); }

TEST(QuantizedWeightsTest, MatrixHasVnni4Panels) {
  constexpr int64_t kTaps = 2, kRows = 6, kColumns = 19;
  std::vector<int8_t> b(kTaps * kRows * kColumns);
  for (size_t i = 0; i < b.size(); ++i) b[i] = Nonzero(static_cast<int64_t>(i));
  ASSERT_EQ(PackedQuantizedMatrixSize(kTaps, kRows, kColumns), 2 * 2 * 2 * 64);
  std::vector<int8_t> packed(2 * 2 * 2 * 64, -1);
  PackQuantizedMatrix(b.data(), kTaps, kRows, kColumns, kRows * kColumns, kColumns, 1,
                      packed.data());
  for (int64_t t = 0; t < kTaps; ++t) {
    for (int64_t p = 0; p < 8; ++p) {
      for (int64_t j = 0; j < 32; ++j) {
        const int64_t line = (j / 16 * kTaps + t) * 2 + p / 4;
        const int8_t want =
            p < kRows && j < kColumns ? Nonzero((t * kRows + p) * kColumns + j) : int8_t{0};
        EXPECT_EQ(packed[static_cast<size_t>(line * 64 + j % 16 * 4 + p % 4)], want)
            << t << "," << p << "," << j;
      }
    }
  }
}

TEST(QuantizedWeightsTest, PacksStridedMatrices) {
  const int8_t transposed[] = {1, 2, 3, 4, 5, 6};  // [n, k] = [3, 2]
  std::vector<int8_t> packed(64, -1);
  PackQuantizedMatrix(transposed, 1, 2, 3, 0, 1, 2, packed.data());
  const std::vector<int8_t> want = {1, 2, 0, 0, 3, 4, 0, 0, 5, 6, 0, 0, 0};
  EXPECT_EQ(std::vector<int8_t>(packed.begin(), packed.begin() + 13), want);
}

TEST(QuantizedWeightsTest, JoinsGroupsThatFillAPanel) {
  EXPECT_EQ(QuantizedJoinedGroups(32, 4), 4);
  EXPECT_EQ(QuantizedJoinedGroups(8, 16), 1);
  EXPECT_EQ(QuantizedJoinedGroups(8, 40), 1);
  EXPECT_EQ(QuantizedJoinedGroups(9, 8), 3);  // two do not divide the groups
  EXPECT_EQ(QuantizedJoinedGroups(7, 8), 7);
  EXPECT_EQ(QuantizedJoinedGroups(3, 2), 3);
  EXPECT_EQ(QuantizedJoinedGroups(17, 1), 1);
  EXPECT_EQ(QuantizedJoinedGroups(34, 1), 2);
}

// Two groups of 3 channels and 9 filters share a matrix, as do the other two.
TEST(QuantizedWeightsTest, GroupsAreBlocksOfJoinedMatrices) {
  constexpr int64_t kTaps = 2, kGroups = 4, kChannels = 3, kFilters = 9;
  std::vector<int8_t> b(kGroups * kFilters * kTaps * kChannels);
  for (size_t i = 0; i < b.size(); ++i) b[i] = Nonzero(static_cast<int64_t>(i));
  constexpr int64_t kMatrix = 2 * kTaps * 2 * 64;
  ASSERT_EQ(PackedQuantizedGroupsSize(kTaps, kGroups, kChannels, kFilters), 2 * kMatrix);
  std::vector<int8_t> packed(2 * kMatrix, -1);
  PackQuantizedGroups(b.data(), kTaps, kGroups, kChannels, kFilters, packed.data());
  for (int64_t matrix = 0; matrix < 2; ++matrix) {
    for (int64_t t = 0; t < kTaps; ++t) {
      for (int64_t p = 0; p < 8; ++p) {
        for (int64_t j = 0; j < 32; ++j) {
          const int64_t line = (j / 16 * kTaps + t) * 2 + p / 4;
          const bool own = j < 2 * kFilters && p / kChannels == j / kFilters;
          const int64_t filter = matrix * 2 * kFilters + j;
          const int8_t want =
              own ? Nonzero((filter * kTaps + t) * kChannels + p % kChannels) : int8_t{0};
          EXPECT_EQ(packed[static_cast<size_t>(matrix * kMatrix + line * 64 + j % 16 * 4 + p % 4)],
                    want)
              << matrix << "," << t << "," << p << "," << j;
        }
      }
    }
  }
}

TEST(QuantizedWeightsTest, DepthwiseHasInterleavedBlocksOf64Channels) {
  constexpr int64_t kChannels = 70, kHeight = 5, kWidth = 2;
  std::vector<int8_t> weight(kChannels * kHeight * kWidth);
  for (size_t i = 0; i < weight.size(); ++i) weight[i] = Nonzero(static_cast<int64_t>(i));
  ASSERT_EQ(PackedQuantizedDepthwiseSize(kChannels, kHeight, kWidth), 2 * 2 * 2 * 256);
  std::vector<int8_t> packed(2 * 2 * 2 * 256, -1);
  PackQuantizedDepthwise(weight.data(), kChannels, kHeight, kWidth, 1, kChannels, packed.data());
  for (int64_t c = 0; c < 128; ++c) {
    for (int64_t y = 0; y < 8; ++y) {
      for (int64_t x = 0; x < kWidth; ++x) {
        const int64_t group = (c / 64 * 2 + y / 4) * kWidth + x;
        const int64_t at = group * 256 + c % 16 / 4 * 64 + c % 64 / 16 * 16 + c % 4 * 4 + y % 4;
        const int8_t want =
            c < kChannels && y < kHeight ? Nonzero((y * kWidth + x) * kChannels + c) : int8_t{0};
        EXPECT_EQ(packed[static_cast<size_t>(at)], want) << c << "," << y << "," << x;
      }
    }
  }
}

TEST(QuantizedWeightsTest, SizeOverflowIsNullopt) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(PackedQuantizedMatrixSize(1, 0, 0), 0);
  EXPECT_EQ(PackedQuantizedGroupsSize(1, 0, 4, 4), std::nullopt);
  EXPECT_EQ(PackedQuantizedGroupsSize(1, 4, 4, 0), std::nullopt);
  EXPECT_EQ(PackedQuantizedGroupsSize(1, 4, -4, 4), std::nullopt);
  EXPECT_EQ(PackedQuantizedGroupsSize(1, 4, kMost, 4), std::nullopt);
  EXPECT_EQ(PackedQuantizedGroupsSize(int64_t{1} << 30, int64_t{1} << 30, 4, 16), std::nullopt);
  EXPECT_EQ(PackedQuantizedMatrixSize(1, 5, 0), 0);
  EXPECT_EQ(PackedQuantizedMatrixSize(-1, 4, 4), std::nullopt);
  EXPECT_EQ(PackedQuantizedMatrixSize(1, -4, 4), std::nullopt);
  EXPECT_EQ(PackedQuantizedMatrixSize(1, 4, -4), std::nullopt);
  EXPECT_EQ(PackedQuantizedMatrixSize(1, kMost, 1), std::nullopt);
  EXPECT_EQ(PackedQuantizedMatrixSize(1, 1, kMost), std::nullopt);
  EXPECT_EQ(PackedQuantizedMatrixSize(int64_t{1} << 31, int64_t{1} << 31, 1), std::nullopt);
  EXPECT_EQ(PackedQuantizedMatrixSize(1, int64_t{1} << 32, int64_t{1} << 30), int64_t{1} << 62);
  EXPECT_EQ(PackedQuantizedDepthwiseSize(kMost, 1, 1), std::nullopt);
  EXPECT_EQ(PackedQuantizedDepthwiseSize(1, kMost, kMost), std::nullopt);
  EXPECT_EQ(PackedQuantizedDepthwiseSize(1, 1, -1), std::nullopt);
  EXPECT_EQ(PackedQuantizedDepthwiseSize(1, -1, 1), std::nullopt);
  EXPECT_EQ(PackedQuantizedDepthwiseSize(-1, 1, 1), std::nullopt);
}

}  // namespace
}  // namespace belay
