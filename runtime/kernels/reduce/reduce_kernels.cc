// Processes calls in blocks of results. If results are contiguous in memory, a block of them is
// reduced row by row. Otherwise each slice is loaded into a run and reduced in lanes.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

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
#include "runtime/kernels/reduce/reduction.h"

namespace belay {
namespace {

constexpr DTypeSet kIntegers = {DType::kUint8, DType::kInt8,  DType::kInt16,
                                DType::kInt32, DType::kInt64, DType::kBool};
constexpr DTypeSet kFloats = {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64};

// Calls fn(T()) with the C++ type of LoopType.
template <class Fn>
auto WithLoopType(DType type, Fn&& fn) {
  if (type == DType::kFloat64) return fn(double{});
  if (type == DType::kFloat32) return fn(float{});
  return fn(int64_t{});
}

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

// The fold of a reduction for which the order of the elements does not matter: the reduced dimensions
// are in the order of memory, so that those of a permuted tensor may be one run. Repeated dimensions are
// the outermost.
Fold UnorderedFoldOf(const FoldCall<KernelArguments>& call) {
  Fold fold = FoldOf(call);
  const auto outer = [&](int d) {
    const int64_t stride = fold.folded_strides[d];
    return stride == 0 ? std::numeric_limits<int64_t>::max() : stride;
  };
  for (int end = 1; end < fold.folded.size(); ++end) {
    for (int d = end; d > 0 && outer(d - 1) < outer(d); --d) {
      std::swap(fold.folded[d - 1], fold.folded[d]);
      std::swap(fold.folded_strides[d - 1], fold.folded_strides[d]);
    }
  }
  return fold;
}

// Converts the sums of an operator to its results.
struct Finish {
  double divisor = 1;
  bool root = false;  // the square root

  void Apply(double* totals, int64_t n) const {
    if (root) {
      for (int64_t i = 0; i < n; ++i) totals[i] = std::sqrt(totals[i]);
    } else if (divisor != 1) {
      for (int64_t i = 0; i < n; ++i) totals[i] /= divisor;
    }
  }
};

// Sums of Reduction::narrow_width.
void NarrowSums(const KernelContext& context, const Fold& fold, const Reduction& reduction,
                ReduceLoop loop, const Writer<double>& write, const Finish& finish) {
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
      finish.Apply(&total, 1);
      write(at + i * step, total);
    }
  });
}

// Computes sums and products in the reference kernels' type T: double or int64. `finish` applies to
// doubles.
template <class T>
void SumInto(const KernelContext& context, const Fold& fold, ReduceOp op, const TensorView& out,
             [[maybe_unused]] const Finish& finish = {}) {
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
          finish.Apply(totals, n);
          float* const to = out.as<float>() + i * out_step;
          for (int64_t k = 0; k < n; ++k) to[k * out_step] = static_cast<float>(totals[k]);
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
            if (const std::optional<FloatRuns> runs = reduction.RunsOf(base); runs.has_value()) {
              constexpr int64_t kAtOnce = 64;
              double parts[kAtOnce];
              for (int64_t i = 0; i < runs->count; i += kAtOnce) {
                const int64_t n = std::min(kAtOnce, runs->count - i);
                fold_runs({runs->data + i * runs->step, runs->length, n, runs->step}, parts);
                for (int64_t k = 0; k < n; ++k) total += parts[k];
              }
            } else {
              reduction.ForEachRun(base, [&](const void* x, int64_t n) {
                fold_runs({static_cast<const float*>(x), n}, &part);
                total += part;
              });
            }
            finish.Apply(&total, 1);
            write(at[0], total);
            return;
          }
        }
        FoldBlock<T>(reduction, loop, base, width, product ? T{1} : T{0},
                     op == ReduceOp::kSquares ? kZeros : nullptr, totals,
                     [&](T a, T b) { return product ? WrappingMul(a, b) : WrappingAdd(a, b); });
        if constexpr (std::is_same_v<T, double>) finish.Apply(totals, width);
        if (out.dtype == DType::kFloat32) {
          float* to = out.as<float>() + at[0];
          for (int64_t i = 0; i < width; ++i) to[i * step[0]] = static_cast<float>(totals[i]);
          return;
        }
        for (int64_t i = 0; i < width; ++i) write(at[0] + i * step[0], totals[i]);
      });
}

// SumInto for sums of floats, by ColumnSums where it applies.
absl::Status SumFloats(const KernelContext& context, const Fold& fold, const TensorView& out,
                       const Finish& finish = {}) {
  const std::optional<ColumnSums> columns =
      out.dtype == DType::kFloat32 ? ColumnSums::Of(fold, out) : std::nullopt;
  if (columns.has_value()) {
    return columns->Run(context, FindReduceLoop(ReduceOp::kSum, DType::kFloat32), out.as<float>(),
                        [&](double* totals, int64_t n) { finish.Apply(totals, n); });
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

// The sums of complex numbers are those of their parts.
void SumPairs(const KernelContext& context, Fold fold, const TensorView& out,
              const Finish& finish = {}) {
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
  const Fold fold = kProduct && call.fold.self->dtype == DType::kFloat64
                        ? FoldOf(call.fold)
                        : UnorderedFoldOf(call.fold);
  const bool integral = kIntegers.contains(fold.self->dtype);
  const DType dtype = call.dtype;
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, ResultOf(context, 0, dtype, fold));
  if (!kProduct && fold.self->dtype == DType::kComplex64) {
    SumPairs(context, fold, *out);
  } else if (integral) {
    SumInto<int64_t>(context, fold, kProduct ? ReduceOp::kProduct : ReduceOp::kSum, *out);
  } else if (kProduct) {
    ProductInto(context, fold, *out);
  } else {
    return SumFloats(context, fold, *out);
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
  const Fold fold = UnorderedFoldOf(call.fold);
  const DType dtype = call.dtype;
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, ResultOf(context, 0, dtype, fold));
  const double count = static_cast<double>(fold.count());
  if (fold.self->dtype == DType::kComplex64) {
    SumPairs(context, fold, *out, {.divisor = count});
    // A complex division by the count: a nonfinite part makes the other part NaN.
    for (StridedIterator<1> it(out->sizes, {out->strides}); !it.done(); it.Next()) {
      float* const z = out->as<float>() + 2 * it.offset(0);
      const float re = z[0], im = z[1];
      z[0] = re + im * 0;
      z[1] = im - re * 0;
    }
    return absl::OkStatus();
  }
  return SumFloats(context, fold, *out, {.divisor = count});
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
  reduction.ForEachBlock(context,
                         [&](int64_t base, int64_t width, const int64_t* at, const int64_t* step) {
                           T best[kReduceBlock];
                           FindBest(reduction, largest, base, width, best);
                           if (DTypeSize(out.dtype) == sizeof(T)) {
                             T* const to = out.as<T>() + at[0];
                             for (int64_t i = 0; i < width; ++i) to[i * step[0]] = best[i];
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
  const Fold fold =
      kResult == ExtremeResult::kValue ? UnorderedFoldOf(call.fold) : FoldOf(call.fold);
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
bool TruthOfBytes(bool all, const uint8_t* x, int64_t n) {
  if (all) return std::memchr(x, 0, static_cast<size_t>(n)) == nullptr;
  constexpr int64_t kBlock = 256;
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t end = std::min(i + kBlock, n);
    uint8_t any = 0;
    for (int64_t k = i; k < end; ++k) any |= x[k];
    if (any != 0) return true;
  }
  return false;
}

template <class T>
void TruthInto(const KernelContext& context, const Fold& fold, bool all, const TensorView& out) {
  const Reduction reduction(fold, out, out);
  const ReduceLoop loop = FindReduceLoop(all ? ReduceOp::kAll : ReduceOp::kAny, reduction.type());
  const Writer<bool> write(out);
  reduction.ForEachBlock(
      context, [&](int64_t base, int64_t width, const int64_t* at, const int64_t* step) {
        if (const uint8_t* const bytes = reduction.BytesOf(base)) {
          return write(at[0], TruthOfBytes(all, bytes, reduction.count()));
        }
        T truth[kReduceBlock];
        FoldBlock<T>(reduction, loop, base, width, all ? T{1} : T{0}, nullptr, truth,
                     [&](T a, T b) { return all ? std::min(a, b) : std::max(a, b); });
        for (int64_t i = 0; i < width; ++i) write(at[0] + i * step[0], truth[i] != T{0});
      });
}

template <DimsAre kDims, bool kAll>
absl::Status Truth(KernelContext& context, const TruthCall<KernelArguments, kDims>& call) {
  const Fold fold = UnorderedFoldOf(call.fold);
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, ResultOf(context, 0, call.dtype, fold));
  WithLoopType(LoopType(fold.self->dtype),
               [&](auto zero) { TruthInto<decltype(zero)>(context, fold, kAll, *out); });
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
  const Fold fold = UnorderedFoldOf(call.fold);
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
  const Fold fold = UnorderedFoldOf(call.fold);
  const double order = call.order;
  const DType dtype = call.dtype;
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, ResultOf(context, 0, dtype, fold));
  if (order == 1) {
    SumInto<double>(context, fold, ReduceOp::kAbsSum, *out);
  } else if (order == 2) {
    SumInto<double>(context, fold, ReduceOp::kSquares, *out, {.root = true});
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
