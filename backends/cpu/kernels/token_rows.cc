// belay_cpu::rms_norm and belay_cpu::rotary_embedding.
#include "runtime/kernels/packed/token_rows.h"

#include <cstdint>

#include "backends/cpu/kernels/epilogue_of.h"
#include "backends/cpu/kernels/kernel_tables.h"
#include "backends/cpu/kernels/rows.h"
#include "backends/cpu/token_calls.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/operands/operands.h"

namespace belay::cpu {
namespace {

using NormCall = RmsNormCall<KernelArguments>;
using RotaryCall = RotaryEmbeddingCall<KernelArguments>;

// Returns the result of a call that keeps its input's shape. Both must be row-major.
template <class Call>
absl::StatusOr<const TensorView*> ResultOf(KernelContext& context, const Call& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_RETURN_IF_ERROR(ExpectContiguous("input", *call.input));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kFloat32, shape));
  ABSL_RETURN_IF_ERROR(ExpectContiguous("result", *out));
  return out;
}

absl::Status RmsNorm(KernelContext& context, const NormCall& call) {
  if (call.weight != nullptr) ABSL_RETURN_IF_ERROR(ExpectContiguous("weight", *call.weight));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, ResultOf(context, call));
  if (out->numel() == 0) return absl::OkStatus();
  const int64_t n = out->sizes[out->rank() - 1];
  const float* in = call.input->as<const float>();
  const float* weight = call.weight == nullptr ? nullptr : call.weight->as<const float>();
  RunRows(context, out->numel() / n, static_cast<double>(out->numel()),
          [&](int64_t first, int64_t last) {
            RmsNormRows(in + first * n, weight, static_cast<float>(call.eps),
                        static_cast<size_t>(last - first), static_cast<size_t>(n),
                        out->as<float>() + first * n);
          });
  return absl::OkStatus();
}

// Returns the offset of the angles of a row.
int64_t AnglesOf(const TensorView& angles, const Sizes& sizes, int64_t row) {
  int64_t offset = 0;
  const int lead = sizes.size() - angles.rank();
  for (int d = sizes.size() - 2; d >= lead; --d) {
    const int64_t index = row % sizes[d];
    row /= sizes[d];
    if (angles.sizes[d - lead] != 1) offset += index * angles.strides[d - lead];
  }
  return offset;
}

absl::Status Rotary(KernelContext& context, const RotaryCall& call) {
  ABSL_RETURN_IF_ERROR(ExpectContiguous("cosine", *call.cosine));
  ABSL_RETURN_IF_ERROR(ExpectContiguous("sine", *call.sine));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, ResultOf(context, call));
  if (out->numel() == 0) return absl::OkStatus();
  const int64_t n = out->sizes[out->rank() - 1], half = n / 2;
  const int64_t angles = call.cosine->sizes[call.cosine->rank() - 1];
  RunRows(context, out->numel() / n, static_cast<double>(out->numel()),
          [&](int64_t first, int64_t last) {
            for (int64_t row = first; row < last; ++row) {
              const int64_t at = AnglesOf(*call.cosine, out->sizes, row);
              RotateRow(call.input->as<const float>() + row * n,
                        call.cosine->as<const float>() + at, call.sine->as<const float>() + at,
                        static_cast<size_t>(half), static_cast<size_t>(angles - half),
                        out->as<float>() + row * n);
            }
          });
  return absl::OkStatus();
}

template <class Call>
bool Accepts(const KernelContext& context, const Call& call) {
  return call.Shape().ok();
}

constexpr Kernel kKernels[] = {
    KernelRow<&RmsNorm, &Accepts<NormCall>>("belay_cpu.rms_norm.default", "input weight eps",
                                            "RmsNormRows", KernelEngine::kHighway),
    KernelRow<&Rotary, &Accepts<RotaryCall>>("belay_cpu.rotary_embedding.default",
                                             "input cosine sine", "RotaryEmbeddingRows",
                                             KernelEngine::kHighway),
};

}  // namespace

absl::Span<const Kernel> TokenRowKernels() { return kKernels; }

}  // namespace belay::cpu
