// In which order instructions run.
#ifndef BELAY_EXIR_EMIT_INSTRUCTION_ORDER_H_
#define BELAY_EXIR_EMIT_INSTRUCTION_ORDER_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "exir/emit/storage_sharing.h"
#include "runtime/schema/program.pb.h"

namespace belay::exir {

// 0, 1, 2, …: as written.
std::vector<uint32_t> WrittenOrder(const schema::Method& method);

// An order in which less is alive at once, usually: of the instructions that could run, the one
// that needs least more memory than it frees runs first, the first written of equals. Instructions
// stay between the jumps and targets that they stand between; what one reads or writes and another
// writes keeps its order, and so do those with `effects` (by instruction), which come as early as
// they can. O(n log n) in instructions and operands; deterministic.
std::vector<uint32_t> FrugalOrder(const schema::Method& method, const StorageSharing& sharing,
                                  const std::vector<bool>& effects);

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_INSTRUCTION_ORDER_H_
