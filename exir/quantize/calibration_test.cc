#include "exir/quantize/calibration.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exir/ops/standard_ops.h"
#include "exir/quantize/calibration_testing.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/core/thread_pool.h"
#include "runtime/kernels/reference/reference_kernels.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Adds its input to the buffer "n", which it returns.
constexpr char kCounter[] = R"(program edge {
  constants { state "n": f32[1] }
  graph(%n: f32[1] buffer "n", %x: f32[1] user_input) {
    %sum: f32[1] = edge.aten.add.Tensor(%n, %x)
    return (%sum buffer_mutation "n", %sum user_output) } })";

class CalibrationTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(AddReferenceKernels(kernels_)); }

  // The first output of each call.
  std::vector<float> Outputs(const ExportedProgram& program, CalibrationData& data) {
    std::vector<float> outputs;
    const auto keep = [&](int, absl::Span<const OwnedValue> values) {
      outputs.push_back(values[0].tensor()->as<float>()[0]);
      return absl::OkStatus();
    };
    EXPECT_OK(RunCalls(program, kernels_, data, {.outputs = keep}, nullptr));
    return outputs;
  }

  absl::StatusOr<std::unique_ptr<OpRegistry>> ops_ = CreateStandardOps();
  KernelRegistry kernels_;
};

TEST_F(CalibrationTest, StateContinuesFromCallToCallAndFromMethodToMethod) {
  const ExportedProgram first = ParseOrDie(kCounter, **ops_), second = first.Clone();
  TensorCalls one({1}, {{1}, {2}}), two({1}, {{10}, {20}}), none({1}, {{5}});
  CallProgress progress;
  size_t failed = 0;
  const CalibratedProgram methods[] = {{&first, &one}, {&second, nullptr}, {&second, &two}};
  ASSERT_OK(ShareState(methods, kernels_, &progress, failed));
  EXPECT_EQ(progress.done, 2);  // the last method is not executed
  EXPECT_THAT(Outputs(first, one), ElementsAre(1, 3));
  EXPECT_THAT(Outputs(second, two), ElementsAre(13, 33));
  EXPECT_THAT(Outputs(second, two), ElementsAre(13, 33));
  EXPECT_THAT(Outputs(first, none), ElementsAre(5));
}

TEST_F(CalibrationTest, OtherStateIsNotShared) {
  const ExportedProgram first = ParseOrDie(kCounter, **ops_);
  std::string other = kCounter;
  for (size_t at; (at = other.find("\"n\"")) != std::string::npos;) other.replace(at, 3, "\"m\"");
  const ExportedProgram second = ParseOrDie(other, **ops_);
  TensorCalls one({1}, {{1}}), two({1}, {{10}});
  size_t failed = 0;
  const CalibratedProgram methods[] = {{&first, &one}, {&second, &two}};
  CallProgress progress;
  ASSERT_OK(ShareState(methods, kernels_, &progress, failed));
  EXPECT_EQ(progress.done, 0);
  EXPECT_THAT(two.state, IsEmpty());
}

TEST_F(CalibrationTest, NamesTheMethodThatFails) {
  const ExportedProgram first = ParseOrDie(kCounter, **ops_), second = first.Clone();
  TensorCalls one({1}, {{1}}), wrong({2}, {{1, 2}}), last({1}, {{1}});
  size_t failed = 0;
  const CalibratedProgram methods[] = {{&first, &one}, {&second, &wrong}, {&first, &last}};
  EXPECT_FALSE(ShareState(methods, kernels_, nullptr, failed).ok());
  EXPECT_EQ(failed, 1);
}

TEST_F(CalibrationTest, ResultsDoNotDependOnThreads) {
  const ExportedProgram program = ParseOrDie(R"(program edge {
  constants { state "w": f32[64,64] }
  graph(%w: f32[64,64] parameter "w", %x: f32[64,64] user_input) {
    %y: f32[64,64] = edge.aten.mm.default(%x, %w)
    %z: f32[64,64] = edge.aten.exp.default(%y)
    return (%z user_output) } })",
                                             **ops_);
  KernelRegistry kernels;
  ASSERT_OK(AddStandardKernels(kernels));
  TensorCalls data({64, 64}, {PseudoRandom(4096, 1)});
  std::vector<std::vector<float>> results;
  ThreadPool pool(3);
  for (ThreadPool* threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
    data.threads = threads;
    const auto keep = [&](int, absl::Span<const OwnedValue> values) {
      const TensorView& y = *values[0].tensor();
      results.emplace_back(y.as<float>(), y.as<float>() + y.numel());
      return absl::OkStatus();
    };
    ASSERT_OK(RunCalls(program, kernels, data, {.outputs = keep}, nullptr));
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST_F(CalibrationTest, WeightsAreInMemoryOnlyWhileANodeReadsThem) {
  ExportedProgram program = ParseOrDie(R"(program edge {
  constants { state "w": f32[512,512] }
  graph(%w: f32[512,512] parameter "w", %x: f32[1,512] user_input) {
    %y: f32[1,512] = edge.aten.mm.default(%x, %w)
    %z: f32[1,512] = edge.aten.exp.default(%y)
    return (%z user_output) } })",
                                       **ops_);
  const std::optional<MappedTensor> weight = MappedTensor::Create({512, 512});
  if (!weight.has_value()) GTEST_SKIP() << "the system has no temporary files without a name";
  program.state_dict.at("w") = weight->tensor;
  constexpr size_t kBytes = 512 * 512 * sizeof(float);
  EXPECT_EQ(weight->ResidentBytes(), kBytes);
  TensorCalls data({1, 512}, {PseudoRandom(512, 1)});
  std::vector<size_t> resident;
  const auto measure = [&](ValueId, const TensorView&) {
    resident.push_back(weight->ResidentBytes());
  };
  ASSERT_OK(RunCalls(program, kernels_, data, {.tensor = measure}, nullptr));
  EXPECT_THAT(resident, ElementsAre(kBytes, kBytes, 0));  // x, y, z
}

}  // namespace
}  // namespace belay::exir
