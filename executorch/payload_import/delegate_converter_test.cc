#include "executorch/payload_import/delegate_converter.h"

#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/aot/cpu_backend.h"
#include "backends/xnnpack/testing/payload_builder.h"
#include "exir/ops/standard_ops.h"
#include "gtest/gtest.h"
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
}

}  // namespace
}  // namespace belay::pte
