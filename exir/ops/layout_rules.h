// Channels last in, channels last out: which memory format convolutions, pools and the like pass
// on, by PyTorch's rules.
#ifndef BELAY_EXIR_OPS_LAYOUT_RULES_H_
#define BELAY_EXIR_OPS_LAYOUT_RULES_H_

#include <vector>

#include "exir/op/tensor_meta.h"

namespace belay::exir {

// Whether the strides are those of channels last (rank 4) or channels last 3d (rank 5), perhaps
// with gaps. False where contiguous is as good a reading.
bool LooksChannelsLast(const TensorMeta& meta);

// A dense tensor in channels last where `channels_last`, else contiguous.
TensorMeta DenseInFormat(DType dtype, std::vector<SymInt> sizes, bool channels_last);

// Sorts dimensions from the largest stride to the smallest, ties as they stand.
void SortByStride(const TensorMeta& meta, std::vector<int>::iterator begin,
                  std::vector<int>::iterator end);

}  // namespace belay::exir

#endif  // BELAY_EXIR_OPS_LAYOUT_RULES_H_
