// The model that PyTorch exported with the operator lowers, and matches PyTorch's output.
#include <string>

#include "conformance/models/manifest.h"
#include "conformance/models/model_runner.h"
#include "exir/ops/standard_ops.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/standard_kernels.h"
#include "scaled_swish_kernel.h"
#include "scaled_swish_op.h"

namespace custom_operator {
namespace {

constexpr char kModel[] = "conformance/models/zoo/custom_operator";

class ScaledSwishTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(ops_, belay::exir::CreateStandardOps());
    ASSERT_OK(belay::AddStandardKernels(kernels_));
  }
  absl::Status Run(const std::string& archive) {
    const auto manifest = belay::conformance::ReadManifest(std::string(kModel) + "/manifest.json");
    if (!manifest.ok()) return manifest.status();
    const belay::conformance::Engine engine = {
        .ops = ops_.get(), .kernels = &kernels_, .backends = &backends_, .pipeline = {}};
    return belay::conformance::RunModel(kModel, *manifest, archive, engine);
  }
  std::unique_ptr<belay::exir::OpRegistry> ops_;
  belay::KernelRegistry kernels_;
  belay::BackendRegistry backends_;
};

TEST_F(ScaledSwishTest, RunsModelWithOperator) {
  ASSERT_OK(DefineScaledSwish(*ops_));
  ASSERT_OK(kernels_.Add(ScaledSwishKernels()));
  EXPECT_OK(Run("model.pt2"));
  EXPECT_OK(Run("training.pt2"));
}

TEST_F(ScaledSwishTest, LoweringFailsWithoutOperator) {
  EXPECT_THAT(Run("model.pt2"),
              belay::StatusIs(absl::StatusCode::kUnimplemented,
                              ::testing::HasSubstr("unknown operator zoo.scaled_swish.default")));
}

TEST_F(ScaledSwishTest, LoadingFailsWithoutKernel) {
  ASSERT_OK(DefineScaledSwish(*ops_));
  EXPECT_THAT(Run("model.pt2"),
              belay::StatusIs(absl::StatusCode::kNotFound,
                              ::testing::HasSubstr("'zoo.scaled_swish.default'")));
}

}  // namespace
}  // namespace custom_operator
