// Why an instruction did not get a kernel that is preferred to its own.
#ifndef BELAY_TOOLS_PROFILE_DECLINED_H_
#define BELAY_TOOLS_PROFILE_DECLINED_H_

#include <string>

#include "runtime/executor/instruction_info.h"
#include "runtime/kernel/kernel.h"
#include "runtime/program/plan.h"

namespace belay::tools {

// For people, by asking the kernel itself about calls that differ in one thing: "takes f32, not f64",
// "takes 'self' only contiguous", "takes 'ord' = 1 or 2, not 3"; what it says of a call that it can't
// read. "does not take these arguments" when no one thing decides. Kernels are asked as at load, with
// all tensors at their largest sizes. Nothing of it happens unless somebody asks.
// Precondition: the kernel is one of `instruction`.declined, which is the one of `call` in `plan`.
std::string WhyDeclined(const Kernel& kernel, const MethodPlan& plan, const KernelCallPlan& call,
                        const InstructionInfo& instruction);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_PROFILE_DECLINED_H_
