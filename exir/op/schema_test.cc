#include "exir/op/schema.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

FunctionSchema Parse(std::string_view text) {
  absl::StatusOr<FunctionSchema> schema = FunctionSchema::Parse(text);
  EXPECT_TRUE(schema.ok()) << schema.status();
  return schema.ok() ? *std::move(schema) : FunctionSchema();
}

TEST(SchemaTest, ReadsEveryPartOfASchema) {
  const FunctionSchema s = Parse(
      "aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, "
      "Tensor(a!) out) -> "
      "(Tensor(a!) values, Tensor)");
  EXPECT_EQ(s.ns, "aten");
  EXPECT_EQ(s.op, "mean");
  EXPECT_EQ(s.overload, "dim");
  ASSERT_EQ(s.arguments.size(), 5u);
  EXPECT_EQ(s.arguments[0].type, SchemaType{});
  EXPECT_EQ(s.arguments[1].type,
            (SchemaType{.base = BaseType::kInt, .list = true, .list_size = 1, .optional = true}));
  EXPECT_EQ(s.arguments[2].default_value, SchemaDefault(false));
  EXPECT_FALSE(s.arguments[2].keyword_only);
  EXPECT_TRUE(s.arguments[3].keyword_only);
  EXPECT_EQ(s.arguments[3].default_value, SchemaDefault(None{}));
  EXPECT_EQ(s.arguments[4].alias, (AliasAnnotation{"a", true}));
  ASSERT_EQ(s.returns.size(), 2u);
  EXPECT_EQ(s.returns[0].name, "values");
  EXPECT_EQ(s.returns[1].name, "");
  EXPECT_EQ(s.ArgumentIndex("dtype"), 3);
  EXPECT_EQ(s.ArgumentIndex("nothing"), std::nullopt);
}

TEST(SchemaTest, ReadsDefaultsOfEveryType) {
  const FunctionSchema s = Parse(
      "t::t(Scalar a=1, Scalar b=0.01, float c=2., float d=1e-05, str e=\"none\", int[2] f=0, "
      "int[1] g=[], float[] h=[1., "
      "2], bool[3] i=[True, False, True], ScalarType j=4, MemoryFormat k=0, Scalar l=True, float "
      "m=-inf, SymInt n=-1, str? "
      "o='it\\'s', float p=1) -> ()");
  const std::vector<SchemaDefault> want = {int64_t{1},
                                           0.01,
                                           2.0,
                                           1e-5,
                                           std::string("none"),
                                           int64_t{0},
                                           std::vector<int64_t>{},
                                           std::vector<double>{1, 2},
                                           std::vector<bool>{true, false, true},
                                           DType::kInt64,
                                           MemoryFormat::kContiguous,
                                           true,
                                           -std::numeric_limits<double>::infinity(),
                                           int64_t{-1},
                                           std::string("it's"),
                                           1.0};
  ASSERT_EQ(s.arguments.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_EQ(s.arguments[i].default_value, want[i]) << s.arguments[i].name;
  EXPECT_TRUE(s.returns.empty());
}

TEST(SchemaTest, PrintsTheTextThatPyTorchPrints) {
  for (std::string_view text : {
           "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
           "aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
           "aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> "
           "Tensor(a)[]",
           "aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor "
           "indices)",
           "aten::gelu(Tensor self, *, str approximate=\"none\") -> Tensor",
           "aten::_pdist_forward(Tensor self, float p=2.) -> Tensor",
           "aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] padding=[0]) -> Tensor",
           "aten::sym_size.int(Tensor self, int dim) -> SymInt",
           "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
           "aten::_assert_async.msg(Tensor self, str assert_msg) -> ()",
           "_operator::mul(Scalar a, Scalar b) -> Scalar",
           "aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
           "aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
           "aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float "
           "eps=1e-05) -> Tensor",
       }) {
    EXPECT_EQ(Parse(text).ToString(), text);
  }
}

TEST(SchemaTest, UnknownTypesAreOpaque) {
  const FunctionSchema s = Parse(
      "my::op(__torch__.torch.classes.my.Thing x, Dict(str, Tensor) y, Tensor[][] z, Stream? s) -> "
      "t");
  for (const SchemaArgument& a : s.arguments) EXPECT_EQ(a.type.base, BaseType::kAny) << a.name;
  EXPECT_EQ(Parse(s.ToString()).ToString(), s.ToString());
}

TEST(SchemaTest, OpaqueTypesHaveAliasAnnotations) {
  const FunctionSchema s = Parse(
      "aten::append.t(t[](a!) self, t(c -> *) el, t?(b)[] more) -> (t(d)[], Dict(str, t)(b))");
  EXPECT_EQ(s.arguments[0].alias, (AliasAnnotation{"a", true}));
  EXPECT_EQ(s.arguments[1].alias, (AliasAnnotation{"c", false}));
  EXPECT_EQ(s.arguments[2].alias, (AliasAnnotation{"b", false}));
  EXPECT_EQ(s.returns[0].alias, (AliasAnnotation{"d", false}));
  EXPECT_EQ(s.returns[1].alias, (AliasAnnotation{"b", false}));
  EXPECT_EQ(s.ToString(),
            "aten::append.t(Any(a!)[] self, Any(c) el, Any(b)?[] more) -> (Any(d)[], Any(b))");
  EXPECT_EQ(Parse(s.ToString()).ToString(), s.ToString());
}

TEST(SchemaTest, TellsMutationFromViews) {
  EXPECT_TRUE(Parse("aten::copy_(Tensor(a!) self, Tensor src) -> Tensor(a!)").IsMutable());
  EXPECT_FALSE(Parse("aten::copy_(Tensor(a!) self, Tensor src) -> Tensor(a!)").IsView());
  EXPECT_TRUE(Parse("aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)").IsView());
  EXPECT_TRUE(Parse("aten::split(Tensor(a -> *) self, SymInt n) -> Tensor(a)[]").IsView());
  EXPECT_FALSE(Parse("aten::relu(Tensor self) -> Tensor").IsView());
}

TEST(SchemaTest, RefusesWithThePositionAndWhatWasExpected) {
  EXPECT_THAT(FunctionSchema::Parse("aten::add(Tensor self, Tensor) -> Tensor"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::HasSubstr(
                           "position 29: expected an argument's name, got ') -> Tensor'")));
  const struct {
    std::string text, message;
  } kRefused[] = {
      {"::add(Tensor x) -> Tensor", "position 0: expected a namespace"},
      {"aten::(Tensor x) -> Tensor", "position 6: expected an operator's name"},
      {"a::b(int x=1.5) -> ()", "position 11: expected a default value of the argument's type"},
      {"a::b(float x=abc) -> ()", "position 13: expected a default value of the argument's type"},
      {std::string(100000, 'a'), "schema of 100000 bytes: expected at most"},
  };
  for (const auto& [text, message] : kRefused) {
    EXPECT_THAT(FunctionSchema::Parse(text),
                StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr(message)));
  }
  for (std::string_view text : {"",
                                "add(Tensor x) -> Tensor",
                                "aten::",
                                "aten::add",
                                "aten::add.(Tensor x) -> Tensor",
                                "aten::add(Tensor x -> Tensor",
                                "aten::add(Tensor x) Tensor",
                                "aten::add(Tensor x) ->",
                                "aten::add(Tensor x) -> Tensor y z",
                                "a::b(Tensor x, int x) -> ()",
                                "a::b(int x=1.5) -> ()",
                                "a::b(int x=) -> ()",
                                "a::b(int[0] x) -> ()",
                                "a::b(int[99999999999] x) -> ()",
                                "a::b(ScalarType x=999) -> ()",
                                "a::b(str x=\"abc) -> ()",
                                "a::b(int[] x=[1) -> ()",
                                "a::b(int[] x=[True]) -> ()",
                                "a::b(Tensor( x) -> ()",
                                "a::b(*, *, int x) -> ()",
                                "a::b(int x,) -> ()",
                                "a::b(Dict(((int x) -> ()"}) {
    EXPECT_THAT(FunctionSchema::Parse(text), StatusIs(absl::StatusCode::kInvalidArgument)) << text;
  }
}

TEST(SchemaTest, HostileTextIsBounded) {
  EXPECT_FALSE(FunctionSchema::Parse(std::string(100000, 'a')).ok());
  EXPECT_FALSE(FunctionSchema::Parse("a::b(Dict" + std::string(60000, '(')).ok());
  EXPECT_FALSE(FunctionSchema::Parse("a::b(int" + std::string(60000, '[')).ok());
  std::string many = "a::b(";
  for (int i = 0; i < 1000; ++i) many += "int x" + std::to_string(i) + ", ";
  EXPECT_FALSE(FunctionSchema::Parse(many + "int y) -> ()").ok());
}

TEST(SchemaTest, ErrorsShowControlCharactersAsText) {
  EXPECT_THAT(FunctionSchema::Parse("aten::\x1b[2J"),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("\\x1b[2J")));
}

}  // namespace
}  // namespace belay::exir
