#include "executorch/reader/delegate_outputs.h"

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "executorch/format/xnnpack_payload.h"
#include "executorch/format/xnnpack_payload_generated.h"
#include "executorch/reader/testing/pte_builder.h"
#include "executorch/reader/testing/table_edits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::pte {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view kXnnpack = "XnnpackBackend";

// The tables of values with these flags; the last is quantized.
std::string Graph(const std::vector<uint32_t>& flags, const char* identifier = "XN01") {
  xnnpack::fb::GraphT graph;
  for (size_t i = 0; i < flags.size(); ++i) {
    xnnpack::fb::TensorValueT tensor;
    tensor.flags = flags[i];
    tensor.external_id = static_cast<uint32_t>(i);
    tensor.id_out = static_cast<uint32_t>(i);
    auto value = std::make_unique<xnnpack::fb::ValueT>();
    if (i + 1 < flags.size()) {
      value->value.Set(std::move(tensor));
    } else {
      xnnpack::fb::QuantizedTensorValueT quantized;
      quantized.tensor_value = std::make_unique<xnnpack::fb::TensorValueT>(std::move(tensor));
      value->value.Set(std::move(quantized));
    }
    graph.values.push_back(std::move(value));
  }
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(xnnpack::fb::Graph::Pack(builder, &graph), identifier);
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

absl::Span<const std::byte> BytesOf(std::string_view text) {
  return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size());
}

constexpr uint64_t kPlenty = 1 << 20;

std::optional<uint32_t> Outputs(std::string_view id, std::string_view payload) {
  MemoryBudget budget("metadata_bytes", kPlenty);
  const absl::StatusOr<std::optional<uint32_t>> outputs =
      DelegateOutputs(id, BytesOf(payload), budget);
  EXPECT_OK(outputs.status());
  return outputs.value_or(std::nullopt);
}

TEST(DelegateOutputsTest, CountsExternalOutputsOfXnnpackPayload) {
  const std::string graph = Graph({1, 2, 0, 1, 2, 3, 2});
  EXPECT_EQ(Outputs(kXnnpack, graph), 3u);
  EXPECT_EQ(Outputs(kXnnpack, xnnpack::JoinPayload(BytesOf(graph))), 3u);
  EXPECT_EQ(Outputs(kXnnpack, Graph({1, 1})), 0u);
}

TEST(DelegateOutputsTest, UnknownForOtherBackendsAndInvalidPayloads) {
  const std::string graph = Graph({1, 2});
  EXPECT_EQ(Outputs("demo", graph), std::nullopt);
  EXPECT_EQ(Outputs(kXnnpack, Graph({1, 2}, "XN00")), std::nullopt);
  EXPECT_EQ(Outputs(kXnnpack, ""), std::nullopt);
  EXPECT_EQ(Outputs(kXnnpack, "12345678"), std::nullopt);
  for (size_t length = 0; length < graph.size(); ++length) {
    Outputs(kXnnpack, graph.substr(0, length));  // must not read out of bounds
  }
  std::string cut = xnnpack::JoinPayload(BytesOf(graph));
  cut.resize(cut.size() / 2);
  EXPECT_EQ(Outputs(kXnnpack, cut), std::nullopt);
}

TEST(DelegateOutputsTest, ChargesTablesToBudget) {
  const std::string graph = Graph({1, 2});
  for (const uint64_t lacking : {0, 1}) {
    MemoryBudget budget("metadata_bytes", graph.size() - lacking);
    const absl::Status status = DelegateOutputs(kXnnpack, BytesOf(graph), budget).status();
    EXPECT_EQ(status.code(),
              lacking == 0 ? absl::StatusCode::kOk : absl::StatusCode::kResourceExhausted);
  }
}

TEST(DelegateOutputsTest, ToleratesMissingAndOtherValues) {
  xnnpack::fb::GraphT graph;
  graph.values.push_back(std::make_unique<xnnpack::fb::ValueT>());  // of no kind
  graph.values.push_back(std::make_unique<xnnpack::fb::ValueT>());
  graph.values[1]->value.Set(xnnpack::fb::QuantizedTensorValueT());  // without its tensor
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(xnnpack::fb::Graph::Pack(builder, &graph), "XN01");
  std::string file(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
  EXPECT_EQ(Outputs(kXnnpack, file), 0u);
  Remove(file, flatbuffers::GetRoot<xnnpack::fb::Graph>(file.data()),
         xnnpack::fb::Graph::VT_VALUES);
  EXPECT_EQ(Outputs(kXnnpack, file), std::nullopt);
}

// y = relu(x), and a delegate call of y and three unwritten tensors.
struct Calls : PteBuilder {
  Calls(std::string_view id, std::string_view blob) {
    Input(x);
    Call("aten::relu", "out", {x, y, y});
    Delegate(std::string(id), blob, {y, view, a, b});
    Output(b);
  }
  const int32_t x = Tensor({2, 3}), y = Tensor({2, 3}), view = Tensor({6}), a = Tensor({2, 3}),
                b = Tensor({2, 3});
};

struct Operands {
  std::vector<uint32_t> arguments, outputs;
};

Operands OperandsOf(const belay::Program& program) {
  const MethodPlan& method = program.methods()[0];
  const auto& call = std::get<DelegateCallPlan>(method.instructions[1]);
  const auto arguments = method.arguments_of(call.operands);
  const auto outputs = method.outputs_of(call.operands);
  return {{arguments.begin(), arguments.end()}, {outputs.begin(), outputs.end()}};
}

TEST(DelegateOutputsTest, OmittedViewIsArgument) {
  Calls pte(kXnnpack, Graph({1, 1, 2, 2}));
  *pte.tensor(pte.view).allocation_info = *pte.tensor(pte.y).allocation_info;
  ASSERT_OK_AND_ASSIGN(const belay::Program program, OpenPte(pte.Serialize()));
  const Operands operands = OperandsOf(program);
  EXPECT_THAT(operands.arguments, ElementsAre(pte.y, pte.view));
  EXPECT_THAT(operands.outputs, ElementsAre(pte.a, pte.b));
}

TEST(DelegateOutputsTest, UnwrittenTensorIsOutputOfOtherBackends) {
  const Calls pte("demo", "blob");
  ASSERT_OK_AND_ASSIGN(const belay::Program program, OpenPte(pte.Serialize()));
  const Operands operands = OperandsOf(program);
  EXPECT_THAT(operands.arguments, ElementsAre(pte.y));
  EXPECT_THAT(operands.outputs, ElementsAre(pte.view, pte.a, pte.b));
}

// Calls of one delegate have the same number of outputs, whatever was written between them.
TEST(DelegateOutputsTest, UsesFirstCall) {
  Calls pte("demo", "blob");
  const int32_t c = pte.Tensor({2, 3}), d = pte.Tensor({6}), e = pte.Tensor({2, 3}),
                f = pte.Tensor({2, 3});
  pte.Delegate("demo", "", {c, d, e, f});
  pte.instruction(2).instr_args.AsDelegateCall()->delegate_index = 0;
  pte.Output(f);
  ASSERT_OK_AND_ASSIGN(const belay::Program program, OpenPte(pte.Serialize()));
  const MethodPlan& method = program.methods()[0];
  const auto& call = std::get<DelegateCallPlan>(method.instructions[2]);
  EXPECT_THAT(method.arguments_of(call.operands), ElementsAre(c));
  EXPECT_THAT(method.outputs_of(call.operands), ElementsAre(d, e, f));
}

TEST(DelegateOutputsTest, RejectsTablesBeyondMemory) {
  const Calls pte(kXnnpack, Graph({1, 1, 2, 2}) + std::string(10'000, '\0'));
  belay::Program::Options options;
  EXPECT_OK(OpenPte(pte.Serialize(), options));
  options.limits.metadata_bytes = 8'000;
  EXPECT_THAT(OpenPte(pte.Serialize(), options),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       ::testing::HasSubstr("the tables of a delegate")));
}

TEST(DelegateOutputsTest, RejectsMoreOutputsThanArguments) {
  const Calls pte(kXnnpack, Graph({2, 2, 2, 2, 2}));
  ASSERT_OK_AND_ASSIGN(const belay::Program program, OpenPte(pte.Serialize()));
  EXPECT_THAT(OperandsOf(program).arguments, IsEmpty());
}

TEST(DelegateOutputsTest, RejectsConstantOutputs) {
  PteBuilder pte;
  const int32_t x = pte.Tensor({2}), w = pte.Constant({2}, {1, 2});
  pte.Input(x);
  pte.Delegate(std::string(kXnnpack), Graph({1, 2}), {x, w});
  pte.Output(w);
  EXPECT_THAT(OpenPte(pte.Serialize()), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace belay::pte
