#include "exir/import/program_reader.h"

#include <string>
#include <utility>
#include <vector>

#include "exir/import/testing/archive.h"
#include "exir/import/testing/node_json.h"
#include "exir/import/testing/zip_writer.h"
#include "exir/ir/text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
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

TEST(ProgramReaderTest, ReadsAProgram) {
  ASSERT_OK_AND_ASSIGN(const ExportedProgram program, ImportChanged({}));
  EXPECT_EQ(program.dialect, IrDialect::kAten);
  EXPECT_EQ(program.in_spec, "in");
  EXPECT_EQ(program.out_spec, "out");
  ASSERT_EQ(program.signature.inputs.size(), 2u);
  EXPECT_EQ(program.signature.inputs[0].kind, InputKind::kParameter);
  EXPECT_EQ(program.signature.inputs[0].target, "w");
  ASSERT_TRUE(program.state_dict.contains("w"));
  EXPECT_EQ(program.state_dict.at("w").view().as<float>()[5], 6.0f);
  const Node& add = NodeAt(program, 0);
  EXPECT_EQ(add.target->name(), "aten.add.Tensor");
  ASSERT_EQ(add.arguments.size(), 3u);
  EXPECT_EQ(add.arguments[2], Argument(1));
  EXPECT_EQ(add.provenance.ToString(), "model.py:12");
  EXPECT_EQ(*add.provenance.module, "act");
  EXPECT_EQ(NodeAt(program, 1).provenance.ToString(), "");
}

TEST(ProgramReaderTest, ChecksVersions) {
  const auto version = [](const std::string& text) {
    return ImportChanged(
        {{"\"schema_version\": {\"major\": 8, \"minor\": 20}", "\"schema_version\": " + text}});
  };
  EXPECT_OK(version("{\"major\": 8, \"minor\": 99}"));
  EXPECT_OK(version("{\"major\": 7, \"minor\": 3}"));
  EXPECT_OK(version("{\"major\": 0, \"minor\": 0}"));
  EXPECT_THAT(version("{\"major\": 9, \"minor\": 1}"),
              Unsupported("schema version 9.1; supported are 7.x to 8.x"));
  EXPECT_THAT(version("{\"major\": 5, \"minor\": 4}"), Unsupported("schema version 5.4"));
  EXPECT_THAT(version("{\"major\": 0, \"minor\": 1}"), Unsupported("schema version 0.1"));
  EXPECT_THAT(version("null"), Invalid("'schema_version' is missing"));
  EXPECT_THAT(version("{\"major\": \"8\", \"minor\": 1}"),
              Invalid("schema_version.major: expected an integer, found a string"));
}

absl::StatusOr<ModelHeader> Header(const std::string& text, std::string_view flat_version = "") {
  ABSL_ASSIGN_OR_RETURN(const JsonDocument document,
                        JsonDocument::Parse(ToStorage(text).bytes, "model.json", {}));
  return ReadModelHeader(document.root(), flat_version);
}

TEST(ProgramReaderTest, ModelsInheritArchiveVersion) {
  ASSERT_OK_AND_ASSIGN(const ModelHeader flat, Header("{}", "8.13"));
  EXPECT_EQ(flat.schema, (SchemaVersion{8, 13}));
  ASSERT_OK_AND_ASSIGN(const ModelHeader own,
                       Header(R"({"schema_version": {"major": 7, "minor": 1}})", "8.13"));
  EXPECT_EQ(own.schema, (SchemaVersion{7, 1}));
  for (const char* version : {"8", "eight.1", "8.x", "8.", ".8", "8.1.2"}) {
    EXPECT_THAT(Header("{}", version),
                Invalid(absl::StrCat("version: '", version, "' is not of the form major.minor")));
  }
}

TEST(ProgramReaderTest, ReadsModelHeader) {
  const std::string version = R"("schema_version": {"major": 8, "minor": 2})";
  ASSERT_OK_AND_ASSIGN(
      const ModelHeader all,
      Header("{" + version + R"(, "torch_version": "2.9", "verifiers": ["ATEN", "EDGE"],
                                 "opset_version": {"aten": 10, "mine": 2}})"));
  EXPECT_EQ(all.torch_version, "2.9");
  EXPECT_THAT(all.verifiers, ElementsAre("ATEN", "EDGE"));
  EXPECT_THAT(all.opset, ElementsAre(::testing::Pair("aten", 10), ::testing::Pair("mine", 2)));
  ASSERT_OK_AND_ASSIGN(const ModelHeader bare, Header("{" + version + "}"));
  EXPECT_EQ(bare.torch_version, "");
  EXPECT_TRUE(bare.verifiers.empty());
  EXPECT_TRUE(bare.opset.empty());

  const std::pair<std::string, std::string> kMalformed[] = {
      {"[]", "model.json: expected an object, found an array"},
      {R"({"schema_version": 8})", "schema_version: expected an object"},
      {R"({"schema_version": {"major": 8}})", "schema_version: the field 'minor' is missing"},
      {R"({"schema_version": {"major": 8, "minor": 2.5}})", "schema_version.minor: expected an"},
      {"{" + version + R"(, "torch_version": 2.9})", "torch_version: expected a string"},
      {"{" + version + R"(, "verifiers": "ATEN"})", "verifiers: expected an array"},
      {"{" + version + R"(, "verifiers": [1]})", "verifiers[0]: expected a string"},
      {"{" + version + R"(, "opset_version": []})", "opset_version: expected an object"},
      {"{" + version + R"(, "opset_version": {"aten": "10"}})", "opset_version.aten: expected an"},
  };
  for (const auto& [text, message] : kMalformed)
    EXPECT_THAT(Header(text), Invalid(message)) << text;
}

TEST(ProgramReaderTest, JsonDepthLimitFollowsGraphNesting) {
  ImportOptions options;
  options.max_nesting = 1;
  const size_t one = LimitsOfModel(options).max_depth;
  options.max_nesting = 0;
  const size_t none = LimitsOfModel(options).max_depth;
  EXPECT_EQ(one, none + 8) << "a graph, its nodes, a node, its inputs, an input, its argument, "
                              "the body, that body's graph";
  options.max_nesting = -5;
  EXPECT_EQ(LimitsOfModel(options).max_depth, none);
}

TEST(ProgramReaderTest, ReportsPathOfMalformedModels) {
  const std::string call =
      R"({"fqn": "", "signature": {"inputs": [], "outputs": [], "in_spec": "in", )"
      R"("out_spec": "out", "forward_arg_names": ["x"]}})";
  const struct {
    std::string from;
    std::string to;
    std::string message;
  } kChanges[] = {
      {"\"graph_module\": {", "\"module\": {", "json: the field 'graph_module' is missing"},
      {"\"graph\": {", "\"graf\": {", "graph_module: the field 'graph' is missing"},
      {"\"signature\": {\n", "\"signatur\": {\n", "graph_module: the field 'signature' is missing"},
      {"\"output_specs\"", "\"output_spec\"", "signature: the field 'output_specs' is missing"},
      {"\"guards_code\": []", "\"guards_code\": {}", "guards_code: expected an array"},
      {"\"guards_code\": []", "\"guards_code\": [3]", "guards_code[0]: expected a string"},
      {"\"range_constraints\": {}", "\"range_constraints\": []", "range_constraints: expected an"},
      {call, "3", "module_call_graph[0]: expected an object"},
      {call, R"({"fqn": 3, "signature": null})", "module_call_graph[0].fqn: expected a string"},
      {call, R"({"fqn": "", "signature": 3})",
       "module_call_graph[0].signature: expected an object"},
      {call, R"({"fqn": "", "signature": {"in_spec": "in"}})", "the field 'out_spec' is missing"},
      {call, R"({"fqn": "", "signature": {"in_spec": 3, "out_spec": "out"}})",
       "module_call_graph[0].signature.in_spec: expected a string"},
      {call, R"({"fqn": "", "signature": {"in_spec": "in", "out_spec": 3}})",
       "module_call_graph[0].signature.out_spec: expected a string"},
  };
  for (const auto& [from, to, message] : kChanges)
    EXPECT_THAT(ImportChanged({{from, to}}), Invalid(message)) << to;
  // An unknown call signature is allowed.
  ASSERT_OK_AND_ASSIGN(const ExportedProgram program,
                       ImportChanged({{call, R"({"fqn": "", "signature": null})"}}));
  EXPECT_EQ(program.in_spec, "");
}

TEST(ProgramReaderTest, UnknownVersionsAreNotParsedFurther) {
  EXPECT_THAT(
      ImportText(PackArchive(DefaultFiles(
          R"({"schema_version": {"major": 9, "minor": 0}, "verifiers": 3, "graph_module": []})"))),
      Unsupported("9.0"));
}

TEST(ProgramReaderTest, DialectComesFromTheVerifiers) {
  const auto dialect = [](const std::string& verifiers) {
    absl::StatusOr<ExportedProgram> program =
        ImportChanged({{"\"verifiers\": [\"ATEN\"]", "\"verifiers\": " + verifiers}});
    EXPECT_OK(program);
    return program.ok() ? program->dialect : IrDialect::kEdge;
  };
  EXPECT_EQ(dialect("[\"TRAINING\"]"), IrDialect::kTraining);
  EXPECT_EQ(dialect("[\"ATEN\"]"), IrDialect::kAten);
  EXPECT_EQ(dialect("[]"), IrDialect::kAten);
}

TEST(ProgramReaderTest, RangesHintsAndGuardsAreKept) {
  const std::string dynamic =
      R"json({"dtype": 7, "sizes": [{"as_expr": {"expr_str": "Symbol('s77', positive=True, integer=True)",
      "hint": {"as_int": 4}}}, {"as_int": 3}], "strides": [{"as_int": 3}, {"as_int": 1}], "layout": 7})json";
  Changes changes = {
      {"\"x\": " + MetaJson({2, 3}), "\"x\": " + dynamic},
      {"\"add\": " + MetaJson({2, 3}), "\"add\": " + dynamic},
      {"\"relu\": " + MetaJson({2, 3}), "\"relu\": " + dynamic},
      {"\"p_w\": " + MetaJson({2, 3}), "\"p_w\": " + MetaJson({1, 3})},
      {"\"guards_code\": []", "\"guards_code\": [\"L['x'].size()[0] >= 2\"]"},
      {"\"range_constraints\": {}",
       R"("range_constraints": {"s77": {"min_val": 2, "max_val": 9223372036854775806}, "2*s77": {"min_val": 4, "max_val": null},
                         "u0": {"min_val": null, "max_val": "Infinity"}, "u1": {"min_val": -3, "max_val": 18446744073709551615},
                         "u2": {"min_val": 2.0, "max_val": 18446744073709551616}})"}};
  ArchiveFiles files = DefaultFiles(ProgramJson(changes));
  const std::string config = absl::StrCat(
      "{\"config\": {\"w\": {\"path_name\": \"weight_0\", \"tensor_meta\": ", MetaJson({1, 3}),
      "}}}");
  SetFile(files, "data/weights/model_weights_config.json", &config);
  ASSERT_OK_AND_ASSIGN(const ExportedProgram program, ImportText(PackArchive(files)));
  EXPECT_THAT(program.ranges,
              ElementsAre(::testing::Pair("s77", SymRange{0, SymRange::kUnboundedAbove}),
                          ::testing::Pair(
                              "u0", SymRange{SymRange::kUnboundedBelow, SymRange::kUnboundedAbove}),
                          ::testing::Pair("u1", SymRange{-3, SymRange::kUnboundedAbove}),
                          ::testing::Pair("u2", SymRange{2, SymRange::kUnboundedAbove})));
  EXPECT_THAT(program.hints, ElementsAre(::testing::Pair("s77", 4)));
  EXPECT_THAT(program.guards, ElementsAre("L['x'].size()[0] >= 2"));
}

TEST(ProgramReaderTest, IgnoresTracedMinimumOfInputSizes) {
  ASSERT_OK_AND_ASSIGN(
      const ExportedProgram program,
      ImportChanged(
          {{"\"range_constraints\": {}",
            R"("range_constraints": {"s0": {"min_val": 2, "max_val": 8}, "s1": {"min_val": 3, "max_val": 8},
                         "s2": {"min_val": 1, "max_val": 8}, "u0": {"min_val": 2, "max_val": 8}})"}}));
  EXPECT_THAT(
      program.ranges,
      ElementsAre(::testing::Pair("s0", SymRange{0, 8}), ::testing::Pair("s1", SymRange{3, 8}),
                  ::testing::Pair("s2", SymRange{1, 8}), ::testing::Pair("u0", SymRange{2, 8})));
}

TEST(ProgramReaderTest, ReadsAllNotationsOfBounds) {
  constexpr int64_t kBelow = SymRange::kUnboundedBelow, kAbove = SymRange::kUnboundedAbove;
  const struct {
    std::string range;
    SymRange expected;
  } kRanges[] = {
      {R"({})", {kBelow, kAbove}},
      {R"({"min_val": "-int_oo", "max_val": "int_oo"})", {kBelow, kAbove}},
      {R"({"min_val": "-Infinity", "max_val": "Infinity"})", {kBelow, kAbove}},
      {R"({"min_val": -Infinity, "max_val": Infinity})", {kBelow, kAbove}},
      {R"({"min_val": -9007199254740992, "max_val": 9007199254740992})", {kBelow, kAbove}},
      {R"({"min_val": -9007199254740991, "max_val": 9007199254740991})",
       {-9007199254740991, 9007199254740991}},
      {R"({"min_val": -1e300, "max_val": 1e300})", {kBelow, kAbove}},
      {R"({"min_val": -3.0, "max_val": 1e3})", {-3, 1000}},
      {R"({"min_val": 5, "max_val": 5})", {5, 5}},
  };
  for (const auto& [range, expected] : kRanges) {
    ASSERT_OK_AND_ASSIGN(const ExportedProgram program,
                         ImportChanged({{"\"range_constraints\": {}",
                                         "\"range_constraints\": {\"u0\": " + range + "}"}}));
    EXPECT_THAT(program.ranges, ElementsAre(::testing::Pair("u0", expected))) << range;
  }
}

TEST(ProgramReaderTest, RejectsMalformedRanges) {
  const std::pair<std::string, std::string> kRanges[] = {
      {R"("u0": 3)", "range_constraints.u0: expected an object"},
      {R"("u0": {"min_val": "many"})", "range_constraints.u0.min_val: expected an integer"},
      {R"("u0": {"max_val": "oo"})", "range_constraints.u0.max_val: expected an integer"},
      {R"("u0": {"max_val": 2.5})", "max_val: expected an integer, found a number with a fraction"},
      {R"("u0": {"max_val": true})", "max_val: expected an integer, found a boolean"},
      {R"("u0": {"max_val": NaN})", "max_val: expected an integer, found a string"},
      {R"("2**(": {"max_val": 2})", "range_constraints.2**(: expression: "},
  };
  for (const auto& [ranges, message] : kRanges) {
    EXPECT_THAT(
        ImportChanged({{"\"range_constraints\": {}", "\"range_constraints\": {" + ranges + "}"}}),
        Invalid(message))
        << ranges;
  }
}

TEST(ProgramReaderTest, RejectsEmptyRanges) {
  EXPECT_THAT(ImportChanged({{"\"range_constraints\": {}",
                              R"("range_constraints": {"s0": {"min_val": 3, "max_val": 2}})"}}),
              Invalid("range_constraints.s0: the range [3, 2] is empty"));
}

TEST(ProgramReaderTest, UnknownFieldsAreAccepted) {
  EXPECT_OK(ImportChanged(
      {{"\"verifiers\"", "\"dialect\": \"ATEN\", \"tensor_paths\": {}, \"verifiers\""},
       {"\"is_single_tensor_return\"", "\"novelty\": [1, {}], \"is_single_tensor_return\""}}));
}

// --- Signature ---

TEST(ProgramReaderTest, ConstantInputsUseNameOfSpec) {
  ASSERT_OK_AND_ASSIGN(
      const ExportedProgram program,
      ImportChanged(
          {{R"({"as_tensor": {"name": "x"}}],)",
            R"({"as_tensor": {"name": "x"}}, {"as_int": 3}, {"as_none": true}, {"as_float": 1}],)"},
           {R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}}])",
            R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}}, {"constant_input": {"name": "k", "value": {"as_int": 3}}},
                         {"constant_input": {"name": "none", "value": {"as_none": true}}}, {"user_input": {"arg": {"as_float": 1.0}}}])"}}));
  ASSERT_EQ(program.top().inputs().size(), 5u);
  const Value& k = program.top().value(program.top().inputs()[2]);
  EXPECT_EQ(k.name, "k");
  EXPECT_EQ(k.type, ValueType(ConstantType{int64_t{3}}));
  EXPECT_EQ(program.signature.inputs[2].kind, InputKind::kConstantInput);
  EXPECT_EQ(program.signature.inputs[4].kind, InputKind::kConstantInput);
  EXPECT_EQ(program.top().value(program.top().inputs()[4]).name, "arg_4");
}

TEST(ProgramReaderTest, BuffersMayBeSavedOrNot) {
  for (const char* persistent : {"true", "false"}) {
    ASSERT_OK_AND_ASSIGN(
        const ExportedProgram program,
        ImportChanged({{R"({"parameter": {"arg": {"name": "p_w"}, "parameter_name": "w"}})",
                        absl::StrCat(R"({"buffer": {"arg": {"name": "p_w"}, "buffer_name": "w", )",
                                     R"("persistent": )", persistent, "}}")}}));
    EXPECT_EQ(program.signature.inputs[0].kind, InputKind::kBuffer);
    EXPECT_EQ(program.signature.inputs[0].persistent, persistent == std::string("true"));
  }
}

TEST(ProgramReaderTest, ConstantsInputsAndRepeatsMayBeOutputs) {
  ASSERT_OK_AND_ASSIGN(
      const ExportedProgram program,
      ImportChanged(
          {{R"("outputs": [{"as_tensor": {"name": "relu"}}],
      "nodes")",
            R"("outputs": [{"as_tensor": {"name": "relu"}}, {"as_tensor": {"name": "relu"}}, {"as_tensor": {"name": "p_w"}},
                                     {"as_int": 7}, {"as_none": true}], "nodes")"},
           {R"("output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "relu"}}}}])",
            R"("output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "relu"}}}}, {"user_output": {"arg": {"as_tensor": {"name": "relu"}}}},
                         {"user_output": {"arg": {"as_tensor": {"name": "p_w"}}}}, {"user_output": {"arg": {"as_int": 7}}}, {"user_output": {"arg": {"as_none": true}}}])"}}));
  ASSERT_EQ(program.top().outputs().size(), 5u);
  EXPECT_EQ(program.top().outputs()[3], Argument(7));
  EXPECT_TRUE(program.top().outputs()[4].is_none());
}

TEST(ProgramReaderTest, MutationsNameTheirTarget) {
  const std::string relu_output = R"({"user_output": {"arg": {"as_tensor": {"name": "relu"}}}})";
  ASSERT_OK_AND_ASSIGN(
      const ExportedProgram program,
      ImportChanged(
          {{relu_output,
            R"({"user_input_mutation": {"arg": {"name": "relu"}, "user_input_name": "x"}})"}}));
  EXPECT_EQ(program.signature.outputs[0].kind, OutputKind::kUserInputMutation);
  EXPECT_EQ(program.signature.outputs[0].target, "x");
  EXPECT_THAT(
      ImportChanged(
          {{relu_output,
            R"({"user_input_mutation": {"arg": {"name": "relu"}, "user_input_name": "p_w"}})"}}),
      Invalid("'p_w', which is not a user input"));
  EXPECT_THAT(
      ImportChanged(
          {{relu_output,
            R"({"buffer_mutation": {"arg": {"name": "relu"}, "buffer_name": "nothing"}})"}}),
      Invalid("nothing"));
  EXPECT_THAT(ImportChanged({{relu_output, R"({"something_else": {"arg": {"name": "relu"}}})"}}),
              Invalid("'something_else'"));
}

TEST(ProgramReaderTest, GradientsNameTheirInput) {
  const std::string relu_output = R"({"user_output": {"arg": {"as_tensor": {"name": "relu"}}}})";
  const auto gradient = [](const std::string& of) {
    return R"({"gradient_to_user_input": {"arg": {"name": "relu"}, "user_input_name": ")" + of +
           "\"}}";
  };
  ASSERT_OK_AND_ASSIGN(const ExportedProgram program,
                       ImportChanged({{relu_output, gradient("x")}}));
  EXPECT_EQ(program.signature.outputs[0].kind, OutputKind::kGradientToUserInput);
  EXPECT_EQ(program.signature.outputs[0].target, "x");
  EXPECT_THAT(
      ImportChanged({{relu_output, gradient("p_w")}}),
      Invalid("output spec 0 (gradient_to_user_input) names 'p_w', which is not a user input"));
}

TEST(ProgramReaderTest, TrainingOutputsAreKept) {
  const std::string relu_output = R"({"user_output": {"arg": {"as_tensor": {"name": "relu"}}}})";
  ASSERT_OK_AND_ASSIGN(
      const ExportedProgram program,
      ImportChanged({{relu_output, R"({"loss_output": {"arg": {"name": "relu"}}})"}}));
  EXPECT_EQ(program.signature.outputs[0].kind, OutputKind::kLossOutput);
}

TEST(ProgramReaderTest, TokensHaveNoTensorMeta) {
  ASSERT_OK_AND_ASSIGN(
      const ExportedProgram program,
      ImportChanged(
          {{R"("inputs": [{"as_tensor": {"name": "p_w"}})",
            R"("inputs": [{"as_tensor": {"name": "token"}}, {"as_tensor": {"name": "p_w"}})"},
           {R"("input_specs": [)", R"("input_specs": [{"token": {"arg": {"name": "token"}}}, )"}}));
  EXPECT_EQ(program.top().value(program.top().inputs()[0]).type, ValueType(TokenType{}));
}

TEST(ProgramReaderTest, SpecsMustMatchTheGraph) {
  EXPECT_THAT(ImportChanged({{R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}})",
                              R"({"user_input": {"arg": {"as_tensor": {"name": "y"}}}})"}}),
              Invalid("user_input 'y' does not match the graph's input 'x'"));
  EXPECT_THAT(ImportChanged({{R"(,
                      {"user_input": {"arg": {"as_tensor": {"name": "x"}}}})",
                              ""}}),
              Invalid("graph.inputs[1]: the signature has only 1 input specs"));
  EXPECT_THAT(
      ImportChanged(
          {{R"("output_specs": [)",
            R"("output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "add"}}}}, )"}}),
      Invalid("another value here: 'add'"));
  EXPECT_THAT(
      ImportChanged(
          {{R"("output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "relu"}}}}])",
            R"("output_specs": [])"}}),
      Invalid("1 outputs, but the signature has 0"));
  EXPECT_THAT(
      ImportChanged({{R"("inputs": [{"as_tensor": {"name": "p_w"}}, {"as_tensor": {"name": "x"}}],
      "outputs")",
                      R"("inputs": [{"as_tensor": {"name": "p_w"}}], "outputs")"}}),
      Invalid("1 inputs, but the signature has 2"));
  EXPECT_THAT(ImportChanged({{R"("parameter_name": "w")", R"("parameter_name": "")"}}),
              Invalid("the name is empty"));
  EXPECT_THAT(ImportChanged({{R"(, "parameter_name": "w")", ""}}),
              Invalid("'parameter_name' is missing"));
}

TEST(ProgramReaderTest, InputsMustMatchTheirSpecs) {
  const std::string w = R"("inputs": [{"as_tensor": {"name": "p_w"}})",
                    x = R"({"as_tensor": {"name": "x"}}],)",
                    w_spec = R"({"parameter": {"arg": {"name": "p_w"}, "parameter_name": "w"}})",
                    x_spec = R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}})";
  const std::string k_spec = R"({"constant_input": {"name": "k", "value": {"as_int": 3}}})";
  const struct {
    Changes changes;
    std::string message;
  } kPrograms[] = {
      {{{w, R"("inputs": [3)"}}, "graph.inputs[0]: expected an object"},
      {{{x_spec, k_spec}},
       "the input spec constant_input 'k' does not match the graph's input 'x'"},
      {{{x, R"({"as_int": 4}],)"}, {x_spec, k_spec}}, "constant_input 'k' does not match"},
      {{{w, R"("inputs": [{"as_int": 3})"}}, "the input spec parameter 'p_w' does not match"},
      {{{w, R"("inputs": [{"as_sym_int": {"as_name": "p_w"}})"}}, "a parameter must be a tensor"},
      {{{w, R"("inputs": [{"as_sym_int": {"as_name": "p_w"}})"},
        {w_spec, R"({"buffer": {"arg": {"name": "p_w"}, "buffer_name": "w"}})"}},
       "a buffer must be a tensor"},
      {{{w, R"("inputs": [{"as_sym_int": {"as_name": "p_w"}})"},
        {w_spec, R"({"tensor_constant": {"arg": {"name": "p_w"}, "tensor_constant_name": "w"}})"}},
       "a tensor_constant must be a tensor"},
      {{{x, R"({"as_tensor": {"name": ""}}],)"},
        {x_spec, R"({"user_input": {"arg": {"as_tensor": {"name": ""}}}})"}},
       "graph.inputs[1]: the name is empty"},
      {{{x, R"({"as_tensor": {"name": "x"}}, {"as_tensor": {"name": "x"}}],)"},
        {x_spec, x_spec + ", " + x_spec}},
       "graph.inputs[2]: two inputs are named 'x'"},
      // A value tagged as a tensor is in the table of integers.
      {{{"\"p_w\": " + MetaJson({2, 3}) + ", ", ""},
        {"\"sym_int_values\": {", R"("sym_int_values": {"p_w": {"as_int": 2})"}},
       "parameter 'w' (input 'p_w'): the input is not a tensor"},
  };
  for (const auto& [changes, message] : kPrograms)
    EXPECT_THAT(ImportChanged(changes), Invalid(message)) << changes.back().second;
}

TEST(ProgramReaderTest, NamedTensorsMustExistAndMatch) {
  EXPECT_THAT(ImportChanged({{R"("parameter_name": "w")", R"("parameter_name": "v")"}}),
              Invalid("parameter 'v' (input 'p_w'): the archive has no tensor of this name"));
  EXPECT_THAT(
      ImportChanged({{"\"p_w\": " + MetaJson({2, 3}), "\"p_w\": " + MetaJson({3, 2})}}),
      Invalid(
          "parameter 'w' (input 'p_w'): the archive has f32[2,3], but the graph expects f32[3,2]"));
  EXPECT_THAT(ImportChanged({{"\"p_w\": " + MetaJson({2, 3}), "\"p_w\": " + MetaJson({2, 3}, 8)}}),
              Invalid("f64[2,3]"));
  EXPECT_THAT(ImportChanged({{"\"p_w\": " + MetaJson({2, 3}), "\"p_w\": " + MetaJson({6})}}),
              Invalid("the archive has f32[2,3], but the graph expects f32[6]"));
}

TEST(ProgramReaderTest, NonTensorPickledWeightsFailOnlyIfUsed) {
  ArchiveFiles files = DefaultFiles(ProgramJson());
  const std::string config =
      R"({"config": {"w": {"path_name": "custom_obj_0", "is_param": true, "use_pickle": true, "tensor_meta": null}}})";
  SetFile(files, "data/weights/model_weights_config.json", &config);
  EXPECT_THAT(ImportText(PackArchive(files)),
              Unsupported("parameter 'w' (input 'p_w'): a custom object"));
  // The same for a component that the program reads of a tensor subclass.
  const std::string program =
      ProgramJson({{R"("parameter_name": "w")", R"("parameter_name": "w.scale")"}});
  SetFile(files, "models/model.json", &program);
  EXPECT_THAT(ImportText(PackArchive(files)),
              Unsupported("parameter 'w.scale' (input 'p_w'): a custom object"));
}

TEST(ProgramReaderTest, MutatedTensorsMayNotShareTheirMemory) {
  // Two buffers in one record, the second from element `offset` on; the first is mutated.
  const auto import = [](int offset, const std::string& mutated,
                         const std::vector<int64_t>& sizes = {2, 3}) {
    ArchiveFiles files = DefaultFiles(ProgramJson(
        {{R"("inputs": [{"as_tensor": {"name": "p_w"}})",
          R"("inputs": [{"as_tensor": {"name": "p_w"}}, {"as_tensor": {"name": "b_v"}})"},
         {R"([{"parameter": {"arg": {"name": "p_w"}, "parameter_name": "w"}})",
          R"([{"buffer": {"arg": {"name": "p_w"}, "buffer_name": "w", "persistent": true}},
              {"buffer": {"arg": {"name": "b_v"}, "buffer_name": "v", "persistent": true}})"},
         {R"({"user_output": {"arg": {"as_tensor": {"name": "relu"}}}})",
          absl::StrCat(R"({"buffer_mutation": {"arg": {"name": "relu"}, "buffer_name": ")", mutated,
                       R"("}})")},
         {"\"tensor_values\": {",
          "\"tensor_values\": {" + Tensor("b_v", MetaJson(sizes)) + ", "}}));
    const auto entry = [](const std::string& name, const std::string& meta) {
      return absl::StrCat("\"", name, R"(": {"path_name": "weight_0", "tensor_meta": )", meta, "}");
    };
    std::string shifted = MetaJson(sizes);
    const std::string zero = R"("storage_offset": {"as_int": 0})";
    shifted.replace(shifted.find(zero), zero.size(),
                    absl::StrCat(R"("storage_offset": {"as_int": )", offset, "}"));
    const std::string config = absl::StrCat("{\"config\": {", entry("w", MetaJson({2, 3})), ", ",
                                            entry("v", shifted), "}}");
    const std::string record(48, '\0');
    SetFile(files, "data/weights/model_weights_config.json", &config);
    SetFile(files, "data/weights/weight_0", &record);
    return ImportText(PackArchive(files)).status();
  };
  EXPECT_THAT(import(0, "w"), Unsupported("buffer 'w': it is mutated, but shares memory with 'v'"));
  EXPECT_THAT(import(5, "w"), Unsupported("buffer 'w': it is mutated, but shares memory with 'v'"));
  EXPECT_THAT(import(5, "v"), Unsupported("buffer 'v': it is mutated, but shares memory with 'w'"));
  EXPECT_OK(import(6, "w"));
  EXPECT_OK(import(6, "v"));
  EXPECT_OK(import(0, "w", {0, 3})) << "what has no elements shares none";
}

// Several inputs with one name share memory.
TEST(ProgramReaderTest, BufferOfTwoInputsIsNotItsOwnAlias) {
  EXPECT_OK(
      ImportChanged({{R"("inputs": [{"as_tensor": {"name": "p_w"}})",
                      R"("inputs": [{"as_tensor": {"name": "p_w"}}, {"as_tensor": {"name": "b"}})"},
                     {R"([{"parameter": {"arg": {"name": "p_w"}, "parameter_name": "w"}})",
                      R"([{"buffer": {"arg": {"name": "p_w"}, "buffer_name": "w"}},
                {"buffer": {"arg": {"name": "b"}, "buffer_name": "w"}})"},
                     {R"({"user_output": {"arg": {"as_tensor": {"name": "relu"}}}})",
                      R"({"buffer_mutation": {"arg": {"name": "relu"}, "buffer_name": "w"}})"},
                     {"\"tensor_values\": {", "\"tensor_values\": {" + Tensor("b") + ", "}}));
}

TEST(ProgramReaderTest, VerifierErrorsAreInvalidArguments) {
  // Only the verifier checks operand types.
  EXPECT_THAT(
      ImportChanged({{R"({"name": "self", "arg": {"as_tensor": {"name": "add"}}, "kind": 1})",
                      R"({"name": "self", "arg": {"as_string": "add"}, "kind": 1})"}}),
      AllOf(Invalid("not well formed"), Invalid("V5")));
}

TEST(ProgramReaderTest, ProgramsRoundTripThroughText) {
  ASSERT_OK_AND_ASSIGN(const ExportedProgram program, ImportChanged({}));
  ASSERT_OK_AND_ASSIGN(const ExportedProgram parsed,
                       ParseProgram(PrintProgram(program), TestOps()));
  EXPECT_TRUE(Equal(program, parsed));
}

}  // namespace
}  // namespace belay::exir
