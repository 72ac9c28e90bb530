// Archives made of a fuzzer's bytes.
#ifndef BELAY_FUZZ_GENERATORS_CONTAINER_GENERATOR_H_
#define BELAY_FUZZ_GENERATORS_CONTAINER_GENERATOR_H_

#include <string>

#include "fuzz/generators/byte_source.h"

namespace belay::fuzz {

// A zip file with entries that a `.pt2` archive has, and others. Its headers tell the truth most of
// the time, and so does what is in it.
std::string GenerateContainer(ByteSource& source);

// A file of torch.save whose `data.pkl` is this, with storages "0" to "2" of 64, 24 and 0 bytes.
std::string TorchSaveFile(std::string pickle);

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_GENERATORS_CONTAINER_GENERATOR_H_
