#include "exir/testing/generator/edge_programs.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "exir/interpreter/interpreter.h"
#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/generator/shrink_program.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {
namespace {

class EdgeProgramsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(ops_, CreateStandardOps());
    ASSERT_OK(AddReferenceKernels(kernels_));
  }
  std::string Print(Random random) {
    return PrintProgram(RandomEdgePrograms(random, *ops_).Next());
  }

  std::unique_ptr<OpRegistry> ops_;
  KernelRegistry kernels_;
};

TEST_F(EdgeProgramsTest, EqualRandomNumbersGiveEqualPrograms) {
  EXPECT_EQ(Print(Random(5)), Print(Random(5)));
  EXPECT_NE(Print(Random(5)), Print(Random(6)));
  const std::string bytes(60, 'x'), others(60, 'y');
  EXPECT_EQ(Print(Random(bytes)), Print(Random(bytes)));
  EXPECT_NE(Print(Random(bytes)), Print(Random(others)));
}

TEST_F(EdgeProgramsTest, ProgramsRunOnAnyInputsAndCoverAllFeatures) {
  std::set<std::string> operators, kinds;
  int dynamic = 0, mutating = 0, tied = 0, several_uses = 0;
  constexpr int kPrograms = 300;
  for (uint64_t i = 0; i < kPrograms; ++i) {
    Random random(TestSeed(), i);
    const ExportedProgram program = RandomEdgePrograms(random, *ops_).Next();
    dynamic += program.ranges.empty() ? 0 : 1;
    mutating += program.signature.outputs[0].kind != OutputKind::kUserOutput ? 1 : 0;
    std::set<std::string> origins, names;
    for (const Graph& graph : program.graphs) {
      for (NodeId id : graph.nodes()) {
        const Node& node = graph.node(id);
        operators.insert(node.target->text_name());
        EXPECT_NE(node.debug_handle, 0);
        EXPECT_TRUE(origins.insert(*node.provenance.origin).second);
      }
    }
    for (size_t i = 0; i < program.signature.inputs.size(); ++i) {
      const InputSpec& spec = program.signature.inputs[i];
      names.insert(spec.target);
      kinds.insert(std::to_string(static_cast<int>(spec.kind)) + (spec.persistent ? "" : "n"));
      several_uses += program.top().value(program.top().inputs()[i]).users.size() > 1 ? 1 : 0;
    }
    tied += names.contains("p1") && names.contains("p2") ? 1 : 0;
    ASSERT_OK_AND_ASSIGN(Interpreter interpreter, Interpreter::Create(program, kernels_));
    for (int call = 0; call < 3; ++call) {
      const std::vector<OwnedValue> inputs = MakeInputs(program, random);
      std::vector<EValue> values;
      for (const OwnedValue& input : inputs) values.push_back(input.value());
      EXPECT_OK(interpreter.Run(values)) << PrintProgram(program);
    }
  }
  for (const char* op : {"edge.aten.sin.default", "edge.aten.add.Tensor", "edge.aten.mul.Tensor",
                         "edge.aten.sum.dim_IntList", "edge.aten.max.dim", "edge.aten.full.default",
                         "edge.aten.split_with_sizes_copy.default", "edge.aten.cat.default",
                         "aten.sym_size.int", "higher_order.cond", "higher_order.while_loop",
                         "higher_order.map_impl", "higher_order.scan"}) {
    EXPECT_TRUE(operators.contains(op)) << op;
  }
  EXPECT_EQ(kinds.size(), 5u);  // user inputs, parameters, buffers of both kinds, constants
  EXPECT_GT(dynamic * 100, kPrograms * 15);
  EXPECT_GT(mutating * 100, kPrograms * 10);
  EXPECT_GT(several_uses * 100, kPrograms * 10);
  EXPECT_GT(tied, 0);
}

TEST_F(EdgeProgramsTest, OmitsDisabledFeatures) {
  for (uint64_t i = 0; i < 50; ++i) {
    Random random(TestSeed(), i);
    const ExportedProgram program =
        RandomEdgePrograms(
            random, *ops_,
            {.max_calls = 20, .control_flow = false, .mutation = false, .dynamic_sizes = false})
            .Next();
    EXPECT_EQ(program.graphs.size(), 1u);
    EXPECT_TRUE(program.ranges.empty());
    for (const OutputSpec& spec : program.signature.outputs) {
      EXPECT_EQ(spec.kind, OutputKind::kUserOutput);
    }
  }
}

}  // namespace
}  // namespace belay::exir
