// Counts floating-point operations of programs and nodes, for delegation reports.
#ifndef BELAY_EXIR_FLOP_COUNT_H_
#define BELAY_EXIR_FLOP_COUNT_H_

#include <vector>

#include "exir/ir/exported_program.h"

namespace belay::exir {

// Returns the floating-point operations of one execution of `node`, by the rules of PyTorch's
// torch.utils.flop_counter (OperatorFacts::flops). Matmuls, convolutions and attention count 2 per
// multiply-add; all other operators count 0. Symbolic sizes count with the maximum of their range.
// A delegate call counts as its original program.
double FlopsOf(const ExportedProgram& program, const Graph& graph, const Node& node);

// Returns the sum over all nodes of a program, each as often as its graph runs (RunsOfGraphs).
double FlopsOf(const ExportedProgram& program);

// Returns, by graph, how often it runs in a call: 1 for the top graph, the number of rows (at its
// upper bound) for a subgraph of scan and map, times the runs of the node. Branches, and the
// subgraphs of while_loop, whose iterations are unknown, count once per run of their node.
// Precondition: the program verifies. O(program).
std::vector<double> RunsOfGraphs(const ExportedProgram& program);

}  // namespace belay::exir

#endif  // BELAY_EXIR_FLOP_COUNT_H_
