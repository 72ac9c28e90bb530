#include "tools/belay/first_difference.h"

#include <memory>
#include <string>
#include <vector>

#include "backends/aot_backends.h"
#include "backends/runtime_backends.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel/kernel_arguments.h"
#include "runtime/kernels/standard_kernels.h"
#include "tools/belay/relu_call.h"

namespace belay::tools {
namespace {

using ::testing::HasSubstr;

// A relu that forgets the last element.
absl::Status WrongRelu(KernelContext& context, const ReluCall& call) {
  const TensorView* const in = call.self;
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, context.Output(0, in->sizes));
  for (int64_t i = 0; i < in->numel(); ++i) {
    out->as<float>()[i] = i + 1 < in->numel() ? std::max(in->as<float>()[i], 0.0f) : -1.0f;
  }
  return absl::OkStatus();
}
constexpr Kernel kWrong[] = {
    KernelRow<&WrongRelu>("aten.relu.default", "self", "WrongRelu", KernelEngine::kHighway),
};

constexpr std::string_view kProgram = R"(program edge {
    graph(%x: f32[3] user_input) {
      %s: f32[3] = edge.aten.sin.default(%x)
      %r: f32[3] = edge.aten.relu.default(%s) @"m.py":12
      %c: f32[3] = edge.aten.cos.default(%r)
      return (%c user_output)
    } })";

class FirstDifferenceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(ops_, exir::CreateStandardOps());
    ASSERT_OK(AddReferenceKernels(reference_));
    ASSERT_OK(AddStandardKernels(kernels_));
  }

  absl::StatusOr<std::optional<NodeDifference>> Find(std::string_view text) {
    const exir::ExportedProgram program = exir::ParseOrDie(text, *ops_);
    const LoweringSetup setup{.partitioners = {},
                              .aot = &AotBackends(),
                              .runtime = &RuntimeBackends(),
                              .kernels = &kernels_,
                              .reference = &reference_};
    return FindFirstDifference(program, {EValue(x_.view())}, setup, {.atol = 1e-5, .rtol = 1e-4});
  }

  std::unique_ptr<exir::OpRegistry> ops_;
  KernelRegistry reference_, kernels_;
  const TestTensor x_ = TestTensor::Of<float>({3}, {-1, 0.5, 1});
};

TEST_F(FirstDifferenceTest, NothingDiffers) {
  ASSERT_OK_AND_ASSIGN(const auto found, Find(kProgram));
  EXPECT_FALSE(found.has_value());
}

TEST_F(FirstDifferenceTest, NamesTheNodeWithItsSource) {
  ASSERT_OK(kernels_.Add(kWrong));
  ASSERT_OK_AND_ASSIGN(const auto found, Find(kProgram));
  ASSERT_TRUE(found.has_value());
  EXPECT_THAT(found->node, HasSubstr("%r: f32[3] = edge.aten.relu.default(%s) (m.py:12)"));
  EXPECT_EQ(found->backend, "");
  EXPECT_THAT(found->difference, HasSubstr("element 2: expected 0.84"));
  EXPECT_FALSE(found->alone);
}

}  // namespace
}  // namespace belay::tools
