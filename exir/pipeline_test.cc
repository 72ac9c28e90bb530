#include "exir/pipeline.h"

#include <cstdint>
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
      EXPECT_THAT(image.status().ToString(), HasSubstr("sizes without an upper bound"));
      EXPECT_THAT(image.status().ToString(), HasSubstr("'x': dimension 0 is s0"));
    }
  }
}

constexpr std::string_view kNonzero = R"(program aten {
    ranges { u0: [0, inf] s0: [1, 40] }
    graph(%x: f32[s0,3] user_input) {
      %y: i64[u0,2] = aten.nonzero.default(%x)
      return (%y user_output)
    }
  })";

TEST_F(ToEdgeTest, DataDependentSizesAreBoundedByTheirOperators) {
  ASSERT_OK_AND_ASSIGN(ExportedProgram program, ParseProgram(kNonzero, *ops_));
  MethodPrograms methods;
  methods.emplace_back("forward", std::move(program));
  ASSERT_OK_AND_ASSIGN(const MethodPrograms edge,
                       LowerToStage(std::move(methods), Stage::kEdge, PipelineOptions()));
  EXPECT_EQ(edge[0].second.ranges.at("u0").max, 120);
}

// unique decomposes to operators with symbols of their own.
TEST_F(ToEdgeTest, DecompositionsBoundDataDependentSizes) {
  ASSERT_OK_AND_ASSIGN(ExportedProgram program, ParseProgram(R"(program aten {
    ranges { u0: [0, inf] u1: [0, inf] s0: [1, 40] }
    graph(%x: i64[s0] user_input, %b: u8[s0] user_input) {
      %y: i64[u0], %i: i64[0], %c: i64[0] = aten._unique2.default(%x)
      %n: i64[u1] = aten.bincount.default(%b)
      return (%y user_output, %n user_output)
    }
  })",
                                                             *ops_));
  MethodPrograms methods;
  methods.emplace_back("forward", std::move(program));
  ASSERT_OK_AND_ASSIGN(const MethodPrograms edge,
                       LowerToStage(std::move(methods), Stage::kEdge, PipelineOptions()));
  EXPECT_EQ(edge[0].second.ranges.at("u0").max, 40);
  EXPECT_EQ(edge[0].second.ranges.at("u1").max, 256);
}

TEST_F(ToEdgeTest, CallersBoundOfAllSizesAlsoLimitsDataDependentSizes) {
  ASSERT_OK_AND_ASSIGN(ExportedProgram program, ParseProgram(kNonzero, *ops_));
  MethodPrograms methods;
  methods.emplace_back("forward", std::move(program));
  PipelineOptions options;
  options.unbounded_size = 64;
  ASSERT_OK_AND_ASSIGN(const MethodPrograms edge,
                       LowerToStage(std::move(methods), Stage::kEdge, options));
  EXPECT_EQ(edge[0].second.ranges.at("u0").max, 64);
  EXPECT_EQ(edge[0].second.ranges.at("s0").max, 40);
}

TEST_F(ToEdgeTest, OperatorsBoundDataDependentSizesByTheBoundOfTheInputs) {
  ASSERT_OK_AND_ASSIGN(ExportedProgram program, ParseProgram(R"(program aten {
    ranges { s0: [2, inf] u0: [0, inf] u1: [0, inf] }
    graph(%x: f32[s0,4] user_input) {
      %y: i64[u0,2] = aten.nonzero.default(%x)
      %z: f32[u1], %i: i64[0], %c: i64[0] = aten._unique2.default(%x)
      return (%y user_output, %z user_output)
    }
  })",
                                                             *ops_));
  MethodPrograms methods;
  methods.emplace_back("forward", std::move(program));
  PipelineOptions options;
  options.unbounded_size = 16;
  ASSERT_OK_AND_ASSIGN(const MethodPrograms edge,
                       LowerToStage(std::move(methods), Stage::kEdge, options));
  EXPECT_EQ(edge[0].second.ranges.at("s0").max, 16);
  EXPECT_EQ(edge[0].second.ranges.at("u0").max, 64);
  EXPECT_EQ(edge[0].second.ranges.at("u1").max, 64);
}

TEST_F(ToEdgeTest, CallerBoundsSizesBySymbol) {
  const auto lower =
      [&](absl::btree_map<std::string, int64_t> bounds) -> absl::StatusOr<MethodPrograms> {
    ABSL_ASSIGN_OR_RETURN(ExportedProgram program, ParseProgram(kNonzero, *ops_));
    MethodPrograms methods;
    methods.emplace_back("forward", std::move(program));
    PipelineOptions options;
    options.size_bounds = std::move(bounds);
    return LowerToStage(std::move(methods), Stage::kEdge, options);
  };
  ASSERT_OK_AND_ASSIGN(const MethodPrograms edge, lower({{"s0", 50}, {"u0", 7}}));
  EXPECT_EQ(edge[0].second.ranges.at("s0").max, 40);
  EXPECT_EQ(edge[0].second.ranges.at("u0").max, 7);
  EXPECT_THAT(lower({{"s7", 7}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("unknown size 's7' in the upper bounds of sizes; the program has: "
                                 "s0, u0")));
  EXPECT_THAT(lower({{"s0", 0}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the size s0 is at least 1, the upper bound given for it is 0")));
}

TEST_F(ToEdgeTest, RejectsWideUnsignedTensors) {
  for (const std::string dtype : {"u32", "u64"}) {
    ASSERT_OK_AND_ASSIGN(
        ExportedProgram program,
        ParseProgram(absl::StrCat("program aten { graph(%x: ", dtype, R"([2] user_input) {
      %y: i64[2] = aten._to_copy.default(%x, dtype=dtype:i64)
      return (%y user_output) } })"),
                     *ops_));
    EXPECT_THAT(
        ToEdge(std::move(program)),
        StatusIs(absl::StatusCode::kUnimplemented,
                 AllOf(HasSubstr("%y"), HasSubstr("are not supported; store them as int64"))));
  }
}

TEST_F(ToEdgeTest, RejectsHalfPrecisionComplexTensors) {
  ASSERT_OK_AND_ASSIGN(ExportedProgram program,
                       ParseProgram(R"(program aten { graph(%x: f32[2] user_input) {
      %y: c32[2] = aten.chalf.default(%x)
      %z: c64[2] = aten._to_copy.default(%y, dtype=dtype:c64)
      return (%z user_output) } })",
                                    *ops_));
  EXPECT_THAT(ToEdge(std::move(program)),
              StatusIs(absl::StatusCode::kUnimplemented,
                       AllOf(HasSubstr("%y"), HasSubstr("tensors of complex32 are not supported; "
                                                        "use complex64"))));
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
