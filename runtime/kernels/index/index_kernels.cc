// Processes calls in batches of positions. Indices are copied to a private buffer, checked there
// and used from there, because an index tensor may alias the result.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/gather.h"
#include "runtime/kernels/element_copy/add_row.h"
#include "runtime/kernels/element_copy/convert_run.h"
#include "runtime/kernels/element_copy/copy_strided.h"
#include "runtime/kernels/element_copy/element_update.h"
#include "runtime/kernels/element_copy/run_source.h"
#include "runtime/kernels/index/embedding_bag.h"
#include "runtime/kernels/index/index.h"
#include "runtime/kernels/operands/checked_ranges.h"
#include "runtime/kernels/operands/index_walk.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/operands/strided_view.h"

namespace belay {
namespace {

constexpr int64_t kBatch = 512;

bool HasNoElements(const Sizes& sizes) {
  return std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size == 0; });
}

// A loop over positions. For each position, index tensors give an offset in a table. A dense
// tensor, indexed by the position itself, gives the other offset.
struct IndexLoop {
  struct Operand {
    TensorView index;  // over the positions
    IndexedDim dim;
    int number = 0;  // dimension number, for errors
  };
  absl::Span<Operand> operands;
  Sizes positions;
  Strides dense;                  // over the positions
  ElementBlock block;             // block of one position, from table to dense
  DType dtype = DType::kFloat32;  // element dtype
};

// Merges position dimensions that are contiguous in all operands, and drops dimensions of size 1.
void JoinPositions(IndexLoop& loop) {
  for (int d = loop.positions.size() - 1; d >= 0; --d) {
    if (loop.positions.size() == 1) return;
    const bool single = loop.positions[d] == 1;
    bool joins = d > 0 && loop.dense[d - 1] == loop.dense[d] * loop.positions[d];
    for (size_t k = 0; joins && k < loop.operands.size(); ++k) {
      const Strides& s = loop.operands[k].index.strides;
      joins = s[d - 1] == s[d] * loop.positions[d];
    }
    if (!single && !joins) continue;
    // Dimension d is removed. If it is merged, the dimension before it gets its size and strides.
    const int keep = single ? -1 : d - 1;
    if (keep >= 0) {
      loop.positions[keep] *= loop.positions[d];
      loop.dense[keep] = loop.dense[d];
    }
    loop.positions.erase(d);
    loop.dense.erase(d);
    for (IndexLoop::Operand& operand : loop.operands) {
      Strides& s = operand.index.strides;
      if (keep >= 0) s[keep] = s[d];
      s.erase(d);
    }
  }
}

// Offsets of one batch, in elements.
struct Places {
  int64_t table[kBatch], dense[kBatch];
};

void LoadIndices(const TensorView& t, int64_t offset, int64_t step, int64_t n, int64_t* out) {
  if (t.dtype == DType::kInt32) {
    const int32_t* in = t.as<const int32_t>() + offset;
    for (int64_t i = 0; i < n; ++i) out[i] = in[i * step];
  } else {
    const int64_t* in = t.as<const int64_t>() + offset;
    for (int64_t i = 0; i < n; ++i) out[i] = in[i * step];
  }
}

// Fills entries [at, at + n) of a batch, from index `start` of the last position dimension on. The
// offsets are those of the current row of positions.
absl::Status LoadPlaces(const IndexLoop& loop, const int64_t* offsets, int64_t dense_offset,
                        int64_t start, int64_t n, int64_t at, Places& places) {
  const int last = loop.positions.size() - 1;
  for (int64_t i = 0; i < n; ++i) {
    places.table[at + i] = 0;
    places.dense[at + i] = dense_offset + (start + i) * (last < 0 ? 0 : loop.dense[last]);
  }
  size_t first_bad = static_cast<size_t>(n);
  int64_t bad = 0;
  const IndexLoop::Operand* of = nullptr;
  for (size_t k = 0; k < loop.operands.size(); ++k) {
    const IndexLoop::Operand& operand = loop.operands[k];
    const int64_t step = last < 0 ? 0 : operand.index.strides[last];
    int64_t indices[kBatch];
    LoadIndices(operand.index, offsets[k] + start * step, step, n, indices);
    const size_t outside =
        AddPlaces(indices, static_cast<size_t>(n), operand.dim, places.table + at);
    if (outside >= first_bad) continue;
    first_bad = outside;
    bad = indices[outside];
    of = &operand;
  }
  return of == nullptr ? absl::OkStatus() : IndexOutOfRange(bad, of->dim.size, of->number);
}

// A block split into pieces that are contiguous in both tensors.
struct Pieces {
  Sizes outer;
  Strides table, dense;  // of the outer dimensions
  int64_t length = 1;    // elements per piece
};

Pieces PiecesOf(const ElementBlock& block) {
  Pieces p;
  int d = block.sizes().size();
  while (d > 0 && (block.sizes()[d - 1] == 1 || (block.from_strides()[d - 1] == p.length &&
                                                 block.to_strides()[d - 1] == p.length))) {
    p.length *= block.sizes()[--d];
  }
  for (int i = 0; i < d; ++i) {
    if (block.sizes()[i] == 1) continue;
    p.outer.push_back(block.sizes()[i]);
    p.table.push_back(block.from_strides()[i]);
    p.dense.push_back(block.to_strides()[i]);
  }
  return p;
}

// Copies blocks from the table to the dense tensor or back, or adds those of the dense tensor to the
// table.
enum class Move { kTake, kPut, kAdd };

// Elements of a row for which a call of AddRow pays off.
constexpr int64_t kLeastRow = 16;

// to[c] += from[c] for c < length, of half precision.
void AddHalves(DType dtype, const std::byte* from, int64_t length, std::byte* to) {
  constexpr int64_t kAtOnce = 256;
  float addends[kAtOnce], sums[kAtOnce];
  for (int64_t c = 0; c < length; c += kAtOnce) {
    const int64_t n = std::min(kAtOnce, length - c);
    LoadFloats(dtype, from + 2 * c, static_cast<size_t>(n), addends);
    LoadFloats(dtype, to + 2 * c, static_cast<size_t>(n), sums);
    AddRow(addends, n, /*step=*/1, sums);
    StoreFloats(sums, static_cast<size_t>(n), dtype, to + 2 * c);
  }
}

// Adds pieces in order: blocks may be the same.
void AddPieces(const IndexLoop& loop, int64_t length, const Places& places, int64_t n,
               std::byte* table, const std::byte* dense) {
  if (loop.dtype == DType::kFloat32) {
    float* const to = reinterpret_cast<float*>(table);
    const float* const from = reinterpret_cast<const float*>(dense);
    if (length >= kLeastRow) {
      for (int64_t i = 0; i < n; ++i) {
        AddRow(from + places.dense[i], length, /*step=*/1, to + places.table[i]);
      }
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      float* const sums = to + places.table[i];
      const float* const row = from + places.dense[i];
      for (int64_t c = 0; c < length; ++c) sums[c] += row[c];
    }
    return;
  }
  if (IsFloatingPoint(loop.dtype) && DTypeSize(loop.dtype) == 2 && length >= 4) {
    for (int64_t i = 0; i < n; ++i) {
      AddHalves(loop.dtype, dense + 2 * places.dense[i], length, table + 2 * places.table[i]);
    }
    return;
  }
  const UpdateFn add = UpdateOf(Update::kAdd, loop.dtype);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t c = 0; c < length; ++c) {
      add(table, places.table[i] + c, dense, places.dense[i] + c);
    }
  }
}

// Moves the blocks of a batch. If `fills`, pieces of the dense tensor have a single element.
template <Move kMove>
void MoveBatch(const IndexLoop& loop, const Pieces& pieces, bool fills, const Places& places,
               int64_t n, std::byte* table, std::byte* dense) {
  constexpr bool kPut = kMove == Move::kPut;
  const int64_t unit = static_cast<int64_t>(DTypeSize(loop.dtype));
  // A few blocks of scattered elements: one strided copy each.
  if (kMove != Move::kAdd && pieces.length == 1 && n <= 4 && !pieces.outer.empty()) {
    for (int64_t i = 0; i < n; ++i) {
      TensorView in_table, in_dense;
      in_table.dtype = in_dense.dtype = loop.dtype;
      in_table.sizes = in_dense.sizes = pieces.outer;
      in_table.strides = pieces.table;
      in_dense.strides = pieces.dense;
      in_table.data = table + places.table[i] * unit;
      in_dense.data = dense + places.dense[i] * unit;
      kPut ? CopyConvertible(in_dense, in_table) : CopyConvertible(in_table, in_dense);
    }
    return;
  }
  const size_t bytes = static_cast<size_t>(pieces.length * unit);
  for (StridedIterator<2> it(pieces.outer, {pieces.table, pieces.dense}); !it.done(); it.Next()) {
    std::byte* const t = table + it.offset(0) * unit;
    std::byte* const e = dense + it.offset(1) * unit;
    if (kMove == Move::kAdd) {
      AddPieces(loop, pieces.length, places, n, t, e);
    } else if (fills) {
      for (int64_t i = 0; i < n; ++i) {
        FillRun(e + places.dense[i] * unit, pieces.length, static_cast<size_t>(unit),
                t + places.table[i] * unit);
      }
    } else if (kPut) {
      CopyBlocks(e, places.dense, t, places.table, static_cast<size_t>(n), unit, bytes);
    } else {
      CopyBlocks(t, places.table, e, places.dense, static_cast<size_t>(n), unit, bytes);
    }
  }
}

// Keeps the positions whose offset in the table is in [first, last), in order. Returns their
// number.
int64_t KeepPlaces(int64_t first, int64_t last, int64_t n, Places& places) {
  int64_t kept = 0;
  for (int64_t i = 0; i < n; ++i) {  // without branches, which random indices make slow
    const int64_t at = places.table[i];
    places.table[kept] = at;
    places.dense[kept] = places.dense[i];
    kept += at >= first && at < last ? 1 : 0;
  }
  return kept;
}

// Part of a loop: moves the blocks of positions [first, last), in order, if their offset in the
// table is in [table_first, table_last).
struct LoopPart {
  int64_t first = 0, last = 0;
  int64_t table_first = 0, table_last = std::numeric_limits<int64_t>::max();
};

// A loop whose positions were joined, with the traversal of its blocks.
struct PreparedLoop {
  const IndexLoop& loop;
  Pieces pieces;
  bool fills, empty;  // for MoveBatch; blocks without elements
};

template <Move kMove>
absl::Status RunPart(const PreparedLoop& prepared, const TensorView& table, const TensorView& dense,
                     const LoopPart& part) {
  const IndexLoop& loop = prepared.loop;
  const int last = loop.positions.size() - 1;
  const int64_t row = last < 0 ? 1 : loop.positions[last];
  std::byte *const from = table.as<std::byte>(), *const to = dense.as<std::byte>();
  const bool selects = part.table_last != std::numeric_limits<int64_t>::max();
  Places places;
  int64_t filled = 0;
  const auto flush = [&] {
    if (selects) filled = KeepPlaces(part.table_first, part.table_last, filled, places);
    if (!prepared.empty && filled > 0) {
      MoveBatch<kMove>(loop, prepared.pieces, prepared.fills, places, filled, from, to);
    }
    filled = 0;
  };
  // Offsets of a row of positions in each operand.
  Sizes outer = loop.positions;
  if (last >= 0) outer.erase(last);
  for (int64_t at = part.first; at < part.last;) {
    const int64_t row_start = at % row, row_end = std::min(row, row_start + part.last - at);
    int64_t offsets[kMaxRank] = {};
    for (size_t k = 0; k < loop.operands.size(); ++k) {
      offsets[k] = OffsetAt(at / row, outer, loop.operands[k].index.strides);
    }
    const int64_t dense_offset = OffsetAt(at / row, outer, loop.dense);
    for (int64_t start = row_start; start < row_end;) {
      const int64_t n = std::min(row_end - start, kBatch - filled);
      const absl::Status status = LoadPlaces(loop, offsets, dense_offset, start, n, filled, places);
      if (!status.ok()) return status;
      filled += n;
      start += n;
      if (filled == kBatch) flush();
    }
    at += row_end - row_start;
  }
  flush();
  return absl::OkStatus();
}

// Runs the loop. `table` and `dense` have the same dtype. Indices are checked even if blocks have
// no elements. Threads take positions if the dense tensor is written; otherwise parts of the table,
// so that each of its elements is written in order.
template <Move kMove>
absl::Status RunLoop(const KernelContext& context, IndexLoop& loop, const TensorView& table,
                     const TensorView& dense) {
  if (HasNoElements(loop.positions)) return absl::OkStatus();
  loop.dtype = table.dtype;
  const bool empty = HasNoElements(loop.block.sizes());
  JoinPositions(loop);
  // A value that is broadcast over blocks fills them.
  bool fills = kMove == Move::kPut && loop.block.sizes().size() > 0 && DTypeSize(loop.dtype) <= 8;
  for (int64_t stride : loop.block.to_strides()) fills = fills && stride == 0;
  Pieces pieces = PiecesOf(
      fills ? ElementBlock(loop.block.sizes(), loop.block.from_strides(), loop.block.from_strides())
            : loop.block);
  if (fills) pieces.dense = Strides(pieces.dense.size(), 0);
  const PreparedLoop prepared = {loop, pieces, fills, empty};
  int64_t count = 1, extent = 1, width = 1;
  for (int64_t size : loop.positions) count *= size;
  for (int64_t size : loop.block.sizes()) width *= size;
  for (const IndexLoop::Operand& operand : loop.operands) {
    extent += (operand.dim.size - 1) * operand.dim.stride;
  }
  const double work = static_cast<double>(count) * static_cast<double>(width) * kElementWork;
  if (kMove == Move::kTake) {
    return RunCheckedRanges(context, count, /*step=*/1, work, [&](int64_t first, int64_t last) {
      return RunPart<kMove>(prepared, table, dense, {.first = first, .last = last});
    });
  }
  // Each thread checks all positions.
  constexpr int64_t kLeastWidth = 4;
  const auto run = [&](int64_t first, int64_t last) {
    LoopPart part = {.last = count};
    if (last - first < extent) part = {.last = count, .table_first = first, .table_last = last};
    return RunPart<kMove>(prepared, table, dense, part);
  };
  if (width < kLeastWidth) return run(0, extent);
  return RunCheckedRanges(context, extent, /*step=*/1, work, run);
}

// Runs the loop of at most kMost index tensors into `table`, with a dense tensor of the result's
// sizes.
template <Move kMove, size_t kMost>
absl::Status RunOperands(const KernelContext& context, const IndexWalk& walk,
                         const TensorView& table, const TensorView& dense) {
  IndexLoop::Operand operands[kMost];
  IndexLoop loop;
  for (size_t k = 0; k < walk.operands().size(); ++k) {
    const auto& [index, dim] = walk.operands()[k];
    operands[k] = {index, {table.sizes[dim], table.strides[dim], /*wraps=*/true}, dim};
  }
  loop.operands = absl::MakeSpan(operands, walk.operands().size());
  loop.positions = walk.positions();
  for (int d = 0; d < loop.positions.size(); ++d) {
    loop.dense.push_back(dense.strides[walk.first_position() + d]);
  }
  loop.block = walk.BlockFromSelf(dense.strides);
  return RunLoop<kMove>(context, loop, table, dense);
}

template <Move kMove>
absl::Status RunWalk(const KernelContext& context, const IndexWalk& walk, const TensorView& table,
                     const TensorView& dense) {
  // Most calls have one index tensor; initializing buffers for kMaxRank of them is slower.
  if (walk.operands().size() == 1) return RunOperands<kMove, 1>(context, walk, table, dense);
  return RunOperands<kMove, kMaxRank>(context, walk, table, dense);
}

// Whether RunRows supports the call: rows of a row-major table, contiguous indices, row-major
// result.
bool AreRows(const TensorView& table, const TensorView& index, const TensorView& out) {
  return table.is_contiguous() && index.is_contiguous() && out.is_contiguous();
}

// Fast path of the loop for the most frequent calls, without the general setup. `width`: elements
// per row.
absl::Status RunRows(const KernelContext& context, const TensorView& table, bool wraps,
                     const TensorView& index, int64_t width, const TensorView& out) {
  const int64_t total = index.numel();
  const IndexedDim dim = {table.sizes[0], width, wraps};
  const int64_t unit = static_cast<int64_t>(DTypeSize(table.dtype));
  const auto run = [&](int64_t begin, int64_t end) {
    Places places;
    int64_t indices[kBatch];
    for (int64_t first = begin; first < end; first += kBatch) {
      const int64_t n = std::min(kBatch, end - first);
      LoadIndices(index, first, 1, n, indices);
      for (int64_t i = 0; i < n; ++i) {
        places.table[i] = 0;
        places.dense[i] = (first + i) * width;
      }
      const size_t outside = AddPlaces(indices, static_cast<size_t>(n), dim, places.table);
      if (outside < static_cast<size_t>(n)) return IndexOutOfRange(indices[outside], dim.size, 0);
      if (width == 0) continue;
      CopyBlocks(table.as<const std::byte>(), places.table, out.as<std::byte>(), places.dense,
                 static_cast<size_t>(n), unit, static_cast<size_t>(width * unit));
    }
    return absl::OkStatus();
  };
  const double work = static_cast<double>(total) * static_cast<double>(width) * kElementWork;
  return RunCheckedRanges(context, total, /*step=*/1, work, run);
}

absl::Status Index(KernelContext& context, const IndexCall<KernelArguments>& call) {
  const TensorView from = *call.self;
  ABSL_ASSIGN_OR_RETURN(const IndexWalk walk, IndexWalk::Create(context, call.indices, from));
  ABSL_ASSIGN_OR_RETURN(TensorView * out,
                        OutputOf(context, 0, from.dtype, ToDims(walk.result_sizes())));
  if (HasNoElements(walk.result_sizes())) return absl::OkStatus();
  if (walk.operands().empty()) return CopyStrided(from, *out);
  const IndexWalk::Operand& first = walk.operands()[0];
  if (walk.operands().size() == 1 && first.dim == 0 && AreRows(from, first.index, *out)) {
    return RunRows(context, from, /*wraps=*/true, first.index, out->numel() / first.index.numel(),
                   *out);
  }
  return RunWalk<Move::kTake>(context, walk, from, *out);
}

absl::Status Embedding(KernelContext& context, const EmbeddingCall<KernelArguments>& call) {
  const TensorView* const indices = call.indices;
  const TensorView table = *call.weight;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> dims, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, table.dtype, dims));
  if (AreRows(table, *indices, *out)) {
    return RunRows(context, table, /*wraps=*/false, *indices, table.sizes[1], *out);
  }
  IndexLoop::Operand operand = {*indices, {table.sizes[0], table.strides[0], false}, 0};
  IndexLoop loop;
  loop.operands = absl::MakeSpan(&operand, 1);
  loop.positions = indices->sizes;
  const int last = out->rank() - 1;
  loop.dense = out->strides;
  loop.dense.erase(last);
  loop.block = ElementBlock({table.sizes[1]}, {table.strides[1]}, {out->strides[last]});
  return RunLoop<Move::kTake>(context, loop, table, *out);
}

// Masks, whose values follow separate rules, use the reference kernel.
bool HasOnlyIndices(const IndexPutCall<KernelArguments>& call) {
  bool any = false;
  for (const EValue* element : call.indices.elements) {
    const TensorView* index = element == nullptr ? nullptr : element->get_if<TensorView>();
    if (index == nullptr) continue;
    if (!kIndexTypes.contains(index->dtype)) return false;
    any = true;
  }
  return any;
}

bool AcceptsIndexPut(const KernelContext& context, const IndexPutCall<KernelArguments>& call) {
  return HasOnlyIndices(call);
}

absl::Status PutInto(const KernelContext& context, const TensorView& out,
                     const IndexPutCall<KernelArguments>& call) {
  const TensorView* const values = call.values;
  if (!HasOnlyIndices(call))
    return absl::InternalError("the call changed after the kernel was chosen");
  if (values->dtype != out.dtype) {
    return absl::InvalidArgumentError(absl::StrCat("values: expected ", DTypeName(out.dtype),
                                                   ", got ", DTypeName(values->dtype)));
  }
  ABSL_ASSIGN_OR_RETURN(const IndexWalk walk, IndexWalk::Create(context, call.indices, out));
  ABSL_ASSIGN_OR_RETURN(const TensorView from, ExpandTo(*values, walk.result_sizes()));
  if (HasNoElements(walk.result_sizes())) return absl::OkStatus();
  ABSL_RETURN_IF_ERROR(CheckBroadcastSteps("index_put", walk.result_sizes()));
  return call.accumulate ? RunWalk<Move::kAdd>(context, walk, out, from)
                         : RunWalk<Move::kPut>(context, walk, out, from);
}

absl::Status IndexPut(KernelContext& context, const IndexPutCall<KernelArguments>& call) {
  ABSL_RETURN_IF_ERROR(ExpectNumbers("self", *call.self));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, call.self->dtype, *call.self));
  CopyConvertible(*call.self, *out);
  return PutInto(context, *out, call);
}

absl::Status IndexPutInPlace(KernelContext& context, const IndexPutCall<KernelArguments>& call) {
  ABSL_RETURN_IF_ERROR(ExpectNumbers("self", *call.self));
  ABSL_ASSIGN_OR_RETURN(TensorView * self, context.MutableTensor(call.target));
  ABSL_RETURN_IF_ERROR(PutInto(context, *self, call));
  return ReturnSelf(context, *self);
}

constexpr KernelEngine kHighway = KernelEngine::kHighway;

constexpr Kernel kKernels[] = {
    KernelRow<&Embedding>("aten.embedding.default",
                          "weight indices padding_idx scale_grad_by_freq sparse", "EmbeddingSimd",
                          kHighway),
    KernelRow<&EmbeddingBag, &AcceptsEmbeddingBag, &EmbeddingBagScratch>(
        "aten._embedding_bag.default",
        "weight indices offsets scale_grad_by_freq mode sparse per_sample_weights "
        "include_last_offset padding_idx -> 4",
        "EmbeddingBagSimd", kHighway),
    KernelRow<&Index, nullptr, &IndexScratch<IndexCall<KernelArguments>>>(
        "aten.index.Tensor", "self indices", "IndexSimd", kHighway),
    KernelRow<&IndexPut, &AcceptsIndexPut>(
        "aten.index_put.default", "self indices values accumulate", "IndexPutSimd", kHighway),
    KernelRow<&IndexPutInPlace, &AcceptsIndexPut>("aten.index_put_.default",
                                                  "self indices values accumulate",
                                                  "IndexPutInPlaceSimd", kHighway),
};

}  // namespace

absl::Span<const Kernel> IndexHighwayKernels() { return kKernels; }

}  // namespace belay
