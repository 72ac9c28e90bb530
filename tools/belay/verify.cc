// `belay verify`: what a program file computes against what its archive means.
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/aot_backends.h"
#include "backends/runtime_backends.h"
#include "exir/engine/call.h"
#include "exir/import/import.h"
#include "exir/interpreter/interpreter.h"
#include "exir/model_file.h"
#include "exir/ops/standard_ops.h"
#include "exir/pipeline.h"
#include "nlohmann/json.hpp"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernels/standard_kernels.h"
#include "tools/belay/archive_model.h"
#include "tools/belay/call_inputs.h"
#include "tools/belay/chosen_backends.h"
#include "tools/belay/command.h"
#include "tools/belay/first_difference.h"
#include "tools/belay/printing.h"
#include "tools/belay/program_file.h"
#include "tools/belay/reference_program.h"
#include "tools/belay/verified_method.h"

namespace belay::tools {
namespace {

using nlohmann::json;

// --- Comparing a call ---

struct Finding {
  int call = 0;
  exir::CallDifference difference;
};

// Everything that differs.
std::vector<Finding> Differences(int call, const exir::CallOutcome& want,
                                 const exir::CallOutcome& got, const exir::Closeness& closeness) {
  std::vector<Finding> findings;
  for (exir::CallDifference& difference : exir::CompareCalls(want, got, closeness)) {
    findings.push_back({call, std::move(difference)});
  }
  return findings;
}

absl::StatusOr<std::vector<Finding>> CompareCall(Method& method, const exir::CallOutcome& expected,
                                                 const InputsOfCall& inputs, int call,
                                                 const exir::Closeness& closeness) {
  ABSL_ASSIGN_OR_RETURN(const CallInputs given, inputs(call));
  const exir::CallOutcome got = exir::RunCall(method, given.values);
  ABSL_RETURN_IF_ERROR(got.status);
  if (expected.outputs.size() != got.outputs.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the archive's program gives ", expected.outputs.size(), " results, the file's ",
        got.outputs.size(), ": it was made from another archive"));
  }
  return Differences(call, expected, got, closeness);
}

// --- Finding out where it comes from ---

// What the archive is, and how it is lowered.
struct Subject {
  const VerifyOptions& options;
  const exir::ExportedProgram& edge;
  const KernelRegistry& reference_kernels;
  const InputsOfCall& inputs;
  const exir::Closeness& closeness;
};

// Partitioners for the backends whose delegates a program has.
absl::StatusOr<Partitioners> PartitionersOf(const MethodPlan& plan,
                                            const exir::ExportedProgram& program) {
  Partitioners partitioners;
  std::set<std::string_view> wanted;
  for (const DelegatePlan& delegate : plan.delegates) wanted.insert(delegate.backend_id);
  if (wanted.empty()) return partitioners;
  for (std::string_view name : AotBackendNames()) {
    ABSL_ASSIGN_OR_RETURN(auto partitioner, CreatePartitioner(name, {}));
    const absl::StatusOr<exir::PartitionResult> answer = partitioner->Partition(program);
    if (!answer.ok()) continue;
    for (const auto& [tag, spec] : answer->delegation) {
      if (!wanted.contains(spec.backend_id)) continue;
      partitioners.chosen.all.push_back(partitioner.get());
      partitioners.owned.push_back(std::move(partitioner));
      break;
    }
  }
  return partitioners;
}

// The first thing that making an edge program of the archive's changes in this call; nullopt when
// there is none.
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

absl::StatusOr<std::optional<NodeDifference>> FindNode(const Subject& subject,
                                                       const MethodPlan& plan,
                                                       const Partitioners& chosen) {
  KernelRegistry kernels;
  ABSL_RETURN_IF_ERROR(AddEngine(subject.options.engine, kernels));
  Partitioners of_file;
  if (subject.options.backends.empty()) {
    ABSL_ASSIGN_OR_RETURN(of_file, PartitionersOf(plan, subject.edge));
  }
  LoweringSetup setup{
      .partitioners =
          (subject.options.backends.empty() ? of_file : chosen).chosen.Of(subject.options.method),
      .aot = &AotBackends(),
      .runtime = &RuntimeBackends(),
      .kernels = &kernels,
      .reference = &subject.reference_kernels,
      .unbounded_size = {}};
  if (subject.options.max_size > 0) setup.unbounded_size = subject.options.max_size;
  ABSL_ASSIGN_OR_RETURN(const CallInputs inputs, subject.inputs(0));
  return FindFirstDifference(subject.edge, inputs.values, setup, subject.closeness);
}

// Where a difference comes from, as far as it could be found out.
struct Origin {
  std::optional<NodeDifference> node;  // lowering makes it
  std::optional<Finding> edge;         // or it is there before anything is lowered
  std::string unknown;                 // or why there is no answer; "" when all is right
};

Origin FindOrigin(const Subject& subject, const ReferenceProgram& reference,
                  const exir::CallOutcome& expected, int call, const MethodPlan& plan,
                  const Partitioners& chosen) {
  Origin origin;
  absl::StatusOr<std::optional<NodeDifference>> node = FindNode(subject, plan, chosen);
  if (node.ok()) origin.node = *std::move(node);
  if (origin.node.has_value()) return origin;
  absl::StatusOr<std::optional<Finding>> edge = EdgeDifference(subject, reference, expected, call);
  if (edge.ok()) origin.edge = *std::move(edge);
  if (origin.edge.has_value()) return origin;
  const absl::Status& failed = node.ok() ? edge.status() : node.status();
  origin.unknown = std::string(FromAbsl(failed.message()));
  return origin;
}

// --- Printing ---

// On standard error: what the file was compared with. The list of what can't be interpreted is in
// the JSON report.
void PrintReference(std::string_view why_edge) {
  std::cerr << "belay: compared with the archive's program";
  if (!why_edge.empty()) {
    std::cerr << " after it was made an edge program; as it is, it can't be interpreted: "
              << OneLine(why_edge.substr(0, why_edge.find('\n')));
  }
  std::cerr << "\n";
}

void PrintJson(const VerifyOptions& options, const std::string& why_edge,
               const std::vector<Finding>& findings, const Origin& origin) {
  json report{{"equal", findings.empty()},
              {"calls", options.calls},
              {"reference", why_edge.empty() ? "archive" : "edge"},
              {"differences", json::array()}};
  if (!why_edge.empty()) report["reference_reason"] = why_edge;
  for (const Finding& finding : findings) {
    report["differences"].push_back({{"call", finding.call},
                                     {"where", finding.difference.where},
                                     {"difference", finding.difference.difference}});
  }
  if (origin.edge.has_value()) {
    report["edge_program"] = {{"where", origin.edge->difference.where},
                              {"difference", origin.edge->difference.difference}};
  }
  if (origin.node.has_value()) {
    report["first_node"] = {{"node", origin.node->node},
                            {"backend", origin.node->backend},
                            {"difference", origin.node->difference},
                            {"alone", origin.node->alone}};
  }
  if (!origin.unknown.empty()) report["first_node_unknown"] = origin.unknown;
  std::cout << JsonText(report);
}

void PrintOrigin(const Origin& origin) {
  if (origin.node.has_value()) {
    const NodeDifference& node = *origin.node;
    std::cout << "the first node that differs" << (node.alone ? " when it alone is looked at" : "")
              << ": " << OneLine(node.node) << "\n  "
              << (node.backend.empty()
                      ? std::string("computed by a kernel")
                      : absl::StrCat("computed by a delegate of ", OneLine(node.backend)))
              << "\n  " << OneLine(node.difference) << "\n";
  } else if (origin.edge.has_value()) {
    std::cout << "it is there before anything is lowered, in the edge program made of the archive: "
              << OneLine(origin.edge->difference.where) << ": "
              << OneLine(origin.edge->difference.difference) << "\n";
  } else if (!origin.unknown.empty()) {
    std::cout << "which node differs first could not be found out: " << ForTerminal(origin.unknown)
              << "\n";
  } else {
    std::cout
        << "every node of the archive's program gives what it should when it is lowered now: the "
           "file was made from another archive, by another version, or is damaged (belay inspect "
           "--verify), or the state of earlier calls matters\n";
  }
}

absl::StatusOr<int> VerifyAll(const VerifyOptions& options, const Partitioners& partitioners) {
  std::vector<std::string> files = options.inputs;
  files.push_back(ParseArchiveModel(options.archive).path);
  if (!options.program.empty()) files.push_back(options.program);
  WithinLimits limits(options.limits, files);
  ABSL_ASSIGN_OR_RETURN(const auto ops, exir::CreateStandardOps());
  ABSL_ASSIGN_OR_RETURN(const ArchiveModel chosen, ChooseModel(options.archive, options.method));
  exir::ImportOptions import;
  import.model_name = chosen.model;
  ABSL_ASSIGN_OR_RETURN(const exir::ExportedProgram archive,
                        exir::ModelReader(*ops).Import(chosen.path, import));
  ABSL_ASSIGN_OR_RETURN(const exir::ExportedProgram edge, exir::ToEdge(archive.Clone()));
  ABSL_ASSIGN_OR_RETURN(const auto session,
                        OpenVerifiedMethod(options, edge, partitioners.chosen.Of(options.method)));
  limits.Add(*session->program);
  Method& method = *session->method;
  KernelRegistry reference_kernels;
  ABSL_RETURN_IF_ERROR(AddReferenceKernels(reference_kernels));
  const InputsOfCall inputs = [&](int call) {
    return options.inputs.empty() ? RandomInputs(method.plan(), options.seed + call,
                                                 DynamicSizeFor(method.program(), 2))
                                  : InputsFromFiles(method.plan(), options.inputs);
  };
  ABSL_ASSIGN_OR_RETURN(ReferenceProgram reference,
                        ReferenceProgram::Create(archive, edge, reference_kernels, inputs));
  const exir::Closeness closeness{.atol = options.atol, .rtol = options.rtol, .by_precision = true};
  const Subject subject{options, edge, reference_kernels, inputs, closeness};

  std::vector<Finding> findings;
  Origin origin;
  for (int call = 0; call < options.calls && findings.empty(); ++call) {
    ABSL_ASSIGN_OR_RETURN(const exir::CallOutcome expected, reference.Run(call));
    ABSL_ASSIGN_OR_RETURN(findings, CompareCall(method, expected, inputs, call, closeness));
    if (findings.empty()) continue;
    origin = FindOrigin(subject, reference, expected, call, method.plan(), partitioners);
  }
  const std::string& why_edge = reference.why_edge();
  PrintReference(why_edge);
  const int status = findings.empty() ? kDone : kNegative;
  if (options.json) {
    PrintJson(options, why_edge, findings, origin);
    return status;
  }
  if (findings.empty()) {
    std::cout << "equal: " << method.num_outputs() << " results in " << options.calls
              << (options.calls == 1 ? " call\n" : " calls\n");
    return status;
  }
  for (const Finding& finding : findings) {
    std::cout << "call " << finding.call << ", " << OneLine(finding.difference.where) << ": "
              << OneLine(finding.difference.difference) << "\n";
  }
  PrintOrigin(origin);
  return status;
}

}  // namespace

int Verify(const VerifyOptions& options) {
  const absl::StatusOr<Partitioners> partitioners = ChooseBackends(options.backends, {});
  if (!partitioners.ok()) return ReportBadUsage(partitioners.status());
  const absl::StatusOr<int> status = VerifyAll(options, *partitioners);
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
          "Compares what a program file computes with what its archive means, and names the "
          "first node that differs.",
      .options = WithLimits(
          {{"files",
            &verify->files,
            "the archive (.pt2, FILE or FILE:MODEL), and the program file; without one, the "
            "archive is lowered",
            {.required = true, .most_values = 2}},
           {"--reference", &verify->reference,
            "the archive; then the one file named is the program"},
           {"--method", &verify->method, "the method"},
           {"--input",
            &verify->inputs,
            ".npy files in the order of the method's inputs (repeatable); random numbers without "
            "it",
            {.repeatable = true}},
           {"--random-inputs",
            &verify->seed,
            "the seed of random inputs",
            {.excludes = {"--input"}}},
           {"--calls", &verify->calls, "how many calls, on the same state", {.least = 1}},
           {"--max-size",
            &verify->max_size,
            "the most that a size may be which the archive gives no upper bound, when it is "
            "lowered",
            {.least = 1}},
           {"--backend",
            &verify->backends,
            "backends to lower with, comma separated; those of the program file else",
            {.one_value = true}},
           {"--atol", &verify->atol, "the absolute difference that is allowed", {.least = 0}},
           {"--rtol", &verify->rtol, "the relative difference that is allowed", {.least = 0}},
           DataOption(&verify->data),
           EngineOption(&verify->engine),
           {"--json", &verify->json, "prints JSON"}},
          &verify->limits, /*lowers=*/true),
      .footer =
          "Of an archive with several models, the one called like the method is meant, and for\n"
          "'forward' also one called 'model'; FILE:MODEL names another.\n"
          "Example: belay verify model.pt2 model.belay --input x.npy\n"
          "Exit status 1 when something differs.",
      .owned = verify,
      .run =
          [verify] {
            std::vector<std::string> files = verify->files;
            if (!verify->reference.empty()) files.insert(files.begin(), verify->reference);
            verify->archive = files[0];
            if (files.size() == 2) verify->program = files[1];
            return Verify(*verify);
          },
      .problem =
          [verify] {
            const bool surplus = !verify->reference.empty() && verify->files.size() == 2;
            return surplus ? "verify takes one file besides --reference" : "";
          },
  };
}

}  // namespace belay::tools
