// The call of weight_only_linear: linear with a weight that stays in its storage format of 4, 8 or
// 16 bits.
//
// Input, epilogue and result are linear's (calls.h). Weights, scales and zero points are packed
// (runtime/kernels/packed/weight_only_weights.h).
#ifndef BELAY_BACKENDS_CPU_WEIGHT_ONLY_CALLS_H_
#define BELAY_BACKENDS_CPU_WEIGHT_ONLY_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "backends/cpu/calls.h"
#include "runtime/core/dtype.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/packed/block_gemm.h"
#include "runtime/kernels/packed/weight_only_weights.h"

namespace belay::cpu {

// A weight format, its name in calls, and the dtype of the tensor of packed weights. An int32
// element holds eight int4 weights.
struct WeightFormatRow {
  std::string_view name;
  WeightFormat format;
  DType dtype;
  // Bytes of an element to which many rows are quantized (block_gemm.h), if the CPU has a kernel for
  // it; 0 for none.
  uint8_t row_bytes = 0;
};
inline constexpr WeightFormatRow kWeightFormats[] = {
    // in the order of WeightFormat
    {"int8", WeightFormat::kInt8, DType::kInt8},
    {"int4", WeightFormat::kInt4, DType::kInt32},
    {"bf16", WeightFormat::kBFloat16, DType::kBFloat16},
    {"int8_by_int8", WeightFormat::kInt8, DType::kInt8, 1},
    {"int4_by_int8", WeightFormat::kInt4, DType::kInt32, 1},
    {"int8_by_int16", WeightFormat::kInt8, DType::kInt8, 2},
    {"int4_by_int16", WeightFormat::kInt4, DType::kInt32, 2},
};

inline std::string_view NameOf(WeightFormat format) {
  return kWeightFormats[static_cast<size_t>(format)].name;
}

// Reads the argument `format`. kInvalidArgument for an unknown name, and for formats with row_bytes
// unless they are allowed.
template <class Arguments>
absl::StatusOr<const WeightFormatRow*> ReadWeightFormat(const Arguments& arguments,
                                                        bool allows_row_bytes = false) {
  ABSL_ASSIGN_OR_RETURN(const auto name, arguments.String("format"));
  for (const WeightFormatRow& row : kWeightFormats) {
    if (row.name == name && (allows_row_bytes || row.row_bytes == 0)) return &row;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "format: expected 'int8', 'int4'",
      allows_row_bytes ? ", 'int8_by_int8', 'int4_by_int8', 'int8_by_int16', 'int4_by_int16'" : "",
      " or 'bf16', got '", name, "'"));
}

// Whether formats with row_bytes support the groups of a weight [k, …].
inline constexpr bool HasWholeBlocks(int64_t group, int64_t k) {
  return group % static_cast<int64_t>(kBlockGemmTerms) == 0 || group >= k;
}

// kInvalidArgument unless weights [k, …] may have scales per group of `group` rows.
inline absl::Status CheckGroup(int64_t group, int64_t k) {
  if (group % 8 == 0 || group >= k) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("group: expected a multiple of 8, or at least ", k, ", got ", group));
}

// Reads `scales`, `zeros` and `group` of a call with a packed weight. Integers have a scale for
// each column and group of rows, and optionally a zero point; floats have neither, and group 0.
//   kInvalidArgument  any of these is missing or not expected
template <class Arguments, class Call>
absl::Status ReadScales(const Arguments& arguments, bool integers, Call& call) {
  ABSL_ASSIGN_OR_RETURN(call.scales, arguments.OptionalTensor("scales", kFloat));
  ABSL_ASSIGN_OR_RETURN(call.zeros, arguments.OptionalTensor("zeros", kFloat));
  ABSL_ASSIGN_OR_RETURN(call.group, arguments.StaticInt("group"));
  if ((call.scales != nullptr) != integers || (!integers && call.zeros != nullptr)) {
    return absl::InvalidArgumentError(
        "scales: expected scales of integers, and neither scales nor zeros of floats");
  }
  if (integers ? call.group < 1 : call.group != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("group: expected at least 1, and 0 of floats, got ", call.group));
  }
  return absl::OkStatus();
}
// kInvalidArgument unless the scales and zeros of ReadScales are packed for a weight [k, columns].
template <class Arguments, class Call>
absl::Status CheckScales(const Call& call, int64_t k, int64_t columns) {
  using D = typename Arguments::Dim;
  if (call.scales == nullptr) return absl::OkStatus();
  ABSL_RETURN_IF_ERROR(CheckGroup(call.group, k));
  const std::optional<int64_t> packed = PackedScalesSize(k, columns, call.group);
  ABSL_RETURN_IF_ERROR(CheckPackedSize<D>(Arguments::SizesOf(call.scales), packed, "scales"));
  if (call.zeros == nullptr) return absl::OkStatus();
  return CheckPackedSize<D>(Arguments::SizesOf(call.zeros), packed, "zeros");
}

// belay_cpu::weight_only_linear: input [..., k], weight packed from [k, out_features] in `format`
// -> [..., out_features]. Integer formats have a scale and an optional zero point for each column
// and `group` rows. bf16 has neither, and group 0. Formats with row_bytes have no zero points, and
// groups of whole blocks (HasWholeBlocks).
template <class Arguments>
struct WeightOnlyLinearCall {
  using D = typename Arguments::Dim;
  typename Arguments::TensorRef input, weight, scales, zeros;  // the last two null for none
  int64_t out_features = 0;
  const WeightFormatRow* format = nullptr;
  int64_t group = 0;
  EpilogueCall<Arguments> epilogue;

  static absl::StatusOr<WeightOnlyLinearCall> Read(const Arguments& arguments) {
    WeightOnlyLinearCall call;
    ABSL_ASSIGN_OR_RETURN(call.format, ReadWeightFormat(arguments, /*allows_row_bytes=*/true));
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", kFloat));
    ABSL_ASSIGN_OR_RETURN(call.weight, arguments.Tensor("weight", {call.format->dtype}));
    ABSL_ASSIGN_OR_RETURN(call.out_features, ReadFeatures(arguments, "out_features"));
    const bool integers = call.format->format != WeightFormat::kBFloat16;
    ABSL_RETURN_IF_ERROR(ReadScales(arguments, integers, call));
    ABSL_ASSIGN_OR_RETURN(call.epilogue, EpilogueCall<Arguments>::Read(arguments));
    return call;
  }
  absl::StatusOr<Dims<D>> Shape() const {
    Dims<D> shape = Dims<D>(Arguments::SizesOf(input));
    ABSL_ASSIGN_OR_RETURN(const int64_t k, FeaturesOf<D>(shape));
    std::optional<int64_t> weights = PackedWeightsSize(format->format, k, out_features);
    if (weights.has_value()) *weights /= static_cast<int64_t>(DTypeSize(format->dtype));
    ABSL_RETURN_IF_ERROR(CheckPackedSize<D>(Arguments::SizesOf(weight), weights));
    ABSL_RETURN_IF_ERROR(CheckScales<Arguments>(*this, k, out_features));
    if (format->row_bytes != 0 && (zeros != nullptr || !HasWholeBlocks(group, k))) {
      return absl::InvalidArgumentError(
          absl::StrCat("format: expected no zeros and groups of whole blocks of ", kBlockGemmTerms,
                       " for '", format->name, "', got groups of ", group));
    }
    shape[shape.size() - 1] = D(out_features);
    ABSL_RETURN_IF_ERROR(epilogue.CheckShapes(shape, static_cast<int>(shape.size()) - 1));
    return shape;
  }
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_WEIGHT_ONLY_CALLS_H_
