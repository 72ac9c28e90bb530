// Cost model of calls, computed from operand sizes, for limits on work (runtime/core/budget.h).
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_WORK_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_WORK_H_

#include <cstdint>

#include "runtime/kernel_interface/kernel.h"
#include "runtime/schema/operator_facts.h"

namespace belay {

// Cost in multiply-adds or operations of similar cost. Saturates.
//   WorkOfArguments: the part determined by arguments only, kMatmul included
//   WorkOfOutputs: the rest; outputs must have their sizes
uint64_t WorkOfArguments(const WorkRule& rule, const KernelContext& context);
uint64_t WorkOfOutputs(const WorkRule& rule, const KernelContext& context);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_WORK_H_
