#include "exir/quantize/weight_uses.h"

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

struct AnchorOp {
  std::string_view name;
  AnchorKind kind;
  std::string_view weight, input;
  bool columns_first = false;  // multiplies by [columns, rows]
};
constexpr AnchorOp kAnchors[] = {
    {"aten.addmm.default", AnchorKind::kLinear, "mat2", "mat1", true},
    {"aten.mm.default", AnchorKind::kLinear, "mat2", "self", true},
    {"aten.linear.default", AnchorKind::kLinear, "weight", "input"},
    {"aten.embedding.default", AnchorKind::kEmbedding, "weight", "indices"},
    {"aten.convolution.default", AnchorKind::kConvolution, "weight", "input"},
};

const AnchorOp* AnchorOf(const Node& node) {
  const std::string& name = node.target->aten()->name();
  const auto* it = std::find_if(std::begin(kAnchors), std::end(kAnchors),
                                [&](const AnchorOp& op) { return op.name == name; });
  return it == std::end(kAnchors) ? nullptr : it;
}

bool IsTransposition(const Node& node) {
  const std::string& name = node.target->aten()->name();
  if (name == "aten.t_copy.default" || name == "aten.t.default") return true;
  const auto swapped = [](const Argument& first, const Argument& second) {
    const int64_t *a = first.get_if<int64_t>(), *b = second.get_if<int64_t>();
    return a != nullptr && b != nullptr && (*a + 2) % 2 == 1 - (*b + 2) % 2;
  };
  if (name == "aten.permute_copy.default" || name == "aten.permute.default") {
    const auto* dims = node.argument("dims").get_if<Argument::List>();
    return dims != nullptr && dims->size() == 2 && swapped((*dims)[0], (*dims)[1]) &&
           ((*dims)[0] == Argument(1) || (*dims)[0] == Argument(-1));
  }
  return (name == "aten.transpose_copy.int" || name == "aten.transpose.int") &&
         swapped(node.argument("dim0"), node.argument("dim1"));
}

// A constant matrix, and whether an odd number of transpositions follow it.
struct Root {
  ValueId constant;
  bool transposed = false;
};
std::optional<Root> RootOf(const Graph& graph, const ConstantInputs& constants,
                           const Argument& argument) {
  Root root;
  const ValueId* value = argument.get_if<ValueId>();
  while (value != nullptr) {
    if (graph.IsInput(*value)) {
      if (constants.Find(*value) == nullptr) return std::nullopt;
      root.constant = *value;
      return root;
    }
    const Node& producer = graph.node(graph.value(*value).producer);
    const TensorMeta* meta = graph.value(*value).tensor();
    if (meta == nullptr || meta->rank() != 2 || !IsTransposition(producer)) return std::nullopt;
    root.transposed = !root.transposed;
    value = producer.operand().get_if<ValueId>();
  }
  return std::nullopt;
}

}  // namespace

WeightUses FindWeightUses(const ExportedProgram& program, const ConstantInputs& constants) {
  WeightUses found;
  const Graph& graph = program.top();
  for (NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const AnchorOp* op = AnchorOf(node);
    if (op == nullptr) continue;
    const auto reject = [&](std::string reason) {
      found.rejections.push_back({id, op->kind, std::move(reason)});
    };
    const std::optional<Root> root = RootOf(graph, constants, node.argument(op->weight));
    if (!root.has_value()) {
      reject("its weight is not a constant or a transposed constant");
      continue;
    }
    const ConstantTensor& tensor = *constants.Find(root->constant);
    const size_t rank = tensor.sizes().size();
    if (tensor.dtype() != DType::kFloat32) {
      reject(absl::StrCat("its weight is ", DTypeName(tensor.dtype()), ", expected float32"));
    } else if (tensor.view().numel() == 0) {
      reject("its weight is empty");
    } else if (op->kind == AnchorKind::kConvolution &&
               node.argument("transposed") != Argument(false)) {
      reject("transposed convolutions of this form have no quantized kernel");
    } else if (op->kind == AnchorKind::kConvolution ? rank < 3 : rank != 2) {
      reject(absl::StrCat("its weight has rank ", rank));
    } else {
      found.uses.push_back({.node = id,
                            .kind = op->kind,
                            .weight_argument = op->weight,
                            .input_argument = op->input,
                            .constant = root->constant,
                            .rows_first = root->transposed == op->columns_first,
                            .transposes = op->columns_first});
    }
  }
  return found;
}

std::optional<NodeId> MatrixViewOf(const Graph& graph, ValueId matrix) {
  const NodeId producer = graph.value(matrix).producer;
  if (!producer.valid() ||
      graph.node(producer).target->aten()->name() != "aten.view_copy.default") {
    return std::nullopt;
  }
  const ValueId* source = graph.node(producer).operand().get_if<ValueId>();
  const TensorMeta *from = source == nullptr ? nullptr : graph.value(*source).tensor(),
                   *to = graph.value(matrix).tensor();
  const bool keeps_rows = from != nullptr && to != nullptr && from->rank() > 1 &&
                          from->sizes.back() == to->sizes.back();
  return keeps_rows ? std::optional(producer) : std::nullopt;
}

int64_t ColumnsOf(const ConstantTensor& tensor, bool rows_first) {
  return tensor.view().numel() / tensor.sizes()[rows_first ? 0 : 1];
}

absl::StatusOr<WeightMatrix> MatrixOf(const ConstantTensor& tensor, bool rows_first) {
  WeightMatrix matrix;
  if (rows_first) {
    ABSL_ASSIGN_OR_RETURN(matrix.storage, tensor.Dense());
  } else {
    ABSL_ASSIGN_OR_RETURN(matrix.storage, tensor.Dense({1, 0}));
  }
  const int64_t count = tensor.view().numel();
  matrix.columns = ColumnsOf(tensor, rows_first);
  matrix.rows = count / matrix.columns;
  matrix.elements = absl::MakeConstSpan(reinterpret_cast<const float*>(matrix.storage.bytes.data()),
                                        static_cast<size_t>(count));
  return matrix;
}

}  // namespace belay::exir
