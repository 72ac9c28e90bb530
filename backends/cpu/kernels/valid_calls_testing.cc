#include "backends/cpu/kernels/valid_calls_testing.h"

#include <cstdlib>

#include "backends/cpu/kernels/cpu_kernels.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::cpu {
namespace {

const KernelRegistry& Kernels() {
  static const KernelRegistry& kernels = *[] {
    auto* registry = new KernelRegistry;
    for (const auto& table : CpuKernelTables()) EXPECT_OK(registry->Add(table));
    return registry;
  }();
  return kernels;
}

}  // namespace

const std::vector<TextCall>& AllCalls() {
  static const std::vector<TextCall>& calls = *[] {
    auto* parsed = new std::vector<TextCall>;
    for (const std::string& line : LinesOf("backends/cpu/kernels/calls.txt")) {
      parsed->push_back(ParseCall(line));
    }
    return parsed;
  }();
  return calls;
}

TextCall ValidCall(std::string_view op) {
  const std::string name = absl::StrCat("belay_cpu.", op, ".default");
  for (const TextCall& call : AllCalls()) {
    if (call.op == name) return call;
  }
  ADD_FAILURE() << "no call of " << op;
  std::abort();
}

TextCall ParseCall(std::string_view text) { return TextCall::Parse(text, Kernels()); }

CallOutcome RunKernel(const TextCall& call, CallFaults faults) {
  faults.scratch_if_accepted = true;
  return RunCall(*Kernels().Candidates(call.op)[0], call, faults);
}

std::string ErrorOf(const TextCall& call, const CallFaults& faults) {
  const CallOutcome outcome = RunKernel(call, faults);
  if (outcome.status.ok()) return "";
  CallOutcome before, after;
  ValueMemory memory;
  before.outputs = {memory.Value(call.outputs[0])};
  after.outputs = outcome.outputs;
  EXPECT_EQ(after.ToString(), before.ToString()) << "written: " << outcome.status;
  EXPECT_EQ(outcome.status.code(),
            faults.no_scratch ? absl::StatusCode::kInternal : absl::StatusCode::kInvalidArgument)
      << outcome.status;
  return std::string(outcome.status.message());
}

bool IsAccepted(const TextCall& call) {
  return RunCall(Kernels(), call, {.plan_only = true}).status.ok();
}

}  // namespace belay::cpu
