// Completes the arguments of a call from the operator's schema: an archive leaves out those that
// are at their default, and names the others. Source: docs/pt2-format.md §9 "Inputs", §14 items 7,
// 8, 10.
#ifndef BELAY_EXIR_IMPORT_CALL_ARGUMENTS_H_
#define BELAY_EXIR_IMPORT_CALL_ARGUMENTS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/ir/argument.h"
#include "exir/op/schema.h"

namespace belay::exir {

struct GivenArgument {
  std::string_view name;  // "": by position
  Argument value;
};

// Arguments from number `first` on as a call has them: `names` may be shorter, or empty. What is given
// refers to `names`.
std::vector<GivenArgument> GivenArguments(absl::Span<const Argument> arguments,
                                          absl::Span<const std::string> names, size_t first);

// One argument per schema argument, in the schema's order, in canonical form (below).
// kInvalidArgument for an argument that the operator does not have, that is given twice, or that is
// missing and has no default. `names_are_loose`: names that the schema does not have count as
// positions (Python functions on scalars).
absl::StatusOr<std::vector<Argument>> CompleteArguments(const FunctionSchema& schema,
                                                        std::vector<GivenArgument> given,
                                                        bool names_are_loose);

// Spells equal arguments equally: ints where the type is float become doubles, booleans where it is
// int become ints, and a lone number for a list is repeated as often as the schema says.
Argument CanonicalArgument(const SchemaType& type, Argument value);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_CALL_ARGUMENTS_H_
