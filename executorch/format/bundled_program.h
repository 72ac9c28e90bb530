// The content of ExecuTorch's bundled programs (.bpte): a program and test cases for its methods.
#ifndef BELAY_EXECUTORCH_FORMAT_BUNDLED_PROGRAM_H_
#define BELAY_EXECUTORCH_FORMAT_BUNDLED_PROGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/core/evalue.h"

namespace belay::pte {

// Version of the format that is read and written.
inline constexpr uint32_t kBundledProgramVersion = 2;

// Values are tensors, ints, bools and floats. Tensors point to memory of another owner.
struct BundledCase {
  std::vector<EValue> inputs;
  std::vector<EValue> expected_outputs;
};
struct BundledMethod {
  std::string name;
  std::vector<BundledCase> cases;
};

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_FORMAT_BUNDLED_PROGRAM_H_
