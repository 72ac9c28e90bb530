// exir/backend/test/test_partitioner.py and test_passes.py.
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "exir/backend/tests/scenarios/scenario.h"
#include "exir/emit/emitter.h"
#include "exir/testing/programs.h"

namespace belay::exir {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PartitionerScenarioTest : public ScenarioTest {
 protected:
  absl::StatusOr<ExportedProgram> LowerWith(const ExportedProgram& program,
                                            const TextPartitioner& partitioner) {
    return ToBackend(program, partitioner, backends_);
  }
  static size_t Arguments(const ExportedProgram& lowered) {
    const DelegateCall call = DelegateCalls(lowered)[0];
    return lowered.graphs[call.graph].node(call.node).arguments.size();
  }
  static const ExportedProgram& Original(const ExportedProgram& lowered) {
    return DelegateCalls(lowered)[0].module->original;
  }
};

TEST_F(PartitionerScenarioTest, with_spec) {
  CapabilityPartitioner partitioner({"recorder", {{"max_value", std::string("\x04", 1)}}},
                                    SupportOps({"aten.add.Tensor"}));
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, ToBackend(Parse(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %x)
      return (%a user_output)
    }
  })"),
                                                                partitioner, backends_));
  EXPECT_THAT(lowered.lowered_modules[ModuleId(0)]->compile_specs,
              ElementsAre(CompileSpec{"max_value", std::string("\x04", 1)}));
  // The options of a partitioner cannot be changed through the interface.
  static_assert(
      std::is_const_v<std::remove_reference_t<decltype(*lowered.lowered_modules[ModuleId(0)])>>);
}

// Outputs are not nodes here, so they cannot be tagged; unknown ids are rejected.
TEST_F(PartitionerScenarioTest, bad_partitioner_tagged_output) {
  struct Tagger final : public Partitioner {
    absl::StatusOr<PartitionResult> Partition(const ExportedProgram& program) const override {
      PartitionResult result;
      result.nodes.push_back({ExportedProgram::kTop,
                              NodeId(static_cast<uint32_t>(program.top().node_id_limit())), "t"});
      result.delegation = {{"t", {"recorder", {}}}};
      return result;
    }
  };
  EXPECT_THAT(
      ToBackend(Parse("program edge { graph(%x: f32[2] user_input) { return (%x user_output) } }"),
                Tagger(), backends_),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("tag 't'"), HasSubstr("does not exist"))));
}

TEST_F(PartitionerScenarioTest, bad_partitioner_tagged_model_input) {
  TextPartitioner partitioner;
  partitioner.constants = {{"x", "t"}};
  EXPECT_THAT(
      LowerWith(Parse("program edge { graph(%x: f32[2] user_input) { return (%x user_output) } }"),
                partitioner),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("placeholder node for non-params, non-buffer, and non-tensor "
                         "constants should not be tagged: x")));
}

constexpr std::string_view kThreeConstants = R"(program edge {
  constants { state "b1": f32[2] state "b2": f32[2] state "p": f32[2] }
  graph(%p: f32[2] parameter "p", %b1: f32[2] buffer "b1", %b2: f32[2] buffer "b2",
        %x: f32[2] user_input) {
    %a: f32[2] = edge.aten.add.Tensor(%x, %p)  tag="t"
    %b: f32[2] = edge.aten.mul.Tensor(%a, %b1)  tag="t"
    %c: f32[2] = edge.aten.add.Tensor(%b, %b2)  tag="t"
    return (%c user_output)
  }
})";

TEST_F(PartitionerScenarioTest, not_tag_data) {
  const ExportedProgram program = Parse(kThreeConstants);
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, LowerWith(program, TextPartitioner()));
  EXPECT_EQ(CountParameters(lowered) + CountOtherConstants(lowered), 3u);
  EXPECT_EQ(CountParameters(Original(lowered)) + CountOtherConstants(Original(lowered)), 0u);
  EXPECT_EQ(Arguments(lowered), 5u);  // the module, three constants, one input
  ExpectSameResults(program, lowered);
}

TEST_F(PartitionerScenarioTest, tag_data) {
  const ExportedProgram program = Parse(kThreeConstants);
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, LowerTagged(program));
  EXPECT_EQ(CountParameters(lowered) + CountOtherConstants(lowered), 0u);
  EXPECT_EQ(CountParameters(Original(lowered)) + CountOtherConstants(Original(lowered)), 3u);
  EXPECT_EQ(Arguments(lowered), 2u);
  ExpectSameResults(program, lowered);
}

TEST_F(PartitionerScenarioTest, tag_only_params) {
  const ExportedProgram program = Parse(kThreeConstants);
  TextPartitioner partitioner;
  partitioner.constants = {{"p", "t"}};
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, LowerWith(program, partitioner));
  EXPECT_EQ(CountOtherConstants(lowered), 2u);
  EXPECT_EQ(CountParameters(Original(lowered)), 1u);
  EXPECT_EQ(CountOtherConstants(Original(lowered)), 0u);
  EXPECT_EQ(Arguments(lowered), 4u);
  ExpectSameResults(program, lowered);
}

constexpr std::string_view kSplitConstant = R"(program edge {
  constants { state "c": f32[2] }
  graph(%c: f32[2] buffer "c", %x: f32[2] user_input) {
    %a: f32[2] = edge.aten.add.Tensor(%x, %c)  tag="tag0"
    %aten_sub_tensor: f32[2] = edge.aten.sub.Tensor(%a, %c)
    return (%aten_sub_tensor user_output)
  }
})";

TEST_F(PartitionerScenarioTest, splits_constant_data) {
  const ExportedProgram program = Parse(kSplitConstant);
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, LowerTagged(program));
  EXPECT_EQ(CountOtherConstants(lowered), 1u);
  EXPECT_EQ(CountOtherConstants(Original(lowered)), 1u);
  // The same bytes, not a copy.
  EXPECT_EQ(Original(lowered).state_dict.at("c").storage().bytes.data(),
            program.state_dict.at("c").storage().bytes.data());
  ExpectSameResults(program, lowered);
}

TEST_F(PartitionerScenarioTest, alert_split_constant_data) {
  TextPartitioner partitioner;
  partitioner.tag_constants = true;
  partitioner.no_copy = {"c"};
  EXPECT_THAT(LowerWith(Parse(kSplitConstant), partitioner),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("is tagged with (tag0)"),
                             HasSubstr("but has user (aten_sub_tensor) which has tag (None)"))));
}

TEST_F(PartitionerScenarioTest, not_delegate_mutable_buffers) {
  const ExportedProgram program = Parse(R"(program edge {
    constants { state "b": f32[1] }
    graph(%b: f32[1] buffer "b", %x: f32[1] user_input) {
      %a: f32[1] = edge.aten.add.Tensor(%x, %x)  tag="t"
      %b_new: f32[1] = edge.aten.add.Tensor(%b, %a)  tag="t"
      %s: f32[1] = edge.aten.sub.Tensor(%b_new, %x)
      return (%b_new buffer_mutation "b", %s user_output)
    }
  })");
  TextPartitioner partitioner;  // the buffer is not tagged
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, LowerWith(program, partitioner));
  ASSERT_EQ(CountMutations(lowered), 1u);
  EXPECT_EQ(lowered.signature.outputs[0].target, "b");
  // The mutation's value is a result of the call.
  const ValueId value = *lowered.top().outputs()[0].get_if<ValueId>();
  EXPECT_EQ(lowered.top().value(value).producer, DelegateCalls(lowered)[0].node);
  ExpectSameResults(program, lowered);
  // Emitted, the program writes it back once.
  MethodPrograms methods;
  methods.emplace_back("forward", lowered.Clone());
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, EmitProgram(methods));
  const schema::Method& method = image.metadata.methods(0);
  int copies = 0;
  for (const schema::Instruction& instruction : method.instructions()) {
    copies += instruction.has_kernel() &&
              method.operators(instruction.kernel().operator_()) == "aten.copy_.default";
  }
  EXPECT_EQ(copies, 1);
}

TEST_F(PartitionerScenarioTest, buffer_mutation1) {
  const ExportedProgram program = Parse(R"(program edge {
    constants { state "b": f32[1] }
    graph(%b: f32[1] buffer "b", %x: f32[1] user_input) {
      %b_new: f32[1] = edge.aten.add.Tensor(%b, %x)  tag="t"
      %s: f32[1] = edge.aten.add.Tensor(%x, %b_new)  tag="t"
      return (%b_new buffer_mutation "b", %s user_output)
    }
  })");
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, LowerTagged(program));
  EXPECT_EQ(CountMutations(lowered), 0u);
  EXPECT_EQ(CountOtherConstants(Original(lowered)), 1u);
  EXPECT_EQ(CountMutations(Original(lowered)), 1u);
  EXPECT_EQ(Original(lowered).state_dict.size(), 1u);
  EXPECT_EQ(Arguments(lowered), 2u);
  ExpectSameResults(program, lowered);
}

TEST_F(PartitionerScenarioTest, buffer_mutation_llama_repro) {
  const ExportedProgram program = Parse(R"(program edge {
    constants { state "cache": f32[4,2] }
    graph(%cache: f32[4,2] buffer "cache", %mask: f32[4,2] user_input, %pos: i64[1] user_input,
          %val: f32[1,2] user_input) {
      %zero: i64[1] = edge.aten.mul.Scalar(%pos, 0)  tag="t"
      %new: f32[4,2] = edge.aten.index_put.default(%cache, [%zero], %val)  tag="t"
      %out: f32[4,2] = edge.aten.add.Tensor(%mask, %new)  tag="t"
      return (%new buffer_mutation "cache", %out user_output)
    }
  })");
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, LowerTagged(program));
  EXPECT_EQ(CountMutations(lowered), 0u);
  EXPECT_EQ(CountMutations(Original(lowered)), 1u);
  EXPECT_EQ(Original(lowered).state_dict.size(), 1u);
  EXPECT_EQ(Arguments(lowered), 4u);
  ExpectSameResults(program, lowered);
}

// Unsupported upstream; here the delegate also returns the value.
TEST_F(PartitionerScenarioTest, buffer_mutation_unsupported) {
  const ExportedProgram program = Parse(R"(program edge {
    constants { state "b": f32[1] }
    graph(%b: f32[1] buffer "b", %x: f32[1] user_input) {
      %b_new: f32[1] = edge.aten.add.Tensor(%b, %x)  tag="t"
      return (%b_new buffer_mutation "b", %b_new user_output)
    }
  })");
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, LowerTagged(program));
  EXPECT_EQ(CountMutations(Original(lowered)), 1u);
  EXPECT_EQ(Original(lowered).signature.outputs.size(), 2u);
  ExpectSameResults(program, lowered);
}

// Mutated through other nodes, with a constant that is only another operand of the node that
// computes the new value (docs/lowering.md §7.6).
TEST_F(PartitionerScenarioTest, tag_mutated_buffer) {
  const ExportedProgram program = Parse(R"(program edge {
    constants { state "b": f32[1] state "c": f32[1] }
    graph(%b: f32[1] buffer "b", %c: f32[1] buffer "c", %x: f32[1] user_input) {
      %d: f32[1] = edge.aten.mul.Tensor(%b, %x)  tag="t"
      %n: f32[1] = edge.aten.add.Tensor(%d, %c)  tag="t"
      %s: f32[1] = edge.aten.sub.Tensor(%n, %x)
      return (%n buffer_mutation "b", %s user_output)
    }
  })");
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, LowerTagged(program));
  EXPECT_EQ(CountOtherConstants(Original(lowered)), 2u);
  EXPECT_EQ(CountMutations(Original(lowered)), 1u);
  EXPECT_TRUE(lowered.state_dict.empty());
  ExpectSameResults(program, lowered);
}

// --- test_passes.py ---

TEST_F(PartitionerScenarioTest, duplicate_constant_node) {
  const ExportedProgram program = Parse(R"(program edge {
    constants { state "b": f32[2] }
    graph(%b_const: f32[2] buffer "b", %x: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %b_const)  tag="t0"
      %m: f32[2] = edge.aten.mul.Tensor(%a, %b_const)  tag="t1"
      return (%m user_output)
    }
  })");
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, LowerTagged(program));
  ASSERT_EQ(lowered.lowered_modules.size(), 2u);
  const auto input_name = [&](uint32_t module) {
    const ExportedProgram& original = lowered.lowered_modules[ModuleId(module)]->original;
    return original.top().value(original.top().inputs()[0]).name;
  };
  EXPECT_EQ(input_name(0), "b_const");
  EXPECT_EQ(input_name(1), "b_const_copy_0");
  ExpectSameResults(program, lowered);
}

// A user with the constant as keyword argument, or inside a list.
TEST_F(PartitionerScenarioTest, duplicate_constant_node_in_keyword_argument) {
  const ExportedProgram program = Parse(R"(program edge {
    constants { state "b": f32[2] }
    graph(%b_const: f32[2] buffer "b", %x: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %b_const)  tag="t0"
      %m: f32[2] = edge.aten.mul.Tensor(%a, other=%b_const)
      %c: f32[4] = edge.aten.cat.default([%m, %b_const])
      return (%c user_output)
    }
  })");
  ASSERT_OK_AND_ASSIGN(const ExportedProgram lowered, LowerTagged(program));
  EXPECT_EQ(CountOtherConstants(lowered), 1u);
  EXPECT_EQ(CountOtherConstants(Original(lowered)), 1u);
  ExpectSameResults(program, lowered);
}

}  // namespace
}  // namespace belay::exir
