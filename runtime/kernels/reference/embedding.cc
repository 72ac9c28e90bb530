// Rows of a table: lookups, bags of lookups, and the gradient of a lookup.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "absl/status/status.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/index.h"
#include "runtime/kernels/operands/element_access.h"
#include "runtime/kernels/operands/embedding_bags.h"
#include "runtime/kernels/operands/gather_walk.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/rounding.h"
#include "runtime/kernels/operands/strided_view.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

absl::Status Embedding(KernelContext& context, const EmbeddingCall<KernelArguments>& call) {
  const TensorView table = *call.weight, places = *call.indices;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> dims, call.Shape());
  ABSL_ASSIGN_OR_RETURN(TensorView * out, OutputOf(context, 0, table.dtype, dims));
  const int last = out->rank() - 1;
  const int64_t rows = table.sizes[0];
  const size_t bytes = DTypeSize(table.dtype);
  const bool empty = out->numel() == 0;
  const ElementBlock row({table.sizes[1]}, {table.strides[1]}, {out->strides[last]});
  for (StridedIterator<2> it(places.sizes, {places.strides, out->strides}); !it.done(); it.Next()) {
    const int64_t index = ReadIndex(places, it.offset(0));
    if (index < 0 || index >= rows) return IndexOutOfRange(index, rows, 0);
    if (empty) continue;
    row.Copy(ElementAddress(table, index * table.strides[0]), ElementAddress(*out, it.offset(1)),
             bytes);
  }
  return absl::OkStatus();
}

uint64_t EmbeddingBackwardScratch(const KernelContext& context,
                                  const EmbeddingBackwardCall<KernelArguments>& call) {
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  if (!out.ok() || (*out)->rank() != 2) return 0;
  return ScratchBytesOf<int64_t>((*out)->sizes[0]);
}

// Elements of a row that PyTorch adds together.
constexpr int64_t kRowBlock = 32;

absl::Status EmbeddingBackward(KernelContext& context,
                               const EmbeddingBackwardCall<KernelArguments>& call) {
  const TensorView from = *call.grad_output, places = *call.indices;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> dims, call.Shape());
  const int64_t rows = call.num_weights.value(), padding = call.padding_idx.value();
  const int last = from.rank() - 1;
  ABSL_ASSIGN_OR_RETURN(TensorView * out, OutputOf(context, 0, from.dtype, dims));
  FillZero(*out);
  int64_t* counts = nullptr;
  if (call.scale_grad_by_freq) {
    ABSL_ASSIGN_OR_RETURN(counts, ScratchArray<int64_t>(context, rows));
    std::fill_n(counts, rows, int64_t{0});
    for (StridedIterator<1> it(places.sizes, {places.strides}); !it.done(); it.Next()) {
      const int64_t index = ReadIndex(places, it.offset(0));
      if (index >= 0 && index < rows) ++counts[index];
    }
  }
  const Reader<double> read(from), read_out(*out);
  const Writer<double> write(*out);
  const RoundFn round = RoundingTo(from.dtype);  // PyTorch rounds each addition
  Sizes outer = from.sizes;
  outer.erase(last);
  StridedIterator<1> gradient(outer, {from.strides});
  for (StridedIterator<1> it(places.sizes, {places.strides}); !it.done() && !gradient.done();
       it.Next(), gradient.Next()) {
    const int64_t index = ReadIndex(places, it.offset(0));
    if (index == padding) continue;
    if (index < 0 || index >= rows) return IndexOutOfRange(index, rows, 0);
    const double factor = round(
        counts == nullptr ? 1.0 : 1.0 / static_cast<double>(std::max<int64_t>(counts[index], 1)));
    // In half precision, products after the last whole block of a row are also rounded.
    const int64_t width = from.sizes[last];
    const int64_t blocks = DTypeSize(from.dtype) == 2 ? width - width % kRowBlock : width;
    for (int64_t i = 0; i < width; ++i) {
      const int64_t place = index * out->strides[0] + i * out->strides[1];
      const double product = read(gradient.offset(0) + i * from.strides[last]) * factor;
      write(place, read_out(place) + (i < blocks ? product : round(product)));
    }
  }
  return absl::OkStatus();
}

// Operands of one _embedding_bag.
struct Bags {
  TensorView weight;
  TensorView indices;
  std::optional<TensorView> weights;  // per_sample_weights
  BagMode mode;
  int64_t padding;
};

// Returns index `i` of the bags; kOutOfRange if it is not a row.
absl::StatusOr<int64_t> BagIndex(const Bags& bags, int64_t i) {
  const int64_t index = ReadIndex(bags.indices, i * bags.indices.strides[0]);
  const int64_t rows = bags.weight.sizes[0];
  if (index < 0 || index >= rows) return IndexOutOfRange(index, rows, 0);
  return index;
}

// Reduces feature `f` of a bag; `chosen` is the row of the maximum.
absl::StatusOr<double> ReduceBag(const Bags& bags, int64_t begin, int64_t end, int64_t f,
                                 int64_t& chosen) {
  const Reader<double> read(bags.weight);
  const OptionalVector scale(bags.weights.has_value() ? &*bags.weights : nullptr, 1.0);
  double result = 0;
  int64_t count = 0;
  chosen = 0;
  for (int64_t i = begin; i < end; ++i) {
    ABSL_ASSIGN_OR_RETURN(const int64_t index, BagIndex(bags, i));
    if (index == bags.padding) continue;
    const double value =
        read(index * bags.weight.strides[0] + f * bags.weight.strides[1]) * scale[i];
    if (bags.mode != BagMode::kMax) {
      result += value;
    } else if (count == 0 || value > result) {
      result = value;
      chosen = index;
    }
    ++count;
  }
  if (bags.mode == BagMode::kMean && count > 0) result /= static_cast<double>(count);
  return result;
}

absl::Status EmbeddingBag(KernelContext& context, const EmbeddingBagCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const BagShape<CheckedInt> shape, call.Shape());
  Bags bags = {*call.weight, *call.indices, std::nullopt, static_cast<BagMode>(call.mode),
               call.padding_idx};
  if (call.per_sample_weights != nullptr) bags.weights = *call.per_sample_weights;
  const bool unit_strides =
      bags.weight.strides[1] == 1 && (!bags.weights.has_value() || bags.weights->strides[0] == 1);
  const bool skips = BagSkipsOffsets(bags.weight.dtype, call.mode, bags.padding, unit_strides);
  const bool has_rows = bags.mode == BagMode::kMax;
  ABSL_ASSIGN_OR_RETURN(const BagResults results, BagResultsOf(context, call, shape, skips));
  const auto& [out, offset2bag, bag_size, rows] = results;
  const Writer<double> write(*out);
  const Writer<int64_t> write_bag(*offset2bag), write_size(*bag_size), write_row(*rows);
  for (int64_t b = 0; b < shape.bags.value(); ++b) {
    ABSL_ASSIGN_OR_RETURN(const BagRange range, BagRangeOf(call, b));
    int64_t size = 0;
    for (int64_t i = range.begin; i < range.end; ++i) {
      ABSL_ASSIGN_OR_RETURN(const int64_t index, BagIndex(bags, i));
      size += index == bags.padding ? 0 : 1;
      if (!skips) write_bag(i * offset2bag->strides[0], b);
    }
    write_size(b * bag_size->strides[0], size);
    for (int64_t f = 0; f < shape.features.value(); ++f) {
      int64_t chosen = 0;
      ABSL_ASSIGN_OR_RETURN(const double value, ReduceBag(bags, range.begin, range.end, f, chosen));
      write(b * out->strides[0] + f * out->strides[1], value);
      if (has_rows) write_row(b * rows->strides[0] + f * rows->strides[1], chosen);
    }
  }
  return absl::OkStatus();
}

constexpr KernelEngine kReference = KernelEngine::kReference;

constexpr Kernel kKernels[] = {
    KernelRow<&EmbeddingBag>(
        "aten._embedding_bag.default",
        "weight indices offsets scale_grad_by_freq mode sparse per_sample_weights "
        "include_last_offset padding_idx -> 4",
        "EmbeddingBag", kReference),
    KernelRow<&Embedding>("aten.embedding.default",
                          "weight indices padding_idx scale_grad_by_freq sparse", "Embedding",
                          kReference),
    KernelRow<&EmbeddingBackward, nullptr, &EmbeddingBackwardScratch>(
        "aten.embedding_dense_backward.default",
        "grad_output indices num_weights padding_idx scale_grad_by_freq", "EmbeddingBackward",
        kReference),
};

}  // namespace

absl::Span<const Kernel> EmbeddingKernels() { return kKernels; }

}  // namespace belay
