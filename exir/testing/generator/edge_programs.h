// Random programs of the edge dialect, for tests of lowering and of engines: a fixed deck.
#ifndef BELAY_EXIR_TESTING_GENERATOR_EDGE_PROGRAMS_H_
#define BELAY_EXIR_TESTING_GENERATOR_EDGE_PROGRAMS_H_

#include <vector>

#include "exir/ir/exported_program.h"
#include "exir/op/op_registry.h"
#include "exir/testing/generator/random_program.h"
#include "runtime/core/random.h"

namespace belay::exir {

// Programs of a few float32 operators (elementwise ones, sum, max with indices, split, cat, full) on
// matrices and rows, some with a dynamic number of rows. They run to their end on any inputs. All
// programs name their constants alike: the same name is the same tensor, some share one storage.
class RandomEdgePrograms {
 public:
  // `ops` has the standard operators; it and the random numbers must outlive the generator. Of
  // `options` the dialect, the sizes and the constants are set here.
  RandomEdgePrograms(Random& random, const OpRegistry& ops,
                     RandomProgramOptions options = {.max_calls = 20});
  ExportedProgram Next();

 private:
  std::vector<OperatorCalls> calls_;
  RandomPrograms programs_;
};

// Marks nodes (Node::delegation_tag) with "t0" to "t<tags-1>": in half of the cases runs of
// neighbors, which always can be delegated, in the others anything.
void TagNodes(Random& random, int tags, ExportedProgram& program);

}  // namespace belay::exir

#endif  // BELAY_EXIR_TESTING_GENERATOR_EDGE_PROGRAMS_H_
