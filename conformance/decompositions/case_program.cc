#include "conformance/decompositions/case_program.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>

#include "exir/ir/graph_editor.h"

namespace belay::conformance {
namespace {

using exir::Argument;
using exir::ExportedProgram;
using exir::GraphEditor;
using exir::TensorMeta;
using exir::ValueId;

TensorMeta MetaOf(const CaseTensor& tensor) {
  std::vector<exir::SymExpr> sizes(tensor.sizes.begin(), tensor.sizes.end());
  return TensorMeta::Contiguous(tensor.dtype, std::move(sizes));
}

}  // namespace

std::vector<std::string> DecompositionCaseFiles() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kDecompositionCases)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path().stem().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string TestNameOf(std::string op) {
  std::replace_if(op.begin(), op.end(), [](char c) { return !std::isalnum(c); }, '_');
  return op;
}

absl::StatusOr<ExportedProgram> ProgramOf(const exir::OpOverload& op, const SampleCall& call,
                                          const OpCase& op_case, const exir::OpRegistry& ops) {
  ExportedProgram program(&ops);
  program.dialect = exir::IrDialect::kTraining;
  program.graphs.push_back(exir::Graph());
  GraphEditor editor(program.top());
  std::vector<ValueId> inputs;
  for (const SampleTensor& tensor : call.tensors) {
    std::vector<exir::SymExpr> sizes(tensor.sizes.begin(), tensor.sizes.end());
    inputs.push_back(editor.AddInput("x", TensorMeta::Contiguous(tensor.dtype, std::move(sizes))));
    program.signature.inputs.push_back({});
  }
  GraphEditor::NewNode node;
  node.name = "result";
  node.target = &op;
  node.arguments = call.arguments;
  for (Argument& argument : node.arguments) {
    ForEachValueRef(argument, [&](ValueId& id) { id = inputs[id.index()]; });
  }
  std::vector<GraphEditor::NewOutput> outputs;
  for (const CaseValue& want : *op_case.expect) {
    GraphEditor::NewOutput& output = outputs.emplace_back();
    if (const auto* tensor = std::get_if<CaseTensor>(&want)) {
      output.values.emplace_back("result", MetaOf(*tensor));
    } else if (const auto* list = std::get_if<std::vector<std::optional<CaseTensor>>>(&want)) {
      output.kind = exir::NodeOutput::Kind::kList;
      for (const auto& element : *list) {
        if (!element.has_value()) return absl::UnimplementedError("a list with holes");
        output.values.emplace_back("result", MetaOf(*element));
      }
    } else {
      return absl::UnimplementedError("a result is not a tensor");
    }
  }
  const exir::NodeId id = editor.InsertNode(exir::NodeId(), std::move(node), std::move(outputs));
  std::vector<Argument> results;
  for (ValueId value : editor.graph().node(id).results()) {
    results.emplace_back(value);
    program.signature.outputs.push_back({});
  }
  editor.SetOutputs(std::move(results));
  return program;
}

}  // namespace belay::conformance
