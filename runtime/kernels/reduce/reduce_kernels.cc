// Sums, products, means, variances and norms.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include "runtime/core/status_macros.h"
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
#include "runtime/kernels/reduce/fold_block.h"
#include "runtime/kernels/reduce/reduce.h"
#include "runtime/kernels/reduce/reduction.h"

namespace belay {
namespace {

constexpr DTypeSet kIntegers = {DType::kUint8, DType::kInt8,  DType::kInt16,
                                DType::kInt32, DType::kInt64, DType::kBool};
constexpr DTypeSet kFloats = {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64};

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
        if (std::is_same_v<T, double> && step[0] == 1 && kRunTypes.contains(out.dtype)) {
          return ConvertRun(DType::kFloat64, totals, out.dtype, ElementAddress(out, at[0]),
                            static_cast<size_t>(width));
        }
        for (int64_t i = 0; i < width; ++i) write(at[0] + i * step[0], totals[i]);
      });
}

// SumInto for sums of floats, by ColumnSums where it applies.
absl::Status SumFloats(const KernelContext& context, const Fold& fold, const TensorView& out,
                       const Finish& finish = {}) {
  const std::optional<ColumnSums> columns =
      ColumnSums::kTypes.contains(out.dtype) ? ColumnSums::Of(fold, out) : std::nullopt;
  if (columns.has_value()) {
    return columns->Run(context, FindReduceLoop(ReduceOp::kSum, DType::kFloat32), out,
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
