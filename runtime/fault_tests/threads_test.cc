// Threads share programs and have their own methods; files are opened and replaced concurrently.
// Nothing is locked, so that --config=tsan would detect every shared write.
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/core/mapped_file.h"
#include "runtime/core/testing.h"
#include "runtime/executor/method.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/executor/testing/sample_program.h"
#include "runtime/executor/testing/test_kernels.h"

namespace belay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr DType kF32 = DType::kFloat32;
constexpr int kThreads = 8;

// Runs all threads concurrently.
void InThreads(const std::function<void(int thread)>& run) {
  std::atomic<int> waiting = kThreads;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      --waiting;
      while (waiting > 0) std::this_thread::yield();
      run(t);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Its delegates add the number stored as named data "bias".
class BiasBackend : public BackendRuntime {
 public:
  std::string_view id() const override { return "bias"; }
  absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(
      const DelegateInitContext& context, absl::Span<const std::byte> blob) const override {
    ABSL_ASSIGN_OR_RETURN(const absl::Span<const std::byte> bias, context.named_data->Find("bias"));
    inits_.fetch_add(1);
    return std::make_unique<Handle>(static_cast<float>(bias[0]) + static_cast<float>(blob[0]));
  }
  int inits() const { return inits_; }

 private:
  class Handle : public DelegateHandle {
   public:
    explicit Handle(float bias) : bias_(bias) {}
    absl::Status Execute(KernelContext& context) override {
      ABSL_ASSIGN_OR_RETURN(const TensorView* x, context.Tensor(0));
      ABSL_ASSIGN_OR_RETURN(TensorView * y, context.Output(0, x->sizes));
      for (int64_t i = 0; i < x->numel(); ++i) y->as<float>()[i] = x->as<const float>()[i] + bias_;
      return absl::OkStatus();
    }

   private:
    float bias_;
  };
  mutable std::atomic<int> inits_ = 0;
};

// Program k: a counter that grows by the constant k at each call; y = x + counter + bias + k,
// computed by a delegate. Also a method that fails, with the source line in its message.
std::string FileOf(int k) {
  TestProgram program;
  const uint32_t blob =
      program.AddSegment(schema::Segment::DELEGATE, std::string(1, static_cast<char>(k)));
  program.AddNamedData("bias", std::string(1, static_cast<char>(10 * k)));
  const uint32_t step = program.AddConstant<float>({static_cast<float>(k)});
  TestMethod failing = program.AddMethod("fails");
  failing.Call("test.fail.default", {}, {});
  TestMethod method = program.AddMethod("forward");
  const uint32_t x = method.Input("x", kF32, {1});
  const uint32_t counter = method.State("counter", kF32, {1});
  const uint32_t by = method.Constant(step, kF32, {1});
  const uint32_t sum = method.Arena(kF32, {1}), y = method.Arena(kF32, {1});
  method.Call("test.add_.Tensor", {counter, by}, {counter});
  method.Call("test.add.Tensor", {x, counter}, {sum});
  method.Delegate("bias", blob, {sum}, {y});
  method.Output(y);
  schema::DebugInfo debug;
  debug.add_methods()->add_instructions()->set_node("unlucky");
  program.AddDebugInfo(debug);
  return program.Serialize();
}

class ThreadsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(kernels_.Add(TestKernels()));
    ASSERT_OK(backends_.Add(&bias_));
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    path_ = ::testing::TempDir() + "/" + name + ".belay";
  }

  // Loads a method of program k and calls it three times.
  void Use(const Program& program, int k, float x) {
    ASSERT_OK_AND_ASSIGN(Method method, Method::Load(program, "forward", kernels_, backends_));
    EXPECT_EQ(method.instructions().size(), 3u);
    const TestTensor input = TestTensor::Of<float>({1}, {x});
    ASSERT_OK(method.SetInput(0, input.view()));
    for (int call = 1; call <= 3; ++call) {
      ASSERT_OK(method.Execute());
      EXPECT_THAT(ToVector<float>(*method.GetOutput(0).get_if<TensorView>()),
                  ElementsAre(x + static_cast<float>(call * k + 11 * k)));
    }
    method.ResetState();
    EXPECT_THAT(ToVector<float>(*method.GetState("counter")), ElementsAre(0));
    ASSERT_OK_AND_ASSIGN(const absl::Span<const std::byte> bias, program.FindNamedData("bias"));
    EXPECT_EQ(bias[0], static_cast<std::byte>(10 * k));
    EXPECT_THAT(program.FindMethod("none"), StatusIs(absl::StatusCode::kNotFound));
    ASSERT_OK_AND_ASSIGN(Method fails, Method::Load(program, "fails", kernels_, backends_));
    EXPECT_THAT(fails.Execute(),
                StatusIs(absl::StatusCode::kInternal, HasSubstr("from node 'unlucky'")));
  }

  KernelRegistry kernels_;
  BackendRegistry backends_;
  BiasBackend bias_;
  std::string path_;
};

TEST_F(ThreadsTest, ProgramsAreShared) {
  constexpr int kPrograms = 3, kRounds = 30;
  std::vector<Program> programs;
  for (int k = 0; k < kPrograms; ++k) {
    ASSERT_OK_AND_ASSIGN(Program program, OpenFileBytes(FileOf(k + 1)));
    programs.push_back(std::move(program));
  }
  InThreads([&](int thread) {
    for (int round = 0; round < kRounds; ++round) {
      const int k = (thread + round) % kPrograms;
      Use(programs[static_cast<size_t>(k)], k + 1, static_cast<float>(100 * thread + round));
    }
  });
  EXPECT_EQ(bias_.inits(), kThreads * kRounds);
}

TEST_F(ThreadsTest, OneFileIsOpenedConcurrently) {
  ASSERT_OK(WriteFileAtomically(path_, {FileOf(3)}));
  InThreads([&](int thread) {
    for (int round = 0; round < 20; ++round) {
      Program::Options options;
      options.access = (thread + round) % 2 == 0 ? FileAccess::kMap : FileAccess::kCopy;
      ASSERT_OK_AND_ASSIGN(const Program program, Program::Open(path_, options));
      Use(program, 3, 1);
    }
  });
}

TEST_F(ThreadsTest, FilesAreReplacedWhileInUse) {
  ASSERT_OK(WriteFileAtomically(path_, {FileOf(1)}));
  InThreads([&](int thread) {
    for (int round = 0; round < 20; ++round) {
      if (thread % 2 == 0) {
        ASSERT_OK(WriteFileAtomically(path_, {FileOf(1 + (thread + round) % 5)}));
        continue;
      }
      ASSERT_OK_AND_ASSIGN(const Program program, Program::Open(path_));
      ASSERT_OK_AND_ASSIGN(const absl::Span<const std::byte> bias, program.FindNamedData("bias"));
      Use(program, static_cast<int>(bias[0]) / 10, 1);
    }
  });
}

TEST_F(ThreadsTest, ProgramsOutliveTheThreadThatOpenedThem) {
  std::vector<std::unique_ptr<Program>> programs(kThreads);
  InThreads([&](int thread) {
    ASSERT_OK_AND_ASSIGN(Program program, OpenFileBytes(FileOf(thread + 1)));
    programs[static_cast<size_t>(thread)] = std::make_unique<Program>(std::move(program));
  });
  InThreads([&](int thread) {
    const int other = (thread + 1) % kThreads;
    Use(*programs[static_cast<size_t>(other)], other + 1, 5);
  });
}

// Each call has its own flag, deadline and count; stopping one does not stop another.
TEST_F(ThreadsTest, CallsAreStoppedIndividually) {
  TestProgram endless;
  endless.AddMethod("forward").Jump(0);
  Program::Options options;
  options.limits.executed_instructions = 0;
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(endless.Serialize(), options));
  std::atomic<bool> cancel[kThreads] = {};
  std::atomic<int> stopped = 0;
  std::thread canceller([&] {
    for (int t = 0; t < kThreads; ++t) {
      cancel[t] = true;
      while (stopped <= t) std::this_thread::yield();
      EXPECT_EQ(stopped, t + 1);
    }
  });
  InThreads([&](int thread) {
    ASSERT_OK_AND_ASSIGN(Method method, Method::Load(program, "forward", kernels_, backends_));
    EXPECT_THAT(method.Execute({.executed_instructions = 1000}),
                StatusIs(absl::StatusCode::kResourceExhausted));
    EXPECT_THAT(method.Execute({.cancel = &cancel[thread]}),
                StatusIs(absl::StatusCode::kCancelled));
    ++stopped;
  });
  canceller.join();
}

}  // namespace
}  // namespace belay
