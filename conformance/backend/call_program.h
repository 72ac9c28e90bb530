// Conformance vectors of operators (conformance/opcases) as programs of one call, for backends.
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
#include "exir/op/op_registry.h"

namespace belay::conformance {

// Backends that pack weights take only those that are known when they compile: to be tried one
// after the other. nullopt: all tensors of the call are inputs of the program; else the tensor that
// is one, and all others are parameters.
using OnlyInput = std::optional<size_t>;
inline constexpr OnlyInput kOnlyInputs[] = {std::nullopt, 0, 1, 2};

struct CallProgram {
  exir::ExportedProgram program;         // edge dialect
  std::vector<exir::OwnedValue> inputs;  // of a call, one for each user input
};

// The call as an edge program, in which what partitioners ask to keep is not decomposed (KeepFor in
// exir/pipeline.h).
//   kUnimplemented  a case that expects an error, or a result that is no tensor; a tensor that
//                   ToSampleCall can't represent; there is no such tensor, or no other one
//   whatever the operator's meta kernel and ToEdge return
absl::StatusOr<CallProgram> MakeCallProgram(
    const exir::OpOverload& op, const OpCase& op_case, OnlyInput only_input,
    const exir::OpRegistry& ops, absl::Span<const exir::Partitioner* const> partitioners);

// What a partitioner says to a program.
struct Offer {
  size_t nodes = 0, taken = 0;
  std::string reason = {};  // of the first node that was not taken
  bool whole() const { return taken == nodes; }
};
absl::StatusOr<Offer> OfferTo(const exir::Partitioner& partitioner,
                              const exir::ExportedProgram& program);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_BACKEND_CALL_PROGRAM_H_
