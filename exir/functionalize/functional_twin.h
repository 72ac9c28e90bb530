// The functional operator that computes what an operator writes.
#ifndef BELAY_EXIR_FUNCTIONALIZE_FUNCTIONAL_TWIN_H_
#define BELAY_EXIR_FUNCTIONALIZE_FUNCTIONAL_TWIN_H_

#include <optional>
#include <string>
#include <vector>

#include "exir/builder/op_builder.h"
#include "exir/builder/op_call.h"

namespace belay::exir {

struct FunctionalTwin {
  enum class Kind : uint8_t {
    kValues,  // gives the new values of what is written, in order, and then its own results
    kAlias,   // writes nothing: detach_
    kView,    // only changes what the tensor shows: squeeze_ becomes squeeze
    kOut,     // gives the new values of the last arguments, one for each return; takes the others
    kBoth,    // gives what the operator gives, and then the new values of what it writes, in order
  };
  Kind kind = Kind::kValues;
  const OpOverload* op = nullptr;  // of kValues, kView, kOut and kBoth; null: `compute` does it
  std::vector<Argument> (*compute)(OpBuilder& b, const OpCall& call) = nullptr;
};

// Of an operator whose schema writes. nullopt when there is none: the message of the error is the
// caller's.
std::optional<FunctionalTwin> FunctionalTwinOf(const OpRegistry& ops, const OpOverload& op);

// Whether the operator writes although nothing is known of it: PyTorch's name for those ends with
// an underscore.
bool LooksMutating(const OpOverload& op);

}  // namespace belay::exir

#endif  // BELAY_EXIR_FUNCTIONALIZE_FUNCTIONAL_TWIN_H_
