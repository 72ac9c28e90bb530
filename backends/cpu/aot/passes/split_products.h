#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_SPLIT_PRODUCTS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_SPLIT_PRODUCTS_H_

#include "backends/cpu/aot/fused_handles.h"
#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// Products whose features are split become a product per part, so that nothing is copied and the
// epilogue of each part can be fused (FuseEpilogues), as in gated linear units:
//
//   a, b = split(linear(x, w), [n, m], -1)  ->  a = linear(x, w[:n]); b = linear(x, w[n:])
//   a, b = split(conv2d(x, w), [n, m], 1)   ->  a = conv2d(x, w[:n]); b = conv2d(x, w[n:])
//
// The packed weights are parts of the original's bytes. A reshape between a linear layer and the
// split that keeps the features is repeated. Not split: products with other users, an addend, or a
// weight that others use; products of one row, whose parts are contiguous already and too short for
// a call each; parts that do not start at a panel of 32 features; more than 8 parts. Top graph only.
// `handles` must outlive the pass. O(nodes).
exir::Pass SplitProducts(FusedHandles& handles);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_SPLIT_PRODUCTS_H_
