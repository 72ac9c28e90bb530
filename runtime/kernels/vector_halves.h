// Execution width of 64-byte vectors, for kernels that select between two implementations by speed.
#ifndef BELAY_RUNTIME_KERNELS_VECTOR_HALVES_H_
#define BELAY_RUNTIME_KERNELS_VECTOR_HALVES_H_

namespace belay {

// Returns whether the CPU executes 64-byte vectors in two halves: AMD's Zen 4 (family 25). Zen 5
// has the same Highway target, but full-width execution in servers.
bool ExecutesVectorsInHalves();
// Test-only override. Must not be called while a kernel runs. Both implementations give the same
// bits.
void SetExecutesVectorsInHalves(bool halves);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_VECTOR_HALVES_H_
