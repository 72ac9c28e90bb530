// belay_cpu::linear.
#include "backends/cpu/kernels/epilogue_of.h"
#include "backends/cpu/kernels/kernel_tables.h"
#include "backends/cpu/kernels/product.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/packed/packed_gemm.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay::cpu {
namespace {

using Call = LinearCall<KernelArguments>;

int64_t FeaturesOf(const Call& call) { return call.input->sizes[call.input->rank() - 1]; }

absl::Status Linear(KernelContext& context, const Call& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_RETURN_IF_ERROR(ExpectContiguous("input", *call.input));
  ABSL_RETURN_IF_ERROR(ExpectContiguous("weight", *call.weight));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kFloat32, shape));
  ABSL_RETURN_IF_ERROR(ExpectContiguous("result", *out));
  ABSL_ASSIGN_OR_RETURN(const EpilogueF32 epilogue, EpilogueOf(call.epilogue, *out));
  if (out->numel() == 0) return absl::OkStatus();
  return RunRowProduct(context, LinearProduct(*call.input, *call.weight, epilogue, *out));
}

bool Accepts(const KernelContext& context, const Call& call) { return call.Shape().ok(); }

uint64_t ScratchBytes(const KernelContext& context, const Call& call) {
  return RowProductScratch<float>(context, FeaturesOf(call));
}

constexpr OperatorFacts kFacts = {.work = {WorkRule::Kind::kMatmul, 0, 1},
                                  .flops = {FlopRule::Kind::kMatmul, "input"}};
constexpr Kernel kKernels[] = {
    KernelRow<&Linear, &Accepts, &ScratchBytes>(
        "belay_cpu.linear.default",
        "input weight bias other out_features activation combine low high", "LinearPacked",
        KernelEngine::kHighway, &kFacts),
};

}  // namespace

absl::Span<const Kernel> LinearKernels() { return kKernels; }

}  // namespace belay::cpu
