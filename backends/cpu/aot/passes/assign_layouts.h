#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_ASSIGN_LAYOUTS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_ASSIGN_LAYOUTS_H_

#include "backends/cpu/aot/decisions.h"
#include "exir/pass/pass.h"

namespace belay::cpu {

// Infers the layout of every value (exir/ir/infer.h), where convolutions give images channels last
// and standard operators hand on what they get, and inserts copies where an operator wants another:
//
//   convolutions  `input` and `other` channels last, and so max_pool2d; conv2d and quantized_conv2d
//                 take an `input` of few channels as it lies
//   linear        contiguous tensors
//   quantized_add images channels last, other tensors contiguous
//   attention     queries, keys and values whose last dimension lies together
//
// A value is copied once to an order, before its first reader. Results that are returned are in the
// order that the program declared for them before, if it is contiguous or channels last. Where two
// orders are the same bytes, nothing is copied.
//
// Permutations between attention and others get, or are given, such an order that they move nothing,
// and the emitter leaves them out. Nothing may infer layouts anew after that. Top graph only.
// `decisions`, null for nobody who asks, must outlive the pass.
exir::Pass AssignLayouts(Decisions* decisions = nullptr);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_ASSIGN_LAYOUTS_H_
