#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "exir/backend/tests/properties/lowering_properties.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/generator/edge_programs.h"
#include "exir/testing/generator/shrink_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/reference/reference_kernels.h"

ABSL_FLAG(int, programs, 10000, "how many programs are lowered");

namespace belay::exir {
namespace {

class LoweringPropertiesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(ops_, CreateStandardOps());
    ASSERT_OK(AddReferenceKernels(kernels_));
    properties_ = std::make_unique<LoweringProperties>(*ops_, kernels_);
  }

  std::unique_ptr<OpRegistry> ops_;
  KernelRegistry kernels_;
  std::unique_ptr<LoweringProperties> properties_;
};

TEST_F(LoweringPropertiesTest, HoldOnRandomPrograms) {
  const uint64_t first = TestSeed();
  const int programs = absl::GetFlag(FLAGS_programs);
  for (int i = 0; i < programs; ++i) {
    const uint64_t seed = first + static_cast<uint64_t>(i);
    LoweringCase lowering_case = properties_->RandomCase(seed);
    const std::string wrong = properties_->Check(lowering_case);
    if (wrong.empty()) continue;
    properties_->Shrink(lowering_case);
    FAIL() << "seed " << seed << ": " << wrong
           << "\nshrunken: " << properties_->Check(lowering_case) << "\n"
           << lowering_case.ToString();
  }
  // The test is only useful if critical features are frequent.
  const LoweringProperties::Coverage& coverage = properties_->coverage();
  for (const auto& [what, count] : {
           std::pair{"lowered", coverage.lowered},
           std::pair{"cyclic", coverage.cyclic},
           std::pair{"lowered again", coverage.lowered_again},
           std::pair{"delegates inside of delegates", coverage.nested},
           std::pair{"delegates with constants", coverage.owns_constants},
           std::pair{"delegates with state", coverage.owns_state},
           std::pair{"delegates in bodies", coverage.body_calls},
           std::pair{"dynamic sizes", coverage.dynamic},
           std::pair{"several methods", coverage.several_methods},
       }) {
    std::cout << what << ": " << count << " of " << programs << "\n";
    EXPECT_GT(count * 100, programs) << what;
  }
}

// A failing case is minimized: the remaining program contains only what the fault requires.
TEST_F(LoweringPropertiesTest, ShrinkingKeepsTheFault) {
  // Example of a fault with a required context: an operator next to the calls of its subgraphs.
  Random random(7);
  RandomEdgePrograms programs(random, *ops_, {.max_calls = 40});
  const auto has_tanh = [&](const ExportedProgram& program) {
    for (const Graph& graph : program.graphs) {
      for (NodeId node : graph.nodes()) {
        if (graph.node(node).target->op() == "tanh") return true;
      }
    }
    return false;
  };
  ExportedProgram program = programs.Next();
  while (!has_tanh(program)) program = programs.Next();
  TagNodes(random, 3, program);
  ShrinkProgram(program, has_tanh);
  EXPECT_TRUE(has_tanh(program));
  EXPECT_LE(program.top().num_nodes(), 2);
  EXPECT_EQ(program.top().outputs().size(), 1);
}

// --- Every property detects a fault of its kind ---

// Injects the fault at the first applicable position and returns whether there was one.
using Fault = std::function<bool(const MethodPrograms& given, MethodPrograms& lowered,
                                 const ToBackendOptions& options)>;

bool IsCall(const Node& node) {
  return node.target->name() == "higher_order.executorch_call_delegate";
}

// Returns a mutable copy of the module.
std::shared_ptr<LoweredBackendModule> CopyModule(const LoweredBackendModule& module) {
  return std::make_shared<LoweredBackendModule>(module.Clone());
}

bool NegateATanh(ExportedProgram& program, const OpRegistry& ops) {
  for (Graph& graph : program.graphs) {
    for (NodeId node : graph.nodes()) {
      if (graph.node(node).target->op() != "tanh") continue;
      GraphEditor(graph).SetTarget(node, ops.FindText("edge.aten.neg.default"));
      return true;
    }
  }
  return false;
}

// Replaces the first call's first argument after the module by its last one of the same type.
bool SwapOperands(ExportedProgram& program) {
  for (Graph& graph : program.graphs) {
    for (NodeId node : graph.nodes()) {
      if (!IsCall(graph.node(node)) || graph.node(node).arguments.size() < 3) continue;
      const Argument first = graph.node(node).arguments[1];
      const Argument last = graph.node(node).arguments.back();
      const ValueId *a = first.get_if<ValueId>(), *b = last.get_if<ValueId>();
      if (a == nullptr || b == nullptr || *a == *b) continue;
      if (!(graph.value(*a).type == graph.value(*b).type)) continue;
      GraphEditor editor(graph);
      editor.SetArgument(node, 1, last);
      editor.SetArgument(node, graph.node(node).arguments.size() - 1, first);
      return true;
    }
  }
  return false;
}

TEST_F(LoweringPropertiesTest, DetectsInjectedFaults) {
  const struct {
    std::string_view name, property;
    Fault fault;
  } kFaults[] = {
      {"an operator of the program became another", "(a)",
       [&](const MethodPrograms&, MethodPrograms& lowered, const ToBackendOptions&) {
         return NegateATanh(lowered[0].second, *ops_);
       }},
      {"an operator of a delegate became another", "(a)",
       [&](const MethodPrograms&, MethodPrograms& lowered, const ToBackendOptions&) {
         for (auto& module : lowered[0].second.lowered_modules) {
           auto copy = CopyModule(*module);
           if (!NegateATanh(copy->original, *ops_)) continue;
           module = std::move(copy);
           return true;
         }
         return false;
       }},
      {"a call's operands are swapped", "(a)",
       [](const MethodPrograms&, MethodPrograms& lowered, const ToBackendOptions&) {
         return SwapOperands(lowered[0].second);
       }},
      {"a tagged node stayed", "(b)",
       [](const MethodPrograms& given, MethodPrograms& lowered, const ToBackendOptions&) {
         if (lowered[0].second.lowered_modules.size() == 0) return false;
         lowered[0].second = given[0].second.Clone();
         return true;
       }},
      {"a tensor that nothing names", "(c)",
       [](const MethodPrograms& given, MethodPrograms& lowered, const ToBackendOptions&) {
         if (given[0].second.state_dict.empty()) return false;
         return lowered[0]
             .second.constants.emplace("ghost", given[0].second.state_dict.begin()->second)
             .second;
       }},
      {"a call lost a result", "(d)",
       [](const MethodPrograms&, MethodPrograms& lowered, const ToBackendOptions&) {
         for (Graph& graph : lowered[0].second.graphs) {
           for (NodeId node : graph.nodes()) {
             if (!IsCall(graph.node(node)) || graph.node(node).results().empty()) continue;
             GraphEditor editor(graph);
             const ValueId value = graph.node(node).results()[0];
             // Replaces it by a value of its type; (e) would detect another type.
             for (const ValueId input : graph.inputs()) {
               if (!(graph.value(input).type == graph.value(value).type)) continue;
               editor.ReplaceAllUses(value, input);
               editor.DropOutput(node, 0);
               return true;
             }
           }
         }
         return false;
       }},
      {"a node stands after its user", "(e)",
       [](const MethodPrograms&, MethodPrograms& lowered, const ToBackendOptions&) {
         Graph& top = lowered[0].second.top();
         for (NodeId node : top.nodes()) {
           for (ValueId result : top.node(node).results()) {
             if (top.value(result).users.empty()) continue;
             GraphEditor(top).MoveBefore(node, NodeId());
             return true;
           }
         }
         return false;
       }},
      {"an acyclic program is refused", "(f)",
       [](const MethodPrograms&, MethodPrograms& lowered, const ToBackendOptions&) {
         lowered.clear();
         return true;
       }},
      {"the program given is changed", "(g)",
       [](const MethodPrograms& given, MethodPrograms&, const ToBackendOptions&) {
         auto& program = const_cast<ExportedProgram&>(given[0].second);
         for (NodeId node : program.top().nodes()) {
           GraphEditor(program.top()).SetDelegationTag(node, "changed");
           return true;
         }
         return false;
       }},
      {"three threads make something else", "(h)",
       [](const MethodPrograms&, MethodPrograms& lowered, const ToBackendOptions& options) {
         if (options.threads == 3) lowered[0].first += "3";
         return true;
       }},
      {"a handle of nowhere is in the map", "(i)",
       [](const MethodPrograms&, MethodPrograms& lowered, const ToBackendOptions&) {
         for (auto& module : lowered[0].second.lowered_modules) {
           auto copy = CopyModule(*module);
           copy->debug_handle_map[int64_t{999999}] = {999999};
           module = std::move(copy);
           return true;
         }
         return false;
       }},
  };
  for (const auto& [name, property, fault] : kFaults) {
    SCOPED_TRACE(name);
    bool planted = false;
    const LoweringProperties properties(
        *ops_, kernels_,
        [&](const MethodPrograms& methods, const MethodPartitioners& partitioners,
            const BackendSet& backends,
            const ToBackendOptions& options) -> absl::StatusOr<MethodPrograms> {
          absl::StatusOr<MethodPrograms> lowered =
              ToBackend(methods, partitioners, backends, options);
          if (!lowered.ok()) return lowered;
          planted = fault(methods, *lowered, options) || planted;
          if (lowered->empty()) return absl::FailedPreconditionError("refused");
          return lowered;
        });
    // Not every program shows the fault: a result may be unused, or equal by coincidence.
    std::string wrong;
    const uint64_t first = TestSeed();
    for (uint64_t seed = first; seed < first + 200 && wrong.empty(); ++seed) {
      planted = false;
      const LoweringCase lowering_case = properties.RandomCase(seed);
      wrong = properties.Check(lowering_case);
      if (!wrong.empty()) EXPECT_TRUE(planted) << wrong;
    }
    EXPECT_EQ(wrong.substr(0, 3), property) << wrong;
  }
}

TEST_F(LoweringPropertiesTest, SameSeedSamePrograms) {
  EXPECT_EQ(properties_->RandomCase(5).ToString(), properties_->RandomCase(5).ToString());
  EXPECT_NE(properties_->RandomCase(5).ToString(), properties_->RandomCase(6).ToString());
}

}  // namespace
}  // namespace belay::exir

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  absl::ParseCommandLine(argc, argv);
  return RUN_ALL_TESTS();
}
