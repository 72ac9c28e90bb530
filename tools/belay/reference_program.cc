#include "tools/belay/reference_program.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/decompositions/decompose.h"
#include "exir/functionalize/rebase_as_strided.h"
#include "exir/pass_manager/pass_manager.h"
#include "runtime/core/annotate.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay::tools {
namespace {

absl::StatusOr<exir::Interpreter> CreateInterpreter(const exir::ExportedProgram& program,
                                                    const KernelRegistry& kernels) {
  exir::InterpreterOptions options;
  options.engine.reset();
  options.share_copies = true;
  absl::StatusOr<exir::Interpreter> interpreter =
      exir::Interpreter::Create(program, kernels, std::move(options));
  if (!interpreter.ok()) return Annotate(interpreter.status(), "interpreter");
  return interpreter;
}

}  // namespace

absl::Status AddIndependentKernels(const MethodPlan& judged, KernelRegistry& registry) {
  KernelRegistry fast;
  ABSL_RETURN_IF_ERROR(AddHighwayKernels(fast));
  for (std::string_view op : fast.Operators()) {
    if (std::find(judged.operators.begin(), judged.operators.end(), op) != judged.operators.end()) {
      continue;
    }
    std::vector<const Kernel*> rows = fast.Candidates(op);
    for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
      ABSL_RETURN_IF_ERROR(registry.Add(absl::MakeConstSpan(*row, 1)));
    }
  }
  return absl::OkStatus();
}

std::vector<const exir::ConstantTensor*> LookupTables(const exir::ExportedProgram& program) {
  constexpr std::string_view kLookups[] = {"aten._embedding_bag.default", "aten.embedding.default",
                                           "aten.gather.default", "aten.index.Tensor",
                                           "aten.index_select.default"};
  const exir::Graph& top = program.top();
  std::vector<const exir::ConstantTensor*> tables;
  for (exir::NodeId id : top.nodes()) {
    const exir::Node& node = top.node(id);
    const exir::OpOverload* op = node.target->aten();
    if (std::find(std::begin(kLookups), std::end(kLookups), op->name()) == std::end(kLookups)) {
      continue;
    }
    const exir::ValueId* table =
        node.arguments.empty() ? nullptr : node.arguments[0].get_if<exir::ValueId>();
    const auto& inputs = top.inputs();
    const auto found =
        table == nullptr ? inputs.end() : std::find(inputs.begin(), inputs.end(), *table);
    if (found == inputs.end()) continue;
    const exir::InputSpec& spec =
        program.signature.inputs[static_cast<size_t>(found - inputs.begin())];
    const exir::ConstantTensor* constant = program.FindConstant(spec);
    if (constant != nullptr) tables.push_back(constant);
  }
  return tables;
}

absl::StatusOr<exir::CallOutcome> Interpret(exir::Interpreter& interpreter,
                                            const InputsOfCall& inputs, int call) {
  ABSL_ASSIGN_OR_RETURN(const CallInputs given, inputs(call));
  exir::CallOutcome done = exir::RunCall(interpreter, given.values);
  interpreter.FreeUnusedMemory();  // the method, which runs next, has memory of its own
  ABSL_RETURN_IF_ERROR(Annotate(done.status, "interpreter"));
  return done;
}

exir::ExportedProgram WithoutComposites(exir::ExportedProgram archive,
                                        const KernelRegistry& kernels,
                                        std::set<std::string>& decomposed) {
  if (exir::Interpreter::Create(archive, kernels).ok()) return archive;
  std::set<std::string> replaced;
  exir::DecomposeOptions options;
  options.keep = [&](const exir::ExportedProgram& program, exir::GraphId graph, exir::NodeId node) {
    const std::string& name = program.graphs[graph].node(node).target->name();
    if (kernels.Contains(name)) return true;
    replaced.insert(name);
    return false;
  };
  absl::StatusOr<exir::ExportedProgram> program =
      exir::RunPasses(archive.Clone(), {exir::RebaseAsStrided(), exir::Decompose(options)});
  if (!program.ok()) return archive;
  decomposed = std::move(replaced);
  return *std::move(program);
}

absl::StatusOr<ReferenceProgram> ReferenceProgram::Create(const exir::ExportedProgram& archive,
                                                          EdgeProgramSource edge, bool is_random,
                                                          const KernelRegistry& kernels,
                                                          InputsOfCall inputs) {
  absl::StatusOr<exir::Interpreter> interpreter =
      is_random ? absl::UnimplementedError("it uses random numbers, whose seed lowering sets")
                : CreateInterpreter(archive, kernels);
  std::string why_edge;
  if (!interpreter.ok()) {
    why_edge = std::string(FromAbsl(interpreter.status().message()));
    ABSL_ASSIGN_OR_RETURN(const exir::ExportedProgram* program, edge());
    interpreter = CreateInterpreter(*program, kernels);
    if (!interpreter.ok()) return interpreter.status();
  }
  return ReferenceProgram(std::move(edge), kernels, std::move(inputs), *std::move(interpreter),
                          std::move(why_edge));
}

absl::StatusOr<exir::CallOutcome> ReferenceProgram::Run(int call) {
  absl::StatusOr<exir::CallOutcome> done = Interpret(interpreter_, inputs_, call);
  if (done.ok() || !why_edge_.empty()) return done;
  why_edge_ = std::string(FromAbsl(done.status().message()));
  ABSL_ASSIGN_OR_RETURN(const exir::ExportedProgram* program, edge_());
  ABSL_ASSIGN_OR_RETURN(interpreter_, CreateInterpreter(*program, *kernels_));
  for (int earlier = 0; earlier < call; ++earlier) {
    ABSL_RETURN_IF_ERROR(Interpret(interpreter_, inputs_, earlier).status());
  }
  return Interpret(interpreter_, inputs_, call);
}

}  // namespace belay::tools
