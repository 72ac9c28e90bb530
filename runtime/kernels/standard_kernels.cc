#include "runtime/kernels/standard_kernels.h"

#include "runtime/core/status_macros.h"
#include "runtime/kernels/conv/conv.h"
#include "runtime/kernels/creation/creation.h"
#include "runtime/kernels/distance/distance.h"
#include "runtime/kernels/fft/fft.h"
#include "runtime/kernels/gemm/gemm.h"
#include "runtime/kernels/gemm/integer_gemm.h"
#include "runtime/kernels/gemm/mixed_gemm.h"
#include "runtime/kernels/index/index.h"
#include "runtime/kernels/movement/movement.h"
#include "runtime/kernels/norm/norm.h"
#include "runtime/kernels/pointwise/pointwise.h"
#include "runtime/kernels/pool/pool.h"
#include "runtime/kernels/quantize/quantize.h"
#include "runtime/kernels/quantize/quantized_embedding.h"
#include "runtime/kernels/reduce/reduce.h"
#include "runtime/kernels/resize/resize.h"
#include "runtime/kernels/scan/scan.h"
#include "runtime/kernels/select/select.h"
#include "runtime/kernels/softmax/softmax.h"
#include "runtime/kernels/sort/sort.h"

namespace belay {

absl::Status AddHighwayKernels(KernelRegistry& registry) {
  for (const absl::Span<const Kernel> family : {ConvHighwayKernels(),
                                                CreationHighwayKernels(),
                                                DistanceHighwayKernels(),
                                                FftHighwayKernels(),
                                                GemmKernels(),
                                                IndexHighwayKernels(),
                                                IntegerGemmKernels(),
                                                MixedGemmKernels(),
                                                MovementKernels(),
                                                NormHighwayKernels(),
                                                PointwiseKernels(),
                                                PoolHighwayKernels(),
                                                QuantizeHighwayKernels(),
                                                QuantizationParametersHighwayKernels(),
                                                QuantizedEmbeddingHighwayKernels(),
                                                ReduceHighwayKernels(),
                                                ResizeHighwayKernels(),
                                                ScanHighwayKernels(),
                                                SelectHighwayKernels(),
                                                SoftmaxHighwayKernels(),
                                                SortHighwayKernels()}) {
    ABSL_RETURN_IF_ERROR(registry.Add(family));
  }
  return absl::OkStatus();
}

absl::Status AddStandardKernels(KernelRegistry& registry) {
  ABSL_RETURN_IF_ERROR(AddReferenceKernels(registry));
  return AddHighwayKernels(registry);
}

}  // namespace belay
