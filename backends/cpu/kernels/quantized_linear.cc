// belay_cpu::quantized_linear.
#include "backends/cpu/kernels/epilogue_of.h"
#include "backends/cpu/kernels/kernel_tables.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/operands/gemm_ranges.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/packed/quantized_gemm.h"

namespace belay::cpu {
namespace {

using Call = QuantizedLinearCall<KernelArguments>;

absl::Status QuantizedLinear(KernelContext& context, const Call& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_RETURN_IF_ERROR(ExpectContiguous("input", *call.input));
  ABSL_RETURN_IF_ERROR(ExpectContiguous("weight", *call.weight));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out,
                        OutputOf(context, 0, call.epilogue.ResultType(), shape));
  ABSL_RETURN_IF_ERROR(ExpectContiguous("result", *out));
  QuantizedGemmArgs g;
  ABSL_ASSIGN_OR_RETURN(g.epilogue, EpilogueOf(call.epilogue));
  if (out->numel() == 0) return absl::OkStatus();
  g.n = static_cast<size_t>(call.out_features);
  g.k = static_cast<size_t>(call.input->sizes[call.input->rank() - 1]);
  g.m = static_cast<size_t>(out->numel()) / g.n;
  g.a = call.input->as<const uint8_t>();
  g.lda = g.k;
  g.b = call.weight->as<const int8_t>();
  g.c = out->data;
  g.ldc = g.n;
  RunGemm(context, GemmSizeOf(g, kQuantizedTileRows, 2 * kQuantizedPanelColumns, kQuantizedWork),
          [&](int, size_t row, size_t end_row, size_t column, size_t end_column) {
            QuantizedGemmRange(g, row, end_row, column, end_column);
          });
  return absl::OkStatus();
}

bool Accepts(const KernelContext& context, const Call& call) { return call.Shape().ok(); }

constexpr OperatorFacts kFacts = {.work = {WorkRule::Kind::kMatmul, 0, 1},
                                  .flops = {FlopRule::Kind::kMatmul, "input"}};
constexpr Kernel kKernels[] = {
    KernelRow<&QuantizedLinear, &Accepts>(
        "belay_cpu.quantized_linear.default",
        "input weight scales weight_sums bias out_features input_zero_point activation low high "
        "inner_scale inner_range output_scale output_range",
        "QuantizedLinearPacked", KernelEngine::kHighway, &kFacts),
};

}  // namespace

absl::Span<const Kernel> QuantizedLinearKernels() { return kKernels; }

}  // namespace belay::cpu
