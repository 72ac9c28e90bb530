// Proves that an instruction that is not run would only have copied bytes onto themselves. A part
// of memory_checker; shares no code with view_bytes.h, which finds such instructions.
#ifndef BELAY_EXIR_EMIT_VIEW_PROOF_H_
#define BELAY_EXIR_EMIT_VIEW_PROOF_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/schema/program.pb.h"

namespace belay::exir {

// "" when, in the memory of `method`, every element that a call of `op` copies has one address as
// an element of the argument and as one of the result; else what is wrong. Each index of the result
// is mapped to one of the argument by the operator's definition: all of them for up to 4096
// elements, else the corners, the steps of each dimension and a thousand others.
std::string ProveBytesAreInPlace(const schema::Method& method, std::string_view op,
                                 const schema::KernelCall& call);

// "" when the first result of a call lies over its first argument and keeps its bytes whatever the
// dynamic sizes are; else what is wrong.
std::string ProveKeptViewIsInPlace(const schema::Method& method, std::string_view op,
                                   const schema::KernelCall& call);

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_VIEW_PROOF_H_
