// Compares the dtype rules of the edge dialect with PyTorch. Combinations that PyTorch supports are
// allowed, or excluded with a reason. Combinations without a row are rejected with the operator's
// name.
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/ops/op_case.h"
#include "exir/ir/graph_editor.h"
#include "exir/op_definition/dtype_rule.h"
#include "exir/ops/standard_ops.h"
#include "exir/passes/edge_verifier.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::conformance {
namespace {

using exir::Argument;
using exir::DTypeRule;
using exir::GraphEditor;
using exir::OpOverload;
using exir::TensorMeta;
using exir::ValueId;

using DTypes = std::vector<std::optional<DType>>;

// Operators without a row: any combination of legal dtypes is allowed.
const std::map<std::string_view, std::string_view>& AnyCombination() {
  static const auto& reasons = *new std::map<std::string_view, std::string_view>{
#include "conformance/edge/any_dtypes.inc"
  };
  return reasons;
}
// Operators that PyTorch supports with dtypes that the edge dialect rejects.
const std::map<std::string_view, std::string_view>& Narrower() {
  static const auto& reasons = *new std::map<std::string_view, std::string_view>{
#include "conformance/edge/narrower_dtypes.inc"
  };
  return reasons;
}

std::optional<DType> DTypeOf(const CaseValue& value) {
  if (const auto* tensor = std::get_if<CaseTensor>(&value)) return tensor->dtype;
  if (const auto* list = std::get_if<std::vector<std::optional<CaseTensor>>>(&value)) {
    for (const auto& tensor : *list) {
      if (tensor.has_value()) return tensor->dtype;
    }
  }
  return std::nullopt;
}

// Returns one dtype per slot of the rule; nullopt if the case has no such tensor.
DTypes DTypesOf(const exir::FunctionSchema& schema, const DTypeRule& rule, const OpCase& op_case) {
  std::map<std::string, std::optional<DType>> arguments;
  for (size_t i = 0; i < op_case.args.size(); ++i) {
    arguments[schema.arguments[i].name] = DTypeOf(op_case.args[i]);
  }
  for (const auto& [name, value] : op_case.kwargs) arguments[name] = DTypeOf(value);
  std::vector<std::optional<DType>> results;
  for (size_t i = 0; i < schema.returns.size(); ++i) {
    if (schema.returns[i].type.base == exir::BaseType::kTensor) {
      results.push_back(DTypeOf((*op_case.expect)[i]));
    }
  }
  DTypes dtypes;
  size_t next = 0;
  for (const DTypeRule::Slot& slot : rule.slots()) {
    if (slot.return_name.empty()) {
      dtypes.push_back(arguments[slot.name]);
    } else {
      dtypes.push_back(next < results.size() ? results[next] : std::nullopt);
      ++next;
    }
  }
  return dtypes;
}

std::string Text(const DTypeRule& rule, const DTypes& dtypes) {
  std::string text;
  for (size_t i = 0; i < dtypes.size(); ++i) {
    text += (i == 0 ? "" : " ") + rule.slots()[i].name + ":" +
            (dtypes[i].has_value() ? std::string(DTypeShortName(*dtypes[i])) : "none");
  }
  return text;
}

// Returns an edge program of one call whose tensors have these dtypes, by slot.
exir::ExportedProgram ProgramOf(const OpOverload& op, const DTypeRule& rule, const DTypes& dtypes,
                                const exir::OpRegistry& ops) {
  exir::ExportedProgram program(&ops);
  program.dialect = exir::IrDialect::kEdge;
  program.graphs.push_back(exir::Graph());
  GraphEditor editor(program.top());
  GraphEditor::NewNode node;
  node.name = "call";
  node.target = ops.ToEdge(&op);
  size_t slot = 0;
  for (const exir::SchemaArgument& argument : op.schema()->arguments) {
    if (argument.type.base != exir::BaseType::kTensor) {
      node.arguments.push_back(DefaultArgument(argument));
      continue;
    }
    const std::optional<DType> dtype = dtypes[slot++];
    if (!dtype.has_value()) {
      node.arguments.push_back(argument.type.list ? Argument(Argument::List{}) : Argument());
      continue;
    }
    const ValueId id = editor.AddInput(argument.name, TensorMeta::Contiguous(*dtype, {2}));
    program.signature.inputs.push_back({});
    node.arguments.push_back(argument.type.list ? Argument(Argument::List{Argument(id)})
                                                : Argument(id));
  }
  std::vector<GraphEditor::NewOutput> outputs;
  for (const exir::SchemaReturn& ret : op.schema()->returns) {
    GraphEditor::NewOutput& output = outputs.emplace_back();
    if (ret.type.base != exir::BaseType::kTensor) {
      output.values.emplace_back("number", exir::SymIntType{exir::SymExpr(1)});
      continue;
    }
    const std::optional<DType> dtype = dtypes[slot++];
    output.kind = ret.type.list       ? exir::NodeOutput::Kind::kList
                  : dtype.has_value() ? exir::NodeOutput::Kind::kValue
                                      : exir::NodeOutput::Kind::kNone;
    if (dtype.has_value()) output.values.emplace_back("r", TensorMeta::Contiguous(*dtype, {2}));
  }
  editor.InsertNode(exir::NodeId(), std::move(node), std::move(outputs));
  return program;
}

TEST(DtypeRowsTest, MatchPyTorch) {
  ASSERT_OK_AND_ASSIGN(const auto ops, exir::CreateStandardOps());
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator("conformance/opcases")) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  int refused = 0;
  std::set<std::string> narrower;
  for (const std::string& path : paths) {
    ASSERT_OK_AND_ASSIGN(const OpCaseFile file, ReadOpCaseFile(path));
    const OpOverload* op = ops->Find(file.op);
    ASSERT_NE(op, nullptr) << file.op;
    ASSERT_OK_AND_ASSIGN(const DTypeRule rule, DTypeRule::Create(*op->schema(), op->def()->dtypes));
    EXPECT_EQ(op->def()->dtypes.empty() && !rule.slots().empty(),
              AnyCombination().count(file.op) != 0)
        << file.op << ": " << rule.ToString();
    std::set<std::string> seen;
    std::optional<DTypes> accepted;
    for (const OpCase& op_case : file.cases) {
      if (!op_case.expect.has_value()) continue;
      const DTypes dtypes = DTypesOf(*op->schema(), rule, op_case);
      if (!seen.insert(Text(rule, dtypes)).second) continue;
      if (rule.Accepts(dtypes)) {
        if (!accepted.has_value()) accepted = dtypes;
      } else {
        narrower.insert(file.op);
        EXPECT_NE(Narrower().count(file.op), 0u)
            << file.op << " is computed by PyTorch (case " << op_case.id << ") for "
            << Text(rule, dtypes) << ", allowed is " << rule.ToString();
      }
    }
    if (rule.slots().empty()) continue;
    EXPECT_TRUE(accepted.has_value()) << file.op << ": " << rule.ToString();
    if (!accepted.has_value() || op->schema()->IsMutable()) continue;
    // Replaces the dtype of one slot.
    for (size_t slot = 0; slot < accepted->size(); ++slot) {
      for (DType dtype : {DType::kBool, DType::kUint8, DType::kInt32, DType::kInt64,
                          DType::kFloat16, DType::kFloat32, DType::kFloat64, DType::kComplex64,
                          DType::kFloat8E4M3FN, DType::kUint32}) {
        DTypes changed = *accepted;
        if (!changed[slot].has_value()) continue;
        changed[slot] = dtype;
        const exir::ExportedProgram program = ProgramOf(*op, rule, changed, *ops);
        const absl::Status status = exir::VerifyEdge(program, {.dim_order = false,
                                                               .check_core = false,
                                                               .check_dtypes = true,
                                                               .core_exceptions = {},
                                                               .preserved = {}});
        const std::string message(status.message());
        const bool says = message.find("E6") != std::string::npos;
        EXPECT_EQ(says, !rule.Accepts(changed)) << Text(rule, changed) << "\n" << message;
        if (!says) continue;
        ++refused;
        EXPECT_NE(message.find(file.op), std::string::npos) << message;
        EXPECT_NE(message.find(DTypeName(dtype)), std::string::npos) << message;
      }
    }
  }
  for (const auto& [op, reason] : Narrower()) {
    EXPECT_EQ(narrower.count(std::string(op)), 1u) << op << " is no exception any more: " << reason;
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace belay::conformance
