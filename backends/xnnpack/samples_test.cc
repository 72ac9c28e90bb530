// Programs with delegates written by ExecuTorch 1.5.0 return the results of its runtime
// (executorch/reader/testdata/README.md).
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/xnnpack/xnnpack_runtime.h"
#include "executorch/reader/open_program.h"
#include "executorch/reader/prim_kernels.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/core/npy.h"
#include "runtime/core/testing.h"
#include "runtime/core/thread_pool.h"
#include "runtime/executor/method.h"
#include "runtime/io/npy_values.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::xnnpack {
namespace {

struct Sample {
  std::string name;
  double tolerance;  // absolute, and ten times as much relative
};

std::string Path(const std::string& name) {
  return absl::StrCat("executorch/reader/testdata/", name);
}

class SamplesTest : public ::testing::TestWithParam<Sample> {
 protected:
  void SetUp() override {
    ASSERT_OK(AddReferenceKernels(kernels_));
    ASSERT_OK(kernels_.Add(pte::PrimKernels()));
    ASSERT_OK(backends_.Add(&runtime_));
  }
  const XnnpackRuntime runtime_;
  KernelRegistry kernels_;
  BackendRegistry backends_;
};

TEST_P(SamplesTest, MatchesExecuTorch) {
  const std::string& name = GetParam().name;
  ASSERT_OK_AND_ASSIGN(const belay::Program program,
                       pte::OpenProgram(Path(absl::StrCat(name, ".pte")), {}));
  ASSERT_OK_AND_ASSIGN(Method method, Method::Load(program, "forward", kernels_, backends_));
  ASSERT_OK_AND_ASSIGN(const NpyArray input,
                       ReadNpyFile(Path(absl::StrCat(name, ".forward.in0.npy"))));
  ASSERT_OK_AND_ASSIGN(const EValue value, InputFromNpy(method.plan(), 0, input));
  ASSERT_OK_AND_ASSIGN(const NpyArray expected,
                       ReadNpyFile(Path(absl::StrCat(name, ".forward.out0.npy"))));
  const auto wanted = ToVector<float>(expected.view());
  std::vector<float> first;
  // Twice: the second call reuses all setup.
  for (int call = 0; call < 2; ++call) {
    ASSERT_OK(method.SetInput(0, value));
    ASSERT_OK(method.Execute());
    const auto got = ToVector<float>(*method.GetOutput(0).get_if<TensorView>());
    if (call == 0) first = got;
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_NEAR(got[i], wanted[i], GetParam().tolerance * (1 + 10 * std::abs(wanted[i]))) << i;
    }
  }
  for (int threads : {2, 3, 5}) {
    ThreadPool pool(threads);
    ASSERT_OK_AND_ASSIGN(Method threaded,
                         Method::Load(program, "forward", kernels_, backends_, {.threads = &pool}));
    ASSERT_OK(threaded.SetInput(0, value));
    ASSERT_OK(threaded.Execute());
    EXPECT_EQ(ToVector<float>(*threaded.GetOutput(0).get_if<TensorView>()), first)
        << threads << " threads";
  }
}

INSTANTIATE_TEST_SUITE_P(Testdata, SamplesTest,
                         ::testing::Values(Sample{"xnn_linear_relu", 1e-5},
                                           Sample{"xnn_convnet", 1e-5},
                                           // One step of its int8 result, which the two libraries
                                           // round differently.
                                           Sample{"xnn_convnet_q8", 1.85e-3}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace belay::xnnpack
