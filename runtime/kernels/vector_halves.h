// How a CPU executes vectors of 64 bytes, where that decides which of two ways is quicker.
#ifndef BELAY_RUNTIME_KERNELS_VECTOR_HALVES_H_
#define BELAY_RUNTIME_KERNELS_VECTOR_HALVES_H_

namespace belay {

// Whether vectors of 64 bytes go through the CPU in halves: on AMD's Zen 4 (family 25). Zen 5 is of the
// same instruction set to Highway, and has whole ones in servers.
bool ExecutesVectorsInHalves();
// Makes kernels believe so or not: for tests, while no kernel runs. They give the same bits.
void SetExecutesVectorsInHalves(bool halves);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_VECTOR_HALVES_H_
