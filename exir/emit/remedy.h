// Remedies for operators that cannot be lowered, for error messages.
#ifndef BELAY_EXIR_EMIT_REMEDY_H_
#define BELAY_EXIR_EMIT_REMEDY_H_

#include <string>
#include <string_view>

namespace belay::exir {

// Returns what to do about an unknown operator such as "aten.linalg_eig.default", as an addition to
// a message: "; use torch.linalg.eigh (docs/refused.md)". For operators of other libraries, the
// place that shows how to define one. "" if neither is known. Source: docs/refused.md.
std::string RemedyFor(std::string_view op);

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_REMEDY_H_
