#include "exir/import/graph_reader.h"

#include <atomic>
#include <complex>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exir/import/program_reader.h"
#include "exir/import/testing/archive.h"
#include "exir/import/testing/node_json.h"
#include "exir/ir/refused_node.h"
#include "exir/ir/text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/budget.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

auto Invalid(const std::string& text) {
  return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text));
}
auto Unsupported(const std::string& text) {
  return StatusIs(absl::StatusCode::kUnimplemented, HasSubstr(text));
}

const Node& NodeAt(const ExportedProgram& program, size_t index) {
  return program.top().node(program.top().NodeList()[index]);
}

// --- Arguments ---

TEST(GraphReaderTest, ReadsEveryKindOfArgument) {
  const std::vector<std::pair<std::string, Argument>> kinds = {
      {R"({"as_none": true})", Argument()},
      {R"({"as_int": -5})", Argument(-5)},
      {R"({"as_ints": [1, 9223372036854775807]})", Argument::List{1, INT64_MAX}},
      {R"({"as_float": 2})", Argument(2.0)},
      {R"({"as_floats": [0.5, "NaN"]})",
       Argument::List{0.5, std::numeric_limits<double>::quiet_NaN()}},
      {R"({"as_string": "mean"})", Argument("mean")},
      {R"({"as_strings": ["a", "b"]})", Argument::List{"a", "b"}},
      {R"({"as_sym_int": {"as_int": 3}})", Argument(3)},
      {R"({"as_sym_ints": [{"as_int": 3}]})", Argument::List{3}},
      {R"({"as_scalar_type": 13})", Argument(DType::kBFloat16)},
      {R"({"as_memory_format": 2})", Argument(MemoryFormat::kChannelsLast)},
      {R"({"as_layout": 7})", Argument(Layout::kStrided)},
      {R"({"as_device": {"type": "cuda", "index": 1}})", Argument(Device{"cuda", 1})},
      {R"({"as_bool": true})", Argument(true)},
      {R"({"as_bools": [true, false]})", Argument::List{true, false}},
      {R"({"as_sym_bool": {"as_bool": false}})", Argument(false)},
      {R"({"as_sym_bools": [{"as_bool": false}]})", Argument::List{false}},
      {R"({"as_sym_float": {"as_float": 1.5}})", Argument(1.5)},
      {R"({"as_sym_floats": [{"as_float": 1.5}]})", Argument::List{1.5}},
      {R"({"as_operator": "torch.ops.aten.add.Tensor"})",
       Argument(OperatorName{"aten.add.Tensor"})},
      {R"({"as_optional_tensor": {"as_none": true}})", Argument()},
      {R"({"as_complex": {"real": 1, "imag": -2.5}})", Argument(std::complex<double>(1, -2.5))},
      {R"({"as_int_lists": [[1, 2], []]})", Argument::List{Argument::List{1, 2}, Argument::List{}}},
      {R"({"as_float_lists": [[1], [0.5]]})",
       Argument::List{Argument::List{1.0}, Argument::List{0.5}}},
      {R"({"as_tensors": []})", Argument::List{}},
      {R"({"as_string_to_argument": {"k": {"as_int": 1}, "a": {"as_string_to_argument": {}}}})",
       Dict{{{"k", Argument(1)}, {"a", Argument(Dict{})}}}},
  };
  std::vector<std::string> inputs;
  for (const auto& [json, argument] : kinds) inputs.push_back(Input("", json));
  ASSERT_OK_AND_ASSIGN(
      const ExportedProgram program,
      ImportChanged(WithNodes(NodeJson("torch.ops.mine.everything.default", inputs, ""))));
  const Node& node = NodeAt(program, 0);
  ASSERT_EQ(node.arguments.size(), kinds.size());
  for (size_t i = 0; i < kinds.size(); ++i)
    EXPECT_EQ(node.arguments[i], kinds[i].second) << kinds[i].first;
}

TEST(GraphReaderTest, ReadsEveryKindOfReference) {
  const std::string nodes = absl::StrCat(
      NodeJson("torch.ops.aten.sym_size.int",
               {Input("self", TensorArg("x")), Input("dim", R"({"as_int": 0})")},
               R"({"as_sym_int": {"as_name": "n"}})"),
      ", ",
      NodeJson(
          "torch.ops.mine.op.default",
          {Input("a", R"({"as_tensors": [{"name": "x"}, {"name": "n"}]})"),
           Input("b",
                 R"({"as_optional_tensors": [{"as_none": true}, {"as_tensor": {"name": "x"}}]})"),
           Input("c", R"({"as_nested_tensors": [[{"name": "x"}], []]})"),
           Input("d", R"({"as_sym_ints": [{"as_int": -1}, {"as_name": "n"}]})"),
           Input("e", R"({"as_optional_tensor": {"as_tensor": {"name": "p_w"}}})")},
          "", "m"));
  ASSERT_OK_AND_ASSIGN(const ExportedProgram program,
                       ImportChanged(WithNodes(nodes, "", R"("n": {"as_int": 2})")));
  const Argument w = program.top().inputs()[0], x = program.top().inputs()[1];
  const Argument n = NodeAt(program, 0).outputs[0].values[0];
  EXPECT_THAT(
      NodeAt(program, 1).arguments,
      ElementsAre(Argument(Argument::List{x, n}), Argument(Argument::List{Argument(), x}),
                  Argument(Argument::List{Argument(Argument::List{x}), Argument(Argument::List{})}),
                  Argument(Argument::List{-1, n}), w));
  EXPECT_THAT(NodeAt(program, 1).argument_names, ElementsAre("a", "b", "c", "d", "e"));
}

TEST(GraphReaderTest, ArgumentErrorsReportNodeSourceAndPath) {
  const auto import = [](const std::string& arg) {
    return ImportChanged(WithNodes(NodeJson("torch.ops.mine.op.default", {Input("", arg)}, "")))
        .status();
  };
  EXPECT_THAT(
      import(R"({"as_int": "3"})"),
      Invalid(
          "node 'n' (torch.ops.mine.op.default, extra.py:9): models/model.json: "
          "graph_module.graph.nodes[0].inputs[0].arg.as_int: expected an integer, found a string"));
  EXPECT_THAT(import(TensorArg("nothing")),
              Invalid("the value 'nothing' is not defined before it is used"));
  EXPECT_THAT(import(TensorArg("relu")),
              Invalid("the value 'relu' is not defined before it is used"));
  EXPECT_THAT(import("{}"), Invalid("without a tag"));
  EXPECT_THAT(import(R"({"as_int": 3, "as_none": true})"), Invalid("more than one tag"));
  EXPECT_THAT(import(R"({"as_sym_int": {"as_bool": true}})"), Invalid("as_name or as_int"));
  EXPECT_THAT(import(R"({"as_memory_format": 17})"), Invalid("number 17"));
  EXPECT_THAT(import(R"({"as_operator": "rm -rf"})"), Invalid("not the name of an operator"));
  EXPECT_THAT(import(R"({"as_optional_tensors": [{"as_int": 3}]})"),
              Invalid("as_tensor or as_none"));
}

TEST(GraphReaderTest, CallsAreCheckedAgainstTheSchema) {
  const std::string relu =
      R"([{"name": "self", "arg": {"as_tensor": {"name": "add"}}, "kind": 1}])";
  EXPECT_THAT(
      ImportChanged({{relu, R"([{"name": "input", "arg": {"as_tensor": {"name": "add"}}}])"}}),
      Invalid("node 'relu' (torch.ops.aten.relu.default): models/model.json: "
              "graph_module.graph.nodes[1]: unknown "
              "argument 'input'; the operator has: self"));
  EXPECT_THAT(ImportChanged({{relu, "[]"}}), Invalid("'self' (Tensor) is missing"));
  EXPECT_THAT(
      ImportChanged({{relu + ",\n         \"outputs\": [{\"as_tensor\": {\"name\": \"relu\"}}]",
                      relu + ",\n         \"outputs\": [{\"as_tensor\": {\"name\": \"relu\"}}, "
                             "{\"as_none\": true}]"}}),
      Invalid("there are 2 outputs; the operator has 1"));
}

// There are two notations for the missing result.
TEST(GraphReaderTest, OperatorsWithoutResultsMayReturnNone) {
  const auto import = [](const std::string& outputs) {
    return ImportChanged(WithNodes(
        NodeJson("torch.ops.aten._assert_async.msg",
                 {Input("self", TensorArg("x")), Input("assert_msg", R"({"as_string": "no"})")},
                 outputs),
        Tensor("y")));
  };
  for (const char* nothing : {"", R"({"as_none": true})"}) {
    ASSERT_OK_AND_ASSIGN(const ExportedProgram program, import(nothing));
    EXPECT_TRUE(NodeAt(program, 0).outputs.empty()) << nothing;
  }
  EXPECT_THAT(import(TensorArg("y")), Invalid("there are 1 outputs; the operator has 0"));
  EXPECT_THAT(import(R"({"as_none": true}, {"as_none": true})"),
              Invalid("there are 2 outputs; the operator has 0"));
}

TEST(GraphReaderTest, ReportsPathOfMalformedNodes) {
  const std::pair<std::string, std::string> kNodes[] = {
      {"3", "graph.nodes[0]: expected an object, found an integer"},
      {R"({"inputs": [], "outputs": []})", "graph.nodes[0]: the field 'target' is missing"},
      {R"({"target": "a.b", "outputs": []})", "graph.nodes[0]: the field 'inputs' is missing"},
      {R"({"target": "a.b", "inputs": []})", "graph.nodes[0]: the field 'outputs' is missing"},
      {R"({"target": 3, "inputs": [], "outputs": []})", "nodes[0].target: expected a string"},
      {R"({"target": "a b", "inputs": [], "outputs": []})",
       "nodes[0].target: not the name of an operator"},
      {R"({"target": "a.b", "inputs": [], "outputs": [], "name": 3})",
       "nodes[0].name: expected a string"},
      {R"({"target": "a.b", "inputs": {}, "outputs": []})",
       "node '' (a.b): models/model.json: graph_module.graph.nodes[0].inputs: expected an array"},
      {R"({"target": "a.b", "inputs": [], "outputs": {}})",
       "node '' (a.b): models/model.json: graph_module.graph.nodes[0].outputs: expected an array"},
      {R"({"target": "a.b", "inputs": [3], "outputs": []})", "inputs[0]: expected an object"},
      {R"({"target": "a.b", "inputs": [{"name": "x"}], "outputs": []})",
       "inputs[0]: the field 'arg' is missing"},
      {R"({"target": "a.b", "inputs": [{"name": 3, "arg": {"as_int": 3}}], "outputs": []})",
       "inputs[0].name: expected a string"},
  };
  for (const auto& [node, message] : kNodes)
    EXPECT_THAT(ImportChanged(WithNodes(node)), Invalid(message)) << node;
}

TEST(GraphReaderTest, ReportsPathOfMalformedGraphs) {
  const auto import = [](const std::string& graph) {
    return ImportChanged(WithNodes(
        NodeJson("torch.ops.mine.op.default",
                 {Input("", R"({"as_graph": {"name": "g", "graph": )" + graph + "}}")}, "")));
  };
  // An empty graph with one field changed.
  const auto graph = [](const std::string& field, const std::string& value) {
    std::string text = "{";
    for (const auto& [name, usual] : Changes{{"inputs", "[]"},
                                             {"outputs", "[]"},
                                             {"nodes", "[]"},
                                             {"tensor_values", "{}"},
                                             {"sym_int_values", "{}"},
                                             {"sym_bool_values", "{}"}}) {
      absl::StrAppend(&text, text == "{" ? "" : ", ", "\"", name,
                      "\": ", name == field ? value : usual);
    }
    return text + "}";
  };
  EXPECT_OK(import(graph("", "")));
  const struct {
    std::string field;
    std::string value;
    std::string message;
  } kGraphs[] = {
      {"inputs", "{}", "graph.inputs: expected an array, found an object"},
      {"inputs", "[3]", "graph.inputs[0]: expected an object"},
      {"outputs", "3", "graph.outputs: expected an array, found an integer"},
      {"outputs", R"([{"as_tensor": {"name": "z"}}])", "the value 'z' is not defined"},
      {"nodes", "{}", "graph.nodes: expected an array, found an object"},
      {"tensor_values", "[]", "graph.tensor_values: expected an object, found an array"},
      {"sym_bool_values", R"({"b": {}, "b": {}})", "sym_bool_values.b: two entries have this name"},
  };
  for (const auto& [field, value, message] : kGraphs)
    EXPECT_THAT(import(graph(field, value)), Invalid(message)) << field << ' ' << value;
}

TEST(GraphReaderTest, SupportsListTupleAndNoneResults) {
  const std::string nodes = absl::StrCat(
      NodeJson("torch.ops.aten.split_with_sizes.default",
               {Input("self", TensorArg("x")), Input("split_sizes", R"({"as_ints": [1, 1]})")},
               R"({"as_tensors": [{"name": "a"}, {"name": "b"}]})", "split"),
      ", ",
      NodeJson(
          "torch.ops.aten.native_layer_norm.default",
          {Input("input", TensorArg("x")), Input("normalized_shape", R"({"as_ints": [3]})"),
           Input("weight", R"({"as_none": true})"), Input("bias", R"({"as_none": true})"),
           Input("eps", R"({"as_float": 1e-5})")},
          R"({"as_tensor": {"name": "c"}}, {"as_none": true}, {"as_tensor": {"name": "ln_unused_2"}})",
          "ln"),
      ", ",
      NodeJson("torch.ops.aten._assert_async.msg",
               {Input("self", TensorArg("x")), Input("assert_msg", R"({"as_string": "no"})")}, "",
               "check"));
  const std::string half = MetaJson({1, 3});
  ASSERT_OK_AND_ASSIGN(
      const ExportedProgram program,
      ImportChanged(WithNodes(
          nodes, absl::StrCat(Tensor("a", half), ", ", Tensor("b", half), ", ", Tensor("c"), ", ",
                              Tensor("ln_unused_2", MetaJson({2, 1}))))));
  EXPECT_EQ(NodeAt(program, 0).outputs[0].kind, NodeOutput::Kind::kList);
  EXPECT_EQ(NodeAt(program, 0).results().size(), 2u);
  EXPECT_EQ(NodeAt(program, 1).outputs[1].kind, NodeOutput::Kind::kNone);
  EXPECT_EQ(NodeAt(program, 1).name, "ln");
  EXPECT_TRUE(NodeAt(program, 2).outputs.empty());
}

TEST(GraphReaderTest, NamesNodesOfOldArchivesAfterResults) {
  ASSERT_OK_AND_ASSIGN(const ExportedProgram program,
                       ImportChanged({{"\"is_hop_single_tensor_return\": null, \"name\": \"relu\"",
                                       "\"is_hop_single_tensor_return\": null"}}));
  EXPECT_EQ(NodeAt(program, 1).name, "relu");
}

TEST(GraphReaderTest, NamesUnnamedNodesAfterResultOrOperator) {
  ASSERT_OK_AND_ASSIGN(
      const ExportedProgram program,
      ImportChanged(WithNodes(
          NodeJson("torch.ops.mine.op.default", {Input("", TensorArg("x"))}, TensorArg("y"), "") +
              ", " +
              NodeJson("torch.ops.mine.pair.default", {Input("", TensorArg("x"))},
                       TensorArg("a") + ", " + TensorArg("b"), ""),
          Tensor("y") + ", " + Tensor("a") + ", " + Tensor("b"))));
  EXPECT_EQ(NodeAt(program, 0).name, "y");
  EXPECT_EQ(NodeAt(program, 1).name, "pair");
}

TEST(GraphReaderTest, ResultsNeedNamesAndTypes) {
  const auto import = [](const std::string& output, const std::string& tensors) {
    return ImportChanged(WithNodes(NodeJson("torch.ops.mine.op.default", {}, output), tensors))
        .status();
  };
  EXPECT_THAT(import(TensorArg("y"), ""), Invalid("no entry for the value 'y'"));
  EXPECT_THAT(import(TensorArg(""), ""), Invalid("the name is empty"));
  EXPECT_THAT(import(TensorArg("x"), ""), Invalid("a value named 'x' already exists"));
  EXPECT_THAT(import(TensorArg("y") + ", " + TensorArg("y"), Tensor("y")),
              Invalid("a value named 'y' already exists"));
  EXPECT_THAT(import(R"({"as_sym_int": {"as_name": "y"}})", Tensor("y")),
              Invalid("no entry for the value 'y'"));
  EXPECT_THAT(import(TensorArg("y"), Tensor("y") + ", " + Tensor("y")),
              Invalid("two entries have this name"));
  EXPECT_THAT(import(TensorArg("y"), R"("y": {"dtype": 7})"), Invalid("'sizes' is missing"));
}

// --- Targets ---

TEST(GraphReaderTest, TargetsBecomeOperatorNames) {
  EXPECT_EQ(OperatorNameOfTarget("torch.ops.aten.add.Tensor"), "aten.add.Tensor");
  EXPECT_EQ(OperatorNameOfTarget("torch.ops.higher_order.cond"), "higher_order.cond");
  EXPECT_EQ(OperatorNameOfTarget("_operator.floordiv"), "_operator.floordiv");
  EXPECT_EQ(OperatorNameOfTarget("torch.sym_max"), "torch.sym_max");
  EXPECT_EQ(OperatorNameOfTarget("#mine:op"), "mine.op");
  EXPECT_EQ(OperatorNameOfTarget("executorch.exir.dialects.edge._ops.aten.add.Tensor"),
            "edge.aten.add.Tensor");
  EXPECT_EQ(OperatorNameOfTarget("executorch.exir.dialects.edge.ops.aten.add.Tensor"),
            "edge.aten.add.Tensor");
  EXPECT_EQ(OperatorNameOfTarget("executorch.exir.dialects.backend._ops.mine.op.default"),
            "backend.mine.op.default");
  EXPECT_EQ(OperatorNameOfTarget("executorch.exir.dialects.backend.ops.mine.op.default"),
            "backend.mine.op.default");
  for (const char* bad : {"", "torch.ops.", "a b", "a..b", ".a", "a.", "3.a", "a\"b", "a(b)",
                          "a[b]", "a`b", "a{b", "a.3b", "a/b"}) {
    EXPECT_EQ(OperatorNameOfTarget(bad), "") << bad;
  }
  const std::string long_name = "a" + std::string(1023, 'b');
  EXPECT_EQ(OperatorNameOfTarget(long_name), long_name);
  EXPECT_EQ(OperatorNameOfTarget(long_name + "b"), "");
}

TEST(GraphReaderTest, EdgeOperatorsWrapAtenOperators) {
  const std::string edge = "executorch.exir.dialects.edge._ops.";
  ASSERT_OK_AND_ASSIGN(
      const ExportedProgram program,
      ImportChanged({{"torch.ops.aten.add.Tensor", edge + "aten.add.Tensor"},
                     {"torch.ops.aten.relu.default", edge + "mine.unknown.default"},
                     {"\"verifiers\": [\"ATEN\"]", "\"verifiers\": [\"EDGE\"]"}}));
  EXPECT_EQ(program.dialect, IrDialect::kEdge);
  const OpOverload* add = NodeAt(program, 0).target;
  EXPECT_EQ(add->dialect(), Dialect::kEdge);
  EXPECT_EQ(add->aten(), TestOps().Find("aten.add.Tensor"));
  // Uses the schema of the wrapped operator: alpha was added.
  EXPECT_EQ(NodeAt(program, 0).arguments.size(), 3u);
  EXPECT_EQ(NodeAt(program, 1).target->text_name(), "edge.mine.unknown.default");
  EXPECT_FALSE(NodeAt(program, 1).target->known());
}

// Reads the program of the changed JSON without verification.
absl::StatusOr<ExportedProgram> ReadUnverified(const Changes& changes, const OpRegistry& ops) {
  const std::string text = ProgramJson(changes);
  ABSL_ASSIGN_OR_RETURN(
      const JsonDocument document,
      JsonDocument::Parse(
          absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size()),
          "models/model.json", {}));
  ABSL_ASSIGN_OR_RETURN(const ModelHeader header, ReadModelHeader(document.root(), ""));
  UnsupportedReport unsupported;
  const ImportOptions options;
  return ReadProgram(document.root(), header, ops, options, &unsupported);
}

TEST(GraphReaderTest, FindsBackendOperatorsInRegistry) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<OpRegistry> ops, OpRegistry::Create({}));
  ops->AllowBackendNamespace("mine");
  ASSERT_OK(ops->Define({.schema = "mine::relu(Tensor self) -> Tensor",
                         .meta = [](MetaContext&) { return absl::OkStatus(); }})
                .status());
  const std::string backend = "executorch.exir.dialects.backend.";
  ASSERT_OK_AND_ASSIGN(
      const ExportedProgram program,
      ReadUnverified({{"torch.ops.aten.add.Tensor", backend + "ops.mine.add.default"},
                      {"torch.ops.aten.relu.default", backend + "_ops.mine.relu.default"}},
                     *ops));
  // Unknown operators are opaque.
  EXPECT_FALSE(NodeAt(program, 0).target->known());
  EXPECT_EQ(NodeAt(program, 0).target->name(), "mine.add.default");
  EXPECT_EQ(NodeAt(program, 1).target->dialect(), Dialect::kBackend);
  EXPECT_EQ(NodeAt(program, 1).target->text_name(), "backend.mine.relu.default");
}

TEST(GraphReaderTest, UnknownOperatorsBecomeOpaque) {
  ASSERT_OK_AND_ASSIGN(const ExportedProgram program,
                       ImportChanged(WithNodes(NodeJson("torch.ops.zoo.swish.default",
                                                        {Input("x", TensorArg("x")),
                                                         Input("scale", R"({"as_float": 1})", 2)},
                                                        TensorArg("y")),
                                               Tensor("y"))));
  const Node& node = NodeAt(program, 0);
  EXPECT_FALSE(node.target->known());
  EXPECT_EQ(node.target->name(), "zoo.swish.default");
  EXPECT_THAT(node.argument_names, ElementsAre("x", "scale"));
}

TEST(GraphReaderTest, RejectsInvalidTargetNames) {
  EXPECT_THAT(ImportChanged({{"torch.ops.aten.relu.default", "torch.ops.aten.relu default"}}),
              Invalid("nodes[1].target: not the name"));
}

// --- Subgraphs ---

std::string Body(const std::string& inner_nodes = "", const std::string& result = "y") {
  return absl::StrCat(
      R"({"inputs": [{"as_tensor": {"name": "y"}}], "outputs": [{"as_tensor": {"name": ")", result,
      R"("}}], "nodes": [)", inner_nodes, R"(], "tensor_values": {"y": )", MetaJson({2, 3}),
      R"(, "z": )", MetaJson({2, 3}),
      R"(}, "sym_int_values": {}, "sym_bool_values": {}, "is_single_tensor_return": true})");
}
std::string Cond(const std::string& operand, const std::string& body, const std::string& result) {
  return NodeJson("torch.ops.higher_order.cond",
                  {Input("", R"({"as_bool": true})"),
                   Input("", R"({"as_graph": {"name": "true_graph_0", "graph": )" + body + "}}"),
                   Input("", R"({"as_graph": {"name": "false_graph_0", "graph": )" + Body() + "}}"),
                   Input("", R"({"as_tensors": [{"name": ")" + operand + "\"}]}")},
                  TensorArg(result), "cond");
}

TEST(GraphReaderTest, SubgraphsHaveLocalNames) {
  const std::string inner = Cond("y", Body(), "z");
  ASSERT_OK_AND_ASSIGN(const ExportedProgram program,
                       ImportChanged(WithNodes(Cond("x", Body(inner, "z"), "y"), Tensor("y"))));
  ASSERT_EQ(program.graphs.size(), 5u);
  EXPECT_EQ(program.graphs[GraphId(1)].name(), "true_graph_0");
  EXPECT_EQ(program.graphs[GraphId(1)].num_nodes(), 1u);
  EXPECT_EQ(program.graphs[GraphId(4)].name(), "false_graph_0");
  const Node& node = NodeAt(program, 0);
  EXPECT_EQ(node.arguments[1], Argument(GraphId(1)));
  EXPECT_EQ(node.arguments[2], Argument(GraphId(4)));
}

TEST(GraphReaderTest, SubgraphsCannotUseOuterValues) {
  const std::string use = NodeJson("torch.ops.aten.relu.default", {Input("self", TensorArg("x"))},
                                   TensorArg("z"), "inner");
  EXPECT_THAT(ImportChanged(WithNodes(Cond("x", Body(use, "z"), "y"), Tensor("y"))),
              AllOf(Invalid("the value 'x' is not defined"), Invalid("node 'cond'"),
                    Invalid("node 'inner'")));
}

TEST(GraphReaderTest, NestingIsLimited) {
  std::string body = Body();
  for (int i = 1; i < ImportOptions().max_nesting; ++i) body = Body(Cond("y", body, "z"), "z");
  ImportOptions options;
  EXPECT_OK(ImportChanged(WithNodes(Cond("x", body, "y"), Tensor("y")), options));
  options.max_nesting = 10;
  EXPECT_THAT(ImportChanged(WithNodes(Cond("x", body, "y"), Tensor("y")), options),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("max_nesting")));
  options = {};
  options.max_nodes = 10;
  EXPECT_THAT(ImportChanged(WithNodes(Cond("x", body, "y"), Tensor("y")), options),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("max_nodes = 10")));
}

// The JSON depth limit permits slightly deeper nesting than the graph limit.
TEST(GraphReaderTest, RejectsSubgraphsBeyondNestingLimit) {
  std::string body = Body();
  ImportOptions options;
  options.max_nesting = 3;
  for (int i = 0; i < 2; ++i) body = Body(Cond("y", body, "z"), "z");
  EXPECT_OK(ImportChanged(WithNodes(Cond("x", body, "y"), Tensor("y")), options));
  body = Body(Cond("y", body, "z"), "z");
  EXPECT_THAT(ImportChanged(WithNodes(Cond("x", body, "y"), Tensor("y")), options),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("as_graph: nested deeper than max_nesting = 3")));
}

TEST(GraphReaderTest, ReadingObeysThreadBudget) {
  const std::atomic<bool> cancel = true;
  Budget budget;
  budget.cancel = &cancel;
  const Budget::Scope scope(&budget);
  EXPECT_THAT(ImportChanged({}), StatusIs(absl::StatusCode::kCancelled));
}

TEST(GraphReaderTest, DictionariesAreLimited) {
  std::string dict = R"({"as_int": 1})";
  for (int i = 0; i < 30; ++i) dict = R"({"as_string_to_argument": {"k": )" + dict + "}}";
  ImportOptions options;
  options.max_nesting = 20;
  EXPECT_THAT(ImportChanged(WithNodes(NodeJson("torch.ops.mine.op.default", {Input("", dict)}, "")),
                            options),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("max_nesting = 20")));
}

// --- Unsupported content ---

TEST(GraphReaderTest, ReportsEverythingUnsupportedAtOnce) {
  const std::string nodes = absl::StrCat(
      NodeJson("torch.ops.higher_order.triton_kernel_wrapper_functional", {}, "", "kernel"), ", ",
      NodeJson("torch.ops.mine.op.default",
               {Input("", R"({"as_custom_obj": {"name": "obj", "class_fqn": "my.Class"}})")}, "",
               "object"),
      ", ",
      NodeJson("torch.ops.mine.op.default", {Input("", R"({"as_teapot": 418})")}, "", "teapot"),
      ", ",
      NodeJson("torch.ops.mine.op.default", {Input("", R"({"as_scalar_type": 99})")},
               TensorArg("y"), "dtype"));
  const absl::Status status =
      ImportChanged(WithNodes(nodes, Tensor("y", R"({"dtype": 99, "sizes": [], "strides": []})")))
          .status();
  EXPECT_THAT(status, Unsupported("5 unsupported features"));
  EXPECT_THAT(status,
              Unsupported("node 'kernel' (torch.ops.higher_order.triton_kernel_wrapper_functional, "
                          "extra.py:9): calls a Triton kernel"));
  EXPECT_THAT(
      status,
      Unsupported(
          "node 'object' (torch.ops.mine.op.default, extra.py:9): uses 'obj', a custom object"));
  EXPECT_THAT(status, Unsupported("node 'teapot' (torch.ops.mine.op.default, extra.py:9): an "
                                  "argument has the unknown kind 'as_teapot'"));
  EXPECT_THAT(status, Unsupported("node 'dtype' (torch.ops.mine.op.default, extra.py:9): an "
                                  "argument is the dtype number 99"));
  EXPECT_THAT(status, Unsupported("'y' is a tensor of dtype number 99"));
  const std::vector<RefusedNode> refused = RefusedNodesOf(status);
  ASSERT_EQ(refused.size(), 5);
  EXPECT_EQ(refused[2], (RefusedNode{"", "teapot", "mine.op.default", "extra.py:9",
                                     "an argument has the unknown kind 'as_teapot'"}));
}

TEST(GraphReaderTest, ReportsTruncateLongNames) {
  // Untruncated, each use would be a line of megabytes.
  const std::string name(5 << 20, 'c');
  const std::string object =
      absl::StrCat("{\"name\": \"obj_a\", \"class_fqn\": \"my.", name, "\"}");
  std::string uses;
  for (int i = 0; i < 100'000; ++i)
    absl::StrAppend(&uses, i == 0 ? "" : ", ", R"({"name": "obj_a"})");
  const absl::Status status =
      ImportChanged(
          {
              {R"({"as_tensor": {"name": "x"}}],)",
               absl::StrCat(R"({"as_tensor": {"name": "x"}}, {"as_custom_obj": )",
                            R"({"name": "obj_a", "class_fqn": "my.Class"}}],)")},
              {R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}}])",
               absl::StrCat(R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}}, )",
                            R"({"custom_obj": {"arg": {"name": "obj_a", )",
                            R"("class_fqn": "my.Class"}, "custom_obj_name": "a"}}])")},
              {"\"custom_obj_values\": {",
               absl::StrCat("\"custom_obj_values\": {\"obj_a\": ", object)},
              {"\"nodes\": [",
               absl::StrCat("\"nodes\": [",
                            NodeJson("torch.ops.mine.op.default",
                                     {Input("", "{\"as_tensors\": [" + uses + "]}")}, "", name),
                            ", ")},
          })
          .status();
  EXPECT_THAT(status, Unsupported("the program uses 100000 unsupported features"));
  EXPECT_THAT(status, Unsupported(": uses 'obj_a', a custom object of class my.cccc"));
  EXPECT_THAT(status, Unsupported("ccc…"));
  EXPECT_LT(status.message().size(), 20'000u) << "messages of the importer are shortened";
}

TEST(GraphReaderTest, DetectsDuplicateResultsBeforeCreatingTypes) {
  // Each type would hold the class name.
  std::string results;
  for (int i = 0; i < 100'000; ++i)
    absl::StrAppend(&results, i == 0 ? "" : ", ", R"({"as_custom_obj": {"name": "y"}})");
  Changes changes = WithNodes(NodeJson("torch.ops.mine.op.default", {}, results));
  changes.push_back({"\"custom_obj_values\": {",
                     absl::StrCat("\"custom_obj_values\": {\"y\": {\"name\": \"y\", ",
                                  "\"class_fqn\": \"", std::string(10 << 20, 'c'), "\"}")});
  EXPECT_THAT(ImportChanged(changes), Unsupported("1 unsupported feature"));
}

TEST(GraphReaderTest, SparseTensorsFailOnlyIfUsed) {
  const std::string sparse =
      R"({"dtype": 7, "sizes": [{"as_int": 2}, {"as_int": 3}], "strides": [{"as_int": 3}, {"as_int": 1}], "layout": 1})";
  EXPECT_THAT(ImportChanged({{"\"x\": " + MetaJson({2, 3}), "\"x\": " + sparse}}),
              Unsupported("node 'add' (torch.ops.aten.add.Tensor, model.py:12): uses 'x', a tensor "
                          "of layout sparse_coo"));
  const Changes unused = {
      {R"({"as_tensor": {"name": "x"}}],)",
       R"({"as_tensor": {"name": "x"}}, {"as_tensor": {"name": "s"}}],)"},
      {R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}}])",
       R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}}, {"user_input": {"arg": {"as_tensor": {"name": "s"}}}}])"},
      {"\"tensor_values\": {", "\"tensor_values\": {\"s\": " + sparse + ", "}};
  EXPECT_OK(ImportChanged(unused));
}

TEST(GraphReaderTest, CustomObjectsFailOnlyIfUsed) {
  Changes changes = {
      {R"({"as_tensor": {"name": "x"}}],)",
       R"({"as_tensor": {"name": "x"}}, {"as_custom_obj": {"name": "obj_a", "class_fqn": "my.Class"}}],)"},
      {R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}}])",
       R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}},
                         {"custom_obj": {"arg": {"name": "obj_a", "class_fqn": "my.Class"}, "custom_obj_name": "a"}}])"},
      {"\"custom_obj_values\": {",
       R"("custom_obj_values": {"obj_a": {"name": "obj_a", "class_fqn": "my.Class"})"}};
  EXPECT_OK(ImportChanged(changes));
  changes.push_back(
      {"\"nodes\": [",
       "\"nodes\": [" +
           NodeJson("torch.ops.mine.op.default",
                    {Input("", R"({"as_custom_obj": {"name": "obj_a", "class_fqn": "my.Class"}})")},
                    "") +
           ", "});
  EXPECT_THAT(ImportChanged(changes),
              Unsupported("uses 'obj_a', a custom object of class my.Class"));
}

}  // namespace
}  // namespace belay::exir
