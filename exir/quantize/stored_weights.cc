#include "exir/quantize/stored_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

#include "exir/ir/graph_editor.h"
#include "exir/ir/mapped_pages.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr std::string_view kPerChannel = "quantized_decomposed.dequantize_per_channel.default";
constexpr std::string_view kPerGroup = "quantized_decomposed.dequantize_per_channel_group.default";

std::string_view Suffix(WeightNumbers numbers) {
  switch (numbers) {
    case WeightNumbers::kInt8:
      return "_int8";
    case WeightNumbers::kInt4:
      return "_int4";
    default:
      return "_bf16";
  }
}

template <class T>
std::vector<std::byte> BytesOf(const std::vector<T>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

// Cannot fail: the bytes are exactly those of the sizes.
ConstantTensor Tensor(DType dtype, Sizes sizes, std::vector<std::byte> bytes) {
  return *ConstantTensor::Contiguous(dtype, std::move(sizes), Storage::Own(std::move(bytes)));
}

Sizes RowSizes(const ConstantTensor& weight, bool rows_first) {
  Sizes sizes = weight.sizes();
  if (!rows_first) std::swap(sizes[0], sizes[1]);
  return sizes;
}

// Returns the elements of integer weights as reals, in the order of the matrix.
std::vector<float> Dequantized(const EncodedWeight& encoded, const RowsOptions& rows,
                               int64_t columns) {
  const auto group_size = static_cast<size_t>(rows.group_size == 0 ? columns : rows.group_size);
  const auto* numbers = encoded.elements.view().as<int8_t>();
  const auto* scales = encoded.scales->view().as<float>();
  const auto* zeros =
      encoded.zero_points.has_value() ? encoded.zero_points->view().as<int8_t>() : nullptr;
  std::vector<float> reals(static_cast<size_t>(encoded.elements.view().numel()));
  for (size_t i = 0; i < reals.size(); ++i) {
    const size_t group = i / group_size;
    reals[i] = DequantizeNumber(numbers[i], {scales[group], zeros == nullptr ? 0 : zeros[group]});
  }
  return reals;
}

EncodedWeight Packed(const ConstantTensor& weight, const WeightMatrix& matrix, bool rows_first,
                     const Scheme& scheme, QuantizedRows rows) {
  Sizes sizes = RowSizes(weight, rows_first);
  Sizes parameters = {sizes[0]};
  if (scheme.rows.group_size > 0) {
    parameters.push_back(matrix.columns / scheme.rows.group_size);
  }
  EncodedWeight encoded{Tensor(DType::kInt8, std::move(sizes), std::move(rows.elements)),
                        Tensor(DType::kFloat32, parameters, BytesOf(rows.scales)),
                        {},
                        rows.loss};
  if (!rows.zero_points.empty()) {
    encoded.zero_points = Tensor(DType::kInt8, parameters, BytesOf(rows.zero_points));
  }
  encoded.distribution =
      DistributionOf(matrix.elements, Dequantized(encoded, scheme.rows, matrix.columns));
  return encoded;
}

}  // namespace

absl::StatusOr<std::string> EncodedWeights::UnsupportedReason(const ConstantTensor& weight,
                                                              bool rows_first,
                                                              const Scheme& scheme) {
  const int64_t columns = ColumnsOf(weight, rows_first);
  const int64_t group = scheme.has_integer_weight() ? scheme.rows.group_size : 0;
  if (group > 0 && columns % group != 0) {
    return absl::StrCat("its rows of ", columns, " elements are not a multiple of groups of ",
                        group);
  }
  std::vector<Checked>& list = checked_[weight.view().data];
  auto it = std::find_if(list.begin(), list.end(), [&](const Checked& checked) {
    return checked.weight.sizes() == weight.sizes() && checked.weight.strides() == weight.strides();
  });
  if (it == list.end()) {
    ABSL_ASSIGN_OR_RETURN(const WeightMatrix matrix, MatrixOf(weight, rows_first));
    const bool finite = std::all_of(matrix.elements.begin(), matrix.elements.end(),
                                    [](float x) { return std::isfinite(x); });
    ReleasePages(matrix.storage.bytes);
    it = list.insert(list.end(), {weight, finite});
  }
  return it->finite ? "" : "its weight has elements that are NaN or infinite";
}

std::vector<double> MeanErrors(const WeightMatrix& weight, const EncodedWeight& encoded,
                               const RowsOptions& rows, absl::Span<const double> means) {
  const auto columns = static_cast<size_t>(weight.columns);
  const size_t rows_per_group = static_cast<size_t>(weight.rows) / (means.size() / columns);
  const std::vector<float> quantized = Dequantized(encoded, rows, weight.columns);
  std::vector<double> errors(static_cast<size_t>(weight.rows));
  for (size_t n = 0; n < errors.size(); ++n) {
    const double* mean = means.data() + n / rows_per_group * columns;
    for (size_t k = 0; k < columns; ++k) {
      const size_t i = n * columns + k;
      errors[n] += (double{weight.elements[i]} - double{quantized[i]}) * mean[k];
    }
  }
  return errors;
}

absl::StatusOr<EncodedWeight> EncodedWeights::Encode(const ConstantTensor& weight, bool rows_first,
                                                     const Scheme& scheme) {
  std::vector<Entry>& entries = entries_[weight.view().data];
  for (const Entry& entry : entries) {
    if (entry.rows_first == rows_first && entry.weight.sizes() == weight.sizes() &&
        entry.weight.strides() == weight.strides() && HasSameWeight(entry.scheme, scheme)) {
      return entry.encoded;
    }
  }
  ABSL_ASSIGN_OR_RETURN(const WeightMatrix matrix, MatrixOf(weight, rows_first));
  EncodedWeight encoded = [&] {
    if (scheme.has_integer_weight()) {
      return Packed(weight, matrix, rows_first, scheme,
                    QuantizeRows(matrix.elements, matrix.columns, scheme.rows, threads_));
    }
    QuantizationLoss loss;
    std::vector<std::byte> bytes = RoundToBFloat16(matrix.elements, loss);
    return EncodedWeight{
        Tensor(DType::kBFloat16, RowSizes(weight, rows_first), std::move(bytes)), {}, {}, loss};
  }();
  ReleasePages(matrix.storage.bytes);
  entries.push_back({weight, rows_first, scheme, std::move(encoded)});
  return entries.back().encoded;
}

void EncodedWeights::AddWithFeedback(const ConstantTensor& weight, const WeightMatrix& matrix,
                                     bool rows_first, const Scheme& scheme, QuantizedRows rows) {
  EncodedWeight encoded = Packed(weight, matrix, rows_first, scheme, std::move(rows));
  encoded.error_feedback = true;
  entries_[weight.view().data].push_back({weight, rows_first, scheme, std::move(encoded)});
}

absl::StatusOr<const StoredWeights::Stored*> StoredWeights::Add(const WeightUse& use,
                                                                const Scheme& scheme) {
  std::vector<Stored>& list = stored_[{use.constant, use.rows_first}];
  for (const Stored& stored : list) {
    if (HasSameWeight(stored.scheme, scheme)) return &stored;
  }
  const ConstantTensor& weight = *constants_.Find(use.constant);
  ABSL_ASSIGN_OR_RETURN(EncodedWeight encoded, encoded_.Encode(weight, use.rows_first, scheme));
  const uint64_t elements = encoded.loss.elements;
  const std::string suffix(Suffix(scheme.weight));
  Stored stored;
  stored.scheme = scheme;
  stored.used_by = builder_.graph().node(use.node).name;
  stored.loss = encoded.loss;
  stored.error_feedback = encoded.error_feedback;
  stored.distribution = encoded.distribution;
  stored.bytes_before = elements * sizeof(float);
  stored.bytes_after = scheme.weight == WeightNumbers::kInt4   ? elements / 2
                       : scheme.weight == WeightNumbers::kInt8 ? elements
                                                               : elements * 2;
  const auto add = [&](std::string_view more, std::optional<ConstantTensor>& tensor) {
    if (!tensor.has_value()) return ValueId();
    stored.bytes_after +=
        static_cast<uint64_t>(tensor->view().numel()) * DTypeSize(tensor->dtype());
    return constants_.AddDerived(use.constant, absl::StrCat(suffix, more), *std::move(tensor));
  };
  stored.elements = constants_.AddDerived(use.constant, suffix, std::move(encoded.elements));
  stored.scales = add("_scales", encoded.scales);
  stored.zero_points = add("_zeros", encoded.zero_points);
  list.push_back(std::move(stored));
  return &list.back();
}

absl::Status StoredWeights::Replace(const WeightUse& use, const Stored& stored) {
  OpBuilder& b = builder_;
  b.MoveTo(use.node);
  const auto optional = [](ValueId value) { return value.valid() ? Argument(value) : Argument(); };
  const RowsOptions& rows = stored.scheme.rows;
  const int64_t low = rows.range.low, high = rows.range.high;
  Argument weight;
  if (!stored.scheme.has_integer_weight()) {
    weight = b.Call("dim_order_ops._to_dim_order_copy.default", {stored.elements},
                    {{"dtype", DType::kFloat32}, {"dim_order", {0, 1}}});
  } else if (rows.group_size == 0) {
    weight = b.Call(kPerChannel, {stored.elements, stored.scales, optional(stored.zero_points), 0,
                                  low, high, DType::kInt8});
  } else {
    weight = b.Call(kPerGroup, {stored.elements, stored.scales, optional(stored.zero_points), low,
                                high, DType::kInt8, rows.group_size, DType::kFloat32});
  }
  if (use.transposes) weight = b.Call("aten.permute.default", {weight, {1, 0}});
  ABSL_RETURN_IF_ERROR(b.status());
  const Node& node = b.graph().node(use.node);
  const auto index = node.target->ArgumentIndex(use.weight_argument);
  b.editor().SetArgument(use.node, *index, weight);
  return absl::OkStatus();
}

}  // namespace belay::exir
