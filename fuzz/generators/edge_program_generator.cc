#include "fuzz/generators/edge_program_generator.h"

#include <utility>

#include "exir/testing/generator/edge_programs.h"

namespace belay::fuzz {

exir::ExportedProgram GenerateEdgeProgram(ByteSource& source, const exir::OpRegistry& ops) {
  exir::RandomProgramOptions options;
  options.max_calls = static_cast<int>(1 + source.Below(20));
  const uint8_t features = source.Byte();
  options.control_flow = (features & 1) != 0;
  options.mutation = (features & 2) != 0;
  options.dynamic_sizes = (features & 4) != 0;
  Random random(source.Rest());
  return exir::RandomEdgePrograms(random, ops, std::move(options)).Next();
}

}  // namespace belay::fuzz
