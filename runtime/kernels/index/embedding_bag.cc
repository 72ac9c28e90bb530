#include "runtime/kernels/index/embedding_bag.h"

#include <algorithm>

#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernels/call/gather_walk.h"
#include "runtime/kernels/call/operands.h"
#include "runtime/kernels/call/strided_view.h"
#include "runtime/kernels/pool/pool_sums.h"

namespace belay {
namespace {

void WriteElement(const TensorView& to, int64_t offset, int64_t value) {
  if (to.dtype == DType::kInt64) {
    to.as<int64_t>()[offset] = value;
  } else {
    to.as<int32_t>()[offset] = static_cast<int32_t>(value);
  }
}
void WriteIndex(const TensorView& to, int64_t i, int64_t value) {
  WriteElement(to, i * to.strides[0], value);
}

bool HasRows(const TensorView& t) { return t.strides[1] == 1 || t.sizes[1] == 1; }

}  // namespace

absl::Status EmbeddingBag(KernelContext& context, const EmbeddingBagCall<KernelArguments>& call) {
  const TensorView &weight = *call.weight, &indices = *call.indices, &offsets = *call.offsets;
  ABSL_ASSIGN_OR_RETURN(const BagShape<CheckedInt> shape, call.Shape());
  const auto mode = static_cast<BagMode>(call.mode);
  const DType index_type = call.IndexType();
  // The mode of maxima is not accepted, but a mode computed at run time may be any.
  const bool largest = mode == BagMode::kMax;
  const bool skips =
      BagSkipsOffsets(weight.dtype, call.mode, call.padding_idx, weight.strides[1] == 1);
  const Dims<CheckedInt> table({shape.bags, shape.features}), vector({shape.bags});
  const Dims<CheckedInt> bag_of({skips ? CheckedInt(0) : shape.indices});
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, weight.dtype, table));
  ABSL_ASSIGN_OR_RETURN(const TensorView* offset2bag, OutputOf(context, 1, index_type, bag_of));
  ABSL_ASSIGN_OR_RETURN(const TensorView* bag_size, OutputOf(context, 2, index_type, vector));
  ABSL_ASSIGN_OR_RETURN(const TensorView* rows,
                        OutputOf(context, 3, index_type, largest ? table : vector));
  FillZero(*offset2bag);
  FillZero(*rows);
  const int64_t features = shape.features.value(), count = indices.sizes[0];
  ABSL_ASSIGN_OR_RETURN(double* const sums, ScratchArray<double>(context, features));
  ABSL_ASSIGN_OR_RETURN(float* const row, ScratchArray<float>(context, CheckedInt(features) * 3));
  float* const result = row + 2 * features;  // after the sums
  const auto offset = [&](int64_t b) { return ReadIndex(offsets, b * offsets.strides[0]); };
  Budget::Pace pace;
  for (int64_t b = 0; b < shape.bags.value() && !pace.stopped(); ++b) {
    const int64_t begin = offset(b), end = b + 1 < offsets.sizes[0] ? offset(b + 1) : count;
    if (begin < 0 || end < begin || end > count || (b == 0 && begin != 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("_embedding_bag: bag ", b, " from ", begin, " to ", end,
                       "; offsets must begin at 0, rise, and end within the ", count, " indices"));
    }
    int64_t size = 0;
    for (int64_t i = begin; i < end && !pace.Stop(features + 16); ++i) {
      const int64_t index = ReadIndex(indices, i * indices.strides[0]);
      if (index < 0 || index >= weight.sizes[0]) return IndexOutOfRange(index, weight.sizes[0], 0);
      if (!skips) WriteIndex(*offset2bag, i, b);
      if (index == call.padding_idx) continue;
      const float* const values = weight.as<const float>() + index * weight.strides[0];
      if (!largest) {
        SumRows(values, 1, 0, features, size > 0, sums);
      } else {
        for (int64_t f = 0; f < features; ++f) {
          const auto value = static_cast<double>(values[f]);
          if (size > 0 && !(value > sums[f])) continue;
          sums[f] = value;
          WriteElement(*rows, b * rows->strides[0] + f * rows->strides[1], index);
        }
      }
      ++size;
    }
    if (size == 0) std::fill_n(sums, features, 0.0);
    WriteIndex(*bag_size, b, size);
    const double divisor = mode == BagMode::kMean && size > 0 ? static_cast<double>(size) : 1;
    float* const to = out->as<float>() + b * out->strides[0];
    if (out->strides[1] == 1) {
      ScaleSums(sums, 1 / divisor, features, to);
    } else {
      ScaleSums(sums, 1 / divisor, features, result);
      for (int64_t f = 0; f < features; ++f) to[f * out->strides[1]] = result[f];
    }
  }
  return absl::OkStatus();
}

bool AcceptsEmbeddingBag(const KernelContext&, const EmbeddingBagCall<KernelArguments>& call) {
  const auto mode = static_cast<BagMode>(call.mode);
  return call.weight->dtype == DType::kFloat32 && call.weight->rank() == 2 &&
         HasRows(*call.weight) && (mode == BagMode::kSum || mode == BagMode::kMean) &&
         call.per_sample_weights == nullptr;
}

uint64_t EmbeddingBagScratch(const KernelContext&, const EmbeddingBagCall<KernelArguments>& call) {
  // Sums in double, and a row of results.
  return ScratchBytesOf<float>(CheckedInt(call.weight->sizes[1]) * 3);
}

}  // namespace belay
