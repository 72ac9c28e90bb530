// `belay verify`: compares the results of a program file with those of its archive.
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/aot_backends.h"
#include "backends/runtime_backends.h"
#include "exir/compare/call.h"
#include "exir/compare/compare.h"
#include "exir/import/import.h"
#include "exir/interpreter/interpreter.h"
#include "exir/model_file.h"
#include "exir/ops/standard_ops.h"
#include "exir/passes/seed_random_ops.h"
#include "exir/pipeline.h"
#include "nlohmann/json.hpp"
#include "runtime/core/npy.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernels/standard_kernels.h"
#include "tools/belay/archive_model.h"
#include "tools/belay/call_inputs.h"
#include "tools/belay/chosen_backends.h"
#include "tools/belay/command.h"
#include "tools/belay/first_difference.h"
#include "tools/belay/max_sizes.h"
#include "tools/belay/printing.h"
#include "tools/belay/program_file.h"
#include "tools/belay/reduce_failure.h"
#include "tools/belay/reference_program.h"
#include "tools/belay/session.h"
#include "tools/belay/value_dump.h"
#include "tools/belay/verified_method.h"

namespace belay::tools {
namespace {

using nlohmann::json;

// --- Comparing a call ---

struct Finding {
  int call = 0;
  exir::CallDifference difference;
};

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

// Creates partitioners for the backends of a program's delegates, if they support its archive.
Partitioners PartitionersOf(const MethodPlan& plan, const exir::ExportedProgram& program) {
  Partitioners partitioners;
  std::set<std::string_view> wanted;
  for (const DelegatePlan& delegate : plan.delegates) wanted.insert(delegate.backend_id);
  if (wanted.empty()) return partitioners;
  for (std::string_view name : AotBackendNames()) {
    auto partitioner = CreatePartitioner(name, {});
    if (!partitioner.ok()) continue;
    const absl::StatusOr<exir::PartitionResult> answer = (*partitioner)->Partition(program);
    if (!answer.ok()) continue;
    for (const auto& [tag, spec] : answer->delegation) {
      if (!wanted.contains(spec.backend_id)) continue;
      partitioners.chosen.all.push_back(partitioner->get());
      partitioners.owned.push_back(*std::move(partitioner));
      break;
    }
  }
  return partitioners;
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

// Options for lowering parts of the archive's program. The partitioners must outlive the result.
LoweringSetup MakeSetup(const Subject& subject, const Partitioners& partitioners) {
  return {.partitioners = partitioners.chosen.Of(subject.options.method),
          .aot = &AotBackends(),
          .runtime = &RuntimeBackends(),
          .kernels = &subject.kernels,
          .reference = &subject.reference_kernels,
          .max_sizes = subject.max_sizes};
}

// Origin of a difference, if it could be located.
struct Origin {
  std::optional<NodeDifference> node;  // introduced by lowering
  std::string reduced;                 // result of reducing it; "" if not requested
  std::optional<Finding> edge;         // introduced before lowering
  std::string unknown;                 // reason if not located; "" without a difference
};

// Searches for the node and, on request, writes the smallest failing part of the program.
absl::Status FindNode(const Subject& subject, const MethodPlan& plan, const Partitioners& chosen,
                      Origin& origin) {
  const bool by_file = subject.options.backends.empty();
  const Partitioners of_file = by_file ? PartitionersOf(plan, subject.edge) : Partitioners();
  const LoweringSetup setup = MakeSetup(subject, by_file ? of_file : chosen);
  ABSL_ASSIGN_OR_RETURN(const CallInputs inputs, subject.inputs(0));
  ABSL_ASSIGN_OR_RETURN(origin.node,
                        FindFirstDifference(subject.edge, inputs.values, setup, subject.closeness));
  const std::string& directory = subject.options.reduce;
  if (!origin.node.has_value() || directory.empty()) return absl::OkStatus();
  const absl::StatusOr<ReducedFailure> failure =
      ReduceFailure(subject.edge, inputs.values, origin.node->id, setup, subject.closeness);
  if (!failure.ok()) {
    origin.reduced = std::string(FromAbsl(failure.status().message()));
    return absl::OkStatus();
  }
  ABSL_RETURN_IF_ERROR(WriteFailure(*failure, directory));
  origin.reduced =
      absl::StrCat(failure->program.top().num_nodes(), " of ", subject.edge.top().num_nodes(),
                   " nodes reproduce the difference: ", directory,
                   "/program.bir with its inputs and outputs; ", failure->difference);
  return absl::OkStatus();
}

Origin FindOrigin(const Subject& subject, const ReferenceProgram& reference,
                  const exir::CallOutcome& expected, int call, const MethodPlan& plan,
                  const Partitioners& chosen) {
  Origin origin;
  const absl::Status node = FindNode(subject, plan, chosen, origin);
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
                      const exir::Closeness& closeness, std::optional<DumpComparison>& against) {
  if (options.dump.empty() && options.against.empty()) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(const CallInputs given, inputs(0));
  if (!options.dump.empty()) {
    ABSL_ASSIGN_OR_RETURN(const int files,
                          DumpValues(program, kernels, given.values, options.dump));
    std::cerr << "belay: wrote " << files << " values to " << OneLine(options.dump) << "\n";
  }
  if (!options.against.empty()) {
    ABSL_ASSIGN_OR_RETURN(
        against, CompareWithDump(program, kernels, given.values, options.against, closeness));
  }
  return absl::OkStatus();
}

// --- Printing ---

// Prints to stderr what the file was compared with. The operators that can't be interpreted are
// listed in the JSON report.
void PrintReference(std::string_view why_edge, const std::set<std::string>& decomposed) {
  std::cerr << "belay: compared with the archive's program";
  if (why_edge.empty() && !decomposed.empty()) {
    std::cerr << ", with the decompositions of " << OneLine(absl::StrJoin(decomposed, ", "));
  }
  if (!why_edge.empty()) {
    std::cerr << ", converted to an edge program because the original can't be interpreted: "
              << OneLine(why_edge.substr(0, why_edge.find('\n')));
  }
  std::cerr << "\n";
}

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

void PrintFindings(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    std::cout << "call " << finding.call << ", " << OneLine(finding.difference.where) << ": "
              << OneLine(finding.difference.difference) << "\n";
  }
}

void PrintDeviations(const std::vector<exir::Deviation>& deviations,
                     const exir::Closeness& closeness) {
  for (size_t i = 0; i < deviations.size(); ++i) {
    std::cout << "output " << i << ": largest deviation " << deviations[i].absolute << ", relative "
              << deviations[i].relative << "\n";
  }
  std::cout << "allowed: " << closeness.atol << " + " << closeness.rtol
            << " of the expected value, more for float16 and bfloat16\n";
}

void PrintJson(const VerifyOptions& options, const std::string& why_edge,
               const std::set<std::string>& decomposed, const std::vector<Finding>& findings,
               const Origin& origin, const std::vector<exir::Deviation>& deviations,
               const std::optional<DumpComparison>& against) {
  json report{{"equal", findings.empty()},
              {"calls", options.calls},
              {"reference", why_edge.empty() ? "archive" : "edge"}};
  if (!why_edge.empty()) report["reference_reason"] = why_edge;
  if (why_edge.empty() && !decomposed.empty()) report["decomposed"] = decomposed;
  AddFindings(findings, report);
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
  AddDeviations(deviations, report);
  if (against.has_value()) {
    report["dump"] = {{"compared", against->compared}};
    if (against->node.has_value()) {
      report["dump"]["first_node"] = *against->node;
      report["dump"]["difference"] = against->difference;
    }
  }
  std::cout << JsonText(report);
}

void PrintDump(const DumpComparison& against) {
  std::cout << against.compared << " values of the directory were compared";
  if (!against.node.has_value()) {
    std::cout << ", all are close\n";
    return;
  }
  std::cout << ", the first that differs: " << OneLine(*against.node) << "\n  "
            << OneLine(against.difference) << "\n";
}

void PrintOrigin(const Origin& origin) {
  if (origin.node.has_value()) {
    const NodeDifference& node = *origin.node;
    std::cout << "the first node that differs"
              << (node.cut     ? " if the program is cut after it"
                  : node.alone ? " if it is the only additional output"
                               : "")
              << ": " << OneLine(node.node) << "\n  "
              << (node.backend.empty()
                      ? std::string("computed by a kernel")
                      : absl::StrCat("computed by a delegate of ", OneLine(node.backend)))
              << "\n  " << OneLine(node.difference) << "\n";
    if (!origin.reduced.empty()) std::cout << OneLine(origin.reduced) << "\n";
  } else if (origin.edge.has_value()) {
    std::cout << "the difference exists before lowering, in the archive's edge program: "
              << OneLine(origin.edge->difference.where) << ": "
              << OneLine(origin.edge->difference.difference) << "\n";
  } else if (!origin.unknown.empty()) {
    std::cout << "the first node that differs could not be determined: "
              << ForTerminal(origin.unknown) << "\n";
  } else {
    std::cout
        << "every node of the archive's program is correct when lowered now: the file was lowered "
           "from another archive or by another version, or is damaged (belay inspect --verify), "
           "or the state of earlier calls matters\n";
  }
}

absl::StatusOr<int> VerifyAll(const VerifyOptions& options, const MaxSizes& max_sizes,
                              const Partitioners& partitioners) {
  std::vector<std::string> files = options.inputs;
  files.push_back(ParseArchiveModel(options.archive).path);
  if (!options.program.empty()) files.push_back(options.program);
  WithinLimits limits(options.limits, files);
  ABSL_ASSIGN_OR_RETURN(const auto ops, exir::CreateStandardOps());
  ABSL_ASSIGN_OR_RETURN(const ArchiveModel chosen, ChooseModel(options.archive, options.method));
  exir::ImportOptions import;
  import.model_name = chosen.model;
  ABSL_ASSIGN_OR_RETURN(exir::ExportedProgram archive,
                        exir::ModelReader(*ops).Import(chosen.path, import));
  ABSL_ASSIGN_OR_RETURN(exir::ExportedProgram edge, exir::ToEdge(archive.Clone()));
  ABSL_ASSIGN_OR_RETURN(
      const auto session,
      OpenVerifiedMethod(options, max_sizes, edge, partitioners.chosen.Of(options.method)));
  limits.Add(*session->program);
  Method& method = *session->method;
  if (const auto state = method.GetState(exir::kRandomState); state.ok()) {
    exir::ToEdgeOptions seeded;
    seeded.random_seed = state->as<int64_t>()[0];  // the seed in the file
    ABSL_ASSIGN_OR_RETURN(edge, exir::ToEdge(archive.Clone(), seeded));
  }
  KernelRegistry reference_kernels;
  ABSL_RETURN_IF_ERROR(AddReferenceKernels(reference_kernels));
  std::set<std::string> decomposed;
  archive = WithoutComposites(std::move(archive), reference_kernels, decomposed);
  const InputsOfCall inputs = [&](int call) {
    return options.inputs.empty() ? RandomInputs(method.plan(), options.seed + call,
                                                 DynamicSizeFor(method.program(), 2))
                                  : InputsFromFiles(method.plan(), options.inputs);
  };
  KernelRegistry independent_kernels = reference_kernels;
  ABSL_RETURN_IF_ERROR(AddIndependentKernels(method.plan(), independent_kernels));
  ABSL_ASSIGN_OR_RETURN(ReferenceProgram reference,
                        ReferenceProgram::Create(archive, edge, independent_kernels, inputs));
  const exir::Closeness closeness{.atol = options.atol, .rtol = options.rtol, .by_precision = true};
  const Subject subject{options,           max_sizes, edge,     session->kernels,
                        reference_kernels, inputs,    closeness};

  std::optional<DumpComparison> against;
  ABSL_RETURN_IF_ERROR(UseDumps(options, archive, reference_kernels, inputs, closeness, against));
  std::vector<Finding> findings;
  std::vector<exir::Deviation> deviations;  // of each output, over all calls
  Origin origin;
  for (int call = 0; call < options.calls && findings.empty(); ++call) {
    ABSL_ASSIGN_OR_RETURN(const CallInputs given, inputs(call));
    ABSL_ASSIGN_OR_RETURN(exir::CallOutcome expected, reference.Run(call));
    exir::CallOutcome got;
    ABSL_ASSIGN_OR_RETURN(findings,
                          CompareCall(method, expected, given, call, closeness, deviations, got));
    if (findings.empty()) continue;
    // The reference kernels decide.
    ABSL_ASSIGN_OR_RETURN(reference,
                          ReferenceProgram::Create(archive, edge, reference_kernels, inputs));
    for (int earlier = 0; earlier < call; ++earlier) {
      ABSL_RETURN_IF_ERROR(reference.Run(earlier).status());
    }
    ABSL_ASSIGN_OR_RETURN(expected, reference.Run(call));
    findings = Differences(call, expected, got, closeness);
    if (findings.empty()) continue;
    origin = FindOrigin(subject, reference, expected, call, method.plan(), partitioners);
  }
  const std::string& why_edge = reference.why_edge();
  PrintReference(why_edge, decomposed);
  const bool differs = !findings.empty() || (against.has_value() && against->node.has_value());
  const int status = differs ? kNegative : kDone;
  if (options.json) {
    PrintJson(options, why_edge, decomposed, findings, origin, deviations, against);
    return status;
  }
  if (against.has_value()) PrintDump(*against);
  if (findings.empty()) {
    std::cout << "equal: " << method.num_outputs() << " results in " << options.calls
              << (options.calls == 1 ? " call\n" : " calls\n");
    PrintDeviations(deviations, closeness);
    return status;
  }
  PrintFindings(findings);
  PrintDeviations(deviations, closeness);
  PrintOrigin(origin);
  return status;
}

// Compares with files instead of an archive.
absl::StatusOr<int> VerifyRecorded(const VerifyOptions& options) {
  std::vector<std::string> files = options.inputs;
  files.push_back(options.program);
  WithinLimits limits(options.limits, files);
  ABSL_ASSIGN_OR_RETURN(const auto session,
                        OpenSession(options.program, options.method, options.engine, /*threads=*/1,
                                    {}, {options.limits.ForPrograms(), options.data}));
  limits.Add(*session->program);
  Method& method = *session->method;
  if (options.expected.size() != method.num_outputs()) {
    return absl::InvalidArgumentError(absl::StrCat("expected a file for each of ",
                                                   method.num_outputs(), " outputs, got ",
                                                   options.expected.size(), " times --expected"));
  }
  const exir::Closeness closeness{.atol = options.atol, .rtol = options.rtol, .by_precision = true};
  ABSL_ASSIGN_OR_RETURN(const CallInputs inputs, InputsFromFiles(method.plan(), options.inputs));
  const exir::CallOutcome got = exir::RunCall(method, inputs.values);
  ABSL_RETURN_IF_ERROR(got.status);
  std::vector<Finding> findings;
  std::vector<exir::Deviation> deviations;
  for (size_t i = 0; i < options.expected.size(); ++i) {
    ABSL_ASSIGN_OR_RETURN(const NpyArray want, ReadNpyFile(options.expected[i]));
    const EValue& value = got.outputs[i].value();
    deviations.push_back(exir::LargestDeviation(want.view(), value));
    const absl::Status close = exir::CompareRecorded(want.view(), value, closeness);
    if (!close.ok()) {
      findings.push_back({0, {absl::StrCat("output ", i), std::string(FromAbsl(close.message()))}});
    }
  }
  const int status = findings.empty() ? kDone : kNegative;
  if (options.json) {
    json report{{"equal", findings.empty()}, {"calls", 1}, {"reference", "files"}};
    AddFindings(findings, report);
    AddDeviations(deviations, report);
    std::cout << JsonText(report);
    return status;
  }
  std::cerr << "belay: compared with files\n";
  if (findings.empty()) std::cout << "equal: " << method.num_outputs() << " results in 1 call\n";
  PrintFindings(findings);
  PrintDeviations(deviations, closeness);
  return status;
}

}  // namespace

int Verify(const VerifyOptions& options) {
  const absl::StatusOr<Partitioners> partitioners = ChooseBackends(options.backends, {});
  if (!partitioners.ok()) return ReportBadUsage(partitioners.status());
  const absl::StatusOr<MaxSizes> max_sizes = ParseMaxSizes(options.max_size);
  if (!max_sizes.ok()) return ReportBadUsage(max_sizes.status());
  const absl::StatusOr<int> status = options.expected.empty()
                                         ? VerifyAll(options, *max_sizes, *partitioners)
                                         : VerifyRecorded(options);
  return status.ok() ? *status : Report(status.status());
}

Command VerifyCommand() {
  struct Parsed : VerifyOptions {
    std::vector<std::string> files;
    std::string reference;
  };
  const auto verify = std::make_shared<Parsed>();
  return {
      .name = "verify",
      .about =
          "Compares the results of a program file with those of its archive, and names the first "
          "node that differs.",
      .options = WithLimits(
          {{"files",
            &verify->files,
            "the archive (.pt2, FILE or FILE:MODEL), and the program file; without one, the "
            "archive is lowered",
            {.required = true, .most_values = 2}},
           {"--reference", &verify->reference,
            "the archive; the only other file is then the program"},
           {"--method", &verify->method, "the method"},
           {"--input",
            &verify->inputs,
            ".npy files in the order of the method's inputs (repeatable); default: random "
            "numbers",
            {.repeatable = true}},
           {"--random-inputs",
            &verify->seed,
            "the seed of random inputs",
            {.excludes = {"--input"}}},
           {"--calls", &verify->calls, "number of calls, on the same state", {.least = 1}},
           {"--max-size",
            &verify->max_size,
            "as for 'lower', if the archive is lowered",
            {.repeatable = true, .one_value = true}},
           {"--backend",
            &verify->backends,
            "backends to lower with, comma separated; default: those of the program file",
            {.one_value = true}},
           {"--expected",
            &verify->expected,
            "a .npy file for each output: compares the program, the only file, with these instead "
            "of an archive (repeatable)",
            {.repeatable = true, .excludes = {"--reference"}}},
           {"--reduce", &verify->reduce,
            "on a difference, writes the smallest part of the program that still differs to this "
            "directory: program.bir, input_<i>.npy, output_<i>.npy"},
           {"--dump", &verify->dump,
            "writes the values of all nodes of the archive's program to this directory, by name"},
           {"--against", &verify->against,
            "compares the values of all nodes with the arrays of these names in this directory"},
           {"--atol", &verify->atol, "allowed absolute difference", {.least = 0}},
           {"--rtol", &verify->rtol, "allowed relative difference", {.least = 0}},
           DataOption(&verify->data),
           EngineOption(&verify->engine),
           {"--json", &verify->json, "prints JSON"}},
          &verify->limits, /*lowers=*/true),
      .footer =
          "Of an archive with several models, uses the model with the method's name, and for\n"
          "'forward' also one named 'model'; FILE:MODEL selects another.\n"
          "Example: belay verify model.pt2 model.belay --input x.npy\n"
          "Exit status 1 on a difference.",
      .owned = verify,
      .run =
          [verify] {
            std::vector<std::string> files = verify->files;
            if (!verify->reference.empty()) files.insert(files.begin(), verify->reference);
            if (!verify->expected.empty()) {
              verify->program = files[0];
            } else {
              verify->archive = files[0];
              if (files.size() == 2) verify->program = files[1];
            }
            return Verify(*verify);
          },
      .problem =
          [verify] {
            if (verify->files.size() < 2) return "";
            if (!verify->expected.empty()) return "verify takes only one file with --expected";
            return verify->reference.empty() ? "" : "verify takes only one file with --reference";
          },
  };
}

}  // namespace belay::tools
