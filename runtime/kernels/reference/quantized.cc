// Quantization and dequantization per tensor, channel, row and group.
//
// Results are bit-exact: each arithmetic step is rounded to the dtype of PyTorch's definition
// (torch/ao/quantization/fx/_decomposed.py).

#include <cmath>
#include <cstdint>

#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/quantization.h"
#include "runtime/kernels/operands/element_access.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/quantized_kernels.h"
#include "runtime/kernels/operands/rounding.h"
#include "runtime/kernels/reference/families.h"

namespace belay {

void Quantize(const QuantizedGrid& grid, DType input_type, QuantizedRange range, bool add_first) {
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

void Dequantize(const QuantizedGrid& grid, DType input_type) {
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

void AddQuantized(const QuantizedSum& sum) {
  const Reader<double> read_a(*sum.a), read_b(*sum.b);
  const Writer<double> write(*sum.out);
  const auto dequantize = [&](int i, double q) {
    return static_cast<float>(q - static_cast<double>(sum.zero_point[i])) * sum.scale[i];
  };
  const float inverse = 1.0f / sum.scale[2];
  const double low = static_cast<double>(sum.range.low), high = static_cast<double>(sum.range.high);
  for (StridedIterator<3> it(sum.a->sizes, {sum.a->strides, sum.b->strides, sum.out->strides});
       !it.done(); it.Next()) {
    const float x = dequantize(0, read_a(it.offset(0))) + dequantize(1, read_b(it.offset(1)));
    double q = static_cast<double>(sum.zero_point[2]) + std::nearbyint(inverse * x);
    if (q < low) q = low;
    if (q > high) q = high;
    write(it.offset(2), q);
  }
}

namespace {

struct Engine {
  static void Quantize(const QuantizedGrid& grid, DType type, QuantizedRange range,
                       bool add_first) {
    belay::Quantize(grid, type, range, add_first);
  }
  static void Dequantize(const QuantizedGrid& grid, DType type) { belay::Dequantize(grid, type); }
  static void Add(const QuantizedSum& sum) { belay::AddQuantized(sum); }
  static absl::Status Copy(const TensorView& from, const TensorView& to) {
    return CopyElements(from, to);
  }
};

// Quantizes and dequantizes in float32, with a division by the scale.
absl::Status FakeQuantPerChannel(KernelContext& context,
                                 const FakeQuantPerChannelCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kFloat32, *call.input));
  ABSL_ASSIGN_OR_RETURN(const QuantizedGrid grid, ChannelGrid(call, *out));
  const RoundFn round = RoundingTo(DType::kFloat32);
  const double low = round(static_cast<double>(call.range.low));
  const double high = round(static_cast<double>(call.range.high));
  const Reader<double> in(*call.input);
  const Writer<double> write(*out);
  for (StridedIterator<4> it(grid.sizes,
                             {grid.in, grid.out, grid.scale.strides, grid.zero_point.strides});
       !it.done(); it.Next()) {
    const double scale = round(grid.scale(it.offset(2)));
    const double zero_point = std::trunc(grid.zero_point(it.offset(3)));
    const double inverse = round(1 / scale);
    double q = round(std::nearbyint(round(in(it.offset(0)) * inverse)) + zero_point);
    if (q < low) q = low;
    if (q > high) q = high;
    write(it.offset(1), round(q - zero_point) * scale);
  }
  return absl::OkStatus();
}

constexpr KernelEngine kReference = KernelEngine::kReference;

constexpr Kernel kKernels[] = {
#define BELAY_QUANTIZED_KERNEL(op, signature, name, run) \
  KernelRow<run>(op, signature, name, kReference),
#include "runtime/kernels/operands/quantized_kernels.inc"
    KernelRow<&FakeQuantPerChannel>("quantized_decomposed.fake_quant_per_channel.default",
                                    "input scales zero_points axis quant_min quant_max",
                                    "FakeQuantPerChannel", kReference),
};

}  // namespace

absl::Span<const Kernel> QuantizedKernels() { return kKernels; }

}  // namespace belay
