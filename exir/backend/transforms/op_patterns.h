// Operators that stand for a pattern of others.
//
// Source: docs/lowering.md §5.5. A pattern is an ATen program of one graph. An operator that has no
// kernel gets a composite implicit one that makes the pattern's nodes, and so becomes a backend
// operator; PromoteBackendOps (exir/decompositions/decompose.h) puts the pattern back in its place.
#ifndef BELAY_EXIR_BACKEND_TRANSFORMS_OP_PATTERNS_H_
#define BELAY_EXIR_BACKEND_TRANSFORMS_OP_PATTERNS_H_

#include <memory>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "exir/ir/exported_program.h"
#include "exir/op/op_registry.h"

namespace belay::exir {

// Thread-compatible. The registry must outlive it, and changes with it (OpRegistry::Define).
class OpPatterns {
 public:
  explicit OpPatterns(OpRegistry& ops) : ops_(ops) {}

  // Binds the pattern to an operator of the namespace, which may have backend operators from then
  // on, and returns its ATen overload. `name` is "op", "op.overload" or a full schema, which
  // defines the operator; each may have the namespace in front ("ns::op"). The pattern's inputs are
  // the operator's arguments, its outputs the returns, in order. On error nothing changed.
  //   kInvalidArgument     the name or schema does not parse or names another namespace; the
  //                        pattern is of another registry, has bodies, constants or mutations,
  //                        other numbers of inputs or outputs than the operator, or leads back to
  //                        it; the operator writes to an argument or gives a view of one
  //   kNotFound            no operator of this name
  //   kAlreadyExists       the schema's operator exists, or the operator has a pattern
  //   kFailedPrecondition  the pattern does not verify
  absl::StatusOr<const OpOverload*> BindPatternToOp(std::string_view ns, std::string_view name,
                                                    ExportedProgram pattern);

  // What is equivalent to the overload (of any dialect), whether it is its kernel or not; nullptr when
  // nothing was bound to it. Lives as long as this; the kernel lives as long as the registry.
  const ExportedProgram* Find(const OpOverload* op) const;

 private:
  bool LeadsTo(const ExportedProgram& pattern, const OpOverload* op) const;

  OpRegistry& ops_;
  absl::flat_hash_map<const OpOverload*, std::shared_ptr<const ExportedProgram>> patterns_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_TRANSFORMS_OP_PATTERNS_H_
