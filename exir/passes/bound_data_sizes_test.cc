#include "exir/passes/bound_data_sizes.h"

#include <cstddef>
#include <cstdint>
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

// The range of the number of elements that bincount counts after this line, which defines %n of
// %x: i64[8], %m: b8[8] and %f: f32[8].
std::string Counted(std::string_view line, std::string_view ranges = "") {
  return RangeOf(
      "u0", absl::StrCat("u0: [0, inf]", std::string(ranges)),
      absl::StrCat(R"(%x: i64[8] user_input, %m: b8[8] user_input, %f: f32[8] user_input) {
    )",
                   std::string(line), R"(
    %k: i64[u0] = aten.bincount.default(%n, none, 3)
    return (%k user_output) })"));
}

TEST(BoundDataSizesTest, BincountHasTheLargestElement) {
  EXPECT_EQ(Counted("%n: i64[8] = aten.abs.default(%x)"), "[0, inf]");
  EXPECT_EQ(Counted("%n: i64[8] = aten.clamp.default(%x, 0, 7)"), "[3, 8]");
  EXPECT_EQ(Counted("%n: i64[8] = aten.clamp.default(%x, 0, 1)"), "[3, 3]");
  EXPECT_EQ(Counted("%n: i64[8] = aten.clamp.default(%x, 0)"), "[0, inf]");
  EXPECT_EQ(Counted("%n: i64[8] = aten.remainder.Scalar(%x, 10)"), "[3, 10]");
  EXPECT_EQ(Counted("%n: i64[8] = aten.bitwise_and.Scalar(%x, 15)"), "[3, 16]");
  EXPECT_EQ(Counted("%n: i64[8] = aten.to.dtype(%m, dtype:i64)"), "[3, 3]");
  EXPECT_EQ(Counted("%n: i64[8] = aten.cumsum.default(%m, 0)"), "[3, 9]");
  EXPECT_EQ(Counted("%n: i64[8] = aten.full.default([8], 5)"), "[3, 6]");
  EXPECT_EQ(Counted("%n: i64[8] = aten.argsort.default(%f)"), "[3, 8]");
  EXPECT_EQ(Counted("%v: f32[8], %n: i64[8] = aten.sort.default(%f)"), "[3, 8]");
}

TEST(BoundDataSizesTest, ElementsFollowOperators) {
  const auto after = [](std::string_view line) {
    return Counted(
        absl::StrCat("%a: i64[8] = aten.clamp.default(%x, 1, 4)\n    ", std::string(line)));
  };
  EXPECT_EQ(after("%n: i64[8] = aten.flip.default(%a, [0])"), "[3, 5]");
  EXPECT_EQ(after("%n: i64[8] = aten.add.Tensor(%a, %a)"), "[3, 9]");
  EXPECT_EQ(after("%n: i64[8] = aten.add.Tensor(%a, 3, alpha=2)"), "[3, 11]");
  EXPECT_EQ(after("%n: i64[8] = aten.sub.Tensor(%a, %a)"), "[3, 4]");  // of other elements
  EXPECT_EQ(after("%n: i64[8] = aten.mul.Tensor(%a, %a)"), "[3, 17]");
  EXPECT_EQ(after("%n: i64[8] = aten.floor_divide.default(%a, 2)"), "[3, 3]");
  EXPECT_EQ(after("%n: i64[8] = aten.where.self(%m, %a, %x)"), "[0, inf]");
  EXPECT_EQ(after("%z: i64[8] = aten.full.default([8], 9)\n    "
                  "%n: i64[8] = aten.where.self(%m, %a, %z)"),
            "[3, 10]");
  EXPECT_EQ(after("%b: i64[16] = aten.cat.default([%a, %a])\n    "
                  "%n: i64[8] = aten.slice.Tensor(%b, 0, 4, 12)"),
            "[3, 5]");
  EXPECT_EQ(after("%n: i64[8] = aten.maximum.default(%a, %x)"), "[0, inf]");
  EXPECT_EQ(after("%n: i64[8] = aten.minimum.default(%a, %x)"), "[3, 5]");
}

TEST(BoundDataSizesTest, ConvertedFloatsKeepTheirRange) {
  const auto converted = [](std::string_view line) {
    return Counted(
        absl::StrCat(std::string(line), "\n    %n: i64[8] = aten.to.dtype(%g, dtype:i64)"));
  };
  EXPECT_EQ(converted("%g: f32[8] = aten.clamp.default(%f, 0.5, 6.5)"), "[3, 8]");
  EXPECT_EQ(converted("%s: f32[8] = aten.sigmoid.default(%f)\n    "
                      "%g: f32[8] = aten.mul.Tensor(%s, 9.5)"),
            "[3, 11]");
  EXPECT_EQ(converted("%g: f32[8] = aten.mul.Tensor(%f, 9.5)"), "[0, inf]");
}

TEST(BoundDataSizesTest, NarrowIntegersWrap) {
  const auto sum = [](std::string_view number) {
    return Counted(
        absl::StrCat("%a: u8[8] = aten.to.dtype(%m, dtype:u8)\n    "
                     "%b: u8[8] = aten.add.Tensor(%a, ",
                     std::string(number), ")\n    %n: i64[8] = aten.to.dtype(%b, dtype:i64)"));
  };
  EXPECT_EQ(sum("5"), "[3, 7]");
  EXPECT_EQ(sum("-1"), "[3, 256]");
}

TEST(BoundDataSizesTest, RepeatsAreSummed) {
  const auto repeated = [](std::string_view call, std::string_view type = "i64[u0]") {
    return RangeOf("u0", "u0: [0, inf]",
                   absl::StrCat(R"(%x: f32[8,2] user_input, %r: i64[8] user_input) {
    %n: i64[8] = aten.clamp.default(%r, -2, 3)
    %o: i64[1] = aten.slice.Tensor(%n, 0, 0, 1)
    %k: )",
                                std::string(type), " = ", std::string(call), R"(
    return (%k user_output) })"));
  };
  EXPECT_EQ(repeated("aten.repeat_interleave.Tensor(%n)"), "[0, 24]");
  EXPECT_EQ(repeated("aten.repeat_interleave.Tensor(%r)"), "[0, inf]");
  EXPECT_EQ(repeated("aten.repeat_interleave.self_Tensor(%x, %n, 0)", "f32[u0,2]"), "[0, 24]");
  EXPECT_EQ(repeated("aten.repeat_interleave.self_Tensor(%x, %n, -2)", "f32[u0,2]"), "[0, 24]");
  EXPECT_EQ(repeated("aten.repeat_interleave.self_Tensor(%x, %o)", "f32[u0]"), "[0, 48]");
}

TEST(BoundDataSizesTest, ItemHasTheRangeOfTheElements) {
  EXPECT_EQ(RangeOf("u0", "u0: [-inf, inf]", R"(%m: b8[9,4] user_input) {
    %s: i64[4] = aten.sum.dim_IntList(%m, [0])
    %l: i64[] = aten.max.default(%s)
    %n: symint(u0) = aten._local_scalar_dense.default(%l)
    return (%n user_output) })"),
            "[0, 9]");
}

TEST(BoundDataSizesTest, ConstantsHaveTheirElements) {
  const auto bound = [](std::string_view kind) {
    ExportedProgram program = ParseOrDie(absl::StrCat(R"(program aten { ranges { u0: [0, inf] }
    constants { constant "r": i64[2] }
    graph(%r: i64[2] )",
                                                      std::string(kind), R"( "r") {
    %k: i64[u0] = aten.repeat_interleave.Tensor(%r)
    return (%k user_output) } })"),
                                         PassTestOps());
    const int64_t repeats[] = {5, 3};
    const auto* bytes = reinterpret_cast<const std::byte*>(repeats);
    program.constants.insert_or_assign(
        "r", *ConstantTensor::Contiguous(DType::kInt64, {2},
                                         Storage::Own({bytes, bytes + sizeof repeats})));
    EXPECT_OK(BoundDataSizes().run(program).status());
    return Print(SymExpr::Symbol("u0").Range(program.ranges));
  };
  EXPECT_EQ(bound("tensor_constant"), "[0, 10]");
  EXPECT_EQ(bound("buffer"), "[0, inf]");
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

TEST(BoundDataSizesTest, AssertionsNarrowInsideFunctions) {
  EXPECT_EQ(Asserted("Eq(u0 + Max(0, 40 - u0), 40)"), "[0, 40]");
  EXPECT_EQ(Asserted("Ne(0, Max(0, 40 - u0))"), "[0, 39]");
  EXPECT_EQ(Asserted("Le(2*u0 + 1, 30)"), "[0, 14]");
  EXPECT_EQ(Asserted("Ge(2*u0 + 1, 30)"), "[15, 100]");
  EXPECT_EQ(Asserted("Le(u0 + s0, 30)"), "[0, 29]");
  EXPECT_EQ(Asserted("Eq(Mod(u0, 3), 0)"), "[0, 100]");
}

TEST(BoundDataSizesTest, AssertionsNarrowInputs) {
  EXPECT_EQ(RangeOf("s0", "s0: [0, inf]", R"(%x: f32[s0] user_input) {
    %n: symint(s0) = aten.sym_size.int(%x, 0)
    %c: symbool(Le(s0, 50)) = _operator.le(%n, 50)
    aten._assert_scalar.default(%c, "bound")
    return (%x user_output) })"),
            "[0, 50]");
}

}  // namespace
}  // namespace belay::exir
