#include "exir/passes/bound_data_sizes.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "exir/ir/text.h"
#include "exir/passes/pass_testing.h"
#include "exir/testing/programs.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

std::string Print(SymRange range) {
  return absl::StrCat(
      "[", range.min == SymRange::kUnboundedBelow ? "-inf" : absl::StrCat(range.min), ", ",
      range.max == SymRange::kUnboundedAbove ? "inf" : absl::StrCat(range.max), "]");
}

// Runs the pass on a graph with these ranges and this body; returns the range of the symbol.
std::string RangeOf(std::string_view symbol, std::string_view ranges, std::string_view graph) {
  ExportedProgram program = ParseOrDie(absl::StrCat("program aten { ranges { ", std::string(ranges),
                                                    " } graph(", std::string(graph), " }"),
                                       PassTestOps());
  const std::string before = PrintProgram(program);
  const absl::StatusOr<bool> changed = BoundDataSizes().run(program);
  EXPECT_OK(changed);
  EXPECT_EQ(changed.value_or(false), PrintProgram(program) != before);
  return Print(SymExpr::Symbol(symbol).Range(program.ranges));
}

TEST(BoundDataSizesTest, NmsReturnsAtMostTheBoxes) {
  EXPECT_EQ(RangeOf("u0", "u0: [2, inf]",
                    R"(%b: f32[60,4] user_input, %s: f32[60] user_input) {
    %k: i64[u0] = torchvision.nms.default(%b, %s, 0.5)
    return (%k user_output) })"),
            "[2, 60]");
  EXPECT_EQ(RangeOf("u0", "u0: [0, inf] s0: [1, 100]",
                    R"(%b: f32[s0,4] user_input, %s: f32[s0] user_input) {
    %k: i64[u0] = torchvision.nms.default(%b, %s, 0.5)
    return (%k user_output) })"),
            "[0, 100]");
}

TEST(BoundDataSizesTest, NonzeroReturnsAtMostTheElements) {
  EXPECT_EQ(RangeOf("u0", "u0: [0, inf] s0: [1, 6]", R"(%x: f32[s0,3] user_input) {
    %k: i64[u0,2] = aten.nonzero.default(%x)
    return (%k user_output) })"),
            "[0, 18]");
}

TEST(BoundDataSizesTest, MaskedSelectReturnsAtMostTheBroadcastElements) {
  EXPECT_EQ(RangeOf("u0", "u0: [0, inf]", R"(%x: f32[3] user_input, %m: b8[2,3] user_input) {
    %k: f32[u0] = aten.masked_select.default(%x, %m)
    return (%k user_output) })"),
            "[0, 6]");
}

TEST(BoundDataSizesTest, MaskAsIndexSelectsAtMostItsElements) {
  EXPECT_EQ(RangeOf("u0", "u0: [0, inf] s0: [0, 8]",
                    R"(%x: f32[s0,4] user_input, %m: b8[s0] user_input) {
    %k: f32[u0,4] = aten.index.Tensor(%x, [%m])
    return (%k user_output) })"),
            "[0, 8]");
}

TEST(BoundDataSizesTest, BoundsPropagateToLaterSymbols) {
  EXPECT_EQ(RangeOf("u1", "u0: [0, inf] u1: [0, inf]", R"(%m: b8[9] user_input) {
    %k: i64[u0,1] = aten.nonzero.default(%m)
    %r: i64[u1,2] = aten.nonzero.default(%k)
    return (%r user_output) })"),
            "[0, 9]");
}

TEST(BoundDataSizesTest, ItemHasTheRangeOfItsDtype) {
  const auto item = [](std::string_view dtype) {
    return RangeOf("u0", "u0: [-inf, inf]",
                   absl::StrCat("%x: ", std::string(dtype), R"([] user_input) {
    %n: symint(u0) = aten._local_scalar_dense.default(%x)
    return (%n user_output) })"));
  };
  EXPECT_EQ(item("u8"), "[0, 255]");
  EXPECT_EQ(item("i8"), "[-128, 127]");
  EXPECT_EQ(item("i16"), "[-32768, 32767]");
  EXPECT_EQ(item("i32"), "[-2147483648, 2147483647]");
  EXPECT_EQ(item("i64"), "[-inf, inf]");
}

// Asserts `condition` (a relation of u0) of the number of nonzero elements of 100.
std::string Asserted(std::string_view condition, std::string_view range = "[0, inf]") {
  return RangeOf("u0", absl::StrCat("u0: ", std::string(range), " s0: [1, 20]"),
                 absl::StrCat(R"(%x: f32[100] user_input, %y: f32[s0] user_input) {
    %k: i64[u0,1] = aten.nonzero.default(%x)
    %n: symint(u0) = aten.sym_size.int(%k, 0)
    %c: symbool()",
                              std::string(condition), R"() = _operator.le(%n, 50)
    aten._assert_scalar.default(%c, "bound")
    return (%k user_output) })"));
}

TEST(BoundDataSizesTest, AssertionsNarrow) {
  EXPECT_EQ(Asserted("Le(u0, 50)"), "[0, 50]");
  EXPECT_EQ(Asserted("Lt(u0, 50)"), "[0, 49]");
  EXPECT_EQ(Asserted("Ge(u0, 3)"), "[3, 100]");
  EXPECT_EQ(Asserted("Gt(u0, 3)"), "[4, 100]");
  EXPECT_EQ(Asserted("Ge(50, u0)"), "[0, 50]");
  EXPECT_EQ(Asserted("Eq(u0, 7)"), "[7, 7]");
  EXPECT_EQ(Asserted("And(Le(u0, 50), Ge(u0, 3))"), "[3, 50]");
  EXPECT_EQ(Asserted("Le(u0, s0)"), "[0, 20]");
  EXPECT_EQ(Asserted("Le(u0, s9)"), "[0, 100]");
  EXPECT_EQ(Asserted("Or(Le(u0, 50), Ge(u0, 3))"), "[0, 100]");
  EXPECT_EQ(Asserted("Ne(u0, 50)"), "[0, 100]");
}

TEST(BoundDataSizesTest, KeepsRangesThatContradict) {
  EXPECT_EQ(Asserted("Le(u0, 50)", "[200, inf]"), "[200, inf]");
}

TEST(BoundDataSizesTest, KeepsTighterRangesOfTheArchive) {
  EXPECT_EQ(Asserted("Le(u0, 50)", "[4, 8]"), "[4, 8]");
}

TEST(BoundDataSizesTest, InputSymbolsAreUnchanged) {
  EXPECT_EQ(RangeOf("s0", "s0: [0, inf]", R"(%x: f32[s0] user_input) {
    %n: symint(s0) = aten.sym_size.int(%x, 0)
    %c: symbool(Le(s0, 50)) = _operator.le(%n, 50)
    aten._assert_scalar.default(%c, "bound")
    return (%x user_output) })"),
            "[0, inf]");
}

}  // namespace
}  // namespace belay::exir
