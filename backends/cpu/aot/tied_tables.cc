#include "backends/cpu/aot/tied_tables.h"

#include <cstring>
#include <utility>

namespace belay::cpu {
namespace {

using exir::Argument;
using exir::ConstantTensor;
using exir::ExportedProgram;
using exir::Graph;
using exir::Node;
using exir::ValueId;

constexpr uint64_t kLeastBytes = 1024;

bool IsTableType(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kBFloat16 || dtype == DType::kInt8;
}

// Returns a row-major matrix without gaps. nullopt for other views.
std::optional<ConstantTensor> MatrixOf(const ConstantView& view) {
  if (view.rank() != 2 || !IsTableType(view.tensor->dtype())) return std::nullopt;
  std::optional<ConstantTensor> tensor = view.ToTensor();
  if (!tensor.has_value() || !tensor->is_contiguous()) return std::nullopt;
  return tensor;
}

const std::byte* First(const ConstantTensor& tensor) { return tensor.view().as<const std::byte>(); }

bool Same(const ConstantTensor& a, const ConstantTensor& b) {
  return a.dtype() == b.dtype() && a.sizes() == b.sizes() &&
         (First(a) == First(b) || std::memcmp(First(a), First(b), a.view().nbytes()) == 0);
}

void KeepFirst(TableLayout added, std::optional<TableLayout>& layout) {
  if (!layout.has_value() || added < *layout) layout = added;
}

}  // namespace

std::optional<size_t> TiedTables::Find(const ConstantTensor& tensor) const {
  for (size_t i = 0; i < tables_.size(); ++i) {
    if (Same(tables_[i].tensor, tensor)) return i;
  }
  return std::nullopt;
}

bool TiedTables::AddTablesOf(const ExportedProgram& program) {
  bool any = false;
  const exir::OpOverload* embedding = program.ops->Find("aten.embedding.default");
  const exir::OpOverload* bytes = program.ops->Find("quantized_decomposed.embedding_byte.default");
  const ConstantViews views(program);
  for (exir::NodeId id : program.top().nodes()) {
    const Node& node = program.top().node(id);
    const exir::OpOverload* op = node.target->aten();
    if (op == nullptr || (op != embedding && op != bytes)) continue;
    const std::optional<ConstantView> view = views.Find(node.argument("weight"));
    if (!view.has_value()) continue;
    std::optional<ConstantTensor> tensor = MatrixOf(*view);
    if (!tensor.has_value() || tensor->view().nbytes() < kLeastBytes) continue;
    any = true;
    if (!Find(*tensor).has_value()) tables_.push_back({*std::move(tensor)});
  }
  return any;
}

bool TiedTables::HasMatmulOf(const ExportedProgram& program) const {
  if (tables_.empty()) return false;
  const Graph& graph = program.top();
  const exir::OpOverload* const matmuls[] = {program.ops->Find("aten.mm.default"),
                                             program.ops->Find("aten.addmm.default"),
                                             program.ops->Find("aten.bmm.default")};
  const ConstantViews views(program);
  const auto is_table = [&](const Argument& right) {
    for (const ValueId* value = right.get_if<ValueId>(); value != nullptr;) {
      if (graph.IsInput(*value)) {
        const std::optional<ConstantView> root = views.Find(*value);
        const std::optional<ConstantTensor> tensor =
            root.has_value() ? MatrixOf(*root) : std::nullopt;
        return tensor.has_value() && Find(*tensor).has_value();
      }
      const exir::NodeId producer = graph.value(*value).producer;
      if (!producer.valid() || graph.node(producer).arguments.empty()) return false;
      value = graph.node(producer).operand().get_if<ValueId>();
    }
    return false;
  };
  for (exir::NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    for (const exir::OpOverload* matmul : matmuls) {
      if (matmul != nullptr && node.target->aten() == matmul && is_table(node.argument("mat2"))) {
        return true;
      }
    }
  }
  return false;
}

void TiedTables::Add(const ConstantView& matrix, TableLayout layout) {
  if (tables_.empty() || matrix.rank() != 2) return;
  ConstantView table = matrix;
  std::swap(table.sizes[0], table.sizes[1]);
  std::swap(table.strides[0], table.strides[1]);
  const std::optional<ConstantTensor> tensor = MatrixOf(table);
  if (!tensor.has_value()) return;
  const std::optional<size_t> index = Find(*tensor);
  if (index.has_value()) KeepFirst(layout, tables_[*index].layout);
}

void TiedTables::Merge(const TiedTables& copy) {
  for (size_t i = 0; i < tables_.size(); ++i) {
    const std::optional<TableLayout>& added = copy.tables_[i].layout;
    if (added.has_value()) KeepFirst(*added, tables_[i].layout);
  }
}

std::optional<TableLayout> TiedTables::LayoutOf(const ConstantView& table) const {
  if (tables_.empty()) return std::nullopt;
  const std::optional<ConstantTensor> tensor = MatrixOf(table);
  if (!tensor.has_value()) return std::nullopt;
  const std::optional<size_t> index = Find(*tensor);
  return index.has_value() ? tables_[*index].layout : std::nullopt;
}

}  // namespace belay::cpu
