#include "tools/belay/verification.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/aot_backends.h"
#include "backends/runtime_backends.h"
#include "exir/import/import.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/mapped_pages.h"
#include "exir/model_file.h"
#include "exir/ops/standard_ops.h"
#include "exir/passes/seed_random_ops.h"
#include "exir/pipeline.h"
#include "runtime/core/npy.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernels/standard_kernels.h"
#include "tools/belay/archive_model.h"
#include "tools/belay/call_inputs.h"
#include "tools/belay/chosen_backends.h"
#include "tools/belay/program_file.h"
#include "tools/belay/reduce_failure.h"
#include "tools/belay/reference_program.h"
#include "tools/belay/session.h"
#include "tools/belay/verified_method.h"

namespace belay::tools {
namespace {

using nlohmann::json;

// --- Comparing a call ---

// Returns all differences.
std::vector<Finding> Differences(int call, const exir::CallOutcome& want,
                                 const exir::CallOutcome& got, const exir::Closeness& closeness) {
  std::vector<Finding> findings;
  for (exir::CallDifference& difference : exir::CompareCalls(want, got, closeness)) {
    findings.push_back({call, std::move(difference)});
  }
  return findings;
}

absl::StatusOr<std::vector<Finding>> CompareCall(Method& method, const exir::CallOutcome& expected,
                                                 const CallInputs& inputs, int call,
                                                 const exir::Closeness& closeness,
                                                 std::vector<exir::Deviation>& deviations,
                                                 exir::CallOutcome& got) {
  got = exir::RunCall(method, inputs.values);
  ABSL_RETURN_IF_ERROR(got.status);
  if (expected.outputs.size() != got.outputs.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected ", expected.outputs.size(), " outputs of the archive's program, got ",
        got.outputs.size(), ": the file was lowered from another archive"));
  }
  deviations.resize(got.outputs.size());
  for (size_t i = 0; i < got.outputs.size(); ++i) {
    deviations[i].Widen(
        exir::LargestDeviation(expected.outputs[i].value(), got.outputs[i].value()));
  }
  return Differences(call, expected, got, closeness);
}

// Returns the pages of the archive's weights to the system: while the method computes, they would be
// a second copy.
void ReleaseConstants(const exir::ExportedProgram& program) {
  for (const exir::InputSpec& spec : program.signature.inputs) {
    const exir::ConstantTensor* constant = program.FindConstant(spec);
    if (constant != nullptr) exir::ReleasePages(constant->storage().bytes);
  }
}

// --- Locating a difference ---

// The archive, and the options for lowering it.
struct Subject {
  const VerifyOptions& options;
  const MaxSizes& max_sizes;
  const exir::ExportedProgram& edge;
  const KernelRegistry &kernels, &reference_kernels;
  const InputsOfCall& inputs;
  const exir::Closeness& closeness;
};

// Names of the backends of a program's delegates that support its archive; "none" without any.
std::vector<std::string> BackendsOf(const MethodPlan& plan, const exir::ExportedProgram& program) {
  std::vector<std::string> backends;
  std::set<std::string_view> wanted;
  for (const DelegatePlan& delegate : plan.delegates) wanted.insert(delegate.backend_id);
  for (std::string_view name : AotBackendNames()) {
    if (wanted.empty()) break;
    const auto partitioner = CreatePartitioner(name, {});
    if (!partitioner.ok()) continue;
    const absl::StatusOr<exir::PartitionResult> answer = (*partitioner)->Partition(program);
    if (!answer.ok()) continue;
    if (std::any_of(answer->delegation.begin(), answer->delegation.end(),
                    [&](const auto& entry) { return wanted.contains(entry.second.backend_id); })) {
      backends.emplace_back(name);
    }
  }
  if (backends.empty()) backends.emplace_back("none");
  return backends;
}

// Returns the first difference between the archive's program and its edge program in this call;
// nullopt if they are equal.
absl::StatusOr<std::optional<Finding>> EdgeDifference(const Subject& subject,
                                                      const ReferenceProgram& reference,
                                                      const exir::CallOutcome& expected, int call) {
  if (!reference.why_edge().empty()) return std::nullopt;
  ABSL_ASSIGN_OR_RETURN(exir::Interpreter edge,
                        exir::Interpreter::Create(subject.edge, subject.reference_kernels));
  for (int earlier = 0; earlier < call; ++earlier) {
    ABSL_RETURN_IF_ERROR(Interpret(edge, subject.inputs, earlier).status());
  }
  ABSL_ASSIGN_OR_RETURN(const exir::CallOutcome got, Interpret(edge, subject.inputs, call));
  std::vector<Finding> findings = Differences(call, expected, got, subject.closeness);
  if (findings.empty()) return std::nullopt;
  return std::move(findings[0]);
}

// Options for lowering parts of the archive's program, by the backends of the options or, without
// them, of the file.
struct SetupOfSubject {
  std::vector<std::string> backends;  // names
  Partitioners partitioners;
  LoweringSetup lowering;
};
absl::StatusOr<SetupOfSubject> MakeSetup(const Subject& subject, const MethodPlan& plan) {
  const VerifyOptions& options = subject.options;
  SetupOfSubject setup;
  setup.backends = options.backends.empty() ? BackendsOf(plan, subject.edge) : options.backends;
  ABSL_ASSIGN_OR_RETURN(setup.partitioners, ChooseBackends(setup.backends, {}));
  setup.lowering = {.partitioners = setup.partitioners.chosen.Of(options.method),
                    .aot = &AotBackends(),
                    .runtime = &RuntimeBackends(),
                    .kernels = &subject.kernels,
                    .reference = &subject.reference_kernels,
                    .max_sizes = subject.max_sizes};
  return setup;
}

// Searches for the node and, on request, writes the smallest failing part of the program.
absl::Status FindNode(const Subject& subject, const SetupOfSubject& setup, Origin& origin) {
  ABSL_ASSIGN_OR_RETURN(const CallInputs inputs, subject.inputs(0));
  ABSL_ASSIGN_OR_RETURN(origin.node, FindFirstDifference(subject.edge, inputs.values,
                                                         setup.lowering, subject.closeness));
  const std::string& directory = subject.options.reduce;
  if (!origin.node.has_value() || directory.empty()) return absl::OkStatus();
  const absl::StatusOr<ReducedFailure> failure = ReduceFailure(
      subject.edge, inputs.values, origin.node->id, setup.lowering, subject.closeness);
  if (!failure.ok()) {
    origin.reduced = std::string(FromAbsl(failure.status().message()));
    return absl::OkStatus();
  }
  ABSL_RETURN_IF_ERROR(WriteFailure(*failure, directory));
  origin.reduced =
      absl::StrCat(failure->program.top().num_nodes(), " of ", subject.edge.top().num_nodes(),
                   " nodes reproduce the difference: ", directory,
                   "/program.bir with its inputs and outputs, and --backend ",
                   absl::StrJoin(setup.backends, ","), "; ", failure->difference);
  return absl::OkStatus();
}

Origin FindOrigin(const Subject& subject, const ReferenceProgram& reference,
                  const exir::CallOutcome& expected, int call, const SetupOfSubject& setup) {
  Origin origin;
  const absl::Status node = FindNode(subject, setup, origin);
  if (origin.node.has_value()) {
    if (!node.ok()) origin.reduced = std::string(FromAbsl(node.message()));
    return origin;
  }
  absl::StatusOr<std::optional<Finding>> edge = EdgeDifference(subject, reference, expected, call);
  if (edge.ok()) origin.edge = *std::move(edge);
  if (origin.edge.has_value()) return origin;
  const absl::Status& failed = node.ok() ? edge.status() : node;
  origin.unknown = std::string(FromAbsl(failed.message()));
  return origin;
}

// Writes or compares the intermediate values of the archive's program, by the options.
absl::Status UseDumps(const VerifyOptions& options, const exir::ExportedProgram& program,
                      const KernelRegistry& kernels, const InputsOfCall& inputs,
                      const exir::Closeness& closeness, Verification& result) {
  if (options.dump.empty() && options.against.empty()) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(const CallInputs given, inputs(0));
  if (!options.dump.empty()) {
    ABSL_ASSIGN_OR_RETURN(const int files,
                          DumpValues(program, kernels, given.values, options.dump));
    result.dumped = files;
  }
  if (!options.against.empty()) {
    ABSL_ASSIGN_OR_RETURN(result.against, CompareWithDump(program, kernels, given.values,
                                                          options.against, closeness));
  }
  return absl::OkStatus();
}

// --- JSON ---

void AddFindings(const std::vector<Finding>& findings, json& report) {
  report["differences"] = json::array();
  for (const Finding& finding : findings) {
    report["differences"].push_back({{"call", finding.call},
                                     {"where", finding.difference.where},
                                     {"difference", finding.difference.difference}});
  }
}

void AddDeviations(const std::vector<exir::Deviation>& deviations, json& report) {
  report["deviations"] = json::array();
  for (const exir::Deviation& deviation : deviations) {
    report["deviations"].push_back(
        {{"absolute", deviation.absolute}, {"relative", deviation.relative}});
  }
}

// JSON has no infinities and no NaN: null.
json Finite(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

void AddGaps(const std::vector<NodeGap>& gaps, json& report) {
  report["gaps"] = json::array();
  for (const NodeGap& gap : gaps) {
    json entry{{"node", gap.node},
               {"backend", gap.backend},
               {"absolute", gap.largest.absolute},
               {"relative", gap.largest.relative}};
    for (exir::LossMetric metric : exir::kLossMetrics) {
      entry[std::string(exir::LossMetricName(metric))] = Finite(gap.sums.Value(metric));
    }
    report["gaps"].push_back(std::move(entry));
  }
}

}  // namespace

absl::StatusOr<Verification> VerifyWithArchive(const VerifyOptions& options,
                                               const MaxSizes& max_sizes,
                                               const Partitioners& partitioners,
                                               const OnProgramOpened& opened) {
  ABSL_ASSIGN_OR_RETURN(const auto ops, exir::CreateStandardOps());
  ABSL_ASSIGN_OR_RETURN(const ArchiveModel chosen, ChooseModel(options.archive, options.method));
  exir::ImportOptions import;
  import.model_name = chosen.model;
  import.keep_pages = true;  // the interpreter reads the weights
  ABSL_ASSIGN_OR_RETURN(exir::ExportedProgram archive,
                        exir::ModelReader(*ops).Import(chosen.path, import));
  for (const exir::ConstantTensor* table : LookupTables(archive)) {
    exir::ReleasePages(table->storage().bytes);
  }
  const exir::ExportedProgram source = archive.Clone();
  exir::ToEdgeOptions to_edge;
  std::optional<exir::ExportedProgram> converted;
  const EdgeProgramSource edge = [&]() -> absl::StatusOr<const exir::ExportedProgram*> {
    if (!converted.has_value()) {
      ABSL_ASSIGN_OR_RETURN(converted, exir::ToEdge(source.Clone(), to_edge));
    }
    return &*converted;
  };
  const exir::ExportedProgram* lowered = &source;  // only its inputs are compared with a file's
  if (options.program.empty()) {
    ABSL_ASSIGN_OR_RETURN(lowered, edge());
  }
  ABSL_ASSIGN_OR_RETURN(
      const auto session,
      OpenVerifiedMethod(options, max_sizes, *lowered, partitioners.chosen.Of(options.method)));
  opened(*session->program);
  Method& method = *session->method;
  const auto random = method.GetState(exir::kRandomState);
  if (random.ok()) {
    to_edge.random_seed = random->as<int64_t>()[0];  // the seed in the file
    converted.reset();
  }
  KernelRegistry reference_kernels;
  ABSL_RETURN_IF_ERROR(AddReferenceKernels(reference_kernels));
  Verification result;
  result.calls = options.calls;
  archive = WithoutComposites(std::move(archive), reference_kernels, result.decomposed);
  const InputsOfCall inputs = [&](int call) {
    return options.inputs.empty() ? RandomInputs(method.plan(), options.seed + call,
                                                 DynamicSizeFor(method.program(), 2))
                                  : InputsFromFiles(method.plan(), options.inputs);
  };
  KernelRegistry independent_kernels = reference_kernels;
  ABSL_RETURN_IF_ERROR(AddIndependentKernels(method.plan(), independent_kernels));
  ABSL_ASSIGN_OR_RETURN(
      ReferenceProgram reference,
      ReferenceProgram::Create(archive, edge, random.ok(), independent_kernels, inputs));
  const exir::Closeness closeness{.atol = options.atol, .rtol = options.rtol, .by_precision = true};
  const auto make_subject = [&]() -> absl::StatusOr<Subject> {
    ABSL_ASSIGN_OR_RETURN(const exir::ExportedProgram* program, edge());
    return Subject{options,           max_sizes, *program, session->kernels,
                   reference_kernels, inputs,    closeness};
  };

  result.num_outputs = method.num_outputs();
  result.closeness = closeness;
  std::vector<Finding>& findings = result.findings;
  ABSL_RETURN_IF_ERROR(UseDumps(options, archive, reference_kernels, inputs, closeness, result));
  for (int call = 0; call < options.calls && findings.empty(); ++call) {
    ABSL_ASSIGN_OR_RETURN(const CallInputs given, inputs(call));
    ABSL_ASSIGN_OR_RETURN(exir::CallOutcome expected, reference.Run(call));
    ReleaseConstants(archive);
    exir::CallOutcome got;
    ABSL_ASSIGN_OR_RETURN(
        findings, CompareCall(method, expected, given, call, closeness, result.deviations, got));
    if (findings.empty()) continue;
    // The reference kernels decide.
    ABSL_ASSIGN_OR_RETURN(
        reference, ReferenceProgram::Create(archive, edge, random.ok(), reference_kernels, inputs));
    for (int earlier = 0; earlier < call; ++earlier) {
      ABSL_RETURN_IF_ERROR(reference.Run(earlier).status());
    }
    ABSL_ASSIGN_OR_RETURN(expected, reference.Run(call));
    findings = Differences(call, expected, got, closeness);
    if (findings.empty()) continue;
    ABSL_ASSIGN_OR_RETURN(const Subject subject, make_subject());
    ABSL_ASSIGN_OR_RETURN(const SetupOfSubject setup, MakeSetup(subject, method.plan()));
    result.origin = FindOrigin(subject, reference, expected, call, setup);
  }
  if (options.gaps) {
    ABSL_ASSIGN_OR_RETURN(const Subject subject, make_subject());
    ABSL_ASSIGN_OR_RETURN(const SetupOfSubject setup, MakeSetup(subject, method.plan()));
    ABSL_ASSIGN_OR_RETURN(const CallInputs given, inputs(0));
    ABSL_ASSIGN_OR_RETURN(result.gaps, MeasureNodeGaps(subject.edge, given.values, setup.lowering));
  }
  result.why_edge = reference.why_edge();
  return result;
}

void CompareOutput(int call, size_t i, const TensorView& want, const EValue& value,
                   std::string_view prefix, Verification& result) {
  if (result.deviations.size() <= i) result.deviations.resize(i + 1);
  result.deviations[i].Widen(exir::LargestDeviation(want, value));
  const absl::Status close = exir::CompareRecorded(want, value, result.closeness);
  if (close.ok()) return;
  result.findings.push_back(
      {call, {absl::StrCat(prefix, "output ", i), std::string(FromAbsl(close.message()))}});
}

absl::StatusOr<Verification> VerifyWithRecorded(const VerifyOptions& options,
                                                const OnProgramOpened& opened) {
  ABSL_ASSIGN_OR_RETURN(
      const auto session,
      OpenSession(options.program, options.method, options.engine, /*threads=*/1, {},
                  OpenOptionsFor(options.limits.ForPrograms(), options.data, options.payloads)));
  opened(*session->program);
  Method& method = *session->method;
  if (options.expected.size() != method.num_outputs()) {
    return absl::InvalidArgumentError(absl::StrCat("expected a file for each of ",
                                                   method.num_outputs(), " outputs, got ",
                                                   options.expected.size(), " times --expected"));
  }
  ABSL_ASSIGN_OR_RETURN(const CallInputs inputs, InputsFromFiles(method.plan(), options.inputs));
  const exir::CallOutcome got = exir::RunCall(method, inputs.values);
  ABSL_RETURN_IF_ERROR(got.status);
  Verification result;
  result.recorded = true;
  result.num_outputs = method.num_outputs();
  result.closeness = {.atol = options.atol, .rtol = options.rtol, .by_precision = true};
  for (size_t i = 0; i < options.expected.size(); ++i) {
    ABSL_ASSIGN_OR_RETURN(const NpyArray want, ReadNpyFile(options.expected[i]));
    CompareOutput(/*call=*/0, i, want.view(), got.outputs[i].value(), "", result);
  }
  return result;
}

json VerificationJson(const Verification& result) {
  const std::string& why_edge = result.why_edge;
  const Origin& origin = result.origin;
  const std::optional<DumpComparison>& against = result.against;
  json report{{"equal", result.equal()},
              {"calls", result.calls},
              {"reference", result.recorded    ? "files"
                            : why_edge.empty() ? "archive"
                                               : "edge"}};
  if (!why_edge.empty()) report["reference_reason"] = why_edge;
  if (why_edge.empty() && !result.decomposed.empty()) report["decomposed"] = result.decomposed;
  AddFindings(result.findings, report);
  if (origin.edge.has_value()) {
    report["edge_program"] = {{"where", origin.edge->difference.where},
                              {"difference", origin.edge->difference.difference}};
  }
  if (origin.node.has_value()) {
    report["first_node"] = {{"node", origin.node->node},
                            {"backend", origin.node->backend},
                            {"difference", origin.node->difference},
                            {"alone", origin.node->alone},
                            {"cut", origin.node->cut}};
  }
  if (!origin.unknown.empty()) report["first_node_unknown"] = origin.unknown;
  if (!origin.reduced.empty()) report["reduced"] = origin.reduced;
  AddDeviations(result.deviations, report);
  if (result.gaps.has_value()) AddGaps(*result.gaps, report);
  if (against.has_value()) {
    report["dump"] = {{"compared", against->compared}};
    if (against->node.has_value()) {
      report["dump"]["first_node"] = *against->node;
      report["dump"]["difference"] = against->difference;
    }
  }
  return report;
}

}  // namespace belay::tools
