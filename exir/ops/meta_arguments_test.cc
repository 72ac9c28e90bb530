// Tests of arguments of every kind by name, and of unknown names.
#include "exir/ops/meta_arguments.h"

#include <complex>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;

MATCHER_P(Holds, value, "") {
  *result_listener << "whose status is " << arg.status() << " ";
  return arg.ok() && ::testing::ExplainMatchResult(value, *arg, result_listener);
}

class MetaArgumentsTest : public ::testing::Test {
 protected:
  // Sets the named arguments of one call; omitted ones are none.
  void Call(std::vector<std::pair<std::string_view, MetaValue>> given) {
    std::vector<MetaValue> values(schema_.arguments.size());
    for (auto& [name, value] : given) {
      for (size_t i = 0; i < values.size(); ++i) {
        if (schema_.arguments[i].name == name) values[i] = value;
      }
    }
    context_ = std::make_unique<MetaContext>(schema_, std::move(values), nullptr);
  }
  MetaArguments Arguments() const { return MetaArguments(*context_); }

  const FunctionSchema schema_ = *FunctionSchema::Parse(
      "my::op(Tensor self, Tensor? bias, int[] sizes, float[] scales, Scalar alpha, bool[3] mask, "
      "int? dim, float? eps) -> Tensor");
  const TensorMeta tensor_ = TensorMeta::Contiguous(DType::kFloat32, {2, SymExpr::Symbol("s0")});
  std::unique_ptr<MetaContext> context_;
};

// A shape rule that reads a name which its operator does not have is wrong, for every accessor.
TEST_F(MetaArgumentsTest, UnknownNamesAreErrorsOfTheRule) {
  Call({{"self", tensor_}});
  const MetaArguments a = Arguments();
  EXPECT_TRUE(a.Has("self"));
  EXPECT_FALSE(a.Has("other"));
  EXPECT_TRUE(a.IsNone("other"));
  const auto unknown = StatusIs(absl::StatusCode::kInternal, "my::op has no argument 'other'");
  EXPECT_THAT(a.Tensor("other"), unknown);
  EXPECT_THAT(a.Mutable("other"), unknown);
  EXPECT_THAT(a.TensorList("other"), unknown);
  EXPECT_THAT(a.Int("other"), unknown);
  EXPECT_THAT(a.StaticInt("other"), unknown);
  EXPECT_THAT(a.Double("other"), unknown);
  EXPECT_THAT(a.Bool("other"), unknown);
  EXPECT_THAT(a.String("other"), unknown);
  EXPECT_THAT(a.Dtype("other"), unknown);
  EXPECT_THAT(a.MemoryFormatOr("other", MemoryFormat::kPreserve), unknown);
  EXPECT_THAT(a.ScalarCategory("other"), unknown);
  EXPECT_THAT(a.Scalar("other"), unknown);
  EXPECT_THAT(a.ScalarFor("other", DType::kFloat32), unknown);
  EXPECT_THAT(a.NumberFor("other", DType::kFloat32), unknown);
  EXPECT_THAT(a.Number("other"), unknown);
  EXPECT_THAT(a.Operand("other"), unknown);
  EXPECT_THAT(a.IntList("other"), unknown);
  EXPECT_THAT(a.StaticIntList("other"), unknown);
  EXPECT_THAT(a.LongIntList("other"), unknown);
  EXPECT_THAT(a.ListSize("other"), unknown);
  EXPECT_THAT(a.ListInt("other", 0), unknown);
  EXPECT_THAT(a.BoolMask("other", 3), unknown);
}

TEST_F(MetaArgumentsTest, OmittedArgumentsAreAbsent) {
  const MetaContext shorter(schema_, {tensor_}, nullptr);
  const MetaArguments a(shorter);
  EXPECT_TRUE(a.Has("self"));
  EXPECT_FALSE(a.Has("dim"));
  EXPECT_TRUE(a.IsNone("dim"));
  EXPECT_THAT(a.Int("dim"), StatusIs(absl::StatusCode::kInternal, "my::op has no argument 'dim'"));
}

TEST_F(MetaArgumentsTest, OptionalArgumentsAreNoneOrOfTheirKind) {
  Call({{"self", tensor_}});
  EXPECT_THAT(Arguments().OptionalTensor("bias"), Holds(nullptr));
  EXPECT_THAT(Arguments().OptionalInt("dim"), Holds(std::optional<int64_t>()));
  EXPECT_THAT(Arguments().OptionalDouble("eps"), Holds(std::optional<double>()));
  EXPECT_THAT(Arguments().DtypeOr("dim", DType::kInt8), Holds(DType::kInt8));
  Call({{"self", tensor_}, {"bias", tensor_}, {"dim", SymExpr(3)}, {"eps", 0.5}});
  ASSERT_OK_AND_ASSIGN(const TensorMeta* bias, Arguments().OptionalTensor("bias"));
  EXPECT_EQ(*bias, tensor_);
  EXPECT_THAT(Arguments().OptionalInt("dim"), Holds(std::optional<int64_t>(3)));
  EXPECT_THAT(Arguments().OptionalDouble("eps"), Holds(std::optional<double>(0.5)));
  EXPECT_THAT(Arguments().OptionalTensor("bias", kIntegralTypes),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "bias: expected one of uint8, int8, int16, int32, int64, got float32"));
  Call({{"bias", true}, {"dim", SymExpr::Symbol("s0")}, {"eps", std::string("a")}});
  EXPECT_THAT(Arguments().OptionalTensor("bias"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "my::op.default: argument 'bias': expected a tensor, got bool true"));
  EXPECT_THAT(
      Arguments().OptionalInt("dim"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "my::op.default: argument 'dim': expected an int that is a number, got int s0"));
  EXPECT_THAT(Arguments().OptionalDouble("eps"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "my::op.default: argument 'eps': expected a real number, got string 'a'"));
  EXPECT_THAT(Arguments().Mutable("self"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "my::op.default: argument 'self': expected a tensor, got none"));
}

TEST_F(MetaArgumentsTest, ReturnsNumbersUnchangedAndNoneForUnknownOnes) {
  const struct {
    MetaValue value;
    std::string kind;
  } kCases[] = {
      {true, "bool"},
      {0.5, "float"},
      {std::complex<double>(1, 2), "complex"},
      {SymExpr(3), "int"},
      {SymExpr::Symbol("s0"), "none"},
  };
  for (const auto& [value, kind] : kCases) {
    Call({{"alpha", value}});
    ASSERT_OK_AND_ASSIGN(const EValue number, Arguments().Scalar("alpha"));
    EXPECT_EQ(number.KindName(), kind);
  }
  Call({{"alpha", std::string("a")}});
  EXPECT_THAT(Arguments().Scalar("alpha"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "my::op.default: argument 'alpha': expected a scalar, got string 'a'"));
}

TEST_F(MetaArgumentsTest, ElementsOfLists) {
  Call({{"sizes", MetaList{SymExpr(2), SymExpr::Symbol("s0"), 0.5}},
        {"scales", MetaList{1.5, SymExpr(2), true, SymExpr::Symbol("s0")}}});
  const MetaArguments a = Arguments();
  EXPECT_THAT(a.ListSize("sizes"), Holds(3));
  EXPECT_THAT(a.ListInt("sizes", 0), Holds(SymInt(2)));
  EXPECT_THAT(a.ListInt("sizes", 1), Holds(SymExpr::Symbol("s0")));
  for (const int k : {-1, 2, 3}) {
    EXPECT_THAT(a.ListInt("sizes", k), StatusIs(absl::StatusCode::kInvalidArgument,
                                                absl::StrCat("sizes: element ", k, " is no int")));
  }
  EXPECT_THAT(a.LongIntList("sizes"),
              StatusIs(absl::StatusCode::kInvalidArgument, "sizes: element 2 is no int"));
  EXPECT_THAT(a.ListDouble("scales", 0), Holds(1.5));
  EXPECT_THAT(a.ListDouble("scales", 1), Holds(2.0));
  for (const int k : {-1, 2, 3, 4}) {
    EXPECT_THAT(a.ListDouble("scales", k),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         absl::StrCat("scales: element ", k, " is no float")));
  }
  EXPECT_THAT(a.ListDouble("alpha", 0),
              StatusIs(absl::StatusCode::kInvalidArgument, "alpha: element 0 is no float"));
}

TEST_F(MetaArgumentsTest, SingleIntIsAListOfOne) {
  Call({{"sizes", SymExpr(7)}});
  const MetaArguments a = Arguments();
  EXPECT_THAT(a.ListSize("sizes"), Holds(1));
  EXPECT_THAT(a.ListInt("sizes", 0), Holds(SymInt(7)));
  EXPECT_THAT(a.LongIntList("sizes"), Holds(ElementsAre(SymInt(7))));
  EXPECT_THAT(a.IntList("sizes"), Holds(ElementsAre(SymInt(7))));
}

TEST_F(MetaArgumentsTest, ShapeListsHaveAtMostSixteenElements) {
  Call({{"sizes", MetaList(17, SymExpr(1))}});
  const MetaArguments a = Arguments();
  const auto refused =
      StatusIs(absl::StatusCode::kInvalidArgument, "the result's rank 17 is above the limit of 16");
  EXPECT_THAT(a.IntList("sizes"), refused);
  EXPECT_THAT(a.StaticIntList("sizes"), refused);
  EXPECT_THAT(a.LongIntList("sizes"), Holds(::testing::SizeIs(17)));
}

TEST_F(MetaArgumentsTest, MasksAreBitsOfTheirBools) {
  Call({{"mask", MetaList{true, false, SymExpr::Bool(true)}}});
  EXPECT_THAT(Arguments().BoolMask("mask", 3), Holds(0b101u));
  EXPECT_THAT(Arguments().BoolMask("mask", 2),
              StatusIs(absl::StatusCode::kInvalidArgument, "mask: expected a list of 2 bools"));
}

}  // namespace
}  // namespace belay::exir
