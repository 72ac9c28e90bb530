#include <algorithm>
#include <cstring>

#include "runtime/core/status_macros.h"
#include "runtime/kernel/shape_rules/convolution.h"
#include "runtime/kernels/conv/conv.h"
#include "runtime/kernels/dense.h"
#include "runtime/kernels/gemm/gemm.h"
#include "runtime/kernels/reference/operands.h"

namespace belay {
namespace {

constexpr DTypeSet kF32 = {DType::kFloat32};

// A convolution with two spatial dimensions; one is the second of two.
struct Geometry {
  int64_t batch, channels, height, width;
  int64_t filters, filter_channels, kernel_height, kernel_width;
  int64_t out_height, out_width;
  int64_t stride[2], padding[2], dilation[2];
  int64_t groups;
  int64_t patch() const { return filter_channels * kernel_height * kernel_width; }
  bool depthwise() const { return filter_channels == 1 && groups == channels; }
  // The product's right side is the image itself.
  bool pointwise() const {
    return kernel_height == 1 && kernel_width == 1 && stride[0] == 1 && stride[1] == 1 &&
           padding[0] == 0 && padding[1] == 0;
  }
};

// The outputs x whose place x * stride + shift lies in [0, size): first <= x < last <= count.
struct Range {
  int64_t first, last;
};
Range Inside(int64_t stride, int64_t shift, int64_t size, int64_t count) {
  const int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  const int64_t last = size - shift <= 0 ? 0 : (size - shift + stride - 1) / stride;
  return {std::min(first, count), std::max(std::min(first, count), std::min(last, count))};
}

// What PackPatches gathers from: the channels of one group of one image.
struct Patches {
  const Geometry* g;
  const float* image;
};

void PackPatches(const void* source, size_t first, size_t count, size_t stride, float* panel) {
  const Patches& patches = *static_cast<const Patches*>(source);
  const Geometry& g = *patches.g;
  for (int64_t c = 0; c < g.filter_channels; ++c) {
    const float* plane = patches.image + c * g.height * g.width;
    for (int64_t kh = 0; kh < g.kernel_height; ++kh) {
      for (int64_t kw = 0; kw < g.kernel_width; ++kw, panel += stride) {
        const int64_t shift_y = kh * g.dilation[0] - g.padding[0],
                      shift_x = kw * g.dilation[1] - g.padding[1];
        const Range inside = Inside(g.stride[1], shift_x, g.width, g.out_width);
        // The panel's columns, one output row after the other.
        size_t done = 0;
        int64_t y = static_cast<int64_t>(first) / g.out_width,
                x = static_cast<int64_t>(first) % g.out_width;
        while (done < count) {
          const int64_t end =
              std::min<int64_t>(g.out_width, x + static_cast<int64_t>(count - done));
          float* to = panel + done - x;  // indexed by x
          const int64_t in_y = y * g.stride[0] + shift_y;
          const bool row = in_y >= 0 && in_y < g.height;
          const int64_t from = row ? std::clamp(inside.first, x, end) : end;
          const int64_t until = row ? std::clamp(inside.last, from, end) : end;
          for (int64_t i = x; i < from; ++i) to[i] = 0;
          if (from < until) {
            const float* in = plane + in_y * g.width + shift_x;
            if (g.stride[1] == 1) {
              std::memcpy(to + from, in + from, static_cast<size_t>(until - from) * sizeof(float));
            } else {
              for (int64_t i = from; i < until; ++i) to[i] = in[i * g.stride[1]];
            }
          }
          for (int64_t i = until; i < end; ++i) to[i] = 0;
          done += static_cast<size_t>(end - x);
          x = 0;
          ++y;
        }
      }
    }
  }
}

void Depthwise(const Geometry& g, const float* input, const float* weight, const float* bias,
               float* out) {
  const int64_t per_channel = g.filters / g.channels, plane = g.height * g.width;
  const int64_t taps = g.kernel_height * g.kernel_width;
  for (int64_t n = 0; n < g.batch; ++n) {
    for (int64_t f = 0; f < g.filters; ++f) {
      const float* image = input + (n * g.channels + f / per_channel) * plane;
      const float* w = weight + f * taps;
      for (int64_t y = 0; y < g.out_height; ++y, out += g.out_width) {
        std::fill(out, out + g.out_width, bias == nullptr ? 0.0f : bias[f]);
        for (int64_t kh = 0; kh < g.kernel_height; ++kh) {
          const int64_t in_y = y * g.stride[0] + kh * g.dilation[0] - g.padding[0];
          if (in_y < 0 || in_y >= g.height) continue;
          for (int64_t kw = 0; kw < g.kernel_width; ++kw) {
            const int64_t shift = kw * g.dilation[1] - g.padding[1];
            const Range inside = Inside(g.stride[1], shift, g.width, g.out_width);
            AccumulateRowF32(image + in_y * g.width, g.width, w[kh * g.kernel_width + kw],
                             g.stride[1], shift, inside.first, inside.last, out);
          }
        }
      }
    }
  }
}

void Dense(const Geometry& g, const float* input, const float* weight, const float* bias,
           float* out, float* scratch) {
  const int64_t per_group = g.filters / g.groups, plane = g.height * g.width,
                out_plane = g.out_height * g.out_width;
  for (int64_t n = 0; n < g.batch; ++n) {
    for (int64_t group = 0; group < g.groups; ++group) {
      const float* image = input + (n * g.channels + group * g.filter_channels) * plane;
      const Patches patches{&g, image};
      GemmF32Args args;
      args.m = per_group;
      args.n = out_plane;
      args.k = g.patch();
      args.a = weight + group * per_group * g.patch();
      args.lda = g.patch();
      if (g.pointwise()) {
        args.b = image;
        args.ldb = plane;
      } else {
        args.pack = &PackPatches;
        args.pack_source = &patches;
      }
      args.c = out + (n * g.filters + group * per_group) * out_plane;
      args.ldc = out_plane;
      args.row_bias = bias == nullptr ? nullptr : bias + group * per_group;
      args.scratch = scratch;
      GemmF32(args);
    }
  }
}

// Every position that a loop computes must fit, whatever strides and paddings a file asks for.
absl::Status CheckReach(const Geometry& g) {
  for (int d = 0; d < 2; ++d) {
    const int64_t out = d == 0 ? g.out_height : g.out_width,
                  kernel = d == 0 ? g.kernel_height : g.kernel_width;
    const int64_t size = d == 0 ? g.height : g.width;
    const CheckedInt reach =
        CheckedInt(out) * g.stride[d] + CheckedInt(kernel) * g.dilation[d] + g.padding[d] + size;
    if (!(reach + reach).ok()) {
      return absl::InvalidArgumentError("convolution: stride, padding or dilation is too large");
    }
  }
  return absl::OkStatus();
}

// input, weight, bias?, stride, padding, dilation, transposed, output_padding, groups
absl::Status Convolution(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(9, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* input, TensorOf(context, 0, "input", kF32));
  ABSL_ASSIGN_OR_RETURN(const TensorView* weight, TensorOf(context, 1, "weight", kF32));
  ABSL_ASSIGN_OR_RETURN(const TensorView* bias, OptionalTensorOf(context, 2, "bias", kF32));
  ABSL_ASSIGN_OR_RETURN(const Sizes stride, context.IntList(3));
  ABSL_ASSIGN_OR_RETURN(const Sizes padding, context.IntList(4));
  ABSL_ASSIGN_OR_RETURN(const Sizes dilation, context.IntList(5));
  ABSL_ASSIGN_OR_RETURN(const bool transposed, context.Bool(6));
  ABSL_ASSIGN_OR_RETURN(const Sizes output_padding, context.IntList(7));
  ABSL_ASSIGN_OR_RETURN(const int64_t groups, context.Int(8));
  const int spatial = input->rank() - 2;
  ABSL_ASSIGN_OR_RETURN(const ConvolutionParams p,
                        MakeConvolutionParams(stride, padding, dilation, transposed, output_padding,
                                              groups, spatial));
  if (transposed || spatial > 2)
    return absl::InternalError("the call changed after the kernel was chosen");
  Dims<CheckedInt> bias_dims;
  if (bias != nullptr) bias_dims = ToDims(bias->sizes);
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape,
                        ConvolutionShape<CheckedInt>(ToDims(input->sizes), ToDims(weight->sizes),
                                                     bias == nullptr ? nullptr : &bias_dims, p));
  for (const TensorView* t : {input, weight}) ABSL_RETURN_IF_ERROR(CheckRowMajor(*t));
  if (bias != nullptr) ABSL_RETURN_IF_ERROR(CheckRowMajor(*bias));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kFloat32, shape));
  ABSL_RETURN_IF_ERROR(CheckRowMajor(*out));
  if (out->numel() == 0) return absl::OkStatus();
  const bool plane = spatial == 2;
  Geometry g;
  g.batch = input->sizes[0];
  g.channels = input->sizes[1];
  g.height = plane ? input->sizes[2] : 1;
  g.width = input->sizes[spatial + 1];
  g.filters = weight->sizes[0];
  g.filter_channels = weight->sizes[1];
  g.kernel_height = plane ? weight->sizes[2] : 1;
  g.kernel_width = weight->sizes[spatial + 1];
  g.out_height = plane ? out->sizes[2] : 1;
  g.out_width = out->sizes[spatial + 1];
  g.groups = groups;
  for (int d = 0; d < 2; ++d) {
    const int s = plane ? d : 0;
    const bool given = plane || d == 1;
    g.stride[d] = given ? p.stride[s] : 1;
    g.padding[d] = given ? p.padding[s] : 0;
    g.dilation[d] = given ? p.dilation[s] : 1;
  }
  ABSL_RETURN_IF_ERROR(CheckReach(g));
  const float* bias_data = bias == nullptr ? nullptr : bias->as<float>();
  if (g.depthwise()) {
    Depthwise(g, input->as<float>(), weight->as<float>(), bias_data, out->as<float>());
    return absl::OkStatus();
  }
  ABSL_ASSIGN_OR_RETURN(float* scratch,
                        ScratchArray<float>(context, static_cast<int64_t>(GemmScratch(g.patch()))));
  Dense(g, input->as<float>(), weight->as<float>(), bias_data, out->as<float>(), scratch);
  return absl::OkStatus();
}

bool Accepts(const KernelContext& context) {
  if (context.num_arguments() != 9 || context.num_outputs() != 1 || !IsRowMajorF32(context, 0) ||
      !IsRowMajorF32(context, 1) || !IsRowMajorF32(context, 2, /*none_counts=*/true) ||
      !IsRowMajorF32Output(context, 0)) {
    return false;
  }
  const int rank = context.argument(0).get_if<TensorView>()->rank();
  const bool* transposed = context.argument(6).get_if<bool>();
  return (rank == 3 || rank == 4) && transposed != nullptr && !*transposed;
}

uint64_t ScratchBytes(const KernelContext& context) {
  const TensorView* weight = context.argument(1).get_if<TensorView>();
  if (weight == nullptr || weight->rank() == 0 || weight->sizes[0] == 0) return 0;
  return GemmScratch(static_cast<size_t>(weight->numel() / weight->sizes[0])) * sizeof(float);
}

constexpr Kernel kKernels[] = {
    {"aten.convolution.default", "ConvolutionF32", KernelEngine::kHighway, &Convolution, &Accepts,
     &ScratchBytes},
};

}  // namespace

absl::Span<const Kernel> ConvHighwayKernels() { return kKernels; }

}  // namespace belay
