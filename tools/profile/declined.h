// Explains why an instruction did not get a preferred kernel.
#ifndef BELAY_TOOLS_PROFILE_DECLINED_H_
#define BELAY_TOOLS_PROFILE_DECLINED_H_

#include <string>

#include "runtime/executor/instruction_info.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/program/plan.h"

namespace belay::tools {

// Returns a human-readable reason, found by querying the kernel about calls that differ in one
// property: "takes f32, not f64", "takes 'self' only contiguous", "takes 'ord' = 1 or 2, not 3". If
// the kernel reports that it cannot read a call, returns that error. Returns "does not take these
// arguments" if no single property decides. Kernels are queried as at load, with all tensors at
// their largest sizes; nothing is computed before this call. Precondition: the kernel is one of
// `instruction`.declined, and `call` is that instruction's call in `plan`.
std::string WhyDeclined(const Kernel& kernel, const MethodPlan& plan, const KernelCallPlan& call,
                        const InstructionInfo& instruction);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_PROFILE_DECLINED_H_
