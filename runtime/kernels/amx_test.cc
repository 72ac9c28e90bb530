#include "runtime/kernels/amx.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay {
namespace {

constexpr size_t kLine = 64, kQuad = 4, kPanelColumns = 16;

class AmxTilesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasAmx()) GTEST_SKIP() << "untested: this CPU or system has no AMX";
  }
  std::mt19937_64 random_{TestSeed()};
};

TEST_F(AmxTilesTest, SumsAreExactForAllRowsLinesAndPanels) {
  std::uniform_int_distribution<int> byte(0, 255);
  for (size_t rows = 1; rows <= kAmxRows; ++rows) {
    for (size_t lines : {1, 15, 16, 17, 32, 45}) {
      const size_t depth = lines * kQuad, stride = depth + 3;
      std::vector<uint8_t> a(rows * stride);
      std::vector<int8_t> b(2 * lines * kLine);
      for (uint8_t& x : a) x = static_cast<uint8_t>(byte(random_));
      for (int8_t& x : b) x = static_cast<int8_t>(byte(random_) - 128);
      for (size_t panels : {1, 2}) {
        const int8_t* second = panels == 2 ? b.data() + lines * kLine : nullptr;
        constexpr int32_t kUntouched = 77;
        alignas(64) int32_t sums[kAmxRows * kAmxColumns];
        std::fill_n(sums, kAmxRows * kAmxColumns, kUntouched);
        {
          AmxTiles tiles(rows, lines % kAmxLines);
          for (int repeat = 0; repeat < 2; ++repeat) {  // The second one begins anew.
            tiles.Clear();
            for (size_t l = 0; l < lines; l += kAmxLines) {
              const int8_t* next = second == nullptr ? nullptr : second + l * kLine;
              if (lines - l >= kAmxLines) {
                tiles.Add(a.data() + l * kQuad, stride, b.data() + l * kLine, next);
              } else {
                tiles.AddLast(a.data() + l * kQuad, stride, b.data() + l * kLine, next);
              }
            }
          }
          tiles.Store(sums, panels == 2);
        }
        for (size_t r = 0; r < kAmxRows; ++r) {
          for (size_t j = 0; j < kAmxColumns; ++j) {
            int32_t want = kUntouched;
            if (r < rows && j < panels * kPanelColumns) {
              want = 0;
              for (size_t p = 0; p < depth; ++p) {
                const size_t panel = j / kPanelColumns * lines * kLine;
                want += a[r * stride + p] *
                        b[panel + p / kQuad * kLine + j % kPanelColumns * kQuad + p % kQuad];
              }
            }
            ASSERT_EQ(sums[r * kAmxColumns + j], want) << rows << " rows, " << lines << " lines, "
                                                       << panels << " panels, at " << r << "," << j;
          }
        }
      }
    }
  }
}

TEST_F(AmxTilesTest, KernelsUseItUnlessToldOtherwise) {
  EXPECT_TRUE(UsesAmx());
  SetUsesAmx(false);
  EXPECT_FALSE(UsesAmx());
  SetUsesAmx(true);
  EXPECT_TRUE(UsesAmx());
}

}  // namespace
}  // namespace belay
