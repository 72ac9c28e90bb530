// Gradients of layer and group normalization, in double precision.
//
// With y = (x - mean) * rstd * weight + bias over slices of n elements, and g = dy * weight:
//   dx = rstd * (g - sum(g) / n - (x - mean) * rstd * sum(g * (x - mean) * rstd) / n)
//   dweight = sum(dy * (x - mean) * rstd), dbias = sum(dy), over all that share the weight.

#include <cstdint>

#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/norm.h"
#include "runtime/kernels/operands/element_access.h"
#include "runtime/kernels/operands/norm_parameters.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

// The three outputs; null if excluded by the mask.
struct Gradients {
  const TensorView* input = nullptr;
  const TensorView* weight = nullptr;
  const TensorView* bias = nullptr;
};

absl::StatusOr<Gradients> GradientsOf(KernelContext& context, uint32_t mask,
                                      const TensorView& input, DType dtype,
                                      absl::Span<const CheckedInt> parameters) {
  Gradients gradients;
  const TensorView** const slots[] = {&gradients.input, &gradients.weight, &gradients.bias};
  for (int i = 0; i < 3; ++i) {
    if ((mask >> i & 1) == 0) {
      context.SetScalarOutput(i, None{});
    } else if (i == 0) {
      ABSL_ASSIGN_OR_RETURN(*slots[i], OutputOf(context, i, input.dtype, input));
    } else {
      ABSL_ASSIGN_OR_RETURN(*slots[i], OutputOf(context, i, dtype, parameters));
    }
  }
  return gradients;
}

// Sums over a slice, for dx.
struct SliceSums {
  double g = 0, g_x = 0, count = 0;
  void Add(double g_value, double x) {
    g += g_value;
    g_x += g_value * x;
    ++count;
  }
  // dx of one element, from its `g_value` and its normalized `x`.
  double Gradient(double g_value, double x, double rstd) const {
    return rstd * (g_value - g / count - x * g_x / count);
  }
};

absl::Status LayerNormBackward(KernelContext& context,
                               const LayerNormBackwardCall<KernelArguments>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  const TensorView *const grad = call.grad_out, *const input = call.input, *const mean = call.mean,
                          *const rstd = call.rstd, *const weight = call.weight;
  ABSL_ASSIGN_OR_RETURN(const Sizes normalized, ToSizes(call.normalized_shape));
  ABSL_ASSIGN_OR_RETURN(
      const Gradients out,
      GradientsOf(context, call.output_mask, *input, call.parameter_dtype, call.normalized_shape));

  const int leading = input->rank() - normalized.size();
  const uint32_t tail = ~uint32_t{0} << leading;
  const Sizes rows = SelectDims(input->sizes, 0, tail);
  const Strides grad_rows = SelectDims(grad->strides, 0, tail);
  const Strides input_rows = SelectDims(input->strides, 0, tail);
  const Strides mean_rows = SelectDims(mean->strides, 0, tail);
  const Strides rstd_rows = SelectDims(rstd->strides, 0, tail);
  const Strides grad_row = SelectDims(grad->strides, leading);
  const Strides input_row = SelectDims(input->strides, leading);
  const Reader<double> dy(*grad), x(*input), read_mean(*mean), read_rstd(*rstd);
  const LayerReader scale(weight, normalized.size(), 1);

  if (out.input != nullptr) {
    const Writer<double> write(*out.input);
    const Strides out_rows = SelectDims(out.input->strides, 0, tail);
    const Strides out_row = SelectDims(out.input->strides, leading);
    for (StridedIterator<5> row(rows, {grad_rows, input_rows, mean_rows, rstd_rows, out_rows});
         !row.done(); row.Next()) {
      const double m = read_mean(row.offset(2)), r = read_rstd(row.offset(3));
      SliceSums sums;
      for (StridedIterator<3> it(normalized, {grad_row, input_row, scale.strides}); !it.done();
           it.Next()) {
        sums.Add(dy(row.offset(0) + it.offset(0)) * scale(it.offset(2)),
                 (x(row.offset(1) + it.offset(1)) - m) * r);
      }
      for (StridedIterator<4> it(normalized, {grad_row, input_row, scale.strides, out_row});
           !it.done(); it.Next()) {
        const double g = dy(row.offset(0) + it.offset(0)) * scale(it.offset(2));
        const double normal = (x(row.offset(1) + it.offset(1)) - m) * r;
        write(row.offset(4) + it.offset(3), sums.Gradient(g, normal, r));
      }
    }
  }
  // Each parameter's gradient is a sum over all rows.
  const auto fill = [&](const TensorView* target, bool of_weight) {
    if (target == nullptr) return;
    const Writer<double> write(*target);
    for (StridedIterator<3> it(normalized, {grad_row, input_row, target->strides}); !it.done();
         it.Next()) {
      double sum = 0;
      for (StridedIterator<4> row(rows, {grad_rows, input_rows, mean_rows, rstd_rows}); !row.done();
           row.Next()) {
        const double g = dy(row.offset(0) + it.offset(0));
        const double centered = x(row.offset(1) + it.offset(1)) - read_mean(row.offset(2));
        sum += of_weight ? g * centered * read_rstd(row.offset(3)) : g;
      }
      write(it.offset(2), sum);
    }
  };
  fill(out.weight, true);
  fill(out.bias, false);
  return absl::OkStatus();
}

absl::Status GroupNormBackward(KernelContext& context,
                               const GroupNormBackwardCall<KernelArguments>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  const TensorView *const grad = call.grad_out, *const input = call.input, *const mean = call.mean,
                          *const rstd = call.rstd, *const weight = call.weight;
  const int64_t n = call.n.value(), channels = call.channels.value(), groups = call.groups;
  ABSL_ASSIGN_OR_RETURN(const Gradients out,
                        GradientsOf(context, call.output_mask, *input, call.parameter_dtype,
                                    absl::MakeConstSpan(&call.channels, 1)));

  const int64_t per_group = channels / groups;
  const Sizes plane = SelectDims(input->sizes, 2);
  const Strides grad_plane = SelectDims(grad->strides, 2);
  const Strides input_plane = SelectDims(input->strides, 2);
  const Reader<double> dy(*grad), x(*input), read_mean(*mean), read_rstd(*rstd);
  const OptionalVector scale(weight, 1);
  const auto mean_at = [&](int64_t i, int64_t g) {
    return read_mean(i * mean->strides[0] + g * mean->strides[1]);
  };
  const auto rstd_at = [&](int64_t i, int64_t g) {
    return read_rstd(i * rstd->strides[0] + g * rstd->strides[1]);
  };
  // Calls fn(dy, x, position in the plane) for each element of a channel.
  const auto visit = [&](int64_t i, int64_t c, const Strides& third, auto&& fn) {
    const int64_t g_base = i * grad->strides[0] + c * grad->strides[1];
    const int64_t x_base = i * input->strides[0] + c * input->strides[1];
    for (StridedIterator<3> it(plane, {grad_plane, input_plane, third}); !it.done(); it.Next()) {
      fn(dy(g_base + it.offset(0)), x(x_base + it.offset(1)), it.offset(2));
    }
  };
  const bool empty = input->numel() == 0;  // any number of channels
  if (out.input != nullptr && !empty) {
    const Writer<double> write(*out.input);
    const Strides out_plane = SelectDims(out.input->strides, 2);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t g = 0; g < groups; ++g) {
        const double m = mean_at(i, g), r = rstd_at(i, g);
        SliceSums sums;
        for (int64_t c = g * per_group; c < (g + 1) * per_group; ++c) {
          visit(i, c, out_plane, [&](double grad_value, double value, int64_t) {
            sums.Add(grad_value * scale[c], (value - m) * r);
          });
        }
        for (int64_t c = g * per_group; c < (g + 1) * per_group; ++c) {
          const int64_t to = i * out.input->strides[0] + c * out.input->strides[1];
          visit(i, c, out_plane, [&](double grad_value, double value, int64_t at) {
            write(to + at, sums.Gradient(grad_value * scale[c], (value - m) * r, r));
          });
        }
      }
    }
  }
  const auto fill = [&](const TensorView* target, bool of_weight) {
    if (target == nullptr) return;
    const Writer<double> write(*target);
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t g = c / per_group;
      double sum = 0;
      for (int64_t i = 0; i < n && !empty; ++i) {
        const double m = mean_at(i, g), r = rstd_at(i, g);
        visit(i, c, grad_plane, [&](double grad_value, double value, int64_t) {
          sum += of_weight ? grad_value * (value - m) * r : grad_value;
        });
      }
      write(c * target->strides[0], sum);
    }
  };
  fill(out.weight, true);
  fill(out.bias, false);
  return absl::OkStatus();
}

constexpr Kernel kKernels[] = {
    KernelRow<&LayerNormBackward>(
        "aten.native_layer_norm_backward.default",
        "grad_out input normalized_shape mean rstd weight bias output_mask -> 3",
        "LayerNormBackward", KernelEngine::kReference),
    KernelRow<&GroupNormBackward>("aten.native_group_norm_backward.default",
                                  "grad_out input mean rstd weight N C HxW group output_mask -> 3",
                                  "GroupNormBackward", KernelEngine::kReference),
};

}  // namespace

absl::Span<const Kernel> NormBackwardKernels() { return kKernels; }

}  // namespace belay
