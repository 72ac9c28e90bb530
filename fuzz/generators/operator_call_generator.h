// Generates one-operator programs from a fuzzer's bytes, to test that kernels reject bad arguments.
#ifndef BELAY_FUZZ_GENERATORS_OPERATOR_CALL_GENERATOR_H_
#define BELAY_FUZZ_GENERATORS_OPERATOR_CALL_GENERATOR_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "exir/op_definition/op_registry.h"
#include "fuzz/generators/byte_source.h"

namespace belay::fuzz {

// Returns the overloads that a program file may call: overloads with a schema, of the ATen dialect,
// without composite ones. Sorted by name.
std::vector<const exir::OpOverload*> CallableOperators(const exir::OpRegistry& ops);

enum class TensorSizes : uint8_t {
  kSmall,
  kHugeEmptyTensors,  // most tensors have no elements; other sizes are up to 2^59
};

// Generates a program whose method "forward" calls one of `operators` once. Most of the time,
// arguments have the kinds of the operator's schema, and outputs have the inferred types. Tensors
// are inputs or constants and have few elements.
std::string GenerateOperatorCallFile(ByteSource& source,
                                     absl::Span<const exir::OpOverload* const> operators,
                                     TensorSizes sizes);

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_GENERATORS_OPERATOR_CALL_GENERATOR_H_
