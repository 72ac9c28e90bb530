// Shapes without allocation: up to kMaxRank dimensions, stored inline.
#ifndef BELAY_RUNTIME_CORE_SIZES_H_
#define BELAY_RUNTIME_CORE_SIZES_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "absl/types/span.h"
#include "runtime/core/status_macros.h"

namespace belay {

// Maximum rank of a tensor anywhere in Belay; file readers reject larger ranks.
inline constexpr int kMaxRank = 16;

// Compares short lists, for which a call to memcmp would cost more.
template <class T>
bool SameList(absl::Span<const T> a, absl::Span<const T> b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

// An inline vector of at most kMaxRank elements, used for sizes, strides and dimension lists.
template <class T>
class DimVector {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  constexpr DimVector() = default;
  // Precondition: at most kMaxRank elements. For untrusted counts, check first or use TryFrom.
  DimVector(absl::Span<const T> values) { assign(values); }  // NOLINT
  DimVector(std::initializer_list<T> values) {
    assign(absl::MakeConstSpan(values.begin(), values.size()));
  }
  DimVector(int rank, T fill) {
    for (int i = 0; i < rank; ++i) push_back(fill);
  }
  // nullopt if there are too many values.
  static std::optional<DimVector> TryFrom(absl::Span<const T> values) {
    if (values.size() > kMaxRank) return std::nullopt;
    return DimVector(values);
  }

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](int i) {
    ABSL_DCHECK(i >= 0 && i < size_);
    return data_[i];
  }
  const T& operator[](int i) const {
    ABSL_DCHECK(i >= 0 && i < size_);
    return data_[i];
  }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }
  // Precondition: size() < kMaxRank.
  void push_back(T value) {
    ABSL_CHECK(size_ < kMaxRank);
    data_[size_++] = value;
  }
  void clear() { size_ = 0; }
  // Removes and inserts by shifting. Precondition: 0 <= i < size(), and for insert i <= size() <
  // kMaxRank.
  void erase(int i) {
    for (int k = i; k + 1 < size_; ++k) data_[k] = data_[k + 1];
    --size_;
  }
  void insert(int i, T value) {
    ABSL_CHECK(size_ < kMaxRank);
    for (int k = size_; k > i; --k) data_[k] = data_[k - 1];
    data_[i] = value;
    ++size_;
  }
  operator absl::Span<const T>() const { return absl::MakeConstSpan(data_, size_); }  // NOLINT
  absl::Span<const T> span() const { return absl::MakeConstSpan(data_, size_); }
  friend bool operator==(const DimVector& a, const DimVector& b) {
    return SameList(a.span(), b.span());
  }

 private:
  void assign(absl::Span<const T> values) {
    ABSL_CHECK(values.size() <= kMaxRank);
    size_ = static_cast<int>(values.size());
    for (int i = 0; i < size_; ++i) data_[i] = values[i];
  }
  int size_ = 0;
  T data_[kMaxRank] = {};
};

using Sizes = DimVector<int64_t>;
using Strides = DimVector<int64_t>;  // in elements
// A permutation of 0 … rank-1, from the outermost dimension (largest stride) to the innermost.
// {0,1,2,3} is contiguous, {0,2,3,1} channels last.
using DimOrder = DimVector<uint8_t>;

// Returns the product of the sizes; 1 for rank 0. nullopt if a size is negative or the product
// overflows with sizes of 0 counted as 1. Hence the dense strides of accepted sizes fit in int64.
std::optional<int64_t> NumElements(absl::Span<const int64_t> sizes);

// Returns the strides of a dense tensor of these sizes in this order. Sizes of 0 count as 1, as in
// PyTorch. Precondition: `order` is a permutation of the dimensions (IsPermutation) and
// NumElements(sizes) has a value.
Strides DenseStrides(absl::Span<const int64_t> sizes, absl::Span<const uint8_t> order);
Strides ContiguousStrides(absl::Span<const int64_t> sizes);

// 0, 1, …, rank-1.
DimOrder ContiguousOrder(int rank);
// {0,2,3,1} for rank 4, {0,2,3,4,1} for rank 5, contiguous for all others.
DimOrder ChannelsLastOrder(int rank);
bool IsPermutation(absl::Span<const uint8_t> order);

// Row-major contiguous, ignoring strides of size-1 dimensions; true for empty tensors.
bool IsContiguous(absl::Span<const int64_t> sizes, absl::Span<const int64_t> strides);
// Non-overlapping and without gaps, in some order of the dimensions.
bool IsDense(absl::Span<const int64_t> sizes, absl::Span<const int64_t> strides);
// Returns the dimensions by descending stride, ties broken by position (docs/edge-dialect.md §6
// "TensorSpec"). nullopt if a dimension of size > 1 has stride 0.
std::optional<DimOrder> DimOrderOf(absl::Span<const int64_t> sizes,
                                   absl::Span<const int64_t> strides);

// "[2,3]"; "[]" for rank 0.
std::string FormatSizes(absl::Span<const int64_t> sizes);

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_SIZES_H_
