// Convolutions for each number of spatial dimensions.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/families.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

// Convolution with kSpatial spatial dimensions and numeric padding.
template <int kSpatial, bool kTransposed>
std::vector<Argument> Convolution(OpBuilder& b, const OpCall& c) {
  Argument input = c["input"];
  const bool batched = b.rank(input) != kSpatial + 1;
  if (!batched) input = Unsqueeze(b, input, 0);
  const std::vector<int64_t> none(kSpatial, 0);
  Argument result =
      b.Call("aten.convolution.default",
             {input, c["weight"], c["bias"], c["stride"], c["padding"], c["dilation"], kTransposed,
              kTransposed ? OpArgument(c["output_padding"]) : OpArgument(none), c["groups"]});
  return {batched ? result : Squeeze(b, result, 0)};
}

// padding="same" or "valid".
template <int kSpatial>
std::vector<Argument> NamedPadding(OpBuilder& b, const OpCall& c) {
  Argument input = c["input"];
  const std::string padding = c.String("padding");
  const std::vector<int64_t> stride = c.Ints("stride"), dilation = c.Ints("dilation");
  const bool batched = b.rank(input) != kSpatial + 1;
  // The lists of _convolution_mode may have any length.
  for (const std::vector<int64_t>* list : {&stride, &dilation}) {
    if (b.ok() && list->size() != 1 && list->size() != kSpatial) {
      b.Invalid(absl::StrCat(list == &stride ? "stride" : "dilation", ": expected 1 or ", kSpatial,
                             " numbers, got ", list->size()));
    }
  }
  if (!b.ok()) return {};
  if (padding != "same" && padding != "valid") {
    b.Invalid(absl::StrCat("padding: expected \"same\" or \"valid\", got \"", padding, "\""));
  }
  if (!batched) input = Unsqueeze(b, input, 0);
  std::vector<int64_t> both(kSpatial, 0), extra;
  bool uneven = false;
  for (int d = 0; d < kSpatial && padding == "same" && b.ok(); ++d) {
    const std::optional<int64_t> kernel = b.size(c["weight"], 2 + d).AsInt();
    if (!kernel.has_value()) {
      b.Unsupported("padding \"same\" of a kernel of unknown size");
      return {};
    }
    if (stride[d % stride.size()] != 1) b.Invalid("padding: \"same\" is for stride 1");
    int64_t total;
    if (__builtin_mul_overflow(dilation[d % dilation.size()], *kernel - 1, &total)) {
      b.Invalid("dilation: too large");
      return {};
    }
    both[d] = total / 2;
    extra.insert(extra.begin(), {0, total % 2});
    uneven = uneven || total % 2 != 0;
  }
  if (uneven) input = b.Call("aten.constant_pad_nd.default", {input, extra, 0});
  const std::vector<int64_t> none(kSpatial, 0);
  Argument result = b.Call("aten.convolution.default", {input, c["weight"], c["bias"], stride, both,
                                                        dilation, false, none, c["groups"]});
  return {batched ? result : Squeeze(b, result, 0)};
}

// Ignores flags for libraries.
std::vector<Argument> ConvolutionWithFlags(OpBuilder& b, const OpCall& c) {
  return {b.Call("aten.convolution.default", {c.arguments().begin(), c.arguments().begin() + 9})};
}
std::vector<Argument> ConvolutionMode(OpBuilder& b, const OpCall& c) {
  switch (b.rank(c["input"])) {
    case 3:
      return NamedPadding<1>(b, c);
    case 4:
      return NamedPadding<2>(b, c);
    case 5:
      return NamedPadding<3>(b, c);
    default:
      b.Invalid("expected a batch of one, two or three spatial dimensions");
      return {};
  }
}
std::vector<Argument> ThnnConv2d(OpBuilder& b, const OpCall& c) {
  const std::vector<int64_t> one = {1, 1}, none = {0, 0};
  return {b.Call("aten.convolution.default", {c["self"], c["weight"], c["bias"], c["stride"],
                                              c["padding"], one, false, none, 1})};
}

// Layout [time, batch, channels]; weight [position, channels in, channels out].
std::vector<Argument> ConvTbc(OpBuilder& b, const OpCall& c) {
  if (b.rank(c["self"]) != 3 || b.rank(c["weight"]) != 3) b.Invalid("conv_tbc: expected rank 3");
  if (!b.ok()) return {};
  const Argument result =
      b.Call("aten.conv1d.default",
             {Permute(b, c["self"], {1, 2, 0}), Permute(b, c["weight"], {2, 1, 0}), c["bias"],
              std::vector<int64_t>{1}, std::vector<int64_t>{c.Int("pad")}});
  return {Contiguous(b, Permute(b, result, {2, 0, 1}))};
}

constexpr Decomposition kDecompositions[] = {
    {"aten._convolution.default", ConvolutionWithFlags},
    {"aten._convolution.deprecated", ConvolutionWithFlags},
    {"aten._convolution_mode.default", ConvolutionMode},
    {"aten.conv1d.default", Convolution<1, false>},
    {"aten.conv1d.padding", NamedPadding<1>},
    {"aten.conv2d.default", Convolution<2, false>},
    {"aten.conv2d.padding", NamedPadding<2>},
    {"aten.conv3d.default", Convolution<3, false>},
    {"aten.conv3d.padding", NamedPadding<3>},
    {"aten.conv_tbc.default", ConvTbc},
    {"aten.conv_transpose1d.default", Convolution<1, true>},
    {"aten.conv_transpose2d.input", Convolution<2, true>},
    {"aten.conv_transpose3d.input", Convolution<3, true>},
    {"aten.thnn_conv2d.default", ThnnConv2d},
};

}  // namespace

absl::Span<const Decomposition> ConvolutionDecompositions() { return kDecompositions; }

}  // namespace belay::exir
