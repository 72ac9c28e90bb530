#include "exir/passes/prune_empty_tensors.h"

#include <string>

#include "exir/passes/pass_testing.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

TEST(PruneEmptyTensorsTest, DropsInputsWithoutElements) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[2,3] user_input, %e: f32[0] user_input) {
    %y: f32[2,3] = aten.cat.default([%e, %x])
    return (%y user_output)
  }
})",
                PruneEmptyTensors().run, R"(program aten {
  graph(%x: f32[2,3] user_input, %e: f32[0] user_input) {
    %y: f32[2,3] = aten.cat.default([%x])
    return (%y user_output)
  }
})",
                PassTestOps());
}

TEST(PruneEmptyTensorsTest, OnlyEmptyInputsBecomeFull) {
  ExpectRewrite(R"(program aten {
  graph(%e: f32[0,3] user_input) {
    %y: f32[0,3] = aten.cat.default([%e, %e])
    return (%y user_output)
  }
})",
                PruneEmptyTensors().run, R"(program aten {
  graph(%e: f32[0,3] user_input) {
    %y: f32[0,3] = aten.full.default([0,3], 0, dtype=dtype:f32)
    return (%y user_output)
  }
})",
                PassTestOps());
}

TEST(PruneEmptyTensorsTest, OtherOperatorsKeepTheirEmptyInputs) {
  ExpectUnchanged(R"(program aten {
  graph(%x: f32[2,0] user_input, %e: f32[2,0] user_input) {
    %y: f32[2,2,0] = aten.stack.default([%e, %x])
    return (%y user_output)
  }
})",
                  PruneEmptyTensors().run, PassTestOps());
}

TEST(PruneEmptyTensorsTest, KeepsAnEmptyInputThatDecidesTheDType) {
  ExpectUnchanged(R"(program aten {
  graph(%x: f32[2,3] user_input, %e: f16[0,3] user_input) {
    %y: f32[2,3] = aten.cat.default([%e, %x])
    return (%y user_output)
  }
})",
                  PruneEmptyTensors().run, PassTestOps());
}

TEST(PruneEmptyTensorsTest, KeepsTensorsOfUnknownSize) {
  ExpectUnchanged(R"(program aten {
  ranges { s0: [1, 8] }
  graph(%x: f32[2] user_input, %e: f32[0,s0] user_input, %n: symint(s0) user_input) {
    %a: f32[4] = aten.cat.default([2.0, %x, %n])
    %b: f32[0,s0] = aten.cat.default([%e, %e])
    return (%a user_output, %b user_output)
  }
})",
                  PruneEmptyTensors().run, PassTestOps());
}

// A custom registry, and a program that does not verify.
TEST(PruneEmptyTensorsTest, KeepsIrreplaceableNodes) {
  constexpr OpDef kRows[] = {{.schema = "aten::cat(Tensor[] tensors, int dim=0) -> Tensor"}};
  const absl::Span<const OpDef> tables[] = {kRows};
  ASSERT_OK_AND_ASSIGN(const auto ops, OpRegistry::Create(tables));
  for (const char* tensors : {"[%e]", "%e"}) {
    ExportedProgram program = ParseOrDie(
        std::string(
            "program aten { graph(%e: f32[0] user_input) {\n%r: f32[0] = aten.cat.default(") +
            tensors + ")\nreturn (%r user_output) } }",
        *ops);
    ASSERT_OK_AND_ASSIGN(const bool changed, PruneEmptyTensors().run(program));
    EXPECT_FALSE(changed);
  }
}

}  // namespace
}  // namespace belay::exir
