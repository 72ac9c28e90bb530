// The variants of an operator: functional, in-place, out.
//
// Source: docs/lowering.md §5.8. Variants have the same signature, that is the same arguments.
// Ignored in this comparison: out arguments, alias annotations, the name of the argument that an
// in-place variant writes (always `self`), the four arguments that place a new tensor (dtype,
// layout, device, pin_memory), and returns.
#ifndef BELAY_EXIR_OP_DEFINITION_OP_VARIANTS_H_
#define BELAY_EXIR_OP_DEFINITION_OP_VARIANTS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/op_definition/op_registry.h"

namespace belay::exir {

enum class SchemaKind : uint8_t {
  kFunctional,  // writes to no argument
  kInplace,     // add_, __iand__: writes to its first argument
  kOut,         // has keyword-only arguments that it writes to
  kMutable,     // writes to other arguments
};
std::string_view SchemaKindName(SchemaKind kind);  // "functional", "inplace", "out", "mutable"
SchemaKind KindOf(const FunctionSchema& schema);

// Derives the schema of the in-place or out variant of a functional schema, as PyTorch does.
// - In-place: aten::add.Tensor -> aten::add_.Tensor, aten::__and__ -> aten::__iand__; writes and
//   returns `self`.
// - Out: aten::add.Tensor_out, aten::relu.out; adds one keyword-only argument per return. It is
//   `out` if there is one return; otherwise the names of the returns, or out0, out1, … if unnamed.
//
// kInvalidArgument if the schema is not functional, does not begin with a tensor (in-place), or
// returns other types than tensors.
absl::StatusOr<FunctionSchema> DeriveVariant(const FunctionSchema& functional, SchemaKind kind);

// Returns the ATen overload of that kind with the signature of `op`, which may be of any dialect.
// If `op` is already of the kind, returns its own ATen overload. The functional variant of a
// mutable operator foo.x is foo_functional.x, which returns the results of foo.x and then the new
// values of the written arguments. Nothing is cached, so operators that are defined later are
// found.
//   kNotFound         no such variant: lists the schemas of all overloads
//   kInvalidArgument  the operator has no schema
absl::StatusOr<const OpOverload*> ToVariant(const OpRegistry& ops, const OpOverload* op,
                                            SchemaKind kind);

// Returns the copying variant of a view operator: aten.view.dtype -> aten.view_copy.dtype. nullptr
// if no variant has the same number of arguments.
const OpOverload* ToViewCopy(const OpRegistry& ops, const OpOverload* view);

// Returns the out variants of all operators, in order. Errors as ToVariant; reports all of them at
// once, each operator once.
absl::StatusOr<std::vector<const OpOverload*>> ToOutVariants(
    const OpRegistry& ops, absl::Span<const OpOverload* const> overloads);

}  // namespace belay::exir

#endif  // BELAY_EXIR_OP_DEFINITION_OP_VARIANTS_H_
