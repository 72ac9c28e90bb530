#include "exir/backend/to_backend.h"

#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "exir/backend/introspection.h"
#include "exir/backend/lowering/partition_check.h"
#include "exir/backend/lowering/splice.h"
#include "exir/backend/lowering/subprogram.h"
#include "exir/backend/named_data_store.h"
#include "exir/backend/transforms/target_device.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "runtime/core/annotate.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

std::shared_ptr<const LoweredBackendModule> MakeModule(std::string_view backend_id,
                                                       ExportedProgram original,
                                                       std::vector<CompileSpec> compile_specs,
                                                       PreprocessResult result) {
  auto module =
      std::make_shared<LoweredBackendModule>(std::string(backend_id), std::move(original));
  module->processed = std::move(result.processed);
  module->compile_specs = std::move(compile_specs);
  module->named_data = std::move(result.named_data);
  module->debug_handle_map = std::move(result.debug_handle_map);
  module->delegate_info = std::move(result.delegate_info);
  module->cost = std::move(result.cost);
  return module;
}

struct PlannedMethod {
  const std::string* name;
  const ExportedProgram* program;
  PartitionResult answer = {};  // the plan has pointers into it
  MethodPlan plan = {};
  LoweredPartitions lowered = {};  // by position in plan.by_backend
};

// Lowering requires edge programs (docs/lowering.md rows 11, 12).
absl::Status VerifyEdgeProgram(const ExportedProgram& program) {
  ABSL_RETURN_IF_ERROR(Verify(program));
  if (program.dialect == IrDialect::kEdge) return absl::OkStatus();
  std::string first;
  for (const Graph& graph : program.graphs) {
    if (graph.num_nodes() == 0) continue;
    first = absl::StrCat("; its first node is ", DescribeNode(graph, *graph.nodes().begin()));
    break;
  }
  return absl::FailedPreconditionError(
      absl::StrCat("expected an edge program, got one of the dialect ",
                   IrDialectName(program.dialect), " (ToEdge converts it)", first));
}

// docs/lowering.md row 10.
absl::Status CheckDevice(const Backend& backend, absl::Span<const CompileSpec> compile_specs) {
  ABSL_ASSIGN_OR_RETURN(const std::optional<Device> device, TargetDevice(compile_specs));
  if (!device.has_value() || backend.SupportsDevice(*device)) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(
      "backend ", backend.id(), " does not support the device ", device->type, ":",
      device->index.value_or(0), ", which the compile spec '", kTargetDeviceKey, "' asks for"));
}

absl::Status CheckReply(std::string_view backend,
                        const std::vector<std::pair<std::string, size_t>>& asked,
                        const MethodResults& reply,
                        absl::flat_hash_map<std::string_view, size_t>& index) {
  absl::flat_hash_set<std::string_view> names;
  for (const auto& [method, count] : asked) names.insert(method);
  for (size_t i = 0; i < reply.size(); ++i) {
    if (!names.contains(reply[i].first)) {
      return absl::InternalError(absl::StrCat("backend ", backend, " replied for method '",
                                              reply[i].first, "', which it was not given"));
    }
    if (!index.emplace(reply[i].first, i).second) {
      return absl::InternalError(
          absl::StrCat("backend ", backend, " replied twice for method '", reply[i].first, "'"));
    }
  }
  for (const auto& [method, count] : asked) {
    const auto it = index.find(method);
    if (it == index.end()) {
      return absl::InternalError(absl::StrCat("backend ", backend, " did not reply for method '",
                                              method, "', which has ", count, " partitions"));
    }
    const size_t actual = reply[it->second].second.size();
    if (actual != count) {
      return absl::InternalError(absl::StrCat("backend ", backend, " replied with ", actual,
                                              " results for the ", count, " partitions of method '",
                                              method, "'"));
    }
  }
  return absl::OkStatus();
}

// Passes all partitions for the backend to it, and stores the results.
absl::Status LowerBackend(const Backend& backend, std::vector<PlannedMethod>& methods,
                          int threads) {
  MethodPartitions inputs;
  std::vector<std::pair<std::string, size_t>> asked;
  struct Request {
    PlannedMethod* method;
    size_t backend;  // position in by_backend
    std::vector<ExportedProgram> originals;
  };
  std::vector<Request> kept;
  for (PlannedMethod& method : methods) {
    for (size_t b = 0; b < method.plan.by_backend.size(); ++b) {
      const auto& [id, places] = method.plan.by_backend[b];
      if (id != backend.id()) continue;
      std::vector<PartitionInput> partitions;
      Request entry{&method, b, {}};
      for (const auto& [g, p] : places) {
        const Partition& partition = method.plan.graphs[g].partitions[p];
        ExportedProgram program = BuildSubprogram(*method.program, partition);
        partitions.push_back({program.Clone(), partition.delegation->compile_specs, partition.tag});
        entry.originals.push_back(std::move(program));
      }
      asked.emplace_back(*method.name, partitions.size());
      inputs.emplace_back(*method.name, std::move(partitions));
      kept.push_back(std::move(entry));
    }
  }
  absl::StatusOr<MethodResults> reply = backend.PreprocessMultimethod(std::move(inputs), threads);
  if (!reply.ok()) return Annotate(reply.status(), absl::StrCat("backend ", backend.id()));
  absl::flat_hash_map<std::string_view, size_t> index;
  ABSL_RETURN_IF_ERROR(CheckReply(backend.id(), asked, *reply, index));
  for (Request& entry : kept) {
    std::vector<PreprocessResult>& results = (*reply)[index.at(*entry.method->name)].second;
    const auto& places = entry.method->plan.by_backend[entry.backend].second;
    auto& lowered = entry.method->lowered[entry.backend];
    for (size_t i = 0; i < places.size(); ++i) {
      const Partition& partition =
          entry.method->plan.graphs[places[i].first].partitions[places[i].second];
      lowered.push_back(MakeModule(backend.id(), std::move(entry.originals[i]),
                                   partition.delegation->compile_specs, std::move(results[i])));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<PlannedMethod> PlanMethod(const std::string& name, const ExportedProgram& program,
                                         const Partitioner& partitioner, const BackendSet& backends,
                                         const StateElsewhere& elsewhere,
                                         const ToBackendOptions& options) {
  PlannedMethod method{.name = &name, .program = &program};
  ABSL_RETURN_IF_ERROR(VerifyEdgeProgram(program));
  ABSL_ASSIGN_OR_RETURN(method.answer, partitioner.Partition(program));
  if (options.rejections != nullptr) {
    for (const auto& [graph, node, reason] : method.answer.rejections) {
      const Graph& of = program.graphs[graph];
      options.rejections->push_back({name, of.name(), of.node(node).name, reason});
    }
  }
  for (const auto& [tag, delegation] : method.answer.delegation) {
    const absl::StatusOr<const Backend*> backend = backends.Find(delegation.backend_id);
    absl::Status status = backend.status();
    if (status.ok()) status = CheckDevice(**backend, delegation.compile_specs);
    if (!status.ok()) return Annotate(status, absl::StrCat("tag '", tag, "'"));
  }
  ABSL_ASSIGN_OR_RETURN(method.plan, PlanPartitions(program, method.answer, elsewhere,
                                                    options.validate_partitions, options.notes));
  method.lowered.resize(method.plan.by_backend.size());
  return method;
}

// State of all methods by name: the methods that have it and those that write to it, in method
// order.
struct StateOfMethods {
  explicit StateOfMethods(const MethodPrograms& methods) {
    for (const auto& [name, program] : methods) {
      const absl::btree_set<std::string_view> mutated = MutatedState(program.signature);
      absl::btree_set<std::string_view> seen;
      for (const InputSpec& input : program.signature.inputs) {
        if (!NamesTensor(input.kind) || input.kind == InputKind::kTensorConstant) continue;
        if (!seen.insert(input.target).second) continue;
        present[input.target].push_back(name);
        if (mutated.contains(input.target)) written[input.target].push_back(name);
      }
    }
  }
  // Returns the state of the other methods.
  StateElsewhere Elsewhere(const std::string& method) const {
    StateElsewhere elsewhere;
    Add(present, method, elsewhere.present);
    Add(written, method, elsewhere.written);
    return elsewhere;
  }

 private:
  using Methods = absl::btree_map<std::string, std::vector<std::string>>;
  static void Add(const Methods& from, const std::string& method,
                  absl::flat_hash_map<std::string, std::string>& to) {
    for (const auto& [state, names] : from) {
      const std::string& other = names[0] != method ? names[0] : names.back();
      if (other != method) to.emplace(state, other);
    }
  }
  Methods present, written;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const LoweredBackendModule>> ToBackend(
    std::string_view backend_id, const ExportedProgram& program,
    absl::Span<const CompileSpec> compile_specs, const BackendSet& backends) {
  ABSL_ASSIGN_OR_RETURN(const Backend* backend, backends.Find(backend_id));
  ABSL_RETURN_IF_ERROR(CheckDevice(*backend, compile_specs));
  ABSL_RETURN_IF_ERROR(VerifyEdgeProgram(program));
  absl::StatusOr<PreprocessResult> result = backend->Preprocess(program.Clone(), compile_specs);
  if (!result.ok()) return Annotate(result.status(), absl::StrCat("backend ", backend_id));
  return MakeModule(backend_id, program.Clone(), {compile_specs.begin(), compile_specs.end()},
                    *std::move(result));
}

absl::StatusOr<MethodPrograms> ToBackend(const MethodPrograms& methods,
                                         const MethodPartitioners& partitioners,
                                         const BackendSet& backends,
                                         const ToBackendOptions& options) {
  absl::flat_hash_map<std::string_view, const MethodPrograms::value_type*> by_name;
  for (const auto& method : methods) {
    if (!by_name.emplace(method.first, &method).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("there are two methods with the name '", method.first, "'"));
    }
  }
  absl::flat_hash_map<std::string_view, size_t> planned_index;
  std::vector<PlannedMethod> planned;
  const StateOfMethods state(methods);
  for (const auto& [name, partitioner] : partitioners) {
    const auto it = by_name.find(name);
    if (it == by_name.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is a partitioner for method '", name, "', but no such method"));
    }
    if (!planned_index.emplace(name, planned.size()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("there are two partitioners for method '", name, "'"));
    }
    absl::StatusOr<PlannedMethod> method =
        PlanMethod(it->second->first, it->second->second, *partitioner, backends,
                   state.Elsewhere(name), options);
    if (!method.ok()) return Annotate(method.status(), absl::StrCat("method '", name, "'"));
    planned.push_back(*std::move(method));
  }

  std::vector<std::string> order;  // of backends, first seen first
  absl::flat_hash_set<std::string> seen;
  for (const PlannedMethod& method : planned) {
    for (const auto& [id, places] : method.plan.by_backend) {
      if (seen.insert(id).second) order.push_back(id);
    }
  }
  for (const std::string& id : order) {
    ABSL_ASSIGN_OR_RETURN(const Backend* backend, backends.Find(id));
    ABSL_RETURN_IF_ERROR(LowerBackend(*backend, planned, options.threads));
  }

  MethodPrograms result;
  for (const auto& [name, program] : methods) {
    const auto it = planned_index.find(name);
    if (it == planned_index.end() || planned[it->second].plan.empty()) {
      result.emplace_back(name, program.Clone());
      continue;
    }
    const PlannedMethod& method = planned[it->second];
    ExportedProgram lowered = Splice(program, method.plan, method.lowered);
    const absl::Status verified = Verify(lowered);
    if (!verified.ok()) {
      return absl::InternalError(absl::StrCat(
          "method '", name, "' does not verify after lowering: ", FromAbsl(verified.message())));
    }
    result.emplace_back(name, std::move(lowered));
  }
  ABSL_RETURN_IF_ERROR(CollectNamedData(result).status());
  return result;
}

MethodPrograms Clone(const MethodPrograms& methods) {
  MethodPrograms copy;
  for (const auto& [name, program] : methods) copy.emplace_back(name, program.Clone());
  return copy;
}

absl::StatusOr<ExportedProgram> ToBackend(const ExportedProgram& program,
                                          const Partitioner& partitioner,
                                          const BackendSet& backends,
                                          const ToBackendOptions& options) {
  MethodPrograms methods;
  methods.emplace_back("forward", program.Clone());
  ABSL_ASSIGN_OR_RETURN(MethodPrograms lowered,
                        ToBackend(methods, {{"forward", &partitioner}}, backends, options));
  return std::move(lowered[0].second);
}

absl::StatusOr<NamedDataOutput> CollectNamedData(const MethodPrograms& methods) {
  NamedDataStore store;
  for (const auto& [name, program] : methods) {
    // Calls in graph order, then those of the subgraphs, depth first.
    std::vector<GraphId> pending;
    if (program.graphs.size() > 0) pending.push_back(ExportedProgram::kTop);
    while (!pending.empty()) {
      const GraphId graph = pending.back();
      pending.pop_back();
      for (const DelegateCall& call : DelegateCalls(program, graph)) {
        if (call.module->named_data.empty()) continue;
        ABSL_RETURN_IF_ERROR(
            Annotate(store.Merge(call.module->named_data),
                     absl::StrCat("named data of backend ", call.module->backend_id, ", method '",
                                  name, "'")));
      }
      const std::vector<ControlFlowBody> bodies = ControlFlowBodies(program.graphs[graph]);
      for (size_t i = bodies.size(); i-- > 0;) pending.push_back(bodies[i].body);
    }
  }
  return store.output();
}

}  // namespace belay::exir
