#include "tools/graph/draw_exported.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

class DrawExportedTest : public ::testing::Test {
 protected:
  DrawnMethod Draw(const std::string& text) {
    return DrawExported("forward", exir::ParseOrDie(text, **ops_));
  }
  // "name: op(operand, …)[delegate]" of each node.
  static std::vector<std::string> Summary(const DrawnGraph& graph) {
    std::vector<std::string> lines;
    for (const DrawnNode& node : graph.nodes) {
      std::string operands;
      for (const DrawnEdge& edge : node.operands) {
        absl::StrAppend(&operands, operands.empty() ? "" : ", ",
                        graph.nodes[edge.node].results[edge.output].name);
      }
      lines.push_back(absl::StrCat(node.name, ": ", node.op, "(", operands, ")"));
      if (node.delegate.has_value()) absl::StrAppend(&lines.back(), " #", *node.delegate);
    }
    return lines;
  }

  const absl::StatusOr<std::unique_ptr<exir::OpRegistry>> ops_ = exir::CreateStandardOps();
};

constexpr char kLowered[] = R"(program edge {
  constants {
    state "w": f32[2]
  }
  graph(%p_w: f32[2] parameter "w", %x: f32[2] user_input) {
    %a: f32[2] = edge.aten.add.Tensor(%x, %p_w)  @"m.py":3 module="fc"
    %y: f32[2] = higher_order.executorch_call_delegate(module#0, %a) name="call"
    %z: f32[2] = higher_order.executorch_call_delegate(module#0, %y) name="again"
    %b: f32[2] = edge.aten.neg.default(%z)
    return (%b user_output)
  }
  module#0 backend "demo" specs [] {
    blob "YWJj"
    program edge {
      constants {
        state "v": f32[2]
      }
      graph(%p_v: f32[2] parameter "v", %i: f32[2] user_input) {
        %m: f32[2] = edge.aten.mul.Tensor(%i, %p_v)
        %r: f32[2] = edge.aten.relu.default(%m)
        return (%r user_output)
      }
    }
  }
})";

TEST_F(DrawExportedTest, ExpandsDelegateAtFirstCall) {
  const DrawnMethod method = Draw(kLowered);
  ASSERT_EQ(method.graphs.size(), 1u);
  EXPECT_THAT(Summary(method.graphs[0]),
              ElementsAre("p_w: parameter()", "x: input()", "a: edge.aten.add.Tensor(x, p_w)",
                          "p_v: parameter() #0", "m: edge.aten.mul.Tensor(a, p_v) #0",
                          "r: edge.aten.relu.default(m) #0",
                          "again: higher_order.executorch_call_delegate(r) #0",
                          "b: edge.aten.neg.default(z)", "output: output(b)"));
  const DrawnNode& add = method.graphs[0].nodes[2];
  EXPECT_EQ(add.source, "m.py:3");
  EXPECT_EQ(add.module, "fc");
  EXPECT_THAT(add.attributes, ElementsAre(Pair("alpha", "1")));
  EXPECT_EQ(add.operands[1].argument, "other");
  EXPECT_EQ(add.results[0].type, "f32[2]");
  ASSERT_EQ(method.delegates.size(), 1u);
  EXPECT_EQ(method.delegates[0].backend, "demo");
  EXPECT_EQ(method.delegates[0].blob_bytes, 3u);
  EXPECT_EQ(method.delegates[0].call, "call");
  ASSERT_EQ(method.constants.size(), 2u);
  EXPECT_EQ(method.constants[0].name, "w");
  EXPECT_EQ(method.constants[0].delegate, std::nullopt);
  EXPECT_EQ(method.constants[1].bytes, 8u);
  EXPECT_EQ(method.constants[1].delegate, 0u);
}

TEST_F(DrawExportedTest, SubgraphsAreGraphsAndListsAreEdges) {
  const DrawnMethod method = Draw(R"(program aten {
    graph(%p: b8[] user_input, %x: f32[2] user_input) {
      %y: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%x])
      %z: f32[4] = aten.cat.default([%x, %y], 0)
      return (%z user_output, 3 user_output)
    }
    graph yes(%a: f32[2]) {
      %n: f32[2] = aten.neg.default(%a)
      return (%n)
    }
    graph no(%a: f32[2]) {
      %n: f32[2] = aten.relu.default(%a)
      return (%n)
    }
  })");
  ASSERT_EQ(method.graphs.size(), 3u);
  EXPECT_EQ(method.graphs[1].name, "yes");
  EXPECT_THAT(Summary(method.graphs[2]),
              ElementsAre("a: input()", "n: aten.relu.default(a)", "output: output(n)"));
  EXPECT_THAT(Summary(method.graphs[0]),
              ElementsAre("p: input()", "x: input()", "y: higher_order.cond(p, x)",
                          "z: aten.cat.default(x, y)", "output: output(z)"));
  EXPECT_THAT(method.graphs[0].nodes[2].bodies, ElementsAre(1, 2));
  EXPECT_THAT(method.graphs[0].nodes[3].attributes, ElementsAre(Pair("dim", "0")));
  EXPECT_THAT(method.graphs[0].nodes[4].attributes, ElementsAre(Pair("1", "3")));
}

// Arguments of operators without a schema are named by the call.
TEST_F(DrawExportedTest, ArgumentsAreNamedBySchemaCallOrIndex) {
  const DrawnMethod method = Draw(R"(program aten {
    graph(%p: b8[] user_input, %x: f32[2] user_input) {
      %y: f32[2] = higher_order.cond(%p, graph#1, graph#1, operands=[%x])
      return (%y user_output)
    }
    graph body(%a: f32[2]) {
      %n: f32[2] = aten.neg.default(%a)
      return (%n)
    }
  })");
  const auto names = [](const DrawnNode& node) {
    std::vector<std::string> names;
    for (const DrawnEdge& edge : node.operands) names.push_back(edge.argument);
    for (const auto& [name, text] : node.attributes) names.push_back(name);
    return names;
  };
  EXPECT_THAT(names(method.graphs[0].nodes[2]), ElementsAre("0", "operands", "1", "2"));
  EXPECT_THAT(names(method.graphs[1].nodes[1]), ElementsAre("self"));
}

TEST_F(DrawExportedTest, LabelsInputsAndOutputs) {
  const DrawnMethod method = Draw(R"(program edge {
  constants { state "b": f32[2] }
  graph(%k: const(3) constant_input, %t: token token, %b: f32[2] buffer "b",
        %x: f32[2] user_input) {
    %y: f32[2] = edge.aten.add.Tensor(%x, %b)
    return (%y buffer_mutation "b", %x user_output, 7 user_output)
  }
})");
  std::vector<std::string> inputs;
  for (const DrawnNode& node : method.graphs[0].nodes) {
    if (!node.is_operator) inputs.push_back(node.name + ": " + node.op);
  }
  EXPECT_THAT(inputs, ElementsAre("k: constant_input", "t: token", "b: buffer", "x: input",
                                  "output: output"));
  ASSERT_EQ(method.constants.size(), 1u);
  EXPECT_EQ(method.constants[0].name, "b");
  const DrawnNode& output = method.graphs[0].nodes.back();
  ASSERT_EQ(output.operands.size(), 2u);
  EXPECT_EQ(output.operands[0].argument, "buffer_mutation b");
  EXPECT_EQ(output.operands[1].argument, "1");
  EXPECT_THAT(output.attributes, ElementsAre(Pair("2", "7")));
}

// One graph for both calls of a subgraph.
TEST_F(DrawExportedTest, DrawsSubgraphsOnce) {
  const DrawnMethod method = Draw(R"(program edge {
  graph(%p: b8[] user_input, %x: f32[2] user_input) {
    %y: f32[2] = higher_order.cond(%p, graph#1, graph#1, [%x])
    %z: f32[2] = higher_order.cond(%p, graph#1, graph#1, [%y])
    return (%z user_output)
  }
  graph body(%a: f32[2]) { %n: f32[2] = edge.aten.neg.default(%a) return (%n) }
})");
  ASSERT_EQ(method.graphs.size(), 2u);
  EXPECT_THAT(method.graphs[0].nodes[2].bodies, ElementsAre(1u, 1u));
  EXPECT_THAT(method.graphs[0].nodes[3].bodies, ElementsAre(1u, 1u));
}

// A product of 16 operations, and one in a delegate, for each of 8 rows.
TEST_F(DrawExportedTest, CountsOperationsOfEachRowOfLoop) {
  const DrawnMethod method = Draw(R"(program edge {
  graph(%x: f32[8,2,2] user_input, %h: f32[2,2] user_input) {
    %c: f32[2,2], %y: f32[8,2,2] = higher_order.scan(graph#1, [%h], [%x], [])
    return (%c user_output, %y user_output)
  }
  graph step(%h: f32[2,2], %x: f32[2,2]) {
    %m: f32[2,2] = edge.aten.mm.default(%h, %x)
    %r: f32[2,2] = higher_order.executorch_call_delegate(module#0, %m) name="call"
    return (%r, %m)
  }
  module#0 backend "demo" specs [] {
    blob "YWJj"
    program edge {
      graph(%i: f32[2,2] user_input) {
        %s: f32[2,2] = edge.aten.mm.default(%i, %i)
        return (%s user_output)
      }
    }
  }
})");
  ASSERT_EQ(method.graphs.size(), 2u);
  const std::vector<DrawnNode>& nodes = method.graphs[1].nodes;
  ASSERT_EQ(nodes.size(), 5u);
  EXPECT_EQ(nodes[2].name, "m");
  EXPECT_EQ(nodes[2].flops, 8 * 16);
  EXPECT_EQ(nodes[3].name, "s");
  EXPECT_EQ(nodes[3].flops, 8 * 16);
}

TEST_F(DrawExportedTest, DelegatesWithLiteralsAndWithoutResults) {
  const DrawnMethod method = Draw(R"(program edge {
  graph(%x: f32[2] user_input) {
    %y: f32[2] = higher_order.executorch_call_delegate(module#0, 3, %x) name="call"
    return (%y user_output)
  }
  module#0 backend "demo" specs [] {
    blob "YWJj"
    program edge {
      constants { state "b": f32[2] }
      graph(%b: f32[2] buffer "b", %n: symint(s0) user_input, %i: f32[2] user_input,
            %more: f32[2] user_input) {
        %m: f32[2] = edge.aten.mul.Tensor(%i, %b)
        return (%m buffer_mutation "b", 4 user_output, %m user_output)
      }
    }
  }
})");
  // The first result is a literal, without a producing node.
  EXPECT_THAT(Summary(method.graphs[0]),
              ElementsAre("x: input()", "b: buffer() #0", "m: edge.aten.mul.Tensor(x, b) #0",
                          "output: output()"));
}

}  // namespace
}  // namespace belay::tools
