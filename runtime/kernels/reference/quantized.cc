// Quantisation and its inverse, per tensor, channel, row and group.
//
// Bits matter here: each arithmetic step is rounded to the dtype in which PyTorch's definition
// (torch/ao/quantization/fx/_decomposed.py) takes it.

#include <cmath>
#include <cstdint>

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel/shape_rules/quantized.h"
#include "runtime/kernel/shape_rules/same_shape.h"
#include "runtime/kernels/reference/element_access.h"
#include "runtime/kernels/reference/families.h"
#include "runtime/kernels/reference/operands.h"
#include "runtime/kernels/reference/rounding.h"

namespace belay {
namespace {

// A scale or a zero point: a number, or a tensor's elements over the dimensions of the input.
struct Parameter {
  DType dtype = DType::kFloat32;  // with which it takes part in promotion
  double value = 0;
  LoadFn<double> load = nullptr;  // null: `value`
  const void* data = nullptr;
  Strides strides;

  double operator()(int64_t offset) const { return load == nullptr ? value : load(data, offset); }
};

Parameter Number(double value, DType dtype, int rank) {
  return {dtype, value, nullptr, nullptr, Strides(rank, 0)};
}

// A tensor whose dimensions are aligned at the input's last; those of size 1 repeat.
Parameter Broadcast(const TensorView& t, int rank) {
  Parameter p = {t.dtype, 0, LoadAs<double>(t.dtype), t.data, Strides(rank, 0)};
  for (int d = 0; d < t.rank(); ++d) {
    if (t.sizes[d] != 1) p.strides[rank - t.rank() + d] = t.strides[d];
  }
  return p;
}

// One number per index of dimension `axis`, or one for all.
Parameter PerChannel(const TensorView& t, int rank, int axis) {
  Parameter p = {t.dtype, 0, LoadAs<double>(t.dtype), t.data, Strides(rank, 0)};
  if (t.sizes[0] != 1) p.strides[axis] = t.strides[0];
  return p;
}

// One number per group of a matrix seen as [rows, groups, elements].
Parameter PerGroup(const TensorView& t) {
  Parameter p = {t.dtype, 0, LoadAs<double>(t.dtype), t.data, Strides(3, 0)};
  if (t.numel() != 1) {
    p.strides[0] = t.strides[0];
    p.strides[1] = t.strides[1];
  }
  return p;
}

// A dtype in which floating point arithmetic on both is done; integers follow the other operand.
DType Promoted(DType a, DType b) {
  if (!IsFloatingPoint(b)) return a;
  if (!IsFloatingPoint(a)) return b;
  return PromoteTypes(a, b).value_or(DType::kFloat64);
}

// One call on elementwise operands: the input and the output over common sizes.
struct Grid {
  const TensorView* input = nullptr;
  const TensorView* output = nullptr;
  Sizes sizes;
  Strides in, out;
  Parameter scale, zero_point;
};

Grid GridOf(const TensorView& input, const TensorView& output) {
  return {&input, &output, input.sizes, input.strides, output.strides, {}, {}};
}

// Matrices seen as [rows, groups, elements].
Grid GroupedGrid(const TensorView& input, const TensorView& output, int64_t groups) {
  const int64_t width = groups == 0 ? 0 : input.sizes[1] / groups;
  Grid grid = {&input, &output, {input.sizes[0], groups, width}, {}, {}, {}, {}};
  grid.in = {input.strides[0], width * input.strides[1], input.strides[1]};
  grid.out = {output.strides[0], width * output.strides[1], output.strides[1]};
  return grid;
}

struct Range {
  int64_t low = 0, high = 0;
};

// round(input / scale) + zero_point in the range; or with `add_first`, round(input / scale +
// zero_point).
void Quantize(const Grid& grid, DType input_type, Range range, bool add_first) {
  const DType product_type = Promoted(input_type, grid.scale.dtype);
  const DType sum_type = Promoted(product_type, grid.zero_point.dtype);
  const RoundFn round_inverse = RoundingTo(grid.scale.dtype);
  const RoundFn round_product = RoundingTo(product_type), round_sum = RoundingTo(sum_type);
  const double low = round_sum(static_cast<double>(range.low));
  const double high = round_sum(static_cast<double>(range.high));
  const Reader<double> in(*grid.input);
  const Writer<double> write(*grid.output);
  for (StridedIterator<4> it(grid.sizes,
                             {grid.in, grid.out, grid.scale.strides, grid.zero_point.strides});
       !it.done(); it.Next()) {
    const double inverse = round_inverse(1 / grid.scale(it.offset(2)));
    const double zero_point = grid.zero_point(it.offset(3));
    double q = round_product(in(it.offset(0)) * inverse);
    q = add_first ? std::nearbyint(round_sum(q + zero_point))
                  : round_sum(std::nearbyint(q) + zero_point);
    if (q < low) q = low;
    if (q > high) q = high;
    write(it.offset(1), q);
  }
}

// (input - zero_point) * scale. `input_type` is the dtype in which the difference is taken, when it
// is not that of an integer.
void Dequantize(const Grid& grid, DType input_type) {
  const DType difference_type = Promoted(input_type, grid.zero_point.dtype);
  const RoundFn round_input = RoundingTo(input_type);
  const RoundFn round_difference = RoundingTo(difference_type);
  const RoundFn round_product = RoundingTo(Promoted(difference_type, grid.scale.dtype));
  const Reader<double> in(*grid.input);
  const Writer<double> write(*grid.output);
  for (StridedIterator<4> it(grid.sizes,
                             {grid.in, grid.out, grid.scale.strides, grid.zero_point.strides});
       !it.done(); it.Next()) {
    const double x = round_input(in(it.offset(0)));
    write(it.offset(1), round_product(round_difference(x - grid.zero_point(it.offset(3))) *
                                      grid.scale(it.offset(2))));
  }
}

// ---- Per tensor

// How scale and zero point (and quant_min, quant_max) are given.
enum class Given { kNumbers, kTensors, kTensorsAndRange };

template <class T>
absl::StatusOr<T> OnlyElement(const KernelContext& context, int i, std::string_view name) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* t, TensorOf(context, i, name, kRealTypes));
  ABSL_RETURN_IF_ERROR(CheckOneElement<CheckedInt>(name, ToDims(t->sizes)));
  return Reader<T>(*t)(0);
}

absl::StatusOr<Range> RangeAt(const KernelContext& context, int i, Given given) {
  Range range;
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
absl::Status SetTensorParameters(const KernelContext& context, Given given, DType dtype,
                                 Grid& grid) {
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

template <Given kGiven>
absl::Status QuantizePerTensor(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(6, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* input, TensorOf(context, 0, "input", kQuantizableTypes));
  ABSL_ASSIGN_OR_RETURN(const Range range, RangeAt(context, 3, kGiven));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.Dtype(5));
  ABSL_RETURN_IF_ERROR(CheckQuantizedRange(dtype, range.low, range.high));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, dtype, *input));
  Grid grid = GridOf(*input, *out);
  ABSL_RETURN_IF_ERROR(SetTensorParameters(context, kGiven, DType::kFloat32, grid));
  Quantize(grid, DType::kFloat32, range, false);
  return absl::OkStatus();
}

// The dtype of a dequantised tensor: argument `i`, or float32.
absl::StatusOr<DType> FloatTypeAt(const KernelContext& context, int i) {
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(i, DType::kFloat32));
  if (kFloatTypes.contains(dtype)) return dtype;
  return absl::InvalidArgumentError(
      absl::StrCat("out_dtype: expected a floating point type, got ", DTypeName(dtype)));
}

// Argument 0, which has the quantised dtype that argument `i` names.
absl::StatusOr<const TensorView*> QuantizedInput(const KernelContext& context, int i) {
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.Dtype(i));
  ABSL_RETURN_IF_ERROR(QuantizedBounds(dtype).status());
  return TensorOf(context, 0, "input", dtype);
}

template <Given kGiven>
absl::Status DequantizePerTensor(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(7, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* input, QuantizedInput(context, 5));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, FloatTypeAt(context, 6));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, dtype, *input));
  Grid grid = GridOf(*input, *out);
  ABSL_RETURN_IF_ERROR(SetTensorParameters(context, kGiven, dtype, grid));
  Dequantize(grid, dtype);
  return absl::OkStatus();
}

// ---- Per channel

// Sets scale (argument 1) and zero point (2, perhaps none) along dimension `axis` (3).
absl::Status SetChannelParameters(const KernelContext& context, Grid& grid) {
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

absl::Status QuantizePerChannel(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(7, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* input, TensorOf(context, 0, "input", kQuantizableTypes));
  ABSL_RETURN_IF_ERROR(context.Tensor(2).status());
  ABSL_ASSIGN_OR_RETURN(const Range range, RangeAt(context, 4, Given::kNumbers));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.Dtype(6));
  ABSL_RETURN_IF_ERROR(CheckQuantizedRange(dtype, range.low, range.high));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, dtype, *input));
  Grid grid = GridOf(*input, *out);
  ABSL_RETURN_IF_ERROR(SetChannelParameters(context, grid));
  Quantize(grid, DType::kFloat32, range, false);
  return absl::OkStatus();
}

absl::Status DequantizePerChannel(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(8, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* input, QuantizedInput(context, 6));
  ABSL_ASSIGN_OR_RETURN(const Range range, RangeAt(context, 4, Given::kNumbers));
  ABSL_RETURN_IF_ERROR(CheckQuantizedRange(input->dtype, range.low, range.high));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, FloatTypeAt(context, 7));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, dtype, *input));
  Grid grid = GridOf(*input, *out);
  ABSL_RETURN_IF_ERROR(SetChannelParameters(context, grid));
  Dequantize(grid, input->dtype);
  return absl::OkStatus();
}

// Quantised and dequantised again, in float32, with a division by the scale.
absl::Status FakeQuantPerChannel(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(6, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* input, TensorOf(context, 0, "input", DType::kFloat32));
  ABSL_RETURN_IF_ERROR(context.Tensor(2).status());
  ABSL_ASSIGN_OR_RETURN(const Range range, RangeAt(context, 4, Given::kNumbers));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kFloat32, *input));
  Grid grid = GridOf(*input, *out);
  ABSL_RETURN_IF_ERROR(SetChannelParameters(context, grid));
  const RoundFn round = RoundingTo(DType::kFloat32);
  const double low = round(static_cast<double>(range.low));
  const double high = round(static_cast<double>(range.high));
  const Reader<double> in(*input);
  const Writer<double> write(*out);
  for (StridedIterator<4> it(grid.sizes,
                             {grid.in, grid.out, grid.scale.strides, grid.zero_point.strides});
       !it.done(); it.Next()) {
    const double scale = round(grid.scale(it.offset(2)));
    const double zero_point = std::trunc(grid.zero_point(it.offset(3)));
    double q = round(std::nearbyint(round(in(it.offset(0)) / scale)) + zero_point);
    if (q < low) q = low;
    if (q > high) q = high;
    write(it.offset(1), round(q - zero_point) * scale);
  }
  return absl::OkStatus();
}

// ---- Per row ("token") and per group

absl::Status SetTokenParameters(const KernelContext& context, bool exact, Grid& grid) {
  const Dims<CheckedInt> dims = ToDims(grid.input->sizes);
  const int rank = grid.input->rank();
  Parameter* const targets[] = {&grid.scale, &grid.zero_point};
  for (int i = 0; i < 2; ++i) {
    const std::string_view name = i == 0 ? "scales" : "zero_points";
    ABSL_ASSIGN_OR_RETURN(const TensorView* t,
                          TensorOf(context, i + 1, name, i == 0 ? kFloatTypes : kRealTypes));
    ABSL_RETURN_IF_ERROR(CheckTokenParameter<CheckedInt>(name, ToDims(t->sizes), dims));
    // Quantisation wants as many numbers as there are rows.
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

absl::Status QuantizePerToken(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(6, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* input, TensorOf(context, 0, "input", kFloatTypes));
  ABSL_ASSIGN_OR_RETURN(const Range range, RangeAt(context, 3, Given::kNumbers));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.Dtype(5));
  ABSL_RETURN_IF_ERROR(CheckQuantizedRange(dtype, range.low, range.high));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, dtype, *input));
  Grid grid = GridOf(*input, *out);
  ABSL_RETURN_IF_ERROR(SetTokenParameters(context, true, grid));
  Quantize(grid, input->dtype, range, true);
  return absl::OkStatus();
}

absl::Status DequantizePerToken(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(7, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* input, TensorOf(context, 0, "input", kRealTypes));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, FloatTypeAt(context, 6));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, dtype, *input));
  Grid grid = GridOf(*input, *out);
  ABSL_RETURN_IF_ERROR(SetTokenParameters(context, false, grid));
  Dequantize(grid, input->dtype);
  return absl::OkStatus();
}

// The grid of a matrix with scale (1) and zero point (2) per group.
absl::StatusOr<Grid> GroupGrid(const KernelContext& context, const TensorView& input,
                               const TensorView& out, int64_t group_size) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* scales, TensorOf(context, 1, "scales", kFloatTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorView* zero_points,
                        OptionalTensorOf(context, 2, "zero_points", kRealTypes));
  ABSL_ASSIGN_OR_RETURN(
      const CheckedInt groups,
      GroupCount<CheckedInt>(ToDims(input.sizes), ToDims(scales->sizes), group_size));
  ABSL_RETURN_IF_ERROR(
      CheckGroupParameter<CheckedInt>("scales", ToDims(scales->sizes), input.sizes[0], groups));
  Grid grid = GroupedGrid(input, out, groups.value());
  grid.scale = PerGroup(*scales);
  grid.zero_point = Number(0, DType::kInt32, 3);
  if (zero_points != nullptr) {
    ABSL_RETURN_IF_ERROR(CheckGroupParameter<CheckedInt>("zero_points", ToDims(zero_points->sizes),
                                                         input.sizes[0], groups));
    grid.zero_point = PerGroup(*zero_points);
  }
  return grid;
}

absl::Status QuantizePerGroup(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(7, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* input, TensorOf(context, 0, "input", kFloatTypes));
  ABSL_RETURN_IF_ERROR(context.Tensor(2).status());
  ABSL_ASSIGN_OR_RETURN(const Range range, RangeAt(context, 3, Given::kNumbers));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.Dtype(5));
  ABSL_RETURN_IF_ERROR(QuantizedBounds(dtype).status());
  ABSL_ASSIGN_OR_RETURN(const int64_t group_size, context.Int(6));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, dtype, *input));
  ABSL_ASSIGN_OR_RETURN(const Grid grid, GroupGrid(context, *input, *out, group_size));
  const Reader<double> in(*input);
  for (StridedIterator<1> it(input->sizes, {input->strides}); !it.done(); it.Next()) {
    if (std::isnan(in(it.offset(0)))) {
      return absl::InvalidArgumentError("input: NaN can't be quantised");
    }
  }
  Quantize(grid, input->dtype, range, true);
  return absl::OkStatus();
}

absl::Status DequantizePerGroup(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(8, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* input, TensorOf(context, 0, "input", kRealTypes));
  ABSL_ASSIGN_OR_RETURN(const int64_t group_size, context.Int(6));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, FloatTypeAt(context, 7));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, dtype, *input));
  ABSL_ASSIGN_OR_RETURN(const Grid grid, GroupGrid(context, *input, *out, group_size));
  Dequantize(grid, input->dtype);
  return absl::OkStatus();
}

// ---- The rest

absl::Status ConvertElementType(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* input, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.Dtype(1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, dtype, *input));
  return CopyElements(*input, *out);
}

// a + b, dequantised, added and quantised again in float32. With `kOut` the last argument is
// written to as well.
template <bool kOut>
absl::Status QuantizedAdd(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(kOut ? 15 : 14, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* a, TensorOf(context, 0, "a", kQuantizedTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorView* b, TensorOf(context, 5, "b", a->dtype));
  ABSL_RETURN_IF_ERROR(CheckSameShape<CheckedInt>("b", ToDims(b->sizes), ToDims(a->sizes)));
  double scale[3];
  int64_t zero_point[3];
  Range range[3];
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
  const Reader<double> read_a(*a), read_b(*b);
  const Writer<double> write(*out);
  const auto dequantize = [&](int i, double q) {
    return static_cast<float>(q - static_cast<double>(zero_point[i])) *
           static_cast<float>(scale[i]);
  };
  const float inverse = 1.0f / static_cast<float>(scale[2]);
  for (StridedIterator<3> it(a->sizes, {a->strides, b->strides, out->strides}); !it.done();
       it.Next()) {
    const float sum = dequantize(0, read_a(it.offset(0))) + dequantize(1, read_b(it.offset(1)));
    double q = static_cast<double>(zero_point[2]) + std::nearbyint(inverse * sum);
    if (q < static_cast<double>(range[2].low)) q = static_cast<double>(range[2].low);
    if (q > static_cast<double>(range[2].high)) q = static_cast<double>(range[2].high);
    write(it.offset(2), q);
  }
  if (!kOut) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(const TensorView* target, context.MutableTensor(14));
  return target->data == out->data ? absl::OkStatus() : CopyElements(*out, *target);
}

constexpr KernelEngine kReference = KernelEngine::kReference;

constexpr Kernel kKernels[] = {
    {"quantized_decomposed.quantize_per_tensor.default", "QuantizePerTensor", kReference,
     &QuantizePerTensor<Given::kNumbers>},
    {"quantized_decomposed.quantize_per_tensor.tensor", "QuantizePerTensorTensor", kReference,
     &QuantizePerTensor<Given::kTensors>},
    {"quantized_decomposed.quantize_per_tensor.tensor2", "QuantizePerTensorTensor2", kReference,
     &QuantizePerTensor<Given::kTensorsAndRange>},
    {"quantized_decomposed.dequantize_per_tensor.default", "DequantizePerTensor", kReference,
     &DequantizePerTensor<Given::kNumbers>},
    {"quantized_decomposed.dequantize_per_tensor.tensor", "DequantizePerTensorTensor", kReference,
     &DequantizePerTensor<Given::kTensors>},
    {"quantized_decomposed.dequantize_per_tensor.tensor2", "DequantizePerTensorTensor2", kReference,
     &DequantizePerTensor<Given::kTensorsAndRange>},
    {"quantized_decomposed.quantize_per_channel.default", "QuantizePerChannel", kReference,
     &QuantizePerChannel},
    {"quantized_decomposed.dequantize_per_channel.default", "DequantizePerChannel", kReference,
     &DequantizePerChannel},
    {"quantized_decomposed.fake_quant_per_channel.default", "FakeQuantPerChannel", kReference,
     &FakeQuantPerChannel},
    {"quantized_decomposed.quantize_per_token.default", "QuantizePerToken", kReference,
     &QuantizePerToken},
    {"quantized_decomposed.dequantize_per_token.default", "DequantizePerToken", kReference,
     &DequantizePerToken},
    {"quantized_decomposed.quantize_per_channel_group.default", "QuantizePerGroup", kReference,
     &QuantizePerGroup},
    {"quantized_decomposed.dequantize_per_channel_group.default", "DequantizePerGroup", kReference,
     &DequantizePerGroup},
    {"quantized_decomposed.convert_element_type.no_fuse", "ConvertElementType", kReference,
     &ConvertElementType},
    {"quantized_decomposed.add.default", "QuantizedAdd", kReference, &QuantizedAdd<false>},
    {"quantized_decomposed.add.out", "QuantizedAddOut", kReference, &QuantizedAdd<true>},
};

}  // namespace

absl::Span<const Kernel> QuantizedKernels() { return kKernels; }

}  // namespace belay
