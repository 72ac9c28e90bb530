// Finds the constant weights of matmuls, convolutions and embeddings.
#ifndef BELAY_EXIR_QUANTIZE_WEIGHT_USES_H_
#define BELAY_EXIR_QUANTIZE_WEIGHT_USES_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/ir/exported_program.h"
#include "exir/passes/constant_input.h"
#include "exir/quantize/recipe.h"

namespace belay::exir {

// One operator of the top graph that can be quantized, and its weight.
//
//   linear       addmm(bias, x, W), mm(x, W), linear(x, W, bias); W is the constant or a
//                transposition of it
//   embedding    embedding(table, indices)
//   convolution  convolution(x, W, …), not transposed
struct WeightUse {
  NodeId node;
  AnchorKind kind = AnchorKind::kLinear;
  std::string_view weight_argument;  // "mat2", "weight"
  std::string_view input_argument;   // "mat1", "self", "input"; "indices"
  ValueId constant;                  // input of the top graph
  // Whether the constant has the rows that share parameters (output channels, rows of a table) as
  // its first dimension. Otherwise it is [columns, rows].
  bool rows_first = true;
  // Whether the operator needs the transposed constant, as matmuls do that multiply by [k, n].
  bool transposes = false;
};

// An operator of an anchor kind whose weight cannot be quantized.
struct WeightRejection {
  NodeId node;
  AnchorKind kind;
  std::string reason;
};

struct WeightUses {
  std::vector<WeightUse> uses;  // in execution order
  std::vector<WeightRejection> rejections;
};

// Rejects weights that are computed, that the program writes to, that are not float32, or that are
// empty. `constants` must be those of the program. O(nodes).
WeightUses FindWeightUses(const ExportedProgram& program, const ConstantInputs& constants);

// Returns the node that views [..., k] as the matrix [m, k], if it produces the value.
std::optional<NodeId> MatrixViewOf(const Graph& graph, ValueId matrix);

// Returns the elements as a contiguous matrix: one row per output channel or row of a table. A
// convolution's weight [n, c, kh, kw] becomes [n, c * kh * kw]. Errors of ConstantTensor::Dense.
struct WeightMatrix {
  Storage storage;
  absl::Span<const float> elements;
  int64_t rows = 0, columns = 0;
};
absl::StatusOr<WeightMatrix> MatrixOf(const ConstantTensor& tensor, bool rows_first);
// Returns WeightMatrix::columns without the elements.
int64_t ColumnsOf(const ConstantTensor& tensor, bool rows_first);

}  // namespace belay::exir

#endif  // BELAY_EXIR_QUANTIZE_WEIGHT_USES_H_
