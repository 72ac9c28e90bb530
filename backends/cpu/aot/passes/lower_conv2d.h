#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_CONV2D_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_CONV2D_H_

#include "backends/cpu/aot/decisions.h"
#include "exir/pass/pass.h"

namespace belay::cpu {

// aten.convolution over images becomes belay_cpu::conv2d, or belay_cpu::depthwise_conv2d where every
// channel has one filter of its own, with the weight packed; zeros that are padded around its input
// become its padding. Of bfloat16 it becomes belay_cpu::bfloat16_conv2d, if that has its channels
// (backends/cpu/bfloat16_calls.h) and the bias is a constant; WidenProducts takes those that are left.
// Constants that nothing reads any more go. Layouts stay as declared: AssignLayouts makes them what the
// operators want and give.
//
// With `winograd`, those of float32 with filters of 3 by 3, stride and dilation 1, become
// belay_cpu::winograd_conv2d where sizes are known and its expected cost, with the transforms and the
// reading of larger filters, is below three quarters of conv2d's.
//
// Of float32, grouped and transposed convolutions, and those over volumes, become
// belay_cpu::convolution (backends/cpu/convolution_calls.h), packed by groups and phases.
//
// Left as they are: other dtypes, weights that are no constants or have no elements, numbers above 2^24
// (256 where transposed), one dimension. Top graph only. `decisions`, null for nobody who asks, must outlive the pass.
exir::Pass LowerConv2d(Decisions* decisions = nullptr, bool winograd = false);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_CONV2D_H_
