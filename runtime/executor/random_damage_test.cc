// Files with flipped bytes are rejected, or run and fail, or run and succeed, without memory
// errors.
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "google/protobuf/stubs/logging.h"
#include "runtime/core/testing.h"
#include "runtime/executor/method.h"
#include "runtime/executor/testing/fake_backend.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/executor/testing/sample_program.h"
#include "runtime/executor/testing/test_kernels.h"

namespace belay {
namespace {

// A value for the input: planned dtype, maximum sizes.
EValue InputFor(const MethodPlan& plan, size_t i, std::vector<TestTensor>& tensors) {
  const ValuePlan& value = plan.values[plan.inputs[i].value];
  if (const auto* tensor = std::get_if<TensorPlan>(&value)) {
    if (tensor->max_bytes > 1 << 20) return EValue();
    tensors.push_back(TestTensor::Zeros(tensor->dtype, tensor->sizes,
                                        DenseStrides(tensor->sizes, tensor->dim_order)));
    return tensors.back().view();
  }
  if (const auto* kind = std::get_if<ScalarKind>(&value)) {
    if (*kind == ScalarKind::kInt) return int64_t{2};
    if (*kind == ScalarKind::kDouble) return 0.5;
    return true;
  }
  return EValue();
}

TEST(RandomDamageTest, IsSurvived) {
  TestProgram sample = SampleProgram();
  std::string valid = sample.Serialize();
  valid.replace(valid.rfind("blob"), 4, "add1");
  std::mt19937_64 random(TestSeed());
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  const google::protobuf::LogSilencer quiet;  // it logs strings that are not UTF-8

  KernelRegistry kernels;
  ASSERT_OK(kernels.Add(TestKernels()));
  const FakeBackend fake;
  BackendRegistry backends;
  ASSERT_OK(backends.Add(&fake));
  Program::Options options;
  options.limits.arena_bytes = 1 << 20;
  options.limits.scratch_bytes = 1 << 20;
  options.limits.delegate_bytes = 1 << 20;
  options.limits.executed_instructions = 1000;

  int opened = 0, loaded = 0, executed = 0;
  const size_t metadata = static_cast<uint8_t>(valid[16]) + 256 * static_cast<uint8_t>(valid[17]);
  for (int i = 0; i < 20000; ++i) {
    std::string file = valid;
    for (size_t flips = 1 + below(3); flips > 0; --flips) {
      file[kHeaderBytes + below(metadata)] = static_cast<char>(below(2) ? random() : below(24));
    }
    FixHeader(file);
    const absl::StatusOr<Program> program = OpenFileBytes(file, options);
    if (!program.ok()) continue;
    ++opened;
    for (const MethodPlan& plan : program->methods()) {
      absl::StatusOr<Method> method = Method::Load(*program, plan.name, kernels, backends);
      if (!method.ok()) continue;
      ++loaded;
      std::vector<TestTensor> tensors;
      tensors.reserve(plan.inputs.size());
      for (size_t k = 0; k < plan.inputs.size(); ++k) {
        method->SetInput(k, InputFor(plan, k, tensors)).IgnoreError();
      }
      for (int k = 0; k < 2; ++k) executed += method->Execute().ok();
      for (size_t k = 0; k < method->num_outputs(); ++k) method->GetOutput(k).KindName();
    }
  }
  std::printf("%d programs, %d methods, %d calls\n", opened, loaded, executed);
  EXPECT_GT(executed, 0);
}

}  // namespace
}  // namespace belay
