// Proves that an elided instruction would only copy bytes onto themselves. Part of memory_checker;
// shares no code with view_bytes.h, which finds such instructions.
#ifndef BELAY_EXIR_EMIT_VIEW_PROOF_H_
#define BELAY_EXIR_EMIT_VIEW_PROOF_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/schema/program.pb.h"

namespace belay::exir {

// Returns "" if, in the memory of `method`, every element that a call of `op` copies has the same
// address in the argument and in the result; otherwise the reason. Maps result indices to argument
// indices by the operator's definition: all of them for up to 4096 elements. Above that, it checks
// the corners, the steps of each dimension and a thousand others.
std::string ProveBytesAreInPlace(const schema::Method& method, std::string_view op,
                                 const schema::KernelCall& call);

// Returns "" if the first result of a call aliases its first argument and keeps its bytes for all
// dynamic sizes; otherwise the reason.
std::string ProveKeptViewIsInPlace(const schema::Method& method, std::string_view op,
                                   const schema::KernelCall& call);

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_VIEW_PROOF_H_
