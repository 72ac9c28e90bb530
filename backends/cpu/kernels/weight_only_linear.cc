// belay_cpu::weight_only_linear.
#include <algorithm>

#include "backends/cpu/kernels/epilogue_of.h"
#include "backends/cpu/kernels/kernel_tables.h"
#include "backends/cpu/weight_only_calls.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/operands/gemm_ranges.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/packed/block_gemm.h"
#include "runtime/kernels/packed/weight_only_gemm.h"
#include "runtime/kernels/packed/weight_only_weights.h"

namespace belay::cpu {
namespace {

// Cost of a product of a byte, in float multiply-adds.
constexpr double kBlockWork = 0.3;

using Call = WeightOnlyLinearCall<KernelArguments>;

// Floats of working memory that a part needs.
CheckedInt Scratch(size_t m, size_t k) {
  return CheckedInt(static_cast<int64_t>(WeightOnlyScratch(m, k, k)));
}

absl::StatusOr<const float*> PackedFloats(std::string_view name, const TensorView* packed) {
  if (packed == nullptr) return nullptr;
  ABSL_RETURN_IF_ERROR(ExpectContiguous(name, *packed));
  return packed->as<const float>();
}

// Bytes of block_gemm.h's working memory: panels of the parts, then all quantized rows.
struct BlockScratch {
  CheckedInt part, rows;
  CheckedInt Bytes(int parts) const { return part * CheckedInt(parts) + rows; }
};
// `rows` may be padded to a whole block.
BlockScratch BlockScratchOf(CheckedInt rows, size_t k, size_t bytes) {
  constexpr auto kTerms = static_cast<int64_t>(kBlockGemmTerms);
  const auto row_bytes =
      static_cast<int64_t>(BlockRowsBytes(kBlockGemmTerms, bytes) / kBlockGemmRows);
  const auto depth = static_cast<int64_t>(k);
  const CheckedInt blocks(depth / kTerms + (depth % kTerms == 0 ? 0 : 1));
  return {blocks * CheckedInt(static_cast<int64_t>(BlockGemmScratch(kBlockGemmTerms))),
          (rows + CheckedInt(static_cast<int64_t>(kBlockGemmRows) - 1)) * blocks *
              CheckedInt(row_bytes)};
}

bool UsesBlocks(const Call& call, size_t rows) {
  return call.format->row_bytes != 0 && rows >= kBlockGemmRows && HasBlockGemm();
}

// Quantizes the rows, then multiplies integers.
absl::Status BlockLinear(KernelContext& context, const WeightOnlyGemmArgs& linear, size_t bytes) {
  const auto rows = static_cast<int64_t>(linear.m);
  const BlockScratch scratch = BlockScratchOf(rows, linear.k, bytes);
  ABSL_ASSIGN_OR_RETURN(std::byte * memory,
                        ScratchArray<std::byte>(context, scratch.Bytes(context.num_threads())));
  std::byte* const quantized = memory + (scratch.part * CheckedInt(context.num_threads())).value();
  const double work = static_cast<double>(linear.m) * static_cast<double>(linear.k);
  constexpr auto kRows = static_cast<int64_t>(kBlockGemmRows);
  RunRanges(context, (rows + kRows - 1) / kRows, 1, work, [&](int, int64_t first, int64_t last) {
    QuantizeBlocks(linear.a, linear.lda, linear.m, linear.k, linear.format, bytes,
                   static_cast<size_t>(first), static_cast<size_t>(last), quantized);
  });
  const BlockGemmArgs g = {.m = linear.m,
                           .n = linear.n,
                           .k = linear.k,
                           .format = linear.format,
                           .group = linear.group,
                           .bytes = bytes,
                           .rows = quantized,
                           .b = linear.b,
                           .scales = linear.scales,
                           .c = linear.c,
                           .ldc = linear.ldc,
                           .epilogue = linear.epilogue};
  const GemmSize size = {rows, kRows, static_cast<int64_t>(g.n),
                         static_cast<int64_t>(kBlockGemmColumns),
                         kBlockWork * static_cast<double>(bytes) * work * static_cast<double>(g.n)};
  RunGemm(context, size,
          [&](int part, size_t row, size_t end_row, size_t column, size_t end_column) {
            BlockGemmArgs mine = g;
            mine.scratch = memory + (scratch.part * CheckedInt(part)).value();
            BlockGemmRange(mine, row, end_row, column, end_column);
          });
  return absl::OkStatus();
}

absl::Status WeightOnlyLinear(KernelContext& context, const Call& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_RETURN_IF_ERROR(ExpectContiguous("input", *call.input));
  ABSL_RETURN_IF_ERROR(ExpectContiguous("weight", *call.weight));
  WeightOnlyGemmArgs g;
  ABSL_ASSIGN_OR_RETURN(g.scales, PackedFloats("scales", call.scales));
  ABSL_ASSIGN_OR_RETURN(g.zeros, PackedFloats("zeros", call.zeros));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kFloat32, shape));
  ABSL_RETURN_IF_ERROR(ExpectContiguous("result", *out));
  ABSL_ASSIGN_OR_RETURN(g.epilogue, EpilogueOf(call.epilogue, *out));
  if (out->numel() == 0) return absl::OkStatus();
  g.n = static_cast<size_t>(call.out_features);
  g.k = static_cast<size_t>(call.input->sizes[call.input->rank() - 1]);
  g.m = static_cast<size_t>(out->numel()) / g.n;
  g.a = call.input->as<const float>();
  g.lda = g.k;
  g.format = call.format->format;
  g.group = static_cast<size_t>(call.group);
  g.b = call.weight->data;
  g.c = out->as<float>();
  g.ldc = g.n;
  if (UsesBlocks(call, g.m)) return BlockLinear(context, g, call.format->row_bytes);
  const CheckedInt scratch = Scratch(g.m, g.k);
  ABSL_ASSIGN_OR_RETURN(float* memory,
                        ScratchArray<float>(context, scratch * context.num_threads()));
  const GemmSize size = {
      static_cast<int64_t>(g.m), static_cast<int64_t>(kTileRows), static_cast<int64_t>(g.n),
      static_cast<int64_t>(kWeightOnlyPanelColumns),
      static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k)};
  RunGemm(context, size,
          [&](int part, size_t row, size_t end_row, size_t column, size_t end_column) {
            WeightOnlyGemmArgs mine = g;
            mine.scratch = memory + part * scratch.value();
            WeightOnlyGemmRange(mine, row, end_row, column, end_column);
          });
  return absl::OkStatus();
}

bool Accepts(const KernelContext& context, const Call& call) { return call.Shape().ok(); }

uint64_t ScratchBytes(const KernelContext& context, const Call& call) {
  const int last = call.input->rank() - 1;
  const auto k = static_cast<size_t>(call.input->sizes[last]);
  uint64_t blocks = 0;
  if (call.format->row_bytes != 0 && HasBlockGemm()) {
    CheckedInt all_rows = 1;
    for (int d = 0; d < last; ++d) all_rows = all_rows * CheckedInt(call.input->sizes[d]);
    blocks = ScratchBytesOf<std::byte>(
        BlockScratchOf(all_rows, k, call.format->row_bytes).Bytes(context.num_threads()));
  }
  constexpr size_t kMany = kWeightOnlyRows + 1;
  size_t rows = 1;
  for (int d = 0; d < last; ++d) {
    rows = std::min(rows * std::min(static_cast<size_t>(call.input->sizes[d]), kMany), kMany);
  }
  return std::max(blocks, ScratchBytesOf<float>(Scratch(rows, k) * context.num_threads()));
}

constexpr OperatorFacts kFacts = {.work = {WorkRule::Kind::kMatmul, 0, 1, 2},
                                  .flops = {FlopRule::Kind::kMatmul, "input"}};
constexpr Kernel kKernels[] = {
    KernelRow<&WeightOnlyLinear, &Accepts, &ScratchBytes>(
        "belay_cpu.weight_only_linear.default",
        "input weight scales zeros bias other out_features format group activation combine low "
        "high",
        "WeightOnlyLinearPacked", KernelEngine::kHighway, &kFacts),
};

}  // namespace

absl::Span<const Kernel> WeightOnlyLinearKernels() { return kKernels; }

}  // namespace belay::cpu
