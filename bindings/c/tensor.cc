#include <algorithm>
#include <cstdint>
#include <optional>

#include "bindings/c/handles.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/dtype.h"
#include "runtime/core/sizes.h"
#include "runtime/core/status_macros.h"

namespace belay::c {

static_assert(BELAY_FLOAT8_E8M0FNU == static_cast<int>(DType::kFloat8E8M0FNU) &&
              BELAY_FLOAT8_E8M0FNU + 1 == kNumDTypes);
static_assert(BELAY_MAX_RANK == kMaxRank);

absl::StatusOr<TensorView> ViewOf(const belay_tensor* tensor) {
  if (tensor == nullptr) return Missing("a tensor");
  const auto dtype = DTypeFromProgramFile(static_cast<uint32_t>(tensor->dtype));
  if (!dtype.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("dtype: expected one of belay_dtype, got ", static_cast<int>(tensor->dtype)));
  }
  if (tensor->rank < 0 || tensor->rank > BELAY_MAX_RANK) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank: expected 0 to ", BELAY_MAX_RANK, ", got ", tensor->rank));
  }
  const auto rank = static_cast<size_t>(tensor->rank);
  TensorView view;
  view.dtype = *dtype;
  view.sizes = Sizes(absl::MakeConstSpan(tensor->sizes, rank));
  view.strides = Strides(absl::MakeConstSpan(tensor->strides, rank));
  const std::optional<int64_t> elements = NumElements(view.sizes);
  CheckedInt last = 0;
  for (int d = 0; d < view.rank(); ++d) {
    if (view.strides[d] < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("strides: expected values of at least 0, got ", FormatSizes(view.strides)));
    }
    if (elements.value_or(0) > 0) {
      last = last + CheckedInt(view.sizes[d] - 1) * CheckedInt(view.strides[d]);
    }
  }
  last = (last + CheckedInt(1)) * CheckedInt(static_cast<int64_t>(DTypeSize(view.dtype)));
  if (!elements.has_value() || !last.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("sizes: expected a tensor that fits in memory, got ", view.ToString()));
  }
  if (tensor->data == nullptr && *elements > 0) return Missing("the tensor's data");
  view.data = tensor->data;
  return view;
}

belay_tensor TensorOf(const TensorView& view) {
  belay_tensor tensor = {};
  tensor.dtype = static_cast<belay_dtype>(view.dtype);
  tensor.rank = view.rank();
  std::copy(view.sizes.begin(), view.sizes.end(), tensor.sizes);
  std::copy(view.strides.begin(), view.strides.end(), tensor.strides);
  tensor.data = view.data;
  return tensor;
}

belay_kind KindOf(const EValue& value) {
  if (value.is_tensor()) return BELAY_KIND_TENSOR;
  if (value.is<int64_t>()) return BELAY_KIND_INT;
  if (value.is<double>()) return BELAY_KIND_DOUBLE;
  if (value.is<bool>()) return BELAY_KIND_BOOL;
  if (value.is<std::string_view>()) return BELAY_KIND_STRING;
  return value.is_none() ? BELAY_KIND_NONE : BELAY_KIND_OTHER;
}

namespace {

absl::Status Copy(const belay_tensor* from, const belay_tensor* to) {
  ABSL_ASSIGN_OR_RETURN(const TensorView source, ViewOf(from));
  ABSL_ASSIGN_OR_RETURN(const TensorView target, ViewOf(to));
  if (source.dtype != target.dtype) {
    return absl::InvalidArgumentError(
        absl::StrCat("dtype: expected ", source.ToString(), ", got ", target.ToString()));
  }
  return CopyElements(source, target);
}

}  // namespace
}  // namespace belay::c

belay_status belay_tensor_copy(const belay_tensor* from, const belay_tensor* to,
                               belay_error** error) {
  return belay::c::Report(belay::c::Copy(from, to), error);
}

size_t belay_dtype_size(belay_dtype dtype) {
  const auto known = belay::DTypeFromProgramFile(static_cast<uint32_t>(dtype));
  return known.has_value() ? belay::DTypeSize(*known) : 0;
}

belay_tensor belay_tensor_contiguous(belay_dtype dtype, int32_t rank, const int64_t* sizes,
                                     void* data) {
  belay_tensor tensor = {};
  tensor.dtype = dtype;
  tensor.rank = rank;
  tensor.data = data;
  if (rank < 0 || rank > BELAY_MAX_RANK || (sizes == nullptr && rank > 0)) {
    tensor.rank = -1;  // rejected by all functions
    return tensor;
  }
  // Wraps for sizes larger than memory; functions that use the tensor reject those.
  uint64_t stride = 1;
  for (int32_t d = rank - 1; d >= 0; --d) {
    tensor.sizes[d] = sizes[d];
    tensor.strides[d] = static_cast<int64_t>(stride & INT64_MAX);
    stride *= static_cast<uint64_t>(std::max<int64_t>(sizes[d], 1));
  }
  return tensor;
}
