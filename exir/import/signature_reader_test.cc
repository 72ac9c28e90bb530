#include "exir/import/signature_reader.h"

#include <string>
#include <utility>
#include <vector>

#include "exir/import/testing/zip_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;
using Kind = BoundaryArgument::Kind;

auto Invalid(const std::string& text) {
  return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text));
}

JsonDocument Parsed(const std::string& text) {
  absl::StatusOr<JsonDocument> document = JsonDocument::Parse(ToStorage(text).bytes, "doc", {});
  ABSL_CHECK(document.ok());
  return *std::move(document);
}

// --- Boundary arguments ---

TEST(SignatureReaderTest, ReadsEveryKindOfBoundaryArgument) {
  const struct {
    std::string json;
    BoundaryArgument argument;
  } kArguments[] = {
      {R"({"as_tensor": {"name": "x"}})", {.kind = Kind::kTensor, .name = "x"}},
      {R"({"as_sym_int": {"as_name": "n"}})", {.kind = Kind::kSymInt, .name = "n"}},
      {R"({"as_sym_float": {"as_name": "f"}})", {.kind = Kind::kSymFloat, .name = "f"}},
      {R"({"as_sym_bool": {"as_name": "b"}})", {.kind = Kind::kSymBool, .name = "b"}},
      {R"({"as_sym_int": {"as_int": -2}})", {.kind = Kind::kConstant, .constant = {int64_t{-2}}}},
      {R"({"as_sym_float": {"as_float": 1}})", {.kind = Kind::kConstant, .constant = {1.0}}},
      {R"({"as_sym_bool": {"as_bool": false}})", {.kind = Kind::kConstant, .constant = {false}}},
      {R"({"as_custom_obj": {"name": "o", "class_fqn": "my.Class"}})",
       {.kind = Kind::kCustomObject, .name = "o", .class_name = "my.Class"}},
      {R"({"as_none": true})", {.kind = Kind::kConstant}},
      {R"({"as_int": 3})", {.kind = Kind::kConstant, .constant = {int64_t{3}}}},
      {R"({"as_float": 0.5})", {.kind = Kind::kConstant, .constant = {0.5}}},
      {R"({"as_bool": true})", {.kind = Kind::kConstant, .constant = {true}}},
      {R"({"as_string": "mean"})", {.kind = Kind::kConstant, .constant = {std::string("mean")}}},
  };
  for (const auto& [json, expected] : kArguments) {
    const JsonDocument document = Parsed(json);
    ASSERT_OK_AND_ASSIGN(const BoundaryArgument argument, ReadBoundaryArgument(document.root()));
    EXPECT_TRUE(argument == expected) << json;
  }
}

TEST(SignatureReaderTest, RejectsOtherArguments) {
  const std::pair<std::string, std::string> kArguments[] = {
      {"3", "doc: expected an object, found an integer"},
      {"{}", "doc: a union without a tag"},
      {R"({"as_tensors": []})",
       "expected a tensor, a symbolic number, a custom object or a constant, found 'as_tensors'"},
      {R"({"as_tensor": "x"})", "doc: as_tensor: expected an object, found a string"},
      {R"({"as_tensor": {"title": "x"}})", "doc: as_tensor: the field 'name' is missing"},
      {R"({"as_tensor": {"name": 3}})", "doc: as_tensor.name: expected a string"},
      {R"({"as_sym_int": "n"})", "doc: as_sym_int: expected an object"},
      {R"({"as_sym_int": {"as_name": 3}})", "doc: as_sym_int.as_name: expected a string"},
      {R"({"as_sym_int": {"as_int": 1.5}})", "doc: as_sym_int.as_int: expected an integer"},
      {R"({"as_sym_int": {"as_bool": true}})",
       "doc: as_sym_int: expected as_name or as_int, found 'as_bool'"},
      {R"({"as_sym_float": {"as_int": 3}})", "expected as_name or as_float, found 'as_int'"},
      {R"({"as_sym_bool": {"as_int": 1}})", "expected as_name or as_bool, found 'as_int'"},
      {R"({"as_custom_obj": []})", "doc: as_custom_obj: expected an object"},
      {R"({"as_custom_obj": {"name": "o"}})", "doc: as_custom_obj: the field 'class_fqn'"},
      {R"({"as_custom_obj": {"name": 3, "class_fqn": "C"}})", "as_custom_obj.name: expected a"},
      {R"({"as_custom_obj": {"name": "o", "class_fqn": 3}})", "class_fqn: expected a string"},
      {R"({"as_int": "3"})", "doc: as_int: expected an integer, found a string"},
      {R"({"as_float": "3"})", "doc: as_float: expected a number"},
      {R"({"as_bool": 1})", "doc: as_bool: expected a boolean, found an integer"},
      {R"({"as_string": 1})", "doc: as_string: expected a string, found an integer"},
  };
  for (const auto& [json, message] : kArguments) {
    const JsonDocument document = Parsed(json);
    EXPECT_THAT(ReadBoundaryArgument(document.root()), Invalid(message)) << json;
  }
}

// --- Specs ---

absl::StatusOr<ArchiveSignature> Read(const std::string& inputs, const std::string& outputs) {
  // Results point into the document.
  static auto* const documents = new std::vector<JsonDocument>;
  documents->push_back(
      Parsed(absl::StrCat("{\"input_specs\": ", inputs, ", \"output_specs\": ", outputs, "}")));
  return ReadSignature(documents->back().root());
}

TEST(SignatureReaderTest, ReadsEveryKindOfInputSpec) {
  const struct {
    std::string json;
    InputSpec spec;
    BoundaryArgument argument;
    bool any_value_kind;
  } kSpecs[] = {
      {R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}})", {}, {.name = "x"}, false},
      {R"({"user_input": {"arg": {"as_int": 3}}})",
       {.kind = InputKind::kConstantInput},
       {.kind = Kind::kConstant, .constant = {int64_t{3}}},
       false},
      {R"({"constant_input": {"name": "k", "value": {"as_string": "sum"}}})",
       {.kind = InputKind::kConstantInput},
       {.kind = Kind::kConstant, .name = "k", .constant = {std::string("sum")}},
       false},
      {R"({"parameter": {"arg": {"name": "p_w"}, "parameter_name": "w"}})",
       {.kind = InputKind::kParameter, .target = "w"},
       {.name = "p_w"},
       true},
      {R"({"buffer": {"arg": {"name": "b_v"}, "buffer_name": "v", "persistent": false}})",
       {.kind = InputKind::kBuffer, .target = "v", .persistent = false},
       {.name = "b_v"},
       true},
      {R"({"buffer": {"arg": {"name": "b_v"}, "buffer_name": "v"}})",
       {.kind = InputKind::kBuffer, .target = "v", .persistent = true},
       {.name = "b_v"},
       true},
      // Only buffers have the field `persistent`.
      {R"({"tensor_constant": {"arg": {"name": "c"}, "tensor_constant_name": "t",
                               "persistent": false}})",
       {.kind = InputKind::kTensorConstant, .target = "t"},
       {.name = "c"},
       true},
      {R"({"custom_obj": {"arg": {"name": "o"}, "custom_obj_name": "a"}})",
       {.kind = InputKind::kCustomObject, .target = "a"},
       {.name = "o"},
       true},
      {R"({"token": {"arg": {"name": "t"}}})", {.kind = InputKind::kToken}, {.name = "t"}, true},
  };
  for (const auto& [json, spec, argument, any_value_kind] : kSpecs) {
    ASSERT_OK_AND_ASSIGN(const ArchiveSignature signature, Read("[" + json + "]", "[]"));
    ASSERT_EQ(signature.inputs.size(), 1u) << json;
    EXPECT_EQ(signature.inputs[0].spec, spec) << json;
    EXPECT_TRUE(signature.inputs[0].argument == argument) << json;
    EXPECT_EQ(signature.inputs[0].any_value_kind, any_value_kind) << json;
  }
}

TEST(SignatureReaderTest, ReadsEveryKindOfOutputSpec) {
  const std::pair<std::string, OutputSpec> kSpecs[] = {
      {R"({"user_output": {"arg": {"as_tensor": {"name": "y"}}}})", {}},
      {R"({"loss_output": {"arg": {"name": "y"}}})", {.kind = OutputKind::kLossOutput}},
      {R"({"buffer_mutation": {"arg": {"name": "y"}, "buffer_name": "v"}})",
       {.kind = OutputKind::kBufferMutation, .target = "v"}},
      {R"({"parameter_mutation": {"arg": {"name": "y"}, "parameter_name": "w"}})",
       {.kind = OutputKind::kParameterMutation, .target = "w"}},
      {R"({"user_input_mutation": {"arg": {"name": "y"}, "user_input_name": "x"}})",
       {.kind = OutputKind::kUserInputMutation, .target = "x"}},
      {R"({"gradient_to_parameter": {"arg": {"name": "y"}, "parameter_name": "w"}})",
       {.kind = OutputKind::kGradientToParameter, .target = "w"}},
      {R"({"gradient_to_user_input": {"arg": {"name": "y"}, "user_input_name": "x"}})",
       {.kind = OutputKind::kGradientToUserInput, .target = "x"}},
      {R"({"token": {"arg": {"name": "y"}}})", {.kind = OutputKind::kToken}},
  };
  for (const auto& [json, spec] : kSpecs) {
    ASSERT_OK_AND_ASSIGN(const ArchiveSignature signature, Read("[]", "[" + json + "]"));
    ASSERT_EQ(signature.outputs.size(), 1u) << json;
    EXPECT_EQ(signature.outputs[0].spec, spec) << json;
    EXPECT_EQ(signature.outputs[0].argument.name, "y") << json;
    EXPECT_EQ(signature.outputs[0].any_value_kind, spec.kind != OutputKind::kUserOutput) << json;
  }
}

TEST(SignatureReaderTest, RejectsMalformedSpecs) {
  const struct {
    std::string inputs;
    std::string outputs;
    std::string message;
  } kSignatures[] = {
      {"{}", "[]", "input_specs: expected an array, found an object"},
      {"[]", "{}", "output_specs: expected an array, found an object"},
      {"[3]", "[]", "input_specs[0]: expected an object"},
      {R"([{"sorcery": {}}])", "[]", "input_specs[0]: expected an input spec, found 'sorcery'"},
      {R"([{"user_input": 3}])", "[]", "input_specs[0].user_input: expected an object"},
      {R"([{"user_input": {"arg": {}}}])", "[]", "user_input.arg: a union without a tag"},
      {R"([{"constant_input": 3}])", "[]", "constant_input: expected an object"},
      {R"([{"constant_input": {"name": "k"}}])", "[]", "the field 'value' is missing"},
      {R"([{"constant_input": {"name": 3, "value": {"as_int": 1}}}])", "[]",
       "constant_input.name: expected a string"},
      {R"([{"constant_input": {"name": "k", "value": 3}}])", "[]",
       "constant_input.value: expected an object"},
      {R"([{"constant_input": {"name": "k", "value": {"as_int": "1"}}}])", "[]",
       "constant_input.value.as_int: expected an integer"},
      {R"([{"constant_input": {"name": "k", "value": {"as_tensor": {"name": "x"}}}}])", "[]",
       "expected as_none, as_int, as_float, as_bool or as_string, found 'as_tensor'"},
      {R"([{"parameter": []}])", "[]", "parameter: expected an object"},
      {R"([{"parameter": {"arg": {}, "parameter_name": "w"}}])", "[]",
       "parameter.arg: the field 'name' is missing"},
      {R"([{"parameter": {"arg": {"name": "p"}, "parameter_name": 3}}])", "[]",
       "parameter.parameter_name: expected a string"},
      {R"([{"parameter": {"arg": {"name": "p"}, "parameter_name": ""}}])", "[]",
       "parameter.parameter_name: the name is empty"},
      {R"([{"buffer": {"arg": {"name": "b"}, "buffer_name": "v", "persistent": 1}}])", "[]",
       "buffer.persistent: expected a boolean"},
      {"[]", "[3]", "output_specs[0]: expected an object"},
      {"[]", R"([{"sorcery": {}}])", "expected an output spec, found 'sorcery'"},
      {"[]", R"([{"user_output": {}}])", "user_output: the field 'arg' is missing"},
      {"[]", R"([{"loss_output": {"arg": {"name": 3}}}])", "loss_output.arg.name: expected a"},
      {"[]", R"([{"buffer_mutation": {"arg": {"name": "y"}}}])", "'buffer_name' is missing"},
  };
  for (const auto& [inputs, outputs, message] : kSignatures)
    EXPECT_THAT(Read(inputs, outputs), Invalid(message)) << inputs << outputs;
  const JsonDocument without_outputs = Parsed(R"({"input_specs": []})");
  EXPECT_THAT(ReadSignature(without_outputs.root()),
              Invalid("doc: the field 'output_specs' is missing"));
}

}  // namespace
}  // namespace belay::exir
