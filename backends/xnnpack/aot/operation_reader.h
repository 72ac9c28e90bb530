// Accessors for node arguments, used by operation_rules.h.
#ifndef BELAY_BACKENDS_XNNPACK_AOT_OPERATION_READER_H_
#define BELAY_BACKENDS_XNNPACK_AOT_OPERATION_READER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "backends/xnnpack/aot/operation.h"
#include "exir/ir/exported_program.h"

namespace belay::xnnpack {

// Limits of payloads.
inline constexpr int kMaxDims = 6;
inline constexpr int64_t kMaxSize = int64_t{1} << 24;
inline constexpr int64_t kMaxWindowNumber = 32767;

// kUnimplemented with the reason why a node is not delegated.
absl::Status Unsupported(std::string reason);

// Reads arguments of a node by the names of its schema. Anything that payloads cannot represent is
// kUnimplemented and names the argument or value. Program and node must outlive it. Precondition of
// all methods: the node has a schema and a result.
class OperationReader {
 public:
  OperationReader(const exir::ExportedProgram& program, exir::NodeId id)
      : program(program), graph(program.top()), id(id), node(graph.node(id)) {}

  const exir::ExportedProgram& program;
  const exir::Graph& graph;
  const exir::NodeId id;
  const exir::Node& node;

  exir::ValueId result() const { return node.outputs[0].values[0]; }

  absl::StatusOr<int64_t> Int(std::string_view name) const {
    if (const int64_t* number = node.argument(name).get_if<int64_t>()) return *number;
    return Unsupported(absl::StrCat(name, " is not a known scalar"));
  }
  absl::StatusOr<bool> Bool(std::string_view name) const {
    if (const bool* flag = node.argument(name).get_if<bool>()) return *flag;
    return Unsupported(absl::StrCat(name, " is not known"));
  }
  static absl::StatusOr<double> NumberOf(const exir::Argument& argument, std::string_view name);
  absl::StatusOr<double> Number(std::string_view name) const {
    return NumberOf(node.argument(name), name);
  }
  absl::StatusOr<std::vector<int64_t>> Ints(std::string_view name) const;
  // Values for rows and columns; a single value is used twice.
  absl::StatusOr<std::pair<int64_t, int64_t>> Pair(std::string_view name, int64_t least,
                                                   std::pair<int64_t, int64_t> if_empty) const;
  // A dimension index for a tensor of this rank, normalized.
  absl::StatusOr<int> Dim(int64_t dim, int rank) const;

  // A tensor that payloads support.
  absl::StatusOr<exir::ValueId> Tensor(const exir::Argument& argument) const;
  absl::StatusOr<exir::ValueId> Tensor(std::string_view name) const {
    return Tensor(node.argument(name));
  }
  absl::Status CheckTensor(exir::ValueId value, DType dtype = DType::kFloat32) const;
  // A constant with any strides, optionally dequantized.
  absl::StatusOr<exir::ValueId> Constant(std::string_view name, int rank) const;
  // The elements of a constant with one element per channel.
  absl::StatusOr<std::vector<float>> Channels(std::string_view name, int64_t channels) const;

  // A constant that is not quantized, of any rank.
  absl::StatusOr<exir::ConstantTensor> FloatConstant(const exir::Argument& argument,
                                                     std::string_view name) const;

  absl::Status One(std::string_view name, Operation& operation) const;
  // Appends the operand; OneImage requires rank 4.
  absl::Status OneImage(std::string_view name, Operation& operation) const;
  // Checks that this dimension has the same size in all calls.
  absl::Status CheckStatic(exir::ValueId value, int dim) const;
  // Checks that only the first result is used: "its indices are used".
  absl::Status CheckOneResult(std::string_view others) const;
};

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_AOT_OPERATION_READER_H_
