#include <limits>

#include "exir/op_definition/schema.h"

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

TEST(SchemaTest, ParsesEveryPartOfASchema) {
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

TEST(SchemaTest, ParsesDefaultsOfEveryType) {
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

TEST(SchemaTest, DefaultsHaveNamesAndNumbers) {
  const struct {
    std::string_view argument;
    SchemaDefault want;
  } kCases[] = {
      {"ScalarType x=long", DType::kInt64},
      {"ScalarType x=int", DType::kInt32},
      {"ScalarType x=float", DType::kFloat32},
      {"ScalarType x=double", DType::kFloat64},
      {"ScalarType x=half", DType::kFloat16},
      {"ScalarType x=bfloat16", DType::kBFloat16},
      {"MemoryFormat x=contiguous_format", MemoryFormat::kContiguous},
      {"MemoryFormat x=preserve_format", MemoryFormat::kPreserve},
      {"MemoryFormat x=channels_last", MemoryFormat::kChannelsLast},
      {"MemoryFormat x=channels_last_3d", MemoryFormat::kChannelsLast3d},
      {"MemoryFormat x=1", MemoryFormat::kPreserve},
      {"MemoryFormat x=2", MemoryFormat::kChannelsLast},
      {"MemoryFormat x=3", MemoryFormat::kChannelsLast3d},
      {"int x=Mean", int64_t{1}},
      {"bool x=1", int64_t{1}},
      {"float x=1e+5", 1e5},
      {"str x=\"a\\\\b\"", std::string("a\\b")},
      {"str[] x=None", None{}},
  };
  for (const auto& [argument, want] : kCases) {
    const FunctionSchema s = Parse("t::t(" + std::string(argument) + ") -> ()");
    ASSERT_EQ(s.arguments.size(), 1u) << argument;
    EXPECT_EQ(s.arguments[0].default_value, want) << argument;
  }
}

TEST(SchemaTest, PrintsDefaultsCanonically) {
  const struct {
    std::string_view argument, want;
  } kCases[] = {
      {"float x=nan", "float x=nan"},
      {"float x=inf", "float x=inf"},
      {"float x=-inf", "float x=-inf"},
      {"float x=2", "float x=2."},
      {"float x=0.10", "float x=0.1"},
      {"float x=1.7976931348623157e+308", "float x=1.7976931348623157e+308"},
      {"str x='it\\'s \"so\" \\\\'", "str x=\"it's \\\"so\\\" \\\\\""},
      {"ScalarType x=long", "ScalarType x=4"},
      {"MemoryFormat x=contiguous_format", "MemoryFormat x=0"},
      {"MemoryFormat x=channels_last_3d", "MemoryFormat x=3"},
      {"int[] x=[1,2]", "int[] x=[1, 2]"},
      {"float[2] x=[1,.5]", "float[2] x=[1., 0.5]"},
      {"bool[2] x=[True,False]", "bool[2] x=[True, False]"},
      {"bool x=True", "bool x=True"},
  };
  for (const auto& [argument, want] : kCases) {
    const std::string text = Parse("t::t(" + std::string(argument) + ") -> ()").ToString();
    EXPECT_EQ(text, "t::t(" + std::string(want) + ") -> ()");
    EXPECT_EQ(Parse(text).ToString(), text);
  }
}

TEST(SchemaTest, PrintsTypes) {
  const struct {
    std::string_view type, want;
  } kCases[] = {
      {"Tensor", "Tensor"},       {"number", "Scalar"},   {"SymInt[2]?", "SymInt[2]?"},
      {"Tensor?[]", "Tensor?[]"}, {"SymBool", "SymBool"}, {"Stream", "Any"},
      {"Dict?", "Any?"},          {"Dict", "Any"},        {"torch.Thing[][]", "Any[]"},
  };
  for (const auto& [type, want] : kCases) {
    const FunctionSchema s = Parse("t::t() -> " + std::string(type));
    ASSERT_EQ(s.returns.size(), 1u) << type;
    EXPECT_EQ(s.returns[0].type.ToString(), want) << type;
  }
}

TEST(SchemaTest, IgnoresWhitespace) {
  EXPECT_EQ(Parse(" a :: b\t. c (\n\tint  x =\t1 ,\n*, Tensor y )\n->\tTensor\n").ToString(),
            "a::b.c(int x=1, *, Tensor y) -> Tensor");
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
           "aten::split.some(Tensor(a) self, Tensor(b) other) -> Tensor[]",
           "aten::split.other(Tensor(a) self, Tensor(b -> *) other) -> Tensor(b)[]",
           "aten::either(Tensor(a|b) self) -> Tensor(a|b)",
           "aten::nothing() -> ()",
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

TEST(SchemaTest, DistinguishesMutationsAndViews) {
  EXPECT_TRUE(Parse("aten::copy_(Tensor(a!) self, Tensor src) -> Tensor(a!)").IsMutable());
  EXPECT_FALSE(Parse("aten::copy_(Tensor(a!) self, Tensor src) -> Tensor(a!)").IsView());
  EXPECT_TRUE(Parse("aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)").IsView());
  EXPECT_TRUE(Parse("aten::split(Tensor(a -> *) self, SymInt n) -> Tensor(a)[]").IsView());
  EXPECT_FALSE(Parse("aten::relu(Tensor self) -> Tensor").IsView());
  EXPECT_FALSE(Parse("aten::odd(Tensor(a) self) -> Tensor").IsView());
  EXPECT_FALSE(Parse("aten::odd(Tensor self) -> Tensor(a)").IsView());
  EXPECT_FALSE(Parse("aten::odd(Tensor(a) self) -> Tensor(b)").IsView());
  EXPECT_TRUE(Parse("aten::odd(Tensor x, Tensor(a|b) y) -> (Tensor, Tensor(c|b))").IsView());
}

TEST(SchemaTest, ErrorsNamePositionAndExpectation) {
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
      {"", "position 0: expected a namespace, got the end"},
      {"add(Tensor x) -> Tensor", "position 3: expected '::', got '(Tensor x) -> Te'"},
      {"aten::", "position 6: expected an operator's name, got the end"},
      {"aten::add", "position 9: expected '(', got the end"},
      {"aten::add.(Tensor x) -> Tensor", "position 10: expected an overload's name"},
      {"aten::add(Tensor x -> Tensor", "expected ')', got '-> Tensor'"},
      {"aten::add(Tensor x) Tensor", "expected '->', got 'Tensor'"},
      {"aten::add(Tensor x) ->", "expected a type, got the end"},
      {"aten::add(Tensor x) -> Tensor y z", "expected the end of the schema, got 'z'"},
      {"aten::add(Tensor x) -> (Tensor y", "expected ')', got the end"},
      {"a::b(Tensor x, int x) -> ()",
       "expected a name other than 'x', which is taken, got ') -> ()'"},
      {"a::b(int x=) -> ()",
       "position 11: expected a default value of the argument's type, got ') -> ()'"},
      {"a::b(int x=", "position 11: expected a default value, got the end"},
      {"a::b(int x=1", "expected ')', got the end"},
      {"a::b(bool x=1.5) -> ()", "position 12: expected a default value of the argument's type"},
      {"a::b(int[0] x) -> ()", "expected a list's length before this, got '] x) -> ()'"},
      {"a::b(int[65537] x) -> ()", "expected a list's length before this,"},
      {"a::b(int[99999999999] x) -> ()", "expected a list's length before this,"},
      {"a::b(int[x] x) -> ()", "expected a list's length before this,"},
      {"a::b(int[2 x) -> ()", "expected ']', got 'x) -> ()'"},
      {"a::b(ScalarType x=999) -> ()",
       "position 18: expected a default value of the argument's type"},
      {"a::b(ScalarType x=odd) -> ()",
       "position 18: expected a default value of the argument's type"},
      {"a::b(MemoryFormat x=4) -> ()",
       "position 20: expected a default value of the argument's type"},
      {"a::b(MemoryFormat x=odd) -> ()",
       "position 20: expected a default value of the argument's type"},
      {"a::b(str x=\"abc) -> ()", "expected the end of the string, got the end"},
      {"a::b(str x=\"abc\\\"", "expected the end of the string, got the end"},
      {"a::b(str x=\"abc\\", "expected the end of the string, got the end"},
      {"a::b(int[] x=[1) -> ()", "expected ']', got ') -> ()'"},
      {"a::b(int[] x=[1.5]) -> ()", "position 14: expected an element of the argument's type"},
      {"a::b(int[] x=[True]) -> ()",
       "expected a list of the argument's type before this, got ') -> ()'"},
      {"a::b(Tensor( x) -> ()", "expected an argument's name"},
      {"a::b(Tensor(a x) -> ()", "expected ')', got 'x) -> ()'"},
      {"a::b(Tensor?(a x) -> ()", "expected ')', got 'x) -> ()'"},
      {"a::b(Tensor[](a x) -> ()", "expected ')', got 'x) -> ()'"},
      {"a::b(Tensor(!) x) -> ()", "expected an alias set, got '!) x) -> ()'"},
      {"a::b(Tensor(a|) x) -> ()", "expected an alias set, got ') x) -> ()'"},
      {"a::b(Tensor(a -> ) x) -> ()", "expected an alias set, got ') x) -> ()'"},
      {"a::b(torch..x y) -> ()", "expected a type's name, got '.x y) -> ()'"},
      {"a::b(Dict(((int x) -> ()", "expected ')', got the end"},
      {"a::b(*, *, int x) -> ()", "expected an argument (there is one '*' already)"},
      {"a::b(int x,) -> ()", "expected a type, got ') -> ()'"},
      {std::string(100000, 'a'), "schema of 100000 bytes: expected at most"},
  };
  for (const auto& [text, message] : kRefused) {
    EXPECT_THAT(FunctionSchema::Parse(text),
                StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr(message)));
  }
}

TEST(SchemaTest, HostileTextIsBounded) {
  const auto refused = [](const std::string& text, const std::string& message) {
    EXPECT_THAT(FunctionSchema::Parse(text),
                StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr(message)));
  };
  refused("a::b(Dict" + std::string(60000, '('), "expected ')', got the end");
  refused("a::b(int" + std::string(60000, '['), "expected ']', got '[[");
  std::string arguments, returns, elements;
  for (int i = 0; i < 256; ++i) {
    arguments += "int x" + std::to_string(i) + ", ";
    returns += "int, ";
  }
  for (int i = 0; i < 1024; ++i) elements += "1, ";
  refused("a::b(" + arguments + "int y) -> ()", "expected at most 256 arguments, got 'int y)");
  refused("a::b() -> (" + returns + "int)", "expected at most 256 returns, got ' int)'");
  refused("a::b(int[] x=[" + elements + "1]) -> ()", "expected at most 1024 elements, got ' 1]");
}

TEST(SchemaTest, ErrorsShowControlCharactersAsText) {
  EXPECT_THAT(FunctionSchema::Parse("aten::\x1b[2J"),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("\\x1b[2J")));
}

}  // namespace
}  // namespace belay::exir
