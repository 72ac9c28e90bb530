// Generates archives from a fuzzer's bytes.
#ifndef BELAY_FUZZ_GENERATORS_CONTAINER_GENERATOR_H_
#define BELAY_FUZZ_GENERATORS_CONTAINER_GENERATOR_H_

#include <string>

#include "fuzz/generators/byte_source.h"

namespace belay::fuzz {

// Returns a zip file with entries of a `.pt2` archive, and others. Most of the time, its headers
// and contents are valid.
std::string GenerateContainer(ByteSource& source);

// Returns a torch.save file with `pickle` as `data.pkl`, and storages "0" to "2" of 64, 24 and 0
// bytes.
std::string TorchSaveFile(std::string pickle);

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_GENERATORS_CONTAINER_GENERATOR_H_
