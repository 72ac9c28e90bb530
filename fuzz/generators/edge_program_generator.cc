#include "fuzz/generators/edge_program_generator.h"

#include "exir/testing/random_program.h"

namespace belay::fuzz {

exir::ExportedProgram GenerateEdgeProgram(ByteSource& source, const exir::OpRegistry& ops) {
  exir::RandomProgramOptions options;
  options.max_nodes = static_cast<int>(1 + source.Below(20));
  const uint8_t features = source.Byte();
  options.control_flow = (features & 1) != 0;
  options.mutation = (features & 2) != 0;
  options.dynamic_sizes = (features & 4) != 0;
  return exir::RandomPrograms(source.Rest(), ops, options).Next();
}

}  // namespace belay::fuzz
