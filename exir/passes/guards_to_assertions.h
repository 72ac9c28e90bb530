#ifndef BELAY_EXIR_PASSES_GUARDS_TO_ASSERTIONS_H_
#define BELAY_EXIR_PASSES_GUARDS_TO_ASSERTIONS_H_

#include "exir/pass/pass.h"

namespace belay::exir {

// Makes what the exporter assumed of the inputs something that the program checks before it
// computes. A guard ("L['x'].size()[0] % 4 == 0", a Python expression over the call's arguments)
// becomes an `_assert_scalar` at the start of the top graph, whose message is the guard; one that
// follows from what every call checks (sizes' ranges, dimensions with one symbol) needs none. Both
// leave ExportedProgram::guards: what stays there can't be checked, because it asks for more than
// sizes and whole numbers, names no input, or was false in the exporter's own call. Nothing of the
// text is executed.
//
// An equality that gives a symbol of a size ("(L['x'].size()[0] // 2) == L['y'].size()[0]") puts
// what it says in the symbol's place in the whole program, so that operators find the sizes equal;
// one between other expressions puts the shorter in the place of the longer.
// "whole % 4 == 0" makes whole // (whole // 4), which reshape(-1, 4) gives, 4.
// A dimension of an input whose size is an expression that inputs are not compared by, such as
// s0 // 2, is asserted to have it. Source: docs/pt2-format.md §10, §14 item 28.
Pass GuardsToAssertions();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_GUARDS_TO_ASSERTIONS_H_
