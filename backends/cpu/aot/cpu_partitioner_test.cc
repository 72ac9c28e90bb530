#include "backends/cpu/aot/cpu_partitioner.h"

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::cpu {
namespace {

using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// Node -> its tag, or the reason why it has none.
std::map<std::string, std::string> Partitioned(std::string_view text) {
  const exir::ExportedProgram program = exir::ParseOrDie(text, CpuPassTestOps());
  const absl::StatusOr<exir::PartitionResult> result = CreateCpuPartitioner({})->Partition(program);
  std::map<std::string, std::string> answers;
  if (!result.ok()) return {{"error", result.status().ToString()}};
  for (const auto& tagged : result->nodes) {
    answers[program.graphs[tagged.graph].node(tagged.node).name] = tagged.tag;
  }
  for (const auto& rejection : result->rejections) {
    answers[program.graphs[rejection.graph].node(rejection.node).name] = rejection.reason;
  }
  return answers;
}

TEST(CpuPartitioner, DelegatesMatmulsAndConnectedNodes) {
  EXPECT_THAT(Partitioned(R"(program edge {
    constants { state "w": f32[4,4] }
    graph(%w: f32[4,4] parameter "w", %x: f32[2,4] user_input) {
      %y: f32[2,4] = edge.aten.mm.default(%x, %w)
      %z: f32[2,4] = edge.aten.relu.default(%y)
      return (%z user_output) } })"),
              UnorderedElementsAre(Pair("y", "cpu_1"), Pair("z", "cpu_1")));
}

TEST(CpuPartitioner, DropsPartitionsWithoutAnchorOperators) {
  EXPECT_THAT(Partitioned(R"(program edge {
    graph(%x: f32[2,4] user_input) {
      %z: f32[2,4] = edge.aten.relu.default(%x)
      return (%z user_output) } })"),
              UnorderedElementsAre(Pair("z", HasSubstr("nothing would be gained"))));
}

TEST(CpuPartitioner, ReportsRejections) {
  const auto answers = Partitioned(R"(program edge {
    graph(%x: f64[2,2] user_input, %i: i64[2,2] user_input, %f: symfloat(zf0) user_input,
          %e: f32[2,2]{strides=[0,1]} user_input) {
      %a: f64[2,2] = edge.aten.mm.default(%x, %x)
      %b: i64[2,2] = edge.aten.mm.default(%i, %i)
      %c: f32[2,2] = edge.aten.acosh.default(%e)
      %d: f32[2,2] = edge.aten.mul.Scalar(%e, %f)
      %g: f32[2,2] = edge.aten.relu.default(%e)
      return (%a user_output, %b user_output, %c user_output, %d user_output, %g user_output) } })");
  EXPECT_THAT(answers, UnorderedElementsAre(
                           Pair("a", "%x is f64[2,2], expected float32, bfloat16 or float16"),
                           Pair("b", "%i is i64[2,2], expected float32, bfloat16 or float16"),
                           Pair("c", "operator aten.acosh.default is not supported"),
                           Pair("d", HasSubstr("not a dense tensor")),
                           Pair("g", "%e is f32[2,2]{strides=[0,1]}, not a dense tensor")));
}

TEST(CpuPartitioner, DelegatesQuantization) {
  EXPECT_THAT(Partitioned(R"(program edge {
    constants { state "w": i8[4,4] state "s": f32[4] }
    graph(%w: i8[4,4] parameter "w", %s: f32[4] parameter "s", %x: f32[2,4] user_input) {
      %q: i8[2,4] = edge.quantized_decomposed.quantize_per_tensor.default(%x, 0.5, 0, -128, 127, dtype:i8)
      %d: f32[2,4] = edge.quantized_decomposed.dequantize_per_tensor.default(%q, 0.5, 0, -128, 127, dtype:i8)
      %c: f32[4,4] = edge.quantized_decomposed.dequantize_per_channel.default(%w, %s, none, 1, -127, 127, dtype:i8)
      %y: f32[2,4] = edge.aten.mm.default(%d, %c)
      return (%y user_output) } })"),
              UnorderedElementsAre(Pair("q", "cpu_1"), Pair("d", "cpu_1"), Pair("c", "cpu_1"),
                                   Pair("y", "cpu_1")));
}

// A delegate would copy the entire buffer, and the program its result.
TEST(CpuPartitioner, DoesNotDelegateBufferUpdates) {
  const auto answers = [](std::string_view outputs) {
    return Partitioned(absl::StrCat(R"(program edge {
    constants { state "c": f32[4,2] state "w": f32[2,2] }
    graph(%c: f32[4,2] buffer "c", %w: f32[2,2] parameter "w", %x: f32[2,2] user_input) {
      %y: f32[2,2] = edge.aten.mm.default(%x, %w)
      %a: f32[4,2] = edge.aten.slice_scatter.default(%c, %y, 0, 0, 2)
      %b: f32[4,2] = edge.aten.slice_scatter.default(%a, %y, 0, 2, 4)
      %z: f32[4,2] = edge.aten.mm.default(%b, %w)
      return ()",
                                    outputs, ") } }"));
  };
  EXPECT_THAT(answers("%b buffer_mutation \"c\", %z user_output"),
              UnorderedElementsAre(Pair("y", "cpu_1"), Pair("z", "cpu_0"),
                                   Pair("a", "it updates a part of buffer 'c'"),
                                   Pair("b", "it updates a part of buffer 'c'")));
  EXPECT_THAT(answers("%b user_output, %z user_output"),
              UnorderedElementsAre(Pair("y", "cpu_1"), Pair("z", "cpu_1"), Pair("a", "cpu_1"),
                                   Pair("b", "cpu_1")));
}

TEST(CpuPartitioner, DelegatesBFloat16) {
  EXPECT_THAT(Partitioned(R"(program edge {
    constants { state "w": bf16[4,4] }
    graph(%w: bf16[4,4] parameter "w", %x: f32[2,4] user_input, %u: bf16[2,4] user_input) {
      %c: f32[4,4] = edge.dim_order_ops._to_dim_order_copy.default(%w, dtype=dtype:f32)
      %y: f32[2,4] = edge.aten.mm.default(%x, %c)
      %p: bf16[2,4] = edge.aten.mm.default(%u, %w)
      %r: bf16[2,4] = edge.aten.relu.default(%p)
      %d: f32[2,4] = edge.dim_order_ops._to_dim_order_copy.default(%r, dtype=dtype:f32)
      return (%y user_output, %d user_output) } })"),
              UnorderedElementsAre(Pair("c", "cpu_1"), Pair("y", "cpu_1"), Pair("p", "cpu_1"),
                                   Pair("r", "cpu_1"), Pair("d", "cpu_1")));
}

TEST(CpuPartitioner, DelegatesNodesInControlFlowSubgraphs) {
  const auto answers = Partitioned(R"(program edge {
    graph(%p: b8[] user_input, %x: f32[2,2] user_input) {
      %r: f32[2,2] = higher_order.cond(%p, graph#1, graph#2, [%x])
      return (%r user_output) }
    graph true_graph(%x: f32[2,2]) { %y: f32[2,2] = edge.aten.mm.default(%x, %x) return (%y) }
    graph false_graph(%x: f32[2,2]) { %z: f32[2,2] = edge.aten.relu.default(%x) return (%z) } })");
  EXPECT_THAT(answers, UnorderedElementsAre(
                           Pair("r",
                                "higher_order.cond runs in the program; the nodes of its "
                                "subgraphs are delegated"),
                           Pair("y", "cpu_0"), Pair("z", HasSubstr("nothing would be gained"))));
}

TEST(CpuPartitioner, ReportsWhyNodesOfSubgraphsAreNotDelegated) {
  const auto answers = Partitioned(R"(program edge {
    graph(%x: f32[3,4096] user_input) {
      %r: f32[3,4096] = higher_order.map_impl(graph#1, [%x], [])
      return (%r user_output) }
    graph row(%x: f32[4096]) {
      %y: f32[4096] = edge.aten.mul.Tensor(%x, %x)
      %z: f32[4096] = edge.aten.add.Tensor(%y, %x)
      %a: f32[4096] = edge.aten.acosh.default(%z)
      return (%a) } })");
  EXPECT_THAT(answers,
              UnorderedElementsAre(Pair("r", HasSubstr("higher_order.map_impl runs")),
                                   Pair("y", "cpu_1"), Pair("z", "cpu_1"),
                                   Pair("a", "operator aten.acosh.default is not supported")));
}

TEST(CpuPartitioner, TagsConstantsOfSubgraphs) {
  const exir::ExportedProgram program = exir::ParseOrDie(R"(program edge {
    constants { state "w": f32[2,2] }
    graph(%w: f32[2,2] parameter "w", %x: f32[3,2,2] user_input) {
      %r: f32[3,2,2] = higher_order.map_impl(graph#1, [%x], [%w])
      return (%r user_output) }
    graph row(%x: f32[2,2], %v: f32[2,2]) {
      %y: f32[2,2] = edge.aten.mm.default(%x, %v)
      return (%y) } })",
                                                         CpuPassTestOps());
  ASSERT_OK_AND_ASSIGN(const exir::PartitionResult result,
                       CreateCpuPartitioner({})->Partition(program));
  ASSERT_EQ(result.inputs.size(), 1u);
  EXPECT_EQ(result.inputs[0].graph, exir::GraphId(1));
  EXPECT_EQ(result.inputs[0].input, program.graphs[exir::GraphId(1)].inputs()[1]);
}

TEST(CpuPartitioner, ReportsRejectionsNextToMatmuls) {
  const auto answers = Partitioned(R"(program edge {
    ranges { s0: [1,9] }
    constants { state "w": f32[2,2] }
    graph(%w: f32[2,2] parameter "w", %d: f64[2,2] user_input, %n: symint(s0) user_input,
          %f: symfloat(zf0) user_input, %x: f32[s0,2] user_input,
          %o: f32[2,2]{layout=sparse_coo} user_input) {
      %a: f64[2,2] = edge.aten.relu.default(%d)
      %p: f32[s0,2] = edge.aten.mm.default(%x, %w)
      %b: f32[1,s0,2] = edge.aten.view_copy.default(%p, [1,%n,2])
      %c: f32[s0,2] = edge.aten.mul.Scalar(%p, %f)
      %e: f32[2,2] = edge.aten.relu.default(%o)
      return (%a user_output, %b user_output, %c user_output, %e user_output) } })");
  EXPECT_THAT(answers,
              UnorderedElementsAre(
                  Pair("a",
                       "%d is f64[2,2], expected float32, bfloat16, float16, int64, int32, "
                       "int8, uint8 or bool"),
                  Pair("p", "cpu_1"), Pair("b", "cpu_1"),
                  Pair("c", HasSubstr("neither a tensor nor an integer")),
                  Pair("e", HasSubstr("not a dense tensor"))));
}

// An update of anything but a mutated buffer is delegated.
TEST(CpuPartitioner, DelegatesOtherUpdates) {
  const auto answers = [](std::string_view input, std::string_view body) {
    return Partitioned(absl::StrCat(R"(program edge {
    constants { state "c": f32[4,2] state "w": f32[2,2] }
    graph(%c: f32[4,2] )",
                                    input,
                                    R"(, %w: f32[2,2] parameter "w", %x: f32[2,2] user_input) {
      %y: f32[2,2] = edge.aten.mm.default(%x, %w)
      )",
                                    body, R"(
      return (%b user_output) } })"));
  };
  const std::string_view slice = "%b: f32[4,2] = edge.aten.slice_scatter.default(%c, %y, 0, 0, 2)";
  EXPECT_THAT(answers("buffer \"c\"", slice),
              UnorderedElementsAre(Pair("y", "cpu_1"), Pair("b", "cpu_1")));
  EXPECT_THAT(answers("parameter \"c\"", slice),
              UnorderedElementsAre(Pair("y", "cpu_1"), Pair("b", "cpu_1")));
  EXPECT_THAT(answers("user_input", slice),
              UnorderedElementsAre(Pair("y", "cpu_1"), Pair("b", "cpu_1")));
  EXPECT_THAT(answers("buffer \"c\"", R"(%r: f32[4,2] = edge.aten.relu.default(%c)
      %b: f32[4,2] = edge.aten.slice_scatter.default(%r, %y, 0, 0, 2))"),
              UnorderedElementsAre(Pair("y", "cpu_1"), Pair("r", "cpu_1"), Pair("b", "cpu_1")));
}

TEST(CpuPartitioner, DoesNotDelegateRowsWrittenToABuffer) {
  EXPECT_THAT(Partitioned(R"(program edge {
    constants { state "c": f32[4,2] state "w": f32[2,2] }
    graph(%c: f32[4,2] buffer "c", %w: f32[2,2] parameter "w", %x: f32[1,2] user_input) {
      %y: f32[1,2] = edge.aten.mm.default(%x, %w)
      %v: f32[2] = edge.aten.view_copy.default(%y, [2])
      %b: f32[4,2] = edge.aten.select_scatter.default(%c, %v, 0, 1)
      return (%b buffer_mutation "c", %y user_output) } })"),
              UnorderedElementsAre(Pair("y", "cpu_1"), Pair("v", "cpu_1"),
                                   Pair("b", "it updates a part of buffer 'c'")));
}

}  // namespace
}  // namespace belay::cpu
