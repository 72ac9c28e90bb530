// Functional forms of operators that write to their arguments.
#ifndef BELAY_EXIR_FUNCTIONALIZE_FUNCTIONAL_FORM_H_
#define BELAY_EXIR_FUNCTIONALIZE_FUNCTIONAL_FORM_H_

#include <optional>
#include <vector>

#include "exir/builder/op_builder.h"
#include "exir/builder/op_call.h"

namespace belay::exir {

struct FunctionalForm {
  enum class Kind : uint8_t {
    kValues,  // returns the new value of the written (first) argument
    kAlias,   // writes nothing: detach_
    kView,    // only changes the view of the tensor: squeeze_ becomes squeeze
    kOut,     // takes the arguments without the outputs (the last ones); returns their new values
    kBoth,    // returns the operator's results, then the new values of the written arguments
  };
  Kind kind = Kind::kValues;
  // The functional variant (exir/op_definition/op_variants.h); null for kAlias and if `compute` is set.
  const OpOverload* op = nullptr;
  std::vector<Argument> (*compute)(OpBuilder& b, const OpCall& call) = nullptr;
};

// Returns the form of an operator whose schema declares writes. The kind determines the number of
// results of `op`. nullopt if no form exists; the caller reports the error.
std::optional<FunctionalForm> FunctionalFormOf(const OpRegistry& ops, const OpOverload& op);

}  // namespace belay::exir

#endif  // BELAY_EXIR_FUNCTIONALIZE_FUNCTIONAL_FORM_H_
