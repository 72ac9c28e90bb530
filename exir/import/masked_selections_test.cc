// Corrects the bounds of masked selections, which the exporter computes wrongly.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "exir/import/testing/archive.h"
#include "exir/import/testing/node_json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr int64_t kUnbounded = SymRange::kUnboundedAbove;

// A tensor of these sizes, static or symbolic.
std::string Sized(const std::vector<std::string>& sizes) {
  std::string list, strides;
  for (const std::string& size : sizes) {
    const std::string comma = list.empty() ? "" : ", ";
    absl::StrAppend(&list, comma, R"({"as_expr": {"expr_str": ")", size, R"(", "hint": null}})");
    absl::StrAppend(&strides, comma, R"({"as_int": 1})");
  }
  return absl::StrCat(R"({"dtype": 7, "sizes": [)", list, R"(], "strides": [)", strides,
                      R"(], "storage_offset": {"as_int": 0}, "layout": 7})");
}

// A custom operator that returns the value.
std::string Make(const std::string& value) {
  return NodeJson("torch.ops.mine.make.default", {}, TensorArg(value), value);
}
std::string Select(const std::vector<std::string>& inputs, const std::string& outputs,
                   const std::string& name = "y") {
  return NodeJson("torch.ops.aten.masked_select.default", inputs, outputs, name);
}

// Imports the program with these nodes before its own; the upper bound of u0 and u1 is 6.
absl::StatusOr<ExportedProgram> Import(const std::string& nodes, const std::string& tensors,
                                       const std::string& sym_ints = "",
                                       const std::string& sym_bools = "") {
  Changes changes = WithNodes(nodes, tensors, sym_ints);
  changes.push_back({"\"sym_bool_values\": {}", "\"sym_bool_values\": {" + sym_bools + "}"});
  changes.push_back({"\"range_constraints\": {}",
                     R"("range_constraints": {"u0": {"min_val": 0, "max_val": 6},
                                              "u1": {"min_val": 0, "max_val": 6}})"});
  return ImportChanged(changes);
}

const std::string kX = Input("", TensorArg("x")), kM = Input("", TensorArg("m"));

// A mask larger than the input broadcasts it, but the exporter bounds the selection by the input.
// Bounds of other operators' results are correct.
TEST(MaskedSelectionsTest, BoundsSelectionByMaskAndInput) {
  ASSERT_OK_AND_ASSIGN(
      const ExportedProgram program,
      Import(Make("m") + ", " + Select({kX, kM}, TensorArg("y")) + ", " +
                 NodeJson("torch.ops.mine.select.default", {kX, kM}, TensorArg("z"), "z"),
             Tensor("m", MetaJson({4, 1, 3}, 12)) + ", " + Tensor("y", Sized({"u0"})) + ", " +
                 Tensor("z", Sized({"u1"}))));
  EXPECT_THAT(program.ranges, ElementsAre(Pair("u0", SymRange{0, 24}), Pair("u1", SymRange{0, 6})));
}

TEST(MaskedSelectionsTest, KeepsSufficientBounds) {
  for (const auto& sizes : {std::vector<int64_t>{}, {3}, {2, 1}}) {
    ASSERT_OK_AND_ASSIGN(
        const ExportedProgram program,
        Import(Make("m") + ", " + Select({kX, kM}, TensorArg("y")),
               Tensor("m", MetaJson(sizes, 12)) + ", " + Tensor("y", Sized({"u0"}))));
    EXPECT_EQ(program.ranges.at("u0"), (SymRange{0, 6}));
  }
}

TEST(MaskedSelectionsTest, UnboundedSizesRemoveBound) {
  const std::pair<std::vector<std::string>, std::vector<std::string>> kSizes[] = {
      {{"s0", "3"}, {"3"}}, {{"1099511627776", "1"}, {"1", "1099511627776"}},  // 2^80 in total
  };
  for (const auto& [input, mask] : kSizes) {
    ASSERT_OK_AND_ASSIGN(const ExportedProgram program,
                         Import(Make("v") + ", " + Make("m") + ", " +
                                    Select({Input("", TensorArg("v")), kM}, TensorArg("y")),
                                Tensor("v", Sized(input)) + ", " + Tensor("m", Sized(mask)) + ", " +
                                    Tensor("y", Sized({"u0"}))));
    EXPECT_EQ(program.ranges.at("u0"), (SymRange{0, kUnbounded})) << input[0];
  }
}

// None of these is a known selection.
TEST(MaskedSelectionsTest, KeepsUnknownSelections) {
  const std::string n = Input("", R"({"as_sym_int": {"as_name": "n"}})"),
                    three = Input("", R"({"as_int": 3})"), y = TensorArg("y");
  const struct {
    std::string node;
    std::vector<std::string> sizes;  // of %y
  } kSelections[] = {
      {Select({kX}, y), {"u0"}},
      {Select({three, kM}, y), {"u0"}},
      {Select({kX, three}, y), {"u0"}},
      {Select({n, kM}, y), {"u0"}},
      {Select({kX, n}, y), {"u0"}},
      {Select({kX, kM}, y + ", " + TensorArg("z")), {"u0"}},
      {Select({kX, kM}, R"({"as_sym_int": {"as_name": "i"}})") + ", " + Make("y"), {"u0"}},
      {Select({kX, kM}, y), {"u0", "1"}},
      {Select({kX, kM}, y), {"2*u0"}},
      {Select({kX, kM}, y), {"s0"}},
      {Select({kX, kM}, y), {"7"}},
  };
  for (const auto& [node, sizes] : kSelections) {
    ASSERT_OK_AND_ASSIGN(const ExportedProgram program,
                         Import(Make("m") + ", " +
                                    NodeJson("torch.ops.mine.number.default", {},
                                             R"({"as_sym_int": {"as_name": "n"}})", "number") +
                                    ", " + node,
                                Tensor("m", MetaJson({4, 1, 3}, 12)) + ", " +
                                    Tensor("y", Sized(sizes)) + ", " + Tensor("z"),
                                R"("n": {"as_int": 2}, "i": {"as_int": 3})"));
    EXPECT_THAT(program.ranges, ElementsAre(Pair("u0", SymRange{0, 6}), Pair("u1", SymRange{0, 6})))
        << node;
  }
}

// The exporter asserts its bound; such assertions would fail.
TEST(MaskedSelectionsTest, ErasesAssertionsOfWrongBounds) {
  const std::pair<std::string, std::string> kConditions[] = {
      {"a", "u0 <= 6"},   {"b", "u0 <= 7"},  {"c", "u1 <= 6"}, {"d", "u0 >= 6"},
      {"e", "2*u0 <= 6"}, {"f", "u0 <= u1"}, {"g", "Le"},  // a symbol with that name
  };
  std::string nodes = Make("m") + ", " + Select({kX, kM}, TensorArg("y")), conditions;
  const auto assert_that = [&](const std::vector<std::string>& inputs, const std::string& name) {
    absl::StrAppend(&nodes, ", ",
                    NodeJson("torch.ops.aten._assert_scalar.default", inputs, "", name));
  };
  for (const auto& [name, condition] : kConditions) {
    const std::string value = absl::StrCat(R"({"as_sym_bool": {"as_name": ")", name, "\"}}");
    absl::StrAppend(&nodes, ", ",
                    NodeJson("torch.ops.mine.test.default", {}, value, "make_" + name));
    absl::StrAppend(&conditions, conditions.empty() ? "" : ", ", "\"", name,
                    R"(": {"as_expr": {"expr_str": ")", condition, "\"}}");
    assert_that({Input("", value), Input("", R"({"as_string": "why"})")}, "assert_" + name);
  }
  assert_that({}, "assert_nothing");
  assert_that({Input("", R"({"as_bool": true})")}, "assert_true");
  assert_that({kX}, "assert_x");
  ASSERT_OK_AND_ASSIGN(
      const ExportedProgram program,
      Import(nodes, Tensor("m", MetaJson({4, 1, 3}, 12)) + ", " + Tensor("y", Sized({"u0"})), "",
             conditions));
  std::vector<std::string> asserted;
  for (const NodeId id : program.top().NodeList()) {
    const std::string& name = program.top().node(id).name;
    if (name.starts_with("assert_")) asserted.push_back(name);
  }
  EXPECT_THAT(asserted, ElementsAre("assert_b", "assert_c", "assert_d", "assert_e", "assert_f",
                                    "assert_g", "assert_nothing", "assert_true", "assert_x"));
}

}  // namespace
}  // namespace belay::exir
