// Copies that move, repeat or insert elements.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/families.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

// Circular padding of the last dimensions, the last one first. Negative numbers crop, before any
// wrapping.
Argument Circular(OpBuilder& b, const Argument& x, const std::vector<SymInt>& pad) {
  Argument result = x;
  bool copied = false;
  const SymInt zero = 0;
  const auto cut = [&](const SymInt& by) { return b.Range(by).max < 0 ? zero - by : zero; };
  for (size_t i = 0; i < pad.size() / 2 && b.ok(); ++i) {
    const int64_t dim = b.rank(x) - 1 - static_cast<int64_t>(i);
    const SymInt &before = pad[2 * i], &after = pad[2 * i + 1];
    const SymInt front = cut(before), back = cut(after), whole = b.size(x, dim);
    const SymInt length = whole - front - back;
    if (b.ok() && b.Range(length).max < 0) {
      b.Invalid(absl::StrCat("pad: cuts more than the ", whole.ToString(),
                             " elements of dimension ", dim));
    }
    for (const SymInt& by : {before, after}) {
      if (b.ok() && b.Range(by - length).min > 0) {
        b.Invalid(absl::StrCat("pad: wraps ", by.ToString(), " elements of ", length.ToString()));
      }
    }
    if (!(length == whole)) result = Slice(b, result, dim, front, whole - back);
    std::vector<Argument> parts;
    if (front == zero && !(before == zero)) {
      parts.push_back(Slice(b, result, dim, length - before, length));
    }
    parts.push_back(result);
    if (back == zero && !(after == zero)) parts.push_back(Slice(b, result, dim, 0, after));
    if (parts.size() > 1) {
      result = Cat(b, parts, dim);
      copied = true;
    }
  }
  return copied ? result : Clone(b, result);
}

// constant, reflect, replicate, circular
std::vector<Argument> PadIn(OpBuilder& b, const OpCall& c, const std::string& mode) {
  const Argument& x = c["self"];
  const std::vector<SymInt> pad = c.SymInts("pad");
  const int64_t count = pad.size() / 2;
  if (!b.ok()) return {};
  if (mode == "constant") {
    return {b.Call("aten.constant_pad_nd.default", {x, c["pad"], c.Or("value", Argument(0))})};
  }
  if (count < 1 || count > 3 || pad.size() % 2 != 0)
    b.Invalid("pad: expected up to three dimensions");
  if (mode == "reflect" || mode == "replicate") {
    return {b.Call(absl::StrCat("aten.", mode == "reflect" ? "reflection" : "replication", "_pad",
                                count, "d.default"),
                   {x, c["pad"]})};
  }
  if (mode != "circular") {
    b.Invalid(absl::StrCat("pad: unknown mode '", mode, "'"));
    return {};
  }
  if (b.rank(x) != count + 1 && b.rank(x) != count + 2) {
    b.Invalid(absl::StrCat("pad: expected ", count + 1, " dimensions or ", count + 2));
  }
  return {Circular(b, x, pad)};
}

std::vector<Argument> Pad(OpBuilder& b, const OpCall& c) { return PadIn(b, c, c.String("mode")); }
std::vector<Argument> PadEnum(OpBuilder& b, const OpCall& c) {
  static constexpr const char* kModes[] = {"reflect", "replicate", "circular", "constant"};
  const int64_t mode = c.Int("mode");
  if (mode < 0 || mode > 3) b.Invalid(absl::StrCat("pad: unknown mode ", mode));
  return b.ok() ? PadIn(b, c, kModes[mode]) : std::vector<Argument>();
}
std::vector<Argument> PadCircular(OpBuilder& b, const OpCall& c) { return PadIn(b, c, "circular"); }

// --- Repetition ---

std::vector<Argument> RepeatInterleave(OpBuilder& b, const OpCall& c) {
  Argument x = c["self"];
  const SymInt repeats = c.Sym("repeats");
  if (c.IsNone("dim")) x = Reshape(b, x, {-1});
  const int64_t dim = c.IsNone("dim") ? 0 : b.WrapDim(c.Int("dim"), b.rank(x));
  if (!b.ok()) return {};
  std::vector<SymInt> sizes = b.sizes(x);
  std::vector<SymInt> result = sizes;
  if (sizes.empty()) {
    b.Invalid("repeat_interleave: the input has no dimensions");
    return {};
  }
  sizes.insert(sizes.begin() + dim + 1, repeats);
  result[dim] = result[dim] * repeats;
  const Argument expanded = Expand(b, Unsqueeze(b, x, dim + 1), sizes);
  const Argument copy =
      b.Call("aten.clone.default", {expanded}, {{"memory_format", MemoryFormat::kContiguous}});
  return {b.Call("aten.view.default", {copy, result})};
}

// Repetition counts from a tensor.
std::vector<Argument> RepeatInterleaveTensor(OpBuilder& b, const OpCall& c) {
  Argument x = c["self"], repeats = c["repeats"];
  if (c.IsNone("dim")) x = Reshape(b, x, {-1});
  const int64_t dim = c.IsNone("dim") ? 0 : b.WrapDim(c.Int("dim"), b.rank(x));
  if (b.rank(repeats) == 0) repeats = Unsqueeze(b, repeats, 0);
  if (b.size(repeats, 0) == SymInt(1)) repeats = Expand(b, repeats, {b.size(x, dim)});
  const Argument index =
      b.Call("aten.repeat_interleave.Tensor", {repeats}, {{"output_size", c["output_size"]}});
  return {b.Call("aten.index_select.default", {x, dim, index})};
}
std::vector<Argument> Tile(OpBuilder& b, const OpCall& c) {
  std::vector<SymInt> times = c.SymInts("dims");
  const size_t rank = b.rank(c["self"]);
  if (times.size() < rank) times.insert(times.begin(), rank - times.size(), SymInt(1));
  return {b.Call("aten.repeat.default", {c["self"], times})};
}

// --- Flips and rotations ---

template <int kDim>
std::vector<Argument> FlipDim(OpBuilder& b, const OpCall& c) {
  if (b.rank(c["self"]) <= kDim) b.Invalid(absl::StrCat(c.op()->name(), ": too few dimensions"));
  return {b.Call("aten.flip.default", {c["self"], std::vector<int64_t>{kDim}})};
}
std::vector<Argument> Rot90(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  std::vector<int64_t> dims = c.Ints("dims");
  if (dims.size() != 2) b.Invalid("rot90: expected two dimensions");
  if (!b.ok()) return {};
  for (int64_t& dim : dims) dim = b.WrapDim(dim, b.rank(x));
  if (dims[0] == dims[1]) b.Invalid("rot90: the dimensions are the same");
  const auto flip = [&](const std::vector<int64_t>& d) {
    return b.Call("aten.flip.default", {x, d});
  };
  switch ((c.Int("k") % 4 + 4) % 4) {
    case 1:
      return {Transpose(b, flip({dims[1]}), dims[0], dims[1])};
    case 2:
      return {flip(dims)};
    case 3:
      return {Transpose(b, flip({dims[0]}), dims[0], dims[1])};
    default:
      return {Clone(b, x)};
  }
}

// Whether slices of `dim` are of several runs of at least 16 elements. Such slices are copied
// before they are concatenated, while gathering the runs is a single copy.
bool HasLongRuns(OpBuilder& b, const Argument& x, int64_t dim) {
  const TensorMeta meta = b.meta(x);
  if (!b.ok() || !meta.is_static() || !meta.is_contiguous()) return false;
  const auto at = meta.sizes.begin() + dim;
  return Product({meta.sizes.begin(), at}).AsInt() > 1 &&
         Product({at + 1, meta.sizes.end()}).AsInt() >= 16;
}

Argument RollDim(OpBuilder& b, const Argument& x, const SymInt& shift, int64_t dim) {
  const SymInt size = b.size(x, dim);
  const std::optional<int64_t> length = size.AsInt(), by = shift.AsInt();
  if (!length.has_value() || !by.has_value() ||
      (*length > 0 && *by % *length != 0 && HasLongRuns(b, x, dim))) {
    const Argument index = b.Call("aten.remainder.Scalar", {Sub(b, Arange(b, size), shift), size});
    return b.Call("aten.index_select.default", {x, dim, index});
  }
  if (*length == 0) return x;
  const int64_t start = ((-(*by % *length)) + *length) % *length;
  if (start == 0) return x;
  return Cat(b, {Slice(b, x, dim, start, *length), Slice(b, x, dim, 0, start)}, dim);
}
std::vector<Argument> Roll(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  const std::vector<SymInt> shifts = c.SymInts("shifts");
  const std::vector<int64_t> dims = c.Ints("dims");
  if (dims.empty() && shifts.size() == 1) {
    const Argument flat = Reshape(b, x, {-1});
    return {Reshape(b, Clone(b, RollDim(b, flat, shifts[0], 0)), b.sizes(x))};
  }
  if (shifts.size() != dims.size()) b.Invalid("roll: as many shifts as dimensions");
  Argument result = x;
  for (size_t i = 0; i < dims.size() && b.ok(); ++i) {
    result = RollDim(b, result, shifts[i], b.WrapDim(dims[i], b.rank(x)));
  }
  return {result == x ? Clone(b, x) : result};
}

// --- Matrices ---

// Mask `(column - row) compare diagonal` for matrices of these sizes.
Argument DiagonalMask(OpBuilder& b, std::string_view compare, const SymInt& rows,
                      const SymInt& columns, const OpArgument& diagonal) {
  const Argument distance = Sub(b, Arange(b, columns), Unsqueeze(b, Arange(b, rows), 1));
  return Binary(b, compare, distance, diagonal);
}
template <bool kLower>
std::vector<Argument> Triangle(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  if (b.rank(x) < 2) b.Invalid("tril, triu: expected at least two dimensions");
  const Argument mask =
      DiagonalMask(b, kLower ? "le" : "ge", b.size(x, -2), b.size(x, -1), c["diagonal"]);
  return {Where(b, mask, x, 0)};
}

// Places the last dimension on a diagonal of matrices in dimensions dim1 and dim2.
Argument DiagonalEmbedded(OpBuilder& b, const Argument& x, int64_t offset, int64_t dim1,
                          int64_t dim2) {
  const int64_t rank = b.rank(x) + 1;
  if (rank < 2) b.Invalid("diag_embed: the input has no dimensions");
  dim1 = b.WrapDim(dim1, rank);
  dim2 = b.WrapDim(dim2, rank);
  if (dim1 == dim2) b.Invalid("diag_embed: the dimensions are the same");
  if (offset < -(int64_t{1} << 40) || offset > int64_t{1} << 40) b.Invalid("diag_embed: offset");
  if (!b.ok()) return Argument();
  const std::vector<int64_t> pad = {std::max<int64_t>(offset, 0), std::max<int64_t>(-offset, 0)};
  const Argument row = offset == 0 ? x : b.Call("aten.constant_pad_nd.default", {x, pad, 0});
  const SymInt size = b.size(x, -1) + SymInt(std::abs(offset));
  const Argument result =
      Where(b, DiagonalMask(b, "eq", size, size, offset), Unsqueeze(b, row, rank - 2), 0);
  std::vector<int64_t> order(rank, -1);
  order[dim1] = rank - 2;
  order[dim2] = rank - 1;
  int64_t next = 0;
  for (int64_t& from : order) {
    if (from < 0) from = next++;
  }
  return order == AllDims(rank) ? result : Permute(b, result, order);
}
std::vector<Argument> DiagEmbed(OpBuilder& b, const OpCall& c) {
  return {DiagonalEmbedded(b, c["self"], c.Int("offset"), c.Int("dim1"), c.Int("dim2"))};
}
std::vector<Argument> DiagFlat(OpBuilder& b, const OpCall& c) {
  return {DiagonalEmbedded(b, Reshape(b, c["self"], {-1}), c.Int("offset"), 0, 1)};
}
std::vector<Argument> Diag(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  if (b.rank(x) == 1) return {DiagonalEmbedded(b, x, c.Int("diagonal"), 0, 1)};
  if (b.rank(x) != 2) b.Invalid("diag: expected one dimension or two");
  return {Clone(b, b.Call("aten.diagonal.default", {x, c["diagonal"]}))};
}
std::vector<Argument> Trace(OpBuilder& b, const OpCall& c) {
  if (b.rank(c["self"]) != 2) b.Invalid("trace: expected a matrix");
  return {SumAll(b, b.Call("aten.diagonal.default", {c["self"]}))};
}

// --- Images ---

// [..., C r r, H, W]  ->  [..., C, H r, W r]
std::vector<Argument> PixelShuffle(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  const int64_t r = c.Int("upscale_factor"), rank = b.rank(x);
  if (rank < 3 || r < 1 || r > 1 << 20)
    b.Invalid("pixel_shuffle: too few dimensions, or the factor");
  if (!b.ok()) return {};
  std::vector<SymInt> sizes = b.sizes(x);
  const SymInt height = sizes[rank - 2], width = sizes[rank - 1];
  const SymInt channels = FloorDiv(sizes[rank - 3], SymInt(r * r));
  if (sizes[rank - 3].AsInt().value_or(0) % (r * r) != 0) b.Invalid("pixel_shuffle: the channels");
  sizes.resize(rank - 3);
  std::vector<SymInt> parts = sizes, result = sizes;
  parts.insert(parts.end(), {channels, SymInt(r), SymInt(r), height, width});
  result.insert(result.end(), {channels, height * SymInt(r), width * SymInt(r)});
  std::vector<int64_t> order = AllDims(rank - 3);
  for (int64_t d : {0, 3, 1, 4, 2}) order.push_back(rank - 3 + d);
  return {Reshape(b, Permute(b, Reshape(b, x, parts), order), result)};
}
std::vector<Argument> PixelUnshuffle(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  const int64_t r = c.Int("downscale_factor"), rank = b.rank(x);
  if (rank < 3 || r < 1 || r > 1 << 20) {
    b.Invalid("pixel_unshuffle: too few dimensions, or the factor");
  }
  if (!b.ok()) return {};
  std::vector<SymInt> sizes = b.sizes(x);
  for (int64_t d : {rank - 2, rank - 1}) {
    if (sizes[d].AsInt().value_or(0) % r != 0) b.Invalid("pixel_unshuffle: the image's size");
  }
  const SymInt channels = sizes[rank - 3], height = FloorDiv(sizes[rank - 2], SymInt(r)),
               width = FloorDiv(sizes[rank - 1], SymInt(r));
  sizes.resize(rank - 3);
  std::vector<SymInt> parts = sizes, result = sizes;
  parts.insert(parts.end(), {channels, height, SymInt(r), width, SymInt(r)});
  result.insert(result.end(), {channels * SymInt(r * r), height, width});
  std::vector<int64_t> order = AllDims(rank - 3);
  for (int64_t d : {0, 2, 4, 1, 3}) order.push_back(rank - 3 + d);
  return {Reshape(b, Permute(b, Reshape(b, x, parts), order), result)};
}
std::vector<Argument> ChannelShuffle(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  const std::vector<SymInt> sizes = b.sizes(x);
  const SymInt groups = c.Sym("groups");
  if (sizes.size() < 3) b.Invalid("channel_shuffle: too few dimensions");
  if (!b.ok()) return {};
  std::vector<SymInt> parts = sizes;
  parts[1] = FloorDiv(sizes[1], groups);
  parts.insert(parts.begin() + 1, groups);
  return {Reshape(b, Transpose(b, Reshape(b, x, parts), 1, 2), sizes)};
}

// [N, C, H, W]  ->  [N, C kh kw, windows]
std::vector<Argument> Im2Col(OpBuilder& b, const OpCall& c) {
  Argument x = c["self"];
  const std::vector<int64_t> kernel = c.Ints("kernel_size"), dilation = c.Ints("dilation"),
                             padding = c.Ints("padding"), stride = c.Ints("stride");
  const bool batched = b.rank(x) == 4;
  if (!batched && b.rank(x) != 3) b.Invalid("im2col: expected three dimensions or four");
  for (const auto* list : {&kernel, &dilation, &padding, &stride}) {
    if (b.ok() && list->size() != 2) b.Invalid("im2col: expected two numbers for each size");
  }
  for (int d = 0; d < 2 && b.ok(); ++d) {
    if (kernel[d] < 1 || dilation[d] < 1 || stride[d] < 1 || padding[d] < 0) {
      b.Invalid("im2col: a size is not positive");
    }
    constexpr int64_t kMost = int64_t{1} << 31;  // avoids overflow of products
    if (kernel[d] >= kMost || dilation[d] >= kMost || stride[d] >= kMost || padding[d] >= kMost) {
      b.Invalid("im2col: a size is too large");
    }
  }
  if (!b.ok()) return {};
  if (!batched) x = Unsqueeze(b, x, 0);
  if (padding[0] != 0 || padding[1] != 0) {
    const std::vector<int64_t> pad = {padding[1], padding[1], padding[0], padding[0]};
    x = b.Call("aten.constant_pad_nd.default", {x, pad, 0});
  }
  SymInt windows = 1;
  // [kernel, window]: position of each window element.
  const auto index = [&](int d) {
    const SymInt reach = SymInt(dilation[d]) * SymInt(kernel[d] - 1) + SymInt(1);
    const SymInt count = FloorDiv(b.size(x, 2 + d) - reach, SymInt(stride[d])) + SymInt(1);
    windows = windows * count;
    const Argument starts = Mul(b, Arange(b, count), stride[d]);
    return Add(b, Unsqueeze(b, Mul(b, Arange(b, SymInt(kernel[d])), dilation[d]), 1), starts);
  };
  const Argument rows = Unsqueeze(b, Unsqueeze(b, index(0), 2), 3);
  const Argument columns = index(1);
  const Argument::List indices = {Argument(), Argument(), rows, columns};
  const Argument taken = b.Call("aten.index.Tensor", {x, Argument(indices)});
  const std::vector<SymInt> sizes = {b.size(x, 0), b.size(x, 1) * SymInt(kernel[0] * kernel[1]),
                                     windows};
  const Argument result = Reshape(b, Permute(b, taken, {0, 1, 2, 4, 3, 5}), sizes);
  return {batched ? result : Squeeze(b, result, 0)};
}

constexpr Decomposition kDecompositions[] = {
    {"aten._pad_circular.default", PadCircular},
    {"aten._pad_enum.default", PadEnum},
    {"aten.channel_shuffle.default", ChannelShuffle},
    {"aten.diag.default", Diag},
    {"aten.diag_embed.default", DiagEmbed},
    {"aten.diagflat.default", DiagFlat},
    {"aten.fliplr.default", FlipDim<1>},
    {"aten.flipud.default", FlipDim<0>},
    {"aten.im2col.default", Im2Col},
    {"aten.native_channel_shuffle.default", ChannelShuffle},
    {"aten.pad.default", Pad},
    {"aten.pixel_shuffle.default", PixelShuffle},
    {"aten.pixel_unshuffle.default", PixelUnshuffle},
    {"aten.repeat_interleave.self_Tensor", RepeatInterleaveTensor},
    {"aten.repeat_interleave.self_int", RepeatInterleave},
    {"aten.roll.default", Roll},
    {"aten.rot90.default", Rot90},
    {"aten.tile.default", Tile},
    {"aten.trace.default", Trace},
    {"aten.tril.default", Triangle<true>},
    {"aten.triu.default", Triangle<false>},
};

}  // namespace

absl::Span<const Decomposition> RearrangingDecompositions() { return kDecompositions; }

}  // namespace belay::exir
