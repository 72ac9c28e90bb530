// Linear chains of operators, the program form that the ExecuTorch demo backends compile.
#ifndef BELAY_BACKENDS_DEMO_CHAIN_H_
#define BELAY_BACKENDS_DEMO_CHAIN_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/ir/exported_program.h"

namespace belay::demo {

// A program in which the first operand of each node is the previous node's result; of the first
// node, the first user input. Second operands are the program's constants in order, then its other
// user inputs in order. All of these are used, and the last result is the only output.
struct Chain {
  std::vector<exir::NodeId> nodes;       // in order
  std::vector<exir::ValueId> constants;  // inputs that hold constants, in order
};

// Source: the C++ demo backend's convention (docs/lowering.md §6), which lets a blob name operators
// only.
//   kUnimplemented  `program` is not a chain of `ops` (names of one- and two-operand operators)
//                   over static contiguous float32 tensors with default values for other arguments;
//                   names the node and `backend_id`
absl::StatusOr<Chain> ReadChain(const exir::ExportedProgram& program,
                                absl::Span<const std::string_view> ops,
                                std::string_view backend_id);

// Returns a blob with the bytes of a string.
exir::Storage StringStorage(std::string_view text);

}  // namespace belay::demo

#endif  // BELAY_BACKENDS_DEMO_CHAIN_H_
