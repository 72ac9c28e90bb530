#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_CONV2D_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_CONV2D_H_

#include "backends/cpu/aot/pass_diagnostics.h"
#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// Winograd convolutions (runtime/kernels/packed/winograd.h) that LowerConv2d may choose.
enum class Winograd {
  kNever,
  kAccurate,  // F(2 x 2, 3 x 3) for sums of at least 24 terms: about as accurate as conv2d
  kAny,       // F(4 x 4, 3 x 3), too, and for shorter sums
};

// Lowers aten.convolution over images, with the weight packed:
//
//   one filter per channel   ->  belay_cpu::depthwise_conv2d
//   other float32            ->  belay_cpu::conv2d
//   bfloat16                 ->  belay_cpu::bfloat16_conv2d
//     one filter per channel ->  belay_cpu::bfloat16_depthwise_conv2d
//
// Those of bfloat16 require supported numbers of channels (backends/cpu/bfloat16_calls.h) and a
// constant bias; WidenProducts handles the rest. Zero padding around the input becomes the
// operator's padding. Unused constants are erased. Layouts stay as declared; AssignLayouts adapts
// them.
//
// Float32 convolutions with 3x3 filters, stride 1 and dilation 1 become belay_cpu::winograd_conv2d if
// `winograd` allows it, and those over volumes, with such windows in each plane,
// belay_cpu::winograd_convolution. Sizes must be known, and the expected cost, with transforms and the larger
// filters, must be below three quarters of conv2d's.
//
// Grouped, transposed and 3-D convolutions become belay_cpu::convolution
// (backends/cpu/convolution_calls.h) or belay_cpu::bfloat16_convolution, packed by groups and
// phases. A quantized weight of one is first replaced by its float32 values; the next run of the
// pass lowers the convolution.
//
// Not lowered: other dtypes, weights that are empty, not finite or not constant, scalars above 2^24
// (256 if transposed), and one spatial dimension. Top graph only. `diagnostics` may be null; else
// it must outlive the pass.
exir::Pass LowerConv2d(PassDiagnostics* diagnostics = nullptr,
                       Winograd winograd = Winograd::kNever);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_CONV2D_H_
