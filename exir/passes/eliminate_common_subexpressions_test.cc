#include "exir/passes/eliminate_common_subexpressions.h"

#include <string>
#include <string_view>

#include "exir/passes/pass_testing.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

void Expect(std::string_view before, std::string_view after) {
  ExpectRewrite(before, EliminateCommonSubexpressions().run, after, PassTestOps());
}
void Unchanged(std::string_view program) {
  ExpectUnchanged(program, EliminateCommonSubexpressions().run, PassTestOps());
}

TEST(EliminateCommonSubexpressionsTest, MergesChainsOfEqualNodes) {
  Expect(R"(program aten {
  graph(%x: f32[2] user_input) {
    %a: f32[2] = aten.relu.default(%x)
    %b: f32[2] = aten.neg.default(%a)
    %c: f32[2] = aten.relu.default(%x)
    %d: f32[2] = aten.neg.default(%c)
    %y: f32[2] = aten.mul.Tensor(%b, %d)
    return (%y user_output)
  }
})",
         R"(program aten {
  graph(%x: f32[2] user_input) {
    %a: f32[2] = aten.relu.default(%x)
    %b: f32[2] = aten.neg.default(%a)
    %y: f32[2] = aten.mul.Tensor(%b, %b)
    return (%y user_output)
  }
})");
}

TEST(EliminateCommonSubexpressionsTest, ReportsMergedNodes) {
  ExportedProgram program = ParseOrDie(R"(program aten {
  graph(%x: f32[2] user_input) {
    %a: f32[2] = aten.relu.default(%x)
    %b: f32[2] = aten.relu.default(%x)
    %y: f32[2] = aten.mul.Tensor(%a, %b)
    return (%y user_output)
  }
})",
                                       PassTestOps());
  std::string merged;
  const auto merge = [&](GraphEditor& editor, NodeId kept, NodeId erased) {
    merged += editor.graph().node(erased).name + " -> " + editor.graph().node(kept).name;
  };
  ASSERT_OK(EliminateCommonSubexpressions(merge).run(program).status());
  EXPECT_EQ(merged, "b -> a");
}

TEST(EliminateCommonSubexpressionsTest, MergesAllResultsOfANode) {
  Expect(R"(program aten {
  graph(%x: f32[4] user_input) {
    [%a: f32[2], %b: f32[2]] = aten.split_with_sizes_copy.default(%x, [2, 2])
    [%c: f32[2], %d: f32[2]] = aten.split_with_sizes_copy.default(%x, [2, 2])
    %y: f32[2] = aten.mul.Tensor(%a, %d)
    %z: f32[2] = aten.mul.Tensor(%b, %c)
    return (%y user_output, %z user_output)
  }
})",
         R"(program aten {
  graph(%x: f32[4] user_input) {
    [%a: f32[2], %b: f32[2]] = aten.split_with_sizes_copy.default(%x, [2, 2])
    %y: f32[2] = aten.mul.Tensor(%a, %b)
    %z: f32[2] = aten.mul.Tensor(%b, %a)
    return (%y user_output, %z user_output)
  }
})");
}

TEST(EliminateCommonSubexpressionsTest, MergesSizes) {
  Expect(R"(program aten {
  ranges { s0: [1, 8] }
  graph(%x: f32[s0] user_input) {
    %n: symint(s0) = aten.sym_size.int(%x, 0)
    %m: symint(s0) = aten.sym_size.int(%x, 0)
    %y: f32[s0] = aten.full.default([%n], 1.0)
    %z: f32[s0] = aten.full.default([%m], 2.0)
    %w: f32[s0] = aten.add.Tensor(%y, %z)
    return (%w user_output)
  }
})",
         R"(program aten {
  ranges { s0: [1, 8] }
  graph(%x: f32[s0] user_input) {
    %n: symint(s0) = aten.sym_size.int(%x, 0)
    %y: f32[s0] = aten.full.default([%n], 1.0)
    %z: f32[s0] = aten.full.default([%n], 2.0)
    %w: f32[s0] = aten.add.Tensor(%y, %z)
    return (%w user_output)
  }
})");
}

TEST(EliminateCommonSubexpressionsTest, DistinguishesArguments) {
  Unchanged(R"(program aten {
  graph(%x: f32[2] user_input, %z: f32[2] user_input) {
    %a: f32[2] = aten.add.Tensor(%x, %z, alpha=1)
    %b: f32[2] = aten.add.Tensor(%x, %z, alpha=2)
    %c: f32[2] = aten.add.Tensor(%z, %x, alpha=1)
    %d: f32[2] = aten.clamp.default(%x, 0.0)
    %e: f32[2] = aten.clamp.default(%x, -0.0)
    %y: f32[10] = aten.cat.default([%a, %b, %c, %d, %e], 0)
    return (%y user_output)
  }
})");
}

TEST(EliminateCommonSubexpressionsTest, KeepsOutputs) {
  Unchanged(R"(program aten {
  graph(%x: f32[2] user_input) {
    %a: f32[2] = aten.neg.default(%x)
    %b: f32[2] = aten.neg.default(%x)
    %y: f32[2] = aten.exp.default(%b)
    return (%a user_output, %y user_output)
  }
})");
}

TEST(EliminateCommonSubexpressionsTest, KeepsRandomOperators) {
  Unchanged(R"(program aten {
  graph(%x: f32[2] user_input) {
    %a: f32[2] = aten.rand_like.default(%x)
    %b: f32[2] = aten.rand_like.default(%x)
    %y: f32[2] = aten.sub.Tensor(%a, %b)
    return (%y user_output)
  }
})");
}

TEST(EliminateCommonSubexpressionsTest, KeepsADequantizeNodePerUser) {
  Unchanged(R"(program aten {
  graph(%x: i8[2] user_input) {
    %a: f32[2] = quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 0, -128, 127, dtype:i8)
    %b: f32[2] = quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 0, -128, 127, dtype:i8)
    %y: f32[2] = aten.mul.Tensor(%a, %b)
    return (%y user_output)
  }
})");
}

TEST(EliminateCommonSubexpressionsTest, KeepsDataDependentSizesApart) {
  Unchanged(R"(program aten {
  ranges { u0: [0, 2] u1: [0, 2] }
  graph(%x: f32[2] user_input) {
    %a: i64[u0,1] = aten.nonzero.default(%x)
    %b: i64[u1,1] = aten.nonzero.default(%x)
    %c: i64[u0,1] = aten.neg.default(%a)
    %d: i64[u1,1] = aten.neg.default(%b)
    return (%c user_output, %d user_output)
  }
})");
}

TEST(EliminateCommonSubexpressionsTest, LeavesGraphsThatWriteToArguments) {
  Unchanged(R"(program training {
  graph(%x: f32[2] user_input) {
    %t: f32[2] = aten.clone.default(%x)
    %a: f32[2] = aten.neg.default(%t)
    %u: f32[2] = aten.add_.Tensor(%t, %x)
    %b: f32[2] = aten.neg.default(%t)
    %y: f32[2] = aten.mul.Tensor(%a, %b)
    return (%y user_output)
  }
})");
}

TEST(EliminateCommonSubexpressionsTest, KeepsNodesOfDifferentTags) {
  Unchanged(R"(program aten {
  graph(%x: f32[2] user_input) {
    %a: f32[2] = aten.neg.default(%x) tag="cpu"
    %b: f32[2] = aten.neg.default(%x)
    %y: f32[2] = aten.mul.Tensor(%a, %b)
    return (%y user_output)
  }
})");
}

}  // namespace
}  // namespace belay::exir
