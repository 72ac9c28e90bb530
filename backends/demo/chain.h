// Chains: what the founding demos compile.
#ifndef BELAY_BACKENDS_DEMO_CHAIN_H_
#define BELAY_BACKENDS_DEMO_CHAIN_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/ir/exported_program.h"

namespace belay::demo {

// A program in which each node works on what the node before it gave, the first on the first user
// input. A node's second operand is the next of the program's constants, and after these the next
// of its other user inputs. All are used, and the last result is the one output.
struct Chain {
  std::vector<exir::NodeId> nodes;       // in order
  std::vector<exir::ValueId> constants;  // inputs that hold constants, in order
};

// Source: the C++ demo backend's convention (docs/lowering.md §6), which lets a blob name operators
// only.
//   kUnimplemented  `program` is no chain of `ops` (names of one- and two-operand operators) over
//                   static contiguous float32 tensors, with other arguments at their defaults;
//                   names the node and `backend_id`
absl::StatusOr<Chain> ReadChain(const exir::ExportedProgram& program,
                                absl::Span<const std::string_view> ops,
                                std::string_view backend_id);

// A blob that is text.
exir::Storage TextStorage(std::string_view text);

}  // namespace belay::demo

#endif  // BELAY_BACKENDS_DEMO_CHAIN_H_
