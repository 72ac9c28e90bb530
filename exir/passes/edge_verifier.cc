#include "exir/passes/edge_verifier.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/ir/problem_list.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/op_definition/dtype_rule.h"
#include "exir/op_definition/op_table.h"
#include "runtime/core/sizes.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

// Operators that are neither core nor view_copy but are allowed in edge programs. By name, because
// the registry may not have them.
constexpr std::string_view kCoreExceptions[] = {
    "aten._upsample_bilinear2d_aa.default",
    "aten.dequantize.self",
    "aten.full_like.default",
    "aten.max.default",
    "aten.min.default",
    "aten.mkldnn_rnn_layer.default",
    "aten.quantize_per_tensor.default",
};
constexpr std::string_view kMemoryFormatOps[] = {"aten._to_copy.default", "aten.clone.default",
                                                 "aten.empty.memory_format"};

bool IsFloat8(std::optional<DType> dtype) {
  return dtype.has_value() && kFloat8Types.contains(*dtype);
}

class EdgeChecker {
 public:
  EdgeChecker(const OpRegistry& ops, const EdgeVerifierOptions& options)
      : options_(options),
        exceptions_(std::begin(kCoreExceptions), std::end(kCoreExceptions)),
        memory_format_ops_(ops, kMemoryFormatOps) {
    for (const OpOverload* op : options.preserved) preserved_.insert(op->aten());
    exceptions_.insert(options.core_exceptions.begin(), options.core_exceptions.end());
  }

  absl::Status Run(const ExportedProgram& program) {
    for (const OpOverload* op : options_.preserved) {
      if (op->schema() != nullptr && op->schema()->IsView()) {
        Report(
            3, [&] { return op->name(); },
            "expected preserved operators that are not views; can't preserve an operator because "
            "it is a view");
      }
    }
    // Programs of delegates after the programs that call them, each once.
    std::vector<std::pair<const ExportedProgram*, std::string>> pending = {{&program, ""}};
    absl::flat_hash_set<const LoweredBackendModule*> seen;
    for (size_t i = 0; i < pending.size(); ++i) {
      const ExportedProgram& current = *pending[i].first;
      where_ = pending[i].second;
      CheckProgram(current);
      for (uint32_t m = 0; m < current.lowered_modules.size(); ++m) {
        const LoweredBackendModule* module = current.lowered_modules[ModuleId(m)].get();
        if (module == nullptr || !seen.insert(module).second) continue;
        CheckModule(m, *module);
        pending.emplace_back(
            &module->original,
            absl::StrCat(where_, "in module#", m, " of backend ", module->backend_id, ": "));
      }
    }
    return violations_.ToStatus(absl::StatusCode::kFailedPrecondition);
  }

 private:
  template <class Subject>
  void Report(int rule, Subject subject, std::string_view problem) {
    violations_.Add([&] { return absl::StrCat("E", rule, " ", where_, subject()); }, problem);
  }
  void ReportNode(int rule, const Graph& graph, NodeId node, std::string_view problem) {
    Report(rule, [&] { return DescribeNode(graph, node); }, problem);
  }

  void CheckModule(uint32_t index, const LoweredBackendModule& module) {
    const auto subject = [index] { return absl::StrCat("module#", index); };
    if (module.backend_id.empty()) Report(7, subject, "expected the id of a backend, got none");
    if (module.original.dialect != IrDialect::kEdge) {
      Report(7, subject,
             absl::StrCat("expected an edge program, got one of the ",
                          IrDialectName(module.original.dialect), " dialect"));
    }
  }

  void CheckProgram(const ExportedProgram& program) {
    for (const Graph& graph : program.graphs) {
      for (NodeId node : graph.nodes()) CheckNode(graph, node);
    }
    for (const InputSpec& spec : program.signature.inputs) {
      const ConstantTensor* tensor = program.FindConstant(spec);
      if (tensor == nullptr || tensor->is_contiguous() || options_.any_order) continue;
      if (DenseStrides(tensor->sizes(), ChannelsLastOrder(tensor->sizes().size())) ==
          tensor->strides()) {
        continue;
      }
      Report(
          5, [&] { return absl::StrCat(InputKindName(spec.kind), " '", spec.target, "'"); },
          absl::StrCat("expected a contiguous or channels last tensor, got ",
                       tensor->view().ToString()));
    }
  }

  void CheckNode(const Graph& graph, NodeId node) {
    const OpOverload& op = *graph.node(node).target;
    if (!AllowedIn(IrDialect::kEdge, op)) {
      ReportNode(1, graph, node, absl::StrCat("operator ", op.name(), " is not an edge operator"));
    }
    if (options_.check_core && op.ns() == "aten" && !IsCore(op)) {
      ReportNode(2, graph, node,
                 absl::StrCat("operator ", op.name(),
                              " is not in the core ATen opset; decompose it, keep it for a "
                              "partitioner, or list it as an exception"));
    }
    const bool memory_format = op.dialect() == Dialect::kEdge && memory_format_ops_.contains(&op);
    if (options_.dim_order && memory_format) {
      ReportNode(4, graph, node,
                 absl::StrCat("operator ", op.name(), " should not be used in dim order mode"));
    }
    if (!options_.dim_order && op.ns() == "dim_order_ops") {
      ReportNode(
          4, graph, node,
          absl::StrCat("operator ", op.name(), " should not be used without dim order mode"));
    }
    if (options_.check_dtypes && op.schema() != nullptr) {
      CheckDtypes(graph, node);
    }
  }

  bool IsCore(const OpOverload& op) const {
    return op.has_trait(kCore) || op.has_trait(kViewCopy) || op.has_trait(kSymbolic) ||
           exceptions_.contains(op.name()) || preserved_.contains(op.aten()) ||
           AllowedIn(IrDialect::kEdge, *op.aten());
  }

  static std::optional<DType> DTypeOf(const Graph& graph, ValueId value) {
    const TensorMeta* tensor = graph.value(value).tensor();
    return tensor == nullptr ? std::nullopt : std::optional(tensor->dtype);
  }
  // A list counts by its first tensor.
  static std::optional<DType> DTypeOf(const Graph& graph, const Argument& argument) {
    if (const ValueId* value = argument.get_if<ValueId>()) return DTypeOf(graph, *value);
    if (const Argument::List* list = argument.get_if<Argument::List>()) {
      for (const Argument& element : *list) {
        if (const std::optional<DType> dtype = DTypeOf(graph, element)) return dtype;
      }
    }
    return std::nullopt;
  }

  void CheckDtypes(const Graph& graph, NodeId id) {
    const Node& node = graph.node(id);
    const FunctionSchema& schema = *node.target->schema();
    if (node.arguments.size() != schema.arguments.size() ||
        node.outputs.size() != schema.returns.size()) {
      return;  // not well formed
    }
    const DTypeRule* rule = RuleOf(*node.target);
    if (rule == nullptr) return;
    std::vector<std::optional<DType>> dtypes;
    std::vector<DTypeRule::NamedDType> named;
    for (size_t i = 0; i < schema.arguments.size(); ++i) {
      if (schema.arguments[i].type.base != BaseType::kTensor) continue;
      dtypes.push_back(DTypeOf(graph, node.arguments[i]));
    }
    for (size_t k = 0; k < schema.returns.size(); ++k) {
      if (schema.returns[k].type.base != BaseType::kTensor) continue;
      const std::vector<ValueId>& values = node.outputs[k].values;
      dtypes.push_back(values.empty() ? std::nullopt : DTypeOf(graph, values[0]));
    }
    if (rule->Accepts(dtypes)) return;
    if (options_.allow_float8 && std::any_of(dtypes.begin(), dtypes.end(), IsFloat8)) return;
    for (size_t i = 0; i < rule->slots().size(); ++i) {
      named.push_back({rule->slots()[i].name, dtypes[i]});
    }
    ReportNode(6, graph, id,
               absl::StrCat("unsupported dtypes: ", FromAbsl(rule->Validate(named).message())));
  }

  const DTypeRule* RuleOf(const OpOverload& op) {
    std::unique_ptr<const DTypeRule>& rule = rules_[op.aten()];
    if (rule == nullptr) {
      absl::StatusOr<DTypeRule> created = DTypeRule::Create(*op.schema(), op.def()->dtypes);
      if (!created.ok()) return nullptr;  // the registry rejects such rows
      rule = std::make_unique<const DTypeRule>(*std::move(created));
    }
    return rule.get();
  }

  const EdgeVerifierOptions& options_;
  absl::flat_hash_set<const OpOverload*> preserved_;
  absl::flat_hash_set<std::string> exceptions_;
  const OpTable<std::string_view> memory_format_ops_;
  absl::flat_hash_map<const OpOverload*, std::unique_ptr<const DTypeRule>> rules_;
  std::string where_;
  ProblemList violations_;
};

}  // namespace

absl::Status VerifyEdge(const ExportedProgram& program, const EdgeVerifierOptions& options) {
  return EdgeChecker(*program.ops, options).Run(program);
}

Pass EdgeVerifier(EdgeVerifierOptions options) {
  return {"edge_verifier",
          [options = std::move(options)](ExportedProgram& program) -> absl::StatusOr<bool> {
            const absl::Status status = VerifyEdge(program, options);
            if (!status.ok()) return status;
            return false;
          }};
}

}  // namespace belay::exir
