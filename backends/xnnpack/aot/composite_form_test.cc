#include "backends/xnnpack/aot/composite_form.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::xnnpack {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CompositeFormTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(ops_, exir::CreateStandardOps()); }

  exir::ExportedProgram Parse(std::string_view body, std::string_view outputs = "%y user_output") {
    return exir::ParseOrDie(
        absl::StrCat("program edge { constants { state \"w\": f32[1,3] }\n"
                     "graph(%w: f32[1,3] parameter \"w\", %x: f32[2,3] user_input, "
                     "%z: f32[2,3] user_input, %row: f32[3] user_input) {\n",
                     body, "\nreturn (", outputs, ") } }"),
        *ops_);
  }
  // Returns the name of the composite operator that ends at %y, "" without one.
  std::string Composite(std::string_view body, std::string_view outputs = "%y user_output") {
    const exir::ExportedProgram program = Parse(body, outputs);
    const exir::NodeId node = program.top().value(exir::FindValue(program.top(), "y")).producer;
    const std::optional<Operation> operation = CompositeOperationOf(program, node);
    return operation.has_value() ? std::string(operation->composite) : "";
  }

  std::unique_ptr<exir::OpRegistry> ops_;
};

constexpr std::string_view kHardswish =
    "%a: f32[2,3] = edge.aten.add.Tensor(%x, 3)\n"
    "%b: f32[2,3] = edge.aten.hardtanh.default(%a, 0, 6)\n"
    "%c: f32[2,3] = edge.aten.mul.Tensor(%b, %x)\n"
    "%y: f32[2,3] = edge.aten.div.Tensor(%c, 6)";
constexpr std::string_view kPrelu =
    "%a: b8[2,3] = edge.aten.gt.Scalar(%x, 0)\n"
    "%b: f32[2,3] = edge.aten.mul.Tensor(%x, %w)\n"
    "%y: f32[2,3] = edge.aten.where.self(%a, %x, %b)";

std::string Replaced(std::string_view body, std::string_view from, std::string_view to) {
  std::string text(body);
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST_F(CompositeFormTest, FindsDecompositions) {
  EXPECT_EQ(Composite(kHardswish), "aten.hardswish.default");
  EXPECT_EQ(Composite(kPrelu), "aten.prelu.default");
}

TEST_F(CompositeFormTest, RejectsOtherNumbersAndOperands) {
  EXPECT_EQ(Composite(Replaced(kHardswish, "(%x, 3)", "(%x, 2)")), "");
  EXPECT_EQ(Composite(Replaced(kHardswish, "(%x, 3)", "(%x, 3, alpha=2)")), "");
  EXPECT_EQ(Composite(Replaced(kHardswish, "0, 6", "-1, 6")), "");
  EXPECT_EQ(Composite(Replaced(kHardswish, "(%b, %x)", "(%b, %z)")), "");
  EXPECT_EQ(Composite(Replaced(kHardswish, "(%c, 6)", "(%c, 3)")), "");
  EXPECT_EQ(Composite(Replaced(kPrelu, "(%x, 0)", "(%x, 1)")), "");
  EXPECT_EQ(Composite(Replaced(kPrelu, "(%x, %w)", "(%z, %w)")), "");
  // Slopes that are not constant; a result that is larger than the input.
  EXPECT_EQ(Composite(Replaced(kPrelu, "(%x, %w)", "(%x, %z)")), "");
  EXPECT_EQ(Composite("%a: b8[3] = edge.aten.gt.Scalar(%row, 0)\n"
                      "%b: f32[1,3] = edge.aten.mul.Tensor(%row, %w)\n"
                      "%y: f32[1,3] = edge.aten.where.self(%a, %row, %b)"),
            "");
}

TEST_F(CompositeFormTest, InnerOperatorsHaveNoOtherUsers) {
  for (const char* inner : {"%a", "%b", "%c"}) {
    EXPECT_EQ(Composite(kHardswish, absl::StrCat("%y user_output, ", inner, " user_output")), "");
  }
  EXPECT_EQ(Composite(kPrelu, "%y user_output, %b user_output"), "");
}

TEST_F(CompositeFormTest, OperatorsAreDelegatedTogether) {
  for (const std::string_view body : {kHardswish, kPrelu}) {
    const exir::ExportedProgram program = Parse(body);
    const exir::NodeId last = program.top().value(exir::FindValue(program.top(), "y")).producer;
    for (const exir::NodeId node : program.top().nodes()) {
      EXPECT_EQ(CompositeUserOf(program, node), node == last ? std::nullopt : std::optional(last));
      EXPECT_OK(CheckSupported(program, node, Target::kLocal));
    }
  }
}

TEST_F(CompositeFormTest, CompileSpecsNameTheCompositeOperator) {
  const exir::ExportedProgram program = Parse(kHardswish);
  for (const exir::NodeId node : program.top().nodes()) {
    EXPECT_OK(CheckChosen(program, node, {.operators = {"aten.hardswish.default"}}));
    EXPECT_THAT(CheckChosen(program, node, {.operators = {"aten.div.Tensor"}}).message(),
                HasSubstr("does not name aten.hardswish.default"));
    EXPECT_FALSE(
        CheckChosen(program, node, {.operators = {}, .precision = Choices::Precision::kInt8}).ok());
  }
  EXPECT_OK(ChoicesOf(std::vector<exir::CompileSpec>{
                          {"operators", "aten.hardswish.default,aten.prelu.default"}})
                .status());
}

}  // namespace
}  // namespace belay::xnnpack
