// Which calls only hand on bytes of their argument.
#ifndef BELAY_EXIR_EMIT_VIEW_BYTES_H_
#define BELAY_EXIR_EMIT_VIEW_BYTES_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "exir/op/op_registry.h"
#include "runtime/schema/program.pb.h"

namespace belay::exir {

// A kernel call of a method, its arguments by the names that the operator gives them. What it refers
// to must outlive it.
struct KernelCallView {
  const schema::Method& method;
  const schema::KernelCall& call;
  const OpOverload* op = nullptr;  // null: the registry does not know it

  bool has_trait(OpTrait trait) const { return op != nullptr && op->has_trait(trait); }
  // nullptr when the operator has none of the name.
  const schema::Value* argument(std::string_view name) const;
  // nullopt when it is no literal integer.
  std::optional<int64_t> Int(std::string_view name) const;
};

// Element `piece` of the result of a call: where in the bytes of its argument it lies as one run.
struct ViewPiece {
  uint32_t value = 0;  // of the result
  uint64_t offset = 0;
  bool slice = false;  // the operator takes a part
};

// When all results of a kernel call are, for any content, runs of the bytes of its first argument:
// views, reshapes, permutations that move no element, slices of the outermost dimension. Static
// tensors only. nullopt: they are not, or it is not known.
std::optional<std::vector<ViewPiece>> ViewOfArgument(const KernelCallView& call);

// The result of a call has the bytes of its first argument, at any of their dynamic sizes, and
// runtime/schema/in_place_operators.h lets it lie over the argument.
bool HasBytesOfArgument(const KernelCallView& call);

// When the result of a kernel call is its operands one behind the other: their values and where
// they lie in the result. Static tensors only.
std::optional<std::vector<ViewPiece>> JoinedOperands(const KernelCallView& call);

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_VIEW_BYTES_H_
