// Assigns a method's tensors to Belay's memory: inputs in the caller's memory, one arena, and
// persistent state. ExecuTorch has one arena for all of them (docs/pte-format.md §5, §6).
//
//   planned tensors        keep their offsets in their pools; the pools are concatenated to one
//                          arena
//   planned inputs         use the caller's memory. If an instruction writes to them, or reads them
//                          through another tensor, they are first copied to their arena offset
//   tensors that only      become state, with their initial content or zeros. If they overlap other
//   in-place operators     tensors, they stay in the arena, whose content persists as well
//   write to
//   views                  alias their base in the arena; a view of a constant is a constant
//   others without memory  are placed after the pools
#ifndef BELAY_EXECUTORCH_READER_MEMORY_PLACES_H_
#define BELAY_EXECUTORCH_READER_MEMORY_PLACES_H_

#include "absl/status/status.h"
#include "executorch/reader/method_facts.h"
#include "runtime/program/limits.h"

namespace belay::pte {

// Sets ValueFacts::place and ::offset of all tensors, and the sizes of arena and state. Errors name
// the method and the value, for all failing values at once.
//   kInvalidArgument    a tensor that is read has no memory
//   kUnimplemented      initial content of a tensor that overlaps others, or of dynamic sizes
//   kResourceExhausted  Limits::arena_bytes
absl::Status PlaceTensors(const Limits& limits, MethodFacts& facts);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_MEMORY_PLACES_H_
