// Kernels that quantize and dequantize per tensor, channel, row and group, by what works on the
// elements: one text for every engine. An engine has the static functions Quantize and Dequantize
// as declared here, Add like AddQuantized, and Copy like CopyElements.
#ifndef BELAY_RUNTIME_KERNELS_CALL_QUANTIZED_KERNELS_H_
#define BELAY_RUNTIME_KERNELS_CALL_QUANTIZED_KERNELS_H_

#include <cmath>
#include <cstdint>

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel/shape_rules/quantized.h"
#include "runtime/kernel/shape_rules/same_shape.h"
#include "runtime/kernels/call/element_access.h"
#include "runtime/kernels/call/operands.h"
#include "runtime/kernels/call/rounding.h"

namespace belay {

// A scale or a zero point: a number, or a tensor's elements over the dimensions of the input.
struct QuantizedParameter {
  DType dtype = DType::kFloat32;  // with which it takes part in promotion
  double value = 0;
  LoadFn<double> load = nullptr;  // null: `value`
  const void* data = nullptr;
  Strides strides;

  double operator()(int64_t offset) const { return load == nullptr ? value : load(data, offset); }
};

inline QuantizedParameter Number(double value, DType dtype, int rank) {
  return {dtype, value, nullptr, nullptr, Strides(rank, 0)};
}

// A tensor whose dimensions are aligned at the input's last; those of size 1 repeat.
inline QuantizedParameter Broadcast(const TensorView& t, int rank) {
  QuantizedParameter p = {t.dtype, 0, LoadAs<double>(t.dtype), t.data, Strides(rank, 0)};
  for (int d = 0; d < t.rank(); ++d) {
    if (t.sizes[d] != 1) p.strides[rank - t.rank() + d] = t.strides[d];
  }
  return p;
}

// One number per index of dimension `axis`, or one for all.
inline QuantizedParameter PerChannel(const TensorView& t, int rank, int axis) {
  QuantizedParameter p = {t.dtype, 0, LoadAs<double>(t.dtype), t.data, Strides(rank, 0)};
  if (t.sizes[0] != 1) p.strides[axis] = t.strides[0];
  return p;
}

// One number per group of a matrix seen as [rows, groups, elements].
inline QuantizedParameter PerGroup(const TensorView& t) {
  QuantizedParameter p = {t.dtype, 0, LoadAs<double>(t.dtype), t.data, Strides(3, 0)};
  if (t.numel() != 1) {
    p.strides[0] = t.strides[0];
    p.strides[1] = t.strides[1];
  }
  return p;
}

// A dtype in which floating point arithmetic on both is done; integers follow the other operand.
inline DType Promoted(DType a, DType b) {
  if (!IsFloatingPoint(b)) return a;
  if (!IsFloatingPoint(a)) return b;
  return PromoteTypes(a, b).value_or(DType::kFloat64);
}

// One call on elementwise operands: the input and the output over common sizes.
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

// Matrices seen as [rows, groups, elements].
inline QuantizedGrid GroupedGrid(const TensorView& input, const TensorView& output,
                                 int64_t groups) {
  const int64_t width = groups == 0 ? 0 : input.sizes[1] / groups;
  QuantizedGrid grid = {&input, &output, {input.sizes[0], groups, width}, {}, {}, {}, {}};
  grid.in = {input.strides[0], width * input.strides[1], input.strides[1]};
  grid.out = {output.strides[0], width * output.strides[1], output.strides[1]};
  return grid;
}

struct QuantizedRange {
  int64_t low = 0, high = 0;
};

// What quantizes a grid: round(input / scale) + zero_point in the range; or with `add_first`,
// round(input / scale + zero_point). And what dequantizes it: (input - zero_point) * scale, where
// `input_type` is the dtype in which the difference is taken, when it is not that of an integer.
void Quantize(const QuantizedGrid& grid, DType input_type, QuantizedRange range, bool add_first);
void Dequantize(const QuantizedGrid& grid, DType input_type);

// a + b, dequantized, added and quantized again in float32; of each of a, b and out a scale and a
// zero point.
struct QuantizedSum {
  const TensorView *a = nullptr, *b = nullptr, *out = nullptr;
  float scale[3] = {};
  int64_t zero_point[3] = {};
  QuantizedRange range;  // of the result
};
void AddQuantized(const QuantizedSum& sum);

// ---- Per tensor

// How scale and zero point (and quant_min, quant_max) are given.
enum class Given { kNumbers, kTensors, kTensorsAndRange };

template <class T>
absl::StatusOr<T> OnlyElement(const KernelContext& context, int i, std::string_view name) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* t, TensorOf(context, i, name, kRealTypes));
  ABSL_RETURN_IF_ERROR(CheckOneElement<CheckedInt>(name, ToDims(t->sizes)));
  return Reader<T>(*t)(0);
}

inline absl::StatusOr<QuantizedRange> RangeAt(const KernelContext& context, int i, Given given) {
  QuantizedRange range;
  if (given == Given::kTensorsAndRange) {
    ABSL_ASSIGN_OR_RETURN(range.low, OnlyElement<int64_t>(context, i, "quant_min"));
    ABSL_ASSIGN_OR_RETURN(range.high, OnlyElement<int64_t>(context, i + 1, "quant_max"));
  } else {
    ABSL_ASSIGN_OR_RETURN(range.low, context.Int(i));
    ABSL_ASSIGN_OR_RETURN(range.high, context.Int(i + 1));
  }
  return range;
}

// Sets the grid's parameters from arguments 1 and 2, which count as Python's numbers.
inline absl::Status SetTensorParameters(const KernelContext& context, Given given, DType dtype,
                                        QuantizedGrid& grid) {
  double scale = 0;
  int64_t zero_point = 0;
  if (given == Given::kNumbers) {
    ABSL_ASSIGN_OR_RETURN(scale, context.Double(1));
    ABSL_ASSIGN_OR_RETURN(zero_point, context.Int(2));
  } else {
    ABSL_ASSIGN_OR_RETURN(scale, OnlyElement<double>(context, 1, "scale"));
    ABSL_ASSIGN_OR_RETURN(zero_point, OnlyElement<int64_t>(context, 2, "zero_point"));
  }
  const int rank = grid.input->rank();
  grid.scale = Number(scale, dtype, rank);
  grid.zero_point = Number(RoundingTo(dtype)(static_cast<double>(zero_point)), DType::kInt64, rank);
  return absl::OkStatus();
}

template <class Engine, Given kGiven>
absl::Status QuantizePerTensor(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(6, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* input, TensorOf(context, 0, "input", kQuantizableTypes));
  ABSL_ASSIGN_OR_RETURN(const QuantizedRange range, RangeAt(context, 3, kGiven));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.Dtype(5));
  ABSL_RETURN_IF_ERROR(CheckQuantizedRange(dtype, range.low, range.high));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, dtype, *input));
  QuantizedGrid grid = GridOf(*input, *out);
  ABSL_RETURN_IF_ERROR(SetTensorParameters(context, kGiven, DType::kFloat32, grid));
  if (grid.scale(0) == 0) {  // of which Python does not take the inverse
    return absl::InvalidArgumentError("scale: expected a number other than 0");
  }
  Engine::Quantize(grid, DType::kFloat32, range, false);
  return absl::OkStatus();
}

// The dtype of a dequantized tensor: argument `i`, or float32.
inline absl::StatusOr<DType> FloatTypeAt(const KernelContext& context, int i) {
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(i, DType::kFloat32));
  if (kFloatTypes.contains(dtype)) return dtype;
  return absl::InvalidArgumentError(
      absl::StrCat("out_dtype: expected a floating point type, got ", DTypeName(dtype)));
}

// Argument 0, which has the quantized dtype that argument `i` names.
inline absl::StatusOr<const TensorView*> QuantizedInput(const KernelContext& context, int i) {
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.Dtype(i));
  ABSL_RETURN_IF_ERROR(QuantizedBounds(dtype).status());
  return TensorOf(context, 0, "input", dtype);
}

template <class Engine, Given kGiven>
absl::Status DequantizePerTensor(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(7, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* input, QuantizedInput(context, 5));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, FloatTypeAt(context, 6));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, dtype, *input));
  QuantizedGrid grid = GridOf(*input, *out);
  ABSL_RETURN_IF_ERROR(SetTensorParameters(context, kGiven, dtype, grid));
  // Tensors of at most single precision are multiplied by Python's number in single precision.
  if (dtype != DType::kFloat64) grid.scale.value = RoundVia<float>(grid.scale.value);
  Engine::Dequantize(grid, dtype);
  return absl::OkStatus();
}

// ---- Per channel

// Sets scale (argument 1) and zero point (2, perhaps none) along dimension `axis` (3).
inline absl::Status SetChannelParameters(const KernelContext& context, QuantizedGrid& grid) {
  const Dims<CheckedInt> dims = ToDims(grid.input->sizes);
  const int rank = grid.input->rank();
  ABSL_ASSIGN_OR_RETURN(const int64_t axis_argument, context.Int(3));
  ABSL_ASSIGN_OR_RETURN(const int axis, ChannelAxis<CheckedInt>(dims, axis_argument));
  ABSL_ASSIGN_OR_RETURN(const TensorView* scales, TensorOf(context, 1, "scales", kFloatTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorView* zero_points,
                        OptionalTensorOf(context, 2, "zero_points", kRealTypes));
  ABSL_RETURN_IF_ERROR(
      CheckChannelParameter<CheckedInt>("scales", ToDims(scales->sizes), dims, axis));
  grid.scale = PerChannel(*scales, rank, axis);
  if (zero_points == nullptr) {
    grid.zero_point = Number(0, DType::kInt64, rank);
    return absl::OkStatus();
  }
  ABSL_RETURN_IF_ERROR(
      CheckChannelParameter<CheckedInt>("zero_points", ToDims(zero_points->sizes), dims, axis));
  grid.zero_point = PerChannel(*zero_points, rank, axis);
  return absl::OkStatus();
}

template <class Engine>
absl::Status QuantizePerChannel(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(7, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* input, TensorOf(context, 0, "input", kQuantizableTypes));
  ABSL_RETURN_IF_ERROR(context.Tensor(2).status());
  ABSL_ASSIGN_OR_RETURN(const QuantizedRange range, RangeAt(context, 4, Given::kNumbers));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.Dtype(6));
  ABSL_RETURN_IF_ERROR(CheckQuantizedRange(dtype, range.low, range.high));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, dtype, *input));
  QuantizedGrid grid = GridOf(*input, *out);
  ABSL_RETURN_IF_ERROR(SetChannelParameters(context, grid));
  Engine::Quantize(grid, DType::kFloat32, range, false);
  return absl::OkStatus();
}

template <class Engine>
absl::Status DequantizePerChannel(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(8, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* input, QuantizedInput(context, 6));
  ABSL_ASSIGN_OR_RETURN(const QuantizedRange range, RangeAt(context, 4, Given::kNumbers));
  ABSL_RETURN_IF_ERROR(CheckQuantizedRange(input->dtype, range.low, range.high));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, FloatTypeAt(context, 7));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, dtype, *input));
  QuantizedGrid grid = GridOf(*input, *out);
  ABSL_RETURN_IF_ERROR(SetChannelParameters(context, grid));
  Engine::Dequantize(grid, input->dtype);
  return absl::OkStatus();
}

// ---- Per row ("token") and per group

inline absl::Status SetTokenParameters(const KernelContext& context, bool exact,
                                       QuantizedGrid& grid) {
  const Dims<CheckedInt> dims = ToDims(grid.input->sizes);
  const int rank = grid.input->rank();
  QuantizedParameter* const targets[] = {&grid.scale, &grid.zero_point};
  for (int i = 0; i < 2; ++i) {
    const std::string_view name = i == 0 ? "scales" : "zero_points";
    ABSL_ASSIGN_OR_RETURN(const TensorView* t,
                          TensorOf(context, i + 1, name, i == 0 ? kFloatTypes : kRealTypes));
    ABSL_RETURN_IF_ERROR(CheckTokenParameter<CheckedInt>(name, ToDims(t->sizes), dims));
    // Quantization wants as many numbers as there are rows.
    const int64_t width = grid.input->sizes.back();
    if (exact && width > 0 && t->numel() != grid.input->numel() / width) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": shape ", FormatSizes(t->sizes),
                                                     " has not one number for each of ",
                                                     grid.input->numel() / width, " rows"));
    }
    *targets[i] = Broadcast(*t, rank);
  }
  return absl::OkStatus();
}

template <class Engine>
absl::Status QuantizePerToken(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(6, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* input, TensorOf(context, 0, "input", kFloatTypes));
  ABSL_ASSIGN_OR_RETURN(const QuantizedRange range, RangeAt(context, 3, Given::kNumbers));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.Dtype(5));
  ABSL_RETURN_IF_ERROR(CheckQuantizedRange(dtype, range.low, range.high));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, dtype, *input));
  QuantizedGrid grid = GridOf(*input, *out);
  ABSL_RETURN_IF_ERROR(SetTokenParameters(context, true, grid));
  Engine::Quantize(grid, input->dtype, range, true);
  return absl::OkStatus();
}

template <class Engine>
absl::Status DequantizePerToken(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(7, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* input, TensorOf(context, 0, "input", kRealTypes));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, FloatTypeAt(context, 6));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, dtype, *input));
  QuantizedGrid grid = GridOf(*input, *out);
  ABSL_RETURN_IF_ERROR(SetTokenParameters(context, false, grid));
  Engine::Dequantize(grid, input->dtype);
  return absl::OkStatus();
}

// The grid of a matrix with scale (1) and zero point (2) per group.
inline absl::StatusOr<QuantizedGrid> GroupGrid(const KernelContext& context,
                                               const TensorView& input, const TensorView& out,
                                               int64_t group_size) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* scales, TensorOf(context, 1, "scales", kFloatTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorView* zero_points,
                        OptionalTensorOf(context, 2, "zero_points", kRealTypes));
  ABSL_ASSIGN_OR_RETURN(
      const CheckedInt groups,
      GroupCount<CheckedInt>(ToDims(input.sizes), ToDims(scales->sizes), group_size));
  ABSL_RETURN_IF_ERROR(
      CheckGroupParameter<CheckedInt>("scales", ToDims(scales->sizes), input.sizes[0], groups));
  QuantizedGrid grid = GroupedGrid(input, out, groups.value());
  grid.scale = PerGroup(*scales);
  grid.zero_point = Number(0, DType::kInt32, 3);
  if (zero_points != nullptr) {
    ABSL_RETURN_IF_ERROR(CheckGroupParameter<CheckedInt>("zero_points", ToDims(zero_points->sizes),
                                                         input.sizes[0], groups));
    grid.zero_point = PerGroup(*zero_points);
  }
  return grid;
}

template <class Engine>
absl::Status QuantizePerGroup(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(7, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* input, TensorOf(context, 0, "input", kFloatTypes));
  ABSL_RETURN_IF_ERROR(context.Tensor(2).status());
  ABSL_ASSIGN_OR_RETURN(const QuantizedRange range, RangeAt(context, 3, Given::kNumbers));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.Dtype(5));
  ABSL_RETURN_IF_ERROR(QuantizedBounds(dtype).status());
  ABSL_ASSIGN_OR_RETURN(const int64_t group_size, context.Int(6));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, dtype, *input));
  ABSL_ASSIGN_OR_RETURN(const QuantizedGrid grid, GroupGrid(context, *input, *out, group_size));
  const Reader<double> in(*input);
  for (StridedIterator<1> it(input->sizes, {input->strides}); !it.done(); it.Next()) {
    if (std::isnan(in(it.offset(0)))) {
      return absl::InvalidArgumentError("input: NaN can't be quantized");
    }
  }
  Engine::Quantize(grid, input->dtype, range, true);
  return absl::OkStatus();
}

template <class Engine>
absl::Status DequantizePerGroup(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(8, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* input, TensorOf(context, 0, "input", kRealTypes));
  ABSL_ASSIGN_OR_RETURN(const int64_t group_size, context.Int(6));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, FloatTypeAt(context, 7));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, dtype, *input));
  ABSL_ASSIGN_OR_RETURN(const QuantizedGrid grid, GroupGrid(context, *input, *out, group_size));
  Engine::Dequantize(grid, input->dtype);
  return absl::OkStatus();
}

// ---- Sums

// a + b, dequantized, added and quantized again in float32. With `kOut` the last argument is
// written to as well.
template <class Engine, bool kOut>
absl::Status QuantizedAdd(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(kOut ? 15 : 14, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* a, TensorOf(context, 0, "a", kQuantizedTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorView* b, TensorOf(context, 5, "b", a->dtype));
  ABSL_RETURN_IF_ERROR(CheckSameShape<CheckedInt>("b", ToDims(b->sizes), ToDims(a->sizes)));
  double scale[3];
  int64_t zero_point[3];
  QuantizedRange range[3];
  constexpr int kAt[] = {1, 6, 10};
  for (int i = 0; i < 3; ++i) {
    ABSL_ASSIGN_OR_RETURN(scale[i], context.Double(kAt[i]));
    ABSL_ASSIGN_OR_RETURN(zero_point[i], context.Int(kAt[i] + 1));
    ABSL_ASSIGN_OR_RETURN(range[i], RangeAt(context, kAt[i] + 2, Given::kNumbers));
    ABSL_RETURN_IF_ERROR(CheckQuantizedRange(a->dtype, range[i].low, range[i].high));
  }
  if (kOut) {
    ABSL_ASSIGN_OR_RETURN(const TensorView* target, TensorOf(context, 14, "out", a->dtype));
    ABSL_RETURN_IF_ERROR(
        CheckSameShape<CheckedInt>("out", ToDims(target->sizes), ToDims(a->sizes)));
  }
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, a->dtype, *a));
  QuantizedSum sum = {a, b, out, {}, {}, range[2]};
  for (int i = 0; i < 3; ++i) {
    sum.scale[i] = static_cast<float>(scale[i]);
    sum.zero_point[i] = zero_point[i];
  }
  Engine::Add(sum);
  if (!kOut) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(const TensorView* target, context.MutableTensor(14));
  return target->data == out->data ? absl::OkStatus() : Engine::Copy(*out, *target);
}

template <class Engine>
absl::Status ConvertElementType(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* input, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.Dtype(1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, dtype, *input));
  return Engine::Copy(*input, *out);
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_CALL_QUANTIZED_KERNELS_H_
