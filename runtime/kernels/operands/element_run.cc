#include "runtime/kernels/operands/element_run.h"

#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include "absl/status/status.h"
#include "runtime/core/element.h"
#include "runtime/core/str_cat.h"

namespace belay {
namespace {

// Calls fn(T{}) with the C++ type of a class.
template <class Fn>
void WithClass(ComputeClass type, Fn&& fn) {
  switch (type) {
    case ComputeClass::kInt:
      return fn(int64_t{});
    case ComputeClass::kUint:
      return fn(uint64_t{});
    case ComputeClass::kFloat:
      return fn(float{});
    case ComputeClass::kDouble:
      return fn(double{});
    case ComputeClass::kComplex:
      return fn(std::complex<double>{});
  }
}

// A bool in a file may be any byte; reading a byte other than 0 or 1 as bool is undefined behavior.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

template <class From, class To>
void Load(RunCursor& cursor, const void* data, int n, To* out) {
  const Stored<From>* in = static_cast<const Stored<From>*>(data);
  cursor.Walk(n, [&](int64_t offset, int64_t stride, int64_t count) {
    const Stored<From>* p = in + offset;
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_same_v<From, bool>) {
        *out++ = ConvertElement<To>(static_cast<int64_t>(p[i * stride] != 0));
      } else {
        *out++ = ConvertElement<To>(p[i * stride]);
      }
    }
  });
}

template <class From, class To>
void Store(const From* in, int n, RunCursor& cursor, void* data) {
  To* out = static_cast<To*>(data);
  cursor.Walk(n, [&](int64_t offset, int64_t stride, int64_t count) {
    To* p = out + offset;
    for (int64_t i = 0; i < count; ++i) p[i * stride] = ConvertElement<To>(*in++);
  });
}

// Returns whether Scalar::to<T> accepts the value.
template <class T>
bool InRange(int64_t value) {
  if constexpr (std::is_integral_v<T> && std::is_unsigned_v<T>) {
    const uint64_t magnitude =
        value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    return magnitude <= std::numeric_limits<T>::max();
  } else if constexpr (std::is_integral_v<T>) {
    return value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max();
  } else {
    return !std::is_same_v<T, Half> || (value >= -65504 && value <= 65504);
  }
}

template <class T>
bool InRange(double value) {
  if constexpr (std::is_integral_v<T>) {
    if (value < static_cast<double>(std::numeric_limits<T>::min())) return false;
    // The largest 64-bit integers are not representable as double; the power of two above them is.
    constexpr double kAbove = 2.0 * static_cast<double>(std::numeric_limits<T>::max() / 2 + 1);
    return sizeof(T) < 8 ? value <= kAbove - 1 : value < kAbove;
  } else if constexpr (std::is_same_v<T, double> || kIsFloat8<T>) {
    return true;
  } else {
    constexpr double kMax = std::is_same_v<T, Half>       ? 65504.0
                            : std::is_same_v<T, BFloat16> ? 3.3895313892515355e38
                                                          : std::numeric_limits<float>::max();
    return !std::isfinite(value) || std::abs(value) <= kMax;
  }
}

}  // namespace

ComputeClass ComputeClassOf(DType dtype) {
  if (dtype == DType::kUint64) return ComputeClass::kUint;
  if (dtype == DType::kFloat64) return ComputeClass::kDouble;
  if (IsComplex(dtype)) return ComputeClass::kComplex;
  return IsFloatingPoint(dtype) ? ComputeClass::kFloat : ComputeClass::kInt;
}

RunCursor::RunCursor(const Sizes& sizes, const Strides& strides) {
  for (int d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    if (!sizes_.empty() && strides_.back() == strides[d] * sizes[d]) {
      sizes_.back() *= sizes[d];
      strides_.back() = strides[d];
    } else {
      sizes_.push_back(sizes[d]);
      strides_.push_back(strides[d]);
    }
  }
  if (sizes_.empty()) {
    sizes_.push_back(1);
    strides_.push_back(0);
  }
  index_ = Sizes(sizes_.size(), 0);
}

void RunCursor::Advance(int64_t count) {
  int d = sizes_.size() - 1;
  index_[d] += count;
  offset_ += count * strides_[d];
  while (index_[d] == sizes_[d]) {
    offset_ -= strides_[d] * sizes_[d];
    index_[d] = 0;
    if (--d < 0) return;
    ++index_[d];
    offset_ += strides_[d];
  }
}

void LoadRun(RunCursor& cursor, const void* data, DType dtype, ComputeClass to, int n,
             RunBuffer& out) {
  WithClass(to, [&](auto zero) {
    using To = decltype(zero);
    DispatchDType<kAllTypes>(
        dtype, [&](auto tag) { Load<CppType<tag.value>>(cursor, data, n, out.as<To>()); });
  });
}

void StoreRun(const RunBuffer& in, ComputeClass from, int n, RunCursor& cursor, void* data,
              DType dtype) {
  WithClass(from, [&](auto zero) {
    using From = decltype(zero);
    DispatchDType<kAllTypes>(
        dtype, [&](auto tag) { Store<From, CppType<tag.value>>(in.as<From>(), n, cursor, data); });
  });
}

void NarrowRun(RunBuffer& run, ComputeClass type, DType dtype, int n) {
  WithClass(type, [&](auto zero) {
    using T = decltype(zero);
    T* values = run.as<T>();
    DispatchDType<kAllTypes>(dtype, [&](auto tag) {
      for (int i = 0; i < n; ++i) {
        const auto narrow = ConvertElement<CppType<tag.value>>(values[i]);
        values[i] = ConvertElement<T>(narrow);
      }
    });
  });
}

absl::StatusOr<EValue> ConvertScalar(const EValue& value, DType dtype) {
  const int64_t* integer = value.get_if<int64_t>();
  const double* real = value.get_if<double>();
  const bool* boolean = value.get_if<bool>();
  const std::complex<double>* complex = value.get_if<std::complex<double>>();
  if (integer == nullptr && real == nullptr && boolean == nullptr && complex == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("expected a number, got ", value.KindName()));
  }
  bool in_range = true;
  EValue result;
  const bool known = DispatchDType<kAllTypes>(dtype, [&](auto tag) {
    using T = CppType<tag.value>;
    // The scalar as T.
    T converted{};
    const auto convert = [&](auto number) {
      if constexpr (std::is_same_v<T, bool>) {
        converted = number != decltype(number){};
      } else if constexpr (kIsComplex<T>) {
        in_range = InRange<typename T::value_type>(number);
        converted = ConvertElement<T>(number);
      } else {
        in_range = InRange<T>(number);
        converted = ConvertElement<T>(number);
      }
    };
    if (integer != nullptr) {
      convert(*integer);
    } else if (real != nullptr) {
      convert(*real);
    } else if (boolean != nullptr) {
      convert(int64_t{*boolean});
    } else if constexpr (kIsComplex<T>) {
      in_range = InRange<typename T::value_type>(complex->real()) &&
                 InRange<typename T::value_type>(complex->imag());
      converted = ConvertElement<T>(*complex);
    } else if constexpr (std::is_same_v<T, bool>) {
      converted = *complex != std::complex<double>();
    } else {
      convert(complex->real());
      in_range = in_range && complex->imag() == 0;
    }
    if constexpr (std::is_same_v<T, bool>) {
      result = EValue(converted);
    } else if constexpr (kIsComplex<T>) {
      result = EValue(ConvertElement<std::complex<double>>(converted));
    } else if constexpr (std::is_integral_v<T>) {
      result = EValue(static_cast<int64_t>(converted));
    } else {
      result = EValue(ConvertElement<double>(converted));
    }
  });
  if (!known) {
    return absl::InvalidArgumentError(
        absl::StrCat("dtype ", DTypeName(dtype), " is not supported"));
  }
  if (!in_range) {
    return absl::InvalidArgumentError(
        absl::StrCat("the number does not fit ", DTypeName(dtype), ": ",
                     integer != nullptr   ? absl::StrCat(*integer)
                     : real != nullptr    ? absl::StrCat(*real)
                     : complex != nullptr ? absl::StrCat(complex->real(), "+", complex->imag(), "j")
                                          : "bool"));
  }
  return result;
}

}  // namespace belay
