// The variants of an operator: functional, in-place, out.
//
// Source: docs/lowering.md §5.8. Variants have the same signature: the same arguments but for out
// arguments, alias annotations, the name of what an in-place variant writes (always `self`) and the
// four arguments that say where a new tensor lies (dtype, layout, device, pin_memory); returns do not
// count.
#ifndef BELAY_EXIR_OP_OP_VARIANTS_H_
#define BELAY_EXIR_OP_OP_VARIANTS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/op/op_registry.h"

namespace belay::exir {

enum class SchemaKind : uint8_t {
  kFunctional,  // writes to nothing
  kInplace,     // add_, __iand__: writes to its first argument
  kOut,         // has keyword-only arguments that it writes to
  kMutable,     // writes to others
};
std::string_view SchemaKindName(SchemaKind kind);  // "functional", "inplace", "out", "mutable"
SchemaKind KindOf(const FunctionSchema& schema);

// The schema of the in-place or out variant of a functional one, as PyTorch derives it. In place: of
// aten::add.Tensor aten::add_.Tensor, of aten::__and__ aten::__iand__; writes and returns `self`.
// Out: aten::add.Tensor_out, aten::relu.out; one keyword-only argument for each return, `out` when
// there is one, with the names of the returns when they have names, else out0, out1, ….
// kInvalidArgument when the schema is not functional, does not begin with a tensor (in place) or
// returns something else than tensors.
absl::StatusOr<FunctionSchema> DeriveVariant(const FunctionSchema& functional, SchemaKind kind);

// The ATen overload of that kind with the signature of `op`, which may be of any dialect; `op`'s
// own when it is of the kind. The functional variant of a mutable operator foo.x, which gives what
// foo.x gives and then the new values of what it writes, is foo_functional.x. Nothing is remembered:
// an operator that is defined later is found later.
//   kNotFound         there is none: lists the schemas of all overloads there are
//   kInvalidArgument  the operator has no schema
absl::StatusOr<const OpOverload*> ToVariant(const OpRegistry& ops, const OpOverload* op,
                                            SchemaKind kind);

// The operator that gives a copy of what the view operator shows: of aten.view.dtype
// aten.view_copy.dtype. nullptr when there is none that takes as many arguments.
const OpOverload* ToViewCopy(const OpRegistry& ops, const OpOverload* view);

// The out variants of all of them, in order. Errors as ToVariant, all of them at once, each
// operator once.
absl::StatusOr<std::vector<const OpOverload*>> ToOutVariants(
    const OpRegistry& ops, absl::Span<const OpOverload* const> overloads);

}  // namespace belay::exir

#endif  // BELAY_EXIR_OP_OP_VARIANTS_H_
