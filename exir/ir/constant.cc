#include "exir/ir/constant.h"

#include <sys/mman.h>

#include <bit>
#include <complex>
#include <cstring>
#include <utility>

#include "runtime/core/arena.h"
#include "runtime/core/budget.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

// Limit for the dense copy of a tensor with repeated elements (strides of 0), which may be much
// larger than its storage. Applies without a budget.
constexpr uint64_t kMaxExpandedBytes = uint64_t{1} << 32;

template <class T>
ConstantTensor MakeScalar(DType dtype, T value) {
  std::vector<std::byte> bytes(DTypeSize(dtype));
  const bool known = DispatchDType<kAllTypes>(dtype, [&](auto tag) {
    const auto element = ConvertElement<CppType<tag.value>>(value);
    static_assert(sizeof(element) <= 16);
    std::memcpy(bytes.data(), &element, sizeof(element));
  });
  if (!known) {  // complex32: two halves
    const uint16_t real = FloatToHalfBits(static_cast<float>(value));
    std::memcpy(bytes.data(), &real, sizeof(real));
  }
  absl::StatusOr<ConstantTensor> tensor =
      ConstantTensor::Contiguous(dtype, {}, Storage::Own(std::move(bytes)));
  ABSL_CHECK(tensor.ok());
  return *std::move(tensor);
}

// Copies `count` elements with a distance of `stride` elements to contiguous memory.
void CopyRow(const std::byte* from, std::byte* to, int64_t count, int64_t stride, size_t size) {
  if (stride == 1) {
    std::memcpy(to, from, static_cast<size_t>(count) * size);
    return;
  }
  const size_t step = static_cast<size_t>(stride) * size;
  const auto loop = [&](auto constant) {
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(to + i * constant(), from + i * step, constant());
    }
  };
  switch (size) {
    case 1:
      return loop([] { return size_t{1}; });
    case 2:
      return loop([] { return size_t{2}; });
    case 4:
      return loop([] { return size_t{4}; });
    case 8:
      return loop([] { return size_t{8}; });
    default:
      return loop([] { return size_t{16}; });
  }
}

}  // namespace

Storage Storage::Own(std::vector<std::byte> bytes) {
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  const absl::Span<const std::byte> span = absl::MakeConstSpan(*owner);
  return {std::move(owner), span};
}

absl::StatusOr<Storage> Storage::Zeros(uint64_t bytes) {
  if (bytes == 0) return Storage{};
  void* pages = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) {
    return absl::ResourceExhaustedError(absl::StrCat("no address space for ", bytes, " zeros"));
  }
  std::shared_ptr<const void> owner(pages, [bytes](void* p) { munmap(p, bytes); });
  return Storage{std::move(owner),
                 absl::MakeConstSpan(static_cast<const std::byte*>(pages), bytes)};
}

absl::StatusOr<ConstantTensor> ConstantTensor::Create(DType dtype, Sizes sizes, Strides strides,
                                                      int64_t storage_offset, Storage storage) {
  const auto describe = [&] {
    return absl::StrCat(DTypeShortName(dtype), FormatSizes(sizes), " with strides ",
                        FormatSizes(strides), " at element ", storage_offset);
  };
  if (sizes.size() != strides.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a tensor has as many strides as sizes, got ", describe()));
  }
  if (storage_offset < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the offset of a tensor in its storage is not negative, got ", describe()));
  }
  for (int d = 0; d < sizes.size(); ++d) {
    if (sizes[d] < 0 || strides[d] < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("sizes and strides of a tensor are not negative, got ", describe()));
    }
  }
  const std::optional<int64_t> count = NumElements(sizes);
  if (!count.has_value()) {
    return absl::OutOfRangeError(
        absl::StrCat("the number of elements does not fit in 64 bits: ", describe()));
  }
  const int64_t element_size = static_cast<int64_t>(DTypeSize(dtype));
  if (!CheckedMul(*count, element_size).has_value()) {
    return absl::OutOfRangeError(
        absl::StrCat("the number of bytes does not fit in 64 bits: ", describe()));
  }
  if (*count > 0) {
    CheckedInt end = CheckedInt(storage_offset) + 1;
    for (int d = 0; d < sizes.size(); ++d) end = end + CheckedInt(sizes[d] - 1) * strides[d];
    end = end * element_size;
    if (!end.ok() || static_cast<uint64_t>(end.value()) > storage.bytes.size()) {
      return absl::OutOfRangeError(
          absl::StrCat("a tensor reaches beyond its storage: ", describe(), " ends at byte ",
                       end.ok() ? absl::StrCat(end.value()) : "2^63 or later", ", the storage has ",
                       storage.bytes.size(), " bytes"));
    }
  }
  ConstantTensor tensor;
  tensor.dtype_ = dtype;
  tensor.sizes_ = sizes;
  tensor.strides_ = strides;
  tensor.storage_offset_ = storage_offset;
  tensor.storage_ = std::move(storage);
  return tensor;
}

absl::StatusOr<ConstantTensor> ConstantTensor::Contiguous(DType dtype, Sizes sizes,
                                                          Storage storage) {
  if (!NumElements(sizes).has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "sizes are not negative and their product fits in 64 bits, got ", FormatSizes(sizes)));
  }
  return Create(dtype, sizes, ContiguousStrides(sizes), 0, std::move(storage));
}

ConstantTensor ConstantTensor::Scalar(DType dtype, double value) {
  return MakeScalar(dtype, value);
}

ConstantTensor ConstantTensor::ScalarInt(DType dtype, int64_t value) {
  return MakeScalar(dtype, value);
}

TensorView ConstantTensor::view() const {
  // For tensors without elements the pointer stays inside the storage, regardless of the offset.
  int64_t count = 1;
  for (int64_t size : sizes_) count = size == 0 ? 0 : count;
  const size_t offset = count == 0 ? 0 : static_cast<size_t>(storage_offset_) * DTypeSize(dtype_);
  std::byte* data = const_cast<std::byte*>(storage_.bytes.data());
  return {dtype_, sizes_, strides_, data == nullptr ? nullptr : data + offset};
}

absl::StatusOr<Storage> ConstantTensor::Dense(absl::Span<const uint8_t> order) const {
  const DimOrder row_major = ContiguousOrder(sizes_.size());
  if (order.empty()) order = row_major;
  if (order.size() != static_cast<size_t>(sizes_.size()) || !IsPermutation(order)) {
    return absl::InvalidArgumentError(absl::StrCat("a dim order is a permutation of the ",
                                                   sizes_.size(), " dimensions, got one of length ",
                                                   order.size()));
  }
  Sizes sizes;
  Strides strides;
  for (uint8_t d : order) {
    sizes.push_back(sizes_[d]);
    strides.push_back(strides_[d]);
  }
  const size_t element_size = DTypeSize(dtype_);
  const uint64_t bytes = static_cast<uint64_t>(*NumElements(sizes)) * element_size;
  if (bytes == 0) return Storage{storage_.owner, storage_.bytes.subspan(0, 0)};
  const std::byte* from = static_cast<const std::byte*>(view().data);
  if (IsContiguous(sizes, strides) && std::bit_cast<uintptr_t>(from) % element_size == 0) {
    return Storage{storage_.owner, absl::MakeConstSpan(from, bytes)};
  }
  if (bytes > storage_.bytes.size() && bytes > kMaxExpandedBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a dense copy of ", DTypeShortName(dtype_), FormatSizes(sizes_), " takes ",
                     bytes, " bytes, but at most ", kMaxExpandedBytes, " may come from the ",
                     storage_.bytes.size(), " bytes of its storage"));
  }
  // Also limits repeated expansion of the same few bytes.
  if (Budget* budget = Budget::Current()) {
    ABSL_RETURN_IF_ERROR(budget->TakeBytes(
        bytes, absl::StrCat("a dense copy of ", DTypeShortName(dtype_), FormatSizes(sizes_))));
  }
  ABSL_ASSIGN_OR_RETURN(AlignedBuffer buffer, AlignedBuffer::Create(bytes));
  auto owner = std::make_shared<const AlignedBuffer>(std::move(buffer));
  std::byte* to = owner->data();
  // The innermost dimension is copied as a row; the others are iterated.
  const int64_t row = sizes.empty() ? 1 : sizes.back();
  const int64_t stride = sizes.empty() ? 1 : strides.back();
  if (!sizes.empty()) {
    sizes.erase(sizes.size() - 1);
    strides.erase(strides.size() - 1);
  }
  for (StridedIterator<1> it(sizes, {strides}); !it.done(); it.Next()) {
    CopyRow(from + it.offset(0) * static_cast<int64_t>(element_size), to, row, stride,
            element_size);
    to += static_cast<size_t>(row) * element_size;
  }
  return Storage{owner, absl::MakeConstSpan(owner->data(), bytes)};
}

absl::StatusOr<ConstantTensor> FloatConstant(Sizes sizes, std::vector<float> values) {
  const auto owner = std::make_shared<const std::vector<float>>(std::move(values));
  const absl::Span<const std::byte> bytes = {reinterpret_cast<const std::byte*>(owner->data()),
                                             owner->size() * sizeof(float)};
  return ConstantTensor::Contiguous(DType::kFloat32, std::move(sizes), {owner, bytes});
}

}  // namespace belay::exir
