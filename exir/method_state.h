// Buffers that methods of one program share by name, such as the caches of prefill and decode.
#ifndef BELAY_EXIR_METHOD_STATE_H_
#define BELAY_EXIR_METHOD_STATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "exir/backend/to_backend.h"

namespace belay::exir {

// A buffer that at least one method writes to.
struct StateReport {
  std::string name, type;  // type: "f32[1,4,512,64]"
  uint64_t bytes = 0;
  std::vector<std::string> methods;  // those that have it, in program order
};

// Returns the state of the methods, by name.
std::vector<StateReport> StateOf(const MethodPrograms& methods);

// Finds methods that read a cache which another method fills under another name: a method reads a
// buffer of rank 2 or more that no method writes, and another method writes a buffer of the same
// dtype, sizes and initial content. Neither method has the buffer of the other. A method that
// writes its own state is accepted: it may be independent on purpose.
//
//   kInvalidArgument  lists all pairs with both buffers, and the remedy
absl::Status CheckSharedState(const MethodPrograms& methods);

// Returns a line for each method that writes state and whose first result seems to be logits of all
// tokens: floating point [1, n, v] with v >= 1024, for an input of integers [1, n] with n dynamic or
// above 1. Callers of language models use the last row only.
std::vector<std::string> NotesOnLogits(const MethodPrograms& methods);

}  // namespace belay::exir

#endif  // BELAY_EXIR_METHOD_STATE_H_
