// What of an operator is missing: a kernel, vectors, rows of pages.
#ifndef BELAY_CONFORMANCE_STATUS_FORGOTTEN_H_
#define BELAY_CONFORMANCE_STATUS_FORGOTTEN_H_

#include <set>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "conformance/ops/op_case.h"
#include "exir/op/op_registry.h"
#include "runtime/kernel/kernel_registry.h"

namespace belay::conformance {

struct OperatorFiles {
  std::vector<OpCaseFile> cases;          // of opcases/
  std::set<std::string> more;             // operators that have vectors in other folders
  std::set<std::string> without_vectors;  // operators that need none (without_vectors.txt)
  std::string status, index;              // the pages as they are
};

// One line for each operator of which something is missing, that names all of it and where it goes;
// and one for each row that is there in vain. A line for each page whose rows are right and whose
// other lines are not. Sorted; empty when all is well. What must be there:
//   - of an operator of the registry that has a meta kernel and is neither composite nor a variant
//     of another: a reference kernel, unless it is arithmetic on scalars without one, and vectors;
//   - of an operator with vectors: a row in the registry and in both pages, as OperatorStatus and
//     OperatorIndex make it.
std::vector<std::string> Forgotten(const OperatorFiles& files, const exir::OpRegistry& ops,
                                   const KernelRegistry& kernels);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_STATUS_FORGOTTEN_H_
