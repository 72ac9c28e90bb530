// belay_cpu::packed_embedding.
#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "backends/cpu/embedding_calls.h"
#include "backends/cpu/kernels/epilogue_of.h"
#include "backends/cpu/kernels/kernel_tables.h"
#include "backends/cpu/kernels/rows.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernels/operands/element_access.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/packed/packed_weights.h"
#include "runtime/kernels/packed/quantized_weights.h"
#include "runtime/kernels/packed/weight_only_weights.h"

namespace belay::cpu {
namespace {

using Call = PackedEmbeddingCall<KernelArguments>;

constexpr int64_t kPanel = kPanelColumns;
static_assert(kPanelColumns == kWeightOnlyPanelColumns);

// Element p of row `row` of a table with k features, in each layout.
struct Floats {
  const float* packed;
  int64_t k;
  float operator()(int64_t row, int64_t p) const {
    return packed[(row / kPanel * k + p) * kPanel + row % kPanel];
  }
};
struct Vnni2 {
  const BFloat16* packed;
  int64_t k;
  BFloat16 operator()(int64_t row, int64_t p) const {
    return packed[(row / kPanel * k + p / 2 * 2) * kPanel + row % kPanel * 2 + p % 2];
  }
};
// int8 and bfloat16 of weight_only_linear: panels of rows rounded up to a multiple of 8.
template <class T>
struct Rows {
  const T* packed;
  int64_t k;
  T operator()(int64_t row, int64_t p) const {
    return packed[(row / kPanel * ((k + 7) / 8 * 8) + p) * kPanel + row % kPanel];
  }
};
struct Nibbles {
  const uint32_t* packed;
  int64_t k;
  int operator()(int64_t row, int64_t p) const {
    const uint32_t word = packed[(row / kPanel * ((k + 7) / 8) + p / 8) * kPanel + row % kPanel];
    return static_cast<int>(word >> (4 * (p % 2 * 4 + p % 8 / 2)) & 15u) - 8;
  }
};
struct Vnni4 {
  const int8_t* packed;
  int64_t k;
  int8_t operator()(int64_t row, int64_t p) const {
    constexpr auto kColumns = static_cast<int64_t>(kQuantizedPanelColumns);
    return packed[((row / kColumns * ((k + 3) / 4) + p / 4) * kColumns + row % kColumns) * 4 +
                  p % 4];
  }
};

template <class T, class Table>
void CopyRow(const Table& table, int64_t row, T* out) {
  for (int64_t p = 0; p < table.k; ++p) out[p] = table(row, p);
}

// Each step is rounded to float32, as in the kernels of dequantization.
template <class Table>
void DequantizeRow(const Table& table, const Call& call, int64_t row, float* out) {
  const int64_t group = std::min(call.group, table.k);
  const int64_t first = row / kPanel * ((table.k + group - 1) / group) * kPanel + row % kPanel;
  for (int64_t p = 0, g = 0; p < table.k; ++g) {
    const float scale = call.scales->as<const float>()[first + g * kPanel];
    const float zero =
        call.zeros == nullptr ? 0 : call.zeros->as<const float>()[first + g * kPanel];
    for (const int64_t end = std::min(p + group, table.k); p < end; ++p) {
      out[p] = (static_cast<float>(table(row, p)) - zero) * scale;
    }
  }
}

void WriteRow(const Call& call, int64_t row, void* out) {
  const int64_t k = call.features;
  const TensorView& weight = *call.weight;
  auto* floats = static_cast<float*>(out);
  auto* halves = static_cast<BFloat16*>(out);
  switch (call.layout->layout) {
    case TableLayout::kFloat32:
      return CopyRow(Floats{weight.as<const float>(), k}, row, floats);
    case TableLayout::kVnni2:
      return CopyRow(Vnni2{weight.as<const BFloat16>(), k}, row, halves);
    case TableLayout::kInt8:
      return DequantizeRow(Rows<int8_t>{weight.as<const int8_t>(), k}, call, row, floats);
    case TableLayout::kInt4:
      return DequantizeRow(
          Nibbles{reinterpret_cast<const uint32_t*>(weight.as<const int32_t>()), k}, call, row,
          floats);
    case TableLayout::kBFloat16:
      return CopyRow(Rows<BFloat16>{weight.as<const BFloat16>(), k}, row, halves);
    case TableLayout::kVnni4:
      return DequantizeRow(Vnni4{weight.as<const int8_t>(), k}, call, row, floats);
  }
}

absl::Status PackedEmbedding(KernelContext& context, const Call& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_RETURN_IF_ERROR(ExpectContiguous("weight", *call.weight));
  if (call.scales != nullptr) ABSL_RETURN_IF_ERROR(ExpectContiguous("scales", *call.scales));
  if (call.zeros != nullptr) ABSL_RETURN_IF_ERROR(ExpectContiguous("zeros", *call.zeros));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, call.layout->result, shape));
  ABSL_RETURN_IF_ERROR(ExpectContiguous("result", *out));
  const int64_t count = call.indices->numel();
  if (count == 0) return absl::OkStatus();
  const Reader<int64_t> reader(*call.indices);
  const auto index = [&](int64_t i) { return reader(ElementOffset(*call.indices, i)); };
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = index(i);
    if (row >= 0 && row < call.rows) continue;
    return absl::OutOfRangeError(
        absl::StrCat("indices: ", row, " is outside a table of ", call.rows, " rows"));
  }
  const int64_t bytes = call.features * static_cast<int64_t>(DTypeSize(out->dtype));
  RunRows(context, count, static_cast<double>(out->numel()), [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      WriteRow(call, index(i), out->as<std::byte>() + i * bytes);
    }
  });
  return absl::OkStatus();
}

bool Accepts(const KernelContext& context, const Call& call) { return call.Shape().ok(); }

constexpr Kernel kKernels[] = {
    KernelRow<&PackedEmbedding, &Accepts>("belay_cpu.packed_embedding.default",
                                          "weight scales zeros indices rows features layout group",
                                          "PackedEmbeddingRows", KernelEngine::kHighway),
};

}  // namespace

absl::Span<const Kernel> PackedEmbeddingKernels() { return kKernels; }

}  // namespace belay::cpu
