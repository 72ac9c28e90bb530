#include "exir/backend/partitioner_sequence.h"

#include <string>
#include <vector>

#include "exir/backend/partitioners/capability_partitioner.h"
#include "exir/backend/testing/recording_backend.h"
#include "exir/backend/transforms/duplicate_dequantize.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "exir/testing/test_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kProgram = R"(program edge {
  graph(%x: f32[2] user_input) {
    %a: f32[2] = edge.aten.relu.default(%x)
    %b: f32[2] = edge.aten.neg.default(%a)
    return (%b user_output)
  }
})";

MethodPrograms Methods() {
  MethodPrograms methods;
  methods.emplace_back("forward", ParseOrDie(kProgram, TestOps()));
  return methods;
}

TEST(PartitionerSequenceTest, LaterRoundsSeeTheResultOfEarlierOnes) {
  const FunctionBackend first("first"), second("second");
  BackendSet backends;
  ASSERT_TRUE(backends.Add(&first).ok());
  ASSERT_TRUE(backends.Add(&second).ok());
  const CapabilityPartitioner relu({"first", {}}, SupportOps({"aten.relu.default"}));
  const CapabilityPartitioner both({"second", {}},
                                   SupportOps({"aten.relu.default", "aten.neg.default"}));
  const std::vector<MethodPartitioners> rounds = {{{"forward", &relu}}, {{"forward", &both}}};
  ASSERT_OK_AND_ASSIGN(const MethodPrograms lowered,
                       ToBackendInSequence(Methods(), rounds, backends));
  const ExportedProgram& program = lowered[0].second;
  ASSERT_EQ(program.lowered_modules.size(), 2);
  EXPECT_EQ(program.lowered_modules[ModuleId(0)]->backend_id, "first");
  EXPECT_EQ(program.lowered_modules[ModuleId(1)]->backend_id, "second");
}

TEST(PartitionerSequenceTest, ErrorsNameTheRound) {
  BackendSet backends;
  const CapabilityPartitioner relu({"first", {}}, SupportOps({"aten.relu.default"}));
  const std::vector<MethodPartitioners> rounds = {{}, {{"forward", &relu}}};
  const absl::Status status = ToBackendInSequence(Methods(), rounds, backends).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("round 1: "));
}

TEST(PartitionerSequenceTest, ErrorsOfASingleRoundDoNotNameIt) {
  BackendSet backends;
  const CapabilityPartitioner relu({"first", {}}, SupportOps({"aten.relu.default"}));
  const std::vector<MethodPartitioners> rounds = {{{"forward", &relu}}};
  EXPECT_THAT(ToBackendInSequence(Methods(), rounds, backends),
              StatusIs(absl::StatusCode::kNotFound, ::testing::Not(HasSubstr("round"))));
}

TEST(PartitionerSequenceTest, ChecksTheResultOfARound) {
  const FunctionBackend first("first");
  BackendSet backends;
  ASSERT_TRUE(backends.Add(&first).ok());
  const CapabilityPartitioner relu({"first", {}}, SupportOps({"aten.relu.default"}));
  const CapabilityPartitioner neg({"first", {}}, SupportOps({"aten.neg.default"}));
  const std::vector<MethodPartitioners> rounds = {{{"forward", &relu}}, {{"forward", &neg}}};
  const auto check = [](const MethodPrograms& methods) {
    return methods[0].second.lowered_modules.size() < 2 ? absl::OkStatus()
                                                        : absl::OutOfRangeError("too many");
  };
  const absl::Status status = ToBackendInSequence(Methods(), rounds, backends, {}, check).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kOutOfRange, "round 1: too many"));
}

TEST(PartitionerSequenceTest, RejectsUndelegatedPreservedOperator) {
  const FunctionBackend backend("first");
  BackendSet backends;
  ASSERT_TRUE(backends.Add(&backend).ok());
  bool accept = true;
  std::vector<NodeConfig> configs(1);
  configs[0].op = "aten.relu.default";
  configs[0].check = [&](const ExportedProgram&, GraphId, NodeId) -> std::string {
    return accept ? "" : "too small";
  };
  configs[0].preserve = TestOps().Find("aten.relu.default");
  ASSERT_OK_AND_ASSIGN(const ConfigPartitioner config,
                       ConfigPartitioner::Create({"first", {}}, configs));
  const std::vector<MethodPartitioners> rounds = {{{"forward", &config}}};
  EXPECT_TRUE(ToBackendInSequence(Methods(), rounds, backends).ok());
  const absl::Status left = CheckPreservedOps(Methods(), rounds[0]);
  EXPECT_EQ(left.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(left.message()),
              HasSubstr("method 'forward': node a with operator aten.relu.default was not "
                        "decomposed or delegated"));
  // A request of one method's partitioner does not affect other methods.
  EXPECT_OK(CheckPreservedOps(Methods(), {{"backward", &config}}));
  accept = false;
  EXPECT_TRUE(CheckPreservedOps(Methods(), rounds[0]).ok());
}

// Quantize and dequantize nodes may remain between delegates.
TEST(PartitionerSequenceTest, AcceptsUndelegatedQuantization) {
  struct Asking final : Partitioner {
    absl::StatusOr<PartitionResult> Partition(const ExportedProgram&) const override {
      return PartitionResult();
    }
    PreservedOps OpsToNotDecompose(const ExportedProgram& program) const override {
      return {.ops = {program.ops->Find("quantized_decomposed.quantize_per_tensor.default"),
                      program.ops->Find("aten.neg.default")}};
    }
  };
  const auto ops = CreateStandardOps();
  ASSERT_OK(ops.status());
  MethodPrograms methods;
  methods.emplace_back("forward", ParseOrDie(R"(program edge {
    graph(%x: f32[2] user_input) {
      %n: f32[2] = edge.aten.neg.default(%x)
      %q: i8[2] = edge.quantized_decomposed.quantize_per_tensor.default(%n, 0.5, 0, -128, 127, dtype:i8)
      return (%q user_output)
    }
  })",
                                             **ops));
  const Asking asking;
  const absl::Status status = CheckPreservedOps(methods, {{"forward", &asking}});
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("node n with")));
  EXPECT_EQ(status.message().find("node q"), std::string::npos);
}

// docs/lowering.md row 19: with a filter, requests for these operators are ignored; without, they
// must be delegated.
TEST(PartitionerSequenceTest, FilterDoesNotKeepSomeOperators) {
  struct Asking final : Partitioner {
    absl::StatusOr<PartitionResult> Partition(const ExportedProgram&) const override {
      return PartitionResult();
    }
    PreservedOps OpsToNotDecompose(const ExportedProgram&) const override { return preserved; }
    PreservedOps preserved;
  };
  MethodPrograms methods;
  methods.emplace_back("forward", ParseOrDie(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %x)
      return (%a user_output)
    }
  })",
                                             TestOps()));
  Asking asking;
  asking.preserved.ops = {TestOps().Find("aten.add.Tensor"), TestOps().Find("aten.add_.Tensor"),
                          TestOps().Find("aten.view.default"), TestOps().Find("higher_order.cond"),
                          TestOps().Find("aten.relu.default")};
  for (const OpOverload* op : asking.preserved.ops) ASSERT_NE(op, nullptr);
  EXPECT_EQ(CheckPreservedOps(methods, {{"forward", &asking}}).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(OpsToKeep(asking.preserved), asking.preserved.ops);
  asking.preserved.filter = [](const ExportedProgram&, GraphId, NodeId) { return true; };
  EXPECT_TRUE(CheckPreservedOps(methods, {{"forward", &asking}}).ok());
  EXPECT_EQ(OpsToKeep(asking.preserved),
            std::vector<const OpOverload*>{TestOps().Find("aten.relu.default")});
}

TEST(DuplicateDequantizeTest, EachUserGetsItsOwnNode) {
  const auto ops = CreateStandardOps();
  ASSERT_TRUE(ops.ok());
  ExportedProgram program = ParseOrDie(R"(program edge {
    graph(%x: i8[2] user_input) {
      %d: f32[2] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 0, -128, 127, dtype:i8)
      %a: f32[2] = edge.aten.relu.default(%d)
      %b: f32[2] = edge.aten.add.Tensor(%d, %d)
      %c: f32[4] = edge.aten.cat.default([%a, %d])
      return (%b user_output, %c user_output)
    }
  })",
                                       **ops);
  ASSERT_OK_AND_ASSIGN(const bool changed, DuplicateDequantize().run(program));
  EXPECT_TRUE(changed);
  EXPECT_TRUE(Verify(program).ok()) << Verify(program);
  EXPECT_EQ(program.top().num_nodes(), 6);
  EXPECT_EQ(program.top().value(FindValue(program.top(), "d")).users.size(), 1);
  ASSERT_OK_AND_ASSIGN(const bool again, DuplicateDequantize().run(program));
  EXPECT_FALSE(again);
}

// The output keeps the node, so each user gets a new one.
TEST(DuplicateDequantizeTest, ReturnedValueKeepsTheNode) {
  const auto ops = CreateStandardOps();
  ASSERT_TRUE(ops.ok());
  ExportedProgram program = ParseOrDie(R"(program edge {
    graph(%x: i8[2] user_input) {
      %d: f32[2] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 0, -128, 127, dtype:i8)
      %a: f32[2] = edge.aten.relu.default(%d)
      return (%d user_output, %a user_output)
    }
  })",
                                       **ops);
  ASSERT_OK_AND_ASSIGN(const bool changed, DuplicateDequantize().run(program));
  EXPECT_TRUE(changed);
  EXPECT_OK(Verify(program));
  EXPECT_EQ(program.top().num_nodes(), 3);
  EXPECT_TRUE(program.top().value(FindValue(program.top(), "d")).users.empty());
}

// Other operators, and quantize nodes, may have several users.
TEST(DuplicateDequantizeTest, OtherNodesRemainShared) {
  const auto ops = CreateStandardOps();
  ASSERT_TRUE(ops.ok());
  ExportedProgram program = ParseOrDie(R"(program edge {
    graph(%x: f32[2] user_input) {
      %n: f32[2] = edge.aten.neg.default(%x)
      %q: i8[2] = edge.quantized_decomposed.quantize_per_tensor.default(%n, 0.5, 0, -128, 127, dtype:i8)
      %a: f32[2] = edge.aten.relu.default(%n)
      %b: i8[2] = edge.aten.neg.default(%q)
      %c: i8[2] = edge.aten.relu.default(%q)
      return (%a user_output, %b user_output, %c user_output)
    }
  })",
                                       **ops);
  const ExportedProgram before = program.Clone();
  ASSERT_OK_AND_ASSIGN(const bool changed, DuplicateDequantize().run(program));
  EXPECT_FALSE(changed);
  EXPECT_TRUE(Equal(program, before));
}

}  // namespace
}  // namespace belay::exir
