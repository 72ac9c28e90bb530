// Packed layouts of tables that embeddings and linear layers share.
#ifndef BELAY_BACKENDS_CPU_TABLE_LAYOUT_H_
#define BELAY_BACKENDS_CPU_TABLE_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/core/dtype.h"
#include "runtime/kernels/packed/packed_weights.h"
#include "runtime/kernels/packed/quantized_weights.h"
#include "runtime/kernels/packed/weight_only_weights.h"

namespace belay::cpu {

// Packed layout of a table [rows, features], the B^T of a linear layer A * B.
enum class TableLayout : uint8_t {
  kFloat32,   // linear: panels of 32 columns (packed_weights.h)
  kVnni2,     // bfloat16_linear: VNNI-2 layout (packed_weights.h)
  kInt8,      // weight_only_linear (weight_only_weights.h)
  kInt4,      // weight_only_linear, dynamic_quantized_linear (weight_only_weights.h)
  kBFloat16,  // weight_only_linear (weight_only_weights.h)
  kVnni4,     // dynamic_quantized_linear, quantized_linear: VNNI-4 layout (quantized_weights.h)
};

// A layout, its name in calls, the dtypes of the packed elements and of the result, and the format
// of weight_only_linear that it is.
struct TableLayoutRow {
  std::string_view name;
  TableLayout layout;
  DType dtype, result;
  std::optional<WeightFormat> weight_format = std::nullopt;

  bool is_integer() const {
    return layout == TableLayout::kInt8 || layout == TableLayout::kInt4 ||
           layout == TableLayout::kVnni4;
  }
  // Packed elements of a table. nullopt if it is too large, or if the layout does not
  // support the sizes.
  std::optional<int64_t> PackedSize(int64_t rows, int64_t features) const {
    const auto weights = [&](WeightFormat format) -> std::optional<int64_t> {
      const std::optional<int64_t> bytes = PackedWeightsSize(format, features, rows);
      if (!bytes.has_value()) return std::nullopt;
      return *bytes / static_cast<int64_t>(DTypeSize(dtype));
    };
    if (weight_format.has_value()) return weights(*weight_format);
    if (layout == TableLayout::kFloat32) return PackedMatrixSize(features, rows);
    if (layout == TableLayout::kVnni2) return PackedVnni2Size(features, rows);
    return PackedQuantizedMatrixSize(1, features, rows);
  }
};
inline constexpr TableLayoutRow kTableLayouts[] = {
    // in the order of TableLayout
    {"f32", TableLayout::kFloat32, DType::kFloat32, DType::kFloat32},
    {"vnni2", TableLayout::kVnni2, DType::kBFloat16, DType::kBFloat16},
    {"int8", TableLayout::kInt8, DType::kInt8, DType::kFloat32, WeightFormat::kInt8},
    {"int4", TableLayout::kInt4, DType::kInt32, DType::kFloat32, WeightFormat::kInt4},
    {"bf16", TableLayout::kBFloat16, DType::kBFloat16, DType::kBFloat16, WeightFormat::kBFloat16},
    {"vnni4", TableLayout::kVnni4, DType::kInt8, DType::kFloat32},
};

inline const TableLayoutRow& RowOf(TableLayout layout) {
  return kTableLayouts[static_cast<size_t>(layout)];
}
// Returns the layout of the weights of weight_only_linear.
inline TableLayout LayoutOf(WeightFormat format) {
  const TableLayoutRow* row = kTableLayouts;
  while (row->weight_format != format) ++row;
  return row->layout;
}

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_TABLE_LAYOUT_H_
