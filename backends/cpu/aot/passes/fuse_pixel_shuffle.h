#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_PIXEL_SHUFFLE_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_PIXEL_SHUFFLE_H_

#include "backends/cpu/aot/fused_handles.h"
#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// Pixel shuffles are decomposed to views with six dimensions, which have no channels last layout.
// They become one operator again, which moves elements between channels last images in one copy:
//
//   view(permute(view(x, [n,c,r,r,h,w]), [0,1,4,2,5,3]), [n,c,h*r,w*r])  ->  pixel_shuffle(x, r)
//   view(permute(view(x, [n,c,h,r,w,r]), [0,1,3,5,2,4]), [n,c*r*r,h,w])  ->  pixel_unshuffle(x, r)
//
// Conditions: r is known, and the first view and the permutation have no other users. Any dtype.
// Top graph only. O(nodes).
exir::Pass FusePixelShuffle(FusedHandles& handles);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_PIXEL_SHUFFLE_H_
