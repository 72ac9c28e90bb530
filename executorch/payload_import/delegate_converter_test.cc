#include "executorch/payload_import/delegate_converter.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/aot/cpu_backend.h"
#include "backends/xnnpack/testing/payload_builder.h"
#include "exir/ops/standard_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/budget.h"
#include "runtime/core/bytes.h"
#include "runtime/core/test_named_data.h"
#include "runtime/core/testing.h"

namespace belay::pte {
namespace {

using xnnpack::Datatype;
using xnnpack::NodeType;

// y = |x|
std::string Payload(Datatype datatype) {
  xnnpack::PayloadBuilder payload;
  const uint32_t x = payload.Input(0, {2, 3}), y = payload.Output(1, {2, 3});
  payload.tensor(x).datatype = datatype;
  payload.Unary(NodeType::Abs, x, y);
  return payload.Serialize();
}

ForeignDelegate Delegate(std::string_view backend, std::string_view payload) {
  const DelegateTensor tensor{.sizes = {2, 3}, .dim_order = {0, 1}};
  return {.method = "forward",
          .backend_id = backend,
          .payload = AsBytes(payload),
          .arguments = {tensor},
          .outputs = {tensor}};
}

// The backend of the file executes the rest.
TEST(XnnpackConverterTest, KeepsOtherBackendsAndWhatCannotBeImported) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<exir::OpRegistry> ops, exir::CreateStandardOps());
  const cpu::CpuBackend backend;
  const std::string good = Payload(Datatype::FP32), unknown = Payload(Datatype::PFP32);
  const std::vector<ForeignDelegate> delegates = {
      Delegate("XnnpackBackend", unknown), Delegate("other", "bytes"),
      Delegate("XnnpackBackend", good), Delegate("XnnpackBackend", unknown)};
  const TestNamedData data;
  ASSERT_OK_AND_ASSIGN(const ConvertedDelegates converted,
                       XnnpackConverter(*ops, backend)(delegates, data, Limits(), 1 << 20));
  ASSERT_EQ(converted.delegates.size(), 4u);
  for (size_t i : {0, 1, 3}) EXPECT_FALSE(converted.delegates[i].has_value()) << i;
  ASSERT_TRUE(converted.delegates[2].has_value());
  EXPECT_EQ(converted.delegates[2]->backend_id, "cpu");
  EXPECT_FALSE(converted.delegates[2]->blob.empty());
  ASSERT_EQ(converted.notes.size(), 2u);
  EXPECT_THAT(converted.notes[0],
              ::testing::AllOf(::testing::StartsWith("method 'forward', delegate 0 stays with "
                                                     "XnnpackBackend: "),
                               ::testing::HasSubstr("PFP32")));
}

TEST(XnnpackConverterTest, StopsWithTheBudgetOfTheThread) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<exir::OpRegistry> ops, exir::CreateStandardOps());
  const cpu::CpuBackend backend;
  const std::string payload = Payload(Datatype::FP32);
  const ForeignDelegate delegate = Delegate("XnnpackBackend", payload);
  Budget budget;
  budget.deadline = std::chrono::steady_clock::now();
  const Budget::Scope scope(&budget);
  EXPECT_THAT(XnnpackConverter(*ops, backend)({&delegate, 1}, TestNamedData(), Limits(), 1 << 20),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
}

// y = (x A) B with matrices of 3 MiB.
TEST(XnnpackConverterTest, SmallConstantsShareABlock) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<exir::OpRegistry> ops, exir::CreateStandardOps());
  const cpu::CpuBackend backend;
  xnnpack::PayloadBuilder payload;
  const uint32_t x = payload.Input(0, {2, 768}), y = payload.Output(1, {2, 768});
  const uint32_t middle = payload.Tensor({2, 1024});
  const auto multiply = [&](uint32_t from, uint32_t to, std::vector<uint32_t> dims, float weight) {
    auto& node = payload.Add<xnnpack::fb::FullyConnectedT>(NodeType::FullyConnected);
    node.input1_id = from;
    node.filter_id = payload.Constant(std::move(dims), std::vector<float>(1024 * 768, weight));
    node.bias_id = xnnpack::kNoId;
    node.output_id = to;
  };
  multiply(x, middle, {1024, 768}, 2);
  multiply(middle, y, {768, 1024}, 3);
  const std::string bytes = payload.Serialize();
  ForeignDelegate delegate = Delegate("XnnpackBackend", bytes);
  delegate.arguments[0].sizes = delegate.outputs[0].sizes = {2, 768};
  const TestNamedData data;
  ASSERT_OK_AND_ASSIGN(
      const ConvertedDelegates converted,
      XnnpackConverter(*ops, backend)({&delegate, 1}, data, Limits(), bytes.size()));
  ASSERT_EQ(converted.named_data.size(), 2u);
  const NamedDataPlan &a = converted.named_data[0], &b = converted.named_data[1];
  EXPECT_EQ(a.bytes.size(), size_t{3} << 20);
  EXPECT_EQ(a.bytes.data() + a.bytes.size(), b.bytes.data());
  for (const NamedDataPlan& constant : converted.named_data) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(constant.bytes.data()) % constant.alignment, 0u);
    const auto* floats = reinterpret_cast<const float*>(constant.bytes.data());
    const float first = floats[0];
    EXPECT_TRUE(first == 2 || first == 3);
    for (size_t i = 0; i < 1024 * 768; ++i) ASSERT_EQ(floats[i], first);
  }
}

}  // namespace
}  // namespace belay::pte
