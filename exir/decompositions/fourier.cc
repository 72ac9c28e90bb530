// Fourier transforms of one and of several dimensions.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/families.h"

namespace belay::exir {
namespace {

enum Direction { kForward, kInverse };

// Normalization of results by n elements: 0 none, 1 by sqrt(n), 2 by n.
int64_t Normalization(OpBuilder& b, const OpCall& c, Direction direction) {
  const std::string norm = c.IsNone("norm") ? "backward" : c.String("norm");
  if (norm == "ortho") return 1;
  if (norm == "backward") return direction == kForward ? 0 : 2;
  if (norm == "forward") return direction == kForward ? 2 : 0;
  b.Invalid(absl::StrCat("norm: expected backward, ortho or forward, got ", norm));
  return 0;
}

Argument AsComplex(OpBuilder& b, const Argument& x) {
  const DType dtype = b.dtype(x);
  if (IsComplex(dtype)) return x;
  return Cast(b, x, dtype == DType::kFloat64 ? DType::kComplex128 : DType::kComplex64);
}
Argument AsFloat(OpBuilder& b, const Argument& x) {
  const DType dtype = b.dtype(x);
  if (IsComplex(dtype)) b.Invalid("expected a real tensor, got a complex one");
  return IsIntegral(dtype, /*include_bool=*/true) ? Cast(b, x, DType::kFloat32) : x;
}
Argument Conjugate(OpBuilder& b, const Argument& x) {
  return IsComplex(b.dtype(x)) ? b.Call("aten._conj_physical.default", {x}) : x;
}

// Truncates or zero-pads to `size` elements.
Argument Resize(OpBuilder& b, const Argument& x, int64_t dim, const SymInt& size) {
  const SymInt now = b.size(x, dim);
  if (!b.ok() || now == size) return x;
  if (size.AsInt().value_or(1) < 1) {
    b.Invalid(absl::StrCat("a Fourier transform of ", size.ToString(), " points"));
  }
  if (b.rank(x) <= dim) b.Invalid("a Fourier transform of a tensor without dimensions");
  if (!b.ok()) return x;
  const SymInt kept = SymMin(now, size);
  const Argument part = kept == now ? x : Slice(b, x, dim, 0, kept);
  if (kept == size) return part;
  std::vector<SymInt> pad(static_cast<size_t>(2 * (b.rank(x) - dim)), SymInt(0));
  pad.back() = size - kept;
  return b.Call("aten.constant_pad_nd.default", {part, pad, 0});
}

// Dimensions of a transform and the requested sizes.
struct Dims {
  std::vector<int64_t> dims;
  std::vector<std::optional<SymInt>> sizes;  // parallel to `dims`
};
Dims OneDim(OpBuilder& b, const OpCall& c) {
  Dims result;
  result.dims = {b.WrapDim(c.Int("dim"), b.rank(c["self"]))};
  result.sizes = {c.IsNone("n") ? std::nullopt : std::optional<SymInt>(c.Sym("n"))};
  return result;
}
Dims SeveralDims(OpBuilder& b, const OpCall& c) {
  Dims result;
  const int64_t rank = b.rank(c["self"]);
  const std::vector<SymInt> sizes = c.IsNone("s") ? std::vector<SymInt>() : c.SymInts("s");
  if (!c.IsNone("dim")) {
    for (int64_t dim : c.Ints("dim")) result.dims.push_back(b.WrapDim(dim, rank));
  } else {
    const int64_t count = c.IsNone("s") ? rank : static_cast<int64_t>(sizes.size());
    for (int64_t dim = rank - count; dim < rank; ++dim) result.dims.push_back(dim);
  }
  if (result.dims.empty()) b.Unsupported("a Fourier transform without dimensions");
  if (!c.IsNone("s") && sizes.size() != result.dims.size()) {
    b.Invalid("a Fourier transform with another number of sizes than dimensions");
  }
  for (size_t i = 0; i < result.dims.size() && b.ok(); ++i) {
    const bool full = sizes.empty() || sizes[i].AsInt() == -1;
    result.sizes.push_back(full ? std::nullopt : std::optional<SymInt>(sizes[i]));
  }
  for (int64_t dim : result.dims) {
    if (dim < 0 || dim >= rank) b.Invalid("a dimension that the tensor does not have");
  }
  return result;
}
using GetDims = Dims (*)(OpBuilder&, const OpCall&);

Argument ResizeAll(OpBuilder& b, Argument x, const Dims& dims) {
  for (size_t i = 0; i < dims.dims.size() && b.ok(); ++i) {
    if (dims.sizes[i].has_value()) x = Resize(b, x, dims.dims[i], *dims.sizes[i]);
  }
  return x;
}

template <GetDims kDims, Direction kDirection>
std::vector<Argument> Complex(OpBuilder& b, const OpCall& c) {
  const Dims dims = kDims(b, c);
  const int64_t norm = Normalization(b, c, kDirection);
  if (!b.ok()) return {};
  const Argument x = ResizeAll(b, c["self"], dims);
  if (kDirection == kForward && dims.dims.size() == 1 && b.ok() && !IsComplex(b.dtype(x))) {
    return {b.Call("aten._fft_r2c.default", {AsFloat(b, x), dims.dims, norm, false})};
  }
  return {
      b.Call("aten._fft_c2c.default", {AsComplex(b, x), dims.dims, norm, kDirection == kForward})};
}

template <GetDims kDims>
std::vector<Argument> OfReal(OpBuilder& b, const OpCall& c) {
  const Dims dims = kDims(b, c);
  const int64_t norm = Normalization(b, c, kForward);
  if (!b.ok()) return {};
  const Argument x = ResizeAll(b, AsFloat(b, c["self"]), dims);
  return {b.Call("aten._fft_r2c.default", {x, dims.dims, norm, true})};
}

// Resizes the halved dimension of a Hermitian spectrum before a transform to real; `full` receives
// its full size.
Argument ResizeHalf(OpBuilder& b, Argument x, Dims& dims, SymInt& full) {
  const int64_t last = dims.dims.back();
  full = dims.sizes.back().has_value() ? *dims.sizes.back()
                                       : (b.size(x, last) - SymInt(1)) * SymInt(2);
  dims.sizes.back() = FloorDiv(full, SymInt(2)) + SymInt(1);
  return ResizeAll(b, std::move(x), dims);
}

template <GetDims kDims>
std::vector<Argument> ToReal(OpBuilder& b, const OpCall& c) {
  Dims dims = kDims(b, c);
  const int64_t norm = Normalization(b, c, kInverse);
  if (!b.ok()) return {};
  SymInt full;
  const Argument x = ResizeHalf(b, AsComplex(b, c["self"]), dims, full);
  return {b.Call("aten._fft_c2r.default", {x, dims.dims, norm, full})};
}

// Forward transform of a Hermitian-symmetric signal; the result is real.
template <GetDims kDims>
std::vector<Argument> OfSymmetric(OpBuilder& b, const OpCall& c) {
  Dims dims = kDims(b, c);
  const int64_t norm = Normalization(b, c, kForward);
  if (!b.ok()) return {};
  SymInt full;
  Argument x = ResizeHalf(b, AsComplex(b, c["self"]), dims, full);
  const std::vector<int64_t> last = {dims.dims.back()};
  dims.dims.pop_back();
  if (!dims.dims.empty()) x = b.Call("aten._fft_c2c.default", {x, dims.dims, norm, true});
  return {b.Call("aten._fft_c2r.default", {Conjugate(b, x), last, norm, full})};
}

template <GetDims kDims>
std::vector<Argument> ToSymmetric(OpBuilder& b, const OpCall& c) {
  Dims dims = kDims(b, c);
  const int64_t norm = Normalization(b, c, kInverse);
  if (!b.ok()) return {};
  Argument x = ResizeAll(b, AsFloat(b, c["self"]), dims);
  const std::vector<int64_t> last = {dims.dims.back()};
  dims.dims.pop_back();
  x = Conjugate(b, b.Call("aten._fft_r2c.default", {x, last, norm, true}));
  if (dims.dims.empty()) return {x};
  return {b.Call("aten._fft_c2c.default", {x, dims.dims, norm, false})};
}

template <bool kBack>
std::vector<Argument> Shift(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  std::vector<int64_t> dims = AllDims(b.rank(x));
  if (!c.IsNone("dim")) dims = c.Ints("dim");
  std::vector<SymInt> shifts;
  for (int64_t dim : dims) {
    shifts.push_back(FloorDiv(b.size(x, dim) + SymInt(kBack ? 1 : 0), SymInt(2)));
    if (!b.ok()) return {};
  }
  return {b.Call("aten.roll.default", {x, shifts, dims})};
}

// --- Short-time Fourier transforms ---

struct Frames {
  int64_t length = 0, hop = 0;
  Argument window;  // of `length` elements, or None
};
// A window shorter than a frame is centered and zero-padded.
Frames FramesOf(OpBuilder& b, const OpCall& c, DType dtype) {
  Frames frames;
  frames.length = c.Int("n_fft");
  frames.hop = c.OptionalInt("hop_length").value_or(frames.length / 4);
  const int64_t width = c.OptionalInt("win_length").value_or(frames.length);
  constexpr int64_t kMost = int64_t{1} << 40;  // avoids overflow
  if (frames.length < 1 || frames.hop < 1 || width < 1 || width > frames.length ||
      frames.length > kMost || frames.hop > kMost) {
    b.Invalid("a short Fourier transform needs positive lengths, the window's at most n_fft");
  }
  if (!b.ok()) return frames;
  frames.window = c["window"];
  if (width < frames.length) {
    if (frames.window.is_none()) frames.window = Full(b, {SymInt(width)}, 1.0, dtype);
    const int64_t left = (frames.length - width) / 2;
    frames.window =
        b.Call("aten.constant_pad_nd.default",
               {frames.window, std::vector<int64_t>{left, frames.length - width - left}, 0});
  }
  return frames;
}
bool OneSided(const OpCall& c, bool by_default) {
  return c.IsNone("onesided") ? by_default : c.Bool("onesided");
}

std::vector<Argument> ShortTransform(OpBuilder& b, const OpCall& c) {
  Argument x = c["self"];
  const bool single = b.rank(x) == 1;
  if (!single && b.rank(x) != 2) b.Invalid("stft: expected one or two dimensions");
  if (!b.ok()) return {};
  const bool complex_input = IsComplex(b.dtype(x));
  const Frames frames = FramesOf(b, c, b.dtype(x));
  if (single) x = Unsqueeze(b, x, 0);
  const bool has_center = c.op()->schema()->ArgumentIndex("center").has_value();
  if (has_center && c.Bool("center")) {
    const int64_t side = frames.length / 2;
    // Non-constant padding requires batch and channel dimensions.
    x = Squeeze(b,
                b.Call("aten.pad.default",
                       {Unsqueeze(b, x, 0), std::vector<int64_t>{side, side}, c["pad_mode"]}),
                0);
  }
  if (!c.IsNone("align_to_window") && c.Bool("align_to_window")) {
    b.Unsupported("stft: frames aligned to the window");
  }
  if (!b.ok()) return {};
  Argument parts = b.Call("aten.unfold.default", {x, -1, frames.length, frames.hop});
  if (!frames.window.is_none()) parts = Mul(b, parts, frames.window);
  const int64_t norm = c.Bool("normalized") ? 1 : 0;
  const std::vector<int64_t> last = {2};
  const bool half = OneSided(c, !complex_input);
  if (half && (complex_input || IsComplex(b.dtype(parts)))) {
    b.Invalid("stft: one side of a complex signal's transform");
  }
  const Argument spectrum = IsComplex(b.dtype(parts))
                                ? b.Call("aten._fft_c2c.default", {parts, last, norm, true})
                                : b.Call("aten._fft_r2c.default", {parts, last, norm, half});
  Argument result = Transpose(b, spectrum, 1, 2);
  if (single) result = Squeeze(b, result, 0);
  const bool complex_result = !c.IsNone("return_complex") && c.Bool("return_complex");
  return {complex_result ? result : b.Call("aten.view_as_real.default", {result})};
}

// Overlap-add of the windowed frames, divided by the sum of the squared windows.
std::vector<Argument> InverseShortTransform(OpBuilder& b, const OpCall& c) {
  Argument x = c["self"];
  if (!IsComplex(b.dtype(x))) b.Invalid("istft: expected complex numbers");
  const bool single = b.rank(x) == 2;
  if (c.Bool("return_complex")) b.Unsupported("istft: a complex result");
  if (!b.ok()) return {};
  if (single) x = Unsqueeze(b, x, 0);
  const DType dtype = b.dtype(x) == DType::kComplex128 ? DType::kFloat64 : DType::kFloat32;
  const Frames frames = FramesOf(b, c, dtype);
  const std::optional<int64_t> bins = b.size(x, 1).AsInt();
  const SymInt count = b.size(x, 2);
  if (!bins.has_value()) b.Unsupported("istft of an unknown number of frequencies");
  if (!b.ok()) return {};
  const int64_t norm = c.Bool("normalized") ? 1 : 2;
  const std::vector<int64_t> last = {2};
  x = Transpose(b, x, 1, 2);
  const int64_t half = frames.length / 2 + 1;
  const bool one_sided = OneSided(c, *bins != frames.length);
  if (*bins != (one_sided ? half : frames.length)) {
    b.Invalid(absl::StrCat("istft: expected ", one_sided ? half : frames.length,
                           " frequencies, got ", *bins));
  }
  // The result is real, so the other half of the spectrum is redundant.
  if (!one_sided) x = Slice(b, x, 2, 0, half);
  const Argument parts = b.Call("aten._fft_c2r.default", {x, last, norm, frames.length});
  constexpr int64_t kMost = int64_t{1} << 40;  // avoids overflow
  if (count.AsInt().has_value() && (*count.AsInt() < 1 || *count.AsInt() > kMost / frames.hop)) {
    b.Invalid("istft: too many frames, or none");
  }
  if (!b.ok()) return {};
  const SymInt total = SymInt(frames.hop) * (count - SymInt(1)) + SymInt(frames.length);
  const auto overlapped = [&](const Argument& columns) {
    const Argument image = b.Call(
        "aten.col2im.default", {Transpose(b, columns, 1, 2), std::vector<SymInt>{SymInt(1), total},
                                std::vector<int64_t>{1, frames.length}, std::vector<int64_t>{1, 1},
                                std::vector<int64_t>{0, 0}, std::vector<int64_t>{1, frames.hop}});
    return Reshape(b, image, {b.size(columns, 0), total});
  };
  const Argument window =
      frames.window.is_none() ? Full(b, {SymInt(frames.length)}, 1.0, dtype) : frames.window;
  const Argument weights = Expand(b, Reshape(b, Mul(b, window, window), {1, 1, frames.length}),
                                  {SymInt(1), count, SymInt(frames.length)});
  Argument signal = overlapped(Mul(b, parts, window));
  Argument weight = overlapped(weights);
  const int64_t start = c.Bool("center") ? frames.length / 2 : 0;
  const std::optional<int64_t> length = c.OptionalInt("length");
  if (length.has_value() && (*length < 0 || *length > kMost)) {
    b.Invalid(absl::StrCat("istft: a length of ", *length));
  }
  const SymInt end = length.has_value() ? SymInt(start + *length) : total - SymInt(start);
  const SymInt kept = SymMin(end, total);
  signal = Slice(b, signal, 1, start, kept);
  weight = Slice(b, weight, 1, start, kept);
  Argument result = Div(b, signal, weight);
  if (!(kept == end)) {
    result = b.Call("aten.constant_pad_nd.default",
                    {result, std::vector<SymInt>{SymInt(0), end - kept}, 0});
  }
  return {single ? Squeeze(b, result, 0) : result};
}

constexpr Decomposition kDecompositions[] = {
    {"aten.fft_fft.default", Complex<OneDim, kForward>},
    {"aten.fft_fft2.default", Complex<SeveralDims, kForward>},
    {"aten.fft_fftn.default", Complex<SeveralDims, kForward>},
    {"aten.fft_fftshift.default", Shift<false>},
    {"aten.fft_hfft.default", OfSymmetric<OneDim>},
    {"aten.fft_hfft2.default", OfSymmetric<SeveralDims>},
    {"aten.fft_hfftn.default", OfSymmetric<SeveralDims>},
    {"aten.fft_ifft.default", Complex<OneDim, kInverse>},
    {"aten.fft_ifft2.default", Complex<SeveralDims, kInverse>},
    {"aten.fft_ifftn.default", Complex<SeveralDims, kInverse>},
    {"aten.fft_ifftshift.default", Shift<true>},
    {"aten.fft_ihfft.default", ToSymmetric<OneDim>},
    {"aten.fft_ihfft2.default", ToSymmetric<SeveralDims>},
    {"aten.fft_ihfftn.default", ToSymmetric<SeveralDims>},
    {"aten.fft_irfft.default", ToReal<OneDim>},
    {"aten.fft_irfft2.default", ToReal<SeveralDims>},
    {"aten.fft_irfftn.default", ToReal<SeveralDims>},
    {"aten.fft_rfft.default", OfReal<OneDim>},
    {"aten.fft_rfft2.default", OfReal<SeveralDims>},
    {"aten.fft_rfftn.default", OfReal<SeveralDims>},
    {"aten.istft.default", InverseShortTransform},
    {"aten.stft.center", ShortTransform},
    {"aten.stft.default", ShortTransform},
};

}  // namespace

absl::Span<const Decomposition> FourierDecompositions() { return kDecompositions; }

}  // namespace belay::exir
