// Views and rearrangements.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exir/decompositions/families.h"
#include "exir/decompositions/op_shorthand.h"

namespace belay::exir {
namespace {

std::vector<Argument> ReshapeCall(OpBuilder& b, const OpCall& c) {
  return {Reshape(b, c["self"], c["shape"])};
}

std::vector<Argument> Flatten(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  const std::vector<SymInt> sizes = b.sizes(x);
  const int64_t rank = sizes.size();
  const int64_t start = b.WrapDim(c.Int("start_dim"), rank);
  const int64_t end = b.WrapDim(c.Int("end_dim"), rank);
  if (start > end) b.Invalid("flatten: start_dim comes after end_dim");
  if (!b.ok()) return {};
  if (rank == 0) return {Reshape(b, x, {1})};
  if (start == end) return {x};
  std::vector<SymInt> flat(sizes.begin(), sizes.begin() + start);
  flat.push_back(Product({sizes.begin() + start, sizes.begin() + end + 1}));
  flat.insert(flat.end(), sizes.begin() + end + 1, sizes.end());
  return {Reshape(b, x, flat)};
}

std::vector<Argument> MoveDim(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  const int64_t rank = b.rank(x);
  const bool lists = c["source"].is<Argument::List>();
  std::vector<int64_t> source = lists ? c.Ints("source") : std::vector{c.Int("source")};
  std::vector<int64_t> destination =
      lists ? c.Ints("destination") : std::vector{c.Int("destination")};
  if (source.size() != destination.size()) b.Invalid("movedim: as many sources as destinations");
  if (!b.ok()) return {};
  std::vector<int64_t> dims(rank, -1);
  std::vector<bool> moved(rank, false);
  for (size_t i = 0; i < source.size() && rank > 0; ++i) {
    const int64_t from = b.WrapDim(source[i], rank), to = b.WrapDim(destination[i], rank);
    if (moved[from] || dims[to] >= 0) b.Invalid("movedim: a dimension comes twice");
    moved[from] = true;
    dims[to] = from;
  }
  for (int64_t to = 0, from = 0; to < rank; ++to) {
    if (dims[to] >= 0) continue;
    while (from < rank && moved[from]) ++from;
    dims[to] = from++;
  }
  return {Permute(b, x, dims)};
}

std::vector<Argument> TransposeDims(OpBuilder& b, const OpCall& c) {
  return {Transpose(b, c.arguments()[0], c.Int(c.op()->schema()->arguments[1].name),
                    c.Int(c.op()->schema()->arguments[2].name))};
}
std::vector<Argument> MatrixTranspose(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  if (b.rank(x) > 2) b.Invalid("t: expected at most two dimensions");
  return {b.rank(x) < 2 ? x : Transpose(b, x, 0, 1)};
}

std::vector<Argument> Stack(OpBuilder& b, const OpCall& c) {
  std::vector<Argument> tensors = c.List("tensors");
  if (tensors.empty()) b.Invalid("stack: no tensors");
  if (!b.ok()) return {};
  const int64_t dim = b.WrapDim(c.Int("dim"), b.rank(tensors[0]) + 1);
  for (Argument& tensor : tensors) tensor = Unsqueeze(b, tensor, dim);
  return {Cat(b, tensors, dim)};
}

// constant, reflect, replicate, circular
std::vector<Argument> Pad(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  const std::string mode = c.String("mode");
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
  Argument result = x;
  for (int64_t i = 0; i < count && b.ok(); ++i) {
    const int64_t dim = b.rank(x) - 1 - i;
    const SymInt length = b.size(x, dim), before = pad[2 * i], after = pad[2 * i + 1];
    std::vector<Argument> parts;
    const SymInt zero = 0;
    if (!(before == zero)) parts.push_back(Slice(b, result, dim, length - before, length));
    parts.push_back(result);
    if (!(after == zero)) parts.push_back(Slice(b, result, dim, 0, after));
    if (parts.size() > 1) result = Cat(b, parts, dim);
  }
  return {result};
}

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

// Pieces along a dimension, views all of them.
std::vector<Argument> Unbind(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  const int64_t dim = b.WrapDim(c.Int("dim"), b.rank(x));
  const std::optional<int64_t> count = b.size(x, dim).AsInt();
  if (!count.has_value()) b.Unsupported("unbind: a dimension of unknown size");
  Argument::List parts;
  for (int64_t i = 0; b.ok() && i < *count; ++i) parts.push_back(Select(b, x, dim, i));
  return {Argument(parts)};
}
std::vector<Argument> Split(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  const int64_t dim = b.WrapDim(c.Int("dim"), b.rank(x));
  const std::optional<int64_t> length = b.size(x, dim).AsInt();
  const int64_t step = c.Int("split_size");
  if (!length.has_value()) b.Unsupported("split: a dimension of unknown size");
  if (!b.ok()) return {};
  if (step < 0 || (step == 0 && *length != 0)) b.Invalid("split: the size is not positive");
  if (!b.ok()) return {};
  std::vector<int64_t> sizes;
  for (int64_t at = 0; at < *length; at += std::min(step, *length - at)) {
    sizes.push_back(std::min(step, *length - at));
  }
  if (sizes.empty()) sizes.push_back(0);
  return {b.Call("aten.split_with_sizes.default", {x, sizes, dim})};
}

std::vector<Argument> ContiguousCall(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  const MemoryFormat format = c.MemoryFormatOr("memory_format", MemoryFormat::kContiguous);
  if (format == MemoryFormat::kContiguous) return {Contiguous(b, x)};
  const Argument copy = b.Call("aten.clone.default", {x}, {{"memory_format", format}});
  return {b.meta(copy).strides == b.meta(x).strides ? x : copy};
}

// Pieces of a dimension that begin at these places; all are views.
std::vector<Argument> Pieces(OpBuilder& b, const Argument& x, int64_t dim,
                             const std::vector<SymInt>& starts) {
  if (!b.ok()) return {};
  const SymInt length = b.size(x, dim);
  Argument::List parts;
  for (size_t i = 0; i < starts.size() && b.ok(); ++i) {
    parts.push_back(Slice(b, x, dim, starts[i], i + 1 < starts.size() ? starts[i + 1] : length));
  }
  return {Argument(parts)};
}

// The dimension and its length, which must be a number.
std::optional<std::pair<int64_t, int64_t>> KnownDim(OpBuilder& b, const OpCall& c, int64_t wanted) {
  const Argument& x = c.arguments()[0];
  if (b.rank(x) == 0) b.Invalid(absl::StrCat(c.op()->name(), ": the input has no dimensions"));
  const int64_t dim = b.WrapDim(wanted, b.rank(x));
  const std::optional<int64_t> length = b.size(x, dim).AsInt();
  if (!length.has_value()) {
    b.Unsupported(absl::StrCat(c.op()->name(), ": a dimension of unknown size"));
  }
  if (!b.ok()) return std::nullopt;
  return std::make_pair(dim, *length);
}

// At most `chunks` pieces of equal size, the last one smaller.
std::vector<Argument> Chunk(OpBuilder& b, const OpCall& c) {
  const int64_t chunks = c.Int("chunks");
  if (chunks < 1) b.Invalid("chunk: the number of chunks is not positive");
  const auto dim = KnownDim(b, c, c.Int("dim"));
  if (!dim.has_value()) return {};
  const int64_t step = dim->second / chunks + (dim->second % chunks != 0 ? 1 : 0);
  std::vector<SymInt> starts = {0};
  if (step == 0) starts.resize(std::min<int64_t>(chunks, 1 << 20), SymInt(0));
  for (int64_t at = step; step > 0 && at < dim->second; at += step) starts.emplace_back(at);
  return Pieces(b, c["self"], dim->first, starts);
}

// As many pieces as asked for, the first ones larger by one.
std::vector<Argument> EvenSections(OpBuilder& b, const OpCall& c, int64_t sections,
                                   int64_t wanted) {
  if (sections < 1 || sections > 1 << 20) b.Invalid("tensor_split: no such number of sections");
  const auto dim = KnownDim(b, c, wanted);
  if (!dim.has_value()) return {};
  const int64_t size = dim->second / sections, larger = dim->second % sections;
  std::vector<SymInt> starts;
  for (int64_t i = 0; i < sections; ++i) starts.emplace_back(i * size + std::min(i, larger));
  return Pieces(b, c.arguments()[0], dim->first, starts);
}
std::vector<Argument> CutAt(OpBuilder& b, const OpCall& c, const std::vector<int64_t>& indices,
                            int64_t wanted) {
  const auto dim = KnownDim(b, c, wanted);
  if (!dim.has_value()) return {};
  const auto place = [&](int64_t index) {
    if (index < 0) index = std::max<int64_t>(index + dim->second, 0);
    return std::min(index, dim->second);
  };
  // A piece that would end before it begins is empty: each is cut by itself.
  Argument::List parts;
  for (size_t i = 0; i <= indices.size() && b.ok(); ++i) {
    const int64_t start = i == 0 ? 0 : place(indices[i - 1]);
    const int64_t end = i == indices.size() ? dim->second : place(indices[i]);
    parts.push_back(Slice(b, c.arguments()[0], dim->first, start, std::max(start, end)));
  }
  return {Argument(parts)};
}
std::vector<Argument> TensorSplitSections(OpBuilder& b, const OpCall& c) {
  return EvenSections(b, c, c.Int("sections"), c.Int("dim"));
}
std::vector<Argument> TensorSplitIndices(OpBuilder& b, const OpCall& c) {
  return CutAt(b, c, c.Ints("indices"), c.Int("dim"));
}

std::vector<Argument> SplitSizes(OpBuilder& b, const OpCall& c) {
  return {b.Call("aten.split_with_sizes.default", {c["self"], c.arguments()[1], c["dim"]})};
}

std::vector<Argument> ExpandAs(OpBuilder& b, const OpCall& c) {
  return {Expand(b, c["self"], b.sizes(c["other"]))};
}
std::vector<Argument> BroadcastTo(OpBuilder& b, const OpCall& c) {
  return {Expand(b, c["self"], c["size"])};
}
std::vector<Argument> ViewAs(OpBuilder& b, const OpCall& c) {
  return {Reshape(b, c["self"], b.sizes(c["other"]))};
}
std::vector<Argument> Ravel(OpBuilder& b, const OpCall& c) {
  return {Reshape(b, Contiguous(b, c["self"]), {-1})};
}

std::vector<Argument> Unflatten(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  std::vector<SymInt> sizes = b.sizes(x), inner = c.SymInts("sizes");
  if (sizes.empty()) b.Invalid("unflatten: the input has no dimensions");
  const int64_t dim = b.WrapDim(c.Int("dim"), sizes.size());
  if (!b.ok()) return {};
  // At most one of the sizes is left to be found.
  SymInt known = 1;
  int64_t open = -1;
  for (size_t i = 0; i < inner.size(); ++i) {
    if (!(inner[i] == SymInt(-1))) {
      known = known * inner[i];
    } else if (open >= 0) {
      b.Invalid("unflatten: more than one size is -1");
      return {};
    } else {
      open = static_cast<int64_t>(i);
    }
  }
  if (open >= 0) {
    if (known == SymInt(0)) {
      b.Invalid("unflatten: a size is -1 beside one that is 0");
      return {};
    }
    inner[open] = FloorDiv(sizes[dim], known);
  }
  sizes.erase(sizes.begin() + dim);
  sizes.insert(sizes.begin() + dim, inner.begin(), inner.end());
  return {b.Call("aten.view.default", {x, sizes})};
}

std::vector<Argument> Tile(OpBuilder& b, const OpCall& c) {
  std::vector<SymInt> dims = c.SymInts("dims");
  const int64_t rank = b.rank(c["self"]);
  if (static_cast<int64_t>(dims.size()) < rank) {
    dims.insert(dims.begin(), rank - dims.size(), SymInt(1));
  }
  return {b.Call("aten.repeat.default", {c["self"], dims})};
}

std::vector<Argument> TransposeLast(OpBuilder& b, const OpCall& c) {
  const Argument& x = c.arguments()[0];
  if (b.rank(x) < 2) b.Invalid(absl::StrCat(c.op()->name(), ": expected at least two dimensions"));
  return {Transpose(b, x, -2, -1)};
}

// A tensor of at least so many dimensions, as numpy adds them.
Argument AtLeast(OpBuilder& b, const Argument& x, int64_t rank) {
  const int64_t has = b.rank(x);
  if (has >= rank) return x;
  if (has == 0) return Reshape(b, x, std::vector<int64_t>(rank, 1));
  if (rank == 2) return Unsqueeze(b, x, 0);
  return has == 1 ? Unsqueeze(b, Unsqueeze(b, x, 0), -1) : Unsqueeze(b, x, -1);
}
template <int kRank>
std::vector<Argument> AtLeastRank(OpBuilder& b, const OpCall& c) {
  return {AtLeast(b, c["self"], kRank)};
}
// hstack, vstack, dstack: all of at least this rank, then side by side.
template <int kRank>
std::vector<Argument> StackRank(OpBuilder& b, const OpCall& c) {
  std::vector<Argument> tensors = c.List("tensors");
  if (tensors.empty()) b.Invalid(absl::StrCat(c.op()->name(), ": no tensors"));
  if (!b.ok()) return {};
  for (Argument& tensor : tensors) tensor = AtLeast(b, tensor, kRank);
  const int64_t dim = kRank == 1 ? (b.rank(tensors[0]) == 1 ? 0 : 1) : kRank == 2 ? 0 : 2;
  return {Cat(b, tensors, dim)};
}
std::vector<Argument> ColumnStack(OpBuilder& b, const OpCall& c) {
  std::vector<Argument> tensors = c.List("tensors");
  if (tensors.empty()) b.Invalid("column_stack: no tensors");
  for (Argument& tensor : tensors) {
    if (b.rank(tensor) == 0) tensor = Reshape(b, tensor, {1, 1});
    if (b.rank(tensor) == 1) tensor = Unsqueeze(b, tensor, 1);
  }
  return {Cat(b, tensors, 1)};
}

template <int kDim>
std::vector<Argument> FlipDim(OpBuilder& b, const OpCall& c) {
  return {b.Call("aten.flip.default", {c["self"], {kDim}})};
}

// What is the input itself: conjugation and negation are never lazy here.
std::vector<Argument> Itself(OpBuilder& b, const OpCall& c) { return {c.arguments()[0]}; }

constexpr Decomposition kDecompositions[] = {
    {"aten.atleast_1d.default", AtLeastRank<1>},
    {"aten.atleast_2d.default", AtLeastRank<2>},
    {"aten.atleast_3d.default", AtLeastRank<3>},
    {"aten.broadcast_to.default", BroadcastTo},
    {"aten.chunk.default", Chunk},
    {"aten.column_stack.default", ColumnStack},
    {"aten.contiguous.default", ContiguousCall},
    {"aten.dstack.default", StackRank<3>},
    {"aten.expand_as.default", ExpandAs},
    {"aten.flatten.using_ints", Flatten},
    {"aten.fliplr.default", FlipDim<1>},
    {"aten.flipud.default", FlipDim<0>},
    {"aten.hstack.default", StackRank<1>},
    {"aten.mT.default", TransposeLast},
    {"aten.movedim.int", MoveDim},
    {"aten.movedim.intlist", MoveDim},
    {"aten.moveaxis.int", MoveDim},
    {"aten.moveaxis.intlist", MoveDim},
    {"aten.pad.default", Pad},
    {"aten.ravel.default", Ravel},
    {"aten.repeat_interleave.self_int", RepeatInterleave},
    {"aten.reshape.default", ReshapeCall},
    {"aten.reshape_as.default", ViewAs},
    {"aten.resolve_conj.default", Itself},
    {"aten.resolve_neg.default", Itself},
    {"aten.row_stack.default", StackRank<2>},
    {"aten.split.Tensor", Split},
    {"aten.split.sizes", SplitSizes},
    {"aten.stack.default", Stack},
    {"aten.swapaxes.default", TransposeDims},
    {"aten.swapdims.default", TransposeDims},
    {"aten.t.default", MatrixTranspose},
    {"aten.tensor_split.indices", TensorSplitIndices},
    {"aten.tensor_split.sections", TensorSplitSections},
    {"aten.tile.default", Tile},
    {"aten.transpose.int", TransposeDims},
    {"aten.unbind.int", Unbind},
    {"aten.unflatten.int", Unflatten},
    {"aten.unsafe_chunk.default", Chunk},
    {"aten.view_as.default", ViewAs},
    {"aten.vstack.default", StackRank<2>},
};

}  // namespace

absl::Span<const Decomposition> ShapeDecompositions() { return kDecompositions; }

}  // namespace belay::exir
