// Fourier transforms.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "exir/ops/families.h"
#include "exir/ops/layout_rules.h"
#include "exir/ops/meta_arguments.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/shape_rules/fft.h"

namespace belay::exir {
namespace {

// Returns the layout of the results of PyTorch's transforms: other dimensions first, by descending
// stride, then the transformed ones in their given order.
TensorMeta TransformResult(const TensorMeta& self, DType dtype, std::vector<SymInt> sizes,
                           const std::vector<int>& dims) {
  std::vector<int> order;
  for (int d = 0; d < self.rank(); ++d) {
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) order.push_back(d);
  }
  SortByStride(self, order.begin(), order.end());
  order.insert(order.end(), dims.begin(), dims.end());
  return TensorMeta::Dense(dtype, std::move(sizes),
                           std::vector<uint8_t>(order.begin(), order.end()));
}

absl::Status RealFftMeta(MetaContext& context, const RealFftCall<MetaArguments>& call) {
  const TensorMeta* const self = call.self;
  ABSL_ASSIGN_OR_RETURN(const Sizes dims, call.TransformedDims());
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, call.Shape(dims));
  std::vector<int> order(dims.begin(), dims.end());
  SortByStride(*self, order.begin(), order.end() - 1);
  context.SetOutput(0, TransformResult(*self, call.result_dtype(), std::move(shape), order));
  return absl::OkStatus();
}

// Returns the result of a complex transform of `dims`.
TensorMeta ComplexFftResult(const TensorMeta& self, std::vector<int> dims) {
  if (dims.empty()) return self;
  SortByStride(self, dims.begin(), dims.end());
  return TransformResult(self, self.dtype, self.sizes, dims);
}

absl::Status InverseRealFftMeta(MetaContext& context,
                                const InverseRealFftCall<MetaArguments>& call) {
  const TensorMeta* const self = call.self;
  ABSL_ASSIGN_OR_RETURN(const Sizes dims, call.TransformedDims());
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, call.Shape(dims));
  // All dimensions except the last are transformed first.
  const TensorMeta halfway =
      ComplexFftResult(*self, std::vector<int>(dims.begin(), dims.end() - 1));
  context.SetOutput(0, TransformResult(halfway, RealPart(self->dtype), std::move(shape),
                                       {static_cast<int>(dims.back())}));
  return absl::OkStatus();
}

absl::Status ComplexFftMeta(MetaContext& context, const ComplexFftCall<MetaArguments>& call) {
  const TensorMeta* const self = call.self;
  ABSL_ASSIGN_OR_RETURN(const Sizes dims, call.TransformedDims());
  if (dims.empty()) {
    context.SetTensor(0, self->dtype, self->sizes);
  } else {
    context.SetOutput(0, ComplexFftResult(*self, std::vector<int>(dims.begin(), dims.end())));
  }
  return absl::OkStatus();
}

constexpr Tolerance kFourier = {1e-5, 1e-5};

constexpr OpDef kRows[] = {
    {.schema = "aten::_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor",
     .meta = &MetaKernel<&RealFftMeta>,
     .traits = kCore,
     .dtypes = "self:{f32} ->:{c64} | self:{f64} ->:{c128}",
     .tolerance = kFourier},
    {.schema = "aten::_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> "
               "Tensor",
     .meta = &MetaKernel<&InverseRealFftMeta>,
     .traits = kCore,
     .dtypes = "self:{c64} ->:{f32} | self:{c128} ->:{f64}",
     .tolerance = kFourier},
    {.schema = "aten::_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> "
               "Tensor",
     .meta = &MetaKernel<&ComplexFftMeta>,
     .dtypes = "self:A ->:A A=complex",
     .tolerance = kFourier},
};

}  // namespace

absl::Span<const OpDef> FftOps() { return kRows; }

}  // namespace belay::exir
