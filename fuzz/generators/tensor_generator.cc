#include "fuzz/generators/tensor_generator.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "runtime/core/checked_math.h"
#include "runtime/core/status_macros.h"

namespace belay::fuzz {
namespace {

constexpr int64_t kMaxBytes = 1 << 20;

}  // namespace

DType GenerateDType(ByteSource& source) {
  // Half are float32, as in most kernels and examples.
  const uint64_t choice = source.Below(2 * (kNumDTypes - 1));
  return choice + 1 < kNumDTypes ? static_cast<DType>(choice + 1) : DType::kFloat32;
}

Sizes GenerateSizes(ByteSource& source, int max_rank, int64_t max_elements) {
  Sizes sizes;
  int64_t room = std::max<int64_t>(max_elements, 1);
  const auto rank = static_cast<int>(source.Below(static_cast<uint64_t>(max_rank) + 1));
  for (int d = 0; d < rank; ++d) {
    const int64_t largest = source.Chance(80) ? std::min<int64_t>(room, 4) : room;
    const int64_t size = source.Between(0, largest);
    sizes.push_back(size);
    room /= std::max<int64_t>(size, 1);
  }
  return sizes;
}

DimOrder GenerateDimOrder(ByteSource& source, int rank) {
  DimOrder order = ContiguousOrder(rank);
  if (source.Chance(70)) return order;
  for (int d = rank; d > 1; --d) {
    std::swap(order[d - 1], order[static_cast<int>(source.Below(static_cast<uint64_t>(d)))]);
  }
  return order;
}

absl::StatusOr<GeneratedTensor> FillTensor(ByteSource& source, DType dtype, const Sizes& sizes,
                                           const Strides& strides) {
  if (sizes.size() != strides.size()) return absl::InvalidArgumentError("sizes and strides differ");
  const std::optional<int64_t> numel = NumElements(sizes);
  if (!numel.has_value()) return absl::InvalidArgumentError("no number of elements");
  CheckedInt end = *numel == 0 ? 0 : 1;
  for (int d = 0; d < sizes.size() && *numel > 0; ++d) {
    if (strides[d] < 0) return absl::InvalidArgumentError("a negative stride");
    end = end + (CheckedInt(sizes[d]) - 1) * strides[d];
  }
  const CheckedInt bytes = end * static_cast<int64_t>(DTypeSize(dtype));
  if (!bytes.ok() || bytes.value() > kMaxBytes) {
    return absl::ResourceExhaustedError("a tensor of more than 1 MiB");
  }
  GeneratedTensor tensor;
  ABSL_ASSIGN_OR_RETURN(tensor.memory, AlignedBuffer::Create(static_cast<uint64_t>(bytes.value())));
  const std::string_view elements = source.Bytes(static_cast<size_t>(bytes.value()));
  for (size_t i = 0; i < elements.size(); ++i) {
    const char byte = elements[i];
    tensor.memory.data()[i] =
        static_cast<std::byte>(dtype == DType::kBool ? static_cast<char>(byte & 1) : byte);
  }
  tensor.view = TensorView::Contiguous(dtype, sizes, tensor.memory.data());
  tensor.view.strides = strides;
  return tensor;
}

absl::StatusOr<GeneratedTensor> GenerateTensor(ByteSource& source, DType dtype,
                                               const Sizes& sizes) {
  if (!NumElements(sizes).has_value()) return absl::InvalidArgumentError("no number of elements");
  Strides strides = DenseStrides(sizes, GenerateDimOrder(source, sizes.size()));
  if (source.Chance(10)) {
    for (int64_t& stride : strides) {
      if (stride > (int64_t{1} << 40)) return absl::ResourceExhaustedError("a wide stride");
      stride *= 2;
    }
  }
  return FillTensor(source, dtype, sizes, strides);
}

}  // namespace belay::fuzz
