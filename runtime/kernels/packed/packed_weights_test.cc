#include "runtime/kernels/packed/packed_weights.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/packed/epilogue.h"

namespace belay {
namespace {

TEST(PackedWeightsTest, MatrixHasPanelsOf32Columns) {
  constexpr int64_t kRows = 3, kColumns = 35;
  std::vector<float> b(kRows * kColumns);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i + 1);
  ASSERT_EQ(PackedMatrixSize(kRows, kColumns), 2 * 3 * 32);
  std::vector<float> packed(2 * 3 * 32, -1);
  PackMatrix(b.data(), kRows, kColumns, kColumns, 1, packed.data());
  for (int64_t panel = 0; panel < 2; ++panel) {
    for (int64_t p = 0; p < kRows; ++p) {
      for (int64_t j = 0; j < 32; ++j) {
        const int64_t column = panel * 32 + j;
        const float want = column < kColumns ? b[static_cast<size_t>(p * kColumns + column)] : 0.0f;
        EXPECT_EQ(packed[static_cast<size_t>((panel * kRows + p) * 32 + j)], want);
      }
    }
  }
}

TEST(PackedWeightsTest, TwoNarrowGroupsShareAPanel) {
  constexpr int64_t kGroups = 3, kRows = 2, kColumns = 5;
  std::vector<float> b(kGroups * kRows * kColumns);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i + 1);
  ASSERT_EQ(PackedGroupsSize(kGroups, kRows, kColumns), 2 * 2 * 32);
  EXPECT_EQ(PackedGroupColumns(kGroups, kColumns), 64);
  std::vector<float> packed(2 * 2 * 32, -1);
  PackGroups(b.data(), kGroups, kRows, kColumns, kRows * kColumns, kColumns, 1, packed.data());
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t p = 0; p < kRows; ++p) {
      for (int64_t j = 0; j < 16; ++j) {
        const bool is = i < kGroups && j < kColumns;
        EXPECT_EQ(packed[static_cast<size_t>((i / 2 * kRows + p) * 32 + i % 2 * 16 + j)],
                  is ? b[static_cast<size_t>((i * kRows + p) * kColumns + j)] : 0.0f);
      }
    }
  }
}

TEST(PackedWeightsTest, WideGroupsAreMatrices) {
  constexpr int64_t kGroups = 2, kRows = 3, kColumns = 40;
  std::vector<float> b(kGroups * kRows * kColumns);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i + 1);
  ASSERT_EQ(PackedGroupsSize(kGroups, kRows, kColumns), 2 * 2 * 3 * 32);
  EXPECT_EQ(PackedGroupColumns(kGroups, kColumns), 128);
  std::vector<float> packed(2 * 2 * 3 * 32, -1), second(2 * 3 * 32);
  PackGroups(b.data(), kGroups, kRows, kColumns, kRows * kColumns, kColumns, 1, packed.data());
  PackMatrix(b.data() + kRows * kColumns, kRows, kColumns, kColumns, 1, second.data());
  EXPECT_TRUE(std::equal(second.begin(), second.end(), packed.begin() + 2 * 3 * 32));
  // One group is a matrix.
  EXPECT_EQ(PackedGroupsSize(1, kRows, 5), PackedMatrixSize(kRows, 5));
  EXPECT_EQ(PackedGroupColumns(1, 5), 5);
  EXPECT_EQ(PackedGroupsSize(0, kRows, 5), std::nullopt);
  EXPECT_EQ(PackedGroupsSize(int64_t{1} << 60, 8, 1), std::nullopt);
  EXPECT_EQ(PackedGroupsSize(int64_t{1} << 40, 8, int64_t{1} << 40), std::nullopt);
}

TEST(PackedWeightsTest, PairsHaveVnni2Layout) {
  constexpr int64_t kRows = 4, kColumns = 35;
  std::vector<BFloat16> b, transposed(kRows * kColumns, BFloat16(0.0f));
  for (int i = 0; i < kRows * kColumns; ++i) b.push_back(BFloat16(static_cast<float>(i + 1)));
  for (int64_t p = 0; p < kRows; ++p) {
    for (int64_t j = 0; j < kColumns; ++j) {
      transposed[static_cast<size_t>(j * kRows + p)] = b[static_cast<size_t>(p * kColumns + j)];
    }
  }
  ASSERT_EQ(PackedVnni2Size(kRows, kColumns), 2 * 4 * 32);
  std::vector<BFloat16> packed(2 * 4 * 32, BFloat16(-1.0f)), again = packed;
  PackVnni2(b.data(), kRows, kColumns, kColumns, 1, packed.data());
  PackVnni2(transposed.data(), kRows, kColumns, 1, kRows, again.data());
  for (int64_t panel = 0; panel < 2; ++panel) {
    for (int64_t p = 0; p < kRows; ++p) {
      for (int64_t j = 0; j < 32; ++j) {
        const int64_t column = panel * 32 + j;
        const float want = column < kColumns ? b[static_cast<size_t>(p * kColumns + column)] : 0.0f;
        const auto at = static_cast<size_t>(((panel * 2 + p / 2) * 32 + j) * 2 + p % 2);
        EXPECT_EQ(packed[at], want);
        EXPECT_EQ(again[at], want);
      }
    }
  }
}

TEST(PackedWeightsTest, PairsOfNarrowGroupsShareAPanel) {
  constexpr int64_t kGroups = 3, kRows = 4, kColumns = 5;
  std::vector<BFloat16> b;
  for (int i = 0; i < kGroups * kRows * kColumns; ++i) {
    b.push_back(BFloat16(static_cast<float>(i + 1)));
  }
  std::vector<BFloat16> packed(2 * kRows * 32, BFloat16(-1.0f));
  ASSERT_EQ(PackedGroupsSize(kGroups, kRows, kColumns), 2 * kRows * 32);
  PackVnni2Groups(b.data(), kGroups, kRows, kColumns, kRows * kColumns, kColumns, 1, packed.data());
  for (int64_t panel = 0; panel < 2; ++panel) {
    for (int64_t p = 0; p < kRows; ++p) {
      for (int64_t j = 0; j < 32; ++j) {
        const int64_t group = 2 * panel + j / 16, column = j % 16;
        const float want = group < kGroups && column < kColumns
                               ? b[static_cast<size_t>((group * kRows + p) * kColumns + column)]
                               : 0.0f;
        const auto at = static_cast<size_t>(((panel * 2 + p / 2) * 32 + j) * 2 + p % 2);
        EXPECT_EQ(packed[at], want) << panel << "," << p << "," << j;
      }
    }
  }
}

TEST(PackedWeightsTest, PairsRejectOddDepth) {
  EXPECT_EQ(PackedVnni2Size(3, 4), std::nullopt);
  EXPECT_EQ(PackedVnni2Size(-2, 4), std::nullopt);
  EXPECT_EQ(PackedVnni2Size(0, 4), 0);
  EXPECT_EQ(PackedVnni2Size(std::numeric_limits<int64_t>::max() - 1, 4), std::nullopt);
}

TEST(PackedWeightsTest, PacksStridedMatrices) {
  const float transposed[] = {1, 2, 3, 4, 5, 6};  // [n, k] = [3, 2]
  std::vector<float> packed(2 * 32);
  PackMatrix(transposed, 2, 3, 1, 2, packed.data());
  EXPECT_EQ(packed[0], 1);
  EXPECT_EQ(packed[1], 3);
  EXPECT_EQ(packed[2], 5);
  EXPECT_EQ(packed[3], 0);
  EXPECT_EQ(packed[32], 2);
}

TEST(PackedWeightsTest, DepthwiseHasBlocksOf16Channels) {
  constexpr int64_t kChannels = 18, kTaps = 2;
  std::vector<float> weight(kChannels * kTaps);
  for (size_t i = 0; i < weight.size(); ++i) weight[i] = static_cast<float>(i + 1);
  ASSERT_EQ(PackedDepthwiseSize(kChannels, kTaps), 2 * 2 * 16);
  std::vector<float> packed(64, -1);
  PackDepthwise(weight.data(), kChannels, kTaps, kTaps, 1, packed.data());
  for (int64_t c = 0; c < 32; ++c) {
    for (int64_t t = 0; t < kTaps; ++t) {
      const float want = c < kChannels ? weight[static_cast<size_t>(c * kTaps + t)] : 0.0f;
      EXPECT_EQ(packed[static_cast<size_t>((c / 16 * kTaps + t) * 16 + c % 16)], want);
    }
  }
}

TEST(PackedWeightsTest, SizeOverflowIsNullopt) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(PackedMatrixSize(0, 0), 0);
  EXPECT_EQ(PackedMatrixSize(5, 0), 0);
  EXPECT_EQ(PackedMatrixSize(-1, 4), std::nullopt);
  EXPECT_EQ(PackedMatrixSize(4, -1), std::nullopt);
  EXPECT_EQ(PackedMatrixSize(kMost, 1), std::nullopt);
  EXPECT_EQ(PackedMatrixSize(1, kMost), std::nullopt);
  EXPECT_EQ(PackedMatrixSize(int64_t{1} << 32, int64_t{1} << 29), std::nullopt);
  EXPECT_EQ(PackedMatrixSize(int64_t{1} << 32, int64_t{1} << 28), int64_t{1} << 60);
  EXPECT_EQ(PackedDepthwiseSize(kMost, 1), std::nullopt);
}

TEST(EpilogueTest, ActivationsHaveNames) {
  EXPECT_EQ(ActivationOf("none"), Activation::kNone);
  EXPECT_EQ(ActivationOf("gelu_tanh"), Activation::kGeluTanh);
  EXPECT_EQ(ActivationOf("relu"), std::nullopt);
  EXPECT_EQ(ActivationNames(),
            "none, sigmoid, tanh, hardsigmoid, hardswish, silu, gelu, gelu_tanh");
}

}  // namespace
}  // namespace belay
