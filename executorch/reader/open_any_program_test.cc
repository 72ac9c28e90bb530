#include "executorch/reader/open_any_program.h"

#include <string>

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

TEST_F(OpenAnyProgramTest, DataFilesOnlyForExecuTorchPrograms) {
  EXPECT_THAT(OpenAnyProgram(Write("own.belay", Own()), {.program = {}, .data_files = {"x.ptd"}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("data files are for ExecuTorch programs")));
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
