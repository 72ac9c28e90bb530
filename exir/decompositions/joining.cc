// Joins several tensors into one.

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

std::vector<Argument> Stack(OpBuilder& b, const OpCall& c) {
  std::vector<Argument> tensors = c.List("tensors");
  if (tensors.empty()) b.Invalid("stack: no tensors");
  if (!b.ok()) return {};
  const int64_t dim = b.WrapDim(c.Int("dim"), b.rank(tensors[0]) + 1);
  for (Argument& tensor : tensors) tensor = Unsqueeze(b, tensor, dim);
  return {Cat(b, tensors, dim)};
}

Argument CatCalled(OpBuilder& b, const std::vector<Argument>& tensors, int64_t dim) {
  if (tensors.empty()) b.Invalid("expected at least one tensor");
  return b.ok() ? Cat(b, tensors, dim) : Argument();
}
// hstack, vstack and dstack: concatenate along their dimension, which is added if missing.
template <int kDim>
std::vector<Argument> StackAlong(OpBuilder& b, const OpCall& c) {
  constexpr const char* kAtLeast[] = {"aten.atleast_2d.default", "aten.atleast_1d.default",
                                      "aten.atleast_3d.default"};
  std::vector<Argument> tensors = c.List("tensors");
  for (Argument& tensor : tensors) tensor = b.Call(kAtLeast[kDim], {tensor});
  const bool vectors = kDim == 1 && !tensors.empty() && b.rank(tensors[0]) == 1;
  return {CatCalled(b, tensors, vectors ? 0 : kDim)};
}
std::vector<Argument> ColumnStack(OpBuilder& b, const OpCall& c) {
  std::vector<Argument> tensors = c.List("tensors");
  for (Argument& tensor : tensors) {
    if (b.rank(tensor) < 2) tensor = Reshape(b, tensor, {-1, 1});
  }
  return {CatCalled(b, tensors, 1)};
}

// Zeros outside the diagonal blocks.
std::vector<Argument> BlockDiag(OpBuilder& b, const OpCall& c) {
  std::vector<Argument> blocks = c.List("tensors");
  SymInt columns = 0;
  for (Argument& block : blocks) {
    if (b.rank(block) > 2) b.Invalid("block_diag: expected at most two dimensions");
    block = b.Call("aten.atleast_2d.default", {block});
    columns = columns + b.size(block, 1);
  }
  SymInt left = 0;
  for (Argument& block : blocks) {
    const SymInt width = b.size(block, 1);
    const std::vector<SymInt> pad = {left, columns - left - width};
    block = b.Call("aten.constant_pad_nd.default", {block, pad, 0});
    left = left + width;
  }
  return {CatCalled(b, blocks, 0)};
}

// --- Grids ---

std::vector<Argument> MeshGrid(OpBuilder& b, const OpCall& c) {
  std::vector<Argument> tensors = c.List("tensors");
  const bool named = c.op()->schema()->ArgumentIndex("indexing").has_value();
  const std::string indexing = named ? c.String("indexing") : "ij";
  if (indexing != "ij" && indexing != "xy") {
    b.Invalid(absl::StrCat("meshgrid: unknown indexing '", indexing, "'"));
  }
  if (tensors.empty()) b.Invalid("meshgrid: no tensors");
  const bool swap = indexing == "xy" && tensors.size() >= 2;
  if (swap) std::swap(tensors[0], tensors[1]);
  std::vector<SymInt> sizes;
  for (const Argument& tensor : tensors) {
    if (b.rank(tensor) > 1) b.Invalid("meshgrid: expected tensors of at most one dimension");
    sizes.push_back(b.size(tensor, 0));
  }
  if (!b.ok()) return {};
  Argument::List grids;
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::vector<SymInt> own(tensors.size(), SymInt(1));
    own[i] = sizes[i];
    grids.push_back(Expand(b, Reshape(b, tensors[i], own), sizes));
  }
  if (swap) std::swap(grids[0], grids[1]);
  return {Argument(grids)};
}

std::vector<Argument> CartesianProd(OpBuilder& b, const OpCall& c) {
  const std::vector<Argument> tensors = c.List("tensors");
  if (tensors.size() == 1) return {tensors[0]};
  const Argument grids = b.Call("aten.meshgrid.default", {Argument(tensors)});
  const Argument::List* list = grids.get_if<Argument::List>();
  if (list == nullptr) return {};
  std::vector<Argument> columns;
  for (const Argument& grid : *list) columns.push_back(Unsqueeze(b, Reshape(b, grid, {-1}), 1));
  return {CatCalled(b, columns, 1)};
}

// Pads sequences to the longest one.
std::vector<Argument> PadSequence(OpBuilder& b, const OpCall& c) {
  std::vector<Argument> sequences = c.List("sequences");
  const std::string side = c.String("padding_side");
  if (side != "right" && side != "left") b.Invalid("pad_sequence: left or right?");
  int64_t longest = 0;
  for (const Argument& sequence : sequences) {
    const std::optional<int64_t> length = b.size(sequence, 0).AsInt();
    if (!length.has_value()) b.Unsupported("pad_sequence: sequences of unknown length");
    longest = std::max(longest, length.value_or(0));
  }
  if (!b.ok()) return {};
  for (Argument& sequence : sequences) {
    std::vector<int64_t> pad(2 * b.rank(sequence), 0);
    if (pad.empty()) b.Invalid("pad_sequence: a sequence has no dimensions");
    if (!b.ok()) return {};
    pad[pad.size() - (side == "right" ? 1 : 2)] = longest - *b.size(sequence, 0).AsInt();
    sequence = b.Call("aten.constant_pad_nd.default", {sequence, pad, c["padding_value"]});
  }
  return {b.Call("aten.stack.default", {Argument(sequences), c.Bool("batch_first") ? 0 : 1})};
}

// Zero-pads each tensor so that dimension `dim` splits into `num_chunks`, then concatenates the
// chunks.
std::vector<Argument> ChunkCat(OpBuilder& b, const OpCall& c) {
  const int64_t chunks = c.Int("num_chunks");
  if (chunks < 1) b.Invalid("_chunk_cat: expected at least one chunk");
  std::vector<Argument> parts;
  int64_t dim = c.Int("dim");
  for (const Argument& tensor : c.List("tensors")) {
    dim = b.WrapDim(dim, b.rank(tensor));
    std::vector<SymInt> sizes = b.sizes(tensor);
    if (b.ok() && sizes.empty()) b.Invalid("_chunk_cat: a tensor has no dimensions");
    if (!b.ok()) return {};
    const SymInt whole = FloorDiv(sizes[dim] + SymInt(chunks - 1), chunks) * SymInt(chunks);
    std::vector<SymInt> pad(2 * (sizes.size() - dim), SymInt(0));
    pad.back() = whole - sizes[dim];
    Argument part =
        pad.back() == SymInt(0) ? tensor : b.Call("aten.constant_pad_nd.default", {tensor, pad, 0});
    sizes.resize(dim);
    sizes.push_back(chunks);
    sizes.push_back(SymInt(-1));
    parts.push_back(Reshape(b, part, sizes));
  }
  return {Cat(b, parts, dim + 1)};
}

constexpr Decomposition kDecompositions[] = {
    {"aten._chunk_cat.default", ChunkCat},
    {"aten.block_diag.default", BlockDiag},
    {"aten.cartesian_prod.default", CartesianProd},
    {"aten.column_stack.default", ColumnStack},
    {"aten.concat.default", Same<"aten.cat.default">},
    {"aten.concatenate.default", Same<"aten.cat.default">},
    {"aten.dstack.default", StackAlong<2>},
    {"aten.hstack.default", StackAlong<1>},
    {"aten.meshgrid.default", MeshGrid},
    {"aten.meshgrid.indexing", MeshGrid},
    {"aten.pad_sequence.default", PadSequence},
    {"aten.row_stack.default", StackAlong<0>},
    {"aten.stack.default", Stack},
    {"aten.vstack.default", StackAlong<0>},
};

}  // namespace

absl::Span<const Decomposition> JoiningDecompositions() { return kDecompositions; }

}  // namespace belay::exir
