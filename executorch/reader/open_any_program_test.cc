#include "executorch/reader/open_any_program.h"

#include <cstring>
#include <string>
#include <variant>

#include "executorch/reader/testing/pte_builder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"
#include "runtime/executor/testing/program_builder.h"

namespace belay::pte {
namespace {

using ::testing::HasSubstr;

class OpenAnyProgramTest : public TestInDirectory {
 protected:
  static std::string Own() {
    TestProgram program;
    TestMethod forward = program.AddMethod("forward");
    forward.Output(forward.Input("x", DType::kFloat32, {1}));
    return program.Serialize();
  }
};

TEST_F(OpenAnyProgramTest, DetectsFormatByContent) {
  const std::string own = Write("own.pte", Own());
  const std::string pte = Write("pte.belay", Read("executorch/reader/testdata/add.pte"));
  ASSERT_OK_AND_ASSIGN(const belay::Program first, OpenAnyProgram(own, {}));
  EXPECT_EQ(first.format(), "");
  ASSERT_OK_AND_ASSIGN(const belay::Program second, OpenAnyProgram(pte, {}));
  EXPECT_EQ(second.format(), "ET12");
}

// A program with a replaceable parameter "w" f32[2], which it returns.
std::string WithParameter() {
  TestProgram program;
  program.AddNamedTensor("w", std::string(8, '\0'), DType::kFloat32, {2});
  program.AddNamedConstant("w", 8);
  TestMethod method = program.AddMethod("forward");
  method.Output(method.Constant(0, DType::kFloat32, {2}));
  return program.Serialize();
}

TEST_F(OpenAnyProgramTest, DataFilesReplaceParametersOfOwnPrograms) {
  const std::string own = Write("own.belay", WithParameter());
  const std::string one = Write("one.ptd", DataFileOf({{"w", {1, 2}}}));
  ASSERT_OK_AND_ASSIGN(const belay::Program program,
                       OpenAnyProgram(own, {.program = {}, .data_files = {one}}));
  const auto& tensor = std::get<TensorPlan>(program.methods()[0].values[0]);
  float elements[2];
  std::memcpy(elements, tensor.constant.data(), sizeof(elements));
  EXPECT_EQ(elements[0], 1);
  EXPECT_EQ(elements[1], 2);
  EXPECT_THAT(OpenAnyProgram(own, {.program = {}, .data_files = {one, one}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("parameter 'w' is in " + one + " and in " + one)));
  const std::string other = Write("other.ptd", DataFileOf({{"v", {1, 2}}}));
  EXPECT_THAT(OpenAnyProgram(own, {.program = {}, .data_files = {other}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("unknown parameters 'v' (" + other + "); replaceable are: 'w'")));
  const std::string longer = Write("longer.ptd", DataFileOf({{"w", {1, 2, 3}}}));
  EXPECT_THAT(OpenAnyProgram(own, {.program = {}, .data_files = {longer}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("parameter 'w': expected float32 [2], got float32 [3]")));
}

TEST_F(OpenAnyProgramTest, MissingDataFilesAreNamed) {
  EXPECT_THAT(OpenAnyProgram(Write("own.belay", Own()), {.program = {}, .data_files = {"x.ptd"}}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("x.ptd")));
  EXPECT_THAT(OpenAnyProgram(Path("missing"), {}), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(OpenAnyProgramTest, DetectsProgramByPrefix) {
  const std::string pte = Relu().Serialize();
  const auto open = [](std::string_view file) {
    return OpenAnyProgramBytes(
        absl::MakeConstSpan(reinterpret_cast<const std::byte*>(file.data()), file.size()), {});
  };
  ASSERT_OK_AND_ASSIGN(const belay::Program program, open(pte));
  EXPECT_EQ(program.format(), "ET12");
  EXPECT_THAT(open(std::string_view(pte).substr(0, 9)),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("not a program file (.pte)")));
  EXPECT_THAT(open(std::string_view(pte).substr(0, 7)),
              StatusIs(absl::StatusCode::kDataLoss, ::testing::Not(HasSubstr(".pte"))));
}

}  // namespace
}  // namespace belay::pte
