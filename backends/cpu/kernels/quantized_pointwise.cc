// belay_cpu::quantized_add and belay_cpu::lookup.
#include "backends/cpu/kernels/epilogue_of.h"
#include "backends/cpu/kernels/kernel_tables.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernels/element_copy/channels_last.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/packed/byte_table.h"
#include "runtime/kernels/packed/quantized_add.h"

namespace belay::cpu {
namespace {

using AddCall = QuantizedAddCall<KernelArguments>;
using TableCall = LookupCall<KernelArguments>;

absl::Status Add(KernelContext& context, const AddCall& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kUint8, *call.a));
  const auto expect = call.a->rank() == 4 ? &ExpectChannelsLast : &ExpectContiguous;
  ABSL_RETURN_IF_ERROR(expect("a", *call.a));
  ABSL_RETURN_IF_ERROR(expect("b", *call.b));
  ABSL_RETURN_IF_ERROR(expect("result", *out));
  QuantizedAddArgs g;
  g.a = call.a->as<const uint8_t>();
  g.b = call.b->as<const uint8_t>();
  g.out = out->as<uint8_t>();
  g.a_scale = static_cast<float>(call.a_scale);
  g.b_scale = static_cast<float>(call.b_scale);
  g.a_zero_point = call.a_zero_point;
  g.b_zero_point = call.b_zero_point;
  g.inverse_scale = call.output.inverse_scale();
  g.zero_point = call.output.zero_point;
  g.quant_min = call.output.quant_min;
  g.quant_max = call.output.quant_max;
  constexpr int64_t kStep = 1024;
  constexpr double kWork = 3;  // of a sum, relative to a multiply-add
  RunRanges(context, out->numel(), kStep, kWork * static_cast<double>(out->numel()),
            [&](int, int64_t first, int64_t last) {
              QuantizedAdd(g, static_cast<size_t>(first), static_cast<size_t>(last));
            });
  return absl::OkStatus();
}

absl::Status Lookup(KernelContext& context, const TableCall& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  ABSL_RETURN_IF_ERROR(ExpectContiguous("table", *call.table));
  const TensorView& in = *call.input;
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kUint8, in));
  if (!IsDense(in.sizes, in.strides) || !HasStrides(*out, in.strides)) {
    return absl::InvalidArgumentError(
        absl::StrCat("input: expected a dense tensor with the layout of the result, ",
                     out->ToString(), ", got ", in.ToString()));
  }
  const uint8_t *from = in.as<const uint8_t>(), *table = call.table->as<const uint8_t>();
  uint8_t* to = out->as<uint8_t>();
  constexpr int64_t kStep = 1024;
  RunRanges(context, in.numel(), kStep, static_cast<double>(in.numel()),
            [&](int, int64_t first, int64_t last) {
              LookupBytes(table, from + first, to + first, static_cast<size_t>(last - first));
            });
  return absl::OkStatus();
}

bool AcceptsTable(const KernelContext& context, const TableCall& call) {
  return call.CheckShapes().ok();
}
bool AcceptsAdd(const KernelContext& context, const AddCall& call) {
  return call.CheckShapes().ok();
}

constexpr Kernel kKernels[] = {
    KernelRow<&Add, &AcceptsAdd>(
        "belay_cpu.quantized_add.default",
        "a b a_scale a_zero_point b_scale b_zero_point output_scale output_range",
        "QuantizedAddTogether", KernelEngine::kHighway),
    KernelRow<&Lookup, &AcceptsTable>("belay_cpu.lookup.default", "input table", "LookupBytes",
                                      KernelEngine::kHighway),
};

}  // namespace

absl::Span<const Kernel> QuantizedPointwiseKernels() { return kKernels; }

}  // namespace belay::cpu
