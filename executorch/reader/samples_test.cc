// Programs written by ExecuTorch 1.5.0 reproduce the outputs of its runtime (testdata/README.md).
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executorch/reader/open_program.h"
#include "executorch/reader/prim_kernels.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/core/npy.h"
#include "runtime/core/testing.h"
#include "runtime/executor/method.h"
#include "runtime/io/npy_values.h"
#include "runtime/kernels/reference/reference_kernels.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay::pte {
namespace {

using ::testing::HasSubstr;

struct Sample {
  std::string file, method;
  int calls = 1;
};

std::string Path(const std::string& name) {
  return absl::StrCat("executorch/reader/testdata/", name);
}

KernelRegistry Kernels(bool reference = true) {
  KernelRegistry kernels;
  EXPECT_OK(reference ? AddReferenceKernels(kernels) : AddStandardKernels(kernels));
  EXPECT_OK(kernels.Add(PrimKernels()));
  return kernels;
}

class SamplesTest : public ::testing::TestWithParam<Sample> {
 protected:
  void ExpectMatches(const KernelRegistry& kernels);
};

void ExpectClose(const EValue& got, const NpyArray& expected, const std::string& what) {
  const TensorView* tensor = got.get_if<TensorView>();
  ASSERT_NE(tensor, nullptr) << what;
  ASSERT_EQ(tensor->dtype, expected.dtype) << what;
  ASSERT_EQ(tensor->sizes, expected.sizes) << what;
  if (expected.dtype == DType::kFloat32) {
    const auto actual = ToVector<float>(*tensor), wanted = ToVector<float>(expected.view());
    for (size_t k = 0; k < wanted.size(); ++k) {
      EXPECT_NEAR(actual[k], wanted[k], 1e-5 + 1e-4 * std::abs(wanted[k]))
          << what << "[" << k << "]";
    }
  } else {
    ASSERT_EQ(expected.dtype, DType::kInt64) << what;
    EXPECT_EQ(ToVector<int64_t>(*tensor), ToVector<int64_t>(expected.view())) << what;
  }
}

void SamplesTest::ExpectMatches(const KernelRegistry& kernels) {
  const Sample& sample = GetParam();
  const BackendRegistry backends;
  ASSERT_OK_AND_ASSIGN(const belay::Program program, OpenProgram(Path(sample.file + ".pte"), {}));
  ASSERT_OK_AND_ASSIGN(Method method, Method::Load(program, sample.method, kernels, backends));
  for (int call = 0; call < sample.calls; ++call) {
    std::string stem = absl::StrCat(sample.file, ".", sample.method);
    if (sample.calls > 1) absl::StrAppend(&stem, ".call", call);
    std::vector<NpyArray> inputs(method.num_inputs());
    for (size_t i = 0; i < inputs.size(); ++i) {
      ASSERT_OK_AND_ASSIGN(inputs[i], ReadNpyFile(Path(absl::StrCat(stem, ".in", i, ".npy"))));
      ASSERT_OK_AND_ASSIGN(const EValue value, InputFromNpy(method.plan(), i, inputs[i]));
      ASSERT_OK(method.SetInput(i, value));
    }
    ASSERT_OK(method.Execute());
    for (size_t i = 0; i < method.num_outputs(); ++i) {
      const std::string name = absl::StrCat(stem, ".out", i, ".npy");
      ASSERT_OK_AND_ASSIGN(const NpyArray expected, ReadNpyFile(Path(name)));
      ExpectClose(method.GetOutput(i), expected, name);
    }
  }
}

TEST_P(SamplesTest, MatchesExecuTorchOutputs) { ExpectMatches(Kernels()); }

TEST_P(SamplesTest, FastKernelsMatchExecuTorchOutputs) {
  ExpectMatches(Kernels(/*reference=*/false));
}

INSTANTIATE_TEST_SUITE_P(
    Testdata, SamplesTest,
    ::testing::Values(Sample{"add", "forward"}, Sample{"cat_unplanned_io", "forward"},
                      Sample{"cond", "forward", 2}, Sample{"cond_nested", "forward", 4},
                      Sample{"dynamic_batch", "forward", 2}, Sample{"item", "forward"},
                      Sample{"llama_decoder", "forward", 4},
                      Sample{"llama_quantized", "forward", 4}, Sample{"llama_sdpa", "forward", 3},
                      Sample{"map", "forward", 2}, Sample{"mlp", "forward"},
                      Sample{"mutable_buffer", "forward", 2}, Sample{"two_methods", "add"},
                      Sample{"two_methods", "mlp"}, Sample{"views", "forward"}),
    [](const auto& info) { return info.param.file + "_" + info.param.method; });

TEST(SamplesTest, ConstantsStayInTheFile) {
  ASSERT_OK_AND_ASSIGN(const belay::Program program, OpenProgram(Path("mlp.pte"), {}));
  size_t constants = 0;
  for (const ValuePlan& value : program.methods()[0].values) {
    const auto* tensor = std::get_if<TensorPlan>(&value);
    if (tensor == nullptr || tensor->location != TensorPlan::Location::kConstant) continue;
    ++constants;
    EXPECT_GE(tensor->constant.data(), program.bytes().data());
    EXPECT_LE(tensor->constant.data() + tensor->constant.size(),
              program.bytes().data() + program.bytes().size());
  }
  EXPECT_EQ(constants, 4u);
}

TEST(SamplesTest, LoadNamesMissingBackend) {
  ASSERT_OK_AND_ASSIGN(const belay::Program program, OpenProgram(Path("xnn_linear_relu.pte"), {}));
  ASSERT_EQ(program.methods()[0].delegates.size(), 1u);
  EXPECT_EQ(program.methods()[0].delegates[0].backend_id, "XnnpackBackend");
  EXPECT_FALSE(program.methods()[0].delegates[0].blob.empty());
  EXPECT_EQ(program.named_data().size(), 2u);
  EXPECT_THAT(Method::Load(program, "forward", Kernels(), BackendRegistry()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("XnnpackBackend")));
}

}  // namespace
}  // namespace belay::pte
