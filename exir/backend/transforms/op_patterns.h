// Binds operators to equivalent patterns of other operators.
//
// Source: docs/lowering.md §5.5. A pattern is an ATen program with one graph. An operator without a
// kernel gets a composite implicit kernel that emits the nodes of the pattern, and thereby becomes
// a backend operator. PromoteBackendOps (exir/decompositions/decompose.h) expands it again.
#ifndef BELAY_EXIR_BACKEND_TRANSFORMS_OP_PATTERNS_H_
#define BELAY_EXIR_BACKEND_TRANSFORMS_OP_PATTERNS_H_

#include <memory>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "exir/ir/exported_program.h"
#include "exir/op_definition/op_registry.h"

namespace belay::exir {

// Thread-compatible. Modifies the registry (OpRegistry::Define), which must outlive it.
class OpPatterns {
 public:
  explicit OpPatterns(OpRegistry& ops) : ops_(ops) {}

  // Binds the pattern to an operator of the namespace and returns its ATen overload. From then on
  // the namespace may have backend operators. `name` is "op", "op.overload" or a full schema, which
  // defines the operator; each may have the namespace as prefix ("ns::op"). The pattern's inputs
  // are the operator's arguments, its outputs the returns, in order. On error nothing changes.
  //   kInvalidArgument     the name or schema does not parse or names another namespace; the
  //                        pattern is of another registry, has subgraphs, constants or mutations,
  //                        or has other numbers of inputs or outputs than the operator; it calls
  //                        the operator, directly or through other patterns; the operator writes to
  //                        an argument or returns a view of one
  //   kNotFound            unknown operator
  //   kAlreadyExists       the schema's operator exists, or the operator has a pattern
  //   kFailedPrecondition  the pattern does not verify
  absl::StatusOr<const OpOverload*> BindPatternToOp(std::string_view ns, std::string_view name,
                                                    ExportedProgram pattern);

  // Returns the pattern bound to the overload (of any dialect), whether it is the operator's kernel
  // or not; nullptr if no pattern is bound. Valid for the lifetime of this object; the kernel lives
  // as long as the registry.
  const ExportedProgram* Find(const OpOverload* op) const;

 private:
  bool LeadsTo(const ExportedProgram& pattern, const OpOverload* op) const;

  OpRegistry& ops_;
  absl::flat_hash_map<const OpOverload*, std::shared_ptr<const ExportedProgram>> patterns_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_TRANSFORMS_OP_PATTERNS_H_
