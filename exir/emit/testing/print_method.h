// Methods as text, for tests of what the emitter makes.
#ifndef BELAY_EXIR_EMIT_TESTING_PRINT_METHOD_H_
#define BELAY_EXIR_EMIT_TESTING_PRINT_METHOD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/schema/program.pb.h"

namespace belay::exir {

// Tensors are a place and a number: x for who calls, a for the arena, s for state, c for constants.
std::string PrintValue(const schema::Method& method, uint32_t v);

// A line an instruction, "return …" last.
std::vector<std::string> PrintLines(const schema::Method& method);

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_TESTING_PRINT_METHOD_H_
