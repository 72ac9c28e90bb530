#include <algorithm>
#include <cstdint>

#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernels/element_copy/convert_run.h"
#include "runtime/kernels/llama/llama.h"
#include "runtime/kernels/operands/llama.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/ranges.h"

namespace belay {
namespace {

using Call = HadamardCall<KernelArguments>;

// Multiplies each of `columns` columns of 28 elements by H28. `sums` has room for as many elements.
void Multiply28(float* rows, int64_t columns, float* sums) {
  for (int r = 0; r < 28; ++r) {
    float* const to = sums + r * columns;
    std::fill(to, to + columns, 0.0f);
    for (int c = 0; c < 28; ++c) {
      const float sign = HadamardSign28(r, c) ? -1.0f : 1.0f;
      const float* const from = rows + c * columns;
      for (int64_t i = 0; i < columns; ++i) to[i] += sign * from[i];
    }
  }
  std::copy(sums, sums + 28 * columns, rows);
}

// Working memory per thread: a row, and its product with H28.
constexpr int64_t kRows = 2;

absl::Status Hadamard(KernelContext& context, const Call& call) {
  const TensorView& in = *call.mat;
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, in.dtype, in));
  const int64_t count = in.numel();
  if (count == 0) return absl::OkStatus();
  const int64_t size = in.sizes.back();
  const HadamardSize split = *HadamardSize::Of(size);  // CheckShapes() has checked it
  ABSL_ASSIGN_OR_RETURN(float* scratch, ScratchArray<float>(context, CheckedInt(size) * kRows *
                                                                         context.num_threads()));
  const double work = static_cast<double>(count) * (16 + 28.0 * (split.blocks > 1));
  RunRanges(context, count / size, 1, work, [&](int part, int64_t first, int64_t last) {
    float* const row = scratch + part * kRows * size;
    for (int64_t r = first; r < last; ++r) {
      const int64_t offset = r * size * static_cast<int64_t>(DTypeSize(in.dtype));
      LoadFloats(in.dtype, in.as<const std::byte>() + offset, static_cast<size_t>(size), row);
      for (int64_t k = 0; k < split.blocks; ++k) HadamardRow(row + k * split.block, split.block);
      if (split.blocks > 1) Multiply28(row, split.block, row + size);
      StoreFloats(row, static_cast<size_t>(size), in.dtype, out->as<std::byte>() + offset);
    }
  });
  return absl::OkStatus();
}

bool Accepts(const KernelContext& context, const Call& call) {
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  return out.ok() && call.mat->rank() > 0 && call.mat->is_contiguous() && (*out)->is_contiguous();
}

uint64_t ScratchBytes(const KernelContext& context, const Call& call) {
  if (!Accepts(context, call)) return 0;
  return ScratchBytesOf<float>(CheckedInt(call.mat->sizes.back()) * kRows * context.num_threads());
}

constexpr Kernel kKernels[] = {
    KernelRow<&Hadamard, &Accepts, &ScratchBytes>("llama.fast_hadamard_transform.default", "mat",
                                                  "FastHadamardTransformSimd",
                                                  KernelEngine::kHighway),
};

}  // namespace

absl::Span<const Kernel> HadamardHighwayKernels() { return kKernels; }

}  // namespace belay
