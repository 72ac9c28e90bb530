#include "exir/op/meta_context.h"

#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

class MetaContextTest : public ::testing::Test {
 protected:
  MetaContext Make(std::vector<MetaValue> arguments, SymbolSource* symbols = nullptr) {
    return MetaContext(schema_, std::move(arguments), symbols);
  }
  const FunctionSchema schema_ = *FunctionSchema::Parse(
      "my::op(Tensor self, int[2] size, Scalar alpha, Tensor?[] indices) -> (Tensor, Tensor)");
  const TensorMeta tensor_ = TensorMeta::Contiguous(DType::kFloat32, {2, SymExpr::Symbol("s0")});
};

TEST_F(MetaContextTest, GivesArgumentsOfTheRightKind) {
  const MetaContext c =
      Make({tensor_, MetaList{SymExpr(3), SymExpr::Symbol("s0")}, 2.5, MetaList{None{}, tensor_}});
  ASSERT_OK_AND_ASSIGN(const TensorMeta* tensor, c.Tensor(0));
  EXPECT_EQ(*tensor, tensor_);
  ASSERT_OK_AND_ASSIGN(const std::vector<SymInt> size, c.IntList(1));
  EXPECT_EQ(size, (std::vector<SymInt>{3, SymExpr::Symbol("s0")}));
  ASSERT_OK_AND_ASSIGN(const double alpha, c.Double(2));
  EXPECT_EQ(alpha, 2.5);
  ASSERT_OK_AND_ASSIGN(const auto indices, c.TensorList(3));
  ASSERT_EQ(indices.size(), 2u);
  EXPECT_EQ(indices[0], nullptr);
  EXPECT_NE(indices[1], nullptr);
}

TEST_F(MetaContextTest, NamesTheArgumentAndWhatCame) {
  const MetaContext c = Make({SymExpr(1), tensor_, std::string("x"), MetaList{true}});
  EXPECT_THAT(c.Tensor(0),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "my::op.default: argument 'self': expected a tensor, got int 1"));
  EXPECT_THAT(
      c.IntList(1),
      StatusIs(absl::StatusCode::kInvalidArgument,
               ::testing::HasSubstr("'size': expected a list of ints, got tensor f32[2,s0]")));
  EXPECT_THAT(c.Double(2),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("got string 'x'")));
  EXPECT_THAT(c.TensorList(3), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(c.Dtype(2), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(MetaContextTest, ALoneIntIsRepeated) {
  const MetaContext c = Make({tensor_, SymExpr(3), SymExpr(1), MetaList{}});
  ASSERT_OK_AND_ASSIGN(const std::vector<int64_t> size, c.StaticIntList(1));
  EXPECT_EQ(size, (std::vector<int64_t>{3, 3}));
}

TEST_F(MetaContextTest, StaticIntsAreNumbers) {
  const MetaContext c =
      Make({tensor_, MetaList{SymExpr::Symbol("s0")}, SymExpr::Symbol("s0"), MetaList{}});
  EXPECT_THAT(c.StaticIntList(1), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(c.StaticInt(2), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_OK(c.Int(2));
}

TEST_F(MetaContextTest, ScalarsHaveCategories) {
  const std::pair<MetaValue, DType> kCases[] = {{SymExpr(1), DType::kInt64},
                                                {1.5, DType::kFloat32},
                                                {true, DType::kBool},
                                                {SymExpr::Symbol("s0"), DType::kInt64},
                                                {SymExpr::Symbol("zuf0"), DType::kFloat32},
                                                {SymExpr::Float(0.5), DType::kFloat32},
                                                {std::complex<double>(0, 1), DType::kComplex64}};
  for (const auto& [value, want] : kCases) {
    const MetaContext c = Make({tensor_, SymExpr(1), value, MetaList{}});
    ASSERT_OK_AND_ASSIGN(const DType category, c.ScalarCategory(2));
    EXPECT_EQ(category, want);
  }
}

TEST_F(MetaContextTest, FreshSymbolsNeedASource) {
  struct Source : SymbolSource {
    SymExpr Fresh(SymRange range) override {
      return SymExpr::Symbol("u" + std::to_string(range.max));
    }
  } source;
  EXPECT_THAT(Make({}).FreshSymbol({}), StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_OK_AND_ASSIGN(const SymExpr u, Make({}, &source).FreshSymbol({0, 9}));
  EXPECT_EQ(u.ToString(), "u9");
}

TEST_F(MetaContextTest, OutputsStartAsNone) {
  MetaContext c = Make({});
  c.SetTensor(0, DType::kInt8, {4});
  ASSERT_EQ(c.outputs().size(), 2u);
  EXPECT_EQ(*c.outputs()[0].get_if<TensorMeta>(), TensorMeta::Contiguous(DType::kInt8, {4}));
  EXPECT_TRUE(c.outputs()[1].is_none());
}

}  // namespace
}  // namespace belay::exir
