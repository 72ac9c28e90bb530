#include "exir/op_definition/tensor_meta.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

// The factor of a size in the strides of outer dimensions: 0 counts as 1, as in PyTorch.
SymInt StrideFactor(const SymInt& size) { return size.AsInt() == 0 ? SymInt(1) : size; }

bool IsPrime(int64_t n) {
  for (int64_t d = 2; d * d <= n; ++d) {
    if (n % d == 0) return false;
  }
  return n > 1;
}

// Evaluates `exprs` with distinct primes from `base` on for the symbols. nullopt if one cannot be
// computed.
std::optional<std::vector<int64_t>> Sample(const std::vector<SymInt>& exprs, int64_t base) {
  std::vector<std::string> symbols;
  for (const SymInt& e : exprs) e.CollectSymbols(symbols);
  std::sort(symbols.begin(), symbols.end());
  symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
  std::vector<int64_t> values;
  for (int64_t prime = base; values.size() < symbols.size(); ++prime) {
    if (IsPrime(prime)) values.push_back(prime);
  }
  const auto lookup = [&](std::string_view name) -> std::optional<int64_t> {
    const auto it = std::lower_bound(symbols.begin(), symbols.end(), name);
    return values[it - symbols.begin()];
  };
  std::vector<int64_t> numbers;
  for (const SymInt& e : exprs) {
    const std::optional<int64_t> number = e.EvaluateInt(lookup);
    if (!number.has_value()) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace

std::vector<SymInt> ContiguousStrides(const std::vector<SymInt>& sizes) {
  std::vector<SymInt> strides(sizes.size());
  SymInt stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    if (i > 0) stride = stride * StrideFactor(sizes[i]);
  }
  return strides;
}

TensorMeta TensorMeta::Contiguous(DType dtype, std::vector<SymInt> sizes) {
  TensorMeta meta;
  meta.dtype = dtype;
  meta.strides = ContiguousStrides(sizes);
  meta.sizes = std::move(sizes);
  return meta;
}

TensorMeta TensorMeta::Dense(DType dtype, std::vector<SymInt> sizes,
                             absl::Span<const uint8_t> order) {
  ABSL_CHECK(order.size() == sizes.size());
  TensorMeta meta;
  meta.dtype = dtype;
  meta.strides.resize(sizes.size());
  SymInt stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    ABSL_CHECK(order[i] < sizes.size());
    meta.strides[order[i]] = stride;
    if (i > 0) stride = stride * StrideFactor(sizes[order[i]]);
  }
  meta.sizes = std::move(sizes);
  return meta;
}

bool TensorMeta::is_contiguous() const {
  for (const SymInt& size : sizes) {
    if (size.AsInt() == 0) return true;
  }
  const std::vector<SymInt> contiguous = belay::exir::ContiguousStrides(sizes);
  if (strides.size() != sizes.size()) return false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].AsInt() != 1 && !(strides[i] == contiguous[i])) return false;
  }
  return true;
}

bool TensorMeta::is_static() const {
  return std::all_of(sizes.begin(), sizes.end(),
                     [](const SymInt& s) { return s.AsInt().has_value(); });
}

SymInt TensorMeta::NumElements() const { return SymExpr::Function("Mul", sizes); }

std::optional<Sizes> AsInts(absl::Span<const SymInt> exprs) {
  if (exprs.size() > kMaxRank) return std::nullopt;
  Sizes numbers;
  for (const SymInt& expr : exprs) {
    const std::optional<int64_t> number = expr.AsInt();
    if (!number.has_value()) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

absl::StatusOr<DimOrder> DimOrderOf(const TensorMeta& meta) {
  const int rank = meta.rank();
  if (rank > kMaxRank || meta.strides.size() != meta.sizes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("dim order of a tensor with ", rank, " sizes and ", meta.strides.size(),
                     " strides: expected as many, at most ", kMaxRank));
  }
  for (int i = 0; i < rank; ++i) {
    if (meta.strides[i].AsInt() == 0 && meta.sizes[i].AsInt() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("dimension ", i, " of size ", meta.sizes[i].ToString(),
                       " has stride 0: an expanded tensor has no dim order"));
    }
  }
  // Large numbers first: products of many symbols may overflow with them.
  for (const int64_t base : {1009, 101, 11, 2}) {
    const std::optional<std::vector<int64_t>> strides = Sample(meta.strides, base);
    if (!strides.has_value()) continue;
    std::vector<uint8_t> order(rank);
    for (int i = 0; i < rank; ++i) order[i] = static_cast<uint8_t>(i);
    std::sort(order.begin(), order.end(), [&](uint8_t a, uint8_t b) {
      return (*strides)[a] != (*strides)[b] ? (*strides)[a] > (*strides)[b] : a < b;
    });
    return DimOrder(order);
  }
  return absl::InvalidArgumentError("dim order of a tensor whose strides can't be computed");
}

}  // namespace belay::exir
