#include "exir/pipeline.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ToEdgeTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(ops_, CreateStandardOps()); }

  // Returns the result in text form, or the error.
  std::string Convert(std::string_view text, const ToEdgeOptions& options = {}) {
    absl::StatusOr<ExportedProgram> program = ParseProgram(text, *ops_);
    if (!program.ok()) return program.status().ToString();
    const absl::StatusOr<ExportedProgram> edge = ToEdge(*std::move(program), options);
    return edge.ok() ? PrintProgram(*edge) : edge.status().ToString();
  }

  std::unique_ptr<OpRegistry> ops_;
};

constexpr std::string_view kClone = R"(program aten {
  graph(%x: f32[2,3] user_input) {
    %y: f32[2,3] = aten.clone.default(%x, memory_format=format:contiguous)
    %z: f16[2,3] = aten._to_copy.default(%y, dtype=dtype:f16)
    return (%z user_output)
  }
})";

TEST_F(ToEdgeTest, MemoryFormatsBecomeDimOrders) {
  EXPECT_THAT(Convert(kClone), AllOf(HasSubstr("dim_order_ops._to_dim_order_copy.default"),
                                     Not(HasSubstr("aten._to_copy"))));
}

TEST_F(ToEdgeTest, KeepsMemoryFormatsIfDimOrdersAreSkipped) {
  ToEdgeOptions options;
  options.dim_order = false;
  EXPECT_THAT(Convert(kClone, options),
              AllOf(HasSubstr("edge.aten._to_copy.default"), Not(HasSubstr("dim_order_ops"))));
}

TEST_F(ToEdgeTest, VerifiesTheResult) {
  constexpr std::string_view kDimOrder = R"(program aten {
    graph(%x: f32[2,3] user_input) {
      %y: f32[2,3] = dim_order_ops._clone_dim_order.default(%x, dim_order=[0,1])
      return (%y user_output)
    }
  })";
  ToEdgeOptions options;
  options.dim_order = false;
  EXPECT_THAT(Convert(kDimOrder, options),
              AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr("E4 %y:"),
                    HasSubstr("should not be used without dim order mode")));
  options.check_ir_validity = false;
  EXPECT_THAT(Convert(kDimOrder, options), HasSubstr("program edge"));
}

TEST_F(ToEdgeTest, EdgeProgramIsUnchanged) {
  constexpr std::string_view kEdge = R"(program edge {
  graph(%x: f32[2] user_input) {
    %y: f32[2] = edge.aten.sin.default(%x)
    return (%y user_output)
  }
})";
  ASSERT_OK_AND_ASSIGN(const ExportedProgram program, ParseProgram(kEdge, *ops_));
  EXPECT_EQ(Convert(kEdge), PrintProgram(program));
}

constexpr std::string_view kUnbounded = R"(program aten {
    ranges { s0: [2, inf] }
    graph(%x: f32[s0] user_input) {
      %y: f32[s0] = aten.sin.default(%x)
      return (%y user_output)
    }
  })";

TEST_F(ToEdgeTest, SizesWithoutBoundNeedOneFromTheCaller) {
  for (const bool bounded : {false, true}) {
    ASSERT_OK_AND_ASSIGN(ExportedProgram program, ParseProgram(kUnbounded, *ops_));
    MethodPrograms methods;
    methods.emplace_back("forward", std::move(program));
    PipelineOptions options;
    if (bounded) options.unbounded_size = 16;
    const absl::StatusOr<ProgramImage> image = LowerPrograms(std::move(methods), options);
    EXPECT_EQ(image.ok(), bounded) << image.status();
    if (!bounded) {
      EXPECT_THAT(image.status().ToString(), HasSubstr("sizes that have no upper bound"));
      EXPECT_THAT(image.status().ToString(), HasSubstr("'x': dimension 0 is s0"));
    }
  }
}

class KeepingPartitioner final : public Partitioner {
 public:
  explicit KeepingPartitioner(PreservedOps preserved) : preserved_(std::move(preserved)) {}
  absl::StatusOr<PartitionResult> Partition(const ExportedProgram&) const override {
    return PartitionResult();
  }
  PreservedOps OpsToNotDecompose(const ExportedProgram&) const override { return preserved_; }

 private:
  PreservedOps preserved_;
};

// ExecuTorch decomposes again for each partitioner, so only the last one's operators are preserved.
TEST_F(ToEdgeTest, KeepsOperatorsRequestedByOnePartitioner) {
  ASSERT_OK_AND_ASSIGN(const ExportedProgram program, ParseProgram(R"(program aten {
    graph(%x: f32[2,3] user_input, %w: f32[4,3] user_input, %b: f32[4] user_input) {
      %y: f32[2,4] = aten.linear.default(%x, %w, %b)
      return (%y user_output)
    }
  })",
                                                                   *ops_));
  const KeepingPartitioner linear({{ops_->Find("aten.linear.default")}, nullptr}), none({});
  ToEdgeOptions options;
  options.decompose = KeepFor(program, {&linear, &none});
  ASSERT_OK_AND_ASSIGN(const ExportedProgram edge, ToEdge(program.Clone(), options));
  EXPECT_THAT(PrintProgram(edge), HasSubstr("edge.aten.linear.default"));
  std::vector<std::string> notes;
  options.decompose = KeepFor(program, {&none}, &notes);
  EXPECT_THAT(notes, IsEmpty());
  ASSERT_OK_AND_ASSIGN(const ExportedProgram decomposed, ToEdge(program.Clone(), options));
  EXPECT_THAT(PrintProgram(decomposed), Not(HasSubstr("linear")));
}

TEST_F(ToEdgeTest, NotesOperatorsThatCannotBeKept) {
  ASSERT_OK_AND_ASSIGN(const ExportedProgram program, ParseProgram(R"(program aten {
    graph(%x: f32[2,3] user_input) {
      return (%x user_output)
    }
  })",
                                                                   *ops_));
  const KeepingPartitioner partitioner(
      {{ops_->Find("aten.linear.default"), ops_->Find("aten.view.default"),
        ops_->Find("aten.add_.Tensor")},
       nullptr});
  std::vector<std::string> notes;
  KeepFor(program, {&partitioner}, &notes);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("aten.view.default"), HasSubstr("aten.add_.Tensor")));
}

// Without a seed, the runtime generates the random numbers.
TEST_F(ToEdgeTest, KeepsRandomOperatorsWithoutASeed) {
  constexpr std::string_view kRandom = R"(program aten {
  graph(%x: f32[2] user_input) {
    %y: f32[2] = aten.rand.default([2])
    %z: f32[2] = aten.add.Tensor(%x, %y)
    return (%z user_output)
  }
})";
  ToEdgeOptions options;
  options.random_seed = std::nullopt;
  EXPECT_THAT(Convert(kRandom, options),
              AllOf(HasSubstr("aten.rand.default"), Not(HasSubstr("seeded"))));
  options.random_seed = 7;
  EXPECT_THAT(Convert(kRandom, options), HasSubstr("seeded."));
}

// A filter decides per node; opaque operators have no decomposition.
TEST_F(ToEdgeTest, FilterSelectsTheKeptNodes) {
  ASSERT_OK_AND_ASSIGN(const ExportedProgram program, ParseProgram(R"(program aten {
    graph(%x: f32[2,3] user_input, %w: f32[3,3] user_input) {
      %first: f32[2,3] = aten.linear.default(%x, %w)
      %second: f32[2,3] = aten.linear.default(%first, %w)
      return (%second user_output)
    }
  })",
                                                                   *ops_));
  const KeepingPartitioner partitioner(
      {{ops_->Find("aten.linear.default"), ops_->FindOrOpaque("custom.op.default")},
       [](const ExportedProgram& p, GraphId graph, NodeId node) {
         return p.graphs[graph].node(node).name == "second";
       }});
  ToEdgeOptions options;
  std::vector<std::string> notes;
  options.decompose = KeepFor(program, {&partitioner}, &notes);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("custom.op.default")));
  ASSERT_OK_AND_ASSIGN(const ExportedProgram edge, ToEdge(program.Clone(), options));
  const std::string text = PrintProgram(edge);
  EXPECT_THAT(text, HasSubstr("%second: f32[2,3] = edge.aten.linear.default"));
  EXPECT_THAT(text, Not(HasSubstr("%first: f32[2,3] = edge.aten.linear.default")));
}

// Constant sizes, and values that are not tensors, need no bound.
TEST_F(ToEdgeTest, BoundsOnlySymbolsOfSizes) {
  MethodPrograms methods;
  ASSERT_OK_AND_ASSIGN(ExportedProgram program, ParseProgram(R"(program aten {
    ranges { s0: [2, inf] s1: [0, 9] }
    graph(%n: symint(s1) user_input, %x: f32[s0,3] user_input) {
      %y: f32[s0,3] = aten.mul.Tensor(%x, %n)
      return (%y user_output)
    }
  })",
                                                             *ops_));
  methods.emplace_back("forward", std::move(program));
  PipelineOptions options;
  options.unbounded_size = 16;
  ASSERT_OK_AND_ASSIGN(const MethodPrograms edge,
                       LowerToStage(std::move(methods), Stage::kEdge, options, nullptr));
  EXPECT_EQ(edge[0].second.ranges.at("s0").max, 16);
  EXPECT_EQ(edge[0].second.ranges.at("s1").max, 9);
}

}  // namespace
}  // namespace belay::exir
