#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_ASSIGN_LAYOUTS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_ASSIGN_LAYOUTS_H_

#include "backends/cpu/aot/pass_diagnostics.h"
#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// Infers the layout of every value (exir/ir/infer.h) and inserts copies where an operator needs
// another layout. Convolutions return channels last images (see also ContiguousResults); standard
// operators propagate the layout of their inputs.
//
//   convolutions  `input` and `other` channels last; max_pool2d likewise. conv2d and
//                 quantized_conv2d accept an `input` of few channels in any layout
//   linear        contiguous tensors
//   quantized_add images channels last, other tensors contiguous
//   attention     queries, keys and values with a dense last dimension
//
// A value is copied to a given layout once, before its first user. Graph outputs keep their
// declared layout if it is contiguous or channels last. If two layouts are the same bytes, nothing
// is copied.
//
// Permutations between attention and other operators get layouts in which they move no data, and
// the emitter removes them. Layouts must not be inferred again after this pass. Top graph only.
// `diagnostics` may be null; else it must outlive the pass.
exir::Pass AssignLayouts(PassDiagnostics* diagnostics = nullptr);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_ASSIGN_LAYOUTS_H_
