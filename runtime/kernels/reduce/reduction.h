// Traversal of the elements of a reduction, in rows or runs of float32, float64 or int64.
#ifndef BELAY_RUNTIME_KERNELS_REDUCE_REDUCTION_H_
#define BELAY_RUNTIME_KERNELS_REDUCE_REDUCTION_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/functional/function_ref.h"
#include "runtime/core/dtype.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernels/operands/element_run.h"
#include "runtime/kernels/operands/fold.h"
#include "runtime/kernels/reduce/moments.h"

namespace belay {

// Element type in which the loops read a dtype.
inline DType LoopType(DType dtype) {
  if (dtype == DType::kFloat64) return dtype;
  return IsFloatingPoint(dtype) ? DType::kFloat32 : DType::kInt64;
}

// The cost of an element, in multiply-adds.
inline constexpr double kFoldWork = 2;

// The elements of a call and their traversal. Thread-safe.
class Reduction {
 public:
  // Called with elements in the type of the loops: `rows` rows of `width`, `row_step` apart.
  using RowsFn =
      absl::FunctionRef<void(const std::byte* x, int64_t rows, int64_t row_step, int64_t width)>;
  using RunFn = absl::FunctionRef<void(const std::byte* x, int64_t n)>;
  // Called for `width` results. `base` is the offset of the first element of the first one. `at` and
  // `step` have the offset of the first result and the distance of results in each output.
  using BlockFn =
      absl::FunctionRef<void(int64_t base, int64_t width, const int64_t* at, const int64_t* step)>;
  using NarrowRowFn = absl::FunctionRef<void(int64_t base, int64_t at, int64_t step)>;

  // `first` and `second` are the outputs, or the same one twice. `fold` must outlive the object.
  Reduction(const Fold& fold, const TensorView& first, const TensorView& second);

  DType type() const { return type_; }

  // Calls `block` for blocks of results, of one element unless columns() holds, on the threads of
  // `context`.
  void ForEachBlock(const KernelContext& context, BlockFn block) const;

  // Calls `fn` for the elements of a block, in order: as rows of `width`. A single result has rows of
  // kReduceLanes, and the rest as one shorter row.
  void ForEachRow(int64_t base, int64_t width, RowsFn fn) const;

  // Calls `fn` for runs of the elements of a block of one result, in order.
  void ForEachRun(int64_t base, RunFn fn) const;

  bool columns() const { return columns_; }
  // The distance, in elements of self, of the slices of neighboring results of a block.
  int64_t column_step() const { return column_step_; }
  // The elements of all results, if those of each are stored together as floats, and the results
  // are equidistant; then the first output's are `out_step` apart.
  std::optional<FloatRuns> Runs(int64_t* out_step) const;
  // The elements of a result from offset `base` on, if they are equidistant runs of floats.
  std::optional<FloatRuns> RunsOf(int64_t base) const;
  // Fewer neighboring results than a vector has, whose elements are one run of rows of `width`: the
  // innermost kept dimension. 0 if not applicable.
  int64_t narrow_width() const { return narrow_width_; }
  // Calls row(base, out offset, out step) for each row of narrow results.
  void ForEachNarrowRow(const KernelContext& context, NarrowRowFn row) const;

  // The number of elements per result.
  int64_t count() const { return count_; }
  // The elements of a result of one element, if they are adjacent bytes; else null.
  const uint8_t* BytesOf(int64_t base) const {
    return bytes_ ? fold_.self->as<const uint8_t>() + base : nullptr;
  }

 private:
  // Kept dimensions without those of size 1, merged where `self` and the outputs allow it.
  struct KeptDims {
    Sizes sizes;
    Strides self, out[2];
  };
  static KeptDims Join(const Fold& fold, const Strides& first, const Strides& second);
  // Sets runs_ and run_step_. `cursor` is at the start of a result's elements.
  void SetRuns(const RunCursor& cursor);

  const Fold& fold_;
  KeptDims kept_;
  DType type_;
  bool columns_;
  int64_t count_;  // elements per result
  int64_t column_step_;
  bool run_;  // the elements of a result are stored together, in the type of the loops
  bool bytes_;
  int64_t narrow_width_ = 0;
  // The elements of a result are `runs_` runs of adjacent elements, `run_step_` apart; 0: they are not.
  int64_t runs_ = 0, run_step_ = 0;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_REDUCE_REDUCTION_H_
