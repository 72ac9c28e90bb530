#include "conformance/lowering/case_compose.h"

#include <memory>
#include <string>
#include <vector>

#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::conformance {
namespace {

using ::testing::HasSubstr;

class ComposeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(ops_, exir::CreateStandardOps());
    inner_ = std::make_shared<exir::LoweredBackendModule>("b", exir::ParseOrDie(R"(program edge {
      graph(%a: f32[2] user_input) {
        %s: f32[2] = edge.aten.sin.default(%a)
        return (%s user_output, %a user_output)
      } })",
                                                                                *ops_));
  }
  // The program of "forward(x, y) = <text>" as one term of its operators for each result.
  absl::StatusOr<std::string> Terms(const std::string& text) {
    const exir::TensorMeta type = exir::TensorMeta::Contiguous(DType::kFloat32, {2});
    ABSL_ASSIGN_OR_RETURN(const exir::ExportedProgram program,
                          Compose("forward(x, y) = " + text, {type, type}, inner_, *ops_));
    std::string terms;
    for (const exir::Argument& output : program.top().outputs()) {
      absl::StrAppend(&terms, terms.empty() ? "" : ", ", Term(program.top(), output));
    }
    return terms;
  }

  std::unique_ptr<exir::OpRegistry> ops_;
  std::shared_ptr<const exir::LoweredBackendModule> inner_;

 private:
  static std::string Term(const exir::Graph& graph, const exir::Argument& argument) {
    const auto* value = argument.get_if<exir::ValueId>();
    if (value == nullptr) return "";
    const exir::NodeId producer = graph.value(*value).producer;
    if (!producer.valid()) return graph.value(*value).name;
    const exir::Node& node = graph.node(producer);
    std::string term;
    for (const exir::Argument& operand : node.arguments) {
      // Not of the module that is called, nor of the factor of sums.
      if (operand.is<exir::ValueId>()) absl::StrAppend(&term, " ", Term(graph, operand));
    }
    const bool second = node.results()[0] != *value;
    return absl::StrCat("(", node.name.substr(0, node.name.find('_')), second ? "[1]" : "", term,
                        ")");
  }
};

TEST_F(ComposeTest, OperatorsBindAsInPython) {
  const auto expect = [&](const char* text, const char* terms) {
    ASSERT_OK_AND_ASSIGN(const std::string actual, Terms(text));
    EXPECT_EQ(actual, terms) << text;
  };
  expect("relu(inner(x)[0] + inner(y)[1])", "(relu (add (inner x) (inner[1] y)))");
  expect("x - y - x", "(sub (sub x y) x)");
  expect("x + y * x", "(add x (mul y x))");
  expect("x * (x + y) - y / x", "(sub (mul x (add x y)) (div y x))");
  expect("(x + (y - x)) * x + y", "(add (mul (add x (sub y x)) x) y)");
  expect("-x * sin(y) - -y", "(sub (mul (neg x) (sin y)) (neg y))");
  expect("inner(sin(x))", "(inner (sin x)), (inner[1] (sin x))");
  expect("x, y", "x, y");
}

TEST_F(ComposeTest, ResultsGetNames) {
  ASSERT_OK_AND_ASSIGN(const std::string pair, Terms("let (a, b) = inner(x) in a * b + a"));
  EXPECT_EQ(pair, "(add (mul (inner x) (inner[1] x)) (inner x))");
  ASSERT_OK_AND_ASSIGN(const std::string nested,
                       Terms("let (a, b) = inner(x)\n in let c = sin(b) in c, a"));
  EXPECT_EQ(nested, "(sin (inner[1] x)), (inner x)");
  ASSERT_OK_AND_ASSIGN(const std::string again, Terms("let x = sin(x) in let (y) = x in -y"));
  EXPECT_EQ(again, "(neg (sin x))");
}

TEST_F(ComposeTest, Errors) {
  const auto fails = [&](const char* text, absl::StatusCode code, const char* message) {
    EXPECT_THAT(Terms(text), StatusIs(code, HasSubstr(message))) << text;
  };
  fails("relu(z)", absl::StatusCode::kInvalidArgument, "'z'");
  fails("inner(x)[2]", absl::StatusCode::kInvalidArgument, "expected another index");
  fails("inner(x) + y", absl::StatusCode::kInvalidArgument, "one value for each operand of add");
  fails("mystery(x)", absl::StatusCode::kNotFound, "no operator 'mystery'");
  fails("let (a, b, c) = inner(x) in a", absl::StatusCode::kInvalidArgument,
        "expected 3 values for (a, b, c), got 2");
  fails("let (a, b) = inner(x)", absl::StatusCode::kInvalidArgument, "got 'a'");
  fails("relu(x", absl::StatusCode::kInvalidArgument, "relu(x");
}

}  // namespace
}  // namespace belay::conformance
