// The call of packed_embedding: rows of a table that is stored as the packed weight of a linear
// layer.
#ifndef BELAY_BACKENDS_CPU_EMBEDDING_CALLS_H_
#define BELAY_BACKENDS_CPU_EMBEDDING_CALLS_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "backends/cpu/calls.h"
#include "backends/cpu/table_layout.h"
#include "backends/cpu/weight_only_calls.h"
#include "runtime/core/dtype.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/packed/weight_only_weights.h"

namespace belay::cpu {

// belay_cpu::packed_embedding: weight packed from the transpose of a table [rows, features] in
// `layout`, indices [...] -> [..., features]. Row i of the table is
//
//   float layouts    table[i]
//   integer layouts  (q[i] - zeros[i, g]) * scales[i, g]
//
// for the features of group g, with scales and zeros packed by PackScales. Float layouts have
// neither, and group 0. The result is bfloat16 for layouts of bfloat16, otherwise float32.
template <class Arguments>
struct PackedEmbeddingCall {
  using D = typename Arguments::Dim;
  typename Arguments::TensorRef weight, scales, zeros, indices;  // scales, zeros: null for none
  int64_t rows = 0, features = 0;
  const TableLayoutRow* layout = nullptr;
  int64_t group = 0;

  static absl::StatusOr<PackedEmbeddingCall> Read(const Arguments& arguments) {
    PackedEmbeddingCall call;
    ABSL_ASSIGN_OR_RETURN(const auto name, arguments.String("layout"));
    for (const TableLayoutRow& row : kTableLayouts) {
      if (row.name == name) call.layout = &row;
    }
    if (call.layout == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "layout: expected 'f32', 'vnni2', 'int8', 'int4', 'bf16' or 'vnni4', got '", name, "'"));
    }
    ABSL_ASSIGN_OR_RETURN(call.weight, arguments.Tensor("weight", {call.layout->dtype}));
    ABSL_ASSIGN_OR_RETURN(call.indices,
                          arguments.Tensor("indices", {DType::kInt32, DType::kInt64}));
    ABSL_ASSIGN_OR_RETURN(call.rows, ReadFeatures(arguments, "rows"));
    ABSL_ASSIGN_OR_RETURN(call.features, ReadFeatures(arguments, "features"));
    ABSL_RETURN_IF_ERROR(ReadScales(arguments, call.layout->is_integer(), call));
    return call;
  }
  absl::StatusOr<Dims<D>> Shape() const {
    ABSL_RETURN_IF_ERROR(
        CheckPackedSize<D>(Arguments::SizesOf(weight), layout->PackedSize(rows, features)));
    ABSL_RETURN_IF_ERROR(CheckScales<Arguments>(*this, features, rows));
    Dims<D> shape = Dims<D>(Arguments::SizesOf(indices));
    ABSL_RETURN_IF_ERROR(CheckRank(shape.size() + 1));
    shape.push_back(D(features));
    return shape;
  }
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_EMBEDDING_CALLS_H_
