// Where a method's tensors go in Belay's memory, which knows inputs in the caller's memory, an arena
// and a state that lives on; ExecuTorch has one arena for all (docs/pte-format.md §5, §6).
//
//   what is planned        stays where it is in its pool; the pools become one arena
//   a planned input        is the caller's memory; copied to its place in the arena first where an
//                          instruction writes to it, or reads it through another tensor
//   what only operators    is state, with its initial content or zeros, unless other tensors lie
//   in place write to      there: then it stays in the arena, whose content lives on as well
//   a view                 lies over its base in the arena; a view of a constant is one
//   others without memory  get some behind the pools
#ifndef BELAY_EXECUTORCH_READER_MEMORY_PLACES_H_
#define BELAY_EXECUTORCH_READER_MEMORY_PLACES_H_

#include "absl/status/status.h"
#include "executorch/reader/method_facts.h"
#include "runtime/program/limits.h"

namespace belay::pte {

// Sets ValueFacts::place and ::offset of all tensors, and the sizes of arena and state. Errors name
// the method and the value, those of all values at once.
//   kInvalidArgument    a tensor that is read has no memory
//   kUnimplemented      initial content of a tensor that others lie over, or of dynamic sizes
//   kResourceExhausted  Limits::arena_bytes
absl::Status PlaceTensors(const Limits& limits, MethodFacts& facts);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_MEMORY_PLACES_H_
