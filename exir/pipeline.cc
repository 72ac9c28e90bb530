#include "exir/pipeline.h"

#include <sys/resource.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "exir/backend/partitioner_sequence.h"
#include "exir/backend/transforms/edge_to_backend_ops.h"
#include "exir/functionalize/rebase_as_strided.h"
#include "exir/functionalize/training_to_aten.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/problem_list.h"
#include "exir/ir/refused_node.h"
#include "exir/ir/text.h"
#include "exir/method_state.h"
#include "exir/model_file.h"
#include "exir/passes/edge_verifier.h"
#include "exir/passes/fold_expands.h"
#include "exir/passes/fold_input_views.h"
#include "exir/passes/fuse_quantized_ops.h"
#include "exir/passes/guards_to_assertions.h"
#include "exir/passes/merge_batch_norm.h"
#include "exir/passes/propagate_constants.h"
#include "exir/passes/seed_random_ops.h"
#include "exir/passes/simplify_ops.h"
#include "exir/passes/sink_permutes.h"
#include "exir/passes/to_edge_passes.h"
#include "exir/size_bounds.h"
#include "exir/training_mode.h"
#include "runtime/core/annotate.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

// Measures phases and reports the overall progress to the caller.
class PhaseClock {
 public:
  PhaseClock(const PipelineOptions& options, PipelineReport* report)
      : options_(options), report_(report) {}

  void Start(std::string_view phase, double done) {
    name_ = phase;
    start_ = absl::Now();
    if (options_.progress) options_.progress(phase, done);
  }
  void Stop() {
    if (report_ == nullptr) return;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const double seconds = absl::ToDoubleSeconds(absl::Now() - start_);
    const uint64_t peak = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
    for (PhaseReport& phase : report_->phases) {
      if (phase.name != name_) continue;
      phase.seconds += seconds;
      phase.peak_rss_bytes = peak;
      return;
    }
    report_->phases.push_back({name_, seconds, peak});
  }

 private:
  const PipelineOptions& options_;
  PipelineReport* report_;
  std::string name_;
  absl::Time start_;
};

// Applies the limits, and the deadline and cancellation of the calling thread.
class LoweringBudget {
 public:
  LoweringBudget(const LoweringLimits& limits, uint64_t archive_bytes) : scope_(&budget_) {
    AllowLowering(limits, archive_bytes, budget_);
    budget_.deadline = limits.deadline;
    budget_.cancel = limits.cancel;
    budget_.InheritEnd(scope_.previous());
  }

 private:
  Budget budget_;
  Budget::Scope scope_;
};

// Estimates the file size of the programs: repeated elements count once, and a node takes several
// hundred bytes of JSON.
uint64_t StoredBytes(const MethodPrograms& methods) {
  uint64_t bytes = 0;
  for (const auto& [name, program] : methods) {
    for (const Graph& graph : program.graphs) bytes += 512 * graph.num_nodes();
    for (const ConstantMap* map : {&program.state_dict, &program.constants}) {
      for (const auto& [key, tensor] : *map) {
        bytes += std::min<uint64_t>(tensor.view().nbytes(), tensor.storage().bytes.size());
      }
    }
  }
  return bytes;
}

uint64_t ArchiveBytes(const std::vector<MethodArchive>& methods) {
  uint64_t bytes = 0;
  for (const MethodArchive& method : methods) bytes += SizeOfFile(method.path);
  return bytes;
}

// Verification rules of edge programs: all but E2, because Belay also runs operators that are not
// core.
EdgeVerifierOptions EdgeRules(bool dim_order, bool any_order = false) {
  EdgeVerifierOptions rules;
  rules.dim_order = dim_order;
  rules.any_order = any_order;
  rules.check_core = false;
  rules.allow_float8 = true;
  return rules;
}

absl::Status VerifyMethodsAs(const MethodPrograms& methods, const EdgeVerifierOptions& rules) {
  for (const auto& [name, program] : methods) {
    const absl::Status status = VerifyEdge(program, rules);
    if (!status.ok()) return Annotate(status, absl::StrCat("method '", name, "'"));
  }
  return absl::OkStatus();
}
absl::Status VerifyMethods(const MethodPrograms& methods) {
  return VerifyMethodsAs(methods, EdgeRules(ToEdgeOptions().dim_order));
}

// Returns the tensors that a method writes to. Methods share state: these are not constant in any.
absl::btree_set<std::string> ChangingState(const MethodPrograms& methods) {
  absl::btree_set<std::string> changing;
  for (const auto& [name, program] : methods) {
    const absl::btree_set<std::string_view> mutated = MutatedState(program.signature);
    changing.insert(mutated.begin(), mutated.end());
  }
  return changing;
}

// The passes that run on a method after the last round. `changing`: ChangingState of all methods.
std::vector<Pass> FinalPasses(const std::string& method,
                              const absl::btree_set<std::string>& changing,
                              const PipelineOptions& options) {
  std::vector<Pass> passes;
  passes.push_back(PromoteBackendOps());
  if (options.quant_fusion_and_const_prop) passes.push_back(FuseQuantizedOps(changing));
  if (options.fold_constants) {
    passes.push_back(MergeBatchNorm({.changing = changing}));
  }
  if (options.fold_constants || options.quant_fusion_and_const_prop) {
    passes.push_back(
        PropagateConstants({.max_growth_bytes = options.fold_budget, .changing = changing}));
  }
  passes.insert(passes.end(), options.passes.begin(), options.passes.end());
  passes.push_back(SinkPermutes());
  passes.push_back(FoldInputViews());
  passes.push_back(FoldExpands());
  const auto copies = options.method_device_copies.find(method);
  passes.push_back(InsertDeviceCopies(
      copies == options.method_device_copies.end() ? options.device_copies : copies->second));
  passes.push_back(EdgeToBackendOps());
  return passes;
}

// Round i: the i-th partitioner of each method that has one.
std::vector<MethodPartitioners> RoundsOf(const MethodPrograms& methods,
                                         const PerMethod<const Partitioner*>& partitioners) {
  std::vector<MethodPartitioners> rounds;
  for (const auto& [name, program] : methods) {
    const std::vector<const Partitioner*>& own = partitioners.Of(name);
    if (rounds.size() < own.size()) rounds.resize(own.size());
    for (size_t i = 0; i < own.size(); ++i) rounds[i].emplace_back(name, own[i]);
  }
  return rounds;
}

// Checks that the methods named in options exist.
template <typename T>
absl::Status CheckMethodNames(const MethodPrograms& methods, std::string_view what,
                              const absl::btree_map<std::string, T>& options) {
  for (const auto& [name, list] : options) {
    if (std::any_of(methods.begin(), methods.end(),
                    [&](const auto& method) { return method.first == name; })) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat(what, " are given for the method '", name, "', which there is not"));
  }
  return absl::OkStatus();
}

// Appends the methods that return constants.
absl::Status AddConstantMethods(const PipelineOptions& options, MethodPrograms& methods) {
  for (const auto& [name, values] : options.constant_methods) {
    const auto invalid = [&](std::string_view problem) {
      return absl::InvalidArgumentError(absl::StrCat("constant method '", name, "': ", problem));
    };
    if (methods.empty()) return invalid("expected another method beside it");
    if (values.empty()) return invalid("expected a value to return");
    for (const auto& [other, program] : methods) {
      if (other == name) return invalid("there is a method of this name");
    }
    for (const Argument& value : values) {
      if (value.is<int64_t>() || value.is<double>() || value.is<bool>() ||
          value.is<std::string>()) {
        continue;
      }
      return invalid("expected numbers, bools or strings to return");
    }
    ExportedProgram program(methods.front().second.ops);
    program.dialect = IrDialect::kEdge;
    GraphEditor(program.graphs[program.graphs.push_back(Graph())]).SetOutputs(values);
    program.signature.outputs.resize(values.size());
    methods.emplace_back(name, std::move(program));
  }
  return absl::OkStatus();
}

// Pass manager options with the caller's observers.
PassManagerOptions ObservedPasses(const PipelineOptions& options) {
  PassManagerOptions passes;
  passes.after_pass = [&options](const PassReport& pass, const ExportedProgram& program) {
    if (options.after_pass) options.after_pass(pass, program);
    if (options.progress) options.progress(pass.name, 0.3);
  };
  return passes;
}

// Runs passes on one method, in the clock's running phase. `phase` names the passes in messages.
absl::Status RunOn(std::string_view phase, const std::string& method, ExportedProgram& program,
                   const std::vector<Pass>& passes, const PassManagerOptions& options,
                   PipelineReport* report) {
  absl::StatusOr<ExportedProgram> changed =
      RunPasses(std::move(program), passes, options, report == nullptr ? nullptr : &report->passes);
  if (!changed.ok()) {
    return InMethod(changed.status(), method, phase);
  }
  program = *std::move(changed);
  return absl::OkStatus();
}

}  // namespace

void AllowLowering(const LoweringLimits& limits, uint64_t archive_bytes, Budget& budget) {
  const auto allow = [&](Budget::Quota& quota, uint64_t limit, uint64_t least, uint64_t per_byte) {
    constexpr uint64_t kMost = uint64_t{1} << 48;
    quota.allowed = limit == LoweringLimits::kInProportion
                        ? least + per_byte * std::min(archive_bytes, kMost)
                        : limit;
  };
  allow(budget.nodes, limits.nodes, 50'000, 1);
  allow(budget.bytes, limits.memory_bytes, uint64_t{256} << 20, 16);
  allow(budget.work, limits.work, 50'000'000'000, 10'000);
}

namespace {

// Returns how to avoid a dtype that no operator of the edge dialect and no kernel supports; empty for
// other dtypes.
std::string_view RemedyForDtype(DType dtype) {
  switch (dtype) {
    case DType::kUint32:
    case DType::kUint64:
      return "store them as int64, or as int32 if the numbers fit";
    case DType::kComplex32:
      return "use complex64";
    default:
      return {};
  }
}

absl::Status CheckDtypes(const ExportedProgram& program) {
  ProblemList problems;
  for (const Graph& graph : program.graphs) {
    for (NodeId id : graph.nodes()) {
      const Node& node = graph.node(id);
      // Removed by lowering.
      if (node.target->name() == "aten._assert_tensor_metadata.default") continue;
      std::optional<DType> unsupported;
      const auto check = [&](ValueId value) {
        const TensorMeta* tensor = graph.value(value).tensor();
        if (tensor == nullptr) return;
        if (!RemedyForDtype(tensor->dtype).empty()) unsupported = tensor->dtype;
      };
      for (const Argument& argument : node.arguments) ForEachValue(argument, check);
      for (ValueId value : node.results()) check(value);
      if (!unsupported.has_value()) continue;
      const std::string dtype(DTypeName(*unsupported));
      problems.Add(
          [&] { return DescribeNode(graph, id); },
          absl::StrCat("tensors of ", dtype, " are not supported; ", RemedyForDtype(*unsupported)),
          [&] {
            return std::vector<RefusedNode>{
                {"", node.name, node.target->name(), node.provenance.ToString(), ""}};
          });
    }
  }
  return problems.ToStatus(absl::StatusCode::kUnimplemented, "unsupported:");
}

}  // namespace

absl::StatusOr<ExportedProgram> ToEdge(ExportedProgram program, const ToEdgeOptions& options,
                                       std::vector<PassReport>* reports) {
  if (program.dialect == IrDialect::kEdge) return program;
  ABSL_RETURN_IF_ERROR(CheckDtypes(program));
  std::vector<Pass> passes = {GuardsToAssertions()};
  std::vector<Pass> to_aten = {RebaseAsStrided(), Decompose(options.decompose)};
  if (program.dialect == IrDialect::kTraining) to_aten = TrainingToAtenPasses(options.decompose);
  for (Pass& pass : to_aten) passes.push_back(std::move(pass));
  if (options.random_seed.has_value()) passes.push_back(SeedRandomOps(*options.random_seed));
  for (Pass& pass : ToEdgePasses(options.dim_order)) passes.push_back(std::move(pass));
  if (options.check_ir_validity) passes.push_back(EdgeVerifier(EdgeRules(options.dim_order)));
  return RunPasses(std::move(program), passes, options.passes, reports);
}

DecomposeOptions KeepFor(const ExportedProgram& program,
                         absl::Span<const Partitioner* const> partitioners,
                         std::vector<std::string>* notes) {
  struct Request {
    absl::flat_hash_set<const OpOverload*> ops;
    std::function<bool(const ExportedProgram&, GraphId, NodeId)> filter;
  };
  std::vector<Request> requests;
  for (const Partitioner* partitioner : partitioners) {
    PreservedOps preserved = partitioner->OpsToNotDecompose(program);
    Request request;
    for (const OpOverload* op : OpsToKeep(preserved)) {
      const FunctionSchema* schema = op->schema();
      if (schema == nullptr || schema->IsMutable() || schema->IsView()) continue;
      request.ops.insert(op->aten());
    }
    for (const OpOverload* op : preserved.ops) {
      if (notes == nullptr || request.ops.contains(op->aten())) continue;
      notes->push_back(absl::StrCat("operator ", op->name(),
                                    ", which a partitioner asks to preserve, is not preserved"));
    }
    request.filter = std::move(preserved.filter);
    if (!request.ops.empty()) requests.push_back(std::move(request));
  }
  DecomposeOptions options;
  if (requests.empty()) return options;
  options.keep = [requests = std::move(requests)](const ExportedProgram& p, GraphId graph,
                                                  NodeId node) {
    const OpOverload* target = p.graphs[graph].node(node).target;
    for (const Request& request : requests) {
      if (!request.ops.contains(target->aten())) continue;
      if (!request.filter || request.filter(p, graph, node)) return true;
    }
    return false;
  };
  return options;
}

namespace {

// Applies the transforms of the partitioners in order (Partitioner::TransformBeforeDecomposition).
absl::Status TransformBeforeDecomposition(const std::string& method, ExportedProgram& program,
                                          const std::vector<const Partitioner*>& partitioners,
                                          const PassManagerOptions& options,
                                          PipelineReport* report) {
  if (program.dialect == IrDialect::kEdge || partitioners.empty()) return absl::OkStatus();
  std::vector<Pass> passes;
  for (const Partitioner* partitioner : partitioners) {
    passes.push_back({"transform_before_decomposition",
                      [partitioner](ExportedProgram& p) -> absl::StatusOr<bool> {
                        const IrDialect dialect = p.dialect;
                        ABSL_ASSIGN_OR_RETURN(const bool changed,
                                              partitioner->TransformBeforeDecomposition(p));
                        if (p.dialect == dialect) return changed;
                        return absl::InternalError("a partitioner's transform changed the dialect");
                      }});
  }
  return RunOn("to_edge", method, program, passes, options, report);
}

absl::StatusOr<MethodPrograms> ToStageWithinBudget(MethodPrograms methods, Stage stage,
                                                   const PipelineOptions& options,
                                                   PipelineReport* report) {
  ABSL_RETURN_IF_ERROR(CheckMethodNames(methods, "partitioners", options.partitioners.own));
  ABSL_RETURN_IF_ERROR(CheckMethodNames(methods, "transform passes", options.transform_passes.own));
  ABSL_RETURN_IF_ERROR(
      CheckMethodNames(methods, "options of device copies", options.method_device_copies));
  ABSL_RETURN_IF_ERROR(ApplyConstantRules(options.constants, methods));
  PhaseClock clock(options, report);
  if (report != nullptr) {
    for (std::string& note : NotesOnTraining(methods)) report->notes.push_back(std::move(note));
  }
  clock.Start("to_edge", 0.3);
  ToEdgeOptions to_edge;
  to_edge.passes = ObservedPasses(options);
  to_edge.random_seed = options.random_seed;
  if (stage == Stage::kAten) {
    std::vector<Pass> training = {GuardsToAssertions()};
    for (Pass& pass : TrainingToAtenPasses(to_edge.decompose)) training.push_back(std::move(pass));
    for (auto& [name, program] : methods) {
      if (program.dialect != IrDialect::kTraining) continue;
      ABSL_RETURN_IF_ERROR(RunOn("passes", name, program, training, to_edge.passes, report));
    }
    clock.Stop();
    return methods;
  }
  absl::flat_hash_set<std::string> bounded;
  for (auto& [name, program] : methods) {
    const std::vector<const Partitioner*>& partitioners = options.partitioners.Of(name);
    ABSL_RETURN_IF_ERROR(
        TransformBeforeDecomposition(name, program, partitioners, to_edge.passes, report));
    const std::optional<int64_t> most = options.unbounded_size;
    ABSL_ASSIGN_OR_RETURN(const bool bounds_inputs,
                          BoundInputs(name, program, options.size_bounds, most, bounded));
    // If the caller's bound is that of inputs, operators bound data-dependent sizes by it.
    ABSL_RETURN_IF_ERROR(BoundResults(program, bounds_inputs ? std::nullopt : most));
    to_edge.decompose =
        KeepFor(program, partitioners, report == nullptr ? nullptr : &report->notes);
    absl::StatusOr<ExportedProgram> edge =
        ToEdge(std::move(program), to_edge, report == nullptr ? nullptr : &report->passes);
    if (!edge.ok()) return InMethod(edge.status(), name, "to_edge");
    program = *std::move(edge);
    if (report != nullptr) {
      for (const std::string& guard : program.guards) {
        report->unchecked_guards.push_back({name, guard});
      }
    }
    // Lowering also creates symbols.
    ABSL_RETURN_IF_ERROR(BoundInputs(name, program, options.size_bounds, most, bounded).status());
    if (bounds_inputs) ABSL_RETURN_IF_ERROR(BoundResults(program, std::nullopt));
    ABSL_RETURN_IF_ERROR(BoundResults(program, most));
    if (const std::vector<Pass>& passes = options.transform_passes.Of(name); !passes.empty()) {
      ABSL_RETURN_IF_ERROR(
          RunOn("transform passes", name, program, passes, to_edge.passes, report));
      const absl::Status verified = VerifyEdge(program, EdgeRules(to_edge.dim_order));
      if (!verified.ok()) {
        return InMethod(verified, name, "transform passes");
      }
    }
  }
  ABSL_RETURN_IF_ERROR(CheckSizeBounds(methods, options.size_bounds, bounded));
  clock.Stop();

  if (stage == Stage::kEdge) return methods;

  if (!options.allow_separate_state) ABSL_RETURN_IF_ERROR(CheckSharedState(methods));
  if (report != nullptr) {
    report->state = StateOf(methods);
    for (std::string& note : NotesOnLogits(methods)) report->notes.push_back(std::move(note));
  }
  clock.Start("to_backend", 0.5);
  // Before partitioning: a delegate would dequantize the whole table in each call, and in a loop it
  // owns only operands that are constants.
  std::vector<Pass> before_backends = {FuseQuantizedEmbeddings(ChangingState(methods)),
                                       SimplifyOps()};
  if (options.fold_constants) {
    before_backends.push_back(PropagateConstants({.max_growth_bytes = options.fold_budget,
                                                  .changing = ChangingState(methods),
                                                  .only_subgraph_operands = true}));
  }
  for (auto& [name, program] : methods) {
    ABSL_RETURN_IF_ERROR(RunOn("passes", name, program, before_backends, to_edge.passes, report));
  }
  const std::vector<MethodPartitioners> rounds = RoundsOf(methods, options.partitioners);
  if (!rounds.empty() && options.backends == nullptr) {
    return absl::InvalidArgumentError("partitioners were given, but no backends");
  }
  std::vector<RejectedNode> rejections;
  if (!rounds.empty()) {
    ToBackendOptions to_backend = options.to_backend;
    if (report != nullptr && to_backend.notes == nullptr) to_backend.notes = &report->notes;
    if (report != nullptr && to_backend.rejections == nullptr) to_backend.rejections = &rejections;
    absl::StatusOr<MethodPrograms> lowered =
        ToBackendInSequence(methods, rounds, *options.backends, to_backend, VerifyMethods);
    if (!lowered.ok()) return Annotate(lowered.status(), "to_backend");
    methods = *std::move(lowered);
  }
  clock.Stop();
  if (report != nullptr) {
    ReportDelegation(methods, rejections, *report);
  }
  if (options.after_to_backend) options.after_to_backend(methods);

  return methods;
}

absl::StatusOr<ProgramImage> LowerWithinBudget(MethodPrograms methods,
                                               const PipelineOptions& options,
                                               PipelineReport* report) {
  ABSL_ASSIGN_OR_RETURN(methods,
                        ToStageWithinBudget(std::move(methods), Stage::kLowered, options, report));
  PhaseClock clock(options, report);
  clock.Start("passes", 0.75);
  const absl::btree_set<std::string> changing = ChangingState(methods);
  for (auto& [name, program] : methods) {
    const std::vector<Pass> passes = FinalPasses(name, changing, options);
    ABSL_RETURN_IF_ERROR(RunOn("passes", name, program, passes, ObservedPasses(options), report));
  }
  const absl::Status verified =
      VerifyMethodsAs(methods, EdgeRules(ToEdgeOptions().dim_order, /*any_order=*/true));
  if (!verified.ok()) return Annotate(verified, "passes");
  clock.Stop();

  ABSL_RETURN_IF_ERROR(AddConstantMethods(options, methods));
  clock.Start("emit", 0.8);
  absl::StatusOr<ProgramImage> image =
      EmitProgram(methods, options.emit, report == nullptr ? nullptr : &report->memory);
  if (!image.ok()) return Annotate(image.status(), "emit");
  clock.Stop();
  if (options.progress) options.progress("emit", 1.0);
  return image;
}

absl::StatusOr<MethodPrograms> ImportWithinBudget(const std::vector<MethodArchive>& methods,
                                                  const OpRegistry& ops,
                                                  const PipelineOptions& options,
                                                  PipelineReport* report) {
  PhaseClock clock(options, report);
  MethodPrograms programs;
  ModelReader reader(ops);
  for (const auto& [name, path, model] : methods) {
    clock.Start("import", 0.3 * static_cast<double>(programs.size()) / methods.size());
    std::vector<std::string> notes;
    ImportOptions import = options.import;
    if (!model.empty()) import.model_name = model;
    if (report != nullptr) import.notes = &notes;
    absl::StatusOr<ExportedProgram> program = reader.Import(path, import);
    if (!program.ok()) {
      return InMethod(program.status(), name, "import");
    }
    for (const std::string& note : notes) {
      report->notes.push_back(absl::StrCat("method '", name, "': ", note));
    }
    programs.emplace_back(name, *std::move(program));
    clock.Stop();
  }
  return programs;
}

}  // namespace

absl::StatusOr<MethodPrograms> ImportMethods(const std::vector<MethodArchive>& methods,
                                             const OpRegistry& ops, const PipelineOptions& options,
                                             PipelineReport* report) {
  const LoweringBudget budget(options.limits, ArchiveBytes(methods));
  return ImportWithinBudget(methods, ops, options, report);
}

absl::StatusOr<MethodPrograms> LowerToStage(MethodPrograms methods, Stage stage,
                                            const PipelineOptions& options,
                                            PipelineReport* report) {
  const LoweringBudget budget(options.limits, StoredBytes(methods));
  return ToStageWithinBudget(std::move(methods), stage, options, report);
}

absl::StatusOr<ProgramImage> LowerPrograms(MethodPrograms methods, const PipelineOptions& options,
                                           PipelineReport* report) {
  const LoweringBudget budget(options.limits, StoredBytes(methods));
  return LowerWithinBudget(std::move(methods), options, report);
}

absl::StatusOr<ProgramImage> LowerFiles(const std::vector<MethodArchive>& methods,
                                        const OpRegistry& ops, const PipelineOptions& options,
                                        PipelineReport* report) {
  const LoweringBudget budget(options.limits, ArchiveBytes(methods));
  ABSL_ASSIGN_OR_RETURN(MethodPrograms programs, ImportWithinBudget(methods, ops, options, report));
  return LowerWithinBudget(std::move(programs), options, report);
}

}  // namespace belay::exir
