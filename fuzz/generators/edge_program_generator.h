// Edge programs made of a fuzzer's bytes.
#ifndef BELAY_FUZZ_GENERATORS_EDGE_PROGRAM_GENERATOR_H_
#define BELAY_FUZZ_GENERATORS_EDGE_PROGRAM_GENERATOR_H_

#include "exir/ir/exported_program.h"
#include "exir/op/op_registry.h"
#include "fuzz/generators/byte_source.h"

namespace belay::fuzz {

// What exir/testing/generator/edge_programs.h makes of the rest of the source: well typed, executable,
// small, with control flow, mutation and dynamic sizes in some. `ops` has the standard operators
// and must outlive the program.
exir::ExportedProgram GenerateEdgeProgram(ByteSource& source, const exir::OpRegistry& ops);

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_GENERATORS_EDGE_PROGRAM_GENERATOR_H_
