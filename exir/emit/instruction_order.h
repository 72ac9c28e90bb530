// Schedules the instructions of a method.
#ifndef BELAY_EXIR_EMIT_INSTRUCTION_ORDER_H_
#define BELAY_EXIR_EMIT_INSTRUCTION_ORDER_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "exir/emit/storage_sharing.h"
#include "runtime/schema/program.pb.h"

namespace belay::exir {

// Returns the original order 0, 1, 2, ….
std::vector<uint32_t> OriginalOrder(const schema::Method& method);

// List scheduling that usually lowers the peak of live memory. Picks the ready instruction with the
// smallest (allocated - freed) bytes; ties go to the original order. Instructions stay between the
// jumps and jump targets that surround them. Data dependences (read/write, write/read, write/write)
// are preserved. Instructions with `effects` (by instruction) also keep their order, and those
// without results run as early as possible. O(n log n) in instructions and operands; deterministic.
std::vector<uint32_t> LowMemoryOrder(const schema::Method& method, const StorageSharing& sharing,
                                     const std::vector<bool>& effects);

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_INSTRUCTION_ORDER_H_
