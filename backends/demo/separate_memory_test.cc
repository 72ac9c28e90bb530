// Delegates on a device whose memory the host does not see. Source: docs/lowering.md row 10.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/demo/separate_memory_backend.h"
#include "backends/demo/separate_memory_runtime.h"
#include "exir/backend/partitioners/capability_partitioner.h"
#include "exir/backend/to_backend.h"
#include "exir/emit/emitter.h"
#include "exir/engine/call.h"
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

// A delegate whose results another one, the host and the caller use; sizes that change.
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

  // Calls the program with 1, 8 and 3 rows; the results are the interpreter's.
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
      EXPECT_EQ(exir::FirstDifference({exir::RunCall(interpreter, inputs)}, {got}, {}), "");
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

TEST_F(SeparateMemoryTest, DelegatesRunOnCopies) {
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

TEST_F(SeparateMemoryTest, WithoutCopiesTheRuntimeFailsOnTheHostsMemory) {
  ASSERT_OK_AND_ASSIGN(exir::ExportedProgram lowered,
                       exir::ToBackend(Parse(), PartitionerFor("demo"), aot_));
  exir::MethodPrograms methods;
  methods.emplace_back("forward", std::move(lowered));
  ASSERT_OK_AND_ASSIGN(const exir::ProgramImage image, exir::EmitProgram(methods));
  EXPECT_THAT(RunCalls(image),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("SeparateMemoryDemo"), HasSubstr("argument 0"),
                             HasSubstr("lies in the host's memory, not on the device"))));
}

TEST_F(SeparateMemoryTest, OtherDevicesAreNotDeclared) {
  EXPECT_THAT(exir::ToBackend(Parse(), PartitionerFor("cuda:2"), aot_).status(),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("SeparateMemoryDemo does not support the device cuda:2")));
}

}  // namespace
}  // namespace belay::demo
