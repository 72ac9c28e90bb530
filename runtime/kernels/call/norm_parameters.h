// The operands that normalizations and their gradients share.
#ifndef BELAY_RUNTIME_KERNELS_CALL_NORM_PARAMETERS_H_
#define BELAY_RUNTIME_KERNELS_CALL_NORM_PARAMETERS_H_

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernels/call/element_access.h"

namespace belay {

// The entries of `dims` from `first` on, without those in the mask `without`.
template <class T>
DimVector<T> SelectDims(const DimVector<T>& dims, int first, uint32_t without = 0) {
  DimVector<T> out;
  for (int d = first; d < dims.size(); ++d) {
    if ((without >> d & 1) == 0) out.push_back(dims[d]);
  }
  return out;
}

// The dtype of parameters and statistics: that of the parameters that are there, else the input's.
// kInvalidArgument unless all have one dtype: the input's, or float32 for a half precision input.
absl::StatusOr<DType> ParameterDtype(const KernelContext& context, DType input,
                                     std::initializer_list<int> parameters);

// Argument `i`, one number per channel, or nullptr for none.
absl::StatusOr<const TensorView*> ChannelVector(const KernelContext& context, int i,
                                                std::string_view name, int64_t channels);

// Argument `i`, weight or bias over the normalized dimensions of layer norm, or nullptr for none.
absl::StatusOr<const TensorView*> LayerParameter(const KernelContext& context, int i,
                                                 std::string_view name, const Sizes& normalized);

// The operands of native_layer_norm, checked: (input, normalized_shape, weight?, bias?, eps) ->
// (out, mean, rstd), outputs resized.
struct LayerNormCall {
  const TensorView* input = nullptr;
  Sizes normalized;
  const TensorView *weight = nullptr, *bias = nullptr;  // null for none
  double eps = 0;
  const TensorView *out = nullptr, *mean = nullptr, *rstd = nullptr;
};
absl::StatusOr<LayerNormCall> ReadLayerNorm(KernelContext& context, DTypeSet types);

// Of native_group_norm: (input, weight?, bias?, N, C, HxW, group, eps) -> (out, mean, rstd).
struct GroupNormCall {
  const TensorView* input = nullptr;
  const TensorView *weight = nullptr, *bias = nullptr;  // null for none
  int64_t n = 0, channels = 0, groups = 0;
  double eps = 0;
  const TensorView *out = nullptr, *mean = nullptr, *rstd = nullptr;
};
absl::StatusOr<GroupNormCall> ReadGroupNorm(KernelContext& context, DTypeSet types);

// Of the forms of batch norm: (input, weight?, bias?, running_mean, running_var, training,
// momentum, eps) -> (out, save_mean, save_rstd); inference lacks training, which it is not; without
// statistics there are no running ones, and training is true.
enum class BatchNormMode { kInference, kRunning, kNoStats };
struct BatchNormCall {
  const TensorView* input = nullptr;
  const TensorView *weight = nullptr, *bias = nullptr;               // null for none
  const TensorView *running_mean = nullptr, *running_var = nullptr;  // null for kNoStats
  // The same in calls that change them, else null.
  const TensorView *new_mean = nullptr, *new_var = nullptr;
  bool training = false;
  double momentum = 0, eps = 0;
  const TensorView *out = nullptr, *save_mean = nullptr, *save_rstd = nullptr;

  // Keeps what a channel of a training call had: the saved statistics, and the running ones moved
  // towards it. `var` is divided by the number of elements.
  void SaveStatistics(int64_t channel, double mean, double var, double rstd) const;
};
absl::StatusOr<BatchNormCall> ReadBatchNorm(KernelContext& context, BatchNormMode mode,
                                            DTypeSet types);

// Reads a parameter that may be missing; its strides are 0 then.
struct LayerReader {
  LayerReader(const TensorView* t, int rank, double fallback)
      : load(t == nullptr ? nullptr : LoadAs<double>(t->dtype)),
        data(t == nullptr ? nullptr : t->data),
        strides(t == nullptr ? Strides(rank, 0) : t->strides),
        fallback(fallback) {}
  double operator()(int64_t offset) const {
    return load == nullptr ? fallback : load(data, offset);
  }

  LoadFn<double> load;
  const void* data;
  Strides strides;
  double fallback;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_CALL_NORM_PARAMETERS_H_
