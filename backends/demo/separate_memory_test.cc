// Delegates on a device with its own memory. Source: docs/lowering.md row 10.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/demo/separate_memory_backend.h"
#include "backends/demo/separate_memory_runtime.h"
#include "exir/backend/partitioners/capability_partitioner.h"
#include "exir/backend/to_backend.h"
#include "exir/compare/call.h"
#include "exir/emit/emitter.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ops/standard_ops.h"
#include "exir/pipeline.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/core/testing.h"
#include "runtime/executor/method.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay::demo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A delegate whose results are used by another one, the host and the caller; dynamic sizes.
constexpr std::string_view kProgram = R"(program edge {
  ranges { s0: [1, 8] }
  graph(%x: f32[s0,3] user_input, %y: f32[s0,3] user_input) {
    %a: f32[s0,3] = edge.aten.mul.Tensor(%x, %y)
    %b: f32[s0,3] = edge.aten.add.Tensor(%a, %x)
    %c: f32[s0,3] = edge.aten.neg.default(%a)
    %d: f32[s0,3] = edge.aten.mul.Tensor(%b, %c)
    %e: f32[s0,3] = edge.aten.sub.Tensor(%d, %b)
    return (%e user_output, %a user_output)
  }
})";

class SeparateMemoryTest : public ::testing::Test {
 protected:
  SeparateMemoryTest() {
    ops_ = exir::CreateStandardOps().value();
    EXPECT_OK(AddStandardKernels(kernels_));
    EXPECT_OK(kernels_.Add(SeparateMemoryKernels()));
    EXPECT_OK(aot_.Add(&backend_));
    EXPECT_OK(runtimes_.Add(&runtime_));
  }

  exir::ExportedProgram Parse() { return exir::ParseOrDie(kProgram, *ops_); }

  static exir::CapabilityPartitioner PartitionerFor(std::string device) {
    return exir::CapabilityPartitioner(
        {"SeparateMemoryDemo", {{"target_device", std::move(device)}}},
        exir::SupportOps({"aten.mul.Tensor", "aten.add.Tensor", "aten.sub.Tensor"}));
  }

  // Calls the program with 1, 8 and 3 rows and compares with the interpreter.
  absl::Status RunCalls(const exir::ProgramImage& image) {
    ABSL_ASSIGN_OR_RETURN(const Program file, exir::OpenImage(image));
    ABSL_ASSIGN_OR_RETURN(Method method, Method::Load(file, "forward", kernels_, runtimes_));
    const exir::ExportedProgram program = Parse();
    ABSL_ASSIGN_OR_RETURN(exir::Interpreter interpreter,
                          exir::Interpreter::Create(program, kernels_));
    for (int rows : {1, 8, 3}) {
      std::vector<float> x, y;
      for (int i = 0; i < 3 * rows; ++i) {
        x.push_back(0.5f * static_cast<float>(i));
        y.push_back(static_cast<float>(rows - i));
      }
      const TestTensor a = TestTensor::Of<float>({rows, 3}, x),
                       b = TestTensor::Of<float>({rows, 3}, y);
      const std::vector<EValue> inputs = {EValue(a.view()), EValue(b.view())};
      const exir::CallOutcome got = exir::RunCall(method, inputs);
      ABSL_RETURN_IF_ERROR(got.status);
      EXPECT_EQ(
          exir::FirstDifference({exir::RunCall(interpreter, inputs)}, {got}, exir::Closeness()),
          "");
    }
    return absl::OkStatus();
  }

  const SeparateMemoryBackend backend_;
  const SeparateMemoryRuntime runtime_;
  std::unique_ptr<exir::OpRegistry> ops_;
  exir::BackendSet aot_;
  KernelRegistry kernels_;
  BackendRegistry runtimes_;
};

TEST_F(SeparateMemoryTest, DelegatesRunOnDeviceCopies) {
  const exir::CapabilityPartitioner partitioner = PartitionerFor("DEMO:1");
  exir::PipelineOptions options;
  options.backends = &aot_;
  options.partitioners.all = {&partitioner};
  exir::MethodPrograms methods;
  methods.emplace_back("forward", Parse());
  ASSERT_OK_AND_ASSIGN(const exir::ProgramImage image,
                       exir::LowerPrograms(std::move(methods), options));
  EXPECT_OK(RunCalls(image));
}

TEST_F(SeparateMemoryTest, RejectsHostTensorsWithoutCopies) {
  ASSERT_OK_AND_ASSIGN(exir::ExportedProgram lowered,
                       exir::ToBackend(Parse(), PartitionerFor("demo"), aot_));
  exir::MethodPrograms methods;
  methods.emplace_back("forward", std::move(lowered));
  ASSERT_OK_AND_ASSIGN(const exir::ProgramImage image, exir::EmitProgram(methods));
  EXPECT_THAT(RunCalls(image),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("SeparateMemoryDemo"), HasSubstr("argument 0"),
                             HasSubstr("is in the host's memory, not on the device"))));
}

// Places results at their planned address, or fails.
class PlannedPlaces final : public OutputAllocator {
 public:
  explicit PlannedPlaces(bool are_there) : are_there_(are_there) {}
  absl::Status Resize(TensorView& tensor, absl::Span<const int64_t> sizes) override {
    if (!are_there_) return absl::ResourceExhaustedError("no memory for the result");
    tensor.sizes = Sizes(sizes);
    return absl::OkStatus();
  }

 private:
  const bool are_there_;
};

// Copies one tensor to the memory of another.
absl::Status Copied(std::string_view op, const TensorView& from, const TensorView& to,
                    bool has_memory = true) {
  PlannedPlaces places(has_memory);
  EValue self(from), out(to);
  EValue *const arguments[] = {&self}, *const outputs[] = {&out};
  for (const Kernel& kernel : SeparateMemoryKernels()) {
    if (kernel.op != op) continue;
    KernelContext context(arguments, outputs, &places, {});
    return kernel.Run(context);
  }
  return absl::NotFoundError(std::string(op));
}

// The caller's tensors are on the device before and after the call.
TEST_F(SeparateMemoryTest, MethodBordersWithoutCopies) {
  const exir::CapabilityPartitioner partitioner = PartitionerFor("demo");
  exir::PipelineOptions options;
  options.backends = &aot_;
  options.partitioners.all = {&partitioner};
  options.method_device_copies["forward"] = {.skip_method_inputs = true,
                                             .skip_method_outputs = true};
  exir::MethodPrograms methods;
  methods.emplace_back("forward", exir::ParseOrDie(R"(program edge {
    graph(%x: f32[2] user_input, %y: f32[2] user_input) {
      %a: f32[2] = edge.aten.mul.Tensor(%x, %y)
      return (%a user_output)
    }
  })",
                                                   *ops_));
  ASSERT_OK_AND_ASSIGN(const exir::ProgramImage image,
                       exir::LowerPrograms(std::move(methods), options));
  ASSERT_OK_AND_ASSIGN(const Program file, exir::OpenImage(image));
  ASSERT_OK_AND_ASSIGN(Method method, Method::Load(file, "forward", kernels_, runtimes_));
  const TestTensor x = TestTensor::Of<float>({2}, {1, 2}), y = TestTensor::Of<float>({2}, {3, 4});
  // Tensors of the host are rejected.
  EXPECT_THAT(exir::RunCall(method, {EValue(x.view()), EValue(y.view())}).status,
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("is in the host's memory, not on the device")));
  TestTensor there_x = TestTensor::Zeros(DType::kFloat32, {2}),
             there_y = TestTensor::Zeros(DType::kFloat32, {2}),
             back = TestTensor::Zeros(DType::kFloat32, {2});
  ASSERT_OK(Copied("et_copy._h2d_copy.default", x.view(), there_x.view()));
  ASSERT_OK(Copied("et_copy._h2d_copy.default", y.view(), there_y.view()));
  ASSERT_OK(method.SetInput(0, EValue(there_x.view())));
  ASSERT_OK(method.SetInput(1, EValue(there_y.view())));
  ASSERT_OK(method.Execute());
  ASSERT_OK(
      Copied("et_copy._d2h_copy.default", *method.GetOutput(0).get_if<TensorView>(), back.view()));
  EXPECT_EQ(ToVector<float>(back.view()), (std::vector<float>{3, 8}));
  options.method_device_copies["backward"] = {};
  methods.clear();
  methods.emplace_back("forward", Parse());
  EXPECT_THAT(exir::LowerPrograms(std::move(methods), options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("options of device copies are given for the method 'backward'")));
}

TEST_F(SeparateMemoryTest, DeviceMemoryHoldsCopiedData) {
  constexpr std::string_view kToDevice = "et_copy._h2d_copy.default";
  constexpr std::string_view kToHost = "et_copy._d2h_copy.default";
  const auto hosts = StatusIs(absl::StatusCode::kFailedPrecondition,
                              HasSubstr("is in the host's memory, not on the device"));
  const TestTensor x = TestTensor::Of<float>({2}, {1, 2});
  TestTensor place = TestTensor::Zeros(DType::kFloat32, {4}),
             back = TestTensor::Zeros(DType::kFloat32, {4});
  const auto part = [](const TestTensor& tensor, int64_t size) {
    TensorView view = tensor.view();
    view.sizes = Sizes{size};
    return view;
  };
  EXPECT_THAT(Copied(kToHost, part(place, 2), part(back, 2)), hosts);
  ASSERT_OK(Copied(kToDevice, x.view(), part(place, 2)));
  EXPECT_OK(Copied(kToHost, part(place, 2), part(back, 2)));
  EXPECT_EQ(ToVector<float>(part(back, 2)), (std::vector<float>{1, 2}));
  const auto no_memory =
      StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("no memory for the result"));
  EXPECT_THAT(Copied(kToHost, part(place, 2), part(back, 2), /*has_memory=*/false), no_memory);
  EXPECT_THAT(Copied(kToDevice, x.view(), part(back, 2), /*has_memory=*/false), no_memory);
  // More than was copied, and memory that the host has overwritten.
  EXPECT_THAT(Copied(kToHost, part(place, 4), part(back, 4)), hosts);
  place.view().as<float>()[0] = 5;
  EXPECT_THAT(Copied(kToHost, part(place, 2), part(back, 2)), hosts);
  // Empty copies are allowed; copies beyond the device memory fail.
  EXPECT_OK(Copied(kToDevice, part(x, 0), part(place, 0)));
  EXPECT_THAT(
      Copied(kToDevice, part(x, 1 << 25), part(place, 1 << 25)),
      StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("memory of the demo device")));
}

TEST_F(SeparateMemoryTest, RejectsOtherDevices) {
  EXPECT_THAT(exir::ToBackend(Parse(), PartitionerFor("cuda:2"), aot_).status(),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("SeparateMemoryDemo does not support the device cuda:2")));
}

}  // namespace
}  // namespace belay::demo
