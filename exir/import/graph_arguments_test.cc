// Malformed arguments and results, and results of every kind.
#include <string>
#include <utility>
#include <vector>

#include "exir/import/testing/archive.h"
#include "exir/import/testing/node_json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

auto Invalid(const std::string& text) {
  return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text));
}
auto Unsupported(const std::string& text) {
  return StatusIs(absl::StatusCode::kUnimplemented, HasSubstr(text));
}

constexpr const char* kOp = "torch.ops.mine.op.default";

TEST(GraphArgumentsTest, ReportsPathOfMalformedArguments) {
  // Paths start after "graph_module.graph.nodes[0].inputs[0].arg".
  const std::pair<std::string, std::string> kArguments[] = {
      {"3", ": expected an object, found an integer"},
      {R"({"as_none": true, "as_int": 3})", ": a union with more than one tag"},
      {R"({"as_tensor": "x"})", ".as_tensor: expected an object, found a string"},
      {R"({"as_tensor": {}})", ".as_tensor: the field 'name' is missing"},
      {R"({"as_tensor": {"name": 3}})", ".as_tensor.name: expected a string"},
      {R"({"as_tensors": {"name": "x"}})", ".as_tensors: expected an array, found an object"},
      {R"({"as_tensors": [{"name": "x"}, 3]})", ".as_tensors[1]: expected an object"},
      {R"({"as_int": true})", ".as_int: expected an integer, found a boolean"},
      {R"({"as_int": 0.5})",
       ".as_int: expected an integer, found a number with a fraction or exponent"},
      {R"({"as_int": 9223372036854775808})", "found an integer beyond int64"},
      {R"({"as_ints": 3})", ".as_ints: expected an array"},
      {R"({"as_ints": [1, null]})", ".as_ints[1]: expected an integer, found null"},
      {R"({"as_float": "1"})", ".as_float: expected a number"},
      {R"({"as_floats": [[]]})", ".as_floats[0]: expected a number"},
      {R"({"as_bool": 1})", ".as_bool: expected a boolean"},
      {R"({"as_bools": [1]})", ".as_bools[0]: expected a boolean"},
      {R"({"as_string": 1})", ".as_string: expected a string"},
      {R"({"as_strings": ["a", 1]})", ".as_strings[1]: expected a string"},
      {R"({"as_sym_int": "n"})", ".as_sym_int: expected an object"},
      {R"({"as_sym_int": {"as_name": 3}})", ".as_sym_int.as_name: expected a string"},
      {R"({"as_sym_int": {"as_name": "n"}})", ".as_sym_int.as_name: the value 'n' is not defined"},
      {R"({"as_sym_int": {"as_int": "3"}})", ".as_sym_int.as_int: expected an integer"},
      {R"({"as_sym_ints": [{"as_int": 1}, 2]})", ".as_sym_ints[1]: expected an object"},
      {R"({"as_sym_float": {"as_int": 3}})", ": expected as_name or as_float, found 'as_int'"},
      {R"({"as_sym_float": {"as_float": true}})", ".as_sym_float.as_float: expected a number"},
      {R"({"as_sym_bool": {"as_bool": 3}})", ".as_sym_bool.as_bool: expected a boolean"},
      {R"({"as_optional_tensor": 3})", ".as_optional_tensor: expected an object"},
      {R"({"as_optional_tensor": {"as_int": 3}})", ": expected as_tensor or as_none"},
      {R"({"as_optional_tensors": [3]})", ".as_optional_tensors[0]: expected an object"},
      {R"({"as_nested_tensors": [[3]]})", ".as_nested_tensors[0][0]: expected an object"},
      {R"({"as_nested_tensors": [3]})", ".as_nested_tensors[0]: expected an array"},
      {R"({"as_int_lists": [[1], 3]})", ".as_int_lists[1]: expected an array"},
      {R"({"as_float_lists": [[1], ["1"]]})", ".as_float_lists[1][0]: expected a number"},
      {R"({"as_device": "cpu"})", ".as_device: expected an object"},
      {R"({"as_layout": "strided"})", ".as_layout: expected an integer"},
      {R"({"as_layout": 8})", ".as_layout: unknown layout number 8"},
      {R"({"as_memory_format": "preserve"})", ".as_memory_format: expected an integer"},
      {R"({"as_scalar_type": "float"})", ".as_scalar_type: expected an integer"},
      {R"({"as_complex": 3})", ".as_complex: expected an object"},
      {R"({"as_complex": {"real": 3}})", ".as_complex: the field 'imag' is missing"},
      {R"({"as_complex": {"real": "1", "imag": 0}})", ".as_complex.real: expected a number"},
      {R"({"as_complex": {"real": 1, "imag": "0"}})", ".as_complex.imag: expected a number"},
      {R"({"as_operator": 3})", ".as_operator: expected a string"},
      {R"({"as_custom_obj": "obj"})", ".as_custom_obj: expected an object"},
      {R"({"as_string_to_argument": []})", ".as_string_to_argument: expected an object"},
      {R"({"as_string_to_argument": {"k": 3}})", ".as_string_to_argument.k: expected an object"},
      {R"({"as_graph": 3})", ".as_graph: expected an object"},
      {R"({"as_graph": {"name": "g"}})", ".as_graph: the field 'graph' is missing"},
      {R"({"as_graph": {"name": 3, "graph": {}}})", ".as_graph.name: expected a string"},
      {R"({"as_graph": {"name": "g", "graph": 3}})", ".as_graph.graph: expected an object"},
  };
  for (const auto& [argument, message] : kArguments) {
    EXPECT_THAT(ImportChanged(WithNodes(NodeJson(kOp, {Input("", argument)}, ""))),
                AllOf(Invalid("node 'n' (torch.ops.mine.op.default, extra.py:9)"),
                      Invalid("graph_module.graph.nodes[0].inputs[0].arg"), Invalid(message)))
        << argument;
  }
}

TEST(GraphArgumentsTest, ReportsPathOfMalformedResults) {
  // Paths start after "graph_module.graph.nodes[0].outputs[0]".
  const std::pair<std::string, std::string> kResults[] = {
      {"3", ": expected an object, found an integer"},
      {R"({"as_tensor": "y"})", ".as_tensor: expected an object"},
      {R"({"as_tensor": {}})", ".as_tensor: the field 'name' is missing"},
      {R"({"as_tensors": 3})", ".as_tensors: expected an array"},
      {R"({"as_tensors": [3]})", ".as_tensors[0]: expected an object"},
      {R"({"as_sym_int": 3})", ".as_sym_int: expected an object"},
      // Results need names; numbers are not allowed.
      {R"({"as_sym_int": {"as_int": 3}})", ": expected as_name, found 'as_int'"},
      {R"({"as_sym_int": {"as_name": 3}})", ".as_sym_int.as_name: expected a string"},
      {R"({"as_sym_ints": [{"as_name": "n"}, {"as_int": 3}]})", ": expected as_name, found"},
      {R"({"as_optional_tensor": 3})", ".as_optional_tensor: expected an object"},
      {R"({"as_optional_tensor": {"as_int": 3}})", ": expected as_tensor or as_none"},
      {R"({"as_optional_tensor": {"as_tensor": {}}})", "the field 'name' is missing"},
      {R"({"as_custom_obj": {}})", ".as_custom_obj: the field 'name' is missing"},
  };
  for (const auto& [result, message] : kResults) {
    EXPECT_THAT(ImportChanged(WithNodes(NodeJson(kOp, {}, result), "", R"("n": {"as_int": 2})")),
                AllOf(Invalid("node 'n' (torch.ops.mine.op.default, extra.py:9)"),
                      Invalid("graph_module.graph.nodes[0].outputs[0]"), Invalid(message)))
        << result;
  }
}

TEST(GraphArgumentsTest, ReadsEveryKindOfResult) {
  Changes changes =
      WithNodes(NodeJson(kOp, {},
                         R"({"as_sym_int": {"as_name": "i"}},
                  {"as_sym_ints": [{"as_name": "j"}, {"as_name": "k"}]},
                  {"as_sym_float": {"as_name": "f"}}, {"as_sym_floats": [{"as_name": "g"}]},
                  {"as_sym_bool": {"as_name": "b"}}, {"as_sym_bools": [{"as_name": "c"}]},
                  {"as_optional_tensor": {"as_tensor": {"name": "t"}}},
                  {"as_optional_tensor": {"as_none": true}}, {"as_none": true},
                  {"as_tensors": []})"),
                Tensor("t"), R"("i": {"as_int": 2}, "j": {"as_int": 3}, "k": {"as_int": 4})");
  changes.push_back({R"("sym_float_values": {})",
                     R"("sym_float_values": {"f": {"as_float": 0.5}, "g": {"as_float": 1.5}})"});
  changes.push_back({R"("sym_bool_values": {})",
                     R"("sym_bool_values": {"b": {"as_bool": true}, "c": {"as_bool": false}})"});
  ASSERT_OK_AND_ASSIGN(const ExportedProgram program, ImportChanged(changes));
  const Graph& graph = program.top();
  const Node& node = graph.node(graph.NodeList()[0]);
  using Kind = NodeOutput::Kind;
  const struct {
    Kind kind;
    std::vector<std::pair<std::string, ValueType>> values;
  } kExpected[] = {
      {Kind::kValue, {{"i", SymIntType{SymExpr(2)}}}},
      {Kind::kList, {{"j", SymIntType{SymExpr(3)}}, {"k", SymIntType{SymExpr(4)}}}},
      {Kind::kValue, {{"f", SymFloatType{SymExpr::Float(0.5)}}}},
      {Kind::kList, {{"g", SymFloatType{SymExpr::Float(1.5)}}}},
      {Kind::kValue, {{"b", SymBoolType{SymExpr::Bool(true)}}}},
      {Kind::kList, {{"c", SymBoolType{SymExpr::Bool(false)}}}},
      {Kind::kValue, {{"t", TensorMeta::Contiguous(DType::kFloat32, {2, 3})}}},
      {Kind::kNone, {}},
      {Kind::kNone, {}},
      {Kind::kList, {}},
  };
  ASSERT_EQ(node.outputs.size(), std::size(kExpected));
  for (size_t i = 0; i < std::size(kExpected); ++i) {
    EXPECT_EQ(node.outputs[i].kind, kExpected[i].kind) << i;
    ASSERT_EQ(node.outputs[i].values.size(), kExpected[i].values.size()) << i;
    for (size_t k = 0; k < kExpected[i].values.size(); ++k) {
      const Value& value = graph.value(node.outputs[i].values[k]);
      EXPECT_EQ(value.name, kExpected[i].values[k].first);
      EXPECT_TRUE(value.type == kExpected[i].values[k].second) << value.name;
    }
  }
}

TEST(GraphArgumentsTest, ResultsOfUnknownKindsAreUnsupported) {
  EXPECT_THAT(ImportChanged(WithNodes(NodeJson(kOp, {}, R"({"as_teapot": 418})"))),
              Unsupported("node 'n' (torch.ops.mine.op.default, extra.py:9): a result has the kind "
                          "'as_teapot'"));
}

// Such results are representable, but not usable.
TEST(GraphArgumentsTest, SparseResultsFailOnlyIfUsed) {
  const std::string sparse = Tensor(
      "s", R"({"dtype": 7, "sizes": [{"as_int": 2}], "strides": [{"as_int": 1}], "layout": 3})");
  const std::string make = NodeJson(kOp, {}, TensorArg("s"), "make");
  EXPECT_OK(ImportChanged(WithNodes(make, sparse)));
  EXPECT_THAT(
      ImportChanged(WithNodes(
          make + ", " +
              NodeJson("torch.ops.mine.use.default", {Input("", TensorArg("s"))}, "", "use"),
          sparse)),
      Unsupported("node 'use' (torch.ops.mine.use.default, extra.py:9): uses 's', a tensor of "
                  "layout sparse_csc"));
}

TEST(GraphArgumentsTest, ReportsMalformedTableEntries) {
  const struct {
    std::string table;
    std::string entry;
    std::string result;
    std::string message;
  } kEntries[] = {
      {"sym_int_values", "3", R"({"as_sym_int": {"as_name": "v"}})", ".v: expected an object"},
      {"sym_int_values", R"({"as_bool": true})", R"({"as_sym_int": {"as_name": "v"}})",
       "expected as_int or as_expr, found 'as_bool'"},
      {"sym_float_values", R"({"as_int": 1})", R"({"as_sym_float": {"as_name": "v"}})",
       "expected as_float or as_expr, found 'as_int'"},
      {"sym_bool_values", R"({"as_int": 1})", R"({"as_sym_bool": {"as_name": "v"}})",
       "expected as_bool or as_expr, found 'as_int'"},
      {"custom_obj_values", "3", R"({"as_custom_obj": {"name": "v"}})", ".v: expected an object"},
      {"custom_obj_values", R"({"class_fqn": 3})", R"({"as_custom_obj": {"name": "v"}})",
       ".v.class_fqn: expected a string"},
  };
  for (const auto& [table, entry, result, message] : kEntries) {
    Changes changes = WithNodes(NodeJson(kOp, {}, result));
    changes.push_back({absl::StrCat("\"", table, "\": {}"),
                       absl::StrCat("\"", table, "\": {\"v\": ", entry, "}")});
    EXPECT_THAT(ImportChanged(changes), Invalid(message)) << table << ' ' << entry;
  }
}

}  // namespace
}  // namespace belay::exir
