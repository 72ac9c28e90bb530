// Shares programs of the zoo between threads, with all kernels and the demo backend. The results of
// each thread must be bitwise equal to single-threaded results.
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/aot_backends.h"
#include "backends/runtime_backends.h"
#include "exir/compare/call.h"
#include "exir/ops/standard_ops.h"
#include "exir/pipeline.h"
#include "runtime/core/testing.h"
#include "runtime/executor/method.h"
#include "runtime/io/npy_values.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay {
namespace {

constexpr const char* kModels[] = {"digits_cnn", "counter_buffer",    "while_loop",
                                   "conv_kinds", "dynamic_batch_mlp", "digits_cnn_int8"};

struct Lowered {
  std::unique_ptr<Program> program;
  std::vector<std::string> expected;  // the outputs of two calls
};

absl::Status LowerAndOpen(const std::string& model, Lowered& lowered) {
  ABSL_ASSIGN_OR_RETURN(const auto ops, exir::CreateStandardOps());
  ABSL_ASSIGN_OR_RETURN(const auto partitioner, CreatePartitioner("demo", {}));
  exir::PipelineOptions options;
  options.backends = &AotBackends();
  options.partitioners.all = {partitioner.get()};
  ABSL_ASSIGN_OR_RETURN(
      const exir::ProgramImage image,
      exir::LowerFiles({{"forward", absl::StrCat("conformance/models/zoo/", model, "/model.pt2")}},
                       *ops, options));
  ABSL_ASSIGN_OR_RETURN(Program program, exir::OpenImage(image));
  lowered.program = std::make_unique<Program>(std::move(program));
  return absl::OkStatus();
}

// Returns the outputs of two consecutive calls on the same state, as the bytes of .npy files.
absl::StatusOr<std::vector<std::string>> Compute(const Program& program,
                                                 const KernelRegistry& kernels) {
  ABSL_ASSIGN_OR_RETURN(Method method,
                        Method::Load(program, "forward", kernels, RuntimeBackends()));
  std::vector<std::string> results;
  for (uint64_t seed : {1, 2}) {
    std::vector<NpyArray> arrays(method.num_inputs());
    for (size_t i = 0; i < method.num_inputs(); ++i) {
      EValue value = ConstantInput(method.plan(), i);
      if (InputTakesArray(method.plan(), i)) {
        ABSL_ASSIGN_OR_RETURN(arrays[i], RandomInput(method.plan(), i, seed, /*dynamic_size=*/2));
        ABSL_ASSIGN_OR_RETURN(value, InputFromNpy(method.plan(), i, arrays[i]));
      }
      ABSL_RETURN_IF_ERROR(method.SetInput(i, value));
    }
    ABSL_RETURN_IF_ERROR(method.Execute());
    for (size_t i = 0; i < method.num_outputs(); ++i) {
      ABSL_ASSIGN_OR_RETURN(std::string bytes, NpyBytesOf(method.GetOutput(i)));
      results.push_back(std::move(bytes));
    }
  }
  return results;
}

TEST(ZooThreadsTest, ProgramsAreShared) {
  constexpr int kThreads = 6, kRounds = 6;
  KernelRegistry kernels;
  ASSERT_OK(AddStandardKernels(kernels));
  std::vector<Lowered> programs(std::size(kModels));
  for (size_t k = 0; k < programs.size(); ++k) {
    SCOPED_TRACE(kModels[k]);
    ASSERT_OK(LowerAndOpen(kModels[k], programs[k]));
    ASSERT_OK_AND_ASSIGN(programs[k].expected, Compute(*programs[k].program, kernels));
  }
  std::atomic<int> waiting = kThreads;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      --waiting;
      while (waiting > 0) std::this_thread::yield();
      for (int round = 0; round < kRounds; ++round) {
        // Two threads share each program per round; over all rounds, each thread runs every
        // program.
        const size_t k = static_cast<size_t>(t / 2 + round) % programs.size();
        const auto results = Compute(*programs[k].program, kernels);
        ASSERT_OK(results);
        EXPECT_EQ(*results, programs[k].expected) << kModels[k];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace belay
