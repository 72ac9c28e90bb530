// Programs written by ExecuTorch with XNNPACK delegates reproduce the outputs of its runtime when
// the CPU backend executes them (testdata/README.md).
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/cpu_backend.h"
#include "backends/runtime_backends.h"
#include "executorch/payload_import/delegate_converter.h"
#include "executorch/reader/open_program.h"
#include "executorch/reader/prim_kernels.h"
#include "exir/ops/standard_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/npy.h"
#include "runtime/core/testing.h"
#include "runtime/executor/method.h"
#include "runtime/io/npy_values.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay::pte {
namespace {

// An element differs by at most `absolute` + `relative` * |expected|.
struct Sample {
  std::string name;
  int calls = 1;
  double absolute = 1e-5, relative = 1e-4;
  std::string folder = "executorch/payload_import/testdata/";
  bool numbered = true;  // files have the number of the call
};

class SamplesTest : public ::testing::TestWithParam<Sample> {
 protected:
  SamplesTest() {
    auto ops = exir::CreateStandardOps();
    EXPECT_OK(ops.status());
    ops_ = *std::move(ops);
    EXPECT_OK(AddStandardKernels(kernels_));
    EXPECT_OK(kernels_.Add(PrimKernels()));
  }
  absl::StatusOr<belay::Program> Open(const std::string& path) const {
    OpenOptions options;
    options.convert_delegates = XnnpackConverter(*ops_, backend_);
    return OpenProgram(path, options);
  }

  std::unique_ptr<exir::OpRegistry> ops_;
  cpu::CpuBackend backend_;
  KernelRegistry kernels_;
};

std::vector<double> Numbers(const TensorView& tensor) {
  std::vector<double> numbers;
  if (tensor.dtype == DType::kFloat32) {
    for (const float x : ToVector<float>(tensor)) numbers.push_back(x);
  } else {
    EXPECT_EQ(tensor.dtype, DType::kFloat16);
    for (const float x : ToVector<Half>(tensor)) numbers.push_back(x);
  }
  return numbers;
}

TEST_P(SamplesTest, MatchesExecuTorchOutputs) {
  const Sample& sample = GetParam();
  ASSERT_OK_AND_ASSIGN(const belay::Program program,
                       Open(absl::StrCat(sample.folder, sample.name, ".pte")));
  for (const DelegatePlan& delegate : program.methods()[0].delegates) {
    EXPECT_EQ(delegate.backend_id, cpu::kBackendId);
  }
  ASSERT_OK_AND_ASSIGN(Method method,
                       Method::Load(program, "forward", kernels_, RuntimeBackends()));
  for (int call = 0; call < sample.calls; ++call) {
    const std::string stem = absl::StrCat(sample.folder, sample.name, ".forward",
                                          sample.numbered ? absl::StrCat(".call", call) : "");
    std::vector<NpyArray> inputs(method.num_inputs());
    for (size_t i = 0; i < inputs.size(); ++i) {
      ASSERT_OK_AND_ASSIGN(inputs[i], ReadNpyFile(absl::StrCat(stem, ".in", i, ".npy")));
      ASSERT_OK_AND_ASSIGN(const EValue value, InputFromNpy(method.plan(), i, inputs[i]));
      ASSERT_OK(method.SetInput(i, value));
    }
    ASSERT_OK(method.Execute());
    for (size_t i = 0; i < method.num_outputs(); ++i) {
      ASSERT_OK_AND_ASSIGN(const NpyArray array,
                           ReadNpyFile(absl::StrCat(stem, ".out", i, ".npy")));
      const TensorView& tensor = *method.GetOutput(i).get_if<TensorView>();
      ASSERT_EQ(tensor.sizes, array.sizes);
      ASSERT_EQ(tensor.dtype, array.dtype);
      const std::vector<double> actual = Numbers(tensor), expected = Numbers(array.view());
      for (size_t k = 0; k < expected.size(); ++k) {
        EXPECT_NEAR(actual[k], expected[k],
                    sample.absolute + sample.relative * std::abs(expected[k]))
            << "call " << call << ", output " << i << "[" << k << "]";
      }
    }
  }
}

// A step of a quantized activation is about 1/64 of its largest element here.
INSTANTIATE_TEST_SUITE_P(
    Testdata, SamplesTest,
    ::testing::Values(Sample{"xnn_pointwise", 2}, Sample{"xnn_images"}, Sample{"xnn_attention"},
                      Sample{"xnn_half", 1, 2e-3, 2e-3}, Sample{"xnn_rows", 2},
                      Sample{"xnn_dynamic_int8", 1, 1e-3}, Sample{"xnn_int4_groups", 1, 1e-3},
                      Sample{"xnn_int4_channels", 1, 1e-3}, Sample{"xnn_int4_rows", 2, 1e-3},
                      Sample{"xnn_static_int8", 1, 1e-2}, Sample{"belay_static_int8", 1, 0, 0},
                      Sample{"xnn_convnet", 1, 1e-5, 1e-4, "executorch/reader/testdata/", false},
                      Sample{"xnn_convnet_q8", 1, 1e-2, 0, "executorch/reader/testdata/", false},
                      Sample{"xnn_linear_relu", 1, 1e-5, 1e-4, "executorch/reader/testdata/",
                             false}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace belay::pte
