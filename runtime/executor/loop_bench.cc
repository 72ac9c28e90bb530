// What an instruction costs beside its kernel, without a log of events and with one
// (docs/profiling.md §7).
//
//   tools/bazel run --config=opt //runtime/executor:loop_bench
//
// On AMD EPYC at the first commit that has it, built with assertions, CPU time
// of one instruction: 9 ns unlogged, 39 ns logged; of the clock: 25 ns.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "absl/types/span.h"
#include "runtime/executor/method.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/kernel/kernel_arguments.h"
#include "runtime/trace/event_log.h"

namespace belay {
namespace {

constexpr int kInstructions = 1000;

struct NothingCall {
  static absl::StatusOr<NothingCall> Read(const KernelArguments& arguments) {
    ABSL_RETURN_IF_ERROR(arguments.Tensor("self", DTypeSet{DType::kFloat32}).status());
    return NothingCall();
  }
};
absl::Status Nothing(KernelContext&, const NothingCall&) { return absl::OkStatus(); }

constexpr Kernel kKernels[] = {
    KernelRow<&Nothing>("bench.nothing.default", "self", "Nothing", KernelEngine::kReference)};

// A chain of calls of a kernel that does nothing.
void Chain(benchmark::State& state, bool logged) {
  TestProgram program;
  TestMethod forward = program.AddMethod("forward");
  uint32_t last = forward.Input("x", DType::kFloat32, {1});
  for (int i = 0; i < kInstructions; ++i) {
    const uint32_t next = forward.Arena(DType::kFloat32, {1});
    forward.Call("bench.nothing.default", {last}, {next});
    last = next;
  }
  forward.Output(last);
  const absl::StatusOr<Program> opened = OpenFileBytes(program.Serialize());
  ABSL_CHECK(opened.ok());
  KernelRegistry kernels;
  ABSL_CHECK(kernels.Add(kKernels).ok());
  const BackendRegistry backends;
  absl::StatusOr<std::unique_ptr<EventLog>> log = EventLog::Create(2 * kInstructions);
  ABSL_CHECK(log.ok());
  absl::StatusOr<Method> method = Method::Load(*opened, "forward", kernels, backends,
                                               {.events = {.log = logged ? log->get() : nullptr}});
  ABSL_CHECK(method.ok());
  float x = 1;
  ABSL_CHECK(method->SetInput(0, TensorView::Contiguous(DType::kFloat32, {1}, &x)).ok());
  for (auto _ : state) {
    (*log)->Clear();
    ABSL_CHECK(method->Execute().ok());
  }
  state.SetItemsProcessed(state.iterations() * kInstructions);
}
BENCHMARK_CAPTURE(Chain, unlogged, false);
BENCHMARK_CAPTURE(Chain, logged, true);

// The clock alone, which each event reads once.
void Clock(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(EventLog::Now());
}
BENCHMARK(Clock);

}  // namespace
}  // namespace belay

BENCHMARK_MAIN();
