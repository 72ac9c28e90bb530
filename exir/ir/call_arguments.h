// Completes the arguments of a call from the operator's schema: archives omit arguments that equal
// their default, and name the others. Source: docs/pt2-format.md §9 "Inputs", §14 items 7, 8, 10.
#ifndef BELAY_EXIR_IR_CALL_ARGUMENTS_H_
#define BELAY_EXIR_IR_CALL_ARGUMENTS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/ir/argument.h"
#include "exir/op_definition/schema.h"

namespace belay::exir {

struct GivenArgument {
  std::string_view name;  // "": by position
  Argument value;
};

// Pairs `arguments[first...]` with their names; `names` may be shorter or empty. The result refers
// to `names`.
std::vector<GivenArgument> GivenArguments(absl::Span<const Argument> arguments,
                                          absl::Span<const std::string> names, size_t first);

// Returns one argument per schema argument, in the schema's order, in canonical form (below).
// kInvalidArgument for an unknown argument, a repeated one, or a missing one without a default. If
// `names_are_loose`, names that the schema does not have are treated as positions (Python functions
// on scalars).
absl::StatusOr<std::vector<Argument>> CompleteArguments(const FunctionSchema& schema,
                                                        std::vector<GivenArgument> given,
                                                        bool names_are_loose);

// Normalizes equal arguments to one representation: ints for float arguments become doubles, and
// booleans for int arguments become ints. A scalar for a list is repeated to the length that the
// schema states.
Argument CanonicalArgument(const SchemaType& type, Argument value);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_CALL_ARGUMENTS_H_
