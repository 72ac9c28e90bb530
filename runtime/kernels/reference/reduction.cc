// Reductions. Floating-point sums are accumulated in double precision, integer sums in wrapping
// int64.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernels/operands/fold.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

// out = join over all elements of a slice, starting from `start`.
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

// Products of elements narrower than double. The exponent has no bounds before the result: partial
// products of a long row overflow or underflow in any order.
void ProductInto(const Fold& fold, const TensorView& out) {
  const Reader<double> in(*fold.self);
  const Writer<double> write(out);
  ForEachResult(fold, out, [&](int64_t base, int64_t offset) {
    double fraction = 1;
    int64_t exponent = 0;
    ForEachFolded(fold, in, base, [&](double x) {
      int shift = 0;
      fraction *= x;
      if (std::isfinite(fraction)) fraction = std::frexp(fraction, &shift);
      exponent += shift;
    });
    write(offset,
          std::ldexp(fraction, static_cast<int>(std::clamp<int64_t>(exponent, -2000, 2000))));
  });
}

// Elements are first converted to the result's dtype. For bool, sum is "or" and prod is "and".
template <DimsAre kDims, bool kProduct>
absl::Status Sum(KernelContext& context, const SumCall<KernelArguments, kDims>& call) {
  const Fold fold = FoldOf(call.fold);
  const DType dtype = call.dtype;
  if (!kNumberTypes.contains(dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("dtype: ", DTypeName(dtype), " is not supported"));
  }
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, dtype, fold.shape));
  if (dtype == DType::kBool) {
    FoldInto<bool>(fold, *out, kProduct, [](bool a, bool b) { return kProduct ? a && b : a || b; });
    return absl::OkStatus();
  }
  if (kProduct && IsFloatingPoint(fold.self->dtype) && fold.self->dtype != DType::kFloat64 &&
      IsFloatingPoint(dtype)) {
    ProductInto(fold, *out);
    return absl::OkStatus();
  }
  WithComputeType(dtype, [&](auto zero) {
    using T = decltype(zero);
    FoldInto<T>(fold, *out, kProduct ? T(1) : T(0),
                [](T a, T b) { return kProduct ? WrappingMul(a, b) : WrappingAdd(a, b); });
  });
  return absl::OkStatus();
}

// PyTorch divides complex numbers by the complex number count + 0i: a nonfinite part makes the
// other part NaN.
double DividedBy(double total, double count) { return total / count; }
std::complex<double> DividedBy(std::complex<double> total, double count) {
  return {(total.real() + total.imag() * 0.0) / count, (total.imag() - total.real() * 0.0) / count};
}

template <DimsAre kDims>
absl::Status Mean(KernelContext& context, const MeanCall<KernelArguments, kDims>& call) {
  const Fold fold = FoldOf(call.fold);
  const DType dtype = call.dtype;
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

// First of the largest (smallest) elements of a slice, and its row-major position.
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
absl::Status FindExtreme(
    KernelContext& context,
    const ExtremeCall<KernelArguments, kDims, kResult == ExtremeResult::kIndex>& call) {
  const Fold fold = FoldOf(call.fold);
  ABSL_RETURN_IF_ERROR(call.fold.CheckHasElements());
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
absl::Status Truth(KernelContext& context, const TruthCall<KernelArguments, kDims>& call) {
  const Fold fold = FoldOf(call.fold);
  const DType dtype = call.dtype;
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, dtype, fold.shape));
  FoldInto<bool>(fold, *out, kAll, [](bool a, bool b) { return kAll ? a && b : a || b; });
  return absl::OkStatus();
}

double SquaredDistance(double a, double b) { return (a - b) * (a - b); }
double SquaredDistance(std::complex<double> a, std::complex<double> b) { return std::norm(a - b); }

// Sum of squared distances from the mean, divided by count - correction (at least 0).
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
                    // A running mean, for which infinities give NaN as in PyTorch.
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
absl::Status Var(KernelContext& context, const VarCall<KernelArguments>& call) {
  const Fold fold = FoldOf(call.fold);
  const DType dtype = fold.self->dtype;
  ABSL_ASSIGN_OR_RETURN(const TensorView* var, OutputOf(context, 0, RealPart(dtype), fold.shape));
  const TensorView* mean = nullptr;
  if (kMean) {
    ABSL_ASSIGN_OR_RETURN(mean, OutputOf(context, 1, dtype, fold.shape));
  }
  return FillVariance(fold, call.correction, *var, mean);
}

// (sum of |x|^order)^(1/order). Order 0 counts nonzeros; infinite orders give the largest or
// smallest |x|.
absl::Status VectorNorm(KernelContext& context, const VectorNormCall<KernelArguments>& call) {
  const Fold fold = FoldOf(call.fold);
  const double order = call.order;
  const DType dtype = call.dtype;
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
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
    KernelRow<&Sum<DimsAre::kAll, false>>("aten.sum.default", "self dtype", "Sum", kReference),
    KernelRow<&Sum<DimsAre::kList, false>>("aten.sum.dim_IntList", "self dim keepdim dtype",
                                           "SumDims", kReference),
    KernelRow<&Sum<DimsAre::kAll, true>>("aten.prod.default", "self dtype", "Prod", kReference),
    KernelRow<&Sum<DimsAre::kOne, true>>("aten.prod.dim_int", "self dim keepdim dtype", "ProdDim",
                                         kReference),
    KernelRow<&Mean<DimsAre::kAll>>("aten.mean.default", "self dtype", "Mean", kReference),
    KernelRow<&Mean<DimsAre::kList>>("aten.mean.dim", "self dim keepdim dtype", "MeanDims",
                                     kReference),
    KernelRow<&FindExtreme<DimsAre::kList, true, kValue>>("aten.amax.default", "self dim keepdim",
                                                          "Amax", kReference),
    KernelRow<&FindExtreme<DimsAre::kList, false, kValue>>("aten.amin.default", "self dim keepdim",
                                                           "Amin", kReference),
    KernelRow<&FindExtreme<DimsAre::kAll, true, kValue>>("aten.max.default", "self", "Max",
                                                         kReference),
    KernelRow<&FindExtreme<DimsAre::kAll, false, kValue>>("aten.min.default", "self", "Min",
                                                          kReference),
    KernelRow<&FindExtreme<DimsAre::kOne, true, kBoth>>("aten.max.dim", "self dim keepdim -> 2",
                                                        "MaxDim", kReference),
    KernelRow<&FindExtreme<DimsAre::kOne, false, kBoth>>("aten.min.dim", "self dim keepdim -> 2",
                                                         "MinDim", kReference),
    KernelRow<&FindExtreme<DimsAre::kOptionalOne, true, kIndex>>(
        "aten.argmax.default", "self dim keepdim", "Argmax", kReference),
    KernelRow<&FindExtreme<DimsAre::kOptionalOne, false, kIndex>>(
        "aten.argmin.default", "self dim keepdim", "Argmin", kReference),
    KernelRow<&Truth<DimsAre::kAll, false>>("aten.any.default", "self", "Any", kReference),
    KernelRow<&Truth<DimsAre::kOne, false>>("aten.any.dim", "self dim keepdim", "AnyDim",
                                            kReference),
    KernelRow<&Truth<DimsAre::kExactList, false>>("aten.any.dims", "self dim keepdim", "AnyDims",
                                                  kReference),
    KernelRow<&Truth<DimsAre::kAll, true>>("aten.all.default", "self", "All", kReference),
    KernelRow<&Truth<DimsAre::kOne, true>>("aten.all.dim", "self dim keepdim", "AllDim",
                                           kReference),
    KernelRow<&Truth<DimsAre::kExactList, true>>("aten.all.dims", "self dim keepdim", "AllDims",
                                                 kReference),
    KernelRow<&Var<false>>("aten.var.dim", "self dim unbiased keepdim", "VarDim", kReference),
    KernelRow<&Var<false>>("aten.var.correction", "self dim correction keepdim", "Var", kReference),
    KernelRow<&Var<true>>("aten.var_mean.correction", "self dim correction keepdim -> 2", "VarMean",
                          kReference),
    KernelRow<&VectorNorm>("aten.linalg_vector_norm.default", "self ord dim keepdim dtype",
                           "VectorNorm", kReference),
};

}  // namespace

absl::Span<const Kernel> ReductionKernels() { return kKernels; }

}  // namespace belay
