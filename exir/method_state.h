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
  std::vector<std::string> methods;  // that have the buffer, in program order
};

// Returns the state of the methods, by name.
std::vector<StateReport> StateOf(const MethodPrograms& methods);

// Rejects methods that read a cache if another method writes that cache under another name. Such a
// pair is a buffer of rank 2 or more that no method writes, and a written buffer of another method
// with the same dtype, sizes and initial content. Neither method has the buffer of the other. A
// method that writes its own state is accepted: it may be independent on purpose.
//
//   kInvalidArgument  lists the pairs, at most 4, and the remedy
absl::Status CheckSharedState(const MethodPrograms& methods);

// Returns a line for each method that writes state and seems to return logits of all tokens, of
// which generation uses the last row only. Such a method has an input of integers [1, n], with n
// dynamic or above 1. Its first result is floating point [1, n, v] with v >= 1024.
std::vector<std::string> NotesOnLogits(const MethodPrograms& methods);

}  // namespace belay::exir

#endif  // BELAY_EXIR_METHOD_STATE_H_
