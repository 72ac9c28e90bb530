// Generates edge programs from a fuzzer's bytes.
#ifndef BELAY_FUZZ_GENERATORS_EDGE_PROGRAM_GENERATOR_H_
#define BELAY_FUZZ_GENERATORS_EDGE_PROGRAM_GENERATOR_H_

#include "exir/ir/exported_program.h"
#include "exir/op_definition/op_registry.h"
#include "fuzz/generators/byte_source.h"

namespace belay::fuzz {

// Runs exir/testing/generator/edge_programs.h on the rest of the source. The programs are
// well-typed, executable and small; some have control flow, mutation or dynamic sizes. `ops` has
// the standard operators and must outlive the program.
exir::ExportedProgram GenerateEdgeProgram(ByteSource& source, const exir::OpRegistry& ops);

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_GENERATORS_EDGE_PROGRAM_GENERATOR_H_
