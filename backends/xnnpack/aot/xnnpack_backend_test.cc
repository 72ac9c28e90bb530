// Tests Preprocess() directly, also for programs that partitioning does not yield.
#include "backends/xnnpack/aot/xnnpack_backend.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/xnnpack/graph_reader.h"
#include "backends/xnnpack/library_rules.h"
#include "backends/xnnpack/node_rules.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/module_data.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/memory_budget.h"
#include "runtime/core/testing.h"

namespace belay::xnnpack {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class XnnpackBackendTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(ops_, exir::CreateStandardOps()); }

  // Preprocesses a program with constants %w f32[3], %m f32[5,4], %i f32[1,2,3,4] and state %b
  // f32[3].
  absl::StatusOr<exir::PreprocessResult> Preprocess(std::string_view inputs, std::string_view body,
                                                    std::string_view outputs) {
    return XnnpackBackend().Preprocess(
        exir::ParseOrDie(
            absl::StrCat(
                "program edge {\nconstants { state \"w\": f32[3] state \"m\": f32[5,4] "
                "state \"i\": f32[1,2,3,4] state \"k\": f32[2,2,1,1] state \"b\": f32[3] }\n"
                "graph(%w: f32[3] parameter \"w\", %m: f32[5,4] parameter \"m\", "
                "%i: f32[1,2,3,4] parameter \"i\", %k: f32[2,2,1,1] parameter \"k\", "
                "%b: f32[3] buffer \"b\", ",
                inputs, ") {\n", body, "\nreturn (", outputs, ") } }"),
            *ops_),
        {});
  }
  // Returns the node types of the payload, or the error message.
  std::vector<std::string> NodeTypes(std::string_view inputs, std::string_view body,
                                     std::string_view outputs, size_t num_outputs = 1) {
    const auto result = Preprocess(inputs, body, outputs);
    if (!result.ok()) return {std::string(result.status().message())};
    const exir::ModuleData data(result->named_data);
    MemoryBudget memory("delegate_bytes", 1 << 20);
    const auto graph =
        ReadGraph(result->processed.bytes, data, 1, num_outputs, kLibrarySupport, memory);
    EXPECT_OK(graph.status());
    std::vector<std::string> types;
    if (!graph.ok()) return types;
    for (const Node& node : graph->nodes) types.emplace_back(NodeTypeName(node.type));
    return types;
  }

  std::unique_ptr<exir::OpRegistry> ops_;
};

TEST_F(XnnpackBackendTest, RejectsUnsupportedPrograms) {
  EXPECT_THAT(NodeTypes("%x: f32[3] user_input", "%y: f32[3] = edge.aten.erf.default(%x)",
                        "%y user_output"),
              ElementsAre(HasSubstr("operator aten.erf.default is not supported")));
  EXPECT_THAT(NodeTypes("%x: f32[3] user_input", "%y: f32[3] = edge.aten.add.Tensor(%b, %x)",
                        "%y buffer_mutation \"b\""),
              ElementsAre("%b is state that changes"));
  EXPECT_THAT(NodeTypes("%x: f32[3] user_input", "%y: f32[3] = edge.aten.abs.default(%x)",
                        "%y user_input_mutation \"x\""),
              ElementsAre(HasSubstr("output 0 is a user_input_mutation; only tensors that are "
                                    "returned are supported")));
  EXPECT_THAT(NodeTypes("%x: f32[3] user_input", "%y: f32[3] = edge.aten.abs.default(%x)",
                        "%y user_output, 3 user_output"),
              ElementsAre(HasSubstr("output 1 is a user_output")));
  const exir::CompileSpec spec{"target", "phone"};
  EXPECT_THAT(
      XnnpackBackend().Preprocess(exir::ParseOrDie("program edge { graph() { return () } }", *ops_),
                                  absl::MakeConstSpan(&spec, 1)),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("target=phone")));
}

TEST_F(XnnpackBackendTest, ReturnsCopiesOfInputsAndConstants) {
  EXPECT_THAT(NodeTypes("%x: f32[3] user_input", "", "%x user_output"), ElementsAre("Copy"));
  EXPECT_THAT(NodeTypes("%x: f32[3] user_input", "", "%w user_output"), ElementsAre("Copy"));
  EXPECT_THAT(NodeTypes("%x: f32[3] user_input",
                        "%y: f32[3] = edge.dim_order_ops._clone_dim_order.default(%w)\n"
                        "%z: f32[3] = edge.aten.mul.Tensor(%x, %y)",
                        "%z user_output"),
              ElementsAre("Multiply"));
}

TEST_F(XnnpackBackendTest, ConcatenatesUpToFiveInputs) {
  const std::string_view inputs = "%x: f32[3] user_input";
  EXPECT_THAT(
      NodeTypes(inputs, "%y: f32[12] = edge.aten.cat.default([%x,%w,%x,%w])", "%y user_output"),
      ElementsAre("Concatenate4"));
  EXPECT_THAT(
      NodeTypes(inputs, "%y: f32[15] = edge.aten.cat.default([%x,%w,%x,%w,%x])", "%y user_output"),
      ElementsAre("Concatenate5"));
}

// A constant that is used in both orders is stored twice.
TEST_F(XnnpackBackendTest, TransposesConstantsAtCompileTime) {
  EXPECT_THAT(
      NodeTypes("%x: f32[1,2,3,4] user_input",
                "%r: f32[1,2,3,4] = edge.aten.add.Tensor(%x, %i)\n"
                "%c: f32[1,2,3,4] = edge.aten.convolution.default(%r, %k, none, [1,1], [0,0], "
                "[1,1], false, [0,0], 1)\n"
                "%a: f32[1,2,3,4] = edge.aten.add.Tensor(%c, %i)",
                "%a user_output"),
      ElementsAre("Add", "StaticTranspose", "Conv2d", "Add", "StaticTranspose"));
}

TEST_F(XnnpackBackendTest, TransposesHaveTheHandleOfTheirUser) {
  ASSERT_OK_AND_ASSIGN(
      const exir::PreprocessResult result,
      Preprocess("%x: f32[1,2,3,4] user_input",
                 "%c: f32[1,2,3,4] = edge.aten.convolution.default(%x, %k, none, [1,1], [0,0], "
                 "[1,1], false, [0,0], 1) handle=7",
                 "%c user_output"));
  EXPECT_EQ(result.debug_handle_map, (exir::DebugHandleMap{{7, {7}}}));
  // Nodes without handles are not listed, nor is a step without a handle.
  ASSERT_OK_AND_ASSIGN(const exir::PreprocessResult merged,
                       Preprocess("%x: f32[2,5] user_input",
                                  "%h: f32[2,4] = edge.aten.mm.default(%x, %m) handle=7\n"
                                  "%y: f32[2,4] = edge.aten.relu.default(%h)",
                                  "%y user_output"));
  EXPECT_EQ(merged.debug_handle_map, (exir::DebugHandleMap{{7, {7}}}));
  ASSERT_OK_AND_ASSIGN(const exir::PreprocessResult unnamed,
                       Preprocess("%x: f32[2,5] user_input",
                                  "%h: f32[2,4] = edge.aten.mm.default(%x, %m)\n"
                                  "%y: f32[2,4] = edge.aten.relu.default(%h) handle=9",
                                  "%y user_output"));
  EXPECT_THAT(unnamed.debug_handle_map, IsEmpty());
}

TEST_F(XnnpackBackendTest, FusesBoundsOnlyWithoutOtherUsers) {
  const std::string_view inputs = "%x: f32[2,5] user_input";
  const std::string product = "%h: f32[2,4] = edge.aten.mm.default(%x, %m)\n";
  const std::string relu = "%y: f32[2,4] = edge.aten.relu.default(%h)";
  EXPECT_THAT(NodeTypes(inputs, product + relu, "%y user_output"), ElementsAre("FullyConnected"));
  EXPECT_THAT(NodeTypes(inputs, product + relu, "%y user_output, %h user_output", 2),
              ElementsAre("FullyConnected", "Clamp"));
  EXPECT_THAT(NodeTypes(inputs, product + relu + "\n%z: f32[2,4] = edge.aten.abs.default(%h)",
                        "%y user_output, %z user_output", 2),
              ElementsAre("FullyConnected", "Clamp", "Abs"));
  EXPECT_THAT(NodeTypes(inputs, "%y: f32[2,5] = edge.aten.relu.default(%x)", "%y user_output"),
              ElementsAre("Clamp"));
}

// The scale is 0.5 · 0.25. NaN becomes the minimum; large values saturate.
TEST_F(XnnpackBackendTest, QuantizesBiasesToInt32) {
  const std::string numbers = ", -128, 127, dtype:i8)\n";
  exir::ExportedProgram program = exir::ParseOrDie(
      "program edge { constants { state \"w\": i8[2,5] state \"b\": f32[5] }\n"
      "graph(%w: i8[2,5] parameter \"w\", %b: f32[5] parameter \"b\", %x: i8[3,2] user_input) {\n"
      "%p: f32[3,2] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 0" +
          numbers +
          "%v: f32[2,5] = edge.quantized_decomposed.dequantize_per_tensor.default(%w, 0.25, 0" +
          numbers +
          "%e: f32[3,5] = edge.aten.addmm.default(%b, %p, %v)\n"
          "%y: i8[3,5] = edge.quantized_decomposed.quantize_per_tensor.default(%e, 0.5, 0" +
          numbers + "return (%y user_output) } }",
      *ops_);
  const float biases[] = {1, -0.3f, std::numeric_limits<float>::quiet_NaN(), -1e30f, 1e30f};
  const auto* bytes = reinterpret_cast<const std::byte*>(biases);
  program.state_dict.at("b") =
      exir::ConstantTensor::Contiguous(DType::kFloat32, {5},
                                       exir::Storage::Own({bytes, bytes + sizeof(biases)}))
          .value();
  ASSERT_OK_AND_ASSIGN(const exir::PreprocessResult result,
                       XnnpackBackend().Preprocess(std::move(program), {}));
  const exir::ModuleData data(result.named_data);
  MemoryBudget memory("delegate_bytes", 1 << 20);
  ASSERT_OK_AND_ASSIGN(const Graph graph,
                       ReadGraph(result.processed.bytes, data, 1, 1, kLibrarySupport, memory));
  ASSERT_EQ(graph.nodes.size(), 1u);
  const Value& bias = *graph.input(graph.nodes[0], 2);
  EXPECT_EQ(bias.datatype, Datatype::QINT32);
  EXPECT_EQ(bias.scale, 0.125f);
  std::vector<int32_t> stored(5);
  std::memcpy(stored.data(), bias.constant.data(), 5 * sizeof(int32_t));
  EXPECT_THAT(stored, ElementsAre(8, -2, INT32_MIN, INT32_MIN, 2147483520));
}

TEST_F(XnnpackBackendTest, DelegatesNodesInControlFlowSubgraphs) {
  const exir::ExportedProgram program = exir::ParseOrDie(
      R"(program edge {
        constants { state "w": f32[4,3] }
        graph(%w: f32[4,3] parameter "w", %p: b8[] user_input, %x: f32[2,3] user_input) {
          %y: f32[2,4] = higher_order.cond(%p, graph#1, graph#2, [%x, %w])
          return (%y user_output)
        }
        graph then(%a: f32[2,3], %v: f32[4,3]) {
          %t: f32[3,4] = edge.aten.permute_copy.default(%v, [1,0])
          %b: f32[2,4] = edge.aten.mm.default(%a, %t)
          return (%b)
        }
        graph otherwise(%a: f32[2,3], %v: f32[4,3]) {
          %t: f32[3,4] = edge.aten.permute_copy.default(%v, [1,0])
          %b: f32[2,4] = edge.aten.mm.default(%a, %t)
          %c: f32[2,4] = edge.aten.acosh.default(%b)
          return (%c)
        }
      })",
      *ops_);
  ASSERT_OK_AND_ASSIGN(const exir::PartitionResult result,
                       CreateXnnpackPartitioner({})->Partition(program));
  std::vector<std::string> delegated;
  for (const auto& tagged : result.nodes) {
    delegated.push_back(absl::StrCat(tagged.graph.index(), " ",
                                     program.graphs[tagged.graph].node(tagged.node).name));
  }
  EXPECT_THAT(delegated, ElementsAre("1 t", "1 b", "2 t", "2 b"));
  // The weights of both subgraphs move into their delegates.
  EXPECT_EQ(result.inputs.size(), 2u);
}

}  // namespace
}  // namespace belay::xnnpack
