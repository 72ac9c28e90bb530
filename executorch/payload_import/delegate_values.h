// The values of a payload as arguments of an exir graph that is being built.
#ifndef BELAY_EXECUTORCH_PAYLOAD_IMPORT_DELEGATE_VALUES_H_
#define BELAY_EXECUTORCH_PAYLOAD_IMPORT_DELEGATE_VALUES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "backends/xnnpack/graph.h"
#include "exir/builder/op_builder.h"
#include "exir/ir/constant.h"
#include "exir/ir/exported_program.h"
#include "exir/ir/graph_editor.h"
#include "runtime/core/memory_budget.h"

namespace belay::pte {

// A tensor of the graph that has a value's elements. Payloads store images as NHWC. They are emitted
// as NCHW, the order of ATen's operators, so that transposes between the two need no operator.
struct GraphTensor {
  exir::Argument tensor;
  bool nchw = false;  // dimensions are NCHW, those of the value NHWC
};

// NHWC from NCHW and the reverse: result[i] = x[permutation[i]].
inline constexpr int kToNhwc[] = {0, 2, 3, 1};
inline constexpr int kToNchw[] = {0, 3, 1, 2};

// Maps values to tensors. Thread-compatible. Errors go to the builder.
//
// Quantized values are stored as integers and dequantized at each use, the pattern of PyTorch's
// quantization. A dynamically quantized value is stored as the float tensor that its quantize and
// dequantize operators compute.
class DelegateValues {
 public:
  // All references must outlive the object. `memory` is charged for constants that are copied.
  DelegateValues(const xnnpack::Graph& graph, exir::OpBuilder& builder, MemoryBudget& memory);

  exir::OpBuilder& builder() { return b_; }
  const xnnpack::Value& value(int index) const { return graph_.values[static_cast<size_t>(index)]; }

  // The tensor of a value as stored: integers if it is quantized. For constants: row-major.
  GraphTensor Stored(int index);
  void SetStored(int index, GraphTensor tensor) {
    tensors_[static_cast<size_t>(index)] = std::move(tensor);
  }

  // The dequantized value: in its current order; in the payload's order of dimensions; as NCHW
  // (precondition: rank 4).
  GraphTensor Dequantized(int index);
  exir::Argument InPayloadOrder(int index);
  exir::Argument InNchw(int index);
  // The same for several values, in one order: NCHW if all have rank 4 and any is stored so.
  std::vector<exir::Argument> InCommonOrder(absl::Span<const int> indices, bool& nchw);
  // Permutes a tensor to the payload's order of dimensions, or to NCHW.
  exir::Argument ToPayloadOrder(const GraphTensor& tensor);
  exir::Argument ToNchw(const GraphTensor& tensor);

  // A constant, permuted and reshaped: a filter in the order of ATen. The dimension
  // `permutation[i]` becomes dimension i. Quantized filters are dequantized along `channel_dim` of
  // the permuted constant.
  exir::Argument Filter(int index, absl::Span<const int> permutation, int channel_dim);

  // Stores the result of a node: clamps it to the bounds, converts it to the value's datatype, and
  // quantizes it.
  void SetResult(const xnnpack::Node& node, GraphTensor tensor);

 private:
  exir::Argument AddConstant(exir::ConstantTensor tensor);
  // Fails the builder with the error of `tensor`, if any.
  exir::Argument AddOrFail(absl::StatusOr<exir::ConstantTensor> tensor);
  exir::Argument AddScales(const xnnpack::Value& value, const Sizes& sizes);
  // Charges a copy of a constant before it is allocated.
  absl::Status TakeMemory(uint64_t bytes);
  // The elements of a constant, 4-bit ones as int8.
  absl::StatusOr<exir::ConstantTensor> Elements(const xnnpack::Value& value);
  exir::Argument Dequantize(const xnnpack::Value& value, exir::Argument integers, int channel_dim);
  exir::Argument BiasOf(int index);
  GraphTensor QuantizeRows(const xnnpack::Value& value, GraphTensor tensor);

  const xnnpack::Graph& graph_;
  exir::OpBuilder& b_;
  MemoryBudget& memory_;
  std::vector<GraphTensor> tensors_;  // None: not computed yet
  int constants_ = 0;
};

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_PAYLOAD_IMPORT_DELEGATE_VALUES_H_
