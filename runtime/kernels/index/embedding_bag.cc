#include "runtime/kernels/index/embedding_bag.h"

#include <algorithm>

#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/operands/element_access.h"
#include "runtime/kernels/operands/embedding_bags.h"
#include "runtime/kernels/operands/index_walk.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/pool/pool_sums.h"

namespace belay {
namespace {

bool HasContiguousRows(const TensorView& t) { return t.strides[1] == 1 || t.sizes[1] == 1; }

// best[f] = max(best[f], row[f]), with the index of its row in chosen[f]. As in PyTorch, the first row
// counts even if it is NaN, and no later NaN does.
void KeepLargest(const float* row, int64_t index, int64_t features, bool first, float* best,
                 int64_t* chosen) {
  if (first) {
    std::copy_n(row, features, best);
    std::fill_n(chosen, features, index);
    return;
  }
  for (int64_t f = 0; f < features; ++f) {
    const bool larger = row[f] > best[f];
    best[f] = larger ? row[f] : best[f];
    chosen[f] = larger ? index : chosen[f];
  }
}

}  // namespace

absl::Status EmbeddingBag(KernelContext& context, const EmbeddingBagCall<KernelArguments>& call) {
  const TensorView &weight = *call.weight, &indices = *call.indices;
  ABSL_ASSIGN_OR_RETURN(const BagShape<CheckedInt> shape, call.Shape());
  const auto mode = static_cast<BagMode>(call.mode);
  const bool largest = mode == BagMode::kMax;
  const bool skips =
      BagSkipsOffsets(weight.dtype, call.mode, call.padding_idx, weight.strides[1] == 1);
  ABSL_ASSIGN_OR_RETURN(const BagResults results, BagResultsOf(context, call, shape, skips));
  const auto& [out, offset2bag, bag_size, rows] = results;
  const int64_t features = shape.features.value();
  ABSL_ASSIGN_OR_RETURN(double* const sums, ScratchArray<double>(context, features));
  ABSL_ASSIGN_OR_RETURN(float* const row, ScratchArray<float>(context, CheckedInt(features) * 3));
  float* const result = row + 2 * features;  // after the sums, or after the positions of maxima
  ABSL_ASSIGN_OR_RETURN(int64_t* const chosen, ScratchArray<int64_t>(context, features));
  const Writer<int64_t> write_bag(*offset2bag), write_size(*bag_size), write_row(*rows);
  Budget::Pace pace;
  for (int64_t b = 0; b < shape.bags.value() && !pace.stopped(); ++b) {
    ABSL_ASSIGN_OR_RETURN(const BagRange range, BagRangeOf(call, b));
    int64_t size = 0;
    for (int64_t i = range.begin; i < range.end && !pace.Stop(features + 16); ++i) {
      const int64_t index = ReadIndex(indices, i * indices.strides[0]);
      if (index < 0 || index >= weight.sizes[0]) return IndexOutOfRange(index, weight.sizes[0], 0);
      if (!skips) write_bag(i * offset2bag->strides[0], b);
      if (index == call.padding_idx) continue;
      const float* const values = weight.as<const float>() + index * weight.strides[0];
      if (!largest) {
        SumRows(values, 1, 0, features, size > 0, sums);
      } else {
        KeepLargest(values, index, features, size == 0, result, chosen);
      }
      ++size;
    }
    write_size(b * bag_size->strides[0], size);
    float* const to = out->as<float>() + b * out->strides[0];
    const bool in_place = out->strides[1] == 1 && !largest;
    if (!largest) {
      if (size == 0) std::fill_n(sums, features, 0.0);
      const double divisor = mode == BagMode::kMean && size > 0 ? static_cast<double>(size) : 1;
      ScaleSums(sums, 1 / divisor, features, in_place ? to : result);
    } else if (size == 0) {
      std::fill_n(result, features, 0.0f);
      std::fill_n(chosen, features, int64_t{0});
    }
    for (int64_t f = 0; f < features && !in_place; ++f) to[f * out->strides[1]] = result[f];
    for (int64_t f = 0; f < features && largest; ++f) {
      write_row(b * rows->strides[0] + f * rows->strides[1], chosen[f]);
    }
  }
  return absl::OkStatus();
}

bool AcceptsEmbeddingBag(const KernelContext&, const EmbeddingBagCall<KernelArguments>& call) {
  return call.weight->dtype == DType::kFloat32 && call.weight->rank() == 2 &&
         HasContiguousRows(*call.weight) && call.per_sample_weights == nullptr;
}

uint64_t EmbeddingBagScratch(const KernelContext&, const EmbeddingBagCall<KernelArguments>& call) {
  // Sums in double or positions of maxima, and a row of results.
  return ScratchBytesOf<float>(CheckedInt(call.weight->sizes[1]) * 3);
}

}  // namespace belay
