// How much of a program's arithmetic is where: for reports of what was delegated.
#ifndef BELAY_EXIR_FLOP_COUNT_H_
#define BELAY_EXIR_FLOP_COUNT_H_

#include "exir/ir/exported_program.h"

namespace belay::exir {

// The floating-point operations of one execution of a node, by the rules of PyTorch's
// torch.utils.flop_counter: products of matrices, convolutions and attention count, two for each
// multiplication and addition; all else is 0. Sizes are those that the symbols' ranges allow at
// most. Of a delegate call: those of the nodes it stands for, bodies included, each body once.
double FlopsOf(const ExportedProgram& program, const Graph& graph, const Node& node);

// Those of all nodes of a program, each body of control flow once.
double FlopsOf(const ExportedProgram& program);

}  // namespace belay::exir

#endif  // BELAY_EXIR_FLOP_COUNT_H_
