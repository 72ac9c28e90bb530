// Random programs of the edge dialect from a fixed deck, for tests of lowering and engines.
#ifndef BELAY_EXIR_TESTING_GENERATOR_EDGE_PROGRAMS_H_
#define BELAY_EXIR_TESTING_GENERATOR_EDGE_PROGRAMS_H_

#include <vector>

#include "exir/ir/exported_program.h"
#include "exir/op_definition/op_registry.h"
#include "exir/testing/generator/random_program.h"
#include "runtime/core/random.h"

namespace belay::exir {

// Generates programs of a few float32 operators (elementwise, sum, max with indices, split, cat,
// full) on matrices and rows, some with a dynamic number of rows. They run to completion on any
// inputs. Constants with the same name are the same tensor in all programs; some share one storage.
class RandomEdgePrograms {
 public:
  // `ops` has the standard operators; `ops` and `random` must outlive the generator. The
  // constructor overrides the dialect, the sizes and the constants of `options`.
  RandomEdgePrograms(Random& random, const OpRegistry& ops,
                     RandomProgramOptions options = {.max_calls = 20});
  ExportedProgram Next();

 private:
  std::vector<OperatorCalls> calls_;
  RandomPrograms programs_;
};

// Marks nodes (Node::delegation_tag) with "t0" to "t<tags-1>". Half of the programs tag runs of
// neighbors, which can always be delegated; the others tag arbitrary nodes.
void TagNodes(Random& random, int tags, ExportedProgram& program);

}  // namespace belay::exir

#endif  // BELAY_EXIR_TESTING_GENERATOR_EDGE_PROGRAMS_H_
