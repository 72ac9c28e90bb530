#include "exir/builder/op_shorthand.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kInputs =
    "program aten { ranges { s0: [2, 8] } graph main(%x: f32[2,3] user_input, %i: i64[2,3] "
    "user_input, %h: f16[2,3] user_input, %e: f8e4m3fn[2,3] user_input, %c: b8[2,3] user_input, "
    "%o: f32[1,3] user_input, %n: symint(s0) user_input) { return (%x user_output) } }";

class OpShorthandTest : public ::testing::Test {
 protected:
  // Returns the nodes that `make` emits in a new program, as text.
  std::vector<std::string> Made(const std::function<void(OpBuilder&)>& make) {
    ExportedProgram program = ParseOrDie(kInputs, *ops_);
    GraphEditor editor(program.top());
    OpBuilder b(program, editor);
    b.MoveToEnd();
    make(b);
    status_ = b.status();
    std::vector<std::string> nodes;
    for (NodeId id : b.graph().nodes()) nodes.push_back(PrintNode(b.graph(), id));
    return nodes;
  }
  static Argument In(const OpBuilder& b, std::string_view name) {
    return FindValue(b.graph(), name);
  }

  const std::unique_ptr<OpRegistry> ops_ = *CreateStandardOps();
  absl::Status status_;
};

TEST_F(OpShorthandTest, CallsTheOverloadOfTheOperands) {
  const std::pair<std::function<void(OpBuilder&)>, std::vector<std::string_view>> cases[] = {
      {[](OpBuilder& b) { Unary(b, "exp", In(b, "x")); }, {"aten.exp.default(%x)"}},
      {[](OpBuilder& b) { Add(b, In(b, "x"), In(b, "i")); }, {"aten.add.Tensor(%x, %i)"}},
      {[](OpBuilder& b) { Sub(b, In(b, "x"), 2); }, {"aten.sub.Scalar(%x, 2)"}},
      {[](OpBuilder& b) { Mul(b, In(b, "x"), In(b, "n")); }, {"aten.mul.Scalar(%x, %n)"}},
      {[](OpBuilder& b) { Div(b, In(b, "x"), SymExpr::Symbol("s0")); },
       {"aten.div.Scalar(%x, %n)"}},
      {[](OpBuilder& b) { Pow(b, In(b, "x"), 2); }, {"aten.pow.Tensor_Scalar(%x, 2)"}},
      {[](OpBuilder& b) { NumberMinus(b, 1, In(b, "x")); },
       {"aten.neg.default(%x)", "aten.add.Scalar(%neg, 1)"}},
      {[](OpBuilder& b) { Clamp(b, In(b, "x"), 0, 6); }, {"aten.clamp.default(%x, 0, 6)"}},
      {[](OpBuilder& b) { Sum(b, In(b, "x"), {1}, true); },
       {"aten.sum.dim_IntList(%x, [1], true)"}},
      {[](OpBuilder& b) { SumAll(b, In(b, "x")); }, {"aten.sum.dim_IntList(%x, [])"}},
      {[](OpBuilder& b) { Mean(b, In(b, "x"), {0}); }, {"aten.mean.dim(%x, [0])"}},
      {[](OpBuilder& b) { MeanAll(b, In(b, "x")); }, {"aten.mean.default(%x)"}},
      {[](OpBuilder& b) { Squeeze(b, In(b, "o"), 0); }, {"aten.squeeze.dims(%o, [0])"}},
      {[](OpBuilder& b) { Unsqueeze(b, In(b, "x"), -1); }, {"aten.unsqueeze.default(%x, -1)"}},
      {[](OpBuilder& b) { Expand(b, In(b, "o"), {4, 3}); }, {"aten.expand.default(%o, [4,3])"}},
      {[](OpBuilder& b) { Select(b, In(b, "x"), 0, 1); }, {"aten.select.int(%x, 0, 1)"}},
      {[](OpBuilder& b) { Slice(b, In(b, "x"), 1, 0, 2); }, {"aten.slice.Tensor(%x, 1, 0, 2)"}},
      {[](OpBuilder& b) { Cat(b, {In(b, "x"), In(b, "o")}, 0); }, {"aten.cat.default([%x,%o])"}},
      {[](OpBuilder& b) { Clone(b, In(b, "x")); }, {"aten.clone.default(%x)"}},
      {[](OpBuilder& b) { Full(b, {2}, 7, DType::kInt64); },
       {"aten.full.default([2], 7, dtype=dtype:i64)"}},
      {[](OpBuilder& b) { Arange(b, 3); }, {"aten.arange.start_step(0, 3, dtype=dtype:i64)"}},
  };
  for (const auto& [make, calls] : cases) {
    const std::vector<std::string> nodes = Made(make);
    ASSERT_OK(status_) << std::string(calls[0]);
    ASSERT_EQ(nodes.size(), calls.size()) << std::string(calls[0]);
    for (size_t k = 0; k < calls.size(); ++k) {
      EXPECT_THAT(nodes[k], HasSubstr(std::string(calls[k])));
    }
  }
}

TEST_F(OpShorthandTest, WhereUsesTensorsOfOneDtype) {
  const auto dtype_of = [&](std::string_view x, std::string_view y) {
    DType dtype = DType::kBool;
    const auto operand = [](const OpBuilder& b, std::string_view name) {
      return name.empty() ? Argument(int64_t{2}) : In(b, name);
    };
    Made(
        [&](OpBuilder& b) { dtype = b.dtype(Where(b, In(b, "c"), operand(b, x), operand(b, y))); });
    EXPECT_OK(status_);
    return dtype;
  };
  EXPECT_EQ(dtype_of("x", "x"), DType::kFloat32);
  EXPECT_EQ(dtype_of("h", ""), DType::kFloat16);
  EXPECT_EQ(dtype_of("", "i"), DType::kInt64);
  EXPECT_EQ(dtype_of("", ""), DType::kFloat32);
}

TEST_F(OpShorthandTest, HalfPrecisionIsComputedInFloat32) {
  EXPECT_EQ(ComputeDtype(DType::kFloat16), DType::kFloat32);
  EXPECT_EQ(ComputeDtype(DType::kFloat64), DType::kFloat64);
  EXPECT_EQ(ComputeDtype(DType::kInt8), DType::kInt8);
  EXPECT_EQ(FloatDtype(DType::kBool), DType::kFloat32);
  EXPECT_EQ(FloatDtype(DType::kFloat16), DType::kFloat32);
  EXPECT_EQ(FloatDtype(DType::kFloat64), DType::kFloat64);
  EXPECT_EQ(ResultFloat(DType::kInt64), DType::kFloat32);
  EXPECT_EQ(ResultFloat(DType::kFloat16), DType::kFloat16);
  const auto exp = [](OpBuilder& b) {
    return [&b](const Argument& x) { return Unary(b, "exp", x); };
  };
  EXPECT_THAT(Made([&](OpBuilder& b) {
                EXPECT_EQ(b.dtype(Computed(b, In(b, "h"), exp(b))[0]), DType::kFloat16);
              }),
              ElementsAre(HasSubstr("aten._to_copy.default(%h"), HasSubstr("aten.exp.default"),
                          HasSubstr("aten._to_copy.default(%exp")));
  EXPECT_THAT(Made([&](OpBuilder& b) {
                EXPECT_EQ(b.dtype(ComputedFloat(b, In(b, "i"), exp(b))[0]), DType::kFloat32);
              }),
              ElementsAre(HasSubstr("aten._to_copy.default(%i"), HasSubstr("aten.exp.default")));
  EXPECT_THAT(Made([&](OpBuilder& b) { Computed(b, In(b, "x"), exp(b)); }),
              ElementsAre(HasSubstr("aten.exp.default(%x)")));
}

TEST_F(OpShorthandTest, RejectsTypesWithoutCommonType) {
  const std::function<void(OpBuilder&)> uses[] = {
      [](OpBuilder& b) {
        Argument e = In(b, "e"), x = In(b, "x");
        EXPECT_EQ(Promote(b, {&e, &x}), DType::kFloat32);
      },
      [](OpBuilder& b) { EXPECT_EQ(PromotedDtype(b, In(b, "e"), In(b, "x")), DType::kFloat32); }};
  for (const auto& use : uses) {
    EXPECT_TRUE(Made(use).empty());
    EXPECT_THAT(status_, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("float8")));
  }
}

TEST_F(OpShorthandTest, SizesOfOneBroadcastToAnyOther) {
  for (const std::vector<std::string_view>& names :
       {std::vector<std::string_view>{"x", "o"}, {"o", "x"}, {"o", "x", "o"}}) {
    Made([&](OpBuilder& b) {
      std::vector<Argument> tensors;
      for (const std::string_view name : names) tensors.push_back(In(b, name));
      EXPECT_THAT(BroadcastSizes(b, tensors), ElementsAre(SymInt(2), SymInt(3)));
    });
    EXPECT_OK(status_);
  }
}

TEST_F(OpShorthandTest, RowsMayBeAliasesOrIdentity) {
  const OpOverload* op = *ops_->Lookup("aten.neg.default");
  EXPECT_THAT(Made([&](OpBuilder& b) {
                const OpCall call(b, op, {In(b, "x")});
                EXPECT_EQ(Same<"aten.abs.default">(b, call).size(), 1u);
                EXPECT_THAT(Identity(b, call), ElementsAre(In(b, "x")));
                EXPECT_EQ(One(In(b, "x")).size(), 1u);
              }),
              ElementsAre(HasSubstr("aten.abs.default(%x)")));
}

}  // namespace
}  // namespace belay::exir
