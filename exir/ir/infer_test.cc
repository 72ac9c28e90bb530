#include "exir/ir/infer.h"

#include <complex>
#include <memory>
#include <string>
#include <vector>

#include "exir/ir/graph_editor.h"
#include "exir/ir/text.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;

// The result is the argument.
absl::Status Same(MetaContext& context) {
  context.SetOutput(0, context.argument(0));
  return absl::OkStatus();
}
// Transposes a matrix.
absl::Status Transpose(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  const uint8_t order[] = {1, 0};
  context.SetOutput(0, TensorMeta::Dense(self->dtype, self->sizes, order));
  return absl::OkStatus();
}
// Splits into two rows.
absl::Status Split(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  const TensorMeta row = TensorMeta::Contiguous(self->dtype, {self->sizes[1]});
  context.SetOutput(0, MetaList{row, row});
  return absl::OkStatus();
}
// Repeats a row without a copy: the result has no dim order.
absl::Status Expand(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  TensorMeta result = *self;
  result.strides[0] = 0;
  context.SetOutput(0, result);
  return absl::OkStatus();
}
absl::Status Nonzero(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(SymExpr count, context.FreshSymbol({}));
  context.SetTensor(0, DType::kInt64, {count, 2});
  return absl::OkStatus();
}

constexpr OpDef kOps[] = {
    {.schema = "t::same(Any x) -> Any", .meta = Same},
    {.schema = "t::relu(Tensor self) -> Tensor", .meta = Same},
    {.schema = "t::transpose(Tensor self) -> Tensor", .meta = Transpose},
    {.schema = "t::split(Tensor self) -> Tensor[]", .meta = Split},
    {.schema = "t::expand(Tensor self) -> Tensor", .meta = Expand},
    {.schema = "t::nonzero(Tensor self) -> Tensor", .meta = Nonzero},
    {.schema = "t::without(Tensor self) -> Tensor"},
};

class InferTest : public ::testing::Test {
 protected:
  ExportedProgram Parse(std::string_view body) {
    return ParseOrDie(
        absl::StrCat("program aten {\ngraph(%x: f32[2,3] user_input, %s: f32[s0,s1] user_input, "
                     "%i: symint(s0) user_input, %f: symfloat(2.5) user_input, "
                     "%b: symbool(Eq(s0, 1)) user_input, %two: const(2) constant_input, "
                     "%half: const(0.5) constant_input, %yes: const(true) constant_input, "
                     "%text: const(\"t\") constant_input, %no: const(none) constant_input, "
                     "%object: object(\"a.B\") custom_obj \"o\", %token: token token) {\n",
                     body, "\nreturn () }\ngraph body() { return () } }"),
        *ops_);
  }
  // Returns the inferred result of the first node, or the error.
  std::string Inferred(std::string_view argument) {
    const ExportedProgram program = Parse(absl::StrCat("%r: f32[] = t.same(", argument, ")"));
    const Graph& graph = program.top();
    const Node& node = graph.node(graph.first());
    const absl::StatusOr<std::vector<MetaValue>> outputs =
        InferOutputs(graph, node.target, node.arguments, nullptr);
    if (!outputs.ok()) return outputs.status().ToString();
    const MetaValue& value = (*outputs)[0];
    if (value.is_none()) return "none";
    if (const MetaList* list = value.get_if<MetaList>()) {
      return absl::StrCat("list of ", list->size());
    }
    if (const std::string* text = value.get_if<std::string>()) return *text;
    if (const DType* dtype = value.get_if<DType>()) return std::string(DTypeName(*dtype));
    if (value.get_if<std::complex<double>>() != nullptr) return "complex";
    if (value.get_if<MemoryFormat>() != nullptr) return "memory format";
    if (value.get_if<Layout>() != nullptr) return "layout";
    if (value.get_if<Device>() != nullptr) return "device";
    return PrintType(ToValueType(value));
  }
  // Returns the first node with the inferred layouts, or the error.
  std::string Refreshed(std::string_view node) {
    ExportedProgram program = Parse(node);
    const ExportedProgram before = program.Clone();
    const absl::StatusOr<bool> changed = RefreshLayouts(program);
    if (!changed.ok()) {
      EXPECT_EQ(changed.status().code(), absl::StatusCode::kInvalidArgument);
      return std::string(changed.status().message());
    }
    EXPECT_EQ(*changed, !Equal(program, before)) << node;
    return PrintNode(program.top(), program.top().first());
  }

  const std::unique_ptr<OpRegistry> ops_ = *OpRegistry::Create({kOps});
};

TEST_F(InferTest, ConvertsArgumentsByKind) {
  const std::pair<std::string_view, std::string_view> kCases[] = {
      {"%x", "f32[2,3]"},
      {"%i", "symint(s0)"},
      {"%f", "symfloat(2.5)"},
      {"%b", "symbool(Eq(s0, 1))"},
      {"%two", "symint(2)"},
      {"%half", "symfloat(0.5)"},
      {"%yes", "symbool(true)"},
      {"%text", "t"},
      {"%no", "none"},
      {"%object", "none"},
      {"%token", "none"},
      {"none", "none"},
      {"3", "symint(3)"},
      {"2.5", "symfloat(2.5)"},
      {"true", "symbool(true)"},
      {"\"word\"", "word"},
      {"(1+2j)", "complex"},
      {"dtype:i8", "int8"},
      {"format:preserve", "memory format"},
      {"layout:strided", "layout"},
      {"device:cpu", "device"},
      {"[1,%x,none]", "list of 3"},
  };
  for (const auto& [argument, want] : kCases) EXPECT_EQ(Inferred(argument), want) << argument;
}

TEST_F(InferTest, GraphsAndDictionariesHaveNoMetadata) {
  for (std::string_view argument : {"graph#1", "{\"k\": 1}", "op:\"f\"", "[1,[graph#1]]"}) {
    EXPECT_EQ(Inferred(argument),
              "UNIMPLEMENTED: graphs, modules, operators and dictionaries have no metadata")
        << argument;
  }
}

TEST_F(InferTest, OperatorsWithoutMetaKernelAreNotInferred) {
  const ExportedProgram program =
      Parse("%r: f32[] = t.without(%x)\n%q: f32[] = unknown.op.default(%x)");
  const Graph& graph = program.top();
  for (NodeId id : graph.nodes()) {
    EXPECT_THAT(
        InferOutputs(graph, graph.node(id).target, graph.node(id).arguments, nullptr),
        StatusIs(absl::StatusCode::kUnimplemented,
                 absl::StrCat("operator ", graph.node(id).target->name(), " has no meta kernel")));
  }
}

TEST_F(InferTest, DataDependentSizesNeedASymbolSource) {
  const ExportedProgram program = Parse("%r: i64[u0,2] = t.nonzero(%x)");
  const Node& node = program.top().node(program.top().first());
  EXPECT_THAT(InferOutputs(program.top(), node.target, node.arguments, nullptr),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("t::nonzero.default")));
}

// A scalar has the type of its expression.
TEST(ToValueTypeTest, FollowsTheExpression) {
  const SymExpr s = SymExpr::Symbol("s0");
  const SymExpr real = SymExpr::Function("ToFloat", {s});
  const std::pair<MetaValue, std::string_view> kCases[] = {
      {TensorMeta::Contiguous(DType::kInt8, {2}), "i8[2]"},
      {true, "symbool(true)"},
      {2.5, "symfloat(2.5)"},
      {SymExpr(3), "symint(3)"},
      {s, "symint(s0)"},
      {s * 2 + 1, "symint(2*s0 + 1)"},
      {SymExpr::Function("FloorDiv", {s, 2}), "symint(FloorDiv(s0, 2))"},
      {SymExpr::Float(0.5), "symfloat(0.5)"},
      {SymExpr::Symbol("zuf0"), "symfloat(zuf0)"},
      {real, "symfloat(ToFloat(s0))"},
      {real * SymExpr::Float(2.5), "symfloat(2.5*ToFloat(s0))"},
      {SymExpr::Function("Max", {real, 1}), "symfloat(Max(1, ToFloat(s0)))"},
      {SymExpr::Function("IntTrueDiv", {s, 2}), "symfloat(IntTrueDiv(s0, 2))"},
      {SymExpr::Bool(false), "symbool(false)"},
      {SymExpr::Function("Lt", {s, 2}), "symbool(Lt(s0, 2))"},
      {SymExpr::Function("And", {SymExpr::Function("Lt", {s, 2}), SymExpr::Function("Ne", {s, 1})}),
       "symbool(And(Lt(s0, 2), Ne(s0, 1)))"},
  };
  for (const auto& [value, want] : kCases) EXPECT_EQ(PrintType(ToValueType(value)), want);
}

TEST_F(InferTest, LayoutsAreRefreshed) {
  const std::pair<std::string_view, std::string_view> kCases[] = {
      {"%r: f32[2,3] = t.transpose(%x)", "%r: f32[2,3]{strides=[1,2]} = t.transpose.default(%x)"},
      {"%r: f32[2,3]{strides=[1,2]} = t.relu(%x)", "%r: f32[2,3] = t.relu.default(%x)"},
      {"%r: f32[2,3] = t.relu(%x)", "%r: f32[2,3] = t.relu.default(%x)"},
      // Attributes other than the layout are kept; an offset is not.
      {"%r: f32[2,3]{offset=1,device=cuda:0,grad} = t.transpose(%x)",
       "%r: f32[2,3]{strides=[1,2],device=cuda:0,grad} = t.transpose.default(%x)"},
      // Sizes of the program are kept; compared only if both are numbers.
      {"%r: f32[4,s7] = t.transpose(%s)", "%r: f32[4,s7]{strides=[1,4]} = t.transpose.default(%s)"},
      {"%r: f32[s5,3] = t.transpose(%x)",
       "%r: f32[s5,3]{strides=[1,s5]} = t.transpose.default(%x)"},
      {"%r: i64[u0,2]{strides=[1,u0]} = t.nonzero(%x)", "%r: i64[u0,2] = t.nonzero.default(%x)"},
      // Each element of a list.
      {"[%r: f32[3]{strides=[5]}, %q: f32[3]{strides=[5]}] = t.split(%x)",
       "[%r: f32[3], %q: f32[3]] = t.split.default(%x)"},
      {"[%r: f32[3]{strides=[5]}, %q: f32[3], %p: f32[3]{strides=[5]}] = t.split(%x)",
       "[%r: f32[3], %q: f32[3], %p: f32[3]{strides=[5]}] = t.split.default(%x)"},
      {"%r: f32[2,3], %q: f32[2,3]{strides=[1,2]} = t.relu(%x)",
       "%r: f32[2,3], %q: f32[2,3]{strides=[1,2]} = t.relu.default(%x)"},
      // Nothing to compare, or no dim order.
      {"%r: symint(3) = t.relu(%x)", "%r: symint(3) = t.relu.default(%x)"},
      {"%r: f32[2,3]{strides=[1,2]} = t.same(%i)",
       "%r: f32[2,3]{strides=[1,2]} = t.same.default(%i)"},
      {"%r: f32[2,3]{strides=[1,2]} = t.expand(%x)",
       "%r: f32[2,3]{strides=[1,2]} = t.expand.default(%x)"},
      {"%r: f32[2,3]{strides=[1,2]} = t.without(%x)",
       "%r: f32[2,3]{strides=[1,2]} = t.without.default(%x)"},
  };
  for (const auto& [node, want] : kCases) EXPECT_EQ(Refreshed(node), want);
}

TEST_F(InferTest, RejectsContradictingDeclarations) {
  const std::pair<std::string_view, std::string_view> kCases[] = {
      {"%r: f64[2,3] = t.relu(%x)",
       "the program declares 'r' as f64[2,3], its operator infers f32[2,3]\n  at %r: f64[2,3] = "
       "t.relu.default(%x)"},
      {"%r: f32[6] = t.relu(%x)",
       "the program declares 'r' as f32[6], its operator infers f32[2,3]\n  at %r: f32[6] = "
       "t.relu.default(%x)"},
      {"%r: f32[2,4] = t.relu(%x)",
       "the program declares 'r' as f32[2,4], its operator infers f32[2,3]\n  at %r: f32[2,4] = "
       "t.relu.default(%x)"},
      {"%r: f32[2,3] = t.transpose(3)",
       "t::transpose.default: argument 'self': expected a tensor, got int 3\n  at %r: f32[2,3] = "
       "t.transpose.default(3)"},
  };
  for (const auto& [node, want] : kCases) EXPECT_EQ(Refreshed(node), want);
}

TEST_F(InferTest, PropagatesRefreshedLayouts) {
  ExportedProgram program = Parse(
      "%first: f32[2,3] = t.transpose(%x)\n%second: f32[2,3] = t.relu(%first)\n%third: f32[2,3] = "
      "t.relu(%x)");
  ASSERT_OK_AND_ASSIGN(bool changed, RefreshLayouts(program));
  EXPECT_TRUE(changed);
  EXPECT_EQ(PrintNode(program.top(), FindNode(program.top(), "second")),
            "%second: f32[2,3]{strides=[1,2]} = t.relu.default(%first)");
  ASSERT_OK_AND_ASSIGN(changed, RefreshLayouts(program));
  EXPECT_FALSE(changed);
}

}  // namespace
}  // namespace belay::exir
