// A test fixture that loads methods with the test kernels and the fake backend.
#ifndef BELAY_RUNTIME_EXECUTOR_TESTING_METHOD_FIXTURE_H_
#define BELAY_RUNTIME_EXECUTOR_TESTING_METHOD_FIXTURE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/testing.h"
#include "runtime/executor/method.h"
#include "runtime/executor/testing/fake_backend.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/executor/testing/test_kernels.h"

namespace belay {

// Opens a program and loads "forward" with the test kernels and the fake backend.
class MethodTest : public ::testing::Test {
 protected:
  MethodTest() : forward_(program_.AddMethod("forward")) {
    EXPECT_OK(kernels_.Add(TestKernels()));
    EXPECT_OK(backends_.Add(&fake_));
  }

  absl::StatusOr<Method> LoadFile(const std::string& file, const Program::Options& options = {},
                                  size_t misalignment = 0) {
    ABSL_ASSIGN_OR_RETURN(Program opened, OpenFileBytes(file, options, misalignment));
    opened_.push_back(std::make_unique<Program>(std::move(opened)));
    return Method::Load(*opened_.back(), "forward", kernels_, backends_);
  }
  absl::StatusOr<Method> Load(const Program::Options& options = {}) {
    return LoadFile(program_.Serialize(), options);
  }

  static std::vector<float> Floats(const EValue& value) {
    const TensorView* view = value.get_if<TensorView>();
    EXPECT_NE(view, nullptr) << value.KindName();
    return view == nullptr ? std::vector<float>() : ToVector<float>(*view);
  }

  TestProgram program_;
  TestMethod forward_;
  KernelRegistry kernels_;
  FakeBackend fake_;
  BackendRegistry backends_;
  std::vector<std::unique_ptr<Program>> opened_;
};

// y = x1 + x2
class AddTest : public MethodTest {
 protected:
  void Build(const Sizes& sizes, const std::vector<TestConstraint>& constraints = {}) {
    uint32_t dynamic = 0;
    for (const TestConstraint& c : constraints) dynamic |= uint32_t{1} << c.dim;
    const uint32_t a = forward_.Input("a", DType::kFloat32, sizes, constraints);
    const uint32_t b = forward_.Input("b", DType::kFloat32, sizes, constraints);
    const uint32_t sum = forward_.Arena(DType::kFloat32, sizes, dynamic);
    forward_.Call("test.add.Tensor", {a, b}, {sum});
    forward_.Output(sum);
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_EXECUTOR_TESTING_METHOD_FIXTURE_H_
