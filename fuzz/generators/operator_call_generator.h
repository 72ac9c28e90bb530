// One-operator programs made of a fuzzer's bytes: what kernels must survive.
#ifndef BELAY_FUZZ_GENERATORS_OPERATOR_CALL_GENERATOR_H_
#define BELAY_FUZZ_GENERATORS_OPERATOR_CALL_GENERATOR_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "exir/op/op_registry.h"
#include "fuzz/generators/byte_source.h"

namespace belay::fuzz {

// Overloads with a schema, of the ATen dialect and without composite ones: what a program file may
// call. By name.
std::vector<const exir::OpOverload*> CallableOperators(const exir::OpRegistry& ops);

enum class TensorSizes : uint8_t {
  kSmall,
  kVastBesideZero,  // most tensors have no elements, and other sizes of up to 2^59
};

// A program whose method "forward" calls one of `operators` once: arguments of the kinds that its
// schema says, most of the time, and outputs of the types that it infers, or of any. Tensors are
// inputs or constants and have few elements.
std::string GenerateOperatorCallFile(ByteSource& source,
                                     absl::Span<const exir::OpOverload* const> operators,
                                     TensorSizes sizes);

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_GENERATORS_OPERATOR_CALL_GENERATOR_H_
