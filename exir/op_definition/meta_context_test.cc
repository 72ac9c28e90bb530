#include "exir/op_definition/meta_context.h"

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

TEST_F(MetaContextTest, ReturnsArgumentsOfTheRightKind) {
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

TEST_F(MetaContextTest, ErrorsNameTheArgumentAndActualKind) {
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

TEST_F(MetaContextTest, ErrorsNameTheActualValue) {
  const struct {
    MetaValue value;
    std::string got;
  } kCases[] = {
      {None{}, "none"},
      {tensor_, "tensor f32[2,s0]"},
      {TensorMeta::Contiguous(DType::kInt8, {}), "tensor i8[]"},
      {SymExpr(3), "int 3"},
      {SymExpr::Symbol("s0"), "int s0"},
      {SymExpr::Float(0.5), "float 0.5"},
      {SymExpr::Bool(true), "bool true"},
      {2.5, "float 2.5"},
      {true, "bool true"},
      {false, "bool false"},
      {std::complex<double>(0, 1), "complex"},
      {std::string(50, 'x'), "string '" + std::string(40, 'x') + "'"},
      {DType::kInt8, "dtype int8"},
      {MemoryFormat::kPreserve, "memory format"},
      {Layout::kStrided, "layout"},
      {Device(), "device"},
      {MetaList{SymExpr(1), SymExpr(2)}, "list of 2"},
  };
  for (const auto& [value, got] : kCases) {
    // One of the two accessors rejects each value.
    const MetaContext c = Make({value, SymExpr(1), value, MetaList{}});
    const absl::Status status =
        value.get_if<std::string>() != nullptr ? c.Dtype(2).status() : c.String(2).status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                                 ::testing::AllOf(::testing::HasSubstr("'alpha': expected a "),
                                                  ::testing::EndsWith(", got " + got))));
  }
}

// Each accessor with an accepted and a rejected value.
TEST_F(MetaContextTest, AccessorsCheckTheirKind) {
  const auto expect = [&](const absl::Status& status, std::string_view expected) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                                 ::testing::HasSubstr("': expected " + std::string(expected))));
  };
  const MetaContext strings = Make({std::string("a"), MetaList{std::string("b")}, std::string("c"),
                                    MetaList{None{}, std::string("d")}});
  expect(strings.OptionalTensor(0).status(), "a tensor, got string 'a'");
  expect(strings.TensorList(0).status(), "a list of tensors, got string 'a'");
  expect(strings.TensorList(1).status(), "a list of tensors, got string 'b'");
  expect(strings.TensorList(3).status(), "a list of tensors, got string 'd'");
  expect(strings.Int(0).status(), "an int, got string 'a'");
  expect(strings.StaticInt(0).status(), "an int that is a number, got string 'a'");
  expect(strings.IntList(1).status(), "a list of ints, got string 'b'");
  expect(strings.StaticIntList(1).status(), "a list of ints, got string 'b'");
  expect(strings.Double(2).status(), "a real number, got string 'c'");
  expect(strings.Bool(2).status(), "a bool, got string 'c'");
  expect(strings.Dtype(2).status(), "a dtype, got string 'c'");
  expect(strings.DtypeOr(2, DType::kInt8).status(), "a dtype, got string 'c'");
  expect(strings.MemoryFormatOr(2, MemoryFormat::kPreserve).status(),
         "a memory format, got string 'c'");
  expect(strings.ScalarCategory(2).status(), "a scalar, got string 'c'");
  ASSERT_OK_AND_ASSIGN(const std::string string, strings.String(2));
  EXPECT_EQ(string, "c");

  const MetaContext symbols = Make({SymExpr::Symbol("zuf0"), SymExpr::Symbol("s0"),
                                    SymExpr::Symbol("zuf0"), MetaList{SymExpr::Symbol("s0")}});
  expect(symbols.Int(0).status(), "an int, got float zuf0");
  expect(symbols.StaticInt(1).status(), "an int that is a number, got int s0");
  expect(symbols.StaticIntList(3).status(), "a list of numbers, got int s0");
  expect(symbols.Double(2).status(), "a real number, got float zuf0");
  expect(symbols.Bool(2).status(), "a bool, got float zuf0");
  const SymExpr equal = SymExpr::Function("Eq", {SymExpr::Symbol("s0"), SymExpr(3)});
  expect(Make({None{}, None{}, equal, None{}}).Bool(2).status(),
         "a bool that is known, got bool Eq(s0, 3)");
}

TEST_F(MetaContextTest, NoneIsTheFallback) {
  const MetaContext none = Make({None{}, SymExpr(1), None{}, MetaList{}});
  ASSERT_OK_AND_ASSIGN(const TensorMeta* tensor, none.OptionalTensor(0));
  EXPECT_EQ(tensor, nullptr);
  ASSERT_OK_AND_ASSIGN(DType dtype, none.DtypeOr(2, DType::kInt8));
  EXPECT_EQ(dtype, DType::kInt8);
  ASSERT_OK_AND_ASSIGN(MemoryFormat format, none.MemoryFormatOr(2, MemoryFormat::kPreserve));
  EXPECT_EQ(format, MemoryFormat::kPreserve);

  const MetaContext given = Make({tensor_, MemoryFormat::kChannelsLast, DType::kBool, MetaList{}});
  ASSERT_OK_AND_ASSIGN(tensor, given.OptionalTensor(0));
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(*tensor, tensor_);
  ASSERT_OK_AND_ASSIGN(dtype, given.DtypeOr(2, DType::kInt8));
  EXPECT_EQ(dtype, DType::kBool);
  ASSERT_OK_AND_ASSIGN(format, given.MemoryFormatOr(1, MemoryFormat::kPreserve));
  EXPECT_EQ(format, MemoryFormat::kChannelsLast);
}

// As in Python, where a bool is an int.
TEST_F(MetaContextTest, NumbersConvert) {
  const struct {
    MetaValue value;
    std::optional<int64_t> integer;
    std::optional<double> real;
    std::optional<bool> boolean;
  } kCases[] = {
      {true, 1, 1.0, true},
      {false, 0, 0.0, false},
      {SymExpr::Bool(true), 1, 1.0, true},
      {SymExpr::Bool(false), 0, 0.0, false},
      {SymExpr(3), 3, 3.0, std::nullopt},
      {SymExpr::Float(0.5), std::nullopt, 0.5, std::nullopt},
      {2.5, std::nullopt, 2.5, std::nullopt},
      {None{}, std::nullopt, std::nullopt, std::nullopt},
  };
  const auto known = [](const auto& result) {
    return result.ok() ? std::optional(*result) : std::nullopt;
  };
  for (const auto& row : kCases) {
    const MetaContext c = Make({tensor_, row.value, row.value, MetaList{}});
    EXPECT_EQ(known(c.StaticInt(1)), row.integer);
    EXPECT_EQ(known(c.Int(1)), row.integer ? std::optional<SymInt>(*row.integer) : std::nullopt);
    EXPECT_EQ(known(c.Double(2)), row.real);
    EXPECT_EQ(known(c.Bool(2)), row.boolean);
  }
}

TEST_F(MetaContextTest, SingleIntIsRepeated) {
  const MetaContext c = Make({tensor_, SymExpr(3), SymExpr(1), MetaList{}});
  ASSERT_OK_AND_ASSIGN(const std::vector<int64_t> size, c.StaticIntList(1));
  EXPECT_EQ(size, (std::vector<int64_t>{3, 3}));
}

TEST_F(MetaContextTest, StaticIntsAreConstant) {
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
                                                {SymExpr::Bool(true), DType::kBool},
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
