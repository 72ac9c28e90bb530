#include "backends/cpu/aot/cpu_partitioner.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/cpu_backend.h"
#include "backends/cpu/aot/passes/fuse_pointwise.h"
#include "backends/cpu/aot/static_quantization.h"
#include "exir/backend/partitioners/capability_partitioner.h"
#include "exir/backend/partitioners/tag_constants.h"
#include "exir/ir/text.h"
#include "runtime/core/dtype.h"
#include "runtime/core/status_macros.h"

namespace belay::cpu {
namespace {

constexpr DTypeSet kAnchorTypes = {DType::kFloat32, DType::kBFloat16, DType::kFloat16};
constexpr DTypeSet kTypes = {DType::kFloat32, DType::kBFloat16, DType::kFloat16, DType::kInt64,
                             DType::kInt32,   DType::kInt8,     DType::kUint8,   DType::kBool};

// Computed scales may be float64.
constexpr DTypeSet kQuantizationTypes = kTypes | DTypeSet{DType::kFloat64};

// Supported operators by name; true for anchor operators.
const absl::flat_hash_map<std::string_view, bool>& SupportedOps() {
  static const auto& ops = *new absl::flat_hash_map<std::string_view, bool>{
#define BELAY_CPU_SUPPORTED(name) {name, false},
#define BELAY_CPU_ANCHOR(name) {name, true},
#include "backends/cpu/aot/supported_ops.inc"
#undef BELAY_CPU_ANCHOR
#undef BELAY_CPU_SUPPORTED
  };
  return ops;
}

// Precondition: the operator is supported.
bool IsAnchor(const exir::Node& node) { return SupportedOps().at(node.target->name()); }

std::string UnsupportedValueReason(const exir::Graph& graph, exir::ValueId value, DTypeSet types) {
  const exir::ValueType& type = graph.value(value).type;
  if (std::holds_alternative<exir::SymIntType>(type)) return "";
  const exir::TensorMeta* meta = std::get_if<exir::TensorMeta>(&type);
  if (meta == nullptr) {
    return absl::StrCat("%", graph.value(value).name, " is ", exir::PrintType(type),
                        ", neither a tensor nor an integer");
  }
  if (!types.contains(meta->dtype)) {
    return absl::StrCat("%", graph.value(value).name, " is ", exir::PrintType(type),
                        types == kAnchorTypes ? ", expected float32, bfloat16 or float16"
                                              : ", expected float32, bfloat16, float16, int64, "
                                                "int32, int8, uint8 or bool");
  }
  if (meta->layout != exir::Layout::kStrided || meta->rank() > kMaxRank ||
      !exir::DimOrderOf(*meta).ok()) {
    return absl::StrCat("%", graph.value(value).name, " is ", exir::PrintType(type),
                        ", not a dense tensor");
  }
  return "";
}

// Returns why an update of a mutated buffer stays in the program; "" for other nodes. The program
// writes rows of a cache in place, or copies it once. A delegate would copy all of it, and then
// copy its result again.
std::string UnsupportedUseReason(const exir::ExportedProgram& program, exir::GraphId graph_id,
                                 exir::NodeId id) {
  constexpr auto is_update = [](const exir::Node& node) {
    return node.target->name() == "aten.slice_scatter.default" ||
           node.target->name() == "aten.select_scatter.default" ||
           node.target->name() == "aten.index_put.default" ||
           node.target->name().starts_with("aten.scatter");
  };
  if (graph_id != exir::ExportedProgram::kTop || !is_update(program.top().node(id))) return "";
  const exir::Graph& graph = program.top();
  const exir::ValueId* self = graph.node(id).value_argument("self");
  while (self != nullptr && !graph.IsInput(*self)) {
    const exir::Node& producer = graph.node(graph.value(*self).producer);
    self = is_update(producer) ? producer.value_argument("self") : nullptr;
  }
  if (self == nullptr) return "";
  const exir::InputSpec& spec = program.signature.inputs[*program.InputIndex(*self)];
  if (!exir::NamesTensor(spec.kind) ||
      !exir::MutatedState(program.signature).contains(spec.target)) {
    return "";
  }
  return absl::StrCat("it updates a part of buffer '", spec.target, "'");
}

// The only user of an elementwise node, if that is elementwise and of the same sizes: FusePointwise
// computes both at once.
std::optional<exir::NodeId> FusedUser(const exir::Graph& graph, exir::NodeId id) {
  if (!IsPointwiseOp(graph, id)) return std::nullopt;
  const exir::ValueId result = graph.ResultOf(id);
  const std::optional<exir::NodeId> user = graph.SoleUser(result);
  if (!user.has_value() || !IsPointwiseOp(graph, *user)) return std::nullopt;
  const exir::TensorMeta& fused = graph.MetaOf(graph.ResultOf(*user));
  if (fused.dtype == DType::kBool || fused.sizes != graph.MetaOf(result).sizes) {
    return std::nullopt;
  }
  return user;
}

// Does not delegate partitions without anchor operators.
class CpuPartitioner final : public exir::Partitioner {
 public:
  explicit CpuPartitioner(std::vector<exir::CompileSpec> compile_specs)
      : capability_(
            {std::string(kBackendId), std::move(compile_specs)},
            [](const exir::ExportedProgram& program, exir::GraphId graph, exir::NodeId node) {
              std::string reason = CpuRejection(program.graphs[graph], node);
              return reason.empty() ? UnsupportedUseReason(program, graph, node) : reason;
            },
            {.tag_prefix = "cpu_", .tag_constants = false}) {}

  absl::StatusOr<exir::PartitionResult> Partition(
      const exir::ExportedProgram& program) const override {
    ABSL_ASSIGN_OR_RETURN(exir::PartitionResult result, capability_.Partition(program));
    absl::flat_hash_set<std::string> anchored;
    absl::flat_hash_map<std::pair<exir::GraphId, exir::NodeId>, std::string_view> tags;
    for (const auto& tagged : result.nodes) {
      if (IsAnchor(program.graphs[tagged.graph].node(tagged.node))) anchored.insert(tagged.tag);
      tags.emplace(std::pair(tagged.graph, tagged.node), tagged.tag);
    }
    for (const auto& [node, tag] : tags) {
      const std::optional<exir::NodeId> user = FusedUser(program.graphs[node.first], node.second);
      if (!user.has_value()) continue;
      const auto it = tags.find({node.first, *user});
      if (it != tags.end() && it->second == tag) anchored.insert(std::string(tag));
    }
    std::erase_if(result.nodes, [&](const exir::PartitionResult::NodeTag& tagged) {
      if (anchored.contains(tagged.tag)) return false;
      result.rejections.push_back({tagged.graph, tagged.node,
                                   "no matmul, convolution or group of elementwise operators is "
                                   "connected with it: nothing would be gained"});
      return true;
    });
    std::erase_if(result.delegation,
                  [&](const auto& entry) { return !anchored.contains(entry.first); });
    exir::TagConstantData(program, result, exir::Replaceable::kAreOwned);
    exir::TagSubgraphConstants(program, result);
    return result;
  }

  exir::QuantizationPatterns StaticQuantization() const override {
    return StaticQuantizationPatterns();
  }

 private:
  exir::CapabilityPartitioner capability_;
};

}  // namespace

std::string CpuRejection(const exir::Graph& graph, exir::NodeId id) {
  const exir::Node& node = graph.node(id);
  if (exir::HasSubgraphs(node)) {
    return absl::StrCat(node.target->name(),
                        " runs in the program; the nodes of its subgraphs are delegated");
  }
  if (!SupportedOps().contains(node.target->name()) || node.target->schema() == nullptr) {
    return absl::StrCat("operator ", node.target->name(), " is not supported");
  }
  const bool quantizes = node.target->has_trait(exir::kQuantization);
  const DTypeSet types = IsAnchor(node) ? kAnchorTypes : quantizes ? kQuantizationTypes : kTypes;
  std::string reason;
  const auto ask = [&](exir::ValueId value) {
    if (reason.empty()) reason = UnsupportedValueReason(graph, value, types);
  };
  for (const exir::Argument& argument : node.arguments) {
    exir::ForEachValue(argument, ask);
  }
  for (exir::ValueId result : node.results()) ask(result);
  return reason;
}

std::unique_ptr<exir::Partitioner> CreateCpuPartitioner(
    std::vector<exir::CompileSpec> compile_specs) {
  return std::make_unique<CpuPartitioner>(std::move(compile_specs));
}

}  // namespace belay::cpu
