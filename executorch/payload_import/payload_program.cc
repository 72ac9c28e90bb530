#include "executorch/payload_import/payload_program.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/xnnpack/graph_reader.h"
#include "backends/xnnpack/node_rules.h"
#include "executorch/payload_import/delegate_values.h"
#include "executorch/payload_import/dynamic_dims.h"
#include "executorch/payload_import/node_emitters.h"
#include "executorch/payload_import/value_types.h"
#include "exir/builder/op_builder.h"
#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/standard_decompositions.h"
#include "exir/ir/graph_editor.h"
#include "runtime/core/annotate.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::pte {
namespace {

using exir::Argument;
using exir::SymExpr;
using exir::SymInt;
using xnnpack::Graph;
using xnnpack::Value;

absl::Status CheckValue(const Value& value) {
  if (DtypeOf(value.datatype).has_value()) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("datatype ", xnnpack::DatatypeName(value.datatype), " is not supported"));
}
absl::Status AcceptNode(const Graph&, const xnnpack::Node&) { return absl::OkStatus(); }
constexpr xnnpack::GraphSupport kSupport = {CheckValue, AcceptNode, /*sizes_are_bounds=*/true};

bool IsRowMajor(const DimOrder& order) { return std::is_sorted(order.begin(), order.end()); }
bool IsChannelsLast(const DimOrder& order) {
  return std::equal(order.begin(), order.end(), kToNhwc, kToNhwc + 4);
}

absl::Status CheckTensor(const DelegateTensor& tensor, const Value& value) {
  if (tensor.is_scalar) return absl::InvalidArgumentError("expected a tensor, got a scalar");
  const std::optional<DType> dtype = DtypeOf(value.datatype);
  if (IsDynamicallyQuantized(value.datatype) || tensor.dtype != *dtype) {
    return absl::InvalidArgumentError(absl::StrCat("expected elements of ",
                                                   xnnpack::DatatypeName(value.datatype), ", got ",
                                                   DTypeName(tensor.dtype)));
  }
  if (!IsRowMajor(tensor.dim_order) && !IsChannelsLast(tensor.dim_order)) {
    return absl::UnimplementedError(
        absl::StrCat("a dim order other than row-major and channels last, of sizes ",
                     FormatSizes(tensor.sizes)));
  }
  return absl::OkStatus();
}

class Importer {
 public:
  Importer(const Graph& graph, absl::Span<const DelegateTensor> arguments,
           absl::Span<const DelegateTensor> outputs, const exir::OpRegistry& ops,
           MemoryBudget& memory)
      : graph_(graph), arguments_(arguments), outputs_(outputs), memory_(memory), program_(&ops) {
    program_.graphs.push_back(exir::Graph());
  }

  absl::StatusOr<exir::ExportedProgram> Import() {
    exir::GraphEditor editor(program_.top());
    editor.SetName("forward");
    AddArguments(editor);
    std::vector<Argument> results;
    {
      exir::OpBuilder builder(program_, editor, &exir::StandardDecompositions());
      builder.MoveToEnd();
      DelegateValues values(graph_, builder, memory_);
      ABSL_RETURN_IF_ERROR(BindArguments(builder, values));
      for (size_t i = 0; i < graph_.nodes.size(); ++i) {
        EmitNode(graph_.nodes[i], values);
        if (!builder.ok()) {
          return Annotate(builder.status(), xnnpack::DescribeNode(graph_, i));
        }
      }
      ABSL_ASSIGN_OR_RETURN(results, Outputs(builder, values));
    }
    editor.SetOutputs(std::move(results));
    return std::move(program_);
  }

 private:
  void AddArguments(exir::GraphEditor& editor) {
    std::vector<bool> dynamic;
    for (const DelegateTensor& argument : arguments_) dynamic.push_back(argument.dynamic);
    const std::vector<std::vector<int>> classes = DynamicDims(graph_, dynamic);
    for (size_t a = 0; a < arguments_.size(); ++a) {
      const DelegateTensor& argument = arguments_[a];
      if (argument.is_scalar) {
        inputs_.emplace_back();
        continue;
      }
      std::vector<SymInt> sizes(argument.sizes.begin(), argument.sizes.end());
      // Classes are in memory order.
      for (size_t k = 0; k < classes[a].size() && classes[a].size() == sizes.size(); ++k) {
        if (classes[a][k] == kStaticDim) continue;
        const int dim = argument.dim_order[static_cast<int>(k)];
        const std::string symbol = absl::StrCat("s", classes[a][k]);
        const auto [it, added] = program_.ranges.try_emplace(symbol);
        exir::SymRange& range = it->second;
        range.min = 0;
        range.max = added ? argument.sizes[dim] : std::min(range.max, argument.sizes[dim]);
        sizes[static_cast<size_t>(dim)] = SymExpr::Symbol(symbol);
      }
      inputs_.push_back(editor.AddInput(
          absl::StrCat("input", a),
          exir::TensorMeta::Dense(argument.dtype, std::move(sizes), argument.dim_order)));
      program_.signature.inputs.emplace_back();
    }
  }

  absl::Status BindArguments(exir::OpBuilder& b, DelegateValues& values) {
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      const Value& value = graph_.values[v];
      if (value.argument < 0) continue;
      const auto index = static_cast<size_t>(value.argument);
      const DelegateTensor& argument = arguments_[index];
      absl::Status status = CheckTensor(argument, value);
      if (!status.ok()) return Annotate(status, absl::StrCat("argument ", index));
      GraphTensor tensor = {Argument(inputs_[index]), !IsRowMajor(argument.dim_order)};
      // Payloads describe tensors of rank 0 as [1].
      if (argument.sizes.size() != value.sizes.size()) {
        if (argument.sizes.empty() && value.sizes == Sizes({1})) {
          tensor.tensor = exir::Reshape(b, tensor.tensor, {1});
        } else {
          status.Update(absl::InvalidArgumentError(absl::StrCat(
              "expected rank ", value.sizes.size(), ", got ", FormatSizes(argument.sizes))));
        }
      }
      if (!status.ok()) return Annotate(status, absl::StrCat("argument ", index));
      values.SetStored(static_cast<int>(v), std::move(tensor));
    }
    return b.status();
  }

  absl::StatusOr<std::vector<Argument>> Outputs(exir::OpBuilder& b, DelegateValues& values) {
    std::vector<Argument> results(outputs_.size());
    absl::flat_hash_set<exir::ValueId> taken(inputs_.begin(), inputs_.end());
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      const Value& value = graph_.values[v];
      if (value.output < 0) continue;
      const auto index = static_cast<size_t>(value.output);
      const DelegateTensor& output = outputs_[index];
      absl::Status status = CheckTensor(output, value);
      if (status.ok()) {
        results[index] = Output(b, values, static_cast<int>(v), output);
        status = b.status();
      }
      if (status.ok()) status = CheckSizes(b, results[index], output);
      if (!status.ok()) return Annotate(status, absl::StrCat("output ", index));
      const exir::ValueId* result = results[index].get_if<exir::ValueId>();
      // Outputs are values of their own.
      if (!taken.insert(*result).second) results[index] = exir::Clone(b, results[index]);
    }
    program_.signature.outputs.resize(outputs_.size());
    ABSL_RETURN_IF_ERROR(b.status());
    return results;
  }

  // The value in the output's dimensions and dim order.
  static Argument Output(exir::OpBuilder& b, DelegateValues& values, int value,
                         const DelegateTensor& output) {
    const GraphTensor tensor = values.Stored(value);
    if (!IsRowMajor(output.dim_order)) {
      return b.Call("aten.clone.default", {values.ToNchw(tensor)},
                    {{"memory_format", MemoryFormat::kChannelsLast}});
    }
    const Argument plain = values.ToPayloadOrder(tensor);
    if (output.sizes.empty() && b.rank(plain) == 1)
      return exir::Reshape(b, plain, Argument::List());
    // The result of an operator is written in place, if it has the output's layout.
    const exir::ValueId* result = plain.get_if<exir::ValueId>();
    if (!tensor.nchw && result != nullptr && b.graph().value(*result).producer.valid() &&
        b.graph().MetaOf(*result).is_contiguous()) {
      return plain;
    }
    return b.Call("aten.clone.default", {plain}, {{"memory_format", MemoryFormat::kContiguous}});
  }

  absl::Status CheckSizes(exir::OpBuilder& b, const Argument& result,
                          const DelegateTensor& output) const {
    const std::vector<SymInt> sizes = b.sizes(result);
    bool fits = static_cast<int>(sizes.size()) == output.sizes.size();
    for (size_t dim = 0; fits && dim < sizes.size(); ++dim) {
      const int64_t expected = output.sizes[static_cast<int>(dim)];
      const int64_t most = b.Range(sizes[dim]).max;
      fits =
          output.dynamic ? most <= expected : most == expected && b.Range(sizes[dim]).min == most;
    }
    if (fits) return absl::OkStatus();
    std::vector<std::string> text;
    for (const SymInt& size : sizes) text.push_back(size.ToString());
    return absl::InvalidArgumentError(absl::StrCat("expected sizes ", FormatSizes(output.sizes),
                                                   ", got [", absl::StrJoin(text, ","), "]"));
  }

  const Graph& graph_;
  absl::Span<const DelegateTensor> arguments_, outputs_;
  MemoryBudget& memory_;
  exir::ExportedProgram program_;
  std::vector<exir::ValueId> inputs_;  // by argument; invalid for scalars
};

}  // namespace

absl::StatusOr<exir::ExportedProgram> PayloadProgram(absl::Span<const std::byte> payload,
                                                     const NamedDataMap& named_data,
                                                     absl::Span<const DelegateTensor> arguments,
                                                     absl::Span<const DelegateTensor> outputs,
                                                     const exir::OpRegistry& ops,
                                                     MemoryBudget& memory) {
  ABSL_ASSIGN_OR_RETURN(const Graph graph, xnnpack::ReadGraph(payload, named_data, arguments.size(),
                                                              outputs.size(), kSupport, memory));
  return Importer(graph, arguments, outputs, ops, memory).Import();
}

}  // namespace belay::pte
