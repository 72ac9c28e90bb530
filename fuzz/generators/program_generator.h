// Generates program files from a fuzzer's bytes. Most are well-formed, so that code after the
// reader's checks is covered, too.
#ifndef BELAY_FUZZ_GENERATORS_PROGRAM_GENERATOR_H_
#define BELAY_FUZZ_GENERATORS_PROGRAM_GENERATOR_H_

#include <string>
#include <string_view>

#include "absl/types/span.h"
#include "fuzz/generators/byte_source.h"
#include "runtime/executor/testing/program_builder.h"

namespace belay::fuzz {

// Generates a method "forward" with up to 10 values of all kinds, inputs, state, constants, a
// delegate of "fake", named data, and up to 8 instructions that call `operators` or jump. Programs
// may be invalid: operators are called with arbitrary values.
TestProgram GenerateProgram(ByteSource& source, absl::Span<const std::string_view> operators);

// Returns the bytes of such a program. Some have edited metadata fields (mutator.h).
std::string GenerateProgramFile(ByteSource& source, absl::Span<const std::string_view> operators);

// Generates a program whose method "forward" calls one delegate of `backend`. The first bytes of
// the source give arguments, outputs, compile specs and named data; the rest is the delegate's
// blob.
std::string GenerateDelegateFile(ByteSource& source, const std::string& backend);

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_GENERATORS_PROGRAM_GENERATOR_H_
