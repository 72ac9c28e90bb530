// Distances between the rows of float32 matrices.
//
// Orders 1, 2 and infinity; the reference kernels handle other orders. Differences and sums are
// computed in float, in the order of the columns. All terms are nonnegative, so that k terms have a
// relative error of at most (k + 3) 2^-24; order 2 takes the root, which halves it and rounds once.
// Squares of differences above 1.8e19 overflow. Order 2 is more accurate than in PyTorch, which
// subtracts products from squared norms. Order infinity is rounded once.
#ifndef BELAY_RUNTIME_KERNELS_DISTANCE_DISTANCE_H_
#define BELAY_RUNTIME_KERNELS_DISTANCE_DISTANCE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay {

enum class DistanceOrder : uint8_t { kOne, kTwo, kInfinity };

// Rows of a tile, and the maximal number of its columns over all instruction sets.
inline constexpr int kDistanceRows = 4;
inline constexpr int64_t kMostDistanceColumns = 32;
int64_t DistanceColumns();  // of the current instruction set

// out[i * out_step + j] = distance of a[i][p * step] and panel[p * DistanceColumns() + j] over p <
// k, for i < kDistanceRows, j < DistanceColumns().
void DistanceTile(DistanceOrder order, const float* const* a, int64_t step, const float* panel,
                  int64_t k, float* out, int64_t out_step);

absl::Span<const Kernel> DistanceHighwayKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_DISTANCE_DISTANCE_H_
