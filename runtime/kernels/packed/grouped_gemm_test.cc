// Grouped GEMM, of wide and of narrow groups, against double precision, in guarded memory.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/packed/exact_activation.h"
#include "runtime/kernels/packed/guarded_array.h"
#include "runtime/kernels/packed/narrow_groups.h"
#include "runtime/kernels/packed/packed_gemm.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Shape {
  size_t m, groups, k, n, taps;
};

struct Problem {
  Shape shape;
  bool narrow;
  GuardedFloats a, b, packed, bias, c, other;
  std::vector<const float*> pointers;

  // Rows of A tap by tap: [taps][m][groups * k]; B: [groups][taps * k][n]. C has `c_size` floats.
  Problem(const Shape& s, size_t c_size, std::mt19937_64& random)
      : shape(s),
        narrow(IsNarrowGroup(Int(s.groups), Int(s.k), Int(s.n))),
        a(s.taps * s.m * s.groups * s.k),
        b(s.groups * s.taps * s.k * s.n),
        packed(PackedSize()),
        bias(s.groups * s.n),
        c(c_size, kNan),
        other(c_size),
        pointers(kGroupRows * s.taps) {
    a.Fill(random);
    b.Fill(random);
    bias.Fill(random);
    other.Fill(random);
    const int64_t depth = Int(s.taps * s.k), n = Int(s.n), groups = Int(s.groups);
    if (!narrow) {
      PackGroups(b.data(), groups, depth, n, depth * n, n, 1, packed.data());
      return;
    }
    std::vector<float> filters;
    for (size_t o = 0; o < s.groups * s.n; ++o) {
      for (size_t p = 0; p < s.taps * s.k; ++p) {
        filters.push_back(b[(o / s.n * s.taps * s.k + p) * s.n + o % s.n]);
      }
    }
    PackDepthwise(filters.data(), groups * n, depth, depth, 1, packed.data());
  }
  static int64_t Int(size_t x) { return static_cast<int64_t>(x); }
  size_t PackedSize() const {
    const int64_t depth = Int(shape.taps * shape.k);
    return static_cast<size_t>(narrow ? *PackedDepthwiseSize(Int(shape.groups * shape.n), depth)
                                      : *PackedGroupsSize(Int(shape.groups), depth, Int(shape.n)));
  }

  static void RowPointers(const void* source, size_t first, size_t count, size_t tap, size_t taps,
                          const float** pointers) {
    Problem& p = *static_cast<Problem*>(const_cast<void*>(source));
    for (size_t t = 0; t < taps; ++t) {
      for (size_t i = 0; i < count; ++i) {
        pointers[t * count + i] =
            p.a.data() + ((tap + t) * p.shape.m + first + i) * p.shape.groups * p.shape.k;
      }
    }
  }

  PackedGemmArgs Args() {
    PackedGemmArgs g;
    g.m = shape.m;
    g.groups = shape.groups;
    g.k = shape.k;
    g.n = shape.n;
    g.taps = shape.taps;
    g.row_pointers = &RowPointers;
    g.source = this;
    g.pointers = pointers.data();
    g.b = packed.data();
    g.c = c.data();
    g.ldc = shape.groups * shape.n;
    g.epilogue.bias = bias.data();
    return g;
  }
  size_t columns() const {
    return narrow ? shape.groups * shape.n
                  : static_cast<size_t>(PackedGroupColumns(Int(shape.groups), Int(shape.n)));
  }
  size_t column_step() const {
    return static_cast<size_t>(narrow ? kDepthwiseChannels : kPanelColumns);
  }
  void Run(const PackedGemmArgs& g, size_t row, size_t end, size_t column, size_t last) const {
    (narrow ? NarrowGroupsRange : PackedGemmRange)(g, row, end, column, last);
  }

  // Row i, column j of C before other and activation, and the sum of absolute products.
  double Sum(size_t i, size_t j, double* magnitude) {
    const size_t group = j / shape.n;
    double sum = bias[j];
    *magnitude = std::abs(sum);
    for (size_t t = 0; t < shape.taps; ++t) {
      for (size_t p = 0; p < shape.k; ++p) {
        const double x = double{a[((t * shape.m + i) * shape.groups + group) * shape.k + p]} *
                         b[((group * shape.taps + t) * shape.k + p) * shape.n + j % shape.n];
        sum += x;
        *magnitude += std::abs(x);
      }
    }
    return sum;
  }
};

class GroupedGemmTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_OK(UseInstructionSet(GetParam())); }
  void TearDown() override { ASSERT_OK(UseInstructionSet(InstructionSets().front())); }
  std::mt19937_64 random_{TestSeed()};
};

std::vector<Shape> Shapes() {
  std::vector<Shape> shapes;
  for (size_t m : {1, 3, 5, 12, 13, 29}) {
    for (size_t groups : {2, 3, 5, 16}) {
      for (size_t k : {1, 2, 3, 4, 8, 16, 17}) {
        for (size_t n : {1, 2, 3, 4, 8, 12, 16, 17, 40}) {
          if (k * n > 200 && (m > 13 || groups > 3)) continue;  // slow, and nothing new
          shapes.push_back({m, groups, k, n, 3});
        }
      }
    }
  }
  shapes.push_back({kGroupRows + 7, 3, 4, 4, 2});
  shapes.push_back({kGroupRows + 7, 3, 16, 16, 2});
  shapes.push_back({14, 2, kBlockDepth + 1, 16, 1});
  shapes.push_back({14, 2, 700, 33, 5});
  shapes.push_back({4, 20, 0, 5, 1});
  return shapes;
}

TEST_P(GroupedGemmTest, MatchDoublePrecision) {
  for (const Shape& s : Shapes()) {
    Problem p(s, s.m * s.groups * s.n, random_);
    p.Run(p.Args(), 0, s.m, 0, p.columns());
    for (size_t i = 0; i < s.m; ++i) {
      for (size_t j = 0; j < s.groups * s.n; ++j) {
        double magnitude = 0;
        const double want = p.Sum(i, j, &magnitude);
        ASSERT_NEAR(p.c[i * s.groups * s.n + j], want,
                    (static_cast<double>(s.taps * s.k) + 4) * 0x1p-24 * magnitude)
            << s.m << " rows, " << s.groups << " groups of " << s.k << " by " << s.n << " at " << i
            << "," << j;
      }
    }
  }
}

TEST_P(GroupedGemmTest, AnyDivisionGivesTheSameBits) {
  for (const Shape& s : {Shape{29, 5, 4, 8, 2}, Shape{29, 37, 1, 1, 3}, Shape{29, 5, 16, 16, 2},
                         Shape{29, 3, 9, 40, 2}}) {
    Problem p(s, s.m * s.groups * s.n, random_);
    const PackedGemmArgs g = p.Args();
    p.Run(g, 0, s.m, 0, p.columns());
    const std::vector<float> whole(p.c.data(), p.c.data() + p.c.size());
    for (size_t row = 0; row <= s.m; row += 7) {
      for (size_t column = 0; column < p.columns(); column += p.column_step()) {
        std::fill_n(p.c.data(), p.c.size(), kNan);
        p.Run(g, 0, row, 0, column);
        p.Run(g, row, s.m, 0, column);
        p.Run(g, 0, row, column, p.columns());
        p.Run(g, row, s.m, column, p.columns());
        ASSERT_EQ(std::memcmp(whole.data(), p.c.data(), whole.size() * sizeof(float)), 0);
      }
    }
  }
}

// Rows of C in runs of 5, with gaps that keep their elements.
TEST_P(GroupedGemmTest, RunsOfRows) {
  constexpr size_t kRun = 5, kGap = 3;
  for (const Shape& s : {Shape{23, 1, 7, 37, 2}, Shape{23, 1, 2 * kBlockDepth, 37, 1},
                         Shape{23, 3, 16, 16, 2}, Shape{23, 3, 20, 40, 2}, Shape{23, 5, 4, 8, 2}}) {
    for (int combine : {0, 1, 2}) {
      const size_t columns = s.groups * s.n, ldc = columns + 2, step = kRun * ldc + kGap;
      const auto place = [&](size_t i) { return i / kRun * step + i % kRun * ldc; };
      Problem p(s, place(s.m - 1) + columns, random_);
      PackedGemmArgs g = p.Args();
      g.ldc = ldc;
      g.run = kRun;
      g.run_step = step;
      if (combine != 0) g.epilogue.other = p.other.data();
      g.epilogue.multiply = combine == 2;
      g.epilogue.activation = combine == 2 ? Activation::kHardswish : Activation::kNone;
      p.Run(g, 0, s.m, 0, p.columns());
      std::vector<bool> written(p.c.size());
      for (size_t i = 0; i < s.m; ++i) {
        for (size_t j = 0; j < columns; ++j) {
          written[place(i) + j] = true;
          double magnitude = 0;
          double want = p.Sum(i, j, &magnitude);
          const double other = p.other[place(i) + j];
          if (combine == 1) want += other, magnitude += std::abs(other);
          if (combine == 2) want = ExactActivation(Activation::kHardswish, want) * other;
          ASSERT_NEAR(p.c[place(i) + j], want,
                      (static_cast<double>(s.taps * s.k) + 8) * 0x1p-22 * (magnitude + 1))
              << s.groups << " groups at " << i << "," << j << ", combine " << combine;
        }
      }
      for (size_t i = 0; i < p.c.size(); ++i) ASSERT_EQ(std::isnan(p.c[i]), !written[i]) << i;
    }
  }
}

// Infinities and NaN do not spread to other groups.
TEST_P(GroupedGemmTest, InfinitiesStayInTheirGroup) {
  for (const Shape& s : {Shape{5, 4, 4, 4, 2}, Shape{5, 4, 16, 16, 2}, Shape{5, 4, 3, 5, 2}}) {
    Problem p(s, s.m * s.groups * s.n, random_);
    p.a[(1 * s.groups + 2) * s.k] = std::numeric_limits<float>::infinity();  // row 1, group 2
    p.Run(p.Args(), 0, s.m, 0, p.columns());
    for (size_t i = 0; i < s.m; ++i) {
      for (size_t j = 0; j < s.groups * s.n; ++j) {
        EXPECT_EQ(std::isfinite(p.c[i * s.groups * s.n + j]), i != 1 || j / s.n != 2);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, GroupedGemmTest, testing::ValuesIn(InstructionSets()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace belay
