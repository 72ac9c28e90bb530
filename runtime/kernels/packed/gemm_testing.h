// For tests of GEMMs with a prepacked right operand: problems of float and bfloat16, with expected
// results.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_GEMM_TESTING_H_
#define BELAY_RUNTIME_KERNELS_PACKED_GEMM_TESTING_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/packed/bfloat16_gemm.h"
#include "runtime/kernels/packed/guarded_array.h"
#include "runtime/kernels/packed/packed_gemm.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay {

// Operands of A B, all in guarded memory.
template <class T>
struct ProductProblem {
  static constexpr bool kPairs = sizeof(T) < sizeof(float);
  size_t m, n, k, taps;
  GuardedArray<T> a, b, packed, c, other, tile, copy;
  GuardedArray<float> widened;
  GuardedFloats bias;
  std::vector<const T*> pointers;
  bool widens = true;  // whether the arguments have `widened`

  // Elements are in [-2, 2); the result is initialized with NaN.
  ProductProblem(size_t m, size_t n, size_t k, size_t taps, std::mt19937_64& random)
      : m(m),
        n(n),
        k(k),
        taps(taps),
        a(m * taps * k),
        b(taps * k * n),
        packed(static_cast<size_t>(
            *PackedMatrixSize(static_cast<int64_t>(taps * k), static_cast<int64_t>(n)))),
        c(m * n, T(std::numeric_limits<float>::quiet_NaN())),
        other(m * n),
        tile(TileSize<T>(k, k)),
        copy(CopySize()),
        widened(WidenedFloats()),
        bias(n),
        pointers(kGroupRows * taps) {
    const auto fill = [&](auto& array) {
      std::uniform_real_distribution<float> numbers(-2, 2);
      for (size_t i = 0; i < array.size(); ++i) array[i] = T(numbers(random));
    };
    fill(a);
    fill(b);
    fill(other);
    bias.Fill(random);
    Pack();
  }
  size_t CopySize() const {
    if constexpr (!kPairs) return 0;
    return static_cast<size_t>(
        BFloat16CopySize(static_cast<int64_t>(k), static_cast<int64_t>(taps)).value());
  }
  size_t WidenedFloats() const {
    if constexpr (!kPairs) return 0;
    return static_cast<size_t>(
        WidenedSize(static_cast<int64_t>(k), static_cast<int64_t>(taps)).value());
  }
  // Must be called after B was changed.
  void Pack() {
    const auto rows = static_cast<int64_t>(taps * k), columns = static_cast<int64_t>(n);
    if constexpr (kPairs) {
      PackVnni2(b.data(), rows, columns, columns, 1, packed.data());
    } else {
      PackMatrix(b.data(), rows, columns, columns, 1, packed.data());
    }
  }

  // Rows of A are stored tap by tap: [taps][m][k].
  static void RowPointers(const void* source, size_t first, size_t count, size_t tap, size_t taps,
                          const T** pointers) {
    ProductProblem& p = *static_cast<ProductProblem*>(const_cast<void*>(source));
    for (size_t t = 0; t < taps; ++t) {
      for (size_t i = 0; i < count; ++i) {
        pointers[t * count + i] = p.a.data() + ((tap + t) * p.m + first + i) * p.k;
      }
    }
  }

  ProductArgs<T> Args() {
    ProductArgs<T> g;
    g.m = m;
    g.n = n;
    g.k = k;
    g.taps = taps;
    if (taps == 1) {
      g.a = a.data();
      g.lda = k;
      if (tile.size() != 0) g.tile = tile.data();
    } else {
      g.row_pointers = &RowPointers;
      g.source = this;
      g.pointers = pointers.data();
      if (copy.size() != 0) g.copy = copy.data();
    }
    if (widens && widened.size() != 0) g.widened = widened.data();
    g.b = packed.data();
    g.c = c.data();
    g.ldc = n;
    return g;
  }

  // Returns an element of the product, and the sum of its absolute products.
  double Sum(size_t i, size_t j, double* magnitude) {
    double sum = 0;
    *magnitude = 0;
    for (size_t t = 0; t < taps; ++t) {
      for (size_t p = 0; p < k; ++p) {
        const double x = static_cast<double>(a[(t * m + i) * k + p]) * b[(t * k + p) * n + j];
        sum += x;
        *magnitude += std::abs(x);
      }
    }
    return sum;
  }
};

// Properties of all GEMMs, checked on the selected instruction set.
//
// The bits do not depend on the division into ranges.
template <class T>
void ExpectSameForAnyDivision(size_t m, size_t k, std::mt19937_64& random) {
  ProductProblem<T> p(m, 100, k, 1, random);
  const ProductArgs<T> g = p.Args();
  PackedGemm(g);
  const std::vector<T> whole(p.c.data(), p.c.data() + p.c.size());
  for (size_t split = 1; split < m; split += k > 50 ? 13 : 1) {
    std::fill(p.c.data(), p.c.data() + p.c.size(), T(std::numeric_limits<float>::quiet_NaN()));
    PackedGemmRange(g, 0, split, 0, 64);
    PackedGemmRange(g, split, m, 0, 64);
    PackedGemmRange(g, 0, m, 64, 96);
    PackedGemmRange(g, 0, m, 96, 100);
    ASSERT_EQ(std::memcmp(whole.data(), p.c.data(), whole.size() * sizeof(T)), 0)
        << m << " rows, split at " << split;
  }
}

// Only elements of the range are written.
template <class T>
void ExpectNothingOutsideOfTheRange(size_t k, std::mt19937_64& random) {
  ProductProblem<T> p(20, 70, k, 1, random);
  PackedGemmRange(p.Args(), 3, 17, 32, 70);
  for (size_t i = 0; i < p.m; ++i) {
    for (size_t j = 0; j < p.n; ++j) {
      EXPECT_EQ(std::isnan(static_cast<float>(p.c[i * p.n + j])), i < 3 || i >= 17 || j < 32)
          << i << "," << j;
    }
  }
}

template <class T>
void ExpectTheBiasOfNoProducts(std::mt19937_64& random) {
  ProductProblem<T> p(3, 5, 0, 1, random);
  ProductArgs<T> g = p.Args();
  g.epilogue.bias = p.bias.data();
  PackedGemm(g);
  for (size_t i = 0; i < 15; ++i) {
    const T want = T(p.bias[i % 5]);
    EXPECT_EQ(std::memcmp(&p.c[i], &want, sizeof(T)), 0) << i;
  }
}

// The addend may alias the result.
template <class T>
void ExpectOtherMayBeTheResult(size_t k, std::mt19937_64& random) {
  ProductProblem<T> p(13, 35, k, 1, random);
  ProductArgs<T> g = p.Args();
  g.epilogue.other = p.other.data();
  PackedGemm(g);
  g.c = p.other.data();
  PackedGemm(g);
  EXPECT_EQ(std::memcmp(p.c.data(), p.other.data(), p.c.size() * sizeof(T)), 0) << k;
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_GEMM_TESTING_H_
