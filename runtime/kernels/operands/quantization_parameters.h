// Computation of scales and zero points, shared by all engines and parameterized by the function
// that finds the extent of a slice. An engine has the static function
//
//   Extent ExtentOf(const TensorView& input, int64_t base, const Sizes& sizes,
//                   const Strides& strides);
//
// over the elements with these sizes and strides, from element `base` of the input on.
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_QUANTIZATION_PARAMETERS_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_QUANTIZATION_PARAMETERS_H_

#include <cmath>
#include <cstdint>
#include <limits>

#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/quantization.h"
#include "runtime/kernels/operands/element_access.h"
#include "runtime/kernels/operands/fold.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/rounding.h"

namespace belay {

// Minimum and maximum of a slice and 0. Unspecified if `nan`: the slice has a NaN.
struct Extent {
  double low = 0, high = 0;
  bool nan = false;
};

// Computes scale and zero point of a whole tensor.
template <class Engine, bool kSymmetric>
absl::Status ChooseParameters(KernelContext& context,
                              const ChooseParametersCall<KernelArguments>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  const TensorView* const input = call.input;
  const CheckedInt one = 1;
  ABSL_ASSIGN_OR_RETURN(const TensorView* scale_out,
                        OutputOf(context, 0, DType::kFloat64, absl::MakeConstSpan(&one, 1)));
  ABSL_ASSIGN_OR_RETURN(const TensorView* zero_point_out,
                        OutputOf(context, 1, DType::kInt64, absl::MakeConstSpan(&one, 1)));
  const Extent extent = Engine::ExtentOf(*input, 0, input->sizes, input->strides);
  if (extent.nan) return absl::InvalidArgumentError("input: expected numbers, got NaN");

  const RoundFn round = RoundingTo(input->dtype), round32 = RoundingTo(DType::kFloat32);
  // In double: the difference of two int64 may overflow int64.
  const double low = static_cast<double>(call.range.low);
  const double high = static_cast<double>(call.range.high);
  const double steps = high - low;
  const double wide =
      kSymmetric ? std::fmax(-extent.low, extent.high) : round(extent.high - extent.low);
  const double scale = std::fmax(round(wide / (kSymmetric ? steps / 2 : steps)), round32(call.eps));
  double zero_point = 0;
  if (!kSymmetric) {
    zero_point = low - std::nearbyint(round32(extent.low / scale));
    zero_point = std::fmin(std::fmax(zero_point, low), high);
  } else if (call.dtype == DType::kUint8) {
    zero_point = 128;
  }
  Writer<double> write_scale(*scale_out), write_zero_point(*zero_point_out);
  write_scale(0, scale);
  write_zero_point(0, zero_point);
  return absl::OkStatus();
}

// Fold over the last dimension. Fails if that dimension is missing or has no elements.
template <class Call>
absl::StatusOr<Fold> TokenRows(const Call& call) {
  ABSL_RETURN_IF_ERROR(call.Shape().status());
  return FoldOneDim(*call.input, call.input->rank() - 1);
}

// Symmetric int8 parameters per row: the largest magnitude of each row maps to 127.
template <class Engine>
absl::Status ChoosePerToken(KernelContext& context,
                            const ChoosePerTokenCall<KernelArguments, true>& call) {
  const TensorView* const input = call.input;
  ABSL_ASSIGN_OR_RETURN(const Fold fold, TokenRows(call));
  const DType type = input->dtype == DType::kFloat16 ? DType::kFloat32 : input->dtype;
  ABSL_ASSIGN_OR_RETURN(const TensorView* scales, OutputOf(context, 0, type, fold.shape));
  ABSL_ASSIGN_OR_RETURN(const TensorView* zero_points, OutputOf(context, 1, type, fold.shape));
  const RoundFn round = RoundingTo(type);
  const Writer<double> write_scale(*scales), write_zero_point(*zero_points);
  ForEachResult(fold, *scales, *zero_points, [&](int64_t base, int64_t scale_at, int64_t zero_at) {
    const Extent extent = Engine::ExtentOf(*input, base, fold.folded, fold.folded_strides);
    const double largest = extent.nan ? std::numeric_limits<double>::quiet_NaN()
                                      : std::fmax(round(1e-5), std::fmax(-extent.low, extent.high));
    write_scale(scale_at, largest / 127);
    write_zero_point(zero_at, 0);
  });
  return absl::OkStatus();
}

struct RowParameters {
  double scale = 1, zero_point = 0;
};

// Asymmetric int8 parameters of a row, computed as in XNNPACK. `round` rounds to the row's dtype.
// NaN for a row with NaN; the zero point is NaN for one with infinities.
inline RowParameters AsymmetricRowParameters(Extent extent, RoundFn round) {
  constexpr double kLow = -128, kHigh = 127;
  if (extent.nan) extent.low = extent.high = std::numeric_limits<double>::quiet_NaN();
  double scale = round(round(extent.high - extent.low) / (kHigh - kLow));
  const double eps = round(std::numeric_limits<float>::epsilon());
  if (scale < eps) scale = eps;
  const double low = round(extent.low / scale), high = round(extent.high / scale);
  const bool from_low = round(round(kLow + low) + round(kHigh + high)) > 0;
  double zero_point = from_low ? round(kLow - low) : round(kHigh - high);
  if (zero_point < kLow) zero_point = kLow;
  if (zero_point > kHigh) zero_point = kHigh;
  return {scale, std::nearbyint(zero_point)};
}

// Asymmetric int8 parameters per row.
template <class Engine>
absl::Status ChoosePerTokenAsymmetric(KernelContext& context,
                                      const ChoosePerTokenCall<KernelArguments, false>& call) {
  const TensorView* const input = call.input;
  ABSL_ASSIGN_OR_RETURN(const Fold fold, TokenRows(call));
  ABSL_ASSIGN_OR_RETURN(const TensorView* scales,
                        OutputOf(context, 0, DType::kFloat64, fold.shape));
  ABSL_ASSIGN_OR_RETURN(const TensorView* zero_points,
                        OutputOf(context, 1, DType::kInt64, fold.shape));
  const RoundFn round = RoundingTo(input->dtype);
  const Writer<double> write_scale(*scales), write_zero_point(*zero_points);
  ForEachResult(fold, *scales, *zero_points, [&](int64_t base, int64_t scale_at, int64_t zero_at) {
    const Extent extent = Engine::ExtentOf(*input, base, fold.folded, fold.folded_strides);
    const RowParameters parameters = AsymmetricRowParameters(extent, round);
    write_scale(scale_at, parameters.scale);
    write_zero_point(zero_at, parameters.zero_point);
  });
  return absl::OkStatus();
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_QUANTIZATION_PARAMETERS_H_
