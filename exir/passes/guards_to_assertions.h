#ifndef BELAY_EXIR_PASSES_GUARDS_TO_ASSERTIONS_H_
#define BELAY_EXIR_PASSES_GUARDS_TO_ASSERTIONS_H_

#include "exir/pass_manager/pass.h"

namespace belay::exir {

// Converts the exporter's assumptions about inputs to checks at the start of the program. A guard
// ("L['x'].size()[0] % 4 == 0", a Python expression over the call's arguments) becomes an
// `_assert_scalar` at the start of the top graph, with the guard as message. A guard that follows
// from the checks of every call (ranges of sizes, dimensions with one symbol) needs no assertion.
// Both kinds are removed from ExportedProgram::guards.
//
// Guards that remain there cannot be checked: they refer to values other than sizes and whole
// numbers, name no input, or were false in the exporter's own call. Guards are parsed, never
// executed.
//
// An equality that gives a symbol of a size ("(L['x'].size()[0] // 2) == L['y'].size()[0]")
// substitutes the expression for the symbol in the whole program, so that operators find the sizes
// equal. An equality between other expressions substitutes the shorter for the longer. "whole % 4
// == 0" rewrites whole // (whole // 4), the result of reshape(-1, 4), to 4.
//
// An input dimension whose size is an expression that calls do not check, such as s0 // 2, is also
// asserted. Source: docs/pt2-format.md §10, §14 item 28.
Pass GuardsToAssertions();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_GUARDS_TO_ASSERTIONS_H_
