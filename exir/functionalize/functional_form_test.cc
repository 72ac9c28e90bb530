#include "exir/functionalize/functional_form.h"

#include <memory>
#include <string>
#include <string_view>
#include <tuple>
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

// Functional form of the first of these operators, in a registry of all of them.
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

TEST(FunctionalFormTest, DependsOnWrittenArguments) {
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
  // An alias that is not written needs no new value.
  EXPECT_EQ(FormOf({"demo::count(Tensor(b) self, Tensor(a!) sum) -> Tensor",
                    "demo::count_functional(Tensor self, Tensor sum) -> (Tensor, Tensor)"})
                ->kind,
            Kind::kBoth);
}

TEST(FunctionalFormTest, OperatorsWithoutReplacementHaveNoForm) {
  const std::vector<std::string_view> kCases[] = {
      // The operator writes nothing and has no functional variant.
      {"demo::inc(Tensor self) -> Tensor"},
      {"demo::inc_(Tensor(a!) self) -> Tensor(a!)"},
      {"aten::normal_(Tensor(a!) self, float mean=0, float std=1, *, Generator? generator=None) -> "
       "Tensor(a!)"},
      // In-place operators without a result, with two results for one of the functional operator,
      // or on lists.
      {"demo::inc_(Tensor(a!) self) -> ()", "demo::inc(Tensor self) -> Tensor"},
      {"demo::inc_(Tensor(a!) self) -> Tensor(a!)", "demo::inc(Tensor self) -> (Tensor, Tensor)"},
      {"demo::inc_(Tensor(a!) self, Tensor(b!) other) -> Tensor(a!)",
       "demo::inc(Tensor self, Tensor other) -> Tensor"},
      {"demo::inc_(Tensor(a!)[] self) -> Tensor", "demo::inc(Tensor[] self) -> Tensor"},
      // Out variants without a result, with another number of results, or with another written
      // argument.
      {"demo::inc.out(Tensor self, *, Tensor(a!) out) -> ()", "demo::inc(Tensor self) -> Tensor"},
      {"demo::inc.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
       "demo::inc(Tensor self) -> (Tensor, Tensor)"},
      {"demo::inc.out(Tensor(b!) self, *, Tensor(a!) out) -> Tensor(a!)",
       "demo::inc(Tensor self) -> Tensor"},
      {"demo::inc.out(Tensor self, *, Tensor(a!)[] out) -> Tensor[]",
       "demo::inc(Tensor self) -> Tensor[]"},
      // Fewer arguments than results.
      {"demo::inc.out(*, Tensor(a!) out) -> (Tensor(a!), Tensor)",
       "demo::inc() -> (Tensor, Tensor)"},
      // The functional operator does not return the new value.
      {"demo::count(Tensor self, Tensor(a!) sum) -> Tensor",
       "demo::count.pure(Tensor self, Tensor sum) -> Tensor"},
      {"demo::count(Tensor self, Tensor(a!) sum) -> Tensor",
       "demo::count_functional(Tensor self, Tensor sum) -> Tensor"},
  };
  for (const std::vector<std::string_view>& schemas : kCases) {
    EXPECT_FALSE(FormOf(schemas).has_value()) << std::string(schemas[0]);
  }
}

// Callable operators without an implementation.
TEST(FunctionalFormTest, ReportsUnsupportedOperators) {
  ASSERT_OK_AND_ASSIGN(const auto ops, CreateStandardOps());
  for (const char* schema :
       {"demo::inc_(Tensor(a!) self) -> Tensor(a!)", "demo::inc(Tensor self) -> Tensor",
        "demo::pick(Tensor other, Tensor(a) self) -> (Tensor(a), Tensor)",
        "demo::odd(Tensor(a) self) -> Tensor(b)",
        "demo::second(Tensor(b) other, Tensor(a) self) -> (Tensor(a), Tensor(c))"}) {
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
  // Unknown operators: not recognizable as in-place.
  for (const char* node :
       {"%r: f32[2] = other.add_.default(%x)", "%r: f32[2] = aten.nope.default(%x)"}) {
    ExpectUnchanged(program(node), Functionalize().run, *ops);
  }
  // A view of another argument than the first, a result that is not a view, and a view without a
  // source.
  constexpr char kViews[] =
      "%v: f32[2], %t: f32[2] = demo.pick.default(%z, %x)\n    %o: f32[2] = demo.odd.default(%x)\n"
      "    %u: f32[2], %w: f32[2] = demo.second.default(%z, %x)\n"
      "    %f: f32[2] = custom.unknown.default(%x)";
  ExpectRewrite(program(kViews, "    %a: f32[2] = aten.add_.Tensor(%z, 1)\n"),
                Functionalize(&StandardDecompositions()).run,
                R"(program training {
  graph(%x: f32[2] user_input, %z: f32[2] user_input) {
    %v: f32[2], %t: f32[2] = demo.pick.default(%z, %x)
    %o: f32[2] = demo.odd.default(%x)
    %u: f32[2], %w: f32[2] = demo.second.default(%z, %x)
    %f: f32[2] = custom.unknown.default(%x)
    %add: f32[2] = aten.add.Tensor(%z, 1)
    return (%add user_input_mutation "z", %add user_output)
  }
})",
                *ops);
}

// Operators of custom registries may return anything; mismatches are errors at the node.
class OwnOperatorsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto like_first = [](MetaContext& context) -> absl::Status {
      ABSL_ASSIGN_OR_RETURN(const TensorMeta* tensor, context.Tensor(0));
      for (size_t k = 0; k < context.schema().returns.size(); ++k) {
        context.SetOutput(static_cast<int>(k), *tensor);
      }
      return absl::OkStatus();
    };
    const auto numbers = [](MetaContext& context) -> absl::Status {
      for (size_t k = 0; k < context.schema().returns.size(); ++k) {
        context.SetOutput(static_cast<int>(k), SymExpr(1));
      }
      return absl::OkStatus();
    };
    const auto refuses = [](MetaContext&) -> absl::Status {
      return absl::OutOfRangeError("not these");
    };
    const OpDef kRows[] = {
        {.schema = "demo::count(Tensor(b) self, Tensor(a!) sum) -> Tensor"},
        {.schema = "demo::count_functional(Tensor self, Tensor sum) -> (Tensor, Tensor)",
         .meta = like_first},
        {.schema = "demo::tally(Tensor self, Tensor(a!) sum) -> Tensor"},
        {.schema = "demo::tally_functional(Tensor self, Tensor sum) -> (Tensor, Tensor)",
         .meta = numbers},
        {.schema = "demo::sum(Tensor self, Tensor(a!) sum) -> Tensor"},
        {.schema = "demo::sum_functional(Tensor self, Tensor sum) -> (Tensor, Tensor)",
         .meta = refuses},
        {.schema = "demo::turn_(Tensor(a!) self) -> Tensor(a!)"},
        {.schema = "demo::turn(Tensor(a) self) -> Tensor(a)", .meta = numbers},
        {.schema = "demo::inc_(Tensor(a!) self) -> Tensor(a!)"},
        {.schema = "demo::inc.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"},
        {.schema = "demo::inc(Tensor self) -> Tensor", .meta = numbers},
    };
    ASSERT_OK_AND_ASSIGN(ops_, CreateStandardOps());
    for (const OpDef& row : kRows) ASSERT_OK(ops_->Define(row).status());
  }
  static std::string Program(std::string_view nodes) {
    return absl::StrCat(
        "program training {\n  graph(%x: f32[2] user_input, %s: i64[2] user_input, %one: f32[1] "
        "user_input) {\n    ",
        std::string(nodes), "\n    return (%r user_output, %s user_output)\n  }\n}");
  }

  std::unique_ptr<OpRegistry> ops_;
};

TEST_F(OwnOperatorsTest, ResultsPrecedeWrittenValues) {
  ExpectRewrite(Program("%r: f32[2] = demo.count.default(%x, %s)"), Functionalize().run,
                R"(program training {
  graph(%x: f32[2] user_input, %s: i64[2] user_input, %one: f32[1] user_input) {
    %count_functional: f32[2], %count_functional_1: f32[2] = demo.count_functional.default(%x, %s)
    %_to_copy: i64[2] = aten._to_copy.default(%count_functional_1, dtype=dtype:i64)
    return (%_to_copy user_input_mutation "s", %count_functional user_output, %_to_copy user_output)
  }
})",
                *ops_);
}

TEST_F(OwnOperatorsTest, ReportsMismatchesAtTheNode) {
  const std::tuple<const char*, absl::StatusCode, const char*> kCases[] = {
      {"%r: f32[2] = demo.count.default(%x, 2)", absl::StatusCode::kUnimplemented,
       "a result that is not a tensor, or is not written\n  at %r"},
      {"%r: f32[2] = demo.tally.default(%x, %s)", absl::StatusCode::kUnimplemented,
       "a result that is not a tensor, or is not written\n  at %r"},
      {"%r: f32[2] = demo.sum.default(%x, %s)", absl::StatusCode::kOutOfRange, "not these"},
      {"%e: f32[2]{strides=[0]} = aten.expand.default(%one, [2])\n"
       "    %r: f32[2] = demo.count.default(%x, %e)",
       absl::StatusCode::kUnimplemented, "whose elements share memory\n  at %r"},
      {"%r: f32[2] = demo.turn_.default(%x)", absl::StatusCode::kInternal,
       "a view that is not a tensor\n  at %r"},
      {"%r: f32[2] = demo.inc_.default(%x)", absl::StatusCode::kInternal,
       "the functional operator returns no tensor\n  at %r"},
      {"%r: f32[2] = demo.inc.out(%x, out=%x)", absl::StatusCode::kUnimplemented,
       "a result that is not a tensor, or is not written\n  at %r"},
  };
  for (const auto& [nodes, code, message] : kCases) {
    SCOPED_TRACE(nodes);
    ExpectPassError(Program(nodes), Functionalize().run, code, message, *ops_);
  }
}

}  // namespace
}  // namespace belay::exir
