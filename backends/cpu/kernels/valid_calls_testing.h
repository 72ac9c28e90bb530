// The valid calls of calls.txt, for tests that change them.
#ifndef BELAY_BACKENDS_CPU_KERNELS_VALID_CALLS_TESTING_H_
#define BELAY_BACKENDS_CPU_KERNELS_VALID_CALLS_TESTING_H_

#include <string>
#include <string_view>
#include <vector>

#include "runtime/kernels/call_testing.h"

namespace belay::cpu {

// One call per operator.
const std::vector<TextCall>& AllCalls();
// The call of an operator of the backend: "linear".
TextCall ValidCall(std::string_view op);
// Parses a call of an operator of the backend.
TextCall ParseCall(std::string_view text);

// Runs the operator's only kernel, even if it does not accept the call.
CallOutcome RunKernel(const TextCall& call, CallFaults faults = {});
// As RunKernel. Returns "" or the message of the error. Allowed errors are kInvalidArgument, or
// kInternal without scratch memory, and they must leave the result untouched; all else fails the
// test.
std::string ErrorOf(const TextCall& call, const CallFaults& faults = {});
// Whether the kernel is selected when a program is loaded.
bool IsAccepted(const TextCall& call);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_KERNELS_VALID_CALLS_TESTING_H_
