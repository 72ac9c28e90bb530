// Views and rearrangements.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/families.h"

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

// Replaces dimension `dim` of x by several sizes.
std::vector<Argument> Unflatten(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  std::vector<SymInt> sizes = b.sizes(x), inner = c.SymInts("sizes");
  if (sizes.empty()) b.Invalid("unflatten: the input has no dimensions");
  const int64_t dim = b.WrapDim(c.Int("dim"), sizes.size());
  if (!b.ok()) return {};
  // At most one size is -1 and gets inferred.
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
      b.Invalid("unflatten: sizes contain both -1 and 0");
      return {};
    }
    inner[open] = FloorDiv(sizes[dim], known);
  }
  sizes.erase(sizes.begin() + dim);
  sizes.insert(sizes.begin() + dim, inner.begin(), inner.end());
  return {b.Call("aten.view.default", {x, sizes})};
}

std::vector<Argument> ExpandAs(OpBuilder& b, const OpCall& c) {
  return {Expand(b, c["self"], b.sizes(c["other"]))};
}
std::vector<Argument> ReshapeAs(OpBuilder& b, const OpCall& c) {
  return {Reshape(b, c["self"], b.sizes(c["other"]))};
}
std::vector<Argument> Ravel(OpBuilder& b, const OpCall& c) {
  return {Reshape(b, Contiguous(b, c["self"]), {-1})};
}
std::vector<Argument> ViewAsSizes(OpBuilder& b, const OpCall& c) {
  return {b.Call("aten.view.default", {c["self"], c["size"]})};
}

// Transposes matrices; also conjugates if kConjugate. As in PyTorch, a tensor without dimensions is
// its own transpose.
template <bool kConjugate>
std::vector<Argument> LastTransposed(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  if (b.rank(x) == 0) {
    return {kConjugate && IsComplex(b.dtype(x)) ? Unary(b, "_conj_physical", x) : Clone(b, x)};
  }
  if (b.rank(x) < 2) b.Invalid("expected at least two dimensions");
  const Argument result = Transpose(b, x, -2, -1);
  return {kConjugate && IsComplex(b.dtype(x)) ? Unary(b, "_conj_physical", result) : result};
}
std::vector<Argument> AllTransposed(OpBuilder& b, const OpCall& c) {
  std::vector<int64_t> dims = AllDims(b.rank(c["self"]));
  std::reverse(dims.begin(), dims.end());
  return {Permute(b, c["self"], dims)};
}
std::vector<Argument> LinalgDiagonal(OpBuilder& b, const OpCall& c) {
  return {b.Call("aten.diagonal.default", {c["A"], c["offset"], c["dim1"], c["dim2"]})};
}

// Removes dimensions of static size 1.
std::vector<Argument> SqueezeAll(OpBuilder& b, const OpCall& c) {
  const std::vector<SymInt> sizes = b.sizes(c["self"]);
  std::vector<int64_t> ones;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == SymInt(1)) ones.push_back(static_cast<int64_t>(d));
  }
  return {b.Call("aten.squeeze.dims", {c["self"], ones})};
}

std::vector<Argument> Narrow(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  const int64_t dim = b.WrapDim(c.Int("dim"), b.rank(x));
  SymInt start = c.Sym("start");
  const SymInt length = c.Sym("length");
  if (b.rank(x) == 0) b.Invalid("narrow: the input has no dimensions");
  if (b.Range(length).max < 0) b.Invalid("narrow: the length is negative");
  if (b.Range(start).max < 0) start = start + b.size(x, dim);
  if (!b.ok()) return {};
  const SymInt end = start + length;
  const auto at = end.AsInt(), size = b.size(x, dim).AsInt(), from = start.AsInt();
  if ((at.has_value() && size.has_value() && *at > *size) || (from.has_value() && *from < 0)) {
    b.Invalid(absl::StrCat("narrow: from ", start.ToString(), " to ", end.ToString(),
                           " of a size of ", b.size(x, dim).ToString()));
  }
  return {Slice(b, x, dim, start, end)};
}

// --- Minimum rank ---

Argument AtLeast(OpBuilder& b, const Argument& x, int64_t count) {
  const int64_t rank = b.rank(x);
  if (rank >= count) return x;
  if (rank == 0) return Reshape(b, x, std::vector<int64_t>(count, 1));
  if (count == 2) return Unsqueeze(b, x, 0);
  return rank == 1 ? Unsqueeze(b, Unsqueeze(b, x, 0), 2) : Unsqueeze(b, x, 2);
}
template <int kCount>
std::vector<Argument> AtLeastOf(OpBuilder& b, const OpCall& c) {
  const Argument& x = c.arguments()[0];
  const Argument::List* list = x.get_if<Argument::List>();
  if (list == nullptr) return {AtLeast(b, x, kCount)};
  Argument::List results;
  for (const Argument& tensor : *list) results.push_back(AtLeast(b, tensor, kCount));
  return {Argument(results)};
}

std::vector<Argument> BroadcastTensors(OpBuilder& b, const OpCall& c) {
  const std::vector<Argument> tensors = c.List("tensors");
  const std::vector<SymInt> sizes = BroadcastSizes(b, tensors);
  Argument::List results;
  for (const Argument& tensor : tensors) results.push_back(Expand(b, tensor, sizes));
  return {Argument(results)};
}

// --- Splits along a dimension, all of them views ---

constexpr int64_t kMostPieces = 1 << 20;

std::vector<Argument> Unbind(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  const int64_t dim = b.WrapDim(c.Int("dim"), b.rank(x));
  const std::optional<int64_t> count = b.size(x, dim).AsInt();
  if (!count.has_value()) b.Unsupported("unbind: a dimension of unknown size");
  if (count.value_or(0) > kMostPieces) b.Invalid("unbind: too many pieces");
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
  if (step > 0 && *length / step >= kMostPieces) b.Invalid("split: too many pieces");
  if (!b.ok()) return {};
  std::vector<int64_t> sizes;
  for (int64_t at = 0; at < *length; at += std::min(step, *length - at)) {
    sizes.push_back(std::min(step, *length - at));
  }
  if (sizes.empty()) sizes.push_back(0);
  return {b.Call("aten.split_with_sizes.default", {x, sizes, dim})};
}

// Chunks of equal size, rounded up, so that there may be fewer chunks.
std::vector<Argument> Chunk(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  const int64_t dim = b.WrapDim(c.Int("dim"), b.rank(x)), chunks = c.Int("chunks");
  if (chunks < 1 || chunks > kMostPieces) b.Invalid("chunk: the number of chunks");
  const SymInt size = b.size(x, dim);
  const std::optional<int64_t> length = size.AsInt();
  if (!b.ok()) return {};
  if (!length.has_value()) {
    // The program has a fixed number of results, so the number of chunks is as requested. A size
    // that gives fewer chunks is a run-time error.
    const SymInt each = FloorDiv(size + SymInt(chunks - 1), SymInt(chunks));
    std::vector<SymInt> sizes(static_cast<size_t>(chunks), each);
    sizes.back() = size - each * SymInt(chunks - 1);
    return {b.Call("aten.split_with_sizes.default", {x, sizes, dim})};
  }
  const int64_t step = *length / chunks + (*length % chunks != 0);
  std::vector<int64_t> sizes;
  for (int64_t at = 0; at < *length; at += step) sizes.push_back(std::min(step, *length - at));
  if (*length == 0) sizes.assign(static_cast<size_t>(chunks), 0);
  return {b.Call("aten.split_with_sizes.default", {x, sizes, dim})};
}

// Splits at positions, as slices.
Argument SplitAt(OpBuilder& b, const Argument& x, int64_t dim, const std::vector<SymInt>& indices) {
  Argument::List parts;
  SymInt start = 0;
  for (const SymInt& index : indices) {
    parts.push_back(Slice(b, x, dim, start, index));
    start = index;
  }
  parts.push_back(Slice(b, x, dim, start, b.size(x, dim)));
  return Argument(parts);
}
// Splits into `sections` pieces, the first ones longer by one; all equal if `even`.
Argument SplitInto(OpBuilder& b, const Argument& x, int64_t dim, int64_t sections, bool even) {
  if (sections < 1 || sections > kMostPieces) b.Invalid("split: the number of sections");
  const SymInt size = b.size(x, dim);
  const std::optional<int64_t> length = size.AsInt();
  if (!b.ok()) return Argument();
  if (!length.has_value()) {
    const SymInt each = FloorDiv(size, SymInt(sections));
    std::vector<SymInt> sizes(static_cast<size_t>(sections), each);
    if (!(each * SymInt(sections) == size)) {
      if (even) b.Unsupported("split: a dimension of unknown size");
      for (int64_t i = 0; i < sections; ++i) {
        sizes[static_cast<size_t>(i)] = FloorDiv(size + SymInt(sections - 1 - i), SymInt(sections));
      }
    }
    return b.Call("aten.split_with_sizes.default", {x, sizes, dim});
  }
  if (even && *length % sections != 0) b.Invalid("split: the sections are not even");
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < sections; ++i) {
    sizes.push_back(*length / sections + (i < *length % sections ? 1 : 0));
  }
  return b.Call("aten.split_with_sizes.default", {x, sizes, dim});
}
std::vector<Argument> TensorSplit(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  const int64_t dim = b.WrapDim(c.Int("dim"), b.rank(x));
  if (c.op()->schema()->ArgumentIndex("indices").has_value()) {
    return {SplitAt(b, x, dim, c.SymInts("indices"))};
  }
  return {SplitInto(b, x, dim, c.Int("sections"), false)};
}
// hsplit, vsplit, dsplit: split along their dimension.
template <int kDim>
std::vector<Argument> SplitDim(OpBuilder& b, const OpCall& c) {
  const Argument& x = c["self"];
  const int64_t dim = kDim == 1 && b.rank(x) == 1 ? 0 : kDim;
  if (b.rank(x) <= dim) b.Invalid(absl::StrCat(c.op()->name(), ": too few dimensions"));
  if (!b.ok()) return {};
  if (c.op()->schema()->ArgumentIndex("indices").has_value()) {
    return {SplitAt(b, x, dim, c.SymInts("indices"))};
  }
  return {SplitInto(b, x, dim, c.Int("sections"), true)};
}

constexpr Decomposition kDecompositions[] = {
    {"aten._reshape_alias.default", ViewAsSizes},
    {"aten._unsafe_view.default", ViewAsSizes},
    {"aten.adjoint.default", LastTransposed<true>},
    {"aten.atleast_1d.Sequence", AtLeastOf<1>},
    {"aten.atleast_1d.default", AtLeastOf<1>},
    {"aten.atleast_2d.Sequence", AtLeastOf<2>},
    {"aten.atleast_2d.default", AtLeastOf<2>},
    {"aten.atleast_3d.Sequence", AtLeastOf<3>},
    {"aten.atleast_3d.default", AtLeastOf<3>},
    {"aten.broadcast_tensors.default", BroadcastTensors},
    {"aten.broadcast_to.default", Same<"aten.expand.default">},
    {"aten.chunk.default", Chunk},
    {"aten.dsplit.array", SplitDim<2>},
    {"aten.dsplit.int", SplitDim<2>},
    {"aten.expand_as.default", ExpandAs},
    {"aten.flatten.using_ints", Flatten},
    {"aten.hsplit.array", SplitDim<1>},
    {"aten.hsplit.int", SplitDim<1>},
    {"aten.linalg_diagonal.default", LinalgDiagonal},
    {"aten.mH.default", LastTransposed<true>},
    {"aten.mT.default", LastTransposed<false>},
    {"aten.matrix_H.default", LastTransposed<true>},
    {"aten.moveaxis.int", MoveDim},
    {"aten.moveaxis.intlist", MoveDim},
    {"aten.movedim.int", MoveDim},
    {"aten.movedim.intlist", MoveDim},
    {"aten.narrow.default", Narrow},
    {"aten.numpy_T.default", AllTransposed},
    {"aten.ravel.default", Ravel},
    {"aten.reshape.default", ReshapeCall},
    {"aten.reshape_as.default", ReshapeAs},
    {"aten.split.Tensor", Split},
    {"aten.split.sizes", Same<"aten.split_with_sizes.default">},
    {"aten.squeeze.default", SqueezeAll},
    {"aten.swapaxes.default", TransposeDims},
    {"aten.swapdims.default", TransposeDims},
    {"aten.t.default", MatrixTranspose},
    {"aten.tensor_split.indices", TensorSplit},
    {"aten.tensor_split.sections", TensorSplit},
    {"aten.transpose.int", TransposeDims},
    {"aten.unbind.int", Unbind},
    {"aten.unflatten.int", Unflatten},
    {"aten.unsafe_chunk.default", Chunk},
    {"aten.unsafe_split.Tensor", Split},
    {"aten.unsafe_split_with_sizes.default", Same<"aten.split_with_sizes.default">},
    {"aten.view_as.default", ReshapeAs},
    {"aten.vsplit.array", SplitDim<0>},
    {"aten.vsplit.int", SplitDim<0>},
};

}  // namespace

absl::Span<const Decomposition> ShapeDecompositions() { return kDecompositions; }

}  // namespace belay::exir
