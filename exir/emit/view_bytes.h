// Finds calls that only forward bytes of their argument.
#ifndef BELAY_EXIR_EMIT_VIEW_BYTES_H_
#define BELAY_EXIR_EMIT_VIEW_BYTES_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "exir/op_definition/op_registry.h"
#include "runtime/schema/program.pb.h"

namespace belay::exir {

// A kernel call of a method, with access to its arguments by their schema names. Referenced objects
// must outlive it.
struct KernelCallView {
  const schema::Method& method;
  const schema::KernelCall& call;
  const OpOverload* op = nullptr;  // null if unknown to the registry

  bool has_trait(OpTrait trait) const { return op != nullptr && op->has_trait(trait); }
  // Returns nullptr if the operator has no argument of this name.
  const schema::Value* argument(std::string_view name) const;
  // Returns nullopt if it is not a literal integer.
  std::optional<int64_t> Int(std::string_view name) const;
};

// Location of a result of a call: a contiguous range of its argument's bytes.
struct ViewPiece {
  uint32_t value = 0;  // index of the result
  uint64_t offset = 0;
  bool slice = false;  // the operator selects a part
};

// Returns the byte ranges if all results of a kernel call are, for any content, contiguous ranges
// of the first argument's bytes: views, reshapes, permutations that move no element, slices of the
// outermost dimension. Static tensors only. nullopt if they are not, or if unknown.
std::optional<std::vector<ViewPiece>> ViewOfArgument(const KernelCallView& call);

// Whether the result has the bytes of the first argument for all dynamic sizes, and
// runtime/schema/operator_facts.h permits it to alias the argument.
bool HasBytesOfArgument(const KernelCallView& call);

// Returns the operands and their offsets if the result of a kernel call is the concatenation of its
// operands in memory. Static tensors only.
std::optional<std::vector<ViewPiece>> JoinedOperands(const KernelCallView& call);

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_VIEW_BYTES_H_
