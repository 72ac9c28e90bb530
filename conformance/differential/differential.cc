#include "conformance/differential/differential.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "conformance/differential/kernel_check.h"
#include "conformance/differential/result_closeness.h"
#include "exir/decompositions/standard_decompositions.h"
#include "exir/emit/emitter.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/op_definition/op_variants.h"
#include "exir/ops/standard_ops.h"
#include "exir/pipeline.h"
#include "exir/testing/generator/shrink_program.h"
#include "exir/testing/generator/writes_as_copies.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay::conformance {
namespace {

using exir::ExportedProgram;
using exir::OpOverload;

// For results decomposed into other operators than the interpreter's. The rounding step of bfloat16
// is larger.
constexpr exir::Closeness kDecomposed = {
    .atol = 1e-3, .rtol = 1e-3, .by_precision = true, .finite_only = true};

// Returns whether the contents of the operator's results are unspecified.
bool Unspecified(const OpOverload& op) {
  return op.has_trait(exir::kNondeterministic) || op.op().find("empty") != std::string_view::npos;
}

// Allows any values for outputs with unspecified contents.
exir::CallCloseness WithoutUnspecified(const ExportedProgram& program,
                                       exir::CallCloseness closeness) {
  size_t position = 0;
  for (size_t i = 0; i < program.signature.outputs.size(); ++i) {
    if (program.signature.outputs[i].kind != exir::OutputKind::kUserOutput) continue;
    const exir::ValueId* id = program.top().outputs()[i].get_if<exir::ValueId>();
    const exir::NodeId producer =
        id == nullptr ? exir::NodeId() : program.top().value(*id).producer;
    if (producer.valid() && Unspecified(*program.top().node(producer).target)) {
      closeness.outputs[position] = exir::kAnyElements;
    }
    ++position;
  }
  return closeness;
}

// Returns the operator that lowering processes: the functional variant of an operator that writes.
// Others that write, such as index_copy_, give the same bits.
const OpOverload* FunctionalOf(const ExportedProgram& program, const OpOverload* op) {
  if (NeedsVariant(*op) ||
      (op->schema() != nullptr && KindOf(*op->schema()) == exir::SchemaKind::kMutable)) {
    const auto functional = ToVariant(*program.ops, op, exir::SchemaKind::kFunctional);
    if (functional.ok()) return *functional;
  }
  return op;
}

// The operators that lowering processes, by Provenance::origin of their nodes.
using Operations = std::map<std::string, const OpOverload*, std::less<>>;

// Gives each node a unique origin. Nodes lowered from it keep the origin, and so its debug handle.
Operations NameOrigins(ExportedProgram& program) {
  Operations operations;
  for (exir::Graph& graph : program.graphs) {
    exir::GraphEditor editor(graph);
    for (const exir::NodeId id : graph.NodeList()) {
      const std::string origin = absl::StrCat("n", operations.size());
      operations[origin] = FunctionalOf(program, graph.node(id).target);
      exir::Provenance provenance = graph.node(id).provenance;
      provenance.origin = std::make_shared<const std::string>(origin);
      editor.SetDebugHandle(id, 0);
      editor.SetProvenance(id, std::move(provenance));
    }
  }
  return operations;
}

// Operators whose operands have one dtype in the edge dialect (exir/passes/promote_mixed_dtypes.h).
// Otherwise they compute with a scalar as it is; in the edge dialect the scalar is first rounded to
// float16 or bfloat16.
constexpr std::string_view kOneDType[] = {"aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor",
                                          "aten.div.Tensor", "aten.div.Tensor_mode"};

// Returns whether an operand is a scalar that was rounded for this node.
bool RoundsNumber(const exir::Graph& graph, const exir::Node& node) {
  const OpOverload& op = *node.target->aten();
  if (std::find(std::begin(kOneDType), std::end(kOneDType), op.name()) == std::end(kOneDType)) {
    return false;
  }
  for (const std::string_view argument : {"self", "other"}) {
    const exir::ValueId* operand = node.value_argument(argument);
    if (operand == nullptr || !graph.value(*operand).producer.valid()) continue;
    const exir::Node& cast = graph.node(graph.value(*operand).producer);
    const exir::ValueId* source = cast.operand().get_if<exir::ValueId>();
    const bool copies =
        cast.target->op() == "_to_copy" || cast.target->op() == "_to_dim_order_copy";
    if (!copies || cast.debug_handle != node.debug_handle || source == nullptr) continue;
    const exir::TensorMeta* from = graph.value(*source).tensor();
    const exir::TensorMeta* to = graph.value(*operand).tensor();
    constexpr DTypeSet kShort = {DType::kFloat16, DType::kBFloat16};
    if (from != nullptr && from->rank() == 0 && from->dtype != to->dtype &&
        kShort.contains(to->dtype)) {
      return true;
    }
  }
  return false;
}

// Closeness of the results of a program and of its edge program. Results that depend on a rounded
// scalar have no bound, since a nearly equal value may be subtracted.
exir::CallCloseness ClosenessOfEdge(const ExportedProgram& edge, const Operations& operations) {
  return ClosenessOfResults(
      edge, kDecomposed, [&](const exir::Graph& graph, const exir::Node& node) {
        if (RoundsNumber(graph, node)) return Agreement::kAny;
        if (node.provenance.origin == nullptr) return Agreement::kSameBits;
        const auto it = operations.find(*node.provenance.origin);
        return it != operations.end() && exir::StandardDecompositions().Find(it->second) != nullptr
                   ? Agreement::kClose
                   : Agreement::kSameBits;
      });
}

// Closeness of the results of kernels selected for the actual sizes and kernels selected for the
// maximum sizes.
exir::CallCloseness ClosenessOfChoice(const ExportedProgram& edge) {
  if (edge.ranges.empty()) return exir::kSameBits;
  return ClosenessOfResults(edge, kDecomposed, [](const exir::Graph&, const exir::Node& node) {
    const OpOverload& op = *node.target->aten();
    return op.has_trait(exir::kDataMovement) || op.has_trait(exir::kSymbolic) ? Agreement::kSameBits
                                                                              : Agreement::kClose;
  });
}

Verdict Problem(std::string_view stage, const absl::Status& status) {
  return {.problem = absl::StrCat(stage, ": ", status.ToString()), .refusal = ""};
}
Verdict Difference(std::string_view stage, std::string_view difference) {
  return {.problem = absl::StrCat(stage, ": ", difference), .refusal = ""};
}

absl::StatusOr<std::vector<exir::CallOutcome>> Interpret(const ExportedProgram& program,
                                                         const KernelRegistry& kernels,
                                                         const exir::CallSequence& calls) {
  ABSL_ASSIGN_OR_RETURN(exir::Interpreter interpreter, exir::Interpreter::Create(program, kernels));
  return exir::RunCalls(interpreter, calls);
}
absl::StatusOr<Program> LowerEdgeProgram(const ExportedProgram& edge) {
  exir::MethodPrograms methods;
  methods.emplace_back("forward", edge.Clone());
  ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image, exir::EmitProgram(methods));
  return exir::OpenImage(image);
}
absl::StatusOr<std::vector<exir::CallOutcome>> Execute(const Program& program,
                                                       const KernelRegistry& kernels,
                                                       const exir::CallSequence& calls) {
  const BackendRegistry backends;
  ABSL_ASSIGN_OR_RETURN(Method method, Method::Load(program, "forward", kernels, backends));
  return exir::RunCalls(method, calls);
}

// Removes the parts that differ from program to program.
std::string Reason(const absl::Status& status) {
  std::string text(status.message());
  text = text.substr(0, text.find('\n'));
  return text.substr(0, 160);
}

}  // namespace

absl::StatusOr<std::unique_ptr<DifferentialSetup>> DifferentialSetup::Create(
    const std::string& cases) {
  auto setup = std::make_unique<DifferentialSetup>();
  ABSL_ASSIGN_OR_RETURN(setup->ops, exir::CreateStandardOps());
  ABSL_RETURN_IF_ERROR(AddReferenceKernels(setup->reference));
  ABSL_RETURN_IF_ERROR(AddStandardKernels(setup->standard));
  ABSL_ASSIGN_OR_RETURN(setup->corpus, CallCorpus::Read(cases, *setup->ops));
  return setup;
}

Verdict CheckProgram(const DifferentialSetup& setup, const ExportedProgram& program,
                     const exir::CallSequence& all_calls) {
  if (const absl::Status status = Verify(program); !status.ok()) {
    return Problem("the program does not verify", status);
  }
  auto oracle = WritesAsCopies(program);
  if (!oracle.ok()) return Problem("writes as copies", oracle.status());
  // Lowering removes dead nodes, and with them errors of their operands.
  for (exir::Graph& graph : oracle->graphs) exir::GraphEditor(graph).EraseDeadNodes();
  auto wanted = Interpret(*oracle, setup.reference, all_calls);
  if (!wanted.ok()) return Problem("interpreter", wanted.status());
  // If a call fails for other sizes than the sample inputs', or in a subgraph, any outcome is
  // allowed: a decomposition may accept arguments that its operator rejects.
  exir::CallSequence calls = all_calls;
  if (!wanted->back().status.ok() && (!program.ranges.empty() || program.graphs.size() > 1)) {
    wanted->pop_back();
    calls.resize(wanted->size());
  }

  ExportedProgram named = program.Clone();
  const Operations operations = NameOrigins(named);
  auto edge = exir::ToEdge(std::move(named));
  if (absl::IsUnimplemented(edge.status())) {
    return {.problem = "", .refusal = "to_edge: " + Reason(edge.status())};
  }
  if (!edge.ok()) return Problem("to_edge", edge.status());
  const auto edge_wanted = Interpret(*edge, setup.reference, calls);
  if (!edge_wanted.ok()) return Problem("interpreter of the edge program", edge_wanted.status());
  std::string difference = FirstDifference(
      *wanted, *edge_wanted, WithoutUnspecified(program, ClosenessOfEdge(*edge, operations)));
  if (!difference.empty()) return Difference("edge program on the interpreter", difference);

  const auto lowered = LowerEdgeProgram(*edge);
  if (absl::IsUnimplemented(lowered.status())) {
    return {.problem = "", .refusal = "emit: " + Reason(lowered.status())};
  }
  if (!lowered.ok()) return Problem("lowering", lowered.status());
  const auto executed = Execute(*lowered, setup.reference, calls);
  if (!executed.ok()) return Problem("loading with reference kernels", executed.status());
  difference =
      FirstDifference(*edge_wanted, *executed, WithoutUnspecified(program, exir::kSameBits));
  if (!difference.empty()) return Difference("runtime with reference kernels", difference);

  const auto preferred = InterpretAndCheckKernels(*edge, setup.standard, setup.reference, calls);
  if (!preferred.ok()) return Problem("interpreter with preferred kernels", preferred.status());
  for (const exir::CallOutcome& outcome : *preferred) {
    if (absl::IsFailedPrecondition(outcome.status)) {
      return Problem("kernels", outcome.status);
    }
  }
  const auto executed_preferred = Execute(*lowered, setup.standard, calls);
  if (!executed_preferred.ok()) {
    return Problem("loading with preferred kernels", executed_preferred.status());
  }
  difference = FirstDifference(*preferred, *executed_preferred,
                               WithoutUnspecified(program, ClosenessOfChoice(*edge)));
  if (!difference.empty()) return Difference("runtime with preferred kernels", difference);
  return {};
}

DifferentialReport RunDifferential(const DifferentialSetup& setup,
                                   const DifferentialOptions& options) {
  DifferentialReport report;
  std::vector<const OperatorCalls*> deck;
  const auto add = [&](absl::Span<const OperatorCalls> all) {
    for (const OperatorCalls& calls : all) {
      if (options.only.empty() || options.only.count(calls.op->name()) != 0) {
        deck.push_back(&calls);
      }
    }
  };
  add(setup.corpus.functional());
  if (options.training) add(setup.corpus.in_place());
  if (deck.empty()) return report;
  for (int i = 0; i < options.programs; ++i) {
    // Each program has its own generator, so its seed suffices to recreate it.
    const uint64_t seed = options.seed * 1'000'003 + static_cast<uint64_t>(i);
    Random random(seed);
    // Rotates the first two, so that all operators are used.
    std::vector<const OperatorCalls*> dealt;
    const size_t count = std::min<size_t>(deck.size(), 12);
    for (size_t k = 0; k < count; ++k) {
      dealt.push_back(k < 2 ? deck[(static_cast<size_t>(i) * 2 + k + options.seed) % deck.size()]
                            : random.Pick(deck));
    }
    exir::RandomProgramOptions how;
    if (options.training) how.dialect = exir::IrDialect::kTraining;
    const exir::RandomProgram generated =
        exir::RandomPrograms(random, *setup.ops, setup.reference, std::move(dealt), how).Next();
    exir::CallSequence calls = {{}};
    for (const exir::SampleTensor& sample : generated.samples) calls[0].push_back(sample.Copy());
    for (int k = 0; k < 2; ++k) {
      calls.push_back(exir::MakeInputs(generated.program, random, generated.samples));
    }
    ++report.programs;
    report.dynamic += generated.dynamic;
    report.mutating += generated.mutates;
    report.control_flow += generated.control_flow;
    report.calls += static_cast<int>(generated.called.size());
    const Verdict verdict = CheckProgram(setup, generated.program, calls);
    if (!verdict.refusal.empty()) {
      ++report.refused;
      ++report.refusals[verdict.refusal];
      continue;
    }
    if (verdict.problem.empty()) {
      for (const OpOverload* op : generated.called) report.called.insert(op->name());
      continue;
    }
    std::string problem = verdict.problem;
    ExportedProgram smaller = generated.program.Clone();
    const std::string_view stage = std::string_view(problem).substr(0, problem.find(':'));
    if (options.shrink && report.problems.empty() && Verify(smaller).ok()) {
      exir::ShrinkProgram(
          smaller,
          [&](const ExportedProgram& candidate) {
            return CheckProgram(setup, candidate, calls).problem.starts_with(stage);
          },
          /*budget=*/40);
      problem = CheckProgram(setup, smaller, calls).problem;
    }
    report.problems.push_back(absl::StrCat("seed ", options.seed, ", program ", i,
                                           options.training ? " (training)" : "", ": ", problem,
                                           "\n", exir::PrintProgram(smaller)));
    if (report.problems.size() >= static_cast<size_t>(options.max_problems)) break;
  }
  return report;
}

std::string DifferentialReport::ToString() const {
  std::string text =
      absl::StrCat(programs, " programs, ", calls, " calls of ", called.size(), " operators; ",
                   dynamic, " with dynamic sizes, ", mutating, " that write, ", control_flow,
                   " with control flow; ", refused, " refused, ", problems.size(), " problems");
  for (const auto& [reason, count] : refusals) absl::StrAppend(&text, "\n  ", count, " ", reason);
  return text;
}

}  // namespace belay::conformance
