// Operators that fold dimensions. Sums of floating point numbers are kept in double precision,
// those of integers in int64, wrapping.

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernels/call/fold.h"
#include "runtime/kernels/call/operands.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

constexpr DTypeSet kFloatOrComplex = kFloatTypes | kComplexTypes;

// out = all elements of a slice joined by `join`, starting from `start`.
template <class T, class Join>
void FoldInto(const Fold& fold, const TensorView& out, T start, Join join) {
  const Reader<T> in(*fold.self);
  const Writer<T> write(out);
  ForEachResult(fold, out, [&](int64_t base, int64_t offset) {
    T total = start;
    ForEachFolded(fold, in, base, [&](T x) { total = join(total, x); });
    write(offset, total);
  });
}

// Elements are converted to the result's dtype first; bool sums with "or" and multiplies with
// "and".
template <DimsAre kDims, bool kProduct>
absl::Status Sum(KernelContext& context) {
  constexpr int kDtypeAt = kDims == DimsAre::kAll ? 1 : 3;
  ABSL_RETURN_IF_ERROR(context.CheckArity(kDtypeAt + 1, 1));
  ABSL_ASSIGN_OR_RETURN(const Fold fold, FoldOf(context, kNumberTypes, kDims, 1, 2));
  const DType natural = IsIntegral(fold.self->dtype, true) ? DType::kInt64 : fold.self->dtype;
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(kDtypeAt, natural));
  if (!kNumberTypes.contains(dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("dtype: ", DTypeName(dtype), " is not supported"));
  }
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, dtype, fold.shape));
  if (dtype == DType::kBool) {
    FoldInto<bool>(fold, *out, kProduct, [](bool a, bool b) { return kProduct ? a && b : a || b; });
    return absl::OkStatus();
  }
  WithComputeType(dtype, [&](auto zero) {
    using T = decltype(zero);
    FoldInto<T>(fold, *out, kProduct ? T(1) : T(0),
                [](T a, T b) { return kProduct ? WrappingMul(a, b) : WrappingAdd(a, b); });
  });
  return absl::OkStatus();
}

// PyTorch divides complex numbers by the complex number count + 0i: what is not finite in one part
// makes the other NaN.
double DividedBy(double total, double count) { return total / count; }
std::complex<double> DividedBy(std::complex<double> total, double count) {
  return {(total.real() + total.imag() * 0.0) / count, (total.imag() - total.real() * 0.0) / count};
}

template <DimsAre kDims>
absl::Status Mean(KernelContext& context) {
  constexpr int kDtypeAt = kDims == DimsAre::kAll ? 1 : 3;
  ABSL_RETURN_IF_ERROR(context.CheckArity(kDtypeAt + 1, 1));
  ABSL_ASSIGN_OR_RETURN(const Fold fold, FoldOf(context, kNumberTypes, kDims, 1, 2));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(kDtypeAt, fold.self->dtype));
  if (!kFloatOrComplex.contains(dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("mean: expected a floating point or complex type, got ", DTypeName(dtype)));
  }
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, dtype, fold.shape));
  const double count = static_cast<double>(fold.count());
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    const Reader<T> in(*fold.self);
    const Writer<T> write(*out);
    ForEachResult(fold, *out, [&](int64_t base, int64_t offset) {
      T total = 0;
      ForEachFolded(fold, in, base, [&](T x) { total += x; });
      write(offset, DividedBy(total, count));
    });
  };
  if (IsComplex(dtype)) {
    run(std::complex<double>());
  } else {
    run(double{});
  }
  return absl::OkStatus();
}

// The first of the largest (smallest) elements of a slice and its number in row-major order.
template <bool kLargest, class T>
struct Extreme {
  T best = 0;
  int64_t index = -1;
  int64_t seen = 0;
  void Add(T x) {
    if (index < 0 || Beats<kLargest>(x, best)) {
      best = x;
      index = seen;
    }
    ++seen;
  }
};

enum class ExtremeResult { kValue, kIndex, kBoth };

template <DimsAre kDims, bool kLargest, ExtremeResult kResult>
absl::Status FindExtreme(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(
      context.CheckArity(kDims == DimsAre::kAll ? 1 : 3, kResult == ExtremeResult::kBoth ? 2 : 1));
  constexpr DTypeSet kTypes =
      kResult == ExtremeResult::kIndex ? kIntegralTypes | kFloatTypes : kRealTypes;
  ABSL_ASSIGN_OR_RETURN(const Fold fold, FoldOf(context, kTypes, kDims, 1, 2));
  ABSL_RETURN_IF_ERROR(CheckNotEmpty<CheckedInt>(ToDims(fold.self->sizes), fold.mask));
  const DType dtype = kResult == ExtremeResult::kIndex ? DType::kInt64 : fold.self->dtype;
  ABSL_ASSIGN_OR_RETURN(const TensorView* first, OutputOf(context, 0, dtype, fold.shape));
  const TensorView* second = first;
  if (kResult == ExtremeResult::kBoth) {
    ABSL_ASSIGN_OR_RETURN(second, OutputOf(context, 1, DType::kInt64, fold.shape));
  }
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    const Reader<T> in(*fold.self);
    const Writer<T> write_value(*first);
    const Writer<int64_t> write_index(*second);
    ForEachResult(fold, *first, *second, [&](int64_t base, int64_t value_at, int64_t index_at) {
      Extreme<kLargest, T> extreme;
      ForEachFolded(fold, in, base, [&](T x) { extreme.Add(x); });
      if (kResult != ExtremeResult::kIndex) write_value(value_at, extreme.best);
      if (kResult != ExtremeResult::kValue) write_index(index_at, extreme.index);
    });
  };
  if (IsFloatingPoint(fold.self->dtype)) {
    run(double{});
  } else {
    run(int64_t{});
  }
  return absl::OkStatus();
}

template <DimsAre kDims, bool kAll>
absl::Status Truth(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(kDims == DimsAre::kAll ? 1 : 3, 1));
  ABSL_ASSIGN_OR_RETURN(const Fold fold, FoldOf(context, kNumberTypes, kDims, 1, 2));
  const DType dtype = fold.self->dtype == DType::kUint8 ? DType::kUint8 : DType::kBool;
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, dtype, fold.shape));
  FoldInto<bool>(fold, *out, kAll, [](bool a, bool b) { return kAll ? a && b : a || b; });
  return absl::OkStatus();
}

double SquaredDistance(double a, double b) { return (a - b) * (a - b); }
double SquaredDistance(std::complex<double> a, std::complex<double> b) { return std::norm(a - b); }

// The sum of squared distances from the mean, over count - correction (at least 0).
absl::Status FillVariance(const Fold& fold, double correction, const TensorView& var,
                          const TensorView* mean) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const double count = static_cast<double>(fold.count());
  const double divisor = std::fmax(count - correction, 0);
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    T nothing(kNan);
    if constexpr (kIsComplex<T>) nothing = {kNan, kNan};
    const Reader<T> in(*fold.self);
    const Writer<double> write_var(var);
    const Writer<T> write_mean(mean == nullptr ? var : *mean);
    ForEachResult(fold, var, mean == nullptr ? var : *mean,
                  [&](int64_t base, int64_t var_at, int64_t mean_at) {
                    // A running mean, which infinities turn into NaN as they do PyTorch's.
                    T center = count > 0 ? T(0) : nothing;
                    double seen = 0, total = 0;
                    ForEachFolded(fold, in, base, [&](T x) { center += (x - center) / ++seen; });
                    ForEachFolded(fold, in, base,
                                  [&](T x) { total += SquaredDistance(x, center); });
                    write_var(var_at, count > 0 ? total / divisor : kNan);
                    if (mean != nullptr) write_mean(mean_at, center);
                  });
  };
  if (IsComplex(fold.self->dtype)) {
    run(std::complex<double>());
  } else {
    run(double{});
  }
  return absl::OkStatus();
}

template <bool kMean>
absl::Status VarCorrection(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(4, kMean ? 2 : 1));
  ABSL_ASSIGN_OR_RETURN(const Fold fold, FoldOf(context, kFloatOrComplex, DimsAre::kList, 1, 3));
  ABSL_ASSIGN_OR_RETURN(const double correction, context.DoubleOr(2, 1));
  const DType dtype = fold.self->dtype;
  ABSL_ASSIGN_OR_RETURN(const TensorView* var, OutputOf(context, 0, RealPart(dtype), fold.shape));
  const TensorView* mean = nullptr;
  if (kMean) {
    ABSL_ASSIGN_OR_RETURN(mean, OutputOf(context, 1, dtype, fold.shape));
  }
  return FillVariance(fold, correction, *var, mean);
}

absl::Status VarDim(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(4, 1));
  ABSL_ASSIGN_OR_RETURN(const Fold fold, FoldOf(context, kFloatOrComplex, DimsAre::kList, 1, 3));
  ABSL_ASSIGN_OR_RETURN(const bool unbiased, context.Bool(2));
  ABSL_ASSIGN_OR_RETURN(const TensorView* var,
                        OutputOf(context, 0, RealPart(fold.self->dtype), fold.shape));
  return FillVariance(fold, unbiased ? 1 : 0, *var, nullptr);
}

// (sum of |x|^order)^(1/order); the order 0 counts, and the infinite ones take the largest or
// smallest |x|.
absl::Status VectorNorm(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(5, 1));
  ABSL_ASSIGN_OR_RETURN(const Fold fold, FoldOf(context, kFloatOrComplex, DimsAre::kList, 2, 3));
  ABSL_ASSIGN_OR_RETURN(const double order, context.Double(1));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(4, fold.self->dtype));
  ABSL_RETURN_IF_ERROR(CheckNormDType(fold.self->dtype, dtype));
  if (order < 0 || order > std::numeric_limits<double>::max()) {
    ABSL_RETURN_IF_ERROR(CheckNotEmpty<CheckedInt>(ToDims(fold.self->sizes), fold.mask));
  }
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, RealPart(dtype), fold.shape));
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    const Reader<T> in(*fold.self);
    const Writer<double> write(*out);
    ForEachResult(fold, *out, [&](int64_t base, int64_t offset) {
      Extreme<true, double> largest;
      Extreme<false, double> smallest;
      double total = 0;
      ForEachFolded(fold, in, base, [&](T x) {
        const double size = std::abs(x);
        if (std::isinf(order)) {
          largest.Add(size);
          smallest.Add(size);
        } else if (order == 0) {
          total += size != 0 ? 1 : 0;
        } else {
          total += order == 1 ? size : order == 2 ? size * size : std::pow(size, order);
        }
      });
      if (std::isinf(order)) {
        total = order > 0 ? largest.best : smallest.best;
      } else if (order == 2) {
        total = std::sqrt(total);
      } else if (order != 0 && order != 1) {
        total = std::pow(total, 1 / order);
      }
      write(offset, total);
    });
  };
  if (IsComplex(fold.self->dtype)) {
    run(std::complex<double>());
  } else {
    run(double{});
  }
  return absl::OkStatus();
}

constexpr KernelEngine kReference = KernelEngine::kReference;
constexpr ExtremeResult kValue = ExtremeResult::kValue, kIndex = ExtremeResult::kIndex,
                        kBoth = ExtremeResult::kBoth;

constexpr Kernel kKernels[] = {
    {"aten.sum.default", "Sum", kReference, &Sum<DimsAre::kAll, false>},
    {"aten.sum.dim_IntList", "SumDims", kReference, &Sum<DimsAre::kList, false>},
    {"aten.prod.default", "Prod", kReference, &Sum<DimsAre::kAll, true>},
    {"aten.prod.dim_int", "ProdDim", kReference, &Sum<DimsAre::kOne, true>},
    {"aten.mean.default", "Mean", kReference, &Mean<DimsAre::kAll>},
    {"aten.mean.dim", "MeanDims", kReference, &Mean<DimsAre::kList>},
    {"aten.amax.default", "Amax", kReference, &FindExtreme<DimsAre::kList, true, kValue>},
    {"aten.amin.default", "Amin", kReference, &FindExtreme<DimsAre::kList, false, kValue>},
    {"aten.max.default", "Max", kReference, &FindExtreme<DimsAre::kAll, true, kValue>},
    {"aten.min.default", "Min", kReference, &FindExtreme<DimsAre::kAll, false, kValue>},
    {"aten.max.dim", "MaxDim", kReference, &FindExtreme<DimsAre::kOne, true, kBoth>},
    {"aten.min.dim", "MinDim", kReference, &FindExtreme<DimsAre::kOne, false, kBoth>},
    {"aten.argmax.default", "Argmax", kReference,
     &FindExtreme<DimsAre::kOptionalOne, true, kIndex>},
    {"aten.argmin.default", "Argmin", kReference,
     &FindExtreme<DimsAre::kOptionalOne, false, kIndex>},
    {"aten.any.default", "Any", kReference, &Truth<DimsAre::kAll, false>},
    {"aten.any.dim", "AnyDim", kReference, &Truth<DimsAre::kOne, false>},
    {"aten.any.dims", "AnyDims", kReference, &Truth<DimsAre::kExactList, false>},
    {"aten.all.default", "All", kReference, &Truth<DimsAre::kAll, true>},
    {"aten.all.dim", "AllDim", kReference, &Truth<DimsAre::kOne, true>},
    {"aten.all.dims", "AllDims", kReference, &Truth<DimsAre::kExactList, true>},
    {"aten.var.dim", "VarDim", kReference, &VarDim},
    {"aten.var.correction", "Var", kReference, &VarCorrection<false>},
    {"aten.var_mean.correction", "VarMean", kReference, &VarCorrection<true>},
    {"aten.linalg_vector_norm.default", "VectorNorm", kReference, &VectorNorm},
};

}  // namespace

absl::Span<const Kernel> ReductionKernels() { return kKernels; }

}  // namespace belay
