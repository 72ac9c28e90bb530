#include "conformance/ops/op_case.h"

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::conformance {
namespace {

using ::testing::HasSubstr;

std::string File(const std::string& cases) {
  return R"({"op": "aten.f.default", "schema": "aten::f(Tensor self) -> Tensor", "family": "unary", "tags": {"core": true},
             "cases": [)" +
         cases + "]}";
}
// Returns a case with `value` as first argument.
std::string WithArgument(const std::string& value) {
  return File(R"({"id": "a", "args": [)" + value +
              R"(], "kwargs": {}, "expect": [], "check": "bits", "tags": []})");
}
absl::StatusOr<CaseValue> Argument(const std::string& value) {
  ABSL_ASSIGN_OR_RETURN(const OpCaseFile file, ParseOpCaseFile(WithArgument(value)));
  return file.cases[0].args[0];
}

TEST(OpCaseTest, ReadsACase) {
  ASSERT_OK_AND_ASSIGN(const OpCaseFile file, ParseOpCaseFile(File(R"({
      "id": "f32_0", "args": [{"tensor": {"dtype": "int16", "shape": [2], "strides": [2], "storage_offset": 1, "data": "AAABAAIAAwA="}}],
      "kwargs": {"dim": {"int": -9007199254740993}}, "expect": [{"any": true}], "mutated": {"self": {"none": true}},
      "check": "values", "rtol": 1e-6, "atol": 0, "tags": ["nan"]})")));
  EXPECT_EQ(file.op, "aten.f.default");
  EXPECT_TRUE(file.tags.at("core"));
  const OpCase& c = file.cases.at(0);
  const CaseTensor& tensor = std::get<CaseTensor>(c.args.at(0));
  EXPECT_EQ(tensor.dtype, DType::kInt16);
  EXPECT_EQ(tensor.strides, (Strides{2}));
  EXPECT_EQ(tensor.storage_offset, 1);
  EXPECT_EQ(tensor.data->size(), 8u);
  EXPECT_EQ(std::get<int64_t>(c.kwargs.at(0).second), -9007199254740993);
  EXPECT_TRUE(std::holds_alternative<CaseAny>(c.expect->at(0)));
  EXPECT_EQ(c.check, CaseCheck::kValues);
  EXPECT_EQ(c.rtol, 1e-6);
  EXPECT_EQ(c.mutated.at(0).first, "self");
}

TEST(OpCaseTest, ReadsEveryKindOfValue) {
  ASSERT_OK_AND_ASSIGN(CaseValue v, Argument(R"({"float": "0x1.8p+1"})"));
  EXPECT_EQ(std::get<double>(v), 3);
  ASSERT_OK_AND_ASSIGN(v, Argument(R"({"float": "-inf"})"));
  EXPECT_EQ(std::get<double>(v), -std::numeric_limits<double>::infinity());
  ASSERT_OK_AND_ASSIGN(v, Argument(R"({"complex": ["0x1p0", "nan"]})"));
  EXPECT_EQ(std::get<std::complex<double>>(v).real(), 1);
  ASSERT_OK_AND_ASSIGN(v, Argument(R"({"floats": ["0x1p0"]})"));
  EXPECT_EQ(std::get<std::vector<double>>(v), std::vector<double>{1});
  ASSERT_OK_AND_ASSIGN(v, Argument(R"({"bools": [true, false]})"));
  EXPECT_EQ(std::get<std::vector<bool>>(v), (std::vector<bool>{true, false}));
  ASSERT_OK_AND_ASSIGN(
      v, Argument(R"({"optional_tensors": [null, {"dtype": "bool", "shape": [0], "data": ""}]})"));
  EXPECT_EQ(std::get<std::vector<std::optional<CaseTensor>>>(v).size(), 2u);
  ASSERT_OK_AND_ASSIGN(v, Argument(R"({"scalar_type": "bfloat16"})"));
  EXPECT_EQ(std::get<DType>(v), DType::kBFloat16);
  ASSERT_OK_AND_ASSIGN(v, Argument(R"({"memory_format": "channels_last"})"));
  EXPECT_EQ(std::get<MemoryFormat>(v), MemoryFormat::kChannelsLast);
  EXPECT_OK(Argument(R"({"layout": "strided"})"));
  EXPECT_OK(Argument(R"({"device": "cpu"})"));
  EXPECT_OK(Argument(R"({"string": "none"})"));
}

TEST(OpCaseTest, RejectsUnknownKindsOfValues) {
  for (
      const char* value :
      {R"({"widget": 1})", R"({"int": 1, "bool": true})", R"({})", R"(3)", R"({"int": 1.5})",
       R"({"float": 1.5})", R"({"float": "1.5"})", R"({"none": false})", R"({"layout": "sparse"})",
       R"({"device": "cuda"})", R"({"tensors": [null]})", R"({"scalar_type": "float33"})",
       R"({"complex": ["0x1p0"]})",
       R"({"tensor": {"dtype": "int8", "shape": [2], "data": "AA=="}})",
       R"({"tensor": {"dtype": "int8", "shape": [-1], "data": ""}})",
       R"({"tensor": {"dtype": "int8", "shape": [1], "strides": [1, 1], "data": "AA=="}})",
       R"({"tensor": {"dtype": "int8", "shape": [1], "color": 1, "data": "AA=="}})",
       R"({"tensor": {"dtype": "int8", "shape": [1], "data": "!!"}})",
       R"({"tensor": {"dtype": "int8", "shape": [9223372036854775807, 9223372036854775807], "data": ""}})"}) {
    EXPECT_THAT(Argument(value), StatusIs(absl::StatusCode::kInvalidArgument)) << value;
  }
}

TEST(OpCaseTest, RejectsMissingAndUnknownFields) {
  for (
      const char* op_case : {
          R"({"id": "a"})",
          R"({"id": "a", "args": [], "kwargs": {}, "tags": []})",
          R"({"id": "a", "args": [], "kwargs": {}, "tags": [], "expect": []})",
          R"({"id": "a", "args": [], "kwargs": {}, "tags": [], "expect": [], "check": "sort of"})",
          R"({"id": "a", "args": [], "kwargs": {}, "tags": [], "expect": [], "check": "values"})",
          R"({"id": "a", "args": [], "kwargs": {}, "tags": [], "expect": [], "check": "bits", "rtol": 1, "atol": 1})",
          R"({"id": "a", "args": [], "kwargs": {}, "tags": [], "expect": [], "check": "bits", "new": 1})",
          R"({"id": "a", "args": [], "kwargs": {}, "tags": [], "error": {"class": "shape"}})",
          R"({"id": "a", "args": [], "kwargs": {}, "tags": [], "error": {"class": "s", "torch_message": ""}, "check": "bits"})",
          R"({"id": "a", "args": [], "kwargs": {}, "tags": [], "error": {"class": "s", "torch_message": ""}},
              {"id": "a", "args": [], "kwargs": {}, "tags": [], "error": {"class": "s", "torch_message": ""}})",
      }) {
    EXPECT_THAT(ParseOpCaseFile(File(op_case)), StatusIs(absl::StatusCode::kInvalidArgument))
        << op_case;
  }
  EXPECT_THAT(ParseOpCaseFile(R"({"op": "x"})"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("missing")));
  EXPECT_THAT(ParseOpCaseFile("[1"), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ReadOpCaseFile("does/not/exist.json"), StatusIs(absl::StatusCode::kNotFound));
}

TEST(OpCaseTest, MessagesNameTheCaseAndTheField) {
  EXPECT_THAT(ParseOpCaseFile(
                  WithArgument(R"({"tensor": {"dtype": "int8", "shape": [2], "data": "AA=="}})")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("case a.args[0].tensor: data has 1 bytes, expected 2")));
}

TEST(OpCaseTest, ListsFilesOfFolder) {
  const std::string folder = ::testing::TempDir() + "/cases";
  std::filesystem::create_directories(folder);
  for (const char* name : {"/b.json", "/a.json", "/README.txt"}) std::ofstream(folder + name) << "";
  const std::vector<std::string> files = {folder + "/a.json", folder + "/b.json"};
  for (const std::string& path : {folder, folder + "/README.txt"}) {
    ASSERT_OK_AND_ASSIGN(const std::vector<std::string> found, OpCaseFiles(path));
    EXPECT_EQ(found, files) << path;
  }
  // A missing folder is not treated as a file of another folder.
  for (const std::string& path : {folder + "/none", std::string()}) {
    EXPECT_THAT(OpCaseFiles(path), StatusIs(absl::StatusCode::kNotFound)) << path;
  }
}

}  // namespace
}  // namespace belay::conformance
