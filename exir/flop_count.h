// Counts floating-point operations of programs and nodes, for delegation reports.
#ifndef BELAY_EXIR_FLOP_COUNT_H_
#define BELAY_EXIR_FLOP_COUNT_H_

#include "exir/ir/exported_program.h"

namespace belay::exir {

// Returns the floating-point operations of one execution of `node`, by the rules of PyTorch's
// torch.utils.flop_counter (OperatorFacts::flops). Matmuls, convolutions and attention count 2 per
// multiply-add; all other operators count 0. Symbolic sizes count with the maximum of their range. A delegate call counts
// the nodes of its original program, subgraphs included, each subgraph once.
double FlopsOf(const ExportedProgram& program, const Graph& graph, const Node& node);

// Returns the sum over all nodes of a program, each control-flow subgraph once.
double FlopsOf(const ExportedProgram& program);

}  // namespace belay::exir

#endif  // BELAY_EXIR_FLOP_COUNT_H_
