// Loops of scatter: a run of elements combined with elements at given positions.
#ifndef BELAY_RUNTIME_KERNELS_SELECT_SCATTER_H_
#define BELAY_RUNTIME_KERNELS_SELECT_SCATTER_H_

#include <cstddef>
#include <cstdint>

#include "runtime/core/dtype.h"
#include "runtime/kernels/element_copy/element_update.h"

namespace belay {

// A run of n elements, with strides in elements:
//
//   to[index[i] * step + i * rest] = update(to[index[i] * step + i * rest], from[i * from_step])
struct ScatterRun {
  void* to = nullptr;
  int64_t step = 0, rest = 0;
  // Checked, and in memory owned by the caller, so that it cannot change after the check.
  const int64_t* index = nullptr;
  size_t n = 0;
  const void* from = nullptr;
  int64_t from_step = 0;
};
// Loops of an update for elements of one type.
struct ScatterLoops {
  void (*indexed)(const ScatterRun& run) = nullptr;
  // Adjacent elements, as for equal indices: to[i] = update(to[i], from[i * from_step]) for i < n and
  // a from_step of 0 or 1.
  void (*adjacent)(void* to, const void* from, int64_t from_step, size_t n) = nullptr;
};

// Returns the loops for elements of float32, float64, int64 or int32, and for kAssign also for all
// other elements of 1, 2, 4 or 8 bytes except bool; null if not supported.
ScatterLoops FindScatterLoops(Update update, DType dtype);

// Whether all of n indices equal `value`.
bool AllEqual(const int64_t* index, size_t n, int64_t value);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_SELECT_SCATTER_H_
