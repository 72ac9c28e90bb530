#include "exir/backend/transforms/device_copies.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;

MATCHER_P(IsOkAndHolds, value, "") { return arg.ok() && *arg == value; }

const OpRegistry& Ops() {
  static const OpRegistry& ops = *CreateStandardOps().value().release();
  return ops;
}

// Returns a program of these graphs with a module with one argument and one result for each of the
// specs.
std::string Text(std::string_view graphs, const std::vector<std::string_view>& specs) {
  std::string text = absl::StrCat("program edge {\n", graphs);
  for (size_t i = 0; i < specs.size(); ++i) {
    absl::StrAppend(&text, "  module#", i, " backend \"b\" specs [", specs[i], R"(] {
    program edge {
      graph(%p: f32[2] user_input) {
        %q: f32[2] = edge.aten.neg.default(%p)
        return (%q user_output)
      }
    }
  }
)");
  }
  return text + "}\n";
}
void ExpectCopies(std::string_view before, std::string_view after,
                  const std::vector<std::string_view>& specs) {
  ExpectRewrite(Text(before, specs), InsertDeviceCopies().run, Text(after, specs), Ops());
}

constexpr std::string_view kFirst = R"("target_device": "Demo")";
constexpr std::string_view kSecond = R"("target_device": "demo:1")";
constexpr std::string_view kHost = R"("target_device": "cpu")";

constexpr std::string_view kChain = R"(
  graph(%x: f32[2] user_input) {
    %a: f32[2] = higher_order.executorch_call_delegate(module#0, %x)  handle=7
    %b: f32[2] = higher_order.executorch_call_delegate(module#1, %a)
    %c: f32[2] = higher_order.executorch_call_delegate(module#2, %x)
    %d: f32[2] = edge.aten.add.Tensor(%b, %c)
    return (%d user_output)
  }
)";

// docs/lowering.md row 10. Values used only by delegates on the device have no copy on the host.
TEST(DeviceCopiesTest, TensorsStayOnTheDeviceBetweenDelegates) {
  ExpectCopies(kChain, R"(
  graph(%x: f32[2] user_input) {
    %_h2d_copy: f32[2]{device=demo:0} = edge.et_copy._h2d_copy.default(%x)  handle=7
    %a: f32[2]{device=demo:0} = higher_order.executorch_call_delegate(module#0, %_h2d_copy)  handle=7
    %b: f32[2]{device=demo:0} = higher_order.executorch_call_delegate(module#1, %a)
    %_d2h_copy_1: f32[2] = edge.et_copy._d2h_copy.default(%b)
    %c: f32[2]{device=demo:0} = higher_order.executorch_call_delegate(module#2, %_h2d_copy)
    %_d2h_copy_2: f32[2] = edge.et_copy._d2h_copy.default(%c)
    %d: f32[2] = edge.aten.add.Tensor(%_d2h_copy_1, %_d2h_copy_2)
    return (%d user_output)
  }
)",
               {kFirst, kFirst, kFirst});
}

TEST(DeviceCopiesTest, CopiesBetweenDevicesViaTheHost) {
  ExpectCopies(kChain, R"(
  graph(%x: f32[2] user_input) {
    %_h2d_copy: f32[2]{device=demo:0} = edge.et_copy._h2d_copy.default(%x)  handle=7
    %a: f32[2]{device=demo:0} = higher_order.executorch_call_delegate(module#0, %_h2d_copy)  handle=7
    %_d2h_copy: f32[2] = edge.et_copy._d2h_copy.default(%a)  handle=7
    %_h2d_copy_1: f32[2]{device=demo:1} = edge.et_copy._h2d_copy.default(%_d2h_copy)
    %b: f32[2]{device=demo:1} = higher_order.executorch_call_delegate(module#1, %_h2d_copy_1)
    %_d2h_copy_1: f32[2] = edge.et_copy._d2h_copy.default(%b)
    %c: f32[2] = higher_order.executorch_call_delegate(module#2, %x)
    %d: f32[2] = edge.aten.add.Tensor(%_d2h_copy_1, %c)
    return (%d user_output)
  }
)",
               {kFirst, kSecond, kHost});
}

TEST(DeviceCopiesTest, SubgraphsHaveTheirOwnCopies) {
  constexpr std::string_view kBodies = R"(
  graph(%p: b8[] user_input, %x: f32[2] user_input) {
    %a: f32[2] = higher_order.executorch_call_delegate(module#0, %x)
    %b: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%x])
    return (%a user_output, %b user_output)
  }
  graph yes(%y: f32[2]) {
    %c: f32[2] = higher_order.executorch_call_delegate(module#1, %y)
    return (%c)
  }
  graph no(%y: f32[2]) {
    %c: f32[2] = higher_order.executorch_call_delegate(module#2, %y)
    return (%c)
  }
)";
  ExpectCopies(kBodies, R"(
  graph(%p: b8[] user_input, %x: f32[2] user_input) {
    %_h2d_copy: f32[2]{device=demo:0} = edge.et_copy._h2d_copy.default(%x)
    %a: f32[2]{device=demo:0} = higher_order.executorch_call_delegate(module#0, %_h2d_copy)
    %_d2h_copy: f32[2] = edge.et_copy._d2h_copy.default(%a)
    %b: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%x])
    return (%_d2h_copy user_output, %b user_output)
  }
  graph yes(%y: f32[2]) {
    %_h2d_copy: f32[2]{device=demo:0} = edge.et_copy._h2d_copy.default(%y)
    %c: f32[2]{device=demo:0} = higher_order.executorch_call_delegate(module#1, %_h2d_copy)
    %_d2h_copy: f32[2] = edge.et_copy._d2h_copy.default(%c)
    return (%_d2h_copy)
  }
  graph no(%y: f32[2]) {
    %c: f32[2] = higher_order.executorch_call_delegate(module#2, %y)
    return (%c)
  }
)",
               {kFirst, kFirst, ""});
  ExpectUnchanged(Text(kBodies, {kHost, "", ""}), InsertDeviceCopies().run, Ops());
}

constexpr std::string_view kBorders = R"(
  graph(%w: f32[2] buffer "w", %x: f32[2] user_input, %y: f32[2] user_input) {
    %a: f32[2] = higher_order.executorch_call_delegate(module#0, %x, %y, %w)
    %b: f32[2] = higher_order.executorch_call_delegate(module#1, %a, %y, %w)
    %c: f32[2] = higher_order.executorch_call_delegate(module#2, %b, %x, %w)
    return (%a user_output, %b user_output, %c user_output)
  }
)";
std::string BorderText(std::string_view graph, const std::vector<std::string_view>& specs) {
  std::string text =
      absl::StrCat("program edge {\n  constants {\n    state \"w\": f32[2]\n  }\n", graph);
  for (size_t i = 0; i < specs.size(); ++i) {
    absl::StrAppend(&text, "  module#", i, " backend \"b\" specs [", specs[i], R"(] {
    program edge {
      graph(%p: f32[2] user_input, %q: f32[2] user_input, %r: f32[2] user_input) {
        %s: f32[2] = edge.aten.add.Tensor(%p, %q)
        return (%s user_output)
      }
    }
  }
)");
  }
  return text + "}\n";
}

// ExecuTorch's skip_h2d_for_method_inputs: inputs are on the device, constants are copied.
TEST(DeviceCopiesTest, SkipsCopiesOfMethodInputs) {
  const std::vector<std::string_view> specs = {kFirst, kFirst, kFirst};
  ExpectRewrite(BorderText(kBorders, specs), InsertDeviceCopies({.skip_method_inputs = true}).run,
                BorderText(R"(
  graph(%w: f32[2] buffer "w", %x: f32[2]{device=demo:0} user_input, %y: f32[2]{device=demo:0} user_input) {
    %_h2d_copy: f32[2]{device=demo:0} = edge.et_copy._h2d_copy.default(%w)
    %a: f32[2]{device=demo:0} = higher_order.executorch_call_delegate(module#0, %x, %y, %_h2d_copy)
    %_d2h_copy: f32[2] = edge.et_copy._d2h_copy.default(%a)
    %b: f32[2]{device=demo:0} = higher_order.executorch_call_delegate(module#1, %a, %y, %_h2d_copy)
    %_d2h_copy_1: f32[2] = edge.et_copy._d2h_copy.default(%b)
    %c: f32[2]{device=demo:0} = higher_order.executorch_call_delegate(module#2, %b, %x, %_h2d_copy)
    %_d2h_copy_2: f32[2] = edge.et_copy._d2h_copy.default(%c)
    return (%_d2h_copy user_output, %_d2h_copy_1 user_output, %_d2h_copy_2 user_output)
  }
)",
                           specs),
                Ops());
}

TEST(DeviceCopiesTest, MethodInputsOnADeviceHaveNoOtherUsers) {
  ExpectPassError(
      BorderText(kBorders, {kFirst, kSecond, kFirst}),
      InsertDeviceCopies({.skip_method_inputs = true}).run, absl::StatusCode::kInvalidArgument,
      "skip_method_inputs: expected delegates on demo:0 as the only users of input 'y', "
      "got\n  %b: f32[2] = higher_order.executorch_call_delegate(module#1",
      Ops());
  ExpectPassError(Text(R"(
  graph(%x: f32[2] user_input) {
    %a: f32[2] = higher_order.executorch_call_delegate(module#0, %x)
    return (%a user_output, %x user_output)
  })",
                       {kFirst}),
                  InsertDeviceCopies({.skip_method_inputs = true}).run,
                  absl::StatusCode::kInvalidArgument, "the method's outputs", Ops());
}

// ExecuTorch's skip_d2h_for_method_outputs: only results without other users stay on the device.
TEST(DeviceCopiesTest, SkipsCopiesOfMethodOutputs) {
  const std::vector<std::string_view> specs = {kFirst, kFirst, kFirst};
  ExpectRewrite(BorderText(kBorders, specs), InsertDeviceCopies({.skip_method_outputs = true}).run,
                BorderText(R"(
  graph(%w: f32[2] buffer "w", %x: f32[2] user_input, %y: f32[2] user_input) {
    %_h2d_copy: f32[2]{device=demo:0} = edge.et_copy._h2d_copy.default(%x)
    %_h2d_copy_1: f32[2]{device=demo:0} = edge.et_copy._h2d_copy.default(%y)
    %_h2d_copy_2: f32[2]{device=demo:0} = edge.et_copy._h2d_copy.default(%w)
    %a: f32[2]{device=demo:0} = higher_order.executorch_call_delegate(module#0, %_h2d_copy, %_h2d_copy_1, %_h2d_copy_2)
    %_d2h_copy: f32[2] = edge.et_copy._d2h_copy.default(%a)
    %b: f32[2]{device=demo:0} = higher_order.executorch_call_delegate(module#1, %a, %_h2d_copy_1, %_h2d_copy_2)
    %_d2h_copy_1: f32[2] = edge.et_copy._d2h_copy.default(%b)
    %c: f32[2]{device=demo:0} = higher_order.executorch_call_delegate(module#2, %b, %_h2d_copy, %_h2d_copy_2)
    return (%_d2h_copy user_output, %_d2h_copy_1 user_output, %c user_output)
  }
)",
                           specs),
                Ops());
}

// New values of buffers are on the host.
TEST(DeviceCopiesTest, CopiesNewValuesOfBuffers) {
  const auto text = [](std::string_view graph) { return BorderText(graph, {kFirst}); };
  ExpectRewrite(text(R"(
  graph(%w: f32[2] buffer "w", %x: f32[2] user_input, %y: f32[2] user_input) {
    %a: f32[2] = higher_order.executorch_call_delegate(module#0, %x, %y, %w)
    return (%a buffer_mutation "w", %a user_output)
  }
)"),
                InsertDeviceCopies({.skip_method_inputs = true, .skip_method_outputs = true}).run,
                text(R"(
  graph(%w: f32[2] buffer "w", %x: f32[2]{device=demo:0} user_input, %y: f32[2]{device=demo:0} user_input) {
    %_h2d_copy: f32[2]{device=demo:0} = edge.et_copy._h2d_copy.default(%w)
    %a: f32[2]{device=demo:0} = higher_order.executorch_call_delegate(module#0, %x, %y, %_h2d_copy)
    %_d2h_copy: f32[2] = edge.et_copy._d2h_copy.default(%a)
    return (%_d2h_copy buffer_mutation "w", %_d2h_copy user_output)
  }
)"),
                Ops());
}

// Runs the pass without verifying the program.
absl::StatusOr<std::string> Copied(std::string_view text, const OpRegistry& ops) {
  ExportedProgram program = ParseOrDie(text, ops);
  const absl::StatusOr<bool> changed = InsertDeviceCopies().run(program);
  if (!changed.ok()) return changed.status();
  return PrintNode(program.top(), program.top().last());
}

TEST(DeviceCopiesTest, ScalarsAreNeverOnADevice) {
  EXPECT_THAT(Copied(Text(R"(
  graph(%n: symint(s0) user_input) {
    %a: symint(s0) = higher_order.executorch_call_delegate(module#0, %n, 3)
    return (%a user_output)
  })",
                          {kFirst}),
                     Ops()),
              IsOkAndHolds("%a: symint(s0) = higher_order.executorch_call_delegate(module#0, %n, "
                           "3)"));
}

TEST(DeviceCopiesTest, KeepsCallWithoutModule) {
  EXPECT_THAT(Copied(Text(R"(
  graph(%x: f32[2] user_input) {
    %a: f32[2] = higher_order.executorch_call_delegate(3, %x)
    return (%a user_output)
  })",
                          {kFirst}),
                     Ops()),
              IsOkAndHolds("%a: f32[2] = higher_order.executorch_call_delegate(3, %x)"));
}

TEST(DeviceCopiesTest, ReportsRegistriesWithoutCopyOperators) {
  constexpr OpDef kOwn[] = {
      {.schema = "aten::neg(Tensor self) -> Tensor"},
      {.schema = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"},
      {.schema = "et_copy::_h2d_copy(Tensor self) -> Tensor"},
  };
  for (const size_t rows : {2, 3}) {
    const absl::Span<const OpDef> tables[] = {absl::MakeConstSpan(kOwn, rows)};
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<OpRegistry> ops, OpRegistry::Create(tables));
    EXPECT_THAT(Copied(Text(kChain, {kFirst, "", ""}), *ops),
                StatusIs(absl::StatusCode::kNotFound, HasSubstr("et_copy")));
  }
}

TEST(DeviceCopiesTest, RejectsInvalidDeviceSpec) {
  ExpectPassError(Text(kChain, {kFirst, R"("target_device": "demo:first")", ""}),
                  InsertDeviceCopies().run, absl::StatusCode::kInvalidArgument, "demo:first",
                  Ops());
}

}  // namespace
}  // namespace belay::exir
