// What an operator that writes becomes in a functional program.
#ifndef BELAY_EXIR_FUNCTIONALIZE_FUNCTIONAL_FORM_H_
#define BELAY_EXIR_FUNCTIONALIZE_FUNCTIONAL_FORM_H_

#include <optional>
#include <vector>

#include "exir/builder/op_builder.h"
#include "exir/builder/op_call.h"

namespace belay::exir {

struct FunctionalForm {
  enum class Kind : uint8_t {
    kValues,  // gives the new value of what is written, the first argument
    kAlias,   // writes nothing: detach_
    kView,    // only changes what the tensor shows: squeeze_ becomes squeeze
    kOut,     // gives the new values of the last arguments, one for each return; takes the others
    kBoth,    // gives what the operator gives, and then the new values of what it writes, in order
  };
  Kind kind = Kind::kValues;
  // The functional variant (exir/op/op_variants.h); null for kAlias and where `compute` does it.
  const OpOverload* op = nullptr;
  std::vector<Argument> (*compute)(OpBuilder& b, const OpCall& call) = nullptr;
};

// Of an operator whose schema writes. `op` gives as many results as the kind says. nullopt when
// there is none: the message of the error is the caller's.
std::optional<FunctionalForm> FunctionalFormOf(const OpRegistry& ops, const OpOverload& op);

}  // namespace belay::exir

#endif  // BELAY_EXIR_FUNCTIONALIZE_FUNCTIONAL_FORM_H_
