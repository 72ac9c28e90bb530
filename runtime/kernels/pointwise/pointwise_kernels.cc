// From calls to runs: which parts of strided operands are runs of floats.
#include <limits>
#include <string_view>

#include "runtime/core/status_macros.h"
#include "runtime/kernel/shape_rules/broadcast.h"
#include "runtime/kernels/pointwise/pointwise.h"
#include "runtime/kernels/reference/operands.h"

namespace belay {
namespace {

constexpr DTypeSet kF32 = {DType::kFloat32};

// --- Unary ---

struct Parameters {
  float a = 0, b = 0;
};

// Reads an operator's own arguments. Which ones it has, its schema says.
absl::StatusOr<Parameters> ParametersOf(const KernelContext& context, UnaryF32 fn) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Parameters p;
  if (fn == &ClampF32) {
    ABSL_RETURN_IF_ERROR(context.CheckArity(3, 1));
    if (context.is_none(1) && context.is_none(2)) {
      return absl::InvalidArgumentError("clamp: at least one of min and max must be given");
    }
    ABSL_ASSIGN_OR_RETURN(const double low, context.DoubleOr(1, -kInfinity));
    ABSL_ASSIGN_OR_RETURN(const double high, context.DoubleOr(2, kInfinity));
    return Parameters{static_cast<float>(low), static_cast<float>(high)};
  }
  if (fn == &HardtanhF32) {
    ABSL_RETURN_IF_ERROR(context.CheckArity(3, 1));
    ABSL_ASSIGN_OR_RETURN(const double low, context.Double(1));
    ABSL_ASSIGN_OR_RETURN(const double high, context.Double(2));
    if (low > high) return absl::InvalidArgumentError("hardtanh: min_val is above max_val");
    return Parameters{static_cast<float>(low), static_cast<float>(high)};
  }
  if (fn == &LeakyReluF32) {
    ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
    ABSL_ASSIGN_OR_RETURN(const double slope, context.Double(1));
    return Parameters{static_cast<float>(slope), 0};
  }
  if (fn == &GeluF32) {
    ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
    ABSL_ASSIGN_OR_RETURN(const std::string_view form, context.String(1));
    if (form != "none" && form != "tanh") {
      return absl::InvalidArgumentError("gelu: approximate must be 'none' or 'tanh'");
    }
    return Parameters{form == "tanh" ? 1.0f : 0.0f, 0};
  }
  ABSL_RETURN_IF_ERROR(context.CheckArity(1, 1));
  return p;
}

template <UnaryF32 kFn>
absl::Status RunUnary(KernelContext& context) {
  ABSL_ASSIGN_OR_RETURN(const Parameters p, ParametersOf(context, kFn));
  ABSL_ASSIGN_OR_RETURN(const TensorView* in, TensorOf(context, 0, "self", kF32));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kFloat32, *in));
  if (in->strides == out->strides && IsDense(in->sizes, in->strides)) {
    kFn(in->as<float>(), static_cast<size_t>(in->numel()), p.a, p.b, out->as<float>());
    return absl::OkStatus();
  }
  for (StridedIterator<2> it(in->sizes, {in->strides, out->strides}); !it.done(); it.Next()) {
    kFn(in->as<float>() + it.offset(0), 1, p.a, p.b, out->as<float>() + it.offset(1));
  }
  return absl::OkStatus();
}

bool AcceptsUnary(const KernelContext& context) {
  if (context.num_arguments() < 1 || context.num_outputs() != 1) return false;
  const TensorView* in = context.argument(0).get_if<TensorView>();
  const auto out = context.PlannedOutput(0);
  return in != nullptr && in->dtype == DType::kFloat32 && out.ok() &&
         (*out)->dtype == DType::kFloat32;
}

// --- Binary ---

// A tensor operand, or a number that lies in `number`.
struct Operand {
  const float* data = nullptr;
  Sizes sizes;
  Strides strides;
};

absl::StatusOr<Operand> OperandOf(const KernelContext& context, int i, float& number) {
  if (const TensorView* t = context.argument(i).get_if<TensorView>()) {
    ABSL_RETURN_IF_ERROR(TensorOf(context, i, i == 0 ? "self" : "other", kF32).status());
    return Operand{t->as<float>(), t->sizes, t->strides};
  }
  ABSL_ASSIGN_OR_RETURN(const double value, context.Double(i));
  number = static_cast<float>(value);
  return Operand{&number, {}, {}};
}

// Strides along the result's dimensions: 0 where the operand is repeated.
Strides BroadcastStrides(const Operand& operand, const Sizes& sizes) {
  Strides strides(sizes.size(), 0);
  const int shift = sizes.size() - operand.sizes.size();
  for (int d = 0; d < operand.sizes.size(); ++d) {
    if (operand.sizes[d] != 1) strides[d + shift] = operand.strides[d];
  }
  return strides;
}

template <BinaryF32 kFn>
absl::Status RunBinary(KernelContext& context) {
  if (context.num_outputs() != 1 || context.num_arguments() < 2 || context.num_arguments() > 3) {
    return absl::InvalidArgumentError("expected two operands, perhaps a factor, and one result");
  }
  float number = 0, alpha = 1;
  ABSL_ASSIGN_OR_RETURN(const Operand x, OperandOf(context, 0, number));
  ABSL_ASSIGN_OR_RETURN(const Operand y, OperandOf(context, 1, number));
  if (context.num_arguments() == 3) {
    ABSL_ASSIGN_OR_RETURN(const double factor, context.Double(2));
    alpha = static_cast<float>(factor);
  }
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> dims,
                        BroadcastShape<CheckedInt>(ToDims(x.sizes), ToDims(y.sizes)));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kFloat32, dims));
  const Strides xs = BroadcastStrides(x, out->sizes), ys = BroadcastStrides(y, out->sizes);
  if (xs == out->strides && ys == out->strides && IsDense(out->sizes, out->strides)) {
    kFn(x.data, 1, y.data, 1, static_cast<size_t>(out->numel()), alpha, out->as<float>());
    return absl::OkStatus();
  }
  // The longest run: trailing dimensions over which all three go on in step.
  Sizes outer = out->sizes;
  int64_t run = 1;
  int64_t x_step = 0, y_step = 0;
  for (int d = outer.size() - 1; d >= 0; --d) {
    const int64_t size = outer[d];
    if (size != 1) {
      if (run == 1) {
        if (out->strides[d] != 1 || (xs[d] != 0 && xs[d] != 1) || (ys[d] != 0 && ys[d] != 1)) break;
        x_step = xs[d];
        y_step = ys[d];
      } else if (out->strides[d] != run || xs[d] != run * x_step || ys[d] != run * y_step) {
        break;
      }
      run *= size;
      outer[d] = 1;
    }
  }
  if (run == 0) return absl::OkStatus();
  for (StridedIterator<3> it(outer, {xs, ys, out->strides}); !it.done(); it.Next()) {
    kFn(x.data + it.offset(0), static_cast<size_t>(x_step), y.data + it.offset(1),
        static_cast<size_t>(y_step), static_cast<size_t>(run), alpha,
        out->as<float>() + it.offset(2));
  }
  return absl::OkStatus();
}

bool AcceptsBinary(const KernelContext& context) {
  if (context.num_arguments() < 2 || context.num_arguments() > 3 || context.num_outputs() != 1)
    return false;
  const TensorView* x = context.argument(0).get_if<TensorView>();
  const auto out = context.PlannedOutput(0);
  if (x == nullptr || x->dtype != DType::kFloat32 || !out.ok() || (*out)->dtype != DType::kFloat32)
    return false;
  if (const TensorView* y = context.argument(1).get_if<TensorView>())
    return y->dtype == DType::kFloat32;
  const EValue& number = context.argument(1);
  return number.is<int64_t>() || number.is<double>() || number.is<bool>();
}

constexpr Kernel kKernels[] = {
#define BELAY_UNARY_KERNEL(op, fn, max_ulp) \
  {op, #fn, KernelEngine::kHighway, &RunUnary<&fn>, &AcceptsUnary},
#define BELAY_BINARY_KERNEL(op, fn, max_ulp) \
  {op, #fn, KernelEngine::kHighway, &RunBinary<&fn>, &AcceptsBinary},
#include "runtime/kernels/pointwise/kernels.inc"
};

}  // namespace

absl::Span<const Kernel> PointwiseKernels() { return kKernels; }

}  // namespace belay
