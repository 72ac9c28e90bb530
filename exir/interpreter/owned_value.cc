#include "exir/interpreter/owned_value.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "runtime/core/checked_math.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

// Number of elements in the memory extent (first to last, inclusive); 0 for empty tensors.
absl::StatusOr<int64_t> Extent(const Sizes& sizes, const Strides& strides) {
  const std::optional<int64_t> count = NumElements(sizes);
  if (!count.has_value() || sizes.size() != strides.size()) {
    return absl::InvalidArgumentError(absl::StrCat("no tensor has sizes ", FormatSizes(sizes),
                                                   " and strides ", FormatSizes(strides)));
  }
  if (*count == 0) return 0;
  CheckedInt extent = 1;
  for (int d = 0; d < sizes.size(); ++d) {
    if (strides[d] < 0) {
      return absl::InvalidArgumentError(absl::StrCat("negative strides ", FormatSizes(strides)));
    }
    extent = extent + CheckedInt(sizes[d] - 1) * strides[d];
  }
  if (!extent.ok()) {
    return absl::ResourceExhaustedError(absl::StrCat("a tensor of sizes ", FormatSizes(sizes),
                                                     " and strides ", FormatSizes(strides)));
  }
  return extent.value();
}

}  // namespace

OwnedValue OwnedValue::Scalar(EValue value) {
  OwnedValue datum;
  datum.value_ = value;
  return datum;
}

OwnedValue OwnedValue::String(std::string_view text) {
  auto owned = std::make_shared<const std::string>(text);
  OwnedValue datum;
  datum.value_ = EValue(std::string_view(*owned));
  datum.owner_ = std::move(owned);
  return datum;
}

OwnedValue OwnedValue::Borrow(const TensorView& tensor, bool writable) {
  OwnedValue datum;
  datum.value_ = EValue(tensor);
  datum.storage_ = static_cast<std::byte*>(tensor.data);
  const absl::StatusOr<int64_t> extent = Extent(tensor.sizes, tensor.strides);
  datum.storage_bytes_ =
      extent.ok() ? static_cast<size_t>(*extent) * DTypeSize(tensor.dtype) : size_t{0};
  datum.writable_ = writable;
  return datum;
}

absl::StatusOr<OwnedValue> OwnedValue::Constant(const ConstantTensor& constant) {
  const TensorView view = constant.view();
  const size_t element = DTypeSize(view.dtype);
  OwnedValue datum;
  datum.writable_ = false;
  if (view.numel() == 0 || reinterpret_cast<uintptr_t>(view.data) % element == 0) {
    datum.value_ = EValue(view);
    datum.owner_ = constant.storage().owner;
    // Read-only by contract, like the view: writable_ is false.
    datum.storage_ = const_cast<std::byte*>(constant.storage().bytes.data());
    datum.storage_bytes_ = constant.storage().bytes.size();
    return datum;
  }
  ABSL_ASSIGN_OR_RETURN(const Storage dense, constant.Dense());
  datum.owner_ = dense.owner;
  datum.storage_ = const_cast<std::byte*>(dense.bytes.data());
  datum.storage_bytes_ = dense.bytes.size();
  datum.value_ = EValue(TensorView::Contiguous(view.dtype, view.sizes, datum.storage_));
  return datum;
}

absl::StatusOr<OwnedValue> OwnedValue::Allocate(DType dtype, const Sizes& sizes,
                                                const Strides& strides, uint64_t max_bytes,
                                                BufferPool* pool) {
  ABSL_ASSIGN_OR_RETURN(const int64_t extent, Extent(sizes, strides));
  const CheckedInt bytes = CheckedInt(extent) * static_cast<int64_t>(DTypeSize(dtype));
  if (!bytes.ok() || static_cast<uint64_t>(bytes.value()) > max_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("a tensor of sizes ", FormatSizes(sizes),
                                                     " takes more than ", max_bytes, " bytes"));
  }
  if (extent < *NumElements(sizes)) {
    return absl::InvalidArgumentError(absl::StrCat("elements of sizes ", FormatSizes(sizes),
                                                   " and strides ", FormatSizes(strides),
                                                   " overlap"));
  }
  const auto size = static_cast<uint64_t>(bytes.value());
  ABSL_ASSIGN_OR_RETURN(std::shared_ptr<std::byte> buffer, CreateBuffer(pool, size));
  OwnedValue datum;
  datum.storage_ = buffer.get();
  datum.storage_bytes_ = static_cast<size_t>(size);
  datum.owner_ = std::move(buffer);
  TensorView view;
  view.dtype = dtype;
  view.sizes = sizes;
  view.strides = strides;
  view.data = datum.storage_;
  datum.value_ = EValue(view);
  return datum;
}

OwnedValue OwnedValue::Planned(DType dtype, const Sizes& sizes, const Strides& strides) {
  TensorView view;
  view.dtype = dtype;
  view.sizes = sizes;
  view.strides = strides;
  return Scalar(EValue(view));
}

absl::StatusOr<OwnedValue> OwnedValue::View(DType dtype, const Sizes& sizes, const Strides& strides,
                                            int64_t offset) const {
  ABSL_ASSIGN_OR_RETURN(const int64_t extent, Extent(sizes, strides));
  const int64_t element = static_cast<int64_t>(DTypeSize(dtype));
  const CheckedInt end = (CheckedInt(offset) + extent) * element;
  if (offset < 0 || !end.ok() ||
      (extent > 0 && static_cast<uint64_t>(end.value()) > storage_bytes_)) {
    return absl::OutOfRangeError(absl::StrCat("a view of sizes ", FormatSizes(sizes), ", strides ",
                                              FormatSizes(strides), " and offset ", offset,
                                              " in a storage of ", storage_bytes_, " bytes"));
  }
  TensorView view;
  view.dtype = dtype;
  view.sizes = sizes;
  view.strides = strides;
  view.data = extent == 0 ? storage_ : storage_ + offset * element;
  OwnedValue datum = *this;
  datum.value_ = EValue(view);
  return datum;
}

OwnedValue OwnedValue::Slice(int64_t index) const {
  const TensorView& whole = *tensor();
  TensorView view = whole;
  view.sizes.erase(0);
  view.strides.erase(0);
  if (whole.numel() != 0) {
    view.data = static_cast<std::byte*>(whole.data) +
                index * whole.strides[0] * static_cast<int64_t>(DTypeSize(whole.dtype));
  }
  OwnedValue datum = *this;
  datum.value_ = EValue(view);
  return datum;
}

absl::StatusOr<OwnedValue> OwnedValue::Copy() const {
  const TensorView* from = tensor();
  if (from == nullptr) return *this;
  const DimOrder order =
      DimOrderOf(from->sizes, from->strides).value_or(ContiguousOrder(from->rank()));
  ABSL_ASSIGN_OR_RETURN(OwnedValue copy,
                        Allocate(from->dtype, from->sizes, DenseStrides(from->sizes, order),
                                 static_cast<uint64_t>(std::numeric_limits<int64_t>::max())));
  ABSL_RETURN_IF_ERROR(CopyElements(*from, *copy.tensor()));
  return copy;
}

absl::StatusOr<ConstantTensor> OwnedValue::ToConstant() const {
  const TensorView& view = *tensor();
  const int64_t bytes = view.data == nullptr ? 0 : static_cast<std::byte*>(view.data) - storage_;
  return ConstantTensor::Create(view.dtype, view.sizes, view.strides,
                                bytes / static_cast<int64_t>(DTypeSize(view.dtype)),
                                Storage{owner_, absl::MakeConstSpan(storage_, storage_bytes_)});
}

TensorMeta OwnedValue::Meta() const {
  const TensorView& view = *tensor();
  TensorMeta meta;
  meta.dtype = view.dtype;
  for (int d = 0; d < view.rank(); ++d) {
    meta.sizes.emplace_back(view.sizes[d]);
    meta.strides.emplace_back(view.strides[d]);
  }
  if (view.data != nullptr) {  // in storage_
    meta.storage_offset = (static_cast<const std::byte*>(view.data) - storage_) /
                          static_cast<int64_t>(DTypeSize(view.dtype));
  }
  return meta;
}

}  // namespace belay::exir
