#include "exir/ir/exported_program.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exir/ir/graph_editor.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/testing/programs.h"
#include "exir/testing/test_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

TEST(ExportedProgram, CloneSharesBytesAndModules) {
  ExportedProgram program(&TestOps());
  program.graphs.push_back(Graph());
  Storage storage = Storage::Own(std::vector<std::byte>(1024));
  const std::weak_ptr<const void> bytes = storage.owner;
  ASSERT_OK_AND_ASSIGN(ConstantTensor tensor,
                       ConstantTensor::Contiguous(DType::kFloat32, {256}, std::move(storage)));
  program.state_dict.emplace("w", std::move(tensor));
  program.lowered_modules.push_back(
      std::make_shared<const LoweredBackendModule>("demo", ExportedProgram(&TestOps())));
  const long owners = bytes.use_count();
  {
    std::vector<ExportedProgram> clones;
    for (int i = 0; i < 10; ++i) clones.push_back(program.Clone());
    EXPECT_EQ(bytes.use_count(), owners + 10);
    EXPECT_EQ(program.lowered_modules[ModuleId(0)].use_count(), 11);
    for (const ExportedProgram& clone : clones) {
      EXPECT_EQ(clone.state_dict.at("w").view().data, program.state_dict.at("w").view().data);
      EXPECT_TRUE(Equal(clone, program));
    }
    // The bytes outlive their original program.
    const ExportedProgram moved = std::move(program);
    EXPECT_EQ(bytes.use_count(), owners + 10);
  }
  EXPECT_TRUE(bytes.expired());
}

TEST(ExportedProgram, EditingACloneLeavesTheOriginal) {
  const ExportedProgram program = ParseOrDie(R"(program aten { graph(%x: f32[2] user_input) {
    %a: f32[2] = aten.relu.default(%x)
    return (%a user_output) } })",
                                             TestOps());
  const std::string text = PrintProgram(program);
  ExportedProgram clone = program.Clone();
  const ValueId a = FindValue(clone.top(), "a");
  EXPECT_EQ(a, FindValue(program.top(), "a")) << "ids stay the same";
  GraphEditor editor(clone.top());
  editor.ReplaceAllUses(a, FindValue(clone.top(), "x"));
  editor.EraseDeadNodes();
  EXPECT_EQ(PrintProgram(program), text);
  EXPECT_FALSE(Equal(program, clone));
}

TEST(ExportedProgram, FindsConstantsInEitherMap) {
  const ExportedProgram program = ParseOrDie(R"(program aten {
    constants { state "both": f32[1] state "s": f32[2] constant "both": f32[3] constant "c": f32[4] }
    graph() { return () } })",
                                             TestOps());
  const auto size = [&](InputSpec spec) -> int64_t {
    const ConstantTensor* tensor = program.FindConstant(spec);
    return tensor == nullptr ? 0 : tensor->sizes()[0];
  };
  EXPECT_EQ(size({InputKind::kParameter, "both"}), 1);
  EXPECT_EQ(size({InputKind::kBuffer, "both", true}), 1);
  EXPECT_EQ(size({InputKind::kBuffer, "both", false}), 3);
  EXPECT_EQ(size({InputKind::kTensorConstant, "both"}), 3);
  EXPECT_EQ(size({InputKind::kParameter, "c"}), 4);
  EXPECT_EQ(size({InputKind::kTensorConstant, "s"}), 2);
  EXPECT_EQ(size({InputKind::kTensorConstant, "none"}), 0);
  EXPECT_EQ(size({InputKind::kUserInput, "s"}), 0);
}

TEST(ExportedProgram, InputIndex) {
  const ExportedProgram program = ParseOrDie(R"(program aten {
    graph(%x: f32[2] user_input, %y: f32[2] user_input) {
      %a: f32[2] = aten.relu.default(%x)
      return () } })",
                                             TestOps());
  EXPECT_EQ(program.InputIndex(FindValue(program.top(), "y")), 1);
  EXPECT_EQ(program.InputIndex(FindValue(program.top(), "a")), std::nullopt);
}

TEST(ExportedProgram, ErasesUnusedSubgraphs) {
  ExportedProgram program = ParseOrDie(R"(program aten {
    graph(%x: f32[2] user_input) {
      %gone: f32[2] = higher_order.cond(true, graph#1, graph#3, [%x])
      %kept: f32[2] = higher_order.cond(true, graph#2, graph#4, [%x])
      return (%kept user_output)
    }
    graph a(%x: f32[2]) { return (%x) }
    graph b(%x: f32[2]) { return (%x) }
    graph c(%x: f32[2]) {
      %n: f32[2] = higher_order.map_impl(graph#5, [%x], [])
      return (%n)
    }
    graph d(%x: f32[2]) {
      %n: f32[2] = higher_order.map_impl(graph#6, [%x], [])
      return (%n)
    }
    graph e(%x: f32[2]) { return (%x) }
    graph f(%x: f32[2]) { return (%x) }
  })",
                                       TestOps());
  ASSERT_OK(Verify(program));
  EXPECT_EQ(program.EraseUnusedBodies(), 0);
  GraphEditor(program.top()).EraseNode(FindNode(program.top(), "gone"));
  EXPECT_THAT(Verify(program), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(program.EraseUnusedBodies(), 3);
  EXPECT_OK(Verify(program));
  EXPECT_EQ(program.graphs.size(), 4);
  EXPECT_EQ(PrintNode(program.top(), program.top().first()),
            "%kept: f32[2] = higher_order.cond(true, graph#1, graph#2, [%x])");
  EXPECT_EQ(program.graphs[GraphId(2)].name(), "d");
  EXPECT_EQ(program.graphs[GraphId(3)].name(), "f");
}

TEST(ExportedProgram, RenumbersSubgraphsInsideArguments) {
  ExportedProgram program = ParseOrDie(R"(program aten {
    graph(%x: f32[2] user_input) {
      %r: f32[2] = zoo.op.default([1,[graph#2]], {"k": graph#3, "l": 2}, graph#2, %x)
      return (%r user_output)
    }
    graph a() { return () }
    graph b() { return () }
    graph c() { return () }
  })",
                                       TestOps());
  EXPECT_EQ(program.EraseUnusedBodies(), 1);
  EXPECT_EQ(program.graphs.size(), 3);
  EXPECT_EQ(PrintNode(program.top(), program.top().first()),
            "%r: f32[2] = zoo.op.default([1,[graph#1]], {\"k\": graph#2, \"l\": 2}, graph#1, %x)");
  // Ids that are not subgraphs of the program are unchanged.
  GraphEditor(program.top()).SetArguments(program.top().first(), {GraphId(9), GraphId(2)});
  EXPECT_EQ(program.EraseUnusedBodies(), 1);
  EXPECT_EQ(PrintNode(program.top(), program.top().first()),
            "%r: f32[2] = zoo.op.default(graph#9, graph#1)");
}

TEST(GraphSignature, StateIsBuffersAndParameters) {
  const ExportedProgram program = ParseOrDie(R"(program aten {
    graph(%x: f32[2] user_input) {
      return (%x buffer_mutation "b", %x user_output "u", %x user_input_mutation "x",
              %x parameter_mutation "a", %x buffer_mutation "b")
    }
  })",
                                             TestOps());
  EXPECT_THAT(MutatedState(program.signature), ::testing::ElementsAre("a", "b"));
}

TEST(GraphSignature, KindsHaveTheNamesOfTheArchive) {
  for (int k = 0; k <= static_cast<int>(InputKind::kConstantInput); ++k) {
    EXPECT_EQ(InputKindFromName(InputKindName(static_cast<InputKind>(k))),
              static_cast<InputKind>(k));
  }
  for (int k = 0; k <= static_cast<int>(OutputKind::kToken); ++k) {
    EXPECT_EQ(OutputKindFromName(OutputKindName(static_cast<OutputKind>(k))),
              static_cast<OutputKind>(k));
  }
  EXPECT_EQ(InputKindFromName("unknown"), std::nullopt);
  EXPECT_EQ(OutputKindFromName(""), std::nullopt);
  EXPECT_EQ(IrDialectName(IrDialect::kTraining), "TRAINING");
  EXPECT_EQ(IrDialectName(IrDialect::kAten), "ATEN");
  EXPECT_EQ(IrDialectName(IrDialect::kEdge), "EDGE");
}

}  // namespace
}  // namespace belay::exir
