#include <cstring>
#include <string>
#include <vector>

#include "exir/backend/to_backend.h"
#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "npu_backend.h"
#include "npu_blob.h"
#include "npu_runtime.h"
#include "runtime/core/memory_budget.h"
#include "runtime/core/testing.h"

namespace npu {
namespace {

using ::belay::IsOk;
using ::belay::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

belay::exir::ExportedProgram Parse(std::string_view text) {
  static const auto& ops = *belay::exir::CreateStandardOps()->release();
  return belay::exir::ParseOrDie(text, ops);
}

constexpr std::string_view kProgram = R"(program edge {
  graph(%x: f32[2] user_input, %y: f32[1] user_input) {
    %a: f32[2] = edge.aten.add.Tensor(%x, %x)
    %b: f32[2] = edge.aten.relu.default(%a)
    %c: f32[2] = edge.aten.mul.Tensor(%b, %y)
    %d: f32[2] = edge.aten.add.Tensor(%a, %b, alpha=2)
    return (%b user_output, %c user_output, %d user_output)
  }
})";

TEST(NpuPartitionerTest, SelectsSupportedNodesWithReasons) {
  ASSERT_OK_AND_ASSIGN(const auto result, CreateNpuPartitioner()->Partition(Parse(kProgram)));
  EXPECT_EQ(result.nodes.size(), 2);
  EXPECT_EQ(result.delegation.size(), 1);
  std::vector<std::string> reasons;
  for (const auto& rejection : result.rejections) reasons.push_back(rejection.reason);
  EXPECT_THAT(reasons, ElementsAre("operand 1 is not a contiguous f32 of the result's size",
                                   "alpha is not 1"));
}

TEST(NpuBackendTest, CompilesWithSeveralResults) {
  const NpuBackend backend;
  belay::exir::BackendSet backends;
  ASSERT_THAT(backends.Add(&backend), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto lowered,
                       belay::exir::ToBackend(Parse(kProgram), *CreateNpuPartitioner(), backends));
  ASSERT_EQ(lowered.lowered_modules.size(), 1);
  const auto blob = lowered.lowered_modules[belay::exir::ModuleId(0)]->processed.bytes;
  BlobHeader header;
  ASSERT_GE(blob.size(), sizeof(header));
  std::memcpy(&header, blob.data(), sizeof(header));
  EXPECT_EQ(header.arguments, 1);
  EXPECT_EQ(header.instructions, 2);
  EXPECT_EQ(header.outputs, 2);
}

TEST(NpuBackendTest, RejectsUnsupportedNodes) {
  EXPECT_THAT(NpuBackend().Preprocess(Parse(kProgram), {}),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("%c: f32[2]")));
  const std::vector<belay::exir::CompileSpec> specs = {{"fast", "1"}};
  EXPECT_THAT(NpuBackend().Preprocess(Parse(kProgram), specs),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'fast'")));
}

class NoData final : public belay::NamedDataMap {
 public:
  absl::StatusOr<absl::Span<const std::byte>> Find(std::string_view) const override {
    return absl::NotFoundError("none");
  }
};

// One argument and one output of two elements.
absl::Status Init(const std::vector<uint32_t>& words, size_t size) {
  const belay::EValue tensor = belay::TensorView::Contiguous(belay::DType::kFloat32, {2}, nullptr);
  const belay::EValue* values[] = {&tensor};
  const NoData data;
  belay::MemoryBudget memory("delegate_bytes", uint64_t{1} << 30);
  const belay::DelegateInitContext context{.method = "forward",
                                           .compile_specs = {},
                                           .named_data = &data,
                                           .arguments = values,
                                           .outputs = values,
                                           .memory = &memory};
  return NpuRuntime()
      .Init(context, {reinterpret_cast<const std::byte*>(words.data()), size})
      .status();
}
absl::Status Init(const std::vector<uint32_t>& words) { return Init(words, words.size() * 4); }

TEST(NpuRuntimeTest, RejectsMalformedBlobs) {
  const std::vector<uint32_t> good = {kMagic, 1, 1, 1, 3, 0, 0, 1};
  EXPECT_THAT(Init(good), IsOk());
  for (size_t size = 0; size < 4 * good.size(); ++size) {
    EXPECT_THAT(Init(good, size), StatusIs(absl::StatusCode::kDataLoss)) << size;
  }
  const auto changed = [&](size_t word, uint32_t value) {
    std::vector<uint32_t> words = good;
    words[word] = value;
    return Init(words);
  };
  EXPECT_THAT(changed(0, 1), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(changed(1, 2), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(changed(2, UINT32_MAX), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(changed(3, UINT32_MAX), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(changed(4, 9), StatusIs(absl::StatusCode::kUnimplemented));
  EXPECT_THAT(changed(5, 1), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(changed(6, 7), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(changed(7, 2), StatusIs(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace npu
