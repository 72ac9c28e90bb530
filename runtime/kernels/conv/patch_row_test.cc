#include "runtime/kernels/conv/patch_row.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/packed/guarded_array.h"

namespace belay {
namespace {

class PatchRowTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_OK(UseInstructionSet(GetParam())); }
  void TearDown() override { ASSERT_OK(UseInstructionSet(InstructionSets().front())); }
  std::mt19937_64 random_{TestSeed()};

  // Packs panels of `stride` columns from memory that is inaccessible on one side, and expects
  // panel[p * stride + j] = patch matrix [p, first + j].
  void Check(const ConvGeometry& g, size_t stride, bool channels_innermost, GuardedSide side) {
    const auto columns = static_cast<size_t>(g.out_plane());
    const auto rows = static_cast<size_t>(g.patch());
    GuardedArray<float> image(static_cast<size_t>(g.channels * g.plane()), 0, side);
    image.Fill(random_);
    const PatchSource source = {&g, image.data(), channels_innermost};
    for (size_t first = 0; first < columns; first += stride) {
      const size_t count = std::min(stride, columns - first);
      GuardedArray<float> panel(rows * stride, -1, side);
      PackPatches(&source, first, count, stride, panel.data());
      for (size_t p = 0; p < rows; ++p) {
        for (size_t j = 0; j < count; ++j) {
          ASSERT_EQ(panel[p * stride + j],
                    Element(source, static_cast<int64_t>(p), static_cast<int64_t>(first + j)))
              << "width " << g.size[2] << ", stride " << g.stride[2] << ", padding " << g.padding[2]
              << ", row " << p << ", column " << first + j;
        }
      }
    }
  }

 private:
  static float Element(const PatchSource& source, int64_t row, int64_t column) {
    const ConvGeometry& g = *source.g;
    const int64_t channel = source.channels_innermost ? row % g.group_channels() : row / g.taps();
    const int64_t tap = source.channels_innermost ? row / g.group_channels() : row % g.taps();
    const int64_t k[3] = {tap / g.kernel[2] / g.kernel[1], tap / g.kernel[2] % g.kernel[1],
                          tap % g.kernel[2]};
    const int64_t at[3] = {column / g.out[2] / g.out[1], column / g.out[2] % g.out[1],
                           column % g.out[2]};
    int64_t offset = channel;
    for (int d = 0; d < 3; ++d) {
      const int64_t position = at[d] * g.stride[d] + g.shift(d, k[d]);
      if (position < 0 || position >= g.size[d]) return 0;
      offset = offset * g.size[d] + position;
    }
    return source.image[offset];
  }
};

ConvGeometry GeometryOf(int64_t channels, int64_t depth, int64_t height, int64_t width,
                        int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
  ConvGeometry g;
  g.channels = g.filters = channels;
  const int64_t sizes[] = {depth, height, width};
  for (int d = 0; d < 3; ++d) {
    g.size[d] = sizes[d];
    if (sizes[d] > 1 || d == 2) {
      g.kernel[d] = kernel;
      g.stride[d] = stride;
      g.padding[d] = padding;
      g.dilation[d] = dilation;
    }
    g.out[d] =
        (g.size[d] + 2 * g.padding[d] - (g.kernel[d] - 1) * g.dilation[d] - 1) / g.stride[d] + 1;
  }
  return g;
}

TEST_P(PatchRowTest, RowsOfEveryWidth) {
  for (int64_t width = 1; width <= 40; ++width) {
    for (const int64_t stride : {1, 2, 3}) {
      for (const int64_t padding : {0, 1, 5}) {
        if (width + 2 * padding < 3) continue;
        for (const bool channels_innermost : {false, true}) {
          for (const GuardedSide side : {GuardedSide::kEnd, GuardedSide::kBegin}) {
            Check(GeometryOf(3, 1, 4, width, 3, stride, padding, 1), 32, channels_innermost, side);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST_P(PatchRowTest, VolumesDilationsAndNarrowPanels) {
  for (const size_t columns : {1, 8, 15, 16, 17, 32, 64}) {
    for (const int64_t dilation : {1, 2, 4}) {
      Check(GeometryOf(2, 3, 5, 19, 3, 1, 4, dilation), columns, false, GuardedSide::kEnd);
      Check(GeometryOf(5, 2, 6, 23, 2, 2, 2, dilation), columns, true, GuardedSide::kBegin);
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, PatchRowTest, testing::ValuesIn(InstructionSets()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace belay
