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

constexpr Decomposition kDecompositions[] = {
    {"aten.flatten.using_ints", Flatten},
    {"aten.movedim.int", MoveDim},
    {"aten.movedim.intlist", MoveDim},
    {"aten.moveaxis.int", MoveDim},
    {"aten.moveaxis.intlist", MoveDim},
    {"aten.pad.default", Pad},
    {"aten.repeat_interleave.self_int", RepeatInterleave},
    {"aten.reshape.default", ReshapeCall},
    {"aten.split.Tensor", Split},
    {"aten.stack.default", Stack},
    {"aten.swapaxes.default", TransposeDims},
    {"aten.swapdims.default", TransposeDims},
    {"aten.t.default", MatrixTranspose},
    {"aten.transpose.int", TransposeDims},
    {"aten.unbind.int", Unbind},
};

}  // namespace

absl::Span<const Decomposition> ShapeDecompositions() { return kDecompositions; }

}  // namespace belay::exir
