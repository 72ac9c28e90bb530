// Tests of meta kernels beyond the conformance cases: symbolic sizes, layouts, error messages.
#include "exir/ops/pointwise.h"

#include <complex>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exir/op_definition/op_registry.h"
#include "exir/ops/pointwise_layout.h"
#include "exir/ops/testing/meta_call.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;

class PointwiseTest : public MetaCallTest {
 protected:
  static SymExpr S(std::string_view name) { return SymExpr::Symbol(name); }
  static TensorMeta F32(std::vector<SymInt> sizes) {
    return TensorMeta::Contiguous(DType::kFloat32, std::move(sizes));
  }
};

TEST_F(PointwiseTest, SymbolBroadcastsWithOneAndItself) {
  EXPECT_EQ(Infer("aten.add.Tensor", {F32({S("s0"), 3}), F32({1, 3})}), "f32[s0,3]");
  EXPECT_EQ(Infer("aten.mul.Tensor", {F32({S("s0"), 1}), F32({S("s0"), S("s1")})}), "f32[s0,s1]");
  EXPECT_EQ(Infer("aten.add.Tensor", {F32({S("s0") * 2}), F32({S("s0") + S("s0")})}), "f32[2*s0]");
}

TEST_F(PointwiseTest, SizesThatMayBeEqualBroadcastAndOthersDoNot) {
  EXPECT_EQ(Infer("aten.add.Tensor", {F32({S("s0")}), F32({3})}), "f32[3]");
  EXPECT_EQ(Infer("aten.add.Tensor", {F32({S("s0")}), F32({S("u0")})}), "f32[s0]");
  EXPECT_EQ(Infer("aten.add.Tensor", {F32({S("s0")}), F32({S("s0") + 1})}),
            "aten::add.Tensor: shapes [s0] and [s0 + 1] do not broadcast: sizes s0 and s0 + 1 at "
            "dimension 0");
}

TEST_F(PointwiseTest, EmptyAndRankZeroTensorsBroadcast) {
  EXPECT_EQ(Infer("aten.add.Tensor", {F32({0, 3}), F32({1, 1})}), "f32[0,3]");
  EXPECT_EQ(Infer("aten.add.Tensor", {F32({}), F32({})}), "f32[]");
  EXPECT_EQ(
      Infer("aten.where.self", {TensorMeta::Contiguous(DType::kBool, {}), F32({2, 1}), F32({0})}),
      "f32[2,0]");
}

TEST_F(PointwiseTest, ScalarMayReplaceATensor) {
  EXPECT_EQ(Infer("aten.add.Tensor", {TensorMeta::Contiguous(DType::kInt32, {2}), SymExpr(3)}),
            "i32[2]");
  EXPECT_EQ(Infer("aten.add.Tensor", {TensorMeta::Contiguous(DType::kInt32, {2}), 0.5}), "f32[2]");
  EXPECT_EQ(Infer("aten.mul.Tensor", {TensorMeta::Contiguous(DType::kFloat16, {2}), S("s0")}),
            "f16[2]");
}

TEST_F(PointwiseTest, KeepsChannelsLastWithSymbolicBatch) {
  const TensorMeta x = TensorMeta::Dense(DType::kFloat32, {S("s0"), 3, S("s1"), 5}, {0, 2, 3, 1});
  EXPECT_EQ(Infer("aten.relu.default", {x}), "f32[s0,3,s1,5] strides [15*s1,1,15,3]");
  EXPECT_EQ(Infer("aten.mul.Tensor", {x, F32({1, 3, 1, 1})}),
            "f32[s0,3,s1,5] strides [15*s1,1,15,3]");
  EXPECT_EQ(Infer("aten.add.Tensor", {x, 2.0}), "f32[s0,3,s1,5] strides [15*s1,1,15,3]");
  // The first operand determines the layout.
  EXPECT_EQ(Infer("aten.add.Tensor", {F32({S("s0"), 3, S("s1"), 5}), x}), "f32[s0,3,s1,5]");
}

TEST_F(PointwiseTest, ExpandedAndGappedTensorsGiveDenseResults) {
  TensorMeta expanded = F32({4, S("s0")});
  expanded.strides = {0, 1};
  EXPECT_EQ(Infer("aten.neg.default", {expanded}), "f32[4,s0]");
  TensorMeta gapped = F32({4, 6});
  gapped.strides = {2, 16};
  EXPECT_EQ(Infer("aten.neg.default", {gapped}), "f32[4,6] strides [1,4]");
}

TEST_F(PointwiseTest, ErrorsNameTheArgument) {
  EXPECT_THAT(Infer("aten.sub.Tensor", {F32({2}), TensorMeta::Contiguous(DType::kBool, {2})}),
              HasSubstr("aten::sub.Tensor: argument 'other': bool can't be subtracted"));
  EXPECT_THAT(
      Infer("aten.add.Tensor", {TensorMeta::Contiguous(DType::kInt8, {2}), SymExpr(1), 0.5}),
      HasSubstr("argument 'alpha': a float does not scale int8"));
  EXPECT_THAT(Infer("aten.where.self", {F32({2}), F32({2}), F32({2})}),
              HasSubstr("argument 'condition': expected dtype uint8, bool, got float32"));
  EXPECT_THAT(Infer("aten.gelu.default", {F32({2}), std::string("erf")}),
              HasSubstr("argument 'approximate': expected none or tanh, got 'erf'"));
  EXPECT_THAT(Infer("aten.add.Tensor", {F32({2}), std::string("x")}),
              HasSubstr("argument 'other'"));
  EXPECT_THAT(Infer("aten.add.Tensor", {F32({2}), MetaValue()}), HasSubstr("argument 'other'"));
  EXPECT_THAT(Infer("aten.polygamma.default", {SymExpr(-1), F32({2})}),
              HasSubstr("argument 'n': expected at least 0, got -1"));
}

TEST_F(PointwiseTest, NextAfterKeepsHalfPrecision) {
  const TensorMeta half = TensorMeta::Contiguous(DType::kFloat16, {2});
  const TensorMeta brain = TensorMeta::Contiguous(DType::kBFloat16, {2});
  EXPECT_EQ(Infer("aten.nextafter.default", {half, half}), "f16[2]");
  EXPECT_EQ(Infer("aten.nextafter.default", {half, brain}), "f32[2]");
}

TEST_F(PointwiseTest, GluHalvesASymbolicDimension) {
  EXPECT_EQ(Infer("aten.glu.default", {F32({S("s0"), S("s1") * 2}), SymExpr(-1)}), "f32[s0,s1]");
  EXPECT_THAT(Infer("aten.glu.default", {F32({3, 4}), SymExpr(0)}),
              HasSubstr("expected an even size"));
}

TEST_F(PointwiseTest, ArangeCountsSymbolically) {
  const auto arange = [&](SymExpr start, SymExpr end, SymExpr step) {
    return Infer("aten.arange.start_step", {start, end, step});
  };
  EXPECT_EQ(arange(0, S("s0"), 1), "i64[s0]");
  EXPECT_EQ(arange(2, S("s0") + 2, 1), "i64[s0]");
  EXPECT_EQ(arange(0, S("s0") * 4, 2), "i64[2*s0]");
  EXPECT_EQ(arange(S("s0"), 0, -1), "i64[s0]");
  EXPECT_EQ(arange(0, 7, 3), "i64[3]");
  EXPECT_EQ(arange(7, 0, -3), "i64[3]");
  EXPECT_THAT(arange(0, S("s0"), 0), HasSubstr("the step must not be zero"));
  EXPECT_EQ(arange(S("s0"), -1, SymExpr::Float(-1)), "f32[s0 + 1]");
  EXPECT_EQ(arange(0, S("s0"), SymExpr::Float(0.5)), "f32[CeilToInt(FloatTrueDiv(s0, 0.5))]");
  EXPECT_THAT(arange(0, S("s0"), SymExpr::Float(0)), HasSubstr("the step must not be zero"));
  EXPECT_EQ(Infer("aten.arange.default", {2.5}), "f32[3]");
  EXPECT_EQ(Infer("aten.arange.default", {SymExpr::Function("ToFloat", {S("s0")})}),
            "f32[CeilToInt(FloatTrueDiv(ToFloat(s0), 1))]");
}

TEST_F(PointwiseTest, ComplexNumbersWithoutImaginaryPartAreReal) {
  const std::complex<double> real = {2, 0}, complex = {2, 1};
  EXPECT_EQ(Infer("aten.elu.default", {F32({3}), real}), "f32[3]");
  EXPECT_EQ(Infer("aten.clamp.default", {F32({3}), real}), "f32[3]");
  EXPECT_EQ(Infer("aten.arange.default", {real}), "f32[2]");
  EXPECT_EQ(
      Infer("aten.constant_pad_nd.default", {F32({3}), MetaList{SymExpr(1), SymExpr(1)}, real}),
      "f32[5]");
  EXPECT_THAT(Infer("aten.elu.default", {F32({3}), complex}),
              HasSubstr("argument 'alpha': expected a real number, got complex"));
  EXPECT_THAT(Infer("aten.clamp.default", {F32({3}), complex}),
              HasSubstr("expected a real number"));
  EXPECT_THAT(Infer("aten.arange.default", {complex}), HasSubstr("expected a real number"));
}

TEST_F(PointwiseTest, ArangeComparesNumbersExactly) {
  const auto arange = [&](MetaValue start, MetaValue end, MetaValue step, DType dtype) {
    return Infer("aten.arange.start_step", {start, end, step, dtype});
  };
  EXPECT_EQ(arange(0.0, 0.69, 0.3, DType::kInt16), "i16[3]");
  EXPECT_THAT(arange(0.0, 0.69, 0.3, DType::kInt64), HasSubstr("the step must not be zero"));
  EXPECT_THAT(arange(0.5, SymExpr(0), SymExpr(1), DType::kInt64), HasSubstr("does not lead"));
}

TEST_F(PointwiseTest, RejectsTooManyElements) {
  EXPECT_THAT(Infer("aten.zeros.default",
                    {MetaValue(MetaList{SymExpr(2), SymExpr(int64_t{1} << 62), SymExpr(8)})}),
              HasSubstr("too many elements"));
}

TEST_F(PointwiseTest, CreationSupportsSymbolicSizes) {
  EXPECT_EQ(Infer("aten.full.default", {MetaList{S("s0"), SymExpr(3)}, true}), "b8[s0,3]");
  EXPECT_THAT(Infer("aten.zeros.default", {MetaValue(MetaList{S("s0"), SymExpr(-3)})}),
              HasSubstr("argument 'size': size -3 at dimension 1"));
  const TensorMeta transposed = TensorMeta::Dense(DType::kFloat16, {S("s0"), 4}, {1, 0});
  EXPECT_EQ(Infer("aten.zeros_like.default", {transposed}), "f16[s0,4] strides [1,s0]");
}

TEST_F(PointwiseTest, ScalarArithmeticOnSymbols) {
  EXPECT_EQ(Infer("_operator.mul", {S("s0"), SymExpr(2)}), "2*s0");
  EXPECT_EQ(Infer("_operator.floordiv", {S("s0") * 4, SymExpr(2)}), "2*s0");
  EXPECT_EQ(Infer("_operator.floordiv", {SymExpr(-7), SymExpr(2)}), "-4");
  EXPECT_EQ(Infer("_operator.ge", {S("s0"), SymExpr(2)}), "Ge(s0, 2)");
  EXPECT_EQ(Infer("_operator.truediv", {SymExpr(1), SymExpr(4)}), "float 0.250000");
  EXPECT_EQ(Infer("torch.sym_max", {S("s0"), S("s0") + 1}), "s0 + 1");
  EXPECT_EQ(Infer("torch.sym_not", {SymExpr::Function("Eq", {S("s0"), SymExpr(1)})}), "Ne(s0, 1)");
  EXPECT_EQ(Infer("torch.sym_not", {true}), "false");
  EXPECT_EQ(Infer("torch.sym_int", {S("s0")}), "s0");
  EXPECT_THAT(Infer("_operator.mod", {S("s0"), SymExpr(0)}),
              HasSubstr("argument 'b': division by zero"));
  EXPECT_THAT(Infer("_operator.floordiv", {SymExpr(1), SymExpr(0)}),
              HasSubstr("_operator::floordiv"));
  EXPECT_THAT(Infer("_operator.add", {F32({}), SymExpr(0)}), HasSubstr("argument 'a'"));
}

TEST_F(PointwiseTest, SizesAndStridesAreExpressions) {
  const TensorMeta x = F32({S("s0"), S("s1"), 4});
  EXPECT_EQ(Infer("aten.sym_size.int", {x, SymExpr(-2)}), "s1");
  EXPECT_EQ(Infer("aten.sym_stride.int", {x, SymExpr(0)}), "4*s1");
  EXPECT_EQ(Infer("aten.sym_numel.default", {x}), "4*s0*s1");
  EXPECT_EQ(Infer("aten.sym_is_contiguous.default", {x, MemoryFormat::kContiguous}), "true");
  EXPECT_THAT(Infer("aten.sym_size.int", {x, SymExpr(3)}),
              HasSubstr("argument 'dim': dim 3 is out of range"));
}

TEST_F(PointwiseTest, ElementBecomesAFreshSymbol) {
  EXPECT_EQ(Infer("aten._local_scalar_dense.default", {TensorMeta::Contiguous(DType::kInt64, {})}),
            "u0");
  EXPECT_EQ(symbols_.last.min, SymRange::kUnboundedBelow);
  EXPECT_EQ(Infer("aten._local_scalar_dense.default", {TensorMeta::Contiguous(DType::kBool, {1})}),
            "Eq(u1, 1)");
  EXPECT_EQ(Infer("aten._local_scalar_dense.default", {F32({2})}), "ToFloat(u2)");
  EXPECT_THAT(Infer("aten._local_scalar_dense.default", {F32({0})}),
              HasSubstr("expected an element, got none"));
}

TEST_F(PointwiseTest, RejectsAssertionsThatAlwaysFail) {
  EXPECT_OK(InferValue("aten._assert_scalar.default",
                       {SymExpr::Function("Ge", {S("u0"), SymExpr(0)}), std::string("m")}));
  EXPECT_THAT(
      InferValue("aten._assert_scalar.default", {false, std::string("u0 is negative")}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("always fails: u0 is negative")));
  EXPECT_THAT(
      InferValue("aten._assert_tensor_metadata.default",
                 {F32({2}), MetaValue(), MetaValue(), DType::kInt8}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected dtype int8, got float32")));
}

}  // namespace
}  // namespace belay::exir
