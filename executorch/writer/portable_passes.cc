#include "executorch/writer/portable_passes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/decompose.h"
#include "exir/ir/graph_editor.h"
#include "exir/passes/dim_order_ops.h"
#include "exir/passes/eliminate_dead_code.h"
#include "exir/passes/replace_view_ops.h"
#include "exir/passes/to_edge_ops.h"
#include "runtime/core/status_macros.h"

namespace belay::pte {
namespace {

using exir::Argument;
using exir::OpArgument;
using exir::OpBuilder;
using exir::OpCall;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// linalg_vector_norm: ord is a number, no dim is all of them.
std::vector<Argument> VectorNorm(OpBuilder& b, const OpCall& c) {
  const double order = c.Double("ord");
  const DType result = c.DtypeOr("dtype", b.dtype(c["self"]));
  const DType computed = exir::ComputeDtype(result);
  const Argument x = exir::Unary(b, "abs", exir::Cast(b, c["self"], computed));
  std::vector<int64_t> dims = c.Ints("dim");
  if (dims.empty()) dims = exir::AllDims(b.rank(c["self"]));
  const bool keep = c.Bool("keepdim");
  const auto sum = [&](const Argument& of) { return exir::Sum(b, of, dims, keep); };
  Argument norm;
  if (order == kInfinity || order == -kInfinity) {
    norm = b.Call(order > 0 ? "aten.amax.default" : "aten.amin.default", {x, dims, keep});
  } else if (order == 0) {
    norm = sum(exir::Cast(b, exir::Binary(b, "ne", x, 0), computed));
  } else if (order == 1) {
    norm = sum(x);
  } else if (order == 2) {
    norm = exir::Unary(b, "sqrt", sum(exir::Mul(b, x, x)));
  } else {
    norm = exir::Pow(b, sum(exir::Pow(b, x, order)), 1 / order);
  }
  return {exir::Cast(b, norm, result)};
}

// The kernel on integers is wrong for some operands of different signs.
std::vector<Argument> Remainder(OpBuilder& b, const OpCall& c) {
  const Argument x = c["self"], y = c["other"];
  const Argument quotient = b.Call(b.IsTensor(y) ? "aten.div.Tensor_mode" : "aten.div.Scalar_mode",
                                   {x, y}, {{"rounding_mode", std::string("floor")}});
  return {exir::Sub(b, x, exir::Mul(b, quotient, y))};
}

// mm has a fast kernel, addmm has not.
std::vector<Argument> AddMm(OpBuilder& b, const OpCall& c) {
  return {exir::Add(b, b.Call("aten.mm.default", {c["mat1"], c["mat2"]}), c["self"])};
}

std::vector<Argument> Hypot(OpBuilder& b, const OpCall& c) {
  const Argument x = c["self"], y = c["other"];
  return {exir::Unary(b, "sqrt", exir::Add(b, exir::Mul(b, x, x), exir::Mul(b, y, y)))};
}

// Of -0 the reciprocal is less than 0.
std::vector<Argument> CopySign(OpBuilder& b, const OpCall& c) {
  const Argument other = c["other"];
  const Argument negative = b.Call("aten.logical_or.default",
                                   {exir::Binary(b, "lt", other, 0),
                                    exir::Binary(b, "lt", exir::Unary(b, "reciprocal", other), 0)});
  const Argument magnitude = exir::Unary(b, "abs", c["self"]);
  return {exir::Where(b, negative, exir::Unary(b, "neg", magnitude), magnitude)};
}

template <const char* kTensors, const char* kScalars>
std::vector<Argument> Shift(OpBuilder& b, const OpCall& c) {
  return {b.Call(b.IsTensor(c["other"]) ? kTensors : kScalars, {c["self"], c["other"]})};
}
constexpr char kLeftTensors[] = "aten.bitwise_left_shift.Tensor";
constexpr char kLeftScalars[] = "aten.bitwise_left_shift.Tensor_Scalar";
constexpr char kRightTensors[] = "aten.bitwise_right_shift.Tensor";
constexpr char kRightScalars[] = "aten.bitwise_right_shift.Tensor_Scalar";

constexpr exir::Decomposition kDecompositions[] = {
    {"aten.__lshift__.Scalar", Shift<kLeftTensors, kLeftScalars>},
    {"aten.__lshift__.Tensor", Shift<kLeftTensors, kLeftScalars>},
    {"aten.__rshift__.Scalar", Shift<kRightTensors, kRightScalars>},
    {"aten.__rshift__.Tensor", Shift<kRightTensors, kRightScalars>},
    {"aten.addmm.default", AddMm},
    {"aten.copysign.Tensor", CopySign},
    {"aten.hypot.default", Hypot},
    {"aten.linalg_vector_norm.default", VectorNorm},
    {"aten.remainder.Scalar", Remainder},
    {"aten.remainder.Tensor", Remainder},
};

// Calls that need no decomposition.
bool IsBetterKept(const exir::ExportedProgram& program, exir::GraphId graph, exir::NodeId id) {
  const exir::Node& node = program.graphs[graph].node(id);
  const exir::TensorMeta* result = program.graphs[graph].value(node.results()[0]).tensor();
  if (result == nullptr) return false;
  // The kernel of reals is right, and a quotient would lose digits.
  if (node.target->op() == "remainder") return !IsIntegral(result->dtype, /*include_bool=*/true);
  if (node.target->op() != "addmm") return false;
  // A product in half precision would be rounded once more.
  if (result->dtype != DType::kFloat32 && result->dtype != DType::kFloat64) return true;
  const auto is_one = [&](std::string_view name) {
    const Argument& factor = node.argument(name);
    const int64_t* whole = factor.get_if<int64_t>();
    const double* real = factor.get_if<double>();
    return (whole != nullptr && *whole == 1) || (real != nullptr && *real == 1);
  };
  return !is_one("beta") || !is_one("alpha");
}

absl::StatusOr<bool> RunRemoval(exir::ExportedProgram& program) {
  bool changed = false;
  for (exir::Graph& graph : program.graphs) {
    exir::GraphEditor editor(graph);
    for (exir::NodeId id : graph.NodeList()) {
      if (!graph.node(id).target->has_trait(exir::kSideEffect)) continue;
      editor.EraseNode(id);
      changed = true;
    }
  }
  return changed;
}

exir::TensorMeta Contiguous(const exir::TensorMeta& meta) {
  exir::TensorMeta dense =
      exir::TensorMeta::Dense(meta.dtype, meta.sizes, ContiguousOrder(meta.rank()));
  dense.device = meta.device;
  dense.requires_grad = meta.requires_grad;
  return dense;
}

// Whether elements of the sizes lie as in row-major order: dimensions of one element may stand
// anywhere.
bool IsRowMajor(const exir::TensorMeta& meta, const DimOrder& order) {
  std::vector<uint8_t> dims;
  for (uint8_t d : order) {
    if (meta.sizes[d].AsInt() != 1) dims.push_back(d);
  }
  return std::is_sorted(dims.begin(), dims.end());
}

// A caller's tensor that is channels last stays so, and is copied; false for all others.
bool IsChannelsLastInput(const exir::ExportedProgram& program, size_t input,
                         const exir::TensorMeta& meta) {
  if (program.signature.inputs[input].kind != exir::InputKind::kUserInput) return false;
  const absl::StatusOr<DimOrder> order = exir::DimOrderOf(meta);
  return order.ok() && *order == ChannelsLastOrder(meta.rank()) && !IsRowMajor(meta, *order);
}

// Every tensor becomes row-major, also state and constants, which are written so then.
absl::StatusOr<bool> RunContiguous(exir::ExportedProgram& program) {
  const exir::OpOverload* copy =
      program.ops->ToEdge(program.ops->Find("dim_order_ops._to_dim_order_copy.default"));
  std::vector<exir::ValueId> channels_last;
  for (uint32_t g = 0; g < program.graphs.size(); ++g) {
    exir::Graph& graph = program.graphs[exir::GraphId(g)];
    exir::GraphEditor editor(graph);
    const auto make_contiguous = [&](exir::ValueId value) {
      const exir::TensorMeta* meta = graph.value(value).tensor();
      if (meta != nullptr) editor.SetType(value, Contiguous(*meta));
    };
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const exir::ValueId input = graph.inputs()[i];
      const exir::TensorMeta* meta = graph.value(input).tensor();
      if (g == 0 && meta != nullptr && IsChannelsLastInput(program, i, *meta)) {
        channels_last.push_back(input);
      } else {
        make_contiguous(input);
      }
    }
    for (exir::NodeId id : graph.NodeList()) {
      for (exir::ValueId value : graph.node(id).results()) make_contiguous(value);
      const std::optional<int> order = graph.node(id).target->ArgumentIndex("dim_order");
      if (order.has_value() && graph.node(id).target->ns() == "dim_order_ops") {
        editor.SetArgument(id, *order, Argument());
      }
    }
  }
  exir::Graph& top = program.top();
  exir::GraphEditor editor(top);
  // A node that copies to this order: first (before its operand's other uses) or last.
  const auto insert_copy = [&](exir::ValueId value, const DimOrder& order, bool first) {
    exir::TensorMeta meta = Contiguous(*top.value(value).tensor());
    meta = exir::TensorMeta::Dense(meta.dtype, meta.sizes, order);
    const std::vector<exir::NodeId> nodes = top.NodeList();
    const exir::NodeId before = first && !nodes.empty() ? nodes.front() : exir::NodeId();
    std::vector<Argument> arguments(copy->schema()->arguments.size());
    arguments[0] = value;
    arguments[*copy->ArgumentIndex("non_blocking")] = false;
    arguments[*copy->ArgumentIndex("dim_order")] = Argument::List(order.begin(), order.end());
    return editor.InsertOp(
        before, {.name = "to_dim_order", .target = copy, .arguments = std::move(arguments)}, meta);
  };
  for (exir::ValueId input : channels_last) {
    const int rank = top.value(input).tensor()->rank();
    const std::string name = top.value(input).name;
    const exir::ValueId contiguous = insert_copy(input, ContiguousOrder(rank), /*first=*/true);
    std::vector<Argument> outputs(top.outputs().begin(), top.outputs().end());
    for (exir::NodeId id : top.NodeList()) {
      const auto results = top.node(id).results();
      if (!results.empty() && results[0] == contiguous) continue;
      editor.ReplaceUsesIn(id, input, contiguous);
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      const exir::ValueId* value = outputs[i].get_if<exir::ValueId>();
      const exir::OutputSpec& spec = program.signature.outputs[i];
      if (value == nullptr) continue;
      if (spec.kind == exir::OutputKind::kUserInputMutation && spec.target == name) {
        if (*value != input) outputs[i] = insert_copy(*value, ChannelsLastOrder(rank), false);
      } else if (*value == input) {
        outputs[i] = contiguous;
      }
    }
    editor.SetOutputs(std::move(outputs));
  }
  return true;
}

}  // namespace

const exir::DecompositionTable& PortableDecompositions() {
  static const exir::DecompositionTable& table = *[] {
    const absl::Span<const exir::Decomposition> rows = kDecompositions;
    return new exir::DecompositionTable({rows});
  }();
  return table;
}

exir::Pass RowMajorTensors() { return {"make_contiguous", RunContiguous}; }

std::vector<exir::Pass> PortablePasses() {
  exir::DecomposeOptions options;
  options.table = &PortableDecompositions();
  options.keep = IsBetterKept;
  // One pass, because decompositions give ATen operators, which become edge operators as all did.
  std::vector<exir::Pass> steps = {exir::Decompose(options), exir::ReplaceViewOps(),
                                   exir::ReplaceMemoryFormatOps(), exir::ToEdgeOps()};
  const auto decompose =
      [steps = std::move(steps)](exir::ExportedProgram& program) -> absl::StatusOr<bool> {
    program.dialect = exir::IrDialect::kAten;
    for (const exir::Pass& step : steps) ABSL_RETURN_IF_ERROR(step.run(program).status());
    return true;
  };
  return {{"remove_runtime_assertions", RunRemoval},
          {"decompose_to_portable", decompose},
          exir::EliminateDeadCode()};
}

}  // namespace belay::pte
