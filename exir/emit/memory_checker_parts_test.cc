// Memory checker on values and instructions with a changed kind, on operands in other locations,
// and on empty tensors.
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "exir/emit/memory_checker.h"
#include "exir/emit/testing/text_method.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;

// Checks the original method against a copy modified by `change`.
std::string Check(
    std::string_view text, const std::function<void(schema::Method&)>& change = [](auto&) {},
    const std::vector<bool>& elided = {}) {
  TextMethod method(text);
  method.written.method.set_arena_bytes(1024);
  schema::Method planned = method.written.method;
  change(planned);
  std::vector<uint32_t> order(method.written.method.instructions_size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<bool> left_out = elided;
  left_out.resize(order.size());
  const absl::Status status = CheckMemoryPlan(planned,
                                              {.written = method.written.method,
                                               .order = order,
                                               .elided = left_out,
                                               .has_effects = method.written.has_effects},
                                              method.written.shapes);
  return std::string(status.message());
}

TEST(MemoryCheckerTest, O2RejectsChangedInstructionKind) {
  constexpr std::string_view kText = R"(%x: f32[16]@0 = test.make.default()
      %y: f32[16]@64 = test.use.default(%x)
      return %y)";
  EXPECT_EQ(Check(kText), "");
  EXPECT_THAT(Check(kText,
                    [](schema::Method& m) {
                      m.mutable_instructions(1)->mutable_move()->set_from(0);
                      m.mutable_instructions(1)->mutable_move()->set_to(1);
                    }),
              HasSubstr("O2: instruction 1 is not the one written as 1"));
}

TEST(MemoryCheckerTest, O2RejectsChangedValueKind) {
  constexpr std::string_view kText = R"(%x: f32[16]@0 = test.make.default(3)
      return %x)";
  EXPECT_EQ(Check(kText), "");
  EXPECT_THAT(Check(kText,
                    [](schema::Method& m) {
                      const schema::Value tensor = m.values(0);
                      *m.mutable_values(1) = tensor;
                    }),
              HasSubstr("O2: value 1 changed"));
}

// An invalid operator index never names an operator that forwards bytes.
TEST(MemoryCheckerTest, V1RejectsUnnamedOperators) {
  TextMethod method(R"(%x: f32[16]@0 = test.make.default()
      %y: f32[16]@0 = aten.alias_copy.default(%x)
      return %y)");
  method.written.method.mutable_instructions(1)->mutable_kernel()->set_operator_(7);
  method.written.method.set_arena_bytes(64);
  schema::Method planned = method.written.method;
  planned.mutable_instructions()->RemoveLast();
  const absl::Status status = CheckMemoryPlan(planned,
                                              {.written = method.written.method,
                                               .order = {0, 1},
                                               .elided = {false, true},
                                               .has_effects = {false, false}},
                                              method.written.shapes);
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("V1: instruction 1 cannot be elided: '' computes something")));
}

TEST(MemoryCheckerTest, M5AcceptsKeptViewOnlyOverFirstArgument) {
  EXPECT_EQ(Check(R"(%x: f32[?16]@0#1 = test.make.default()
      %y: f32[?16]@0#1 = aten.view_copy.default(%x, [-1])
      return %y)"),
            "");
  EXPECT_THAT(Check(R"(%x: f32[?16]@64#1 = test.make.default()
      %s: i64[?16]@0#1 = test.make.default()
      %y: f32[?16]@0#1 = aten.view_copy.default(%x, %s)
      return %y)"),
              HasSubstr("M5: instruction 2 writes value 2 [0, 64) over its argument value 1 [0, "
                        "128): it does not work in place"));
}

// Without the ids of symbolic sizes, only static tensors are known to be read in step.
TEST(MemoryCheckerTest, M5RequiresEqualSymbolicSizes) {
  const auto check = [](std::string_view text, size_t known) {
    TextMethod method(text);
    method.written.method.set_arena_bytes(64);
    method.written.shapes.resize(known);
    return std::string(CheckMemoryPlan(method.written.method,
                                       {.written = method.written.method,
                                        .order = {0, 1},
                                        .elided = {false, false},
                                        .has_effects = {false, false}},
                                       method.written.shapes)
                           .message());
  };
  constexpr std::string_view kDynamic = R"(%x: f32[?16]@0#1 = test.make.default()
      %y: f32[?16]@0#1 = aten.relu.default(%x)
      return %y)";
  constexpr std::string_view kStatic = R"(%x: f32[16]@0 = test.make.default()
      %y: f32[16]@0 = aten.relu.default(%x)
      return %y)";
  for (const size_t known : {0, 1, 2}) {
    EXPECT_EQ(check(kStatic, known), "");
    if (known == 2) {
      EXPECT_EQ(check(kDynamic, known), "");
    } else {
      EXPECT_THAT(check(kDynamic, known), HasSubstr("its symbolic sizes differ"));
    }
  }
}

TEST(MemoryCheckerTest, M1AcceptsEmptyTensorsAnywhere) {
  EXPECT_EQ(Check(R"(%x: f32[16]@0 = test.make.default()
      %e: f32[0]@0 = test.make.default()
      %f: f32[0,4]@0 = test.use.default(%e, %x)
      return %x, %f)"),
            "");
}

}  // namespace
}  // namespace belay::exir
