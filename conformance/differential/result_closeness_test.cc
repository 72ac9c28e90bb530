#include "conformance/differential/result_closeness.h"

#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::conformance {
namespace {

constexpr exir::Closeness kNear = {.atol = 1, .rtol = 1};

// "bits", "close" or "any".
std::string_view Name(const exir::Closeness& closeness) {
  switch (closeness.elements) {
    case exir::Closeness::Elements::kAny:
      return "any";
    case exir::Closeness::Elements::kSameBits:
      return "bits";
    default:
      return "close";
  }
}

class ResultClosenessTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(ops_, exir::CreateStandardOps()); }

  // The closeness for a program in which `exp` is kClose and `sin` is kAny.
  exir::CallCloseness Of(const std::string& text) {
    const exir::ExportedProgram program = exir::ParseOrDie(text, *ops_);
    return ClosenessOfResults(program, kNear, [](const exir::Graph&, const exir::Node& node) {
      return node.target->op() == "exp"   ? Agreement::kClose
             : node.target->op() == "sin" ? Agreement::kAny
                                          : Agreement::kSameBits;
    });
  }
  // The closeness of the value %r that `nodes` compute from %x: f32[3].
  std::string_view OfNodes(const std::string& nodes, const std::string& more_graphs = "") {
    return Name(Of("program edge { graph(%x: f32[3] user_input) {\n" + nodes +
                   "\nreturn (%r user_output) }\n" + more_graphs + "}")
                    .outputs.at(0));
  }

  std::unique_ptr<exir::OpRegistry> ops_;
};

TEST_F(ResultClosenessTest, GrowsAlongTheGraph) {
  EXPECT_EQ(OfNodes("%r: f32[3] = edge.aten.neg.default(%x)"), "bits");
  EXPECT_EQ(OfNodes("%r: f32[3] = edge.aten.exp.default(%x)"), "close");
  EXPECT_EQ(OfNodes("%a: f32[3] = edge.aten.exp.default(%x)\n"
                    "%r: f32[3] = edge.aten.add.Tensor(%x, %a)"),
            "close");
  EXPECT_EQ(OfNodes("%a: f32[3] = edge.aten.sin.default(%x)\n"
                    "%b: f32[3] = edge.aten.exp.default(%a)\n"
                    "%r: f32[3] = edge.aten.add.Tensor(%x, %b)"),
            "any");
  EXPECT_EQ(OfNodes("%a: f32[3] = edge.aten.exp.default(%x)\n"
                    "%r: f32[3] = edge.aten.neg.default(%x)"),
            "bits");
}

TEST_F(ResultClosenessTest, StepsAfterRoundingHaveNoBound) {
  const std::string rounded = "%a: f32[3] = edge.aten.exp.default(%x)\n";
  EXPECT_EQ(OfNodes(rounded + "%r: f32[3] = edge.aten.floor.default(%a)"), "any");
  EXPECT_EQ(OfNodes(rounded + "%r: b8[3] = edge.aten.lt.Scalar(%a, 1)"), "any");
  EXPECT_EQ(OfNodes(rounded + "%r: i64[] = edge.aten.argmax.default(%a)"), "any");
  EXPECT_EQ(OfNodes(rounded + "%r: f32[3] = edge.aten.div.Tensor_mode(%a, %x, "
                              "rounding_mode=\"floor\")"),
            "any");
  EXPECT_EQ(OfNodes(rounded + "%b: b8[3] = edge.aten.lt.Scalar(%a, 1)\n"
                              "%r: f32[3] = edge.aten.where.self(%b, %x, %x)"),
            "any");
  // Steps of bitwise equal values.
  EXPECT_EQ(OfNodes("%r: f32[3] = edge.aten.floor.default(%x)"), "bits");
  EXPECT_EQ(OfNodes("%b: f32[3] = edge.aten.floor.default(%x)\n"
                    "%r: f32[3] = edge.aten.exp.default(%b)"),
            "close");
}

TEST_F(ResultClosenessTest, StepsWithinOneOperatorKeepBounds) {
  EXPECT_EQ(OfNodes("%a: f32[3] = edge.aten.exp.default(%x) handle=7\n"
                    "%r: f32[3] = edge.aten.floor.default(%a) handle=7"),
            "close");
  EXPECT_EQ(OfNodes("%a: f32[3] = edge.aten.exp.default(%x) handle=7\n"
                    "%r: f32[3] = edge.aten.floor.default(%a) handle=8"),
            "any");
  // An operand from outside the operator counts as outside in all of its nodes.
  EXPECT_EQ(OfNodes("%a: f32[3] = edge.aten.exp.default(%x) handle=6\n"
                    "%b: f32[3] = edge.aten.neg.default(%a) handle=7\n"
                    "%r: f32[3] = edge.aten.floor.default(%b) handle=7"),
            "any");
}

TEST_F(ResultClosenessTest, TypesDoNotDependOnValues) {
  EXPECT_EQ(OfNodes("%a: f32[3] = edge.aten.exp.default(%x)\n"
                    "%r: i64[3] = edge.aten.full_like.default(%a, 1, dtype=dtype:i64)"),
            "bits");
}

TEST_F(ResultClosenessTest, ControlFlowIsAStepOfItsSubgraphs) {
  const auto bodies = [](std::string_view no) {
    return absl::StrCat("graph yes(%y: f32[3]) { %z: f32[3] = edge.aten.neg.default(%y)\n",
                        "return (%z) }\ngraph no(%y: f32[3]) { %z: f32[3] = edge.aten.", no,
                        ".default(%y)\nreturn (%z) }\n");
  };
  const std::string call =
      "%c: b8[] = edge.aten.any.default(%x)\n"
      "%r: f32[3] = higher_order.cond(%c, graph#1, graph#2, [%$])";
  const std::string of_input = absl::StrReplaceAll(call, {{"$", "x"}});
  EXPECT_EQ(OfNodes(of_input, bodies("neg")), "bits");
  EXPECT_EQ(OfNodes(of_input, bodies("exp")), "any");
  EXPECT_EQ(
      OfNodes("%a: f32[3] = edge.aten.exp.default(%x)\n" + absl::StrReplaceAll(call, {{"$", "a"}}),
              bodies("neg")),
      "any");
}

TEST_F(ResultClosenessTest, StateReachesNextCall) {
  const exir::CallCloseness closeness = Of(R"(program edge {
    constants { state "m": f32[3]  state "n": f32[3]  state "o": f32[3] }
    graph(%m: f32[3] buffer "m", %n: f32[3] buffer "n", %o: f32[3] buffer "o",
          %x: f32[3] user_input, %y: f32[3] user_input) {
      %a: f32[3] = edge.aten.floor.default(%n)
      %b: f32[3] = edge.aten.exp.default(%x)
      %c: f32[3] = edge.aten.neg.default(%o)
      return (%a buffer_mutation "m", %b buffer_mutation "n", %c buffer_mutation "o",
              %b user_input_mutation "y", %m user_output, %o user_output)
    } })");
  EXPECT_EQ(Name(closeness.others), "bits");
  EXPECT_EQ(Name(closeness.state.at("m")), "any");
  EXPECT_EQ(Name(closeness.state.at("n")), "close");
  EXPECT_EQ(closeness.state.at("n").atol, 1);
  EXPECT_EQ(Name(closeness.state.at("o")), "bits");
  EXPECT_EQ(Name(closeness.inputs.at(1)), "close");
  EXPECT_EQ(closeness.inputs.count(0), 0u);
  EXPECT_EQ(Name(closeness.outputs.at(0)), "any");
  EXPECT_EQ(Name(closeness.outputs.at(1)), "bits");
}

}  // namespace
}  // namespace belay::conformance
