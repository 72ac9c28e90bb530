// Converts conformance vectors of operators (conformance/opcases) to single-call programs for
// backends.
#ifndef BELAY_CONFORMANCE_BACKEND_CALL_PROGRAM_H_
#define BELAY_CONFORMANCE_BACKEND_CALL_PROGRAM_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "conformance/ops/op_case.h"
#include "exir/backend/partitioner.h"
#include "exir/interpreter/owned_value.h"
#include "exir/ir/exported_program.h"
#include "exir/op_definition/op_registry.h"

namespace belay::conformance {

// The tensor of the call that is the only input of the program; all other tensors are parameters.
// nullopt: all tensors are inputs. Backends that prepack weights accept only constant weights, so
// callers try these values in turn.
using OnlyInput = std::optional<size_t>;
inline constexpr OnlyInput kOnlyInputs[] = {std::nullopt, 0, 1, 2};

struct CallProgram {
  exir::ExportedProgram program;         // edge dialect
  std::vector<exir::OwnedValue> inputs;  // of a call, one per user input
};

// Returns the call as an edge program. Operators that partitioners ask to keep are not decomposed
// (KeepFor in exir/pipeline.h).
//   kUnimplemented  the case expects an error, or a result that is not a tensor;
//                   ToSampleCall cannot represent a tensor;
//                   `only_input` is out of range, or the call has no other tensor
//   errors of the operator's meta kernel and of ToEdge
absl::StatusOr<CallProgram> MakeCallProgram(
    const exir::OpOverload& op, const OpCase& op_case, OnlyInput only_input,
    const exir::OpRegistry& ops, absl::Span<const exir::Partitioner* const> partitioners);

// A partitioner's answer for a program.
struct Offer {
  size_t nodes = 0, taken = 0;
  std::string reason = {};  // of the first rejected node
  bool whole() const { return taken == nodes; }
};
absl::StatusOr<Offer> OfferTo(const exir::Partitioner& partitioner,
                              const exir::ExportedProgram& program);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_BACKEND_CALL_PROGRAM_H_
