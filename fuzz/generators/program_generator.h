// Program files made of a fuzzer's bytes: well formed most of the time, so that what lies behind
// the reader's checks is reached, too.
#ifndef BELAY_FUZZ_GENERATORS_PROGRAM_GENERATOR_H_
#define BELAY_FUZZ_GENERATORS_PROGRAM_GENERATOR_H_

#include <string>
#include <string_view>

#include "absl/types/span.h"
#include "fuzz/generators/byte_source.h"
#include "runtime/executor/testing/program_builder.h"

namespace belay::fuzz {

// A method "forward" with up to 10 values of all kinds, inputs, state, constants, a delegate of
// "fake", named data, and up to 8 instructions that call `operators` or jump. Nothing keeps it from
// being wrong: an operator gets any values.
TestProgram GenerateProgram(ByteSource& source, absl::Span<const std::string_view> operators);

// Its bytes. Fields of the metadata are edited (mutator.h) in some.
std::string GenerateProgramFile(ByteSource& source, absl::Span<const std::string_view> operators);

// A program whose method "forward" is one call of a delegate that `backend` makes of the blob,
// which is the rest of the source. Arguments, outputs, compile specs and named data come from the
// source's first bytes.
std::string GenerateDelegateFile(ByteSource& source, const std::string& backend);

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_GENERATORS_PROGRAM_GENERATOR_H_
