// Delegates share the memory and time limits of their program, for any number and nesting of
// delegates.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/demo/demo_blob.h"
#include "backends/demo/executor_runtime.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/core/testing.h"
#include "runtime/executor/method.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay::demo {

std::vector<const BackendRuntime*> Runtimes();

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr DType kF32 = DType::kFloat32;
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

std::string Text(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A blob that applies relu `steps` times.
std::string DemoBlobText(int steps) {
  DemoProgram program;
  program.set_num_arguments(1);
  for (int i = 0; i < steps; ++i) {
    DemoInstruction* relu = program.add_instructions();
    relu->set_op(DEMO_OP_RELU);
    relu->add_operands(static_cast<uint32_t>(i));
  }
  program.add_outputs(static_cast<uint32_t>(steps));
  return Text(WriteDemoBlob(program, {}));
}

// A program with `count` consecutive calls of delegates with the same blob.
std::string FileOf(const std::string& backend, const std::string& blob, int count = 1) {
  TestProgram program;
  program.AddNamedData("c", std::string(1024 * sizeof(float), '\0'));
  const uint32_t segment = program.AddSegment(schema::Segment::DELEGATE, blob);
  TestMethod method = program.AddMethod("forward");
  uint32_t value = method.Input("x", kF32, {1024});
  for (int i = 0; i < count; ++i) {
    const uint32_t result = method.Arena(kF32, {1024});
    method.Delegate(backend, segment, {value}, {result});
    value = result;
  }
  method.Output(value);
  return program.Serialize();
}

std::string ReluProgram() {
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  const uint32_t x = method.Input("x", kF32, {1024});
  method.State("s", kF32, {1000});
  const uint32_t y = method.Arena(kF32, {1024});
  method.Call("aten.relu.default", {x}, {y});
  method.Output(y);
  return program.Serialize();
}

class DelegateBudgetTest : public ::testing::Test {
 protected:
  DelegateBudgetTest() {
    EXPECT_OK(AddStandardKernels(kernels_));
    for (const BackendRuntime* runtime : Runtimes()) EXPECT_OK(backends_.Add(runtime));
  }
  absl::Status Load(const std::string& file, uint64_t delegate_bytes) {
    Program::Options options;
    options.limits.delegate_bytes = delegate_bytes;
    ABSL_ASSIGN_OR_RETURN(const Program program, OpenFileBytes(file, options));
    return Method::Load(program, "forward", kernels_, backends_).status();
  }
  // Returns the smallest limit with which the file loads.
  uint64_t Needs(const std::string& file) {
    uint64_t refused = 0, accepted = uint64_t{1} << 30;
    EXPECT_OK(Load(file, accepted));
    while (accepted - refused > 1) {
      const uint64_t middle = (refused + accepted) / 2;
      const absl::Status status = Load(file, middle);
      if (!status.ok()) {
        EXPECT_THAT(status, StatusIs(kExhausted, HasSubstr("'delegate_bytes'")));
      }
      (status.ok() ? accepted : refused) = middle;
    }
    return accepted;
  }

  KernelRegistry kernels_;
  BackendRegistry backends_;
};

TEST_F(DelegateBudgetTest, DelegatesShareOneMemoryBudget) {
  struct Case {
    std::string backend, blob;
    uint64_t at_least;
  };
  constexpr uint64_t kTensor = 1024 * sizeof(float);
  const Case cases[] = {
      {"demo", DemoBlobText(5), 4 * kTensor},
      {"BackendWithCompilerDemo",
       "1version:0#op:demo::aten.sin.default, numel:1024, dtype:torch.float32<debug_handle>1#",
       2 * kTensor},
      {"BackendWithDelegateMappingDemo", "1#conv_relu_op,0,", 100},
      {"FirstBackendWithPreprocessAll",
       "FirstBackendWithPreprocessAll#2#CONSTc+aten.add.Tensor+aten.sin.default#", 3 * kTensor},
      // Includes the possible copy of x in the inner program, its state, its arena.
      {"ExecutorBackend", ReluProgram(), 3 * kTensor - 64},
      {"ExecutorBackend", FileOf("demo", DemoBlobText(5)), 4 * kTensor + 2 * kTensor},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(absl::StrCat(c.backend, " ", c.blob.size()));
    const uint64_t one = Needs(FileOf(c.backend, c.blob));
    EXPECT_GE(one, c.at_least);
    EXPECT_LT(one, c.at_least + 400'000);  // tables
    EXPECT_EQ(Needs(FileOf(c.backend, c.blob, 7)), 7 * one);
  }
}

// A thousand delegates, each within the limit that all share.
TEST_F(DelegateBudgetTest, ManyDelegatesFailBeforeAllocating) {
  TestProgram inner;
  TestMethod method = inner.AddMethod("forward");
  const uint32_t x = method.Input("x", kF32, {1024});
  const uint32_t y = method.Arena(kF32, {1024});
  method.Arena(kF32, {int64_t{1} << 24});
  method.Call("aten.relu.default", {x}, {y});
  method.Output(y);
  EXPECT_THAT(Load(FileOf("ExecutorBackend", inner.Serialize(), 1000), uint64_t{100} << 20),
              StatusIs(kExhausted, AllOf(HasSubstr("method 'forward', delegate 1 of backend"),
                                         HasSubstr("the arena of 67"),
                                         HasSubstr("exceeds the limit 'delegate_bytes' of"))));
}

// --- Time ---

std::atomic<bool> cancel_flag = false;

struct CancelCall {
  static absl::StatusOr<CancelCall> Read(const KernelArguments&) { return CancelCall(); }
};
absl::Status SetCancelFlag(KernelContext&, const CancelCall&) {
  cancel_flag = true;
  return absl::OkStatus();
}

class DelegateTimeTest : public ::testing::Test {
 protected:
  DelegateTimeTest() {
    static constexpr Kernel kKernels[] = {KernelRow<&SetCancelFlag>(
        "test.cancel.default", "-> 0", "Cancel", KernelEngine::kReference)};
    EXPECT_OK(kernels_.Add(kKernels));
    Limits limits = ExecutorRuntime::DefaultLimits();
    limits.executed_instructions = 0;
    inner_ = std::make_unique<ExecutorRuntime>(kernels_, none_, limits);
    EXPECT_OK(nested_.Add(inner_.get()));
    outer_ = std::make_unique<ExecutorRuntime>(kernels_, nested_, limits);
    EXPECT_OK(backends_.Add(outer_.get()));
  }
  absl::Status Run(const std::string& file, const ExecuteOptions& options,
                   const BackendRegistry& backends) {
    Program::Options open;
    open.limits.executed_instructions = 0;
    ABSL_ASSIGN_OR_RETURN(const Program program, OpenFileBytes(file, open));
    ABSL_ASSIGN_OR_RETURN(Method method, Method::Load(program, "forward", kernels_, backends));
    const TestTensor x = TestTensor::Zeros(kF32, {1024});
    ABSL_RETURN_IF_ERROR(method.SetInput(0, x.view()));
    return method.Execute(options);
  }
  absl::Status Run(const std::string& file, const ExecuteOptions& options) {
    return Run(file, options, backends_);
  }
  // An endless loop, two programs deep.
  static std::string EndlessFile() {
    TestProgram program;
    TestMethod method = program.AddMethod("forward");
    const uint32_t x = method.Input("x", kF32, {1024});
    method.Call("test.cancel.default", {}, {});
    method.Jump(1);
    method.Output(x);
    return FileOf("ExecutorBackend", FileOf("ExecutorBackend", program.Serialize()));
  }

  KernelRegistry kernels_;
  BackendRegistry none_, nested_, backends_;
  std::unique_ptr<ExecutorRuntime> inner_, outer_;
};

TEST_F(DelegateTimeTest, DeadlineAppliesInsideDelegates) {
  EXPECT_THAT(Run(EndlessFile(),
                  {.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(200)}),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("'deadline'")));
}

TEST_F(DelegateTimeTest, CancellationAppliesInsideDelegates) {
  cancel_flag = false;
  EXPECT_THAT(Run(EndlessFile(), {.cancel = &cancel_flag}),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("stopped after 3 instructions")));
}

TEST_F(DelegateTimeTest, InnerInstructionsCountForTheCall) {
  EXPECT_THAT(Run(EndlessFile(), {.executed_instructions = 5000}),
              StatusIs(kExhausted, HasSubstr("stopped after the 5000 instructions")));
  // A delegate call is one instruction, and each delegate executes one.
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  const uint32_t x = method.Input("x", kF32, {1024});
  method.Call("test.cancel.default", {}, {});
  method.Output(x);
  const std::string file = FileOf("ExecutorBackend", program.Serialize(), 4);
  EXPECT_OK(Run(file, {.executed_instructions = 8}));
  EXPECT_THAT(Run(file, {.executed_instructions = 7}),
              StatusIs(kExhausted, HasSubstr("method 'forward', instruction 3 (delegate 3")));
  EXPECT_THAT(Run(file, {.executed_instructions = 6}),
              StatusIs(kExhausted, HasSubstr("method 'forward', instruction 3 (delegate 3")));
}

TEST_F(DelegateTimeTest, InnerLimitApplies) {
  Limits limits = ExecutorRuntime::DefaultLimits();
  limits.executed_instructions = 100;
  const ExecutorRuntime limited(kernels_, nested_, limits);
  BackendRegistry backends;
  ASSERT_OK(backends.Add(&limited));
  EXPECT_THAT(Run(EndlessFile(), {}, backends),
              StatusIs(kExhausted, HasSubstr("'executed_instructions'")));
}

TEST_F(DelegateTimeTest, DelegateStepsCount) {
  BackendRegistry backends;
  for (const BackendRuntime* runtime : Runtimes()) ASSERT_OK(backends.Add(runtime));
  const std::string files[] = {
      FileOf("demo", DemoBlobText(6)),
      FileOf("FirstBackendWithPreprocessAll",
             "FirstBackendWithPreprocessAll#6#aten.sin.default+aten.sin.default+aten.sin.default+"
             "aten.sin.default+aten.sin.default+aten.sin.default#")};
  for (const std::string& file : files) {
    EXPECT_OK(Run(file, {.executed_instructions = 7}, backends));
    EXPECT_THAT(Run(file, {.executed_instructions = 6}, backends),
                StatusIs(kExhausted, HasSubstr("stopped after the 6 instructions")));
  }
}

}  // namespace
}  // namespace belay::demo
