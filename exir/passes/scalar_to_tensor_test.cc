#include "exir/passes/scalar_to_tensor.h"

#include <complex>
#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "exir/ir/graph_editor.h"
#include "exir/passes/pass_testing.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

TEST(ScalarToTensorTest, EachLiteralBecomesItsOwnConstant) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[2] user_input) {
    %a: f32[2] = aten.add.Tensor(%x, 2.5)
    %b: f32[2] = aten.mul.Tensor(%a, 2.5)
    return (%b user_output)
  }
})",
                ScalarToTensor().run, R"(program aten {
  constants { state "_lifted_tensor_constant0": f32[] state "_lifted_tensor_constant1": f32[] }
  graph(%_lifted_tensor_constant0: f32[] buffer "_lifted_tensor_constant0", %_lifted_tensor_constant1: f32[] buffer "_lifted_tensor_constant1", %x: f32[2] user_input) {
    %a: f32[2] = aten.add.Tensor(%x, %_lifted_tensor_constant0)
    %b: f32[2] = aten.mul.Tensor(%a, %_lifted_tensor_constant1)
    return (%b user_output)
  }
})",
                PassTestOps());
}

// A scalar has lower promotion priority than a rank-0 tensor, such as a lifted constant.
TEST(ScalarToTensorTest, LiteralsDoNotPromoteTensorsWithoutDimensions) {
  ExpectRewrite(R"(program aten {
  graph(%x: i32[] user_input, %y: f16[] user_input, %z: i32[] user_input) {
    %a: i32[] = aten.add.Tensor(%x, 1)
    %b: f16[] = aten.mul.Tensor(%y, 2.5)
    %c: f32[] = aten.mul.Tensor(%z, 2.5)
    return (%a user_output, %b user_output, %c user_output)
  }
})",
                ScalarToTensor().run, R"(program aten {
  constants { state "_lifted_tensor_constant0": i32[] state "_lifted_tensor_constant1": f16[] state "_lifted_tensor_constant2": f32[] }
  graph(%_lifted_tensor_constant0: i32[] buffer "_lifted_tensor_constant0", %_lifted_tensor_constant1: f16[] buffer "_lifted_tensor_constant1", %_lifted_tensor_constant2: f32[] buffer "_lifted_tensor_constant2", %x: i32[] user_input, %y: f16[] user_input, %z: i32[] user_input) {
    %a: i32[] = aten.add.Tensor(%x, %_lifted_tensor_constant0)
    %b: f16[] = aten.mul.Tensor(%y, %_lifted_tensor_constant1)
    %c: f32[] = aten.mul.Tensor(%z, %_lifted_tensor_constant2)
    return (%a user_output, %b user_output, %c user_output)
  }
})",
                PassTestOps());
}

TEST(ScalarToTensorTest, KeepsLiteralsThatHalfPrecisionRounds) {
  ExpectRewrite(R"(program aten {
  graph(%x: f16[2] user_input, %y: bf16[] user_input) {
    %a: f16[2] = aten.mul.Tensor(%x, 0.3)
    %b: f16[2] = aten.add.Tensor(%a, 0.1)
    %c: bf16[] = aten.div.Tensor(%y, 1001)
    return (%b user_output, %c user_output)
  }
})",
                ScalarToTensor().run, R"(program aten {
  constants { state "_lifted_tensor_constant0": f32[] }
  graph(%_lifted_tensor_constant0: f32[] buffer "_lifted_tensor_constant0", %x: f16[2] user_input, %y: bf16[] user_input) {
    %a: f16[2] = aten.mul.Scalar(%x, 0.3)
    %b: f16[2] = aten.add.Tensor(%a, %_lifted_tensor_constant0)
    %c: bf16[] = aten.div.Scalar(%y, 1001)
    return (%b user_output, %c user_output)
  }
})",
                PassTestOps());
}

TEST(ScalarToTensorTest, KeepsSymbolicScalarsAmongHalfPrecision) {
  ExpectRewrite(R"(program aten {
  ranges { s0: [1, 8] }
  graph(%x: f16[s0] user_input, %y: bf16[] user_input) {
    %n: symint(s0) = aten.sym_size.int(%x, 0)
    %f: symfloat(IntTrueDiv(s0, 3)) = _operator.truediv(%n, 3)
    %a: f16[s0] = aten.mul.Tensor(%x, %f)
    %b: bf16[] = aten.div.Tensor(%y, %n)
    return (%a user_output, %b user_output)
  }
})",
                ScalarToTensor().run, R"(program aten {
  ranges { s0: [1, 8] }
  graph(%x: f16[s0] user_input, %y: bf16[] user_input) {
    %n: symint(s0) = aten.sym_size.int(%x, 0)
    %f: symfloat(IntTrueDiv(s0, 3)) = _operator.truediv(%n, 3)
    %a: f16[s0] = aten.mul.Scalar(%x, %f)
    %b: bf16[] = aten.div.Scalar(%y, %n)
    return (%a user_output, %b user_output)
  }
})",
                PassTestOps());
}

TEST(ScalarToTensorTest, LiteralsThatFloat32RoundsAreDoubleAmongDoubles) {
  ExpectRewrite(R"(program aten {
  graph(%x: f64[2] user_input) {
    %a: f64[2] = aten.add.Tensor(%x, 0.1)
    %b: f64[2] = aten.mul.Tensor(%a, 0.5)
    return (%b user_output)
  }
})",
                ScalarToTensor().run, R"(program aten {
  constants { state "_lifted_tensor_constant0": f64[] state "_lifted_tensor_constant1": f32[] }
  graph(%_lifted_tensor_constant0: f64[] buffer "_lifted_tensor_constant0", %_lifted_tensor_constant1: f32[] buffer "_lifted_tensor_constant1", %x: f64[2] user_input) {
    %a: f64[2] = aten.add.Tensor(%x, %_lifted_tensor_constant0)
    %b: f64[2] = aten.mul.Tensor(%a, %_lifted_tensor_constant1)
    return (%b user_output)
  }
})",
                PassTestOps());
}

TEST(ScalarToTensorTest, ComplexLiteralsBecomeConstantsThatPromoteAsTheyDo) {
  constexpr std::string_view kBefore = R"(program aten {
  graph(%x: f32[2] user_input, %y: f64[2] user_input, %n: i64[] user_input) {
    %a: c64[2] = aten.mul.Tensor(%x, complex:[0.0,1.0])
    %b: c128[2] = aten.add.Tensor(%y, complex:[0.5,2.0])
    %c: c128[2] = aten.mul.Tensor(%y, complex:[0.0,0.1])
    %d: c64[] = aten.mul.Tensor(%n, complex:[1.0,2.0])
    %e: c128[2] = aten.mul.Tensor(%c, 0.1)
    return (%a user_output, %b user_output, %c user_output, %d user_output, %e user_output)
  }
})";
  ExpectRewrite(kBefore, ScalarToTensor().run, R"(program aten {
  constants { state "_lifted_tensor_constant0": c64[] state "_lifted_tensor_constant1": c64[] state "_lifted_tensor_constant2": c128[] state "_lifted_tensor_constant3": c64[] state "_lifted_tensor_constant4": f64[] }
  graph(%_lifted_tensor_constant0: c64[] buffer "_lifted_tensor_constant0", %_lifted_tensor_constant1: c64[] buffer "_lifted_tensor_constant1", %_lifted_tensor_constant2: c128[] buffer "_lifted_tensor_constant2", %_lifted_tensor_constant3: c64[] buffer "_lifted_tensor_constant3", %_lifted_tensor_constant4: f64[] buffer "_lifted_tensor_constant4", %x: f32[2] user_input, %y: f64[2] user_input, %n: i64[] user_input) {
    %a: c64[2] = aten.mul.Tensor(%x, %_lifted_tensor_constant0)
    %b: c128[2] = aten.add.Tensor(%y, %_lifted_tensor_constant1)
    %c: c128[2] = aten.mul.Tensor(%y, %_lifted_tensor_constant2)
    %d: c64[] = aten.mul.Tensor(%n, %_lifted_tensor_constant3)
    %e: c128[2] = aten.mul.Tensor(%c, %_lifted_tensor_constant4)
    return (%a user_output, %b user_output, %c user_output, %d user_output, %e user_output)
  }
})",
                PassTestOps());
  ExportedProgram program = ParseOrDie(kBefore, PassTestOps());
  ASSERT_OK(ScalarToTensor().run(program).status());
  const auto constant = [&](int number) {
    return program.state_dict.at("_lifted_tensor_constant" + std::to_string(number)).view();
  };
  EXPECT_EQ(constant(1).as<std::complex<float>>()[0], std::complex<float>(0.5f, 2));
  EXPECT_EQ(constant(2).as<std::complex<double>>()[0], std::complex<double>(0, 0.1));
}

TEST(ScalarToTensorTest, ComplexLiteralsInSubgraphsAreCreatedThere) {
  ExpectRewrite(R"(program aten {
  graph(%p: b8[] user_input, %x: c64[2] user_input) {
    %c: c64[2] = higher_order.cond(%p, graph#1, graph#2, [%x])
    return (%c user_output)
  }
  graph body(%y: c64[2]) {
    %b: c64[2] = aten.mul.Tensor(%y, complex:[0.0,1.0])
    return (%b)
  }
  graph other(%y: c64[2]) { return (%y) }
})",
                ScalarToTensor().run, R"(program aten {
  graph(%p: b8[] user_input, %x: c64[2] user_input) {
    %c: c64[2] = higher_order.cond(%p, graph#1, graph#2, [%x])
    return (%c user_output)
  }
  graph body(%y: c64[2]) {
    %scalar: c64[] = aten.full.default([], complex:[0.0,1.0], dtype=dtype:c64)
    %b: c64[2] = aten.mul.Tensor(%y, %scalar)
    return (%b)
  }
  graph other(%y: c64[2]) { return (%y) }
})",
                PassTestOps());
}

TEST(ScalarToTensorTest, SymbolicSizesDoNotPromoteTensorsWithoutDimensions) {
  ExpectRewrite(R"(program aten {
  ranges { s0: [1, 8] }
  graph(%x: f32[s0] user_input, %y: i8[] user_input) {
    %n: symint(s0) = aten.sym_size.int(%x, 0)
    %a: i8[] = aten.mul.Tensor(%y, %n)
    return (%a user_output)
  }
})",
                ScalarToTensor().run, R"(program aten {
  ranges { s0: [1, 8] }
  graph(%x: f32[s0] user_input, %y: i8[] user_input) {
    %n: symint(s0) = aten.sym_size.int(%x, 0)
    %scalar_tensor: i64[] = aten.scalar_tensor.default(%n, dtype=dtype:i64)
    %_to_copy: i8[] = aten._to_copy.default(%scalar_tensor, dtype=dtype:i8)
    %a: i8[] = aten.mul.Tensor(%y, %_to_copy)
    return (%a user_output)
  }
})",
                PassTestOps());
}

TEST(ScalarToTensorTest, SymbolicSizesBecomeScalarTensors) {
  ExpectRewrite(R"(program aten {
  ranges { s0: [1, 8] }
  graph(%x: f32[s0] user_input) {
    %n: symint(s0) = aten.sym_size.int(%x, 0)
    %a: f32[s0] = aten.mul.Tensor(%x, %n)
    return (%a user_output)
  }
})",
                ScalarToTensor().run, R"(program aten {
  ranges { s0: [1, 8] }
  graph(%x: f32[s0] user_input) {
    %n: symint(s0) = aten.sym_size.int(%x, 0)
    %scalar_tensor: i64[] = aten.scalar_tensor.default(%n, dtype=dtype:i64)
    %a: f32[s0] = aten.mul.Tensor(%x, %scalar_tensor)
    return (%a user_output)
  }
})",
                PassTestOps());
}

// So that they share the debug handle of their user.
TEST(ScalarToTensorTest, NewNodesHaveTheProvenanceOfTheirUser) {
  ExportedProgram program = ParseOrDie(R"(program aten {
  ranges { s0: [1, 8] }
  graph(%p: b8[] user_input, %x: f32[s0] user_input) {
    %n: symint(s0) = aten.sym_size.int(%x, 0)
    %a: f32[s0] = aten.mul.Tensor(%x, %n)
    %c: f32[s0] = higher_order.cond(%p, graph#1, graph#2, [%a])
    return (%c user_output)
  }
  graph body(%y: f32[s0]) {
    %b: f32[s0] = aten.mul.Tensor(%y, 2.5)
    return (%b)
  }
  graph other(%y: f32[s0]) { return (%y) }
})",
                                       PassTestOps());
  Provenance provenance;
  provenance.origin = std::make_shared<const std::string>("mul@1");
  for (Graph& graph : program.graphs) {
    for (NodeId node : graph.NodeList()) {
      if (graph.node(node).target->name() == "aten.mul.Tensor") {
        GraphEditor(graph).SetProvenance(node, provenance);
      }
    }
  }
  ASSERT_OK_AND_ASSIGN(const bool changed, ScalarToTensor().run(program));
  EXPECT_TRUE(changed);
  int made = 0;
  for (const Graph& graph : program.graphs) {
    for (NodeId node : graph.nodes()) {
      const std::string& op = graph.node(node).target->name();
      if (op != "aten.scalar_tensor.default" && op != "aten.full.default") continue;
      EXPECT_EQ(graph.node(node).provenance.origin, provenance.origin) << op;
      ++made;
    }
  }
  EXPECT_EQ(made, 2);
}

// Returns the new call, and the constants with their dtypes: "mul.Tensor c64".
std::string Lifted(std::string_view call, std::string_view input = "%x: f32[2]") {
  ExportedProgram program =
      ParseOrDie(absl::StrCat("program aten { graph(", input, " user_input) {\n%r: f32[2] = ", call,
                              "\nreturn (%r user_output) } }"),
                 PassTestOps());
  const absl::StatusOr<bool> changed = ScalarToTensor().run(program);
  EXPECT_OK(changed.status());
  const OpOverload& op = *program.top().node(program.top().last()).target;
  std::string text = absl::StrCat(op.op(), ".", op.overload());
  for (const auto& [name, tensor] : program.state_dict) {
    absl::StrAppend(&text, " ", DTypeShortName(tensor.dtype()));
  }
  return text;
}

TEST(ScalarToTensorTest, LiteralsOfEachKindHaveTheDtypeThatPromotesAsTheyDo) {
  EXPECT_EQ(Lifted("aten.mul.Tensor(%x, true)"), "mul.Tensor b8");
  EXPECT_EQ(Lifted("aten.mul.Tensor(%x, 2)"), "mul.Tensor i64");
  // Numbers that float32 does not represent, among doubles; NaN is NaN in any dtype.
  EXPECT_EQ(Lifted("aten.mul.Tensor(%x, nan)", "%x: f64[2]"), "mul.Tensor f32");
  EXPECT_EQ(Lifted("aten.mul.Tensor(%x, 1e300)", "%x: f64[2]"), "mul.Tensor f64");
  EXPECT_EQ(Lifted("aten.add.Tensor(%x, complex:[0.1,1.0])", "%x: c32[]"), "add.Tensor c32");
  // Dtypes without a common dtype: the operator reports the error.
  EXPECT_EQ(Lifted("aten.mul.Tensor(%x, 2.5)", "%x: f8e4m3fn[]"), "mul.Tensor f32");
  EXPECT_EQ(Lifted("aten.addcmul.default(%x, %y, 2.5)", "%x: f8e4m3fn[2] user_input, %y: f32[2]"),
            "addcmul.default f32");
  // Operators that do not promote their operands.
  EXPECT_EQ(Lifted("aten.fill.Tensor(%x, 2)", "%x: i32[]"), "fill.Tensor i64");
  // Two literals; the second may remain a scalar only among half precision.
  EXPECT_EQ(Lifted("aten.mul.Tensor(2.5, 0.3)"), "mul.Tensor f32 f32");
  EXPECT_EQ(Lifted("aten.mul.Tensor(0.3, %x)", "%x: f16[2]"), "mul.Tensor f32");
}

// Half precision represents zero, and numbers within its mantissa and exponent range.
TEST(ScalarToTensorTest, ScalarsExactInHalfPrecisionBecomeTensors) {
  const struct {
    const char *dtype, *number;
    bool holds;
  } kCases[] = {
      {"f16", "0.0", true},
      {"f16", "2049.0", false},
      {"f16", "2048.0", true},
      {"f16", "65504.0", true},
      {"f16", "65536.0", false},
      {"f16", "-1.5", true},
      {"f16", "0.0001220703125", true},     // 2^-13
      {"f16", "0.000030517578125", false},  // 2^-15: subnormal
      {"bf16", "0.0", true},
      {"bf16", "257.0", false},
      {"bf16", "256.0", true},
      {"bf16", "1e38", false},
      {"bf16", "1.7014118346046923e38", true},   // 2^127
      {"bf16", "3.402823669209385e38", false},   // 2^128
      {"bf16", "5.877471754111438e-39", false},  // 2^-127: subnormal
      {"bf16", "2.3509887016445750e-38", true},  // 2^-125
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(absl::StrCat(c.dtype, " ", c.number));
    const std::string actual = Lifted(absl::StrCat("aten.mul.Tensor(%x, ", c.number, ")"),
                                      absl::StrCat("%x: ", c.dtype, "[2]"));
    EXPECT_EQ(actual, c.holds ? "mul.Tensor f32" : "mul.Scalar");
  }
}

TEST(ScalarToTensorTest, SymbolicScalarsOfEachKindBecomeTensors) {
  ExpectRewrite(R"(program aten {
  ranges { s0: [1, 8] }
  graph(%x: f64[s0] user_input) {
    %n: symint(s0) = aten.sym_size.int(%x, 0)
    %b: symbool(Eq(s0, 2)) = _operator.eq(%n, 2)
    %f: symfloat(IntTrueDiv(s0, 3)) = _operator.truediv(%n, 3)
    %a: f64[s0] = aten.mul.Tensor(%x, %b)
    %c: f64[s0] = aten.mul.Tensor(%a, %f)
    %d: f64[s0] = aten.mul.Tensor(%n, %c)
    %e: i64[] = aten.mul.Tensor(%n, %n)
    return (%d user_output, %e user_output)
  }
})",
                ScalarToTensor().run, R"(program aten {
  ranges { s0: [1, 8] }
  graph(%x: f64[s0] user_input) {
    %n: symint(s0) = aten.sym_size.int(%x, 0)
    %b: symbool(Eq(s0, 2)) = _operator.eq(%n, 2)
    %f: symfloat(IntTrueDiv(s0, 3)) = _operator.truediv(%n, 3)
    %scalar_tensor: b8[] = aten.scalar_tensor.default(%b, dtype=dtype:b8)
    %a: f64[s0] = aten.mul.Tensor(%x, %scalar_tensor)
    %scalar_tensor_1: f64[] = aten.scalar_tensor.default(%f, dtype=dtype:f64)
    %c: f64[s0] = aten.mul.Tensor(%a, %scalar_tensor_1)
    %scalar_tensor_2: i64[] = aten.scalar_tensor.default(%n, dtype=dtype:i64)
    %d: f64[s0] = aten.mul.Tensor(%scalar_tensor_2, %c)
    %scalar_tensor_3: i64[] = aten.scalar_tensor.default(%n, dtype=dtype:i64)
    %scalar_tensor_4: i64[] = aten.scalar_tensor.default(%n, dtype=dtype:i64)
    %e: i64[] = aten.mul.Tensor(%scalar_tensor_3, %scalar_tensor_4)
    return (%d user_output, %e user_output)
  }
})",
                PassTestOps());
}

// The registry may lack the operators that create tensors from scalars.
TEST(ScalarToTensorTest, NamesUnregisteredOperators) {
  constexpr OpDef kMul[] = {
      {.schema = "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor", .traits = kPointwise}};
  constexpr OpDef kMake[] = {
      {.schema = "aten::scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, "
                 "Device? device=None, bool? pin_memory=None) -> Tensor"}};
  const auto fails = [&](absl::Span<const absl::Span<const OpDef>> tables, std::string_view nodes,
                         std::string_view message) {
    ASSERT_OK_AND_ASSIGN(const auto ops, OpRegistry::Create(tables));
    ExportedProgram program = ParseOrDie(
        absl::StrCat("program aten { ranges { s0: [1, 8] } graph(%x: f16[2] user_input, %i: i8[] "
                     "user_input, %n: symint(s0) user_input, %f: symfloat(IntTrueDiv(s0, 3)) "
                     "user_input, %b: symbool(Eq(s0, 2)) user_input) {\n",
                     nodes),
        *ops);
    EXPECT_THAT(
        ScalarToTensor().run(program).status(),
        StatusIs(absl::StatusCode::kUnimplemented, testing::HasSubstr(std::string(message))));
  };
  const absl::Span<const OpDef> mul[] = {kMul}, both[] = {kMul, kMake};
  const std::string end = "\nreturn (%r user_output) } }";
  fails(mul, "%r: f16[2] = aten.mul.Tensor(%x, 0.3)" + end, "aten.mul.Scalar is not registered");
  fails(mul, "%r: f16[2] = aten.mul.Tensor(%x, %f)" + end, "aten.mul.Scalar is not registered");
  fails(mul, "%r: f16[2] = aten.mul.Tensor(%x, %b)" + end,
        "aten.scalar_tensor.default is not registered");
  fails(both, "%r: i8[] = aten.mul.Tensor(%i, %n)" + end,
        "aten._to_copy.default is not registered");
  fails(mul,
        "%r: f32[2] = higher_order.cond(%b, graph#1, graph#1, [%x])\nreturn (%r user_output) }\n"
        "graph body(%y: f32[2]) { %z: f32[2] = aten.mul.Tensor(%y, 2.0) return (%z) } }",
        "aten.full.default is not registered");
}

}  // namespace
}  // namespace belay::exir
