// Convolutions of one, two and three dimensions, and their gradients.
//
// A convolution relates positions `a` and `b` of two tensors in every dimension: b = a * stride + k
// * dilation - padding, where k is a kernel position. The a side of a plain convolution is its
// output, the b side its input. For transposed convolutions and for the input gradient, the sides
// are swapped. One loop (Correlate) computes all of these: it fills one side from the other. The
// weight gradient sums products of both sides (WeightGradient).

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "runtime/core/budget.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/convolution.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

constexpr int64_t kTile = 64;

template <class T>
using Accumulator = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;

// [batch, channel, depth, height, width]; missing spatial dimensions have size 1.
struct Volume {
  void* data = nullptr;
  int64_t size[5] = {1, 1, 1, 1, 1};
  int64_t stride[5] = {};
};

Volume VolumeOf(const TensorView& t) {
  Volume v;
  v.data = t.data;
  for (int d = 0; d < t.rank(); ++d) {
    const int at = d < 2 ? d : 5 - t.rank() + d;
    v.size[at] = t.sizes[d];
    v.stride[at] = t.strides[d];
  }
  return v;
}

// b = a * stride + k * dilation - padding, per spatial dimension.
struct Relation {
  int64_t stride[3] = {1, 1, 1}, padding[3] = {}, dilation[3] = {1, 1, 1};
};

Relation RelationOf(const ConvolutionParams& p) {
  Relation r;
  const int first = 3 - p.stride.size();
  for (int d = 0; d < p.stride.size(); ++d) {
    r.stride[first + d] = p.stride[d];
    r.padding[first + d] = p.padding[d];
    r.dilation[first + d] = p.dilation[d];
  }
  return r;
}

int64_t CeilDiv(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

// Positions of one dimension that kernel position `k` relates: a in [first, last), b = a * stride +
// shift. Restricted to a and b inside their sizes.
struct Span1 {
  int64_t first = 0, last = 0, stride = 1, shift = 0;
};

Span1 RelatedPlaces(const Relation& r, int d, int64_t k, int64_t a_size, int64_t b_size) {
  Span1 s;
  s.stride = r.stride[d];
  s.shift = k * r.dilation[d] - r.padding[d];
  // 0 <= a * stride + shift <= b_size - 1
  s.first = s.shift >= 0 ? 0 : CeilDiv(-s.shift, s.stride);
  const int64_t room = b_size - 1 - s.shift;
  s.last = room < 0 ? 0 : std::min(a_size, room / s.stride + 1);
  return s;
}

// Returns the b position of `a`, or the a position of `b`; -1 if it has none.
int64_t Counterpart(const Span1& s, bool from_a, int64_t place) {
  if (from_a) return place >= s.first && place < s.last ? place * s.stride + s.shift : -1;
  const int64_t distance = place - s.shift;
  if (distance < 0 || distance % s.stride != 0) return -1;
  const int64_t a = distance / s.stride;
  return a >= s.first && a < s.last ? a : -1;
}

// Layout of a weight [rows, columns / groups, …] that relates two channels. If `rows_are_target`,
// dimension 0 of the weight is the target's channels.
struct WeightLayout {
  const Volume* weight = nullptr;
  bool rows_are_target = true;
  int64_t groups = 1;
};

// target[n,t,p] = bias[t] + sum over s, k of weight[t,s,k] * source[n,s,related position of p],
// where s runs over the channels of t's group.
template <class T>
void Correlate(const Volume& target, const Volume& source, const WeightLayout& layout,
               const TensorView* bias, const Relation& relation, bool target_is_a) {
  using Acc = Accumulator<T>;
  // If a tensor is empty, its other sizes may be huge: no loop may iterate over them.
  for (int64_t size : target.size) {
    if (size == 0) return;
  }
  const Volume& w = *layout.weight;
  const bool has_weights = std::find(w.size, w.size + 5, 0) == w.size + 5;
  const int64_t target_group = target.size[1] / layout.groups;
  const int64_t source_group = source.size[1] / layout.groups;
  const int64_t a_width = target_is_a ? target.size[4] : source.size[4];
  const int64_t b_width = target_is_a ? source.size[4] : target.size[4];
  const auto places = [&](int d, int64_t k) {
    const int64_t t = target.size[2 + d], s = source.size[2 + d];
    return RelatedPlaces(relation, d, k, target_is_a ? t : s, target_is_a ? s : t);
  };

  // Accumulates `count` neighbors from `x0` on in row (z, y) of channel t.
  const auto add_row = [&](int64_t n, int64_t t, int64_t z, int64_t y, int64_t x0, int64_t count,
                           Acc* sum) {
    const int64_t group = t / target_group;
    const T* images = static_cast<const T*>(source.data) + n * source.stride[0] +
                      group * source_group * source.stride[1];
    const T* weights = static_cast<const T*>(w.data) +
                       (layout.rows_are_target ? t * w.stride[0]
                                               : group * source_group * w.stride[0] +
                                                     (t - group * target_group) * w.stride[1]);
    const int64_t weight_step = layout.rows_are_target ? w.stride[1] : w.stride[0];
    for (int64_t kz = 0; kz < w.size[2]; ++kz) {
      const int64_t iz = Counterpart(places(0, kz), target_is_a, z);
      if (iz < 0) continue;
      for (int64_t ky = 0; ky < w.size[3]; ++ky) {
        const int64_t iy = Counterpart(places(1, ky), target_is_a, y);
        if (iy < 0) continue;
        for (int64_t kx = 0; kx < w.size[4]; ++kx) {
          // Neighbors `to`, `to` + to_step, … depend on `from`, `from` + from_step, ….
          const Span1 span = RelatedPlaces(relation, 2, kx, a_width, b_width);
          int64_t first = span.first, last = span.last, from, to, from_step = 1, to_step = 1;
          if (target_is_a) {
            first = std::max(first, x0);
            last = std::min(last, x0 + count);
            from = first * span.stride + span.shift;
            from_step = span.stride;
            to = first - x0;
          } else {
            // x0 <= a * stride + shift < x0 + count
            const int64_t below = x0 - span.shift, above = x0 + count - span.shift;
            if (below > 0) first = std::max(first, CeilDiv(below, span.stride));
            last = above <= 0 ? 0 : std::min(last, CeilDiv(above, span.stride));
            from = first;
            to = first * span.stride + span.shift - x0;
            to_step = span.stride;
          }
          const int64_t n_places = last - first;
          if (n_places <= 0) continue;
          from = iz * source.stride[2] + iy * source.stride[3] + from * source.stride[4];
          from_step *= source.stride[4];
          const int64_t k = kz * w.stride[2] + ky * w.stride[3] + kx * w.stride[4];
          for (int64_t s = 0; s < source_group; ++s) {
            const Acc factor = ConvertElement<Acc>(weights[s * weight_step + k]);
            const T* in = images + s * source.stride[1] + from;
            if (from_step == 1 && to_step == 1) {
              for (int64_t i = 0; i < n_places; ++i) {
                sum[to + i] += factor * ConvertElement<Acc>(in[i]);
              }
            } else {
              for (int64_t i = 0; i < n_places; ++i) {
                sum[to + i * to_step] += factor * ConvertElement<Acc>(in[i * from_step]);
              }
            }
          }
        }
      }
    }
  };

  Budget::Pace pace;
  const int64_t row_units = kTile * source_group * w.size[2] * w.size[3] * w.size[4];
  for (int64_t n = 0; n < target.size[0]; ++n) {
    for (int64_t t = 0; t < target.size[1]; ++t) {
      const Acc start =
          bias == nullptr ? Acc() : ConvertElement<Acc>(bias->as<T>()[t * bias->strides[0]]);
      for (int64_t z = 0; z < target.size[2]; ++z) {
        for (int64_t y = 0; y < target.size[3]; ++y) {
          for (int64_t x0 = 0; x0 < target.size[4]; x0 += kTile) {
            if (has_weights && pace.Stop(row_units)) return;
            const int64_t count = std::min(kTile, target.size[4] - x0);
            Acc sum[kTile];
            std::fill_n(sum, count, start);
            if (has_weights) add_row(n, t, z, y, x0, count, sum);
            T* out = static_cast<T*>(target.data) + n * target.stride[0] + t * target.stride[1] +
                     z * target.stride[2] + y * target.stride[3] + x0 * target.stride[4];
            for (int64_t x = 0; x < count; ++x) {
              out[x * target.stride[4]] = ConvertElement<T>(sum[x]);
            }
          }
        }
      }
    }
  }
}

// weight[r,c,k] = sum over n, p of a[n,r,p] * b[n,group of r * columns + c,related position of p].
template <class T>
void WeightGradient(const Volume& weight, const Volume& a, const Volume& b,
                    const Relation& relation, int64_t groups) {
  if (std::find(weight.size, weight.size + 5, 0) != weight.size + 5) return;
  const int64_t rows_per_group = weight.size[0] / groups;
  for (int64_t r = 0; r < weight.size[0]; ++r) {
    for (int64_t c = 0; c < weight.size[1]; ++c) {
      const T* a_image = static_cast<const T*>(a.data) + r * a.stride[1];
      const T* b_image =
          static_cast<const T*>(b.data) + (r / rows_per_group * weight.size[1] + c) * b.stride[1];
      T* out = static_cast<T*>(weight.data) + r * weight.stride[0] + c * weight.stride[1];
      for (int64_t kz = 0; kz < weight.size[2]; ++kz) {
        const Span1 z = RelatedPlaces(relation, 0, kz, a.size[2], b.size[2]);
        for (int64_t ky = 0; ky < weight.size[3]; ++ky) {
          const Span1 y = RelatedPlaces(relation, 1, ky, a.size[3], b.size[3]);
          for (int64_t kx = 0; kx < weight.size[4]; ++kx) {
            if (Budget::Stop()) return;
            const Span1 x = RelatedPlaces(relation, 2, kx, a.size[4], b.size[4]);
            double sum = 0;
            const bool empty = z.first >= z.last || y.first >= y.last || x.first >= x.last;
            for (int64_t n = 0; n < a.size[0] && !empty; ++n) {
              for (int64_t az = z.first; az < z.last; ++az) {
                for (int64_t ay = y.first; ay < y.last; ++ay) {
                  const T* a_row = a_image + n * a.stride[0] + az * a.stride[2] + ay * a.stride[3];
                  const T* b_row = b_image + n * b.stride[0] +
                                   (az * z.stride + z.shift) * b.stride[2] +
                                   (ay * y.stride + y.shift) * b.stride[3];
                  for (int64_t ax = x.first; ax < x.last; ++ax) {
                    sum += ConvertElement<double>(a_row[ax * a.stride[4]]) *
                           ConvertElement<double>(b_row[(ax * x.stride + x.shift) * b.stride[4]]);
                  }
                }
              }
            }
            out[kz * weight.stride[2] + ky * weight.stride[3] + kx * weight.stride[4]] =
                ConvertElement<T>(sum);
          }
        }
      }
    }
  }
}

template <class T>
void BiasGradient(const TensorView& out, const Volume& grad) {
  for (int64_t c = 0; c < grad.size[1]; ++c) {
    double sum = 0;
    const T* image = static_cast<const T*>(grad.data) + c * grad.stride[1];
    const Sizes sizes = {grad.size[0], grad.size[2], grad.size[3], grad.size[4]};
    const Strides strides = {grad.stride[0], grad.stride[2], grad.stride[3], grad.stride[4]};
    for (StridedIterator<1> it(sizes, {strides}); !it.done(); it.Next()) {
      sum += ConvertElement<double>(image[it.offset(0)]);
    }
    out.as<T>()[c * out.strides[0]] = ConvertElement<T>(sum);
  }
}

// kInvalidArgument if the position of a kernel element could overflow. The shapes are checked
// already, but the padding of a transposed convolution can compensate for a huge kernel extent.
absl::Status CheckReach(const Volume& weight, const Volume& a, const Relation& r) {
  for (int d = 0; d < 3; ++d) {
    const CheckedInt reach = CheckedInt(a.size[2 + d]) * r.stride[d] +
                             CheckedInt(weight.size[2 + d]) * r.dilation[d] + r.padding[d];
    if (!reach.ok() || !(reach + reach).ok()) {
      return absl::InvalidArgumentError("convolution: stride, padding or dilation is too large");
    }
  }
  return absl::OkStatus();
}

absl::Status Convolution(KernelContext& context, const ConvolutionCall<KernelArguments>& call) {
  const auto& [input, weight, bias, params] = call;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, input->dtype, shape));
  const Volume target = VolumeOf(*out), source = VolumeOf(*input), kernel = VolumeOf(*weight);
  const Relation relation = RelationOf(params);
  ABSL_RETURN_IF_ERROR(CheckReach(kernel, params.transposed ? source : target, relation));
  const WeightLayout layout = {&kernel, !params.transposed, params.groups};
  DispatchDType<kConvolutionTypes>(call.input->dtype, [&](auto tag) {
    Correlate<CppType<tag.value>>(target, source, layout, call.bias, relation,
                                  !call.params.transposed);
  });
  return absl::OkStatus();
}

absl::Status ConvolutionBackward(KernelContext& context,
                                 const ConvolutionBackwardCall<KernelArguments>& call) {
  const auto& [grad, input, weight, params, mask] = call;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  const Volume grad_out = VolumeOf(*grad), in = VolumeOf(*input), kernel = VolumeOf(*weight);
  const Relation relation = RelationOf(params);
  ABSL_RETURN_IF_ERROR(CheckReach(kernel, params.transposed ? in : grad_out, relation));
  const TensorView* out[3] = {};
  const TensorView* const like[] = {input, weight};
  for (int i = 0; i < 3; ++i) {
    if ((mask >> i & 1) == 0) {
      context.SetScalarOutput(i, None{});
    } else if (i < 2) {
      ABSL_ASSIGN_OR_RETURN(out[i], OutputOf(context, i, grad->dtype, *like[i]));
    } else {
      ABSL_ASSIGN_OR_RETURN(out[i],
                            OutputOf(context, i, grad->dtype, absl::MakeConstSpan(&shape[1], 1)));
    }
  }
  const ConvolutionParams& p = call.params;
  DispatchDType<kFloatTypes>(call.grad_output->dtype, [&](auto tag) {
    using T = CppType<tag.value>;
    if (out[0] != nullptr) {
      const WeightLayout layout = {&kernel, p.transposed, p.groups};
      Correlate<T>(VolumeOf(*out[0]), grad_out, layout, nullptr, relation, p.transposed);
    }
    if (out[1] != nullptr) {
      WeightGradient<T>(VolumeOf(*out[1]), p.transposed ? in : grad_out,
                        p.transposed ? grad_out : in, relation, p.groups);
    }
    if (out[2] != nullptr) BiasGradient<T>(*out[2], grad_out);
  });
  return absl::OkStatus();
}

constexpr Kernel kKernels[] = {
    KernelRow<&Convolution>(
        "aten.convolution.default",
        "input weight bias stride padding dilation transposed output_padding groups", "Convolution",
        KernelEngine::kReference),
    KernelRow<&ConvolutionBackward>(
        "aten.convolution_backward.default",
        "grad_output input weight bias_sizes stride padding dilation transposed output_padding "
        "groups output_mask -> 3",
        "ConvolutionBackward", KernelEngine::kReference),
};

}  // namespace

absl::Span<const Kernel> ConvolutionKernels() { return kKernels; }

}  // namespace belay
