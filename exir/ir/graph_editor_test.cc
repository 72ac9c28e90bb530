#include "exir/ir/graph_editor.h"

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/testing/programs.h"
#include "exir/testing/test_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/budget.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

ValueType F32(std::vector<SymInt> sizes) {
  return TensorMeta::Contiguous(DType::kFloat32, std::move(sizes));
}
const OpOverload* Op(std::string_view name) { return TestOps().FindOrOpaque(name); }

class GraphEditorTest : public testing::Test {
 protected:
  GraphEditorTest() : editor_(graph_), x_(editor_.AddInput("x", F32({2}))) {}

  ValueId Relu(std::string name, Argument argument, NodeId before = NodeId()) {
    return editor_.InsertOp(before,
                            {.name = std::move(name),
                             .target = Op("aten.relu.default"),
                             .arguments = {std::move(argument)}},
                            F32({2}));
  }
  NodeId Producer(ValueId value) { return graph_.value(value).producer; }
  std::vector<std::string> Order() {
    std::vector<std::string> names;
    for (NodeId node : graph_.nodes()) names.push_back(graph_.node(node).name);
    // The list is the same backwards.
    std::vector<std::string> backwards;
    for (NodeId node = graph_.last(); node.valid(); node = graph_.previous(node)) {
      backwards.push_back(graph_.node(node).name);
    }
    std::reverse(backwards.begin(), backwards.end());
    EXPECT_EQ(names, backwards);
    EXPECT_EQ(names.size(), graph_.num_nodes());
    return names;
  }
  const std::vector<NodeId>& Users(ValueId value) { return graph_.value(value).users; }

  Graph graph_;
  GraphEditor editor_;
  ValueId x_;
};

TEST_F(GraphEditorTest, InsertsInOrder) {
  const ValueId b = Relu("b", x_);
  Relu("c", b);
  Relu("a", x_, Producer(b));
  EXPECT_THAT(Order(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(graph_.first(), Producer(FindValue(graph_, "a")));
  SecondaryMap<NodeId, uint32_t> positions = graph_.Positions();
  EXPECT_LT(positions[graph_.first()], positions[graph_.last()]);
}

TEST_F(GraphEditorTest, ArgumentsAreReadByName) {
  const ValueId sum = editor_.InsertOp(
      NodeId(),
      {.name = "sum", .target = Op("aten.add.Tensor"), .arguments = {x_, Argument(2), Argument(1)}},
      F32({2}));
  const Node& node = graph_.node(Producer(sum));
  EXPECT_EQ(node.argument("other"), Argument(2));
  EXPECT_TRUE(node.argument("weight").is_none());
  EXPECT_EQ(*node.value_argument("self"), x_);
  EXPECT_EQ(node.value_argument("alpha"), nullptr);
  EXPECT_EQ(node.operand(), Argument(x_));
}

TEST_F(GraphEditorTest, MovesAndReorders) {
  const NodeId a = Producer(Relu("a", x_)), b = Producer(Relu("b", x_)),
               c = Producer(Relu("c", x_));
  editor_.MoveBefore(c, a);
  EXPECT_THAT(Order(), ElementsAre("c", "a", "b"));
  editor_.MoveBefore(a, NodeId());
  EXPECT_THAT(Order(), ElementsAre("c", "b", "a"));
  editor_.MoveBefore(b, b);
  editor_.MoveBefore(b, a);
  EXPECT_THAT(Order(), ElementsAre("c", "b", "a"));
  editor_.Reorder({b, a, c});
  EXPECT_THAT(Order(), ElementsAre("b", "a", "c"));
}

TEST_F(GraphEditorTest, KeepsOneUsePerOccurrence) {
  const ValueId a = Relu("a", x_);
  const NodeId cat =
      editor_.InsertNode(NodeId(),
                         {.name = "cat",
                          .target = Op("zoo.cat.default"),
                          .arguments = {Argument::List{a, x_, a}, Dict{{{"k", a}}}, 3}},
                         {{.values = {{"cat", F32({6})}}}});
  EXPECT_THAT(Users(a), ElementsAre(cat, cat, cat));
  EXPECT_THAT(Users(x_), UnorderedElementsAre(Producer(a), cat));
  editor_.SetArgument(cat, 0, Argument::List{x_});
  EXPECT_THAT(Users(a), ElementsAre(cat));
  EXPECT_EQ(editor_.ReplaceUsesIn(cat, a, 2.5), 1);
  EXPECT_THAT(Users(a), IsEmpty());
  EXPECT_EQ(PrintArgument(graph_, graph_.node(cat).arguments[1]), "{\"k\": 2.5}");
  editor_.SetArguments(cat, {});
  EXPECT_THAT(Users(x_), ElementsAre(Producer(a)));
}

TEST_F(GraphEditorTest, ReplacesAllUsesAlsoInOutputs) {
  const ValueId a = Relu("a", x_), b = Relu("b", a);
  editor_.SetOutputs({a, Argument::List{a, b}, 3});
  EXPECT_TRUE(graph_.IsOutput(a));
  EXPECT_EQ(editor_.ReplaceAllUses(a, x_), 3);
  EXPECT_FALSE(graph_.IsOutput(a));
  EXPECT_TRUE(graph_.IsOutput(x_));
  EXPECT_THAT(Users(a), IsEmpty());
  EXPECT_THAT(Users(x_), UnorderedElementsAre(Producer(a), Producer(b)));
  EXPECT_EQ(editor_.ReplaceAllUses(a, x_), 0);
}

TEST_F(GraphEditorTest, ReplacementMayContainWhatItReplaces) {
  const ValueId a = Relu("a", x_);
  const NodeId b = Producer(Relu("b", a));
  EXPECT_EQ(editor_.ReplaceAllUses(a, Argument::List{a, a}), 1);
  EXPECT_EQ(PrintArgument(graph_, graph_.node(b).arguments[0]), "[%a,%a]");
  EXPECT_THAT(Users(a), ElementsAre(b, b));
  EXPECT_EQ(editor_.ReplaceAllUses(a, a), 2);
  EXPECT_THAT(Users(a), ElementsAre(b, b));
}

TEST_F(GraphEditorTest, ErasesNodesAndInputs) {
  const ValueId a = Relu("a", x_), b = Relu("b", a);
  editor_.EraseNode(Producer(b));
  EXPECT_THAT(Users(a), IsEmpty());
  EXPECT_FALSE(graph_.contains(Producer(b)));
  editor_.EraseNode(Producer(a));
  EXPECT_THAT(Order(), IsEmpty());
  EXPECT_FALSE(graph_.first().valid());
  EXPECT_FALSE(graph_.last().valid());
  const ValueId y = editor_.InsertInput(0, "y", F32({1}));
  EXPECT_THAT(graph_.inputs(), ElementsAre(y, x_));
  editor_.EraseInput(x_);
  EXPECT_THAT(graph_.inputs(), ElementsAre(y));
}

TEST_F(GraphEditorTest, MakesNamesUniquePerKind) {
  EXPECT_EQ(editor_.UniqueName("x"), "x_1");
  EXPECT_EQ(editor_.UniqueName("x"), "x_1") << "nothing is reserved";
  const ValueId x1 = Relu("x", x_);
  EXPECT_EQ(graph_.value(x1).name, "x_1");
  EXPECT_EQ(graph_.node(Producer(x1)).name, "x_1") << "a node and its only value share the name";
  EXPECT_EQ(graph_.value(editor_.AddInput("x", F32({}))).name, "x_2");
  const NodeId split = editor_.InsertNode(
      NodeId(), {.name = "split", .target = Op("zoo.split.default")},
      {{.kind = NodeOutput::Kind::kList, .values = {{"x", F32({})}, {"x", F32({})}}}});
  EXPECT_EQ(graph_.node(split).name, "split");
  EXPECT_EQ(graph_.value(graph_.node(split).results()[1]).name, "x_4");
  EXPECT_EQ(graph_.value(editor_.AddInput("split", F32({}))).name, "split") << "free among values";
  EXPECT_EQ(graph_.value(editor_.AddInput("", F32({}))).name, "_1");
}

TEST_F(GraphEditorTest, ReleasesNames) {
  const ValueId a = Relu("a", x_);
  editor_.EraseNode(Producer(a));
  EXPECT_EQ(graph_.value(Relu("a", x_)).name, "a");
  editor_.RenameValue(x_, "y");
  EXPECT_EQ(editor_.UniqueName("x"), "x");
  editor_.RenameValue(x_, "y");
  EXPECT_EQ(graph_.value(x_).name, "y");
  editor_.RenameValue(x_, "a");
  EXPECT_EQ(graph_.value(x_).name, "a_1");
  // Another editor of the same graph sees the same names.
  EXPECT_EQ(GraphEditor(graph_).UniqueName("a"), "a_2");
}

TEST_F(GraphEditorTest, NodesAndResultsCountForTheBudget) {
  Budget budget;
  budget.nodes.allowed = 3;
  const Budget::Scope scope(&budget);
  Relu("a", x_);
  EXPECT_OK(budget.Check());
  editor_.InsertNode(NodeId(), {.name = "pool", .target = Op("zoo.pool.default")},
                     {{.values = {{"pool", F32({})}}}, {.values = {{"indices", F32({})}}}});
  EXPECT_EQ(budget.nodes.taken, 3);
  EXPECT_OK(budget.Check());
  Relu("b", x_);
  EXPECT_THAT(budget.Check(), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST_F(GraphEditorTest, DropsOutputs) {
  const NodeId node = editor_.InsertNode(
      NodeId(), {.name = "pool", .target = Op("aten.max_pool2d_with_indices.default")},
      {{.values = {{"pool", F32({})}}}, {.values = {{"indices", F32({})}}}});
  editor_.DropOutput(node, 1);
  EXPECT_EQ(graph_.node(node).outputs[1], NodeOutput());
  EXPECT_EQ(graph_.node(node).results().size(), 1);
  EXPECT_EQ(editor_.UniqueName("indices"), "indices");
}

TEST(EraseDeadNodes, KeepsEffectsAndTheirOperands) {
  ExportedProgram program = ParseOrDie(R"(program aten {
    graph(%x: f32[2] user_input) {
      %dead: f32[2] = aten.relu.default(%x)
      %dead2: f32[2] = aten.neg.default(%dead)
      %random: f32[2] = aten.rand.default([2])
      %n: symint(2) = aten.sym_size.int(%x, 0)
      aten._assert_scalar.default(%n, "") name="assert"
      %inplace: f32[2] = aten.add_.Tensor(%x, %x)
      %opaque: f32[2] = zoo.op.default(%x)
      %cond: f32[2] = higher_order.cond(true, graph#1, %x)
      [%s: f32[1], %t: f32[1]] = aten.split_with_sizes.default(%x, [1,1])
      %out: f32[2] = aten.neg.default(%x)
      return (%out user_output, [%t] user_output)
    }
    graph body(%x: f32[2]) { return (%x) }
  })",
                                       TestOps());
  GraphEditor editor(program.top());
  EXPECT_EQ(editor.EraseDeadNodes(), 3);
  std::vector<std::string> kept;
  for (NodeId node : program.top().nodes()) kept.push_back(program.top().node(node).name);
  EXPECT_THAT(kept, ElementsAre("n", "assert", "inplace", "opaque", "cond", "s", "out"));
  EXPECT_OK(Verify(program));
  EXPECT_EQ(editor.EraseDeadNodes(), 0);
}

// Nodes that return nothing, and opaque operators.
TEST(EraseDeadNodes, KeepsNodesWithoutKnownResults) {
  static constexpr OpDef kLog[] = {{.schema = "zoo::log(Tensor self) -> ()"}};
  const std::unique_ptr<OpRegistry> ops = *OpRegistry::Create({kLog});
  ExportedProgram program = ParseOrDie(R"(program aten { graph(%x: f32[2] user_input) {
    zoo.log(%x) name="log"
    %none: f32[2] = zoo.op.default(%x)
    return () } })",
                                       *ops);
  GraphEditor editor(program.top());
  editor.SetTarget(program.top().last(), nullptr);
  EXPECT_EQ(editor.EraseDeadNodes(), 0);
  EXPECT_EQ(program.top().num_nodes(), 2);
}

TEST(GraphEditor, ManyUsesOfOneValueCostNoMoreEach) {
  // With quadratic use lists this would take minutes.
  constexpr int kNodes = 100000;
  Graph graph;
  GraphEditor editor(graph);
  const ValueId x = editor.AddInput("x", F32({2})), y = editor.AddInput("y", F32({2}));
  std::vector<NodeId> nodes;
  for (int i = 0; i < kNodes; ++i) {
    nodes.push_back(
        graph
            .value(editor.InsertOp(
                NodeId(), {.name = "add", .target = Op("aten.add.Tensor"), .arguments = {x, x, 1}},
                F32({2})))
            .producer);
  }
  EXPECT_EQ(graph.value(x).users.size(), 2 * kNodes);
  for (NodeId node : nodes) editor.SetArgument(node, 0, y);  // from the front
  EXPECT_EQ(graph.value(x).users.size(), kNodes);
  EXPECT_EQ(editor.ReplaceAllUses(x, y), kNodes);
  EXPECT_EQ(graph.value(y).users.size(), 2 * kNodes);
  EXPECT_EQ(editor.EraseDeadNodes(), kNodes);
  EXPECT_THAT(graph.value(y).users, IsEmpty());
}

TEST(GraphEditor, TwoNodesWithManyUsesCostNoMoreEach) {
  constexpr int kUses = 100000;
  Graph graph;
  GraphEditor editor(graph);
  const ValueId x = editor.AddInput("x", F32({2}));
  NodeId nodes[2];
  for (NodeId& node : nodes) {
    node = editor.InsertNode(NodeId(),
                             {.name = "cat",
                              .target = Op("aten.cat.default"),
                              .arguments = {Argument::List(kUses, x), 0}},
                             {{.values = {{"cat", F32({2})}}}});
  }
  EXPECT_EQ(editor.ReplaceUsesIn(nodes[0], x, 1), kUses);
  EXPECT_EQ(graph.value(x).users, std::vector<NodeId>(kUses, nodes[1]));
  EXPECT_EQ(editor.ReplaceUsesIn(nodes[1], x, 1), kUses);
  EXPECT_THAT(graph.value(x).users, IsEmpty());
}

// Performs random operations of the editor; the verifier recounts the uses.
class RandomEdits {
 public:
  explicit RandomEdits(unsigned seed) : random_(seed), program_(&TestOps()) {
    program_.graphs.push_back(Graph());
  }

  void Run(int steps) {
    std::unique_ptr<GraphEditor> editor = std::make_unique<GraphEditor>(graph());
    for (int i = 0; i < 3; ++i) editor->AddInput("x", F32({2}));
    for (int step = 0; step < steps; ++step) {
      Edit(*editor);
      if (random_() % 50 == 0) editor = std::make_unique<GraphEditor>(graph());
      if (random_() % 20 != 0 && step + 1 < steps) continue;
      // Adjusts the signature; the editor does everything else.
      program_.signature.inputs.assign(graph().inputs().size(), {});
      program_.signature.outputs.assign(graph().outputs().size(), {});
      ASSERT_OK(Verify(program_)) << PrintProgram(program_);
      const Graph& top = program_.top();
      absl::StatusOr<ExportedProgram> parsed = ParseProgram(PrintProgram(program_), TestOps());
      ASSERT_OK(parsed);
      ASSERT_TRUE(Equal(program_, *parsed));
      ASSERT_EQ(top.NodeList().size(), top.num_nodes());
    }
  }

 private:
  Graph& graph() { return program_.top(); }
  size_t Below(size_t limit) { return limit == 0 ? 0 : random_() % limit; }

  // Returns the values defined before `before` (all if it is invalid).
  std::vector<ValueId> Defined(NodeId before) {
    std::vector<ValueId> values(graph().inputs().begin(), graph().inputs().end());
    for (NodeId node : graph().nodes()) {
      if (node == before) break;
      for (ValueId value : graph().node(node).results()) values.push_back(value);
    }
    return values;
  }

  Argument RandomArgument(const std::vector<ValueId>& values, int depth = 0) {
    if (values.empty() || Below(6) == 0) return 3;
    // Prefers the same few values, so that lists of users become long.
    const ValueId value =
        values[Below(Below(3) == 0 ? values.size() : std::min<size_t>(2, values.size()))];
    if (depth > 1 || Below(4) != 0) return value;
    Argument::List list;
    for (size_t n = Below(30); n > 0; --n) list.push_back(RandomArgument(values, depth + 1));
    return list;
  }

  std::vector<Argument> RandomArguments(const std::vector<ValueId>& values) {
    std::vector<Argument> arguments;
    for (size_t n = Below(4); n > 0; --n) arguments.push_back(RandomArgument(values));
    return arguments;
  }

  NodeId RandomNode() {
    const std::vector<NodeId> nodes = graph().NodeList();
    return nodes.empty() ? NodeId() : nodes[Below(nodes.size())];
  }

  bool IsUnused(ValueId value) {
    return graph().value(value).users.empty() && !graph().IsOutput(value);
  }

  void Edit(GraphEditor& editor) {
    const NodeId node = RandomNode();
    const OpOverload* op = Op("zoo.op.default");
    const std::vector<ValueId> values = Defined(node);
    switch (Below(node.valid() ? 14 : 2)) {
      case 0:
      case 1:
        editor.InsertOp(node, {.name = "v", .target = op, .arguments = RandomArguments(values)},
                        F32({2}));
        break;
      case 2: {
        std::vector<GraphEditor::NewOutput> outputs(Below(3));
        for (GraphEditor::NewOutput& output : outputs) {
          output.kind = static_cast<NodeOutput::Kind>(Below(3));
          const size_t count = output.kind == NodeOutput::Kind::kValue  ? 1
                               : output.kind == NodeOutput::Kind::kList ? Below(4)
                                                                        : 0;
          for (size_t i = 0; i < count; ++i) output.values.emplace_back("v", F32({2}));
        }
        editor.InsertNode(node, {.name = "n", .target = op, .arguments = RandomArguments(values)},
                          std::move(outputs));
        break;
      }
      case 3:
      case 4:
        editor.SetArguments(node, RandomArguments(values));
        break;
      case 5:
        if (!graph().node(node).arguments.empty()) {
          editor.SetArgument(node, Below(graph().node(node).arguments.size()),
                             RandomArgument(values));
        }
        break;
      case 6: {
        // An input may replace any value.
        const std::vector<ValueId> all = Defined(NodeId());
        if (all.empty()) break;  // no inputs, and no node with results
        const ValueId from = all[Below(all.size())];
        const size_t places = graph().value(from).users.size();
        const size_t replaced = editor.ReplaceAllUses(
            from, graph().inputs().empty() ? Argument(1) : graph().inputs()[0]);
        EXPECT_GE(replaced, places);
        break;
      }
      case 7:
        if (!values.empty())
          editor.ReplaceUsesIn(node, values[Below(values.size())], RandomArgument(values));
        break;
      case 8: {
        const std::vector<ValueId> results = graph().node(node).results();
        if (std::all_of(results.begin(), results.end(), [&](ValueId v) { return IsUnused(v); })) {
          editor.EraseNode(node);
        }
        break;
      }
      case 9: {
        // A node without operands may move to the front.
        editor.SetArguments(node, {});
        std::vector<NodeId> order = graph().NodeList();
        order.erase(std::find(order.begin(), order.end(), node));
        order.insert(order.begin(), node);
        if (Below(2) == 0) {
          editor.Reorder(order);
        } else {
          editor.MoveBefore(node, graph().first());
        }
        break;
      }
      case 10: {
        std::vector<Argument> outputs = RandomArguments(Defined(NodeId()));
        editor.SetOutputs(std::move(outputs));
        break;
      }
      case 11: {
        const std::vector<NodeOutput>& outputs = graph().node(node).outputs;
        for (size_t k = 0; k < outputs.size(); ++k) {
          if (std::all_of(outputs[k].values.begin(), outputs[k].values.end(),
                          [&](ValueId v) { return IsUnused(v); })) {
            editor.DropOutput(node, k);
            break;
          }
        }
        break;
      }
      case 12:
        if (Below(2) == 0) {
          editor.InsertInput(Below(graph().inputs().size() + 1), "x", F32({2}));
        } else if (!graph().inputs().empty() && IsUnused(graph().inputs().back())) {
          editor.EraseInput(graph().inputs().back());
        }
        break;
      default:
        if (!values.empty())
          editor.RenameValue(values[Below(values.size())], Below(2) ? "r" : "v_3");
        if (Below(20) == 0) editor.EraseDeadNodes();
        break;
    }
  }

  std::mt19937 random_;
  ExportedProgram program_;
};

TEST(GraphEditor, RandomEditsKeepUseListsOrderAndNames) {
  const unsigned base = static_cast<unsigned>(TestSeed());
  for (unsigned seed = base; seed < base + 20; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    RandomEdits(seed).Run(400);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace belay::exir
