// Which calls only hand on bytes of their argument.
#ifndef BELAY_EXIR_EMIT_VIEW_BYTES_H_
#define BELAY_EXIR_EMIT_VIEW_BYTES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/schema/program.pb.h"

namespace belay::exir {

// Element `piece` of the result of a call: where in the bytes of its argument it lies as one run.
struct ViewPiece {
  uint32_t value = 0;  // of the result
  uint64_t offset = 0;
  bool slice = false;  // the operator takes a part
};

// When all results of a kernel call are, for any content, runs of the bytes of its first argument:
// views, reshapes, permutations that move no element, slices of the outermost dimension. Static
// tensors only. nullopt: they are not, or it is not known.
std::optional<std::vector<ViewPiece>> ViewOfArgument(const schema::Method& method,
                                                     const schema::KernelCall& call);

// The result of a call has the bytes of its first argument, at any of their dynamic sizes.
bool HasBytesOfArgument(const schema::Method& method, const schema::KernelCall& call);

// When the result of a kernel call is its operands one behind the other: their values and where
// they lie in the result. Static tensors only.
std::optional<std::vector<ViewPiece>> JoinedOperands(const schema::Method& method,
                                                     const schema::KernelCall& call);

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_VIEW_BYTES_H_
