// Operands and results shared by normalization kernels and their gradients.
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_NORM_PARAMETERS_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_NORM_PARAMETERS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/norm.h"
#include "runtime/kernels/operands/element_access.h"

namespace belay {

// Returns the entries of `dims` from `first` on that are not in the mask `without`.
template <class T>
DimVector<T> SelectDims(const DimVector<T>& dims, int first, uint32_t without = 0) {
  DimVector<T> out;
  for (int d = first; d < dims.size(); ++d) {
    if ((without >> d & 1) == 0) out.push_back(dims[d]);
  }
  return out;
}

// Results of a normalization, resized.
struct NormResults {
  const TensorView *out = nullptr, *mean = nullptr, *rstd = nullptr;
};
absl::StatusOr<NormResults> LayerNormResults(KernelContext& context,
                                             const LayerNormCall<KernelArguments>& call);
absl::StatusOr<NormResults> GroupNormResults(KernelContext& context,
                                             const GroupNormCall<KernelArguments>& call);

// Results of batch norm. `mean` and `rstd` are the saved statistics.
struct BatchNormResults : NormResults {
  // Running statistics of calls that update them, else null.
  const TensorView *new_mean = nullptr, *new_var = nullptr;

  // Stores the saved statistics of a channel of a training call and updates the running statistics.
  // `var` is the biased variance: divided by the number of elements.
  void SaveStatistics(const BatchNormCall<KernelArguments>& call, int64_t channel, double mean_now,
                      double var, double rstd_now) const;
};
absl::StatusOr<BatchNormResults> ResultsOf(KernelContext& context,
                                           const BatchNormCall<KernelArguments>& call);

// Reads an optional parameter. If it is absent, its strides are 0.
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

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_NORM_PARAMETERS_H_
