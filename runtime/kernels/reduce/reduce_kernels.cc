// Processes calls in blocks of results. If results are contiguous in memory, a block of them is
// reduced row by row. Otherwise each slice is loaded into a run and reduced in lanes.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>

#include "absl/functional/function_ref.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/type_promotion.h"
#include "runtime/kernels/element_copy/convert_run.h"
#include "runtime/kernels/element_copy/run_source.h"
#include "runtime/kernels/operands/fold.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/operands/strided_view.h"
#include "runtime/kernels/pointwise/loops.h"
#include "runtime/kernels/reduce/column_sums.h"
#include "runtime/kernels/reduce/reduce.h"

namespace belay {
namespace {

constexpr DTypeSet kIntegers = {DType::kUint8, DType::kInt8,  DType::kInt16,
                                DType::kInt32, DType::kInt64, DType::kBool};
constexpr DTypeSet kFloats = {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64};

// Element type in which the loops read a dtype.
DType LoopType(DType dtype) {
  if (dtype == DType::kFloat64) return dtype;
  return kFloats.contains(dtype) ? DType::kFloat32 : DType::kInt64;
}

// Calls fn(T()) with the C++ type of LoopType.
template <class Fn>
auto WithLoopType(DType type, Fn&& fn) {
  if (type == DType::kFloat64) return fn(double{});
  if (type == DType::kFloat32) return fn(float{});
  return fn(int64_t{});
}

// Slices of at most 16 elements are reduced as columns, many results at a time.
constexpr int64_t kShortSlice = 16;
// The cost of an element, in multiply-adds.
constexpr double kFoldWork = 2;

// Kept dimensions without those of size 1, merged where `self` and the outputs allow it.
struct KeptDims {
  Sizes sizes;
  Strides self, out[2];
};

KeptDims JoinKept(const Fold& fold, const Strides& first, const Strides& second) {
  KeptDims kept;
  for (int d = 0; d < fold.kept.size(); ++d) {
    const int64_t size = fold.kept[d];
    if (size == 1) continue;
    const int last = kept.sizes.size() - 1;
    if (last >= 0 && kept.self[last] == fold.kept_strides[d] * size &&
        kept.out[0][last] == first[d] * size && kept.out[1][last] == second[d] * size) {
      kept.sizes[last] *= size;
    } else {
      kept.sizes.push_back(size);
      kept.self.push_back(0);
      kept.out[0].push_back(0);
      kept.out[1].push_back(0);
    }
    const int end = kept.sizes.size() - 1;
    kept.self[end] = fold.kept_strides[d];
    kept.out[0][end] = first[d];
    kept.out[1][end] = second[d];
  }
  return kept;
}

// A reduction: its elements and their traversal.
class Reduction {
 public:
  Reduction(const Fold& fold, const TensorView& first, const TensorView& second)
      : fold_(fold),
        kept_(JoinKept(fold, fold.OutputStrides(first), fold.OutputStrides(second))),
        type_(LoopType(fold.self->dtype)),
        count_(fold.count()) {
    const int last = kept_.sizes.size() - 1;
    // Rows of at least one vector whose elements go to different results, if the slices are not
    // contiguous themselves, or too short for a loop of their own.
    const RunCursor cursor(fold.folded, fold.folded_strides);
    columns_ = last >= 0 && kept_.sizes[last] >= 8 &&
               (kept_.self[last] == 1 ? cursor.stride() != 1 : count_ <= kShortSlice);
    column_step_ = columns_ ? kept_.self[last] : 1;
    SetRuns(cursor);
    run_ = fold.self->dtype == type_ && runs_ == 1;
    bytes_ = DTypeSize(fold.self->dtype) == 1 && runs_ == 1 && !columns_;
    if (!columns_ && last >= 0 && kept_.sizes[last] < 8 && kept_.self[last] == 1 &&
        fold.self->dtype == type_ && cursor.stride() == kept_.sizes[last] &&
        cursor.group() == count_ && count_ > kShortSlice) {
      narrow_width_ = kept_.sizes[last];
    }
  }

  DType type() const { return type_; }

  // Calls block(base, width, out offsets, out steps) for blocks of results, of one element unless
  // columns() holds, on the threads of `context`.
  template <class Fn>
  void ForEachBlock(const KernelContext& context, Fn&& block) const {
    Sizes outer = kept_.sizes;
    int64_t length = 1, steps[2] = {0, 0};
    if (columns_) {
      const int last = outer.size() - 1;
      length = outer[last];
      for (int k = 0; k < 2; ++k) steps[k] = kept_.out[k][last];
      outer.erase(last);
    }
    const int64_t results = NumElements(outer).value_or(0);
    if (results == 0 || length == 0) return;
    // Whole cache lines, as many columns at a time as go round the threads.
    const int64_t share = (length / context.num_threads() + 63) / 64 * 64;
    const int64_t block_columns = std::clamp<int64_t>(share, 64, kReduceBlock);
    const int64_t blocks = (length + block_columns - 1) / block_columns;
    const double work = static_cast<double>(results) * static_cast<double>(length) *
                        static_cast<double>(count_ + 1) * kFoldWork;
    RunRanges(context, results * blocks, /*step=*/1, work, [&](int, int64_t first, int64_t last) {
      int64_t result = first / blocks, at = first % blocks * block_columns;
      int64_t base = OffsetAt(result, outer, kept_.self);
      int64_t starts[2] = {OffsetAt(result, outer, kept_.out[0]),
                           OffsetAt(result, outer, kept_.out[1])};
      const int inner = outer.size() - 1;
      const int64_t row = inner < 0 ? 1 : outer[inner];
      int64_t position = result % row;
      for (int64_t i = first; i < last; ++i) {
        const int64_t offsets[2] = {starts[0] + at * steps[0], starts[1] + at * steps[1]};
        block(base + at * column_step_, std::min(block_columns, length - at), offsets, steps);
        at += block_columns;
        if (at < length) continue;
        at = 0;
        ++result;
        if (++position < row) {  // steps are cheaper than OffsetAt
          base += kept_.self[inner];
          for (int k = 0; k < 2; ++k) starts[k] += kept_.out[k][inner];
        } else if (i + 1 < last) {
          position = 0;
          base = OffsetAt(result, outer, kept_.self);
          for (int k = 0; k < 2; ++k) starts[k] = OffsetAt(result, outer, kept_.out[k]);
        }
      }
    });
  }

  // Calls fn(x, rows, row_step) for the elements of a block, in order: as rows of `width`. A single
  // result has rows of kReduceLanes, and the rest as one shorter row.
  template <class Fn>
  void ForEachRow(int64_t base, int64_t width, Fn&& fn) const {
    if (count_ == 0) return;  // data may be null
    const int64_t bytes = static_cast<int64_t>(DTypeSize(fold_.self->dtype));
    const std::byte* data = fold_.self->as<const std::byte>() + base * bytes;
    if (columns_) {
      Sizes outer = fold_.folded;
      int64_t rows = 1, row_step = 0;
      if (!outer.empty()) {
        const int last = outer.size() - 1;
        rows = outer[last];
        row_step = fold_.folded_strides[last];
        outer.erase(last);
      }
      for (StridedIterator<1> it(outer, {fold_.folded_strides}); !it.done(); it.Next()) {
        const std::byte* x = data + it.offset(0) * bytes;
        if (fold_.self->dtype == type_ && column_step_ == 1) {
          fn(x, rows, row_step, width);
          continue;
        }
        // As many gathered and converted rows as fit the buffer.
        RunStorage gathered;
        struct {
          alignas(64) std::byte bytes[8 * kReduceBlock * sizeof(float)];
        } buffer;
        const int64_t row_bytes = width * static_cast<int64_t>(DTypeSize(type_));
        for (int64_t done = 0, n; done < rows; done += n) {
          n = std::min(rows - done, static_cast<int64_t>(sizeof(buffer.bytes)) / row_bytes);
          for (int64_t r = 0; r < n; ++r, x += row_step * bytes) {
            const std::byte* row = x;
            if (column_step_ != 1) {
              GatherRun(x, column_step_, width, static_cast<size_t>(bytes), gathered.bytes);
              row = gathered.bytes;
            }
            ConvertRun(fold_.self->dtype, row, type_, buffer.bytes + r * row_bytes,
                       static_cast<size_t>(width));
          }
          fn(static_cast<const std::byte*>(buffer.bytes), n, width, width);
        }
      }
      return;
    }
    ForEachRun(base, [&](const std::byte* run, int64_t n) {
      const int64_t whole = n / kReduceLanes, done = whole * kReduceLanes;
      if (whole > 0) fn(run, whole, kReduceLanes, kReduceLanes);
      if (done == n) return;
      fn(run + done * static_cast<int64_t>(DTypeSize(type_)), int64_t{1}, int64_t{0}, n - done);
    });
  }

  // Calls fn(x, n) for runs of the elements of a block of one result, in order.
  template <class Fn>
  void ForEachRun(int64_t base, Fn&& fn) const {
    if (count_ == 0) return;  // data may be null
    const std::byte* data = fold_.self->as<const std::byte>() +
                            base * static_cast<int64_t>(DTypeSize(fold_.self->dtype));
    if (run_) {
      fn(data, count_);
      return;
    }
    RunStorage buffer;
    if (runs_ > 0) {
      const DType dtype = fold_.self->dtype;
      const int64_t length = count_ / runs_, bytes = static_cast<int64_t>(DTypeSize(dtype));
      for (int64_t r = 0; r < runs_; ++r, data += run_step_ * bytes) {
        if (dtype == type_) {
          fn(data, length);
          continue;
        }
        for (int64_t at = 0, n; at < length; at += n) {
          n = std::min(length - at, kRunBufferLength);
          ConvertRun(dtype, data + at * bytes, type_, buffer.bytes, static_cast<size_t>(n));
          fn(static_cast<const std::byte*>(buffer.bytes), n);
        }
      }
      return;
    }
    RunSource source(data, fold_.self->dtype, fold_.folded, fold_.folded_strides, type_);
    for (int64_t left = count_; left > 0;) {
      const int64_t n = source.in_place() && source.group() >= kReduceLanes
                            ? std::min(left, source.group())
                            : std::min(left, kRunBufferLength);
      fn(static_cast<const std::byte*>(source.Next(n, buffer)), n);
      left -= n;
    }
  }

  bool columns() const { return columns_; }
  // The distance, in elements of self, of the slices of neighboring results of a block.
  int64_t column_step() const { return column_step_; }
  // The elements of a result of one element, if they are stored together as floats; else null.
  const float* RunOf(int64_t base) const {
    return run_ && !columns_ && type_ == DType::kFloat32 ? fold_.self->as<const float>() + base
                                                         : nullptr;
  }
  // The elements of all results, if those of each are stored together as floats, and the results
  // are equidistant; then the first output's are `out_step` apart.
  std::optional<FloatRuns> Runs(int64_t* out_step) const {
    if (RunOf(0) == nullptr || kept_.sizes.size() > 1) return std::nullopt;
    if (kept_.sizes.empty()) return FloatRuns{RunOf(0), count_};
    *out_step = kept_.out[0][0];
    return FloatRuns{RunOf(0), count_, kept_.sizes[0], kept_.self[0]};
  }
  // Fewer neighboring results than a vector has, whose elements are one run of rows of `width`: the
  // innermost kept dimension. 0 if not applicable.
  int64_t narrow_width() const { return narrow_width_; }
  // Calls row(base, out offset, out step) for each row of narrow results.
  template <class Fn>
  void ForEachNarrowRow(const KernelContext& context, Fn&& row) const {
    Sizes outer = kept_.sizes;
    const int last = outer.size() - 1;
    const int64_t step = kept_.out[0][last];
    outer.erase(last);
    const int64_t rows = NumElements(outer).value_or(0);
    const double work =
        static_cast<double>(rows * narrow_width_) * static_cast<double>(count_ + 1) * kFoldWork;
    RunRanges(context, rows, /*step=*/1, work, [&](int, int64_t first, int64_t end) {
      for (int64_t i = first; i < end; ++i) {
        row(OffsetAt(i, outer, kept_.self), OffsetAt(i, outer, kept_.out[0]), step);
      }
    });
  }

  int64_t count() const { return count_; }
  // The elements of a result of one element, if they are adjacent bytes; else null.
  const uint8_t* BytesOf(int64_t base) const {
    return bytes_ ? fold_.self->as<const uint8_t>() + base : nullptr;
  }

 private:
  // Sets runs_ and run_step_. `cursor` is at the start of a result's elements.
  void SetRuns(const RunCursor& cursor) {
    constexpr int64_t kLeastRun = 128;  // shorter runs are joined in a buffer
    if (count_ == 0 || (cursor.stride() != 1 && count_ > 1)) return;
    const int64_t length = cursor.group();
    if (length == count_) {
      runs_ = 1;
      return;
    }
    // The outer dimensions are equidistant if they are a run of their own.
    Sizes outer;
    Strides strides;
    int64_t inner = 1;
    for (int d = fold_.folded.size() - 1; d >= 0; --d) {
      if (inner < length) {
        inner *= fold_.folded[d];
      } else {
        outer.insert(0, fold_.folded[d]);
        strides.insert(0, fold_.folded_strides[d]);
      }
    }
    const RunCursor runs(outer, strides);
    if (inner != length || length < kLeastRun || runs.group() != count_ / length) return;
    runs_ = count_ / length;
    run_step_ = runs.stride();
  }

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

// Reduces a block. Acc is the loop's accumulator type; join(a, b) combines two accumulators.
template <class Acc, class Join>
void FoldBlock(const Reduction& reduction, ReduceLoop loop, int64_t base, int64_t width, Acc start,
               const double* centers, Acc* results, Join join) {
  if (reduction.columns()) {
    std::fill_n(results, width, start);
    reduction.ForEachRow(base, width,
                         [&](const std::byte* x, int64_t rows, int64_t step, int64_t n) {
                           loop(x, rows, step, n, results, centers);
                         });
    return;
  }
  Acc lanes[kReduceLanes];
  std::fill_n(lanes, kReduceLanes, start);
  double center[kReduceLanes];
  if (centers != nullptr) std::fill_n(center, kReduceLanes, centers[0]);
  reduction.ForEachRow(base, width, [&](const std::byte* x, int64_t rows, int64_t step, int64_t n) {
    loop(x, rows, step, n, lanes, centers == nullptr ? nullptr : center);
  });
  // In pairs: a chain of all lanes would wait for each sum.
  for (int64_t half = kReduceLanes / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; ++i) lanes[i] = join(lanes[i], lanes[i + half]);
  }
  results[0] = lanes[0];
}

// Sums of Reduction::narrow_width. Not a template: every operator has its own `finish`.
void NarrowSums(const KernelContext& context, const Fold& fold, const Reduction& reduction,
                ReduceLoop loop, const Writer<double>& write,
                absl::FunctionRef<double(double)> finish) {
  // Lanes for several of the rows; lane i is a part of result i % width.
  constexpr int64_t kRows = 32;
  const int64_t width = reduction.narrow_width(), block = kRows * width;
  const int64_t n = reduction.count() * width, whole = n / block;
  const auto bytes = static_cast<int64_t>(DTypeSize(fold.self->dtype));
  reduction.ForEachNarrowRow(context, [&](int64_t base, int64_t at, int64_t step) {
    double lanes[kRows * 8] = {};
    const std::byte* const x = fold.self->as<const std::byte>() + base * bytes;
    if (whole > 0) loop(x, whole, block, block, lanes, nullptr);
    if (whole * block < n) loop(x + whole * block * bytes, 1, 0, n - whole * block, lanes, nullptr);
    for (int64_t i = 0; i < width; ++i) {
      double total = 0;
      for (int64_t k = i; k < block; k += width) total += lanes[k];
      write(at + i * step, finish(total));
    }
  });
}

// Computes sums and products in the reference kernels' type T: double or int64. Writes
// finish(total).
template <class T, class Finish>
void SumInto(const KernelContext& context, const Fold& fold, ReduceOp op, const TensorView& out,
             Finish finish) {
  const Reduction reduction(fold, out, out);
  const ReduceLoop loop = FindReduceLoop(op, reduction.type());
  const Writer<T> write(out);
  const bool product = op == ReduceOp::kProduct;
  [[maybe_unused]] const bool sums = op == ReduceOp::kSum || op == ReduceOp::kSquares;
  // Results of half precision have few digits.
  const bool few = IsFloatingPoint(out.dtype) && DTypeSize(out.dtype) == 2 &&
                   fold.self->dtype != DType::kFloat32;
  [[maybe_unused]] const auto fold_runs = [&](const FloatRuns& runs, double* totals) {
    if (few && op == ReduceOp::kSum && runs.length <= kRunBufferLength) {
      totals[0] = SumInFloat(runs.data, runs.length);
      if (std::isfinite(totals[0])) return;
    }
    op == ReduceOp::kSum ? SumRunsF32(runs, totals) : SquareRunsF32(runs, 0, totals);
  };
  if constexpr (std::is_same_v<T, double>) {
    int64_t out_step = 0;
    const std::optional<FloatRuns> runs = reduction.Runs(&out_step);
    if (runs.has_value() && sums && out.dtype == DType::kFloat32) {
      const double work =
          static_cast<double>(runs->count) * static_cast<double>(runs->length + 1) * kFoldWork;
      RunRanges(context, runs->count, /*step=*/1, work, [&](int, int64_t first, int64_t last) {
        constexpr int64_t kAtOnce = 64;
        double totals[kAtOnce];
        for (int64_t i = first; i < last; i += kAtOnce) {
          const int64_t n = std::min(kAtOnce, last - i);
          fold_runs({runs->data + i * runs->step, runs->length, n, runs->step}, totals);
          float* const to = out.as<float>() + i * out_step;
          for (int64_t k = 0; k < n; ++k) to[k * out_step] = static_cast<float>(finish(totals[k]));
        }
      });
      return;
    }
    if (reduction.narrow_width() > 0 && op == ReduceOp::kSum) {
      return NarrowSums(context, fold, reduction, loop, write, finish);
    }
  }
  reduction.ForEachBlock(
      context, [&](int64_t base, int64_t width, const int64_t* at, const int64_t* step) {
        T totals[kReduceBlock];
        static constexpr double kZeros[kReduceBlock] = {};
        if constexpr (std::is_same_v<T, double>) {
          if (sums && reduction.type() == DType::kFloat32 && !reduction.columns()) {
            double total = 0, part;
            reduction.ForEachRun(base, [&](const void* x, int64_t n) {
              fold_runs({static_cast<const float*>(x), n}, &part);
              total += part;
            });
            write(at[0], finish(total));
            return;
          }
        }
        FoldBlock<T>(reduction, loop, base, width, product ? T{1} : T{0},
                     op == ReduceOp::kSquares ? kZeros : nullptr, totals,
                     [&](T a, T b) { return product ? WrappingMul(a, b) : WrappingAdd(a, b); });
        if (out.dtype == DType::kFloat32 && (width == 1 || step[0] == 1)) {
          float* to = out.as<float>() + at[0];
          for (int64_t i = 0; i < width; ++i) to[i] = static_cast<float>(finish(totals[i]));
          return;
        }
        for (int64_t i = 0; i < width; ++i) write(at[0] + i * step[0], finish(totals[i]));
      });
}

// SumInto for sums of floats, by ColumnSums where it applies.
template <class Finish>
absl::Status SumFloats(const KernelContext& context, const Fold& fold, const TensorView& out,
                       Finish finish) {
  const std::optional<ColumnSums> columns =
      out.dtype == DType::kFloat32 ? ColumnSums::Of(fold, out) : std::nullopt;
  if (columns.has_value()) {
    return columns->Run(context, FindReduceLoop(ReduceOp::kSum, DType::kFloat32), out.as<float>(),
                        finish);
  }
  SumInto<double>(context, fold, ReduceOp::kSum, out, finish);
  return absl::OkStatus();
}

template <class Call>
uint64_t SumScratch(const KernelContext&, const Call& call) {
  return ColumnSums::ScratchBytes(FoldOf(call.fold));
}

// 2^exponent, for -1022 <= exponent <= 1023.
double PowerOfTwo(int64_t exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

// Products of floats have fractions and exponents of their own. Those of doubles are multiplied one
// after another, as in the reference kernel.
void ProductInto(const KernelContext& context, const Fold& fold, const TensorView& out) {
  const Reduction reduction(fold, out, out);
  const Writer<double> write(out);
  const Reader<double> in(*fold.self);
  const bool floats = reduction.type() == DType::kFloat32;
  // A product of few floats is a double with a relative error below 2^-50 and needs no exponent.
  const bool few = floats && reduction.columns() && reduction.count() <= 6;
  reduction.ForEachBlock(
      context, [&](int64_t base, int64_t width, const int64_t* at, const int64_t* step) {
        double totals[kReduceBlock];
        int64_t exponents[kReduceBlock];
        std::fill_n(totals, width, 1.0);
        if (few) {
          reduction.ForEachRow(base, width,
                               [&](const void* x, int64_t rows, int64_t row_step, int64_t n) {
                                 const float* row = static_cast<const float*>(x);
                                 for (int64_t r = 0; r < rows; ++r, row += row_step) {
                                   for (int64_t i = 0; i < n; ++i) {
                                     totals[i] *= static_cast<double>(row[i]);
                                   }
                                 }
                               });
          if (out.dtype == DType::kFloat32 && step[0] == 1) {
            float* to = out.as<float>() + at[0];
            for (int64_t i = 0; i < width; ++i) to[i] = static_cast<float>(totals[i]);
            return;
          }
          for (int64_t i = 0; i < width; ++i) write(at[0] + i * step[0], totals[i]);
          return;
        }
        std::fill_n(exponents, width, int64_t{0});
        if (floats && !reduction.columns()) {
          reduction.ForEachRun(base, [&](const void* x, int64_t n) {
            ProductRunF32(static_cast<const float*>(x), n, totals, exponents);
          });
        } else if (floats) {
          reduction.ForEachRow(
              base, width, [&](const void* x, int64_t rows, int64_t row_step, int64_t n) {
                ProductRowsF32(static_cast<const float*>(x), rows, row_step, n, totals, exponents);
              });
        }
        for (int64_t i = 0; i < width; ++i) {
          if (floats) {
            const int64_t exponent = std::clamp<int64_t>(exponents[i], -2000, 2000),
                          half = exponent / 2;
            totals[i] = totals[i] * PowerOfTwo(half) * PowerOfTwo(exponent - half);
          } else {
            ForEachFolded(fold, in, base + i * reduction.column_step(),
                          [&](double x) { totals[i] *= x; });
          }
          write(at[0] + i * step[0], totals[i]);
        }
      });
}

absl::StatusOr<TensorView*> ResultOf(KernelContext& context, int i, DType dtype, const Fold& fold) {
  return OutputOf(context, i, dtype, fold.shape);
}

// Dtypes cannot change after the kernel was chosen. It is thus enough to check here that the
// results' dtypes have loops; ResultOf() compares them with that of self.
bool KnownOutput(const KernelContext& context, int i, DTypeSet allowed) {
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(i);
  return out.ok() && allowed.contains((*out)->dtype);
}

// ---- sum, prod, mean

// Named, so that all operators share the instances of SumInto.
struct Identity {
  template <class T>
  T operator()(T x) const {
    return x;
  }
};
struct Quotient {
  double divisor;
  double operator()(double total) const { return total / divisor; }
};

// The sums of complex numbers are those of their parts.
template <class Finish>
void SumPairs(const KernelContext& context, Fold fold, const TensorView& out, Finish finish) {
  const TensorView pairs = PairsOf(*fold.self);
  fold.self = &pairs;
  for (Strides* strides : {&fold.kept_strides, &fold.folded_strides}) {
    for (int64_t& stride : *strides) stride *= 2;
  }
  fold.kept.push_back(2);
  fold.kept_strides.push_back(1);
  SumInto<double>(context, fold, ReduceOp::kSum, PairsOf(out), finish);
}

// Supports sums whose result has the kind of the elements; others convert element by element.
template <DimsAre kDims, bool kProduct>
absl::Status Sum(KernelContext& context, const SumCall<KernelArguments, kDims>& call) {
  const Fold fold = FoldOf(call.fold);
  const bool integral = kIntegers.contains(fold.self->dtype);
  const DType dtype = call.dtype;
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, ResultOf(context, 0, dtype, fold));
  if (!kProduct && fold.self->dtype == DType::kComplex64) {
    SumPairs(context, fold, *out, Identity());
  } else if (integral) {
    SumInto<int64_t>(context, fold, kProduct ? ReduceOp::kProduct : ReduceOp::kSum, *out,
                     Identity());
  } else if (kProduct) {
    ProductInto(context, fold, *out);
  } else {
    return SumFloats(context, fold, *out, Identity());
  }
  return absl::OkStatus();
}

bool AcceptsPairs(const KernelContext& context, const TensorView& self) {
  return self.dtype == DType::kComplex64 && self.rank() < kMaxRank &&
         KnownOutput(context, 0, {DType::kComplex64});
}

template <class Call, bool kProduct = false>
bool AcceptsSum(const KernelContext& context, const Call& call) {
  if (!kProduct && AcceptsPairs(context, *call.fold.self)) return true;
  constexpr DTypeSet kIntegerResults = {DType::kUint8, DType::kInt8, DType::kInt16, DType::kInt32,
                                        DType::kInt64};
  return (kIntegers.contains(call.fold.self->dtype) && KnownOutput(context, 0, kIntegerResults)) ||
         (kFloats.contains(call.fold.self->dtype) && KnownOutput(context, 0, kFloats));
}

template <DimsAre kDims>
absl::Status Mean(KernelContext& context, const MeanCall<KernelArguments, kDims>& call) {
  const Fold fold = FoldOf(call.fold);
  const DType dtype = call.dtype;
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, ResultOf(context, 0, dtype, fold));
  const double count = static_cast<double>(fold.count());
  if (fold.self->dtype == DType::kComplex64) {
    SumPairs(context, fold, *out, Quotient{count});
    // A complex division by the count: a nonfinite part makes the other part NaN.
    for (StridedIterator<1> it(out->sizes, {out->strides}); !it.done(); it.Next()) {
      float* const z = out->as<float>() + 2 * it.offset(0);
      const float re = z[0], im = z[1];
      z[0] = re + im * 0;
      z[1] = im - re * 0;
    }
    return absl::OkStatus();
  }
  return SumFloats(context, fold, *out, Quotient{count});
}

template <class Call>
bool AcceptsFloats(const KernelContext& context, const Call& call) {
  return kFloats.contains(call.fold.self->dtype) && KnownOutput(context, 0, kFloats);
}

template <class Call>
bool AcceptsMean(const KernelContext& context, const Call& call) {
  return AcceptsPairs(context, *call.fold.self) || AcceptsFloats(context, call);
}

// ---- Extremes

template <class T>
T Worst(bool largest) {
  if constexpr (std::is_floating_point_v<T>) {
    return largest ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
  } else {
    return largest ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
  }
}

enum class ExtremeResult { kValue, kIndex, kBoth };

// Value type of Writer for T.
template <class T>
using Written = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;

// Sets best[i] to the extremes of a block.
template <class T>
void FindBest(const Reduction& reduction, bool largest, int64_t base, int64_t width, T* best) {
  if (!reduction.columns()) {
    best[0] = Worst<T>(largest);
    reduction.ForEachRun(base, [&](const std::byte* x, int64_t n) {
      ExtremeRun(largest, reduction.type(), x, n, best);
    });
    return;
  }
  std::fill_n(best, width, Worst<T>(largest));
  const ReduceLoop loop =
      FindReduceLoop(largest ? ReduceOp::kMax : ReduceOp::kMin, reduction.type());
  reduction.ForEachRow(base, width, [&](const std::byte* x, int64_t rows, int64_t step, int64_t n) {
    loop(x, rows, step, n, best, nullptr);
  });
}

template <class T>
void ExtremesInto(const KernelContext& context, const Fold& fold, bool largest,
                  const TensorView& out) {
  const Reduction reduction(fold, out, out);
  const Writer<Written<T>> write(out);
  reduction.ForEachBlock(
      context, [&](int64_t base, int64_t width, const int64_t* at, const int64_t* step) {
        T best[kReduceBlock];
        FindBest(reduction, largest, base, width, best);
        if (DTypeSize(out.dtype) == sizeof(T) && (width == 1 || step[0] == 1)) {
          std::memcpy(out.as<T>() + at[0], best, static_cast<size_t>(width) * sizeof(T));
          return;
        }
        for (int64_t i = 0; i < width; ++i) write(at[0] + i * step[0], best[i]);
      });
}

template <class T>
void PlacesInto(const KernelContext& context, const Fold& fold, bool largest,
                const TensorView* values, const TensorView& places) {
  const Reduction reduction(fold, values == nullptr ? places : *values, places);
  const Writer<Written<T>> write_value(values == nullptr ? places : *values);
  const Writer<int64_t> write_place(places);
  reduction.ForEachBlock(
      context, [&](int64_t base, int64_t width, const int64_t* at, const int64_t* step) {
        T best[kReduceBlock];
        int64_t place[kReduceBlock];
        std::fill_n(place, width, int64_t{0});
        if (reduction.columns()) {
          // The first row beats the worst value. If it equals the worst value, position 0 is
          // correct.
          std::fill_n(best, width, Worst<T>(largest));
          int64_t row = 0;
          reduction.ForEachRow(
              base, width, [&](const std::byte* x, int64_t rows, int64_t row_step, int64_t n) {
                ExtremeRows(largest, reduction.type(), x, rows, row_step, n, row, best, place);
                row += rows;
              });
        } else {
          FindBest(reduction, largest, base, width, best);
          int64_t seen = 0;
          bool found = false;
          reduction.ForEachRun(base, [&](const std::byte* x, int64_t n) {
            if (!found) {
              const int64_t i = FindValue(reduction.type(), x, n, best);
              found = i >= 0;
              if (found) place[0] = seen + i;
            }
            seen += n;
          });
        }
        for (int64_t i = 0; i < width; ++i) {
          if (values != nullptr) write_value(at[0] + i * step[0], best[i]);
          write_place(at[1] + i * step[1], place[i]);
        }
      });
}

template <DimsAre kDims, bool kLargest, ExtremeResult kResult>
absl::Status FindExtreme(
    KernelContext& context,
    const ExtremeCall<KernelArguments, kDims, kResult == ExtremeResult::kIndex>& call) {
  const Fold fold = FoldOf(call.fold);
  ABSL_RETURN_IF_ERROR(call.fold.CheckHasElements());
  const DType dtype = kResult == ExtremeResult::kIndex ? DType::kInt64 : fold.self->dtype;
  ABSL_ASSIGN_OR_RETURN(const TensorView* first, ResultOf(context, 0, dtype, fold));
  const TensorView* second = first;
  if (kResult == ExtremeResult::kBoth) {
    ABSL_ASSIGN_OR_RETURN(second, ResultOf(context, 1, DType::kInt64, fold));
  }
  WithLoopType(LoopType(fold.self->dtype), [&](auto zero) {
    using T = decltype(zero);
    if (kResult == ExtremeResult::kValue) {
      ExtremesInto<T>(context, fold, kLargest, *first);
    } else {
      PlacesInto<T>(context, fold, kLargest, kResult == ExtremeResult::kBoth ? first : nullptr,
                    *second);
    }
  });
  return absl::OkStatus();
}

template <class Call>
bool AcceptsAny(const KernelContext& context, const Call& call) {
  return kRunTypes.contains(call.fold.self->dtype);
}

// Whether all of n bytes are nonzero, or any of them.
template <bool kAll>
bool TruthOfBytes(const uint8_t* x, int64_t n) {
  if (kAll) return std::memchr(x, 0, static_cast<size_t>(n)) == nullptr;
  constexpr int64_t kBlock = 256;
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t end = std::min(i + kBlock, n);
    uint8_t any = 0;
    for (int64_t k = i; k < end; ++k) any |= x[k];
    if (any != 0) return true;
  }
  return false;
}

template <DimsAre kDims, bool kAll>
absl::Status Truth(KernelContext& context, const TruthCall<KernelArguments, kDims>& call) {
  const Fold fold = FoldOf(call.fold);
  const DType dtype = call.dtype;
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, ResultOf(context, 0, dtype, fold));
  WithLoopType(LoopType(fold.self->dtype), [&](auto zero) {
    using T = decltype(zero);
    const Reduction reduction(fold, *out, *out);
    const ReduceLoop loop =
        FindReduceLoop(kAll ? ReduceOp::kAll : ReduceOp::kAny, reduction.type());
    const Writer<bool> write(*out);
    reduction.ForEachBlock(
        context, [&](int64_t base, int64_t width, const int64_t* at, const int64_t* step) {
          if (const uint8_t* const bytes = reduction.BytesOf(base)) {
            return write(at[0], TruthOfBytes<kAll>(bytes, reduction.count()));
          }
          T truth[kReduceBlock];
          FoldBlock<T>(reduction, loop, base, width, kAll ? T{1} : T{0}, nullptr, truth,
                       [](T a, T b) { return kAll ? std::min(a, b) : std::max(a, b); });
          for (int64_t i = 0; i < width; ++i) write(at[0] + i * step[0], truth[i] != T{0});
        });
  });
  return absl::OkStatus();
}

// ---- Variance and norms

// Sum of squared distances from the mean, divided by count - correction (at least 0).
void FillVariance(const KernelContext& context, const Fold& fold, double correction,
                  const TensorView& var, const TensorView* mean) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const double count = static_cast<double>(fold.count());
  const double divisor = std::fmax(count - correction, 0);
  const Reduction reduction(fold, var, mean == nullptr ? var : *mean);
  const ReduceLoop sum = FindReduceLoop(ReduceOp::kSum, reduction.type()),
                   squares = FindReduceLoop(ReduceOp::kSquares, reduction.type());
  const Reader<double> in(*fold.self);
  const Writer<double> write_var(var), write_mean(mean == nullptr ? var : *mean);
  const auto add = [](double a, double b) { return a + b; };
  reduction.ForEachBlock(
      context, [&](int64_t base, int64_t width, const int64_t* at, const int64_t* step) {
        double centers[kReduceBlock], totals[kReduceBlock];
        FoldBlock<double>(reduction, sum, base, width, 0.0, nullptr, centers, add);
        for (int64_t i = 0; i < width; ++i) {
          centers[i] /= count;
          if (std::isfinite(centers[i])) continue;
          // A running mean, for which infinities give NaN as in PyTorch.
          double center = count > 0 ? 0 : kNan, seen = 0;
          ForEachFolded(fold, in, base + i * reduction.column_step(),
                        [&](double x) { center += (x - center) / ++seen; });
          centers[i] = center;
        }
        FoldBlock<double>(reduction, squares, base, width, 0.0, centers, totals, add);
        for (int64_t i = 0; i < width; ++i) {
          write_var(at[0] + i * step[0], count > 0 ? totals[i] / divisor : kNan);
          if (mean != nullptr) write_mean(at[1] + i * step[1], centers[i]);
        }
      });
}

template <bool kMean>
absl::Status Var(KernelContext& context, const VarCall<KernelArguments>& call) {
  const Fold fold = FoldOf(call.fold);
  const DType dtype = fold.self->dtype;
  ABSL_ASSIGN_OR_RETURN(const TensorView* var, ResultOf(context, 0, dtype, fold));
  const TensorView* mean = nullptr;
  if (kMean) {
    ABSL_ASSIGN_OR_RETURN(mean, ResultOf(context, 1, dtype, fold));
  }
  FillVariance(context, fold, call.correction, *var, mean);
  return absl::OkStatus();
}

// Norms of other orders: loops over |x|, or its powers, in float. Totals outside of the moderate numbers,
// whose powers may have overflowed or lost digits, are computed again in double.
void NormInto(const KernelContext& context, const Fold& fold, double order, const TensorView& out) {
  constexpr double kLeast = 0x1p-60, kMost = 0x1p120;
  const Reduction reduction(fold, out, out);
  const VectorLoop abs = FindLoop(PointwiseOp::kAbs, DType::kFloat32),
                   power = FindLoop(PointwiseOp::kPow, DType::kFloat32);
  const ReduceOp op = order == std::numeric_limits<double>::infinity() ? ReduceOp::kMax
                      : std::isinf(order)                              ? ReduceOp::kMin
                                                                       : ReduceOp::kSum;
  const ReduceLoop loop = FindReduceLoop(op, DType::kFloat32);
  PointwiseParams exponent;
  exponent.Set(0, EValue(order));
  const Reader<double> in(*fold.self);
  const Writer<double> write(out);
  // Calls loop(x, rows, row step, width) for the elements' magnitudes or powers.
  const auto for_each_row = [&](int64_t base, int64_t width, auto&& fn) {
    reduction.ForEachRow(base, width, [&](const void* x, int64_t rows, int64_t step, int64_t n) {
      const float* row = static_cast<const float*>(x);
      const int64_t at_once = step == n ? std::max<int64_t>(kReduceBlock / n, 1) : 1;
      for (int64_t r = 0, count; r < rows; r += count, row += count * step) {
        count = std::min(at_once, rows - r);
        const auto size = static_cast<size_t>(count * n);
        float powers[kReduceBlock];
        const void* operands[] = {row};
        abs(operands, powers, size, PointwiseParams());
        operands[0] = powers;
        if (order == 0) {
          for (size_t i = 0; i < size; ++i) powers[i] = powers[i] != 0 ? 1.0f : 0.0f;
        } else if (op == ReduceOp::kSum) {
          power(operands, powers, size, exponent);
        }
        fn(powers, count, n);
      }
    });
  };
  reduction.ForEachBlock(
      context, [&](int64_t base, int64_t width, const int64_t* at, const int64_t* step) {
        const int64_t lanes = reduction.columns() ? width : kReduceLanes;
        double totals[kReduceBlock];
        if (op == ReduceOp::kSum) {
          std::fill_n(totals, lanes, 0.0);
          for_each_row(base, width, [&](const float* x, int64_t rows, int64_t n) {
            loop(x, rows, n, n, totals, nullptr);
          });
          for (int64_t i = 1; !reduction.columns() && i < lanes; ++i) totals[0] += totals[i];
        } else {
          const bool largest = op == ReduceOp::kMax;
          float best[kReduceBlock];
          std::fill_n(best, lanes, Worst<float>(largest));
          for_each_row(base, width, [&](const float* x, int64_t rows, int64_t n) {
            loop(x, rows, n, n, best, nullptr);
          });
          for (int64_t i = 1; !reduction.columns() && i < lanes; ++i) {
            loop(best + i, 1, 0, 1, best, nullptr);
          }
          std::copy_n(best, width, totals);
        }
        for (int64_t i = 0; i < width; ++i) {
          double total = totals[i];
          if (op == ReduceOp::kSum && order != 0) {
            if (!(total > kLeast && total < kMost)) {
              total = 0;
              ForEachFolded(fold, in, base + i * reduction.column_step(),
                            [&](double x) { total += std::pow(std::abs(x), order); });
            }
            total = std::pow(total, 1 / order);
          }
          write(at[0] + i * step[0], total);
        }
      });
}

// The power 1 / order multiplies the relative error of the total.
bool IsLoopOrder(double order) { return order == 0 || std::abs(order) >= 0.5; }

// (self, order, dims, keepdim, dtype).
absl::Status VectorNorm(KernelContext& context, const VectorNormCall<KernelArguments>& call) {
  const Fold fold = FoldOf(call.fold);
  const double order = call.order;
  const DType dtype = call.dtype;
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, ResultOf(context, 0, dtype, fold));
  if (order == 1) {
    SumInto<double>(context, fold, ReduceOp::kAbsSum, *out, Identity());
  } else if (order == 2) {
    SumInto<double>(context, fold, ReduceOp::kSquares, *out,
                    [](double total) { return std::sqrt(total); });
  } else if (LoopType(fold.self->dtype) == DType::kFloat32 && IsLoopOrder(order)) {
    NormInto(context, fold, order, *out);
  } else {
    return absl::InternalError("the call changed after the kernel was chosen");
  }
  return absl::OkStatus();
}

template <class Call>
bool AcceptsNorm(const KernelContext& context, const Call& call) {
  return AcceptsFloats(context, call) &&
         (call.order == 1 || call.order == 2 ||
          (LoopType(call.fold.self->dtype) == DType::kFloat32 && IsLoopOrder(call.order)));
}

constexpr KernelEngine kHighway = KernelEngine::kHighway;
constexpr ExtremeResult kValue = ExtremeResult::kValue, kIndex = ExtremeResult::kIndex,
                        kBoth = ExtremeResult::kBoth;

constexpr Kernel kKernels[] = {
    KernelRow<&Sum<DimsAre::kAll, false>, &AcceptsSum<SumCall<KernelArguments, DimsAre::kAll>>>(
        "aten.sum.default", "self dtype", "SumSimd", kHighway),
    KernelRow<&Sum<DimsAre::kList, false>, &AcceptsSum<SumCall<KernelArguments, DimsAre::kList>>,
              &SumScratch<SumCall<KernelArguments, DimsAre::kList>>>(
        "aten.sum.dim_IntList", "self dim keepdim dtype", "SumDimsSimd", kHighway),
    KernelRow<&Sum<DimsAre::kAll, true>,
              &AcceptsSum<SumCall<KernelArguments, DimsAre::kAll>, true>>(
        "aten.prod.default", "self dtype", "ProdSimd", kHighway),
    KernelRow<&Sum<DimsAre::kOne, true>,
              &AcceptsSum<SumCall<KernelArguments, DimsAre::kOne>, true>>(
        "aten.prod.dim_int", "self dim keepdim dtype", "ProdDimSimd", kHighway),
    KernelRow<&Mean<DimsAre::kAll>, &AcceptsMean<MeanCall<KernelArguments, DimsAre::kAll>>>(
        "aten.mean.default", "self dtype", "MeanSimd", kHighway),
    KernelRow<&Mean<DimsAre::kList>, &AcceptsMean<MeanCall<KernelArguments, DimsAre::kList>>,
              &SumScratch<MeanCall<KernelArguments, DimsAre::kList>>>(
        "aten.mean.dim", "self dim keepdim dtype", "MeanDimsSimd", kHighway),
    KernelRow<&FindExtreme<DimsAre::kList, true, kValue>,
              &AcceptsAny<ExtremeCall<KernelArguments, DimsAre::kList, false>>>(
        "aten.amax.default", "self dim keepdim", "AmaxSimd", kHighway),
    KernelRow<&FindExtreme<DimsAre::kList, false, kValue>,
              &AcceptsAny<ExtremeCall<KernelArguments, DimsAre::kList, false>>>(
        "aten.amin.default", "self dim keepdim", "AminSimd", kHighway),
    KernelRow<&FindExtreme<DimsAre::kAll, true, kValue>,
              &AcceptsAny<ExtremeCall<KernelArguments, DimsAre::kAll, false>>>(
        "aten.max.default", "self", "MaxSimd", kHighway),
    KernelRow<&FindExtreme<DimsAre::kAll, false, kValue>,
              &AcceptsAny<ExtremeCall<KernelArguments, DimsAre::kAll, false>>>(
        "aten.min.default", "self", "MinSimd", kHighway),
    KernelRow<&FindExtreme<DimsAre::kOne, true, kBoth>,
              &AcceptsAny<ExtremeCall<KernelArguments, DimsAre::kOne, false>>>(
        "aten.max.dim", "self dim keepdim -> 2", "MaxDimSimd", kHighway),
    KernelRow<&FindExtreme<DimsAre::kOne, false, kBoth>,
              &AcceptsAny<ExtremeCall<KernelArguments, DimsAre::kOne, false>>>(
        "aten.min.dim", "self dim keepdim -> 2", "MinDimSimd", kHighway),
    KernelRow<&FindExtreme<DimsAre::kOptionalOne, true, kIndex>,
              &AcceptsAny<ExtremeCall<KernelArguments, DimsAre::kOptionalOne, true>>>(
        "aten.argmax.default", "self dim keepdim", "ArgmaxSimd", kHighway),
    KernelRow<&FindExtreme<DimsAre::kOptionalOne, false, kIndex>,
              &AcceptsAny<ExtremeCall<KernelArguments, DimsAre::kOptionalOne, true>>>(
        "aten.argmin.default", "self dim keepdim", "ArgminSimd", kHighway),
    KernelRow<&Truth<DimsAre::kAll, false>, &AcceptsAny<TruthCall<KernelArguments, DimsAre::kAll>>>(
        "aten.any.default", "self", "AnySimd", kHighway),
    KernelRow<&Truth<DimsAre::kOne, false>, &AcceptsAny<TruthCall<KernelArguments, DimsAre::kOne>>>(
        "aten.any.dim", "self dim keepdim", "AnyDimSimd", kHighway),
    KernelRow<&Truth<DimsAre::kExactList, false>,
              &AcceptsAny<TruthCall<KernelArguments, DimsAre::kExactList>>>(
        "aten.any.dims", "self dim keepdim", "AnyDimsSimd", kHighway),
    KernelRow<&Truth<DimsAre::kAll, true>, &AcceptsAny<TruthCall<KernelArguments, DimsAre::kAll>>>(
        "aten.all.default", "self", "AllSimd", kHighway),
    KernelRow<&Truth<DimsAre::kOne, true>, &AcceptsAny<TruthCall<KernelArguments, DimsAre::kOne>>>(
        "aten.all.dim", "self dim keepdim", "AllDimSimd", kHighway),
    KernelRow<&Truth<DimsAre::kExactList, true>,
              &AcceptsAny<TruthCall<KernelArguments, DimsAre::kExactList>>>(
        "aten.all.dims", "self dim keepdim", "AllDimsSimd", kHighway),
    KernelRow<&Var<false>, &AcceptsFloats<VarCall<KernelArguments>>>(
        "aten.var.dim", "self dim unbiased keepdim", "VarDimSimd", kHighway),
    KernelRow<&Var<false>, &AcceptsFloats<VarCall<KernelArguments>>>(
        "aten.var.correction", "self dim correction keepdim", "VarSimd", kHighway),
    KernelRow<&Var<true>, &AcceptsFloats<VarCall<KernelArguments>>>(
        "aten.var_mean.correction", "self dim correction keepdim -> 2", "VarMeanSimd", kHighway),
    KernelRow<&VectorNorm, &AcceptsNorm<VectorNormCall<KernelArguments>>>(
        "aten.linalg_vector_norm.default", "self ord dim keepdim dtype", "VectorNormSimd",
        kHighway),
};

}  // namespace

absl::Span<const Kernel> ReduceHighwayKernels() { return kKernels; }

}  // namespace belay
