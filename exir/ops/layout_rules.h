// PyTorch's rules for the memory format of the results of convolutions, pools and similar
// operators: channels-last inputs give channels-last outputs.
#ifndef BELAY_EXIR_OPS_LAYOUT_RULES_H_
#define BELAY_EXIR_OPS_LAYOUT_RULES_H_

#include <vector>

#include "exir/op_definition/tensor_meta.h"

namespace belay::exir {

// Returns whether the strides are those of channels last (rank 4) or channels last 3d (rank 5),
// possibly with gaps. False if they are also valid as contiguous.
bool LooksChannelsLast(const TensorMeta& meta);

// Returns a dense tensor in channels-last format if `channels_last`, else contiguous.
TensorMeta DenseInFormat(DType dtype, std::vector<SymInt> sizes, bool channels_last);

// Sorts dimensions from the largest stride to the smallest; stable.
void SortByStride(const TensorMeta& meta, std::vector<int>::iterator begin,
                  std::vector<int>::iterator end);

}  // namespace belay::exir

#endif  // BELAY_EXIR_OPS_LAYOUT_RULES_H_
