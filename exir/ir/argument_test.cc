#include "exir/ir/argument.h"

#include <bit>
#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;

TEST(Argument, LiteralsKeepTheirKind) {
  EXPECT_TRUE(Argument().is_none());
  EXPECT_TRUE(Argument(3).is<int64_t>());
  EXPECT_TRUE(Argument(true).is<bool>());
  EXPECT_TRUE(Argument(3.0).is<double>());
  EXPECT_TRUE(Argument("text").is<std::string>());
  EXPECT_FALSE(Argument(1) == Argument(true));
  EXPECT_FALSE(Argument(1) == Argument(1.0));
}

TEST(Argument, ComparesDoublesByBits) {
  EXPECT_EQ(Argument(NAN), Argument(NAN));
  EXPECT_FALSE(Argument(0.0) == Argument(-0.0));
  EXPECT_EQ(Argument(std::complex<double>(NAN, 1)), Argument(std::complex<double>(NAN, 1)));
  EXPECT_FALSE(Argument(std::complex<double>(0.0, 1)) == Argument(std::complex<double>(-0.0, 1)));
  EXPECT_FALSE(Argument(std::complex<double>(1, 0.0)) == Argument(std::complex<double>(1, -0.0)));
  EXPECT_EQ(Argument(Argument::List{NAN, Dict{{{"k", NAN}}}}),
            Argument(Argument::List{NAN, Dict{{{"k", NAN}}}}));
}

TEST(Argument, DictionariesAreOrdered) {
  EXPECT_FALSE(Argument(Dict{{{"a", 1}, {"b", 2}}}) == Argument(Dict{{{"b", 2}, {"a", 1}}}));
}

TEST(Argument, VisitsValuesAndGraphsInOrder) {
  Argument argument = Argument::List{ValueId(3), 4, Dict{{{"k", ValueId(1)}, {"g", GraphId(2)}}},
                                     Argument::List{ValueId(3)}};
  std::vector<uint32_t> values, graphs;
  ForEachValue(argument, [&](ValueId v) { values.push_back(v.index()); });
  ForEachGraph(argument, [&](GraphId g) { graphs.push_back(g.index()); });
  EXPECT_THAT(values, ElementsAre(3, 1, 3));
  EXPECT_THAT(graphs, ElementsAre(2));
  ForEachValueRef(argument, [](ValueId& v) { v = ValueId(v.index() + 1); });
  EXPECT_EQ(argument,
            Argument(Argument::List{ValueId(4), 4, Dict{{{"k", ValueId(2)}, {"g", GraphId(2)}}},
                                    Argument::List{ValueId(4)}}));
}

TEST(DefaultArgument, ReturnsTheOmittedArgument) {
  ASSERT_OK_AND_ASSIGN(
      const FunctionSchema schema,
      FunctionSchema::Parse(
          "x::f(Tensor self, int a=3, float b=1, Scalar c=2, bool d=True, str e='none', int[2] "
          "f=1, "
          "int[2] g=[1,2], int[] h=[], float[] i=[1.5], bool[2] j=[True,False], int? k=None, "
          "ScalarType l=long, MemoryFormat m=contiguous_format, int[2]? n=None, int[1] o=0, "
          "float p=-inf) -> ()"));
  const auto at = [&](std::string_view name) {
    return DefaultArgument(schema.arguments[*schema.ArgumentIndex(name)]);
  };
  EXPECT_EQ(at("self"), Argument());
  EXPECT_EQ(at("a"), Argument(3));
  EXPECT_EQ(at("b"), Argument(1.0));
  EXPECT_EQ(at("c"), Argument(2));
  EXPECT_EQ(at("d"), Argument(true));
  EXPECT_EQ(at("e"), Argument("none"));
  EXPECT_EQ(at("f"), Argument(Argument::List{1, 1}));
  EXPECT_EQ(at("g"), Argument(Argument::List{1, 2}));
  EXPECT_EQ(at("h"), Argument(Argument::List{}));
  EXPECT_EQ(at("i"), Argument(Argument::List{1.5}));
  EXPECT_EQ(at("j"), Argument(Argument::List{true, false}));
  EXPECT_EQ(at("k"), Argument());
  EXPECT_EQ(at("l"), Argument(DType::kInt64));
  EXPECT_EQ(at("m"), Argument(MemoryFormat::kContiguous));
  EXPECT_EQ(at("n"), Argument());
  EXPECT_EQ(at("o"), Argument(Argument::List{0}));
  EXPECT_EQ(at("p"), Argument(-INFINITY));
}

TEST(ArgumentsByNameTest, UsesDefaultsForOtherArguments) {
  ASSERT_OK_AND_ASSIGN(const FunctionSchema schema,
                       FunctionSchema::Parse("x::f(Tensor self, int a=3, Tensor? b=None) -> ()"));
  EXPECT_EQ(ArgumentsByName(schema, {{"self", "x"}}), (std::vector<Argument>{"x", 3, Argument()}));
  EXPECT_EQ(ArgumentsByName(schema, {{"b", 2}, {"a", 1}, {"other", 0}}),
            (std::vector<Argument>{Argument(), 1, 2}));
}

}  // namespace
}  // namespace belay::exir
