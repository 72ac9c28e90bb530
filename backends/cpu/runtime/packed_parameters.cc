#include "backends/cpu/runtime/packed_parameters.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/cpu/packed_parameter.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay::cpu {
namespace {

// Bytes of the tensor [k, n]; nullopt if they do not fit.
std::optional<uint64_t> RawBytes(const PackedParameter& packed, size_t element) {
  const std::optional<uint64_t> count =
      CheckedMul(static_cast<uint64_t>(packed.k), static_cast<uint64_t>(packed.n));
  return count.has_value() ? CheckedMul(*count, uint64_t{element}) : std::nullopt;
}

template <class T, class Pack>
void PackAs(const PackedParameter& packed, const std::byte* from, std::byte* to, Pack pack) {
  const int64_t row_stride = packed.transposed ? 1 : packed.n;
  const int64_t column_stride = packed.transposed ? packed.k : 1;
  pack(reinterpret_cast<const T*>(from), packed.k, packed.n, row_stride, column_stride,
       reinterpret_cast<T*>(to));
}

}  // namespace

absl::StatusOr<absl::Span<const std::byte>> PackedParameters::Find(std::string_view key) const {
  if (!IsPackedParameter(key)) return program_.Find(key);
  const std::optional<PackedParameter> packed = ParsePackedParameter(key);
  if (!packed.has_value()) {
    return absl::InvalidArgumentError("expected layout, sizes, order and name of a parameter");
  }
  ABSL_ASSIGN_OR_RETURN(absl::Span<const std::byte> raw, program_.Find(packed->parameter));
  const bool wide = packed->layout == TableLayout::kFloat32;
  const size_t element = wide ? sizeof(float) : sizeof(BFloat16);
  const std::optional<uint64_t> expected = RawBytes(*packed, element);
  if (expected != raw.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected elements ", packed->k, " x ", packed->n, " of ", element,
                     " bytes, the program has ", raw.size(), " bytes"));
  }
  const std::optional<int64_t> count =
      wide ? PackedMatrixSize(packed->k, packed->n) : PackedVnni2Size(packed->k, packed->n);
  if (!count.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a weight of ", packed->k, " x ", packed->n, " can't be packed"));
  }
  const auto take = [&](uint64_t bytes) -> absl::StatusOr<AlignedBuffer> {
    ABSL_RETURN_IF_ERROR(memory_.Take(bytes, "a packed parameter"));
    return AlignedBuffer::Create(bytes, memory_.allocator());
  };
  AlignedBuffer aligned;  // of elements that are misaligned in the file
  if (reinterpret_cast<uintptr_t>(raw.data()) % element != 0) {
    ABSL_ASSIGN_OR_RETURN(aligned, take(raw.size()));
    std::copy(raw.begin(), raw.end(), aligned.data());
    raw = absl::MakeConstSpan(aligned.data(), raw.size());
  }
  ABSL_ASSIGN_OR_RETURN(AlignedBuffer buffer, take(static_cast<uint64_t>(*count) * element));
  if (wide) {
    PackAs<float>(*packed, raw.data(), buffer.data(), PackMatrix);
  } else {
    PackAs<BFloat16>(*packed, raw.data(), buffer.data(), PackVnni2);
  }
  packed_.push_back(std::move(buffer));
  return absl::MakeConstSpan(packed_.back().data(), static_cast<size_t>(*count) * element);
}

}  // namespace belay::cpu
