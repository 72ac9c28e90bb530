#include "exir/compare/compare.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <optional>
#include <string>

#include "absl/strings/str_format.h"
#include "runtime/core/element.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

using Elements = Closeness::Elements;

template <class T>
T Load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

// Parts of an element: the element itself, or real and imaginary part.
struct Parts {
  explicit Parts(DType element)
      : dtype(IsComplex(element) ? RealPart(element) : element),
        count(IsComplex(element) ? 2 : 1),
        size(DTypeSize(element) / count) {}
  DType dtype;
  size_t count, size;
};

double FloatAt(DType dtype, const std::byte* at) {
  double value = 0;
  DispatchDType<kFloatTypes | kFloat8Types>(dtype, [&](auto tag) {
    using T = CppType<tag.value>;
    value = static_cast<ComputeType<T>>(Load<T>(at));
  });
  return value;
}

bool IsClose(double want, double got, const Closeness& closeness) {
  if (closeness.finite_only && !(std::isfinite(want) && std::isfinite(got))) return true;
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return want == got;
  return std::abs(got - want) <= closeness.atol + closeness.rtol * std::abs(want);
}

bool Matches(const Parts& parts, const std::byte* want, const std::byte* got,
             const Closeness& closeness) {
  const size_t size = parts.count * parts.size;
  if (closeness.elements == Elements::kIdentical || !IsFloatingPoint(parts.dtype)) {
    return std::memcmp(want, got, size) == 0;
  }
  for (size_t at = 0; at < size; at += parts.size) {
    const double w = FloatAt(parts.dtype, want + at), g = FloatAt(parts.dtype, got + at);
    const bool same =
        closeness.elements == Elements::kClose
            ? IsClose(w, g, closeness)
            : (std::isnan(w) && std::isnan(g)) || std::memcmp(want + at, got + at, parts.size) == 0;
    if (!same) return false;
  }
  return true;
}

// Returns the largest finite |part| of a tensor; 0 if no element has one.
double LargestMagnitude(const TensorView& tensor, const Parts& parts) {
  const auto size = static_cast<int64_t>(DTypeSize(tensor.dtype));
  double largest = 0;
  for (StridedIterator<1> it(tensor.sizes, {tensor.strides}); !it.done(); it.Next()) {
    for (size_t part = 0; part < parts.count; ++part) {
      const double value = std::abs(
          FloatAt(parts.dtype, tensor.as<std::byte>() + it.offset(0) * size + part * parts.size));
      if (std::isfinite(value)) largest = std::max(largest, value);
    }
  }
  return largest;
}

// Formats an element; `exact` prints all digits that distinguish it from other values.
std::string Text(const Parts& parts, const std::byte* at, bool exact) {
  const auto part = [&](const std::byte* p) {
    return absl::StrFormat("%.*g", exact ? 17 : 6, FloatAt(parts.dtype, p));
  };
  if (parts.count == 2) return absl::StrCat(part(at), "+", part(at + parts.size), "j");
  if (IsFloatingPoint(parts.dtype)) return part(at);
  if (parts.dtype == DType::kBool) return Load<uint8_t>(at) != 0 ? "true" : "false";
  std::string text;
  DispatchDType<kIntegralTypes | kUnsignedWideTypes>(
      parts.dtype, [&](auto tag) { text = absl::StrCat(+Load<CppType<tag.value>>(at)); });
  return text;
}

std::string Expected(const Parts& parts, const std::byte* want, const std::byte* got) {
  const bool exact = Text(parts, want, false) == Text(parts, got, false);
  return absl::StrCat("expected ", Text(parts, want, exact), ", got ", Text(parts, got, exact));
}

// Returns a scalar as a tensor of rank 0 stored in `storage`; nullopt for non-scalars.
std::optional<TensorView> AsTensor(const EValue& value, std::complex<double>& storage) {
  const auto store = [&]<class T>(const T* number) -> std::optional<TensorView> {
    if (number == nullptr) return std::nullopt;
    std::memcpy(&storage, number, sizeof(T));
    return TensorView::Contiguous(DTypeOf<T>, {}, &storage);
  };
  std::optional<TensorView> tensor = store(value.get_if<int64_t>());
  if (!tensor.has_value()) tensor = store(value.get_if<double>());
  if (!tensor.has_value()) tensor = store(value.get_if<bool>());
  if (!tensor.has_value()) tensor = store(value.get_if<std::complex<double>>());
  return tensor;
}

}  // namespace

absl::Status CompareTensors(const TensorView& want, const TensorView& got,
                            const Closeness& closeness) {
  if (want.dtype != got.dtype || !(want.sizes == got.sizes)) {
    return absl::FailedPreconditionError(
        absl::StrCat("expected ", want.ToString(), ", got ", got.ToString()));
  }
  if (closeness.elements == Elements::kAny) return absl::OkStatus();
  Closeness limits = closeness;
  const bool half = want.dtype == DType::kFloat16, brain = want.dtype == DType::kBFloat16;
  if (closeness.by_precision && (half || brain)) {
    const double precision = half ? 2e-3 : 2e-2;
    limits.atol = std::max(limits.atol, precision);
    limits.rtol = std::max(limits.rtol, precision);
  }
  const Parts parts(want.dtype);
  if (closeness.by_precision && closeness.elements == Elements::kClose &&
      IsFloatingPoint(parts.dtype)) {
    limits.atol += limits.rtol * Closeness::kOfLargest * LargestMagnitude(want, parts);
  }
  const auto size = static_cast<int64_t>(DTypeSize(want.dtype));
  int64_t differing = 0, index = 0;
  std::string first;
  for (StridedIterator<2> it(want.sizes, {want.strides, got.strides}); !it.done();
       it.Next(), ++index) {
    const std::byte* w = want.as<std::byte>() + it.offset(0) * size;
    const std::byte* g = got.as<std::byte>() + it.offset(1) * size;
    if (Matches(parts, w, g, limits)) continue;
    if (differing++ == 0) first = absl::StrCat("element ", index, ": ", Expected(parts, w, g));
  }
  if (differing == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(differing, " of ", index, " elements differ; ", first));
}

absl::Status CompareValues(const EValue& want, const EValue& got, const Closeness& closeness) {
  const auto *tensor = want.get_if<TensorView>(), *other = got.get_if<TensorView>();
  if (tensor != nullptr && other != nullptr) return CompareTensors(*tensor, *other, closeness);
  std::complex<double> storage[2];
  const std::optional<TensorView> number = AsTensor(want, storage[0]);
  if (number.has_value()) {
    if (const auto rank0 = AsTensor(got, storage[1]); rank0 && rank0->dtype == number->dtype) {
      return CompareTensors(*number, *rank0,
                            want.is<int64_t>() || want.is<bool>() ? kIdentical : closeness);
    }
  }
  if (want.is<ListView>()) return absl::UnimplementedError("can't compare lists");
  const auto same = [](const auto* a, const auto* b) { return a != nullptr && b && *a == *b; };
  if ((want.is_none() && got.is_none()) ||
      same(want.get_if<std::string_view>(), got.get_if<std::string_view>()) ||
      same(want.get_if<DType>(), got.get_if<DType>()) ||
      same(want.get_if<MemoryFormat>(), got.get_if<MemoryFormat>())) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("expected ", want.KindName(), ", got another ", got.KindName()));
}

absl::Status CompareRecorded(const TensorView& want, const EValue& got,
                             const Closeness& closeness) {
  std::complex<double> storage;
  const TensorView* tensor = got.get_if<TensorView>();
  const std::optional<TensorView> number = AsTensor(got, storage);
  if (tensor == nullptr && !number.has_value()) {
    return absl::FailedPreconditionError(
        absl::StrCat("expected ", want.ToString(), ", got ", got.KindName()));
  }
  return CompareTensors(want, tensor != nullptr ? *tensor : *number, closeness);
}

void Deviation::Widen(const Deviation& other) {
  absolute = std::max(absolute, other.absolute);
  relative = std::max(relative, other.relative);
}

Deviation LargestDeviation(const EValue& want, const EValue& got) {
  std::complex<double> storage[2];
  const auto tensor_of = [](const EValue& value, std::complex<double>& number) {
    const TensorView* tensor = value.get_if<TensorView>();
    return tensor == nullptr ? AsTensor(value, number) : std::optional<TensorView>(*tensor);
  };
  const std::optional<TensorView> a = tensor_of(want, storage[0]), b = tensor_of(got, storage[1]);
  Deviation largest;
  if (!a || !b || a->dtype != b->dtype || !(a->sizes == b->sizes)) return largest;
  const Parts parts(a->dtype);
  if (!IsFloatingPoint(parts.dtype)) return largest;
  const size_t size = parts.count * parts.size;
  for (StridedIterator<2> it(a->sizes, {a->strides, b->strides}); !it.done(); it.Next()) {
    const std::byte* w = a->as<std::byte>() + it.offset(0) * static_cast<int64_t>(size);
    const std::byte* g = b->as<std::byte>() + it.offset(1) * static_cast<int64_t>(size);
    for (size_t at = 0; at < size; at += parts.size) {
      const double x = FloatAt(parts.dtype, w + at), y = FloatAt(parts.dtype, g + at);
      if (!std::isfinite(x) || !std::isfinite(y)) continue;
      const double difference = std::abs(y - x);
      largest.Widen({difference, x == 0 ? 0 : difference / std::abs(x)});
    }
  }
  return largest;
}

}  // namespace belay::exir
