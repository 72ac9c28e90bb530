// Compile-time metadata of a tensor: everything except its elements.
#ifndef BELAY_EXIR_OP_DEFINITION_TENSOR_META_H_
#define BELAY_EXIR_OP_DEFINITION_TENSOR_META_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/symbolic/sym_expr.h"
#include "runtime/core/dtype.h"
#include "runtime/core/sizes.h"

namespace belay::exir {

// Values are those of the PT2 archive (docs/pt2-format.md §7).
enum class Layout : uint8_t {
  kUnknown = 0,
  kSparseCoo = 1,
  kSparseCsr = 2,
  kSparseCsc = 3,
  kSparseBsr = 4,
  kSparseBsc = 5,
  kMkldnn = 6,
  kStrided = 7
};

struct Device {
  std::string type = "cpu";
  std::optional<int64_t> index;
  bool operator==(const Device&) const = default;
};

struct TensorMeta {
  DType dtype = DType::kFloat32;
  std::vector<SymInt> sizes;
  std::vector<SymInt> strides;  // in elements; as many as sizes
  SymInt storage_offset = 0;
  Layout layout = Layout::kStrided;
  Device device;
  bool requires_grad = false;

  static TensorMeta Contiguous(DType dtype, std::vector<SymInt> sizes);
  // Returns a dense tensor with dim order `order`. Precondition: `order` is a permutation of the
  // dimensions.
  static TensorMeta Dense(DType dtype, std::vector<SymInt> sizes, absl::Span<const uint8_t> order);

  int rank() const { return static_cast<int>(sizes.size()); }
  bool is_contiguous() const;  // row-major; strides of size-1 dimensions do not count
  bool is_static() const;      // all sizes are numbers
  SymInt NumElements() const;
  bool operator==(const TensorMeta&) const = default;
};

// Returns the numbers that sizes or strides are; nullopt if one is symbolic, or if there are more
// than kMaxRank.
std::optional<Sizes> AsInts(absl::Span<const SymInt> exprs);

// Returns the row-major strides of these sizes.
std::vector<SymInt> ContiguousStrides(const std::vector<SymInt>& sizes);

// Returns the dimensions from the largest stride to the smallest, ties by position. Symbols are
// compared by substituting large distinct numbers. kInvalidArgument if a dimension of size ≠ 1 has
// stride 0 (an expanded tensor has no dim order).
absl::StatusOr<DimOrder> DimOrderOf(const TensorMeta& meta);

}  // namespace belay::exir

#endif  // BELAY_EXIR_OP_DEFINITION_TENSOR_META_H_
