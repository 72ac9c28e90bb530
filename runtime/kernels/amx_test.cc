#include "runtime/kernels/amx.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay {
namespace {

constexpr size_t kPartColumns = 16;

// Draws numbers with exact products and sums.
template <class T>
T Drawn(std::mt19937_64& random) {
  if constexpr (sizeof(T) == 1) {
    return static_cast<T>(random());
  } else {
    return T(static_cast<float>(std::uniform_int_distribution<int>(-8, 8)(random)));
  }
}

class AmxTilesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasAmx()) GTEST_SKIP() << "untested: this CPU or system has no AMX";
  }
  std::mt19937_64 random_{TestSeed()};

  template <class T>
  void ExpectExactSums(size_t rows, size_t lines, size_t parts) {
    using Sum = typename AmxTiles<T>::Sum;
    using B = typename AmxTiles<T>::B;
    constexpr size_t kWord = 4 / sizeof(T);  // elements of A per line
    const size_t depth = lines * kWord, stride = depth + 3;
    std::vector<T> a(rows * stride);
    std::vector<B> b(2 * lines * kAmxLineStep);
    for (T& x : a) x = Drawn<T>(random_);
    for (B& x : b) x = Drawn<B>(random_);
    const B* second = parts == 2 ? b.data() + lines * kAmxLineStep : nullptr;
    constexpr Sum kUntouched = 77;
    alignas(64) Sum sums[kAmxRows * kAmxColumns];
    std::fill_n(sums, kAmxRows * kAmxColumns, kUntouched);
    {
      AmxTiles<T> tiles(rows, lines % kAmxLines);
      for (int repeat = 0; repeat < 2; ++repeat) {  // the second run clears the sums
        tiles.Clear();
        for (size_t l = 0; l < lines; l += kAmxLines) {
          const T* from = a.data() + l * kWord;
          const B* first = b.data() + l * kAmxLineStep;
          const B* next = second == nullptr ? nullptr : second + l * kAmxLineStep;
          if (lines - l >= kAmxLines) {
            tiles.Add(from, stride, first, next);
          } else {
            tiles.AddLast(from, stride, first, next);
          }
        }
      }
      tiles.Store(sums, parts == 2);
    }
    for (size_t r = 0; r < kAmxRows; ++r) {
      for (size_t j = 0; j < kAmxColumns; ++j) {
        Sum want = kUntouched;
        if (r < rows && j < parts * kPartColumns) {
          want = 0;
          for (size_t p = 0; p < depth; ++p) {
            const size_t part = j / kPartColumns * lines * kAmxLineStep;
            want += static_cast<Sum>(a[r * stride + p]) *
                    static_cast<Sum>(
                        b[part + p / kWord * kAmxLineStep + j % kPartColumns * kWord + p % kWord]);
          }
        }
        ASSERT_EQ(sums[r * kAmxColumns + j], want)
            << rows << " rows, " << lines << " lines, " << parts << " parts, at " << r << "," << j;
      }
    }
  }
};

TEST_F(AmxTilesTest, SumsAreExactForAllRowsLinesAndParts) {
  for (size_t rows = 1; rows <= kAmxRows; ++rows) {
    for (size_t lines : {1, 15, 16, 17, 32, 45}) {
      for (size_t parts : {1, 2}) {
        ExpectExactSums<uint8_t>(rows, lines, parts);
        ExpectExactSums<BFloat16>(rows, lines, parts);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(AmxTilesTest, KernelsUseAmxUnlessDisabled) {
  EXPECT_TRUE(UsesAmx());
  SetUsesAmx(false);
  EXPECT_FALSE(UsesAmx());
  SetUsesAmx(true);
  EXPECT_TRUE(UsesAmx());
}

}  // namespace
}  // namespace belay
