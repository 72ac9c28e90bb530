#include "exir/functionalize/functional_form.h"

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/functionalize/functionalize.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using Kind = FunctionalForm::Kind;

// The form of the first of these operators in a registry of them.
std::optional<FunctionalForm> FormOf(const std::vector<std::string_view>& schemas) {
  std::vector<OpDef> rows;
  for (const std::string_view schema : schemas) rows.push_back({.schema = schema});
  const absl::Span<const OpDef> tables[] = {rows};
  const absl::StatusOr<std::unique_ptr<OpRegistry>> ops = OpRegistry::Create(tables);
  EXPECT_OK(ops.status());
  if (!ops.ok()) return std::nullopt;
  const std::string name(schemas[0].substr(0, schemas[0].find('(')));
  std::string dotted = name;
  dotted.replace(dotted.find("::"), 2, ".");
  const OpOverload* op = (*ops)->Find(dotted);
  EXPECT_NE(op, nullptr) << dotted;
  return op == nullptr ? std::nullopt : FunctionalFormOf(**ops, *op);
}

TEST(FunctionalFormTest, IsOfWhatIsWritten) {
  EXPECT_EQ(
      FormOf({"demo::inc_(Tensor(a!) self) -> Tensor(a!)", "demo::inc(Tensor self) -> Tensor"})
          ->kind,
      Kind::kValues);
  EXPECT_EQ(FormOf({"demo::turn_(Tensor(a!) self) -> Tensor(a!)",
                    "demo::turn(Tensor(a) self) -> Tensor(a)"})
                ->kind,
            Kind::kView);
  EXPECT_EQ(FormOf({"demo::inc.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
                    "demo::inc(Tensor self) -> Tensor"})
                ->kind,
            Kind::kOut);
  EXPECT_EQ(FormOf({"demo::count(Tensor self, Tensor(a!) sum) -> Tensor",
                    "demo::count_functional(Tensor self, Tensor sum) -> (Tensor, Tensor)"})
                ->kind,
            Kind::kBoth);
}

TEST(FunctionalFormTest, OperatorsThatNoFunctionalOneReplacesHaveNone) {
  const std::vector<std::string_view> kCases[] = {
      // It writes to nothing; there is no functional one.
      {"demo::inc(Tensor self) -> Tensor"},
      {"demo::inc_(Tensor(a!) self) -> Tensor(a!)"},
      {"aten::normal_(Tensor(a!) self, float mean=0, float std=1, *, Generator? generator=None) -> "
       "Tensor(a!)"},
      // In place without a result, with two where the functional one has one, or of a list.
      {"demo::inc_(Tensor(a!) self) -> ()", "demo::inc(Tensor self) -> Tensor"},
      {"demo::inc_(Tensor(a!) self) -> Tensor(a!)", "demo::inc(Tensor self) -> (Tensor, Tensor)"},
      {"demo::inc_(Tensor(a!) self, Tensor(b!) other) -> Tensor(a!)",
       "demo::inc(Tensor self, Tensor other) -> Tensor"},
      {"demo::inc_(Tensor(a!)[] self) -> Tensor", "demo::inc(Tensor[] self) -> Tensor"},
      // Out without a result, with another number of them, or with another written argument.
      {"demo::inc.out(Tensor self, *, Tensor(a!) out) -> ()", "demo::inc(Tensor self) -> Tensor"},
      {"demo::inc.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
       "demo::inc(Tensor self) -> (Tensor, Tensor)"},
      {"demo::inc.out(Tensor(b!) self, *, Tensor(a!) out) -> Tensor(a!)",
       "demo::inc(Tensor self) -> Tensor"},
      {"demo::inc.out(Tensor self, *, Tensor(a!)[] out) -> Tensor[]",
       "demo::inc(Tensor self) -> Tensor[]"},
      // The functional one gives no new value of what is written.
      {"demo::count(Tensor self, Tensor(a!) sum) -> Tensor",
       "demo::count_functional(Tensor self, Tensor sum) -> Tensor"},
  };
  for (const std::vector<std::string_view>& schemas : kCases) {
    EXPECT_FALSE(FormOf(schemas).has_value()) << std::string(schemas[0]);
  }
}

// Operators that a program may call and of which nobody knows how to compute them.
TEST(FunctionalFormTest, WhatCannotBeComputedIsNamed) {
  ASSERT_OK_AND_ASSIGN(const auto ops, CreateStandardOps());
  for (const char* schema :
       {"demo::inc_(Tensor(a!) self) -> Tensor(a!)", "demo::inc(Tensor self) -> Tensor",
        "demo::pick(Tensor other, Tensor(a) self) -> (Tensor(a), Tensor)",
        "demo::odd(Tensor(a) self) -> Tensor(b)"}) {
    ASSERT_OK(ops->Define({.schema = schema}).status());
  }
  const auto program = [](std::string_view node, std::string_view more = "") {
    return absl::StrCat(
        "program training {\n  graph(%x: f32[2] user_input, %z: f32[2] user_input) {\n    ",
        std::string(node), "\n", std::string(more), "    return (%z user_output)\n  }\n}");
  };
  for (const char* node :
       {"%r: f32[2] = demo.inc_.default(%x)", "%r: f32[2] = aten.add_.Nope(%x, 1)",
        "%r: f32[2] = aten.nope_.default(%x)"}) {
    ExpectPassError(program(node), Functionalize().run, absl::StatusCode::kUnimplemented,
                    absl::StrCat("have no functional variant:\n  ", node), *ops);
  }
  // No in-place operators, as far as one can see.
  for (const char* node :
       {"%r: f32[2] = other.add_.default(%x)", "%r: f32[2] = aten.nope.default(%x)"}) {
    ExpectUnchanged(program(node), Functionalize().run, *ops);
  }
  // A view of another argument than the first, a result that is none, and one of nothing.
  constexpr char kViews[] =
      "%v: f32[2], %t: f32[2] = demo.pick.default(%z, %x)\n    %o: f32[2] = demo.odd.default(%x)";
  ExpectRewrite(program(kViews, "    %w: f32[2] = aten.add_.Tensor(%z, 1)\n"),
                Functionalize(&StandardDecompositions()).run,
                R"(program training {
  graph(%x: f32[2] user_input, %z: f32[2] user_input) {
    %v: f32[2], %t: f32[2] = demo.pick.default(%z, %x)
    %o: f32[2] = demo.odd.default(%x)
    %add: f32[2] = aten.add.Tensor(%z, 1)
    return (%add user_input_mutation "z", %add user_output)
  }
})",
                *ops);
}

}  // namespace
}  // namespace belay::exir
