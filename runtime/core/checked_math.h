// Checked arithmetic for untrusted integers. Every size, offset and count from a file or a caller
// uses these functions; tools/lint enforces it (docs/hardening.md §6 item 9).
#ifndef BELAY_RUNTIME_CORE_CHECKED_MATH_H_
#define BELAY_RUNTIME_CORE_CHECKED_MATH_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace belay {

// nullopt on overflow.
template <class T>
constexpr std::optional<T> CheckedAdd(T a, T b) {
  T r{};
  if (__builtin_add_overflow(a, b, &r)) return std::nullopt;
  return r;
}
template <class T>
constexpr std::optional<T> CheckedSub(T a, T b) {
  T r{};
  if (__builtin_sub_overflow(a, b, &r)) return std::nullopt;
  return r;
}
template <class T>
constexpr std::optional<T> CheckedMul(T a, T b) {
  T r{};
  if (__builtin_mul_overflow(a, b, &r)) return std::nullopt;
  return r;
}

// Returns `value` rounded up to a multiple of `alignment`. nullopt on overflow or if `alignment` is
// not a power of two.
constexpr std::optional<uint64_t> CheckedAlignUp(uint64_t value, uint64_t alignment) {
  if (alignment == 0 || (alignment & (alignment - 1)) != 0) return std::nullopt;
  const std::optional<uint64_t> sum = CheckedAdd<uint64_t>(value, alignment - 1);
  if (!sum.has_value()) return std::nullopt;
  return *sum & ~(alignment - 1);
}

// Whether [offset, offset + size) is contained in [0, limit).
constexpr bool RangeFits(uint64_t offset, uint64_t size, uint64_t limit) {
  return offset <= limit && size <= limit - offset;
}

// An int64 with sticky overflow: after an operation overflows, divides by zero or uses an invalid
// operand, ok() stays false. Comparisons with an invalid value are false. Shape formulas use it
// (runtime/kernel_interface/shape_rules/dims.h).
class CheckedInt {
 public:
  constexpr CheckedInt() = default;
  constexpr CheckedInt(int64_t value) : value_(value) {}  // NOLINT: a plain number is one
  constexpr bool ok() const { return ok_; }
  // 0 when !ok().
  constexpr int64_t value() const { return ok_ ? value_ : 0; }

  friend constexpr CheckedInt operator+(CheckedInt a, CheckedInt b) {
    return Of(CheckedAdd(a.value_, b.value_), a, b);
  }
  friend constexpr CheckedInt operator-(CheckedInt a, CheckedInt b) {
    return Of(CheckedSub(a.value_, b.value_), a, b);
  }
  friend constexpr CheckedInt operator*(CheckedInt a, CheckedInt b) {
    return Of(CheckedMul(a.value_, b.value_), a, b);
  }
  // Rounds towards minus infinity, as Python's // does.
  friend constexpr CheckedInt FloorDiv(CheckedInt a, CheckedInt b) {
    if (b.value_ == 0 || (b.value_ == -1 && a.value_ == INT64_MIN)) return Of(std::nullopt, a, b);
    const int64_t q = a.value_ / b.value_;
    return Of(q - ((a.value_ % b.value_ != 0) && ((a.value_ < 0) != (b.value_ < 0)) ? 1 : 0), a, b);
  }
  friend constexpr bool operator==(CheckedInt a, CheckedInt b) {
    return a.ok_ && b.ok_ && a.value_ == b.value_;
  }
  friend constexpr bool operator<(CheckedInt a, CheckedInt b) {
    return a.ok_ && b.ok_ && a.value_ < b.value_;
  }
  friend constexpr bool operator<=(CheckedInt a, CheckedInt b) {
    return a.ok_ && b.ok_ && a.value_ <= b.value_;
  }

 private:
  static constexpr CheckedInt Of(std::optional<int64_t> v, CheckedInt a, CheckedInt b) {
    CheckedInt r;
    r.ok_ = v.has_value() && a.ok_ && b.ok_;
    r.value_ = r.ok_ ? *v : 0;
    return r;
  }
  int64_t value_ = 0;
  bool ok_ = true;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_CHECKED_MATH_H_
