// Highway targets of the CPU, detected once. hwy::SupportedTargets() executes CPUID at each call, which
// a hypervisor emulates: 40 µs per call on a virtual machine.
#ifndef BELAY_RUNTIME_KERNELS_SUPPORTED_TARGETS_H_
#define BELAY_RUNTIME_KERNELS_SUPPORTED_TARGETS_H_

#include <cstdint>

namespace belay {

// Returns hwy::SupportedTargets() as of the first call, or of the first one after
// ForgetSupportedTargets().
int64_t SupportedTargets();
// For UseInstructionSet (instruction_set.h), which changes the targets.
void ForgetSupportedTargets();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_SUPPORTED_TARGETS_H_
