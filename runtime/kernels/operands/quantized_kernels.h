// Kernels that quantize and dequantize per tensor, channel, row and group, shared by all engines
// and parameterized by the loops over elements. An engine has the static functions Quantize and
// Dequantize as declared here, Add like AddQuantized, and Copy like CopyElements.
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_QUANTIZED_KERNELS_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_QUANTIZED_KERNELS_H_

#include <cmath>
#include <cstdint>

#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/quantization.h"
#include "runtime/kernels/operands/element_access.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/rounding.h"

namespace belay {

// Scale or zero point: a scalar, or a tensor broadcast over the dimensions of the input.
struct QuantizedParameter {
  DType dtype = DType::kFloat32;  // dtype for type promotion
  double value = 0;
  LoadFn<double> load = nullptr;  // null: `value`
  const void* data = nullptr;
  Strides strides;

  double operator()(int64_t offset) const { return load == nullptr ? value : load(data, offset); }
};

inline QuantizedParameter Number(double value, DType dtype, int rank) {
  return {dtype, value, nullptr, nullptr, Strides(rank, 0)};
}

// Broadcasts a tensor whose dimensions are aligned with the input's last ones. Dimensions of size 1
// repeat.
inline QuantizedParameter Broadcast(const TensorView& t, int rank) {
  QuantizedParameter p = {t.dtype, 0, LoadAs<double>(t.dtype), t.data, Strides(rank, 0)};
  for (int d = 0; d < t.rank(); ++d) {
    if (t.sizes[d] != 1) p.strides[rank - t.rank() + d] = t.strides[d];
  }
  return p;
}

// One value per index of dimension `axis`, or one for all.
inline QuantizedParameter PerChannel(const TensorView& t, int rank, int axis) {
  QuantizedParameter p = {t.dtype, 0, LoadAs<double>(t.dtype), t.data, Strides(rank, 0)};
  if (t.sizes[0] != 1) p.strides[axis] = t.strides[0];
  return p;
}

// One value per group of a matrix viewed as [rows, groups, elements].
inline QuantizedParameter PerGroup(const TensorView& t) {
  QuantizedParameter p = {t.dtype, 0, LoadAs<double>(t.dtype), t.data, Strides(3, 0)};
  if (t.numel() != 1) {
    p.strides[0] = t.strides[0];
    p.strides[1] = t.strides[1];
  }
  return p;
}

// Returns the dtype for floating-point arithmetic on both. An integer dtype follows the other
// operand.
inline DType Promoted(DType a, DType b) {
  if (!IsFloatingPoint(b)) return a;
  if (!IsFloatingPoint(a)) return b;
  return PromoteTypes(a, b).value_or(DType::kFloat64);
}

// Elementwise operands of a call: input and output with common sizes.
struct QuantizedGrid {
  const TensorView* input = nullptr;
  const TensorView* output = nullptr;
  Sizes sizes;
  Strides in, out;
  QuantizedParameter scale, zero_point;
};

inline QuantizedGrid GridOf(const TensorView& input, const TensorView& output) {
  return {&input, &output, input.sizes, input.strides, output.strides, {}, {}};
}

// Views matrices as [rows, groups, elements].
inline QuantizedGrid GroupedGrid(const TensorView& input, const TensorView& output,
                                 int64_t groups) {
  const int64_t width = groups == 0 ? 0 : input.sizes[1] / groups;
  QuantizedGrid grid = {&input, &output, {input.sizes[0], groups, width}, {}, {}, {}, {}};
  grid.in = {input.strides[0], width * input.strides[1], input.strides[1]};
  grid.out = {output.strides[0], width * output.strides[1], output.strides[1]};
  return grid;
}

// Reference loops over a grid. `input_type` is the dtype in which scale and zero point are applied,
// unless it is an integer dtype.
//
//   Quantize:               clamp(round(input / scale) + zero_point, range)
//   Quantize, add_first:    clamp(round(input / scale + zero_point), range)
//   Dequantize:             (input - zero_point) * scale
void Quantize(const QuantizedGrid& grid, DType input_type, QuantizedRange range, bool add_first);
void Dequantize(const QuantizedGrid& grid, DType input_type);

// Quantized a + b, computed in float32: dequantize, add, quantize. Index 0 of `scale` and
// `zero_point` is that of a, 1 of b, 2 of out.
struct QuantizedSum {
  const TensorView *a = nullptr, *b = nullptr, *out = nullptr;
  float scale[3] = {};
  int64_t zero_point[3] = {};
  QuantizedRange range;  // of the result
};
void AddQuantized(const QuantizedSum& sum);

// ---- Per tensor

template <Given kGiven>
void SetTensorParameters(const TensorParameters<KernelArguments, kGiven>& call, DType dtype,
                         QuantizedGrid& grid) {
  double scale = call.scale;
  int64_t zero_point = call.zero_point;
  if (kGiven != Given::kNumbers) {
    scale = Reader<double>(*call.scale_tensor)(0);
    zero_point = Reader<int64_t>(*call.zero_point_tensor)(0);
  }
  // Scalars take part in type promotion as Python numbers do.
  const int rank = grid.input->rank();
  grid.scale = Number(scale, dtype, rank);
  grid.zero_point = Number(RoundingTo(dtype)(static_cast<double>(zero_point)), DType::kInt64, rank);
}

template <class Engine, Given kGiven>
absl::Status QuantizePerTensor(KernelContext& context,
                               const QuantizePerTensorCall<KernelArguments, kGiven>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  QuantizedRange range = call.range;
  if (kGiven == Given::kTensorsAndRange) {
    range = {Reader<int64_t>(*call.quant_min_tensor)(0),
             Reader<int64_t>(*call.quant_max_tensor)(0)};
    ABSL_RETURN_IF_ERROR(CheckQuantizedRange(call.dtype, range.low, range.high));
  }
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, call.dtype, *call.input));
  QuantizedGrid grid = GridOf(*call.input, *out);
  SetTensorParameters(call, DType::kFloat32, grid);
  ABSL_RETURN_IF_ERROR(call.CheckScale(grid.scale(0)));
  Engine::Quantize(grid, DType::kFloat32, range, false);
  return absl::OkStatus();
}

template <class Engine, Given kGiven>
absl::Status DequantizePerTensor(KernelContext& context,
                                 const DequantizePerTensorCall<KernelArguments, kGiven>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, call.dtype, *call.input));
  QuantizedGrid grid = GridOf(*call.input, *out);
  SetTensorParameters(call, call.dtype, grid);
  // PyTorch multiplies tensors of at most single precision by a Python number in single precision.
  if (call.dtype != DType::kFloat64) grid.scale.value = RoundVia<float>(grid.scale.value);
  Engine::Dequantize(grid, call.dtype);
  return absl::OkStatus();
}

// ---- Per channel

// Grid of a per-channel call over the input and `out`.
inline absl::StatusOr<QuantizedGrid> ChannelGrid(const ChannelParameters<KernelArguments>& call,
                                                 const TensorView& out) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  const int rank = call.input->rank();
  QuantizedGrid grid = GridOf(*call.input, out);
  grid.scale = PerChannel(*call.scales, rank, call.axis);
  grid.zero_point = call.zero_points == nullptr ? Number(0, DType::kInt64, rank)
                                                : PerChannel(*call.zero_points, rank, call.axis);
  return grid;
}

template <class Engine>
absl::Status QuantizePerChannel(KernelContext& context,
                                const QuantizePerChannelCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, call.dtype, *call.input));
  ABSL_ASSIGN_OR_RETURN(const QuantizedGrid grid, ChannelGrid(call, *out));
  Engine::Quantize(grid, DType::kFloat32, call.range, false);
  return absl::OkStatus();
}

template <class Engine>
absl::Status DequantizePerChannel(KernelContext& context,
                                  const DequantizePerChannelCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, call.dtype, *call.input));
  ABSL_ASSIGN_OR_RETURN(const QuantizedGrid grid, ChannelGrid(call, *out));
  Engine::Dequantize(grid, call.input->dtype);
  return absl::OkStatus();
}

// ---- Per row ("token") and per group

inline QuantizedGrid TokenGrid(const TokenParameters<KernelArguments>& call,
                               const TensorView& out) {
  QuantizedGrid grid = GridOf(*call.input, out);
  grid.scale = Broadcast(*call.scales, call.input->rank());
  grid.zero_point = Broadcast(*call.zero_points, call.input->rank());
  return grid;
}

template <class Engine>
absl::Status QuantizePerToken(KernelContext& context,
                              const QuantizePerTokenCall<KernelArguments>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, call.dtype, *call.input));
  Engine::Quantize(TokenGrid(call, *out), call.input->dtype, call.range, true);
  return absl::OkStatus();
}

template <class Engine>
absl::Status DequantizePerToken(KernelContext& context,
                                const DequantizePerTokenCall<KernelArguments>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, call.dtype, *call.input));
  Engine::Dequantize(TokenGrid(call, *out), call.input->dtype);
  return absl::OkStatus();
}

inline absl::StatusOr<QuantizedGrid> GroupGrid(const GroupParameters<KernelArguments>& call,
                                               const TensorView& out) {
  ABSL_ASSIGN_OR_RETURN(const CheckedInt groups, call.Groups());
  QuantizedGrid grid = GroupedGrid(*call.input, out, groups.value());
  grid.scale = PerGroup(*call.scales);
  grid.zero_point =
      call.zero_points == nullptr ? Number(0, DType::kInt32, 3) : PerGroup(*call.zero_points);
  return grid;
}

template <class Engine>
absl::Status QuantizePerGroup(KernelContext& context,
                              const QuantizePerGroupCall<KernelArguments>& call) {
  const TensorView* const input = call.input;
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, call.dtype, *input));
  ABSL_ASSIGN_OR_RETURN(const QuantizedGrid grid, GroupGrid(call, *out));
  const Reader<double> in(*input);
  for (StridedIterator<1> it(input->sizes, {input->strides}); !it.done(); it.Next()) {
    if (std::isnan(in(it.offset(0)))) {
      return absl::InvalidArgumentError("input: NaN can't be quantized");
    }
  }
  Engine::Quantize(grid, input->dtype, call.range, true);
  return absl::OkStatus();
}

template <class Engine>
absl::Status DequantizePerGroup(KernelContext& context,
                                const DequantizePerGroupCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, call.dtype, *call.input));
  ABSL_ASSIGN_OR_RETURN(const QuantizedGrid grid, GroupGrid(call, *out));
  Engine::Dequantize(grid, call.input->dtype);
  return absl::OkStatus();
}

// ---- The rest

template <class Engine>
absl::Status QuantizedAdd(KernelContext& context, const QuantizedAddCall<KernelArguments>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  const TensorView* const a = call.input;
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, a->dtype, *a));
  QuantizedSum sum = {a, call.b, out, {}, {}, call.range[2]};
  for (int i = 0; i < 3; ++i) {
    sum.scale[i] = static_cast<float>(call.scale[i]);
    sum.zero_point[i] = call.zero_point[i];
  }
  Engine::Add(sum);
  if (call.out == nullptr) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(const TensorView* target, context.MutableTensor(call.target));
  return target->data == out->data ? absl::OkStatus() : Engine::Copy(*out, *target);
}

template <class Engine>
absl::Status ConvertElementType(KernelContext& context,
                                const ConvertElementTypeCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, call.dtype, *call.input));
  return Engine::Copy(*call.input, *out);
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_QUANTIZED_KERNELS_H_
