#include "exir/ops/pointwise_layout.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/core/sizes.h"

namespace belay::exir {
namespace {

// An operand with numbers substituted for its symbols. Strides are aligned with those of the
// result; 0 where it is broadcast.
struct Sampled {
  std::vector<int64_t> sizes;    // its own
  std::vector<int64_t> strides;  // its own
  std::vector<int64_t> aligned;
};

std::optional<std::vector<int64_t>> Evaluate(const std::vector<SymInt>& exprs,
                                             absl::Span<const std::string> symbols, int64_t base) {
  std::vector<int64_t> numbers;
  for (const SymInt& e : exprs) {
    const std::optional<int64_t> number =
        e.EvaluateInt([&](std::string_view name) -> std::optional<int64_t> {
          // Odd, distinct, and with few common divisors.
          const auto it = std::lower_bound(symbols.begin(), symbols.end(), name);
          return base + 6 * static_cast<int64_t>(it - symbols.begin());
        });
    if (!number.has_value()) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

void Collect(const std::vector<SymInt>& exprs, std::vector<std::string>& symbols) {
  for (const SymInt& e : exprs) e.CollectSymbols(symbols);
}

// nullopt if some size or stride cannot be computed for any choice of numbers.
std::optional<std::vector<Sampled>> Sample(const std::vector<SymInt>& sizes,
                                           absl::Span<const TensorMeta* const> operands,
                                           std::vector<int64_t>& shape) {
  std::vector<std::string> symbols;
  Collect(sizes, symbols);
  for (const TensorMeta* t : operands) {
    Collect(t->sizes, symbols);
    Collect(t->strides, symbols);
  }
  std::sort(symbols.begin(), symbols.end());
  symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
  // Large numbers first: products of many symbols may overflow with them.
  for (const int64_t base : {1009, 101, 11}) {
    std::optional<std::vector<int64_t>> result = Evaluate(sizes, symbols, base);
    std::vector<Sampled> sampled;
    for (const TensorMeta* t : operands) {
      std::optional<std::vector<int64_t>> own = Evaluate(t->sizes, symbols, base);
      std::optional<std::vector<int64_t>> strides = Evaluate(t->strides, symbols, base);
      if (!result.has_value() || !own.has_value() || !strides.has_value()) break;
      Sampled s = {*std::move(own), *std::move(strides), std::vector<int64_t>(result->size(), 0)};
      const size_t lead = result->size() - s.sizes.size();
      for (size_t d = 0; d < s.sizes.size(); ++d) {
        const bool broadcast = s.sizes[d] == 1 && (*result)[lead + d] != 1;
        s.aligned[lead + d] = broadcast ? 0 : s.strides[d];
      }
      sampled.push_back(std::move(s));
    }
    if (sampled.size() != operands.size()) continue;
    shape = *std::move(result);
    return sampled;
  }
  return std::nullopt;
}

// Returns the layout that the operands share, as TensorIterator::compute_fast_setup_type does.
// nullptr: sort instead.
const TensorMeta* SharedLayout(absl::Span<const TensorMeta* const> operands,
                               absl::Span<const Sampled> sampled,
                               const std::vector<int64_t>& shape) {
  const auto all = [&](auto&& predicate) {
    return std::all_of(sampled.begin(), sampled.end(), predicate);
  };
  if (!all([&](const Sampled& s) { return s.sizes == shape; })) return nullptr;
  const auto equal_strides = [&](const Sampled& s) { return s.strides == sampled.back().strides; };
  if (!all([](const Sampled& s) { return IsDense(s.sizes, s.strides); }) || !all(equal_strides))
    return nullptr;
  return operands.back();
}

bool IsChannelsLast(const Sampled& s) {
  if (s.sizes.size() != 4) return false;
  int64_t expected = 1;
  for (const int d : {1, 3, 2, 0}) {
    if (s.sizes[d] == 1) continue;
    if (s.strides[d] != expected) return false;
    expected *= s.sizes[d];
  }
  return true;
}

// Returns 1 if dimension `a` is outside `b`, -1 if inside, 0 if ambiguous.
int Compare(int a, int b, absl::Span<const Sampled> operands, const std::vector<int64_t>& shape) {
  for (const Sampled& s : operands) {
    const int64_t x = s.aligned[a], y = s.aligned[b];
    if (x == 0 || y == 0) continue;
    if (x != y) return x < y ? -1 : 1;
    if (shape[a] > shape[b]) return 1;
  }
  return 0;
}

// Returns the dimensions from innermost to outermost: an insertion sort that keeps the order of
// ambiguous ones.
std::vector<int> Permutation(absl::Span<const Sampled> operands,
                             const std::vector<int64_t>& shape) {
  const int rank = static_cast<int>(shape.size());
  std::vector<int> perm(rank);
  std::iota(perm.rbegin(), perm.rend(), 0);
  for (int i = 1; i < rank; ++i) {
    int moving = i;
    for (int other = i - 1; other >= 0; --other) {
      const int order = Compare(perm[other], perm[moving], operands, shape);
      if (order < 0) break;
      if (order > 0) {
        std::swap(perm[other], perm[moving]);
        moving = other;
      }
    }
  }
  return perm;
}

}  // namespace

TensorMeta PointwiseResult(DType dtype, std::vector<SymInt> sizes,
                           absl::Span<const TensorMeta* const> operands) {
  const int rank = static_cast<int>(sizes.size());
  const auto contiguous = [](const TensorMeta* t) { return t->is_contiguous(); };
  if (rank < 2 || rank > kMaxRank || std::all_of(operands.begin(), operands.end(), contiguous)) {
    return TensorMeta::Contiguous(dtype, std::move(sizes));
  }
  std::vector<int64_t> shape;
  const std::optional<std::vector<Sampled>> sampled = Sample(sizes, operands, shape);
  if (!sampled.has_value()) return TensorMeta::Contiguous(dtype, std::move(sizes));
  const bool same_shape = std::all_of(sampled->begin(), sampled->end(),
                                      [&](const Sampled& s) { return s.sizes == shape; });
  if (same_shape && std::all_of(sampled->begin(), sampled->end(), &IsChannelsLast)) {
    return TensorMeta::Dense(dtype, std::move(sizes), ChannelsLastOrder(rank));
  }
  if (const TensorMeta* shared = SharedLayout(operands, *sampled, shape)) {
    TensorMeta meta;
    meta.dtype = dtype;
    meta.sizes = std::move(sizes);
    meta.strides = shared->strides;
    return meta;
  }
  const std::vector<int> perm = Permutation(*sampled, shape);
  return TensorMeta::Dense(dtype, std::move(sizes),
                           std::vector<uint8_t>(perm.rbegin(), perm.rend()));
}

absl::StatusOr<TensorMeta> ResultInFormat(DType dtype, std::vector<SymInt> sizes,
                                          MemoryFormat format) {
  const int rank = static_cast<int>(sizes.size());
  switch (format) {
    case MemoryFormat::kContiguous:
      return TensorMeta::Contiguous(dtype, std::move(sizes));
    case MemoryFormat::kChannelsLast:
    case MemoryFormat::kChannelsLast3d: {
      const int expected = format == MemoryFormat::kChannelsLast ? 4 : 5;
      if (rank != expected) {
        return absl::InvalidArgumentError(absl::StrCat(
            format == MemoryFormat::kChannelsLast ? "channels_last" : "channels_last_3d",
            ": expected ", expected, " dimensions, got ", rank));
      }
      return TensorMeta::Dense(dtype, std::move(sizes), ChannelsLastOrder(rank));
    }
    case MemoryFormat::kPreserve:
      break;
  }
  return absl::InvalidArgumentError("expected a memory format other than preserve");
}

absl::StatusOr<TensorMeta> ResultLike(DType dtype, const TensorMeta& self, MemoryFormat format) {
  if (format != MemoryFormat::kPreserve) return ResultInFormat(dtype, self.sizes, format);
  const TensorMeta* const operands[] = {&self};
  return PointwiseResult(dtype, self.sizes, operands);
}

}  // namespace belay::exir
