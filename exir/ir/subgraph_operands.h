// Operands that control flow passes to its subgraphs unchanged, in every call.
#ifndef BELAY_EXIR_IR_SUBGRAPH_OPERANDS_H_
#define BELAY_EXIR_IR_SUBGRAPH_OPERANDS_H_

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "exir/ir/exported_program.h"

namespace belay::exir {

// An element of a list argument of a control-flow node, and the subgraph inputs that are bound to
// it: the operands of cond, the additional operands of while_loop, scan and map. Carried values and
// scanned rows are not such operands, since they differ between iterations.
struct SubgraphOperand {
  size_t argument = 0;  // of the node
  size_t element = 0;   // of the list
  ValueId value;
  std::vector<std::pair<GraphId, size_t>> inputs;  // graph, position among its inputs
};

// Returns an empty list for other nodes. Literals in the list are omitted. O(arguments).
std::vector<SubgraphOperand> SubgraphOperands(const Node& node);

// By graph and position of its input: the position of the top graph's input that is the same
// parameter, buffer or tensor constant in every call; nullopt for all others. Tensors that the
// program writes to are not constant. The row of the top graph is empty. Precondition: the program
// verifies. O(program).
using ConstantSubgraphInputs = std::vector<std::vector<std::optional<size_t>>>;
ConstantSubgraphInputs FindConstantSubgraphInputs(const ExportedProgram& program);

// Returns a program whose top graph is a copy of subgraph `graph`, with the same ids. Inputs that
// have a position in `constants`, its row of FindConstantSubgraphInputs, are constants; all others
// are user inputs. For queries of partitioners: subgraphs and modules are not copied. O(graph).
ExportedProgram SubgraphAsProgram(const ExportedProgram& program, GraphId graph,
                                  const std::vector<std::optional<size_t>>& constants);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_SUBGRAPH_OPERANDS_H_
