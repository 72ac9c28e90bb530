// Rows of a table: lookups, bags of lookups, and the gradient of a lookup.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "absl/status/status.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel/shape_rules/index.h"
#include "runtime/kernels/call/element_access.h"
#include "runtime/kernels/call/gather_walk.h"
#include "runtime/kernels/call/operands.h"
#include "runtime/kernels/call/rounding.h"
#include "runtime/kernels/call/strided_view.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

absl::Status Embedding(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(5, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* weight, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const TensorView* indices, TensorOf(context, 1, "indices", kIndexTypes));
  const TensorView table = *weight, places = *indices;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> dims,
                        EmbeddingShape<CheckedInt>(ToDims(table.sizes), ToDims(places.sizes)));
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

uint64_t EmbeddingBackwardScratch(const KernelContext& context) {
  if (context.num_outputs() < 1) return 0;
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  if (!out.ok() || (*out)->rank() != 2) return 0;
  return ScratchBytesOf<int64_t>((*out)->sizes[0]);
}

// How many elements of a row PyTorch adds at once.
constexpr int64_t kRowBlock = 32;

// embedding_dense_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq)
absl::Status EmbeddingBackward(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(5, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* grad, TensorOf(context, 0, "grad_output", kFloatTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorView* indices, TensorOf(context, 1, "indices", kIndexTypes));
  ABSL_ASSIGN_OR_RETURN(const int64_t rows, context.Int(2));
  ABSL_ASSIGN_OR_RETURN(const int64_t padding, context.Int(3));
  ABSL_ASSIGN_OR_RETURN(const bool scale, context.Bool(4));
  const CheckedInt elements = grad->sizes.empty()
                                  ? CheckedInt(-1)
                                  : CheckedInt(indices->numel()) * CheckedInt(grad->sizes.back());
  if (rows < 0 || !elements.ok() || elements.value() != grad->numel()) {
    return absl::InvalidArgumentError(absl::StrCat("embedding_dense_backward: gradient ",
                                                   grad->ToString(), " does not fit indices ",
                                                   indices->ToString(), " and ", rows, " rows"));
  }
  const TensorView from = *grad, places = *indices;
  const int last = from.rank() - 1;
  const Dims<CheckedInt> dims({CheckedInt(rows), CheckedInt(from.sizes[last])});
  ABSL_ASSIGN_OR_RETURN(TensorView * out, OutputOf(context, 0, from.dtype, dims));
  FillZero(*out);
  int64_t* counts = nullptr;
  if (scale) {
    ABSL_ASSIGN_OR_RETURN(counts, ScratchArray<int64_t>(context, rows));
    std::fill_n(counts, rows, int64_t{0});
    for (StridedIterator<1> it(places.sizes, {places.strides}); !it.done(); it.Next()) {
      const int64_t index = ReadIndex(places, it.offset(0));
      if (index >= 0 && index < rows) ++counts[index];
    }
  }
  const Reader<double> read(from), read_out(*out);
  const Writer<double> write(*out);
  const RoundFn round = RoundingTo(from.dtype);  // as each addition of PyTorch's is rounded
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
    // In half precision the product is rounded, too, behind the last whole block of a row.
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

// The operands of one _embedding_bag.
struct BagCall {
  TensorView weight;
  TensorView indices;
  TensorView offsets;
  std::optional<TensorView> weights;  // per_sample_weights
  BagMode mode;
  int64_t padding;
  bool include_last;
  int64_t bags;
};

// Where bag `b` begins and ends in the indices.
absl::Status BagBounds(const BagCall& call, int64_t b, int64_t& begin, int64_t& end) {
  const auto offset = [&](int64_t i) {
    return ReadIndex(call.offsets, i * call.offsets.strides[0]);
  };
  begin = offset(b);
  end = b + 1 < call.offsets.sizes[0] ? offset(b + 1) : call.indices.sizes[0];
  if (begin < 0 || end < begin || end > call.indices.sizes[0] || (b == 0 && begin != 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "_embedding_bag: bag ", b, " from ", begin, " to ", end,
        "; offsets must begin at 0, rise, and end within the ", call.indices.sizes[0], " indices"));
  }
  return absl::OkStatus();
}

// Index `i` of the call; kOutOfRange when it is none.
absl::StatusOr<int64_t> BagIndex(const BagCall& call, int64_t i) {
  const int64_t index = ReadIndex(call.indices, i * call.indices.strides[0]);
  const int64_t rows = call.weight.sizes[0];
  if (index < 0 || index >= rows) return IndexOutOfRange(index, rows, 0);
  return index;
}

// Reduces feature `f` of a bag; `chosen` is the row that gave the maximum.
absl::StatusOr<double> ReduceBag(const BagCall& call, int64_t begin, int64_t end, int64_t f,
                                 int64_t& chosen) {
  const Reader<double> read(call.weight);
  const OptionalVector scale(call.weights.has_value() ? &*call.weights : nullptr, 1.0);
  double result = 0;
  int64_t count = 0;
  chosen = 0;
  for (int64_t i = begin; i < end; ++i) {
    ABSL_ASSIGN_OR_RETURN(const int64_t index, BagIndex(call, i));
    if (index == call.padding) continue;
    const double value =
        read(index * call.weight.strides[0] + f * call.weight.strides[1]) * scale[i];
    if (call.mode != BagMode::kMax) {
      result += value;
    } else if (count == 0 || value > result) {
      result = value;
      chosen = index;
    }
    ++count;
  }
  if (call.mode == BagMode::kMean && count > 0) result /= static_cast<double>(count);
  return result;
}

absl::StatusOr<BagCall> ReadBagCall(const KernelContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* weight, TensorOf(context, 0, "weight", kFloatTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorView* indices, TensorOf(context, 1, "indices", kIndexTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorView* offsets, TensorOf(context, 2, "offsets", kIndexTypes));
  ABSL_ASSIGN_OR_RETURN(const int64_t mode, context.Int(4));
  ABSL_ASSIGN_OR_RETURN(
      const TensorView* weights,
      OptionalTensorOf(context, 6, "per_sample_weights", DTypeSet{weight->dtype}));
  ABSL_ASSIGN_OR_RETURN(const bool include_last, context.Bool(7));
  ABSL_ASSIGN_OR_RETURN(const int64_t padding, context.Int(8));
  Dims<CheckedInt> weights_dims;
  if (weights != nullptr) weights_dims = ToDims(weights->sizes);
  const absl::Span<const CheckedInt> weights_sizes = weights_dims;
  ABSL_ASSIGN_OR_RETURN(const BagShape<CheckedInt> shape,
                        EmbeddingBagShape<CheckedInt>(
                            ToDims(weight->sizes), ToDims(indices->sizes), ToDims(offsets->sizes),
                            mode, weights == nullptr ? nullptr : &weights_sizes, include_last));
  BagCall call = {
      *weight, *indices,     *offsets,          std::nullopt, static_cast<BagMode>(mode),
      padding, include_last, shape.bags.value()};
  if (weights != nullptr) call.weights = *weights;
  return call;
}

absl::Status EmbeddingBag(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(9, 4));
  ABSL_ASSIGN_OR_RETURN(const BagCall call, ReadBagCall(context));
  const DType index_type = call.indices.dtype == DType::kInt64 ? DType::kInt64 : call.offsets.dtype;
  const bool unit_strides =
      call.weight.strides[1] == 1 && (!call.weights.has_value() || call.weights->strides[0] == 1);
  const bool skips = BagSkipsOffsets(call.weight.dtype, static_cast<int64_t>(call.mode),
                                     call.padding, unit_strides);
  const CheckedInt bags = call.bags, features = call.weight.sizes[1];
  const bool has_rows = call.mode == BagMode::kMax;
  const Dims<CheckedInt> table({bags, features}), vector({bags});
  const Dims<CheckedInt> bag_of({CheckedInt(skips ? 0 : call.indices.sizes[0])});
  ABSL_ASSIGN_OR_RETURN(TensorView * out, OutputOf(context, 0, call.weight.dtype, table));
  ABSL_ASSIGN_OR_RETURN(TensorView * offset2bag, OutputOf(context, 1, index_type, bag_of));
  ABSL_ASSIGN_OR_RETURN(TensorView * bag_size, OutputOf(context, 2, index_type, vector));
  ABSL_ASSIGN_OR_RETURN(TensorView * rows,
                        OutputOf(context, 3, index_type, has_rows ? table : vector));
  FillZero(*offset2bag);
  FillZero(*rows);
  const Writer<double> write(*out);
  const Writer<int64_t> write_bag(*offset2bag), write_size(*bag_size), write_row(*rows);
  for (int64_t b = 0; b < call.bags; ++b) {
    int64_t begin = 0, end = 0;
    ABSL_RETURN_IF_ERROR(BagBounds(call, b, begin, end));
    int64_t size = 0;
    for (int64_t i = begin; i < end; ++i) {
      ABSL_ASSIGN_OR_RETURN(const int64_t index, BagIndex(call, i));
      size += index == call.padding ? 0 : 1;
      if (!skips) write_bag(i * offset2bag->strides[0], b);
    }
    write_size(b * bag_size->strides[0], size);
    for (int64_t f = 0; f < features.value(); ++f) {
      int64_t chosen = 0;
      ABSL_ASSIGN_OR_RETURN(const double value, ReduceBag(call, begin, end, f, chosen));
      write(b * out->strides[0] + f * out->strides[1], value);
      if (has_rows) write_row(b * rows->strides[0] + f * rows->strides[1], chosen);
    }
  }
  return absl::OkStatus();
}

constexpr KernelEngine kReference = KernelEngine::kReference;

constexpr Kernel kKernels[] = {
    {"aten._embedding_bag.default", "EmbeddingBag", kReference, &EmbeddingBag},
    {"aten.embedding.default", "Embedding", kReference, &Embedding},
    {"aten.embedding_dense_backward.default", "EmbeddingBackward", kReference, &EmbeddingBackward,
     nullptr, &EmbeddingBackwardScratch},
};

}  // namespace

absl::Span<const Kernel> EmbeddingKernels() { return kKernels; }

}  // namespace belay
