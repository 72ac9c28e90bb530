// Prints methods, for tests of the emitter.
#ifndef BELAY_EXIR_EMIT_TESTING_PRINT_METHOD_H_
#define BELAY_EXIR_EMIT_TESTING_PRINT_METHOD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/schema/program.pb.h"

namespace belay::exir {

// Tensors print as location and index: x for caller-provided, a for the arena, s for state, c for
// constants.
std::string PrintValue(const schema::Method& method, uint32_t v);

// One line per instruction, "return …" last.
std::vector<std::string> PrintLines(const schema::Method& method);

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_TESTING_PRINT_METHOD_H_
