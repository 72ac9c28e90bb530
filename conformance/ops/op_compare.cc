#include "conformance/ops/op_compare.h"

#include <cmath>
#include <complex>
#include <cstring>

#include "absl/strings/str_format.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

template <class T>
T Load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

// An element of a floating point dtype, or one part of a complex one, as a double.
double RealAt(DType dtype, const std::byte* at) {
  switch (dtype) {
    case DType::kFloat64:
      return Load<double>(at);
    case DType::kFloat32:
      return Load<float>(at);
    case DType::kFloat16:
    case DType::kComplex32:
      return HalfBitsToFloat(Load<uint16_t>(at));
    case DType::kBFloat16:
      return BFloat16BitsToFloat(Load<uint16_t>(at));
    default:
      return Float8BitsToFloat(dtype, Load<uint8_t>(at));
  }
}

bool BothNan(double a, double b) { return std::isnan(a) && std::isnan(b); }

bool CloseTo(double want, double got, const OpCase& op_case) {
  if (BothNan(want, got)) return true;
  if (std::isinf(want) || std::isinf(got)) return want == got;
  return std::abs(got - want) <= op_case.atol + op_case.rtol * std::abs(want);
}

// The parts of an element: itself, or real and imaginary.
struct Parts {
  DType dtype;
  size_t count;
  size_t size;
};
Parts PartsOf(DType dtype) {
  const bool is_complex = IsComplex(dtype);
  const size_t count = is_complex ? 2 : 1;
  return {is_complex ? RealPart(dtype) : dtype, count, DTypeSize(dtype) / count};
}

bool SameElement(DType dtype, const std::byte* want, const std::byte* got, const OpCase& op_case) {
  const Parts parts = PartsOf(dtype);
  if (!IsFloatingPoint(parts.dtype)) return std::memcmp(want, got, DTypeSize(dtype)) == 0;
  for (size_t p = 0; p < parts.count; ++p) {
    const std::byte *w = want + p * parts.size, *g = got + p * parts.size;
    const double x = RealAt(parts.dtype, w), y = RealAt(parts.dtype, g);
    const bool same = op_case.check == CaseCheck::kBits
                          ? BothNan(x, y) || std::memcmp(w, g, parts.size) == 0
                          : CloseTo(x, y, op_case);
    if (!same) return false;
  }
  return true;
}

std::string IntegerText(DType dtype, const std::byte* at) {
  switch (dtype) {
    case DType::kBool:
      return absl::StrCat(static_cast<int>(Load<uint8_t>(at)));
    case DType::kUint8:
      return absl::StrCat(static_cast<int>(Load<uint8_t>(at)));
    case DType::kInt8:
      return absl::StrCat(static_cast<int>(Load<int8_t>(at)));
    case DType::kInt16:
      return absl::StrCat(Load<int16_t>(at));
    case DType::kUint16:
      return absl::StrCat(Load<uint16_t>(at));
    case DType::kInt32:
      return absl::StrCat(Load<int32_t>(at));
    case DType::kUint32:
      return absl::StrCat(Load<uint32_t>(at));
    case DType::kInt64:
      return absl::StrCat(Load<int64_t>(at));
    default:
      return absl::StrCat(Load<uint64_t>(at));
  }
}

std::string ElementText(DType dtype, const std::byte* at) {
  const Parts parts = PartsOf(dtype);
  if (!IsFloatingPoint(parts.dtype)) return IntegerText(dtype, at);
  std::string text = absl::StrFormat("%.9g", RealAt(parts.dtype, at));
  if (parts.count == 2)
    absl::StrAppend(&text, absl::StrFormat("%+.9gi", RealAt(parts.dtype, at + parts.size)));
  return text;
}

std::string IndexText(int64_t linear, const Sizes& sizes) {
  std::string text = "]";
  for (int d = sizes.size() - 1; d >= 0; --d) {
    text = absl::StrCat(d == 0 ? "" : ",", linear % sizes[d], text);
    linear /= sizes[d];
  }
  return absl::StrCat("[", text);
}

std::string ShapeText(DType dtype, const Sizes& sizes) {
  return absl::StrCat(DTypeShortName(dtype), FormatSizes(sizes));
}

Difference CompareNumber(double want, double got, const OpCase& op_case) {
  const bool same = op_case.check == CaseCheck::kBits
                        ? BothNan(want, got) || std::memcmp(&want, &got, sizeof(double)) == 0
                        : CloseTo(want, got, op_case);
  return same ? "" : absl::StrFormat("expected %.17g, got %.17g", want, got);
}

}  // namespace

Difference CompareTensor(const CaseTensor& want, const TensorView& got, const OpCase& op_case) {
  if (want.dtype != got.dtype || !(want.sizes == got.sizes)) {
    return absl::StrCat("expected ", ShapeText(want.dtype, want.sizes), ", got ",
                        ShapeText(got.dtype, got.sizes));
  }
  if (op_case.check == CaseCheck::kMeta || !want.data.has_value()) return "";
  const size_t size = DTypeSize(want.dtype);
  const std::byte* want_data = reinterpret_cast<const std::byte*>(want.data->data()) +
                               static_cast<size_t>(want.storage_offset) * size;
  int64_t position = 0, wrong = 0;
  Difference first;
  for (StridedIterator<2> it(got.sizes, {want.strides, got.strides}); !it.done();
       it.Next(), ++position) {
    const std::byte* w = want_data + it.offset(0) * static_cast<int64_t>(size);
    const std::byte* g =
        static_cast<const std::byte*>(got.data) + it.offset(1) * static_cast<int64_t>(size);
    if (SameElement(want.dtype, w, g, op_case)) continue;
    if (wrong++ == 0) {
      first = absl::StrCat(IndexText(position, got.sizes), " expected ", ElementText(want.dtype, w),
                           ", got ", ElementText(want.dtype, g));
    }
  }
  if (wrong == 0) return "";
  return absl::StrCat(first, " (", wrong, " of ", position, " elements of ",
                      ShapeText(want.dtype, want.sizes), " differ)");
}

Difference CompareScalar(const CaseValue& want, const EValue& got, const OpCase& op_case) {
  if (const int64_t* w = std::get_if<int64_t>(&want)) {
    const int64_t* g = got.get_if<int64_t>();
    if (g == nullptr) return absl::StrCat("expected int ", *w, ", got ", got.KindName());
    return *w == *g ? "" : absl::StrCat("expected ", *w, ", got ", *g);
  }
  if (const bool* w = std::get_if<bool>(&want)) {
    const bool* g = got.get_if<bool>();
    if (g == nullptr) return absl::StrCat("expected a bool, got ", got.KindName());
    return *w == *g
               ? ""
               : absl::StrCat("expected ", *w ? "true" : "false", ", got ", *g ? "true" : "false");
  }
  if (const double* w = std::get_if<double>(&want)) {
    const double* g = got.get_if<double>();
    if (g == nullptr) return absl::StrCat("expected a float, got ", got.KindName());
    return CompareNumber(*w, *g, op_case);
  }
  if (const auto* w = std::get_if<std::complex<double>>(&want)) {
    const auto* g = got.get_if<std::complex<double>>();
    if (g == nullptr) return absl::StrCat("expected a complex number, got ", got.KindName());
    const Difference real = CompareNumber(w->real(), g->real(), op_case);
    return real.empty() ? CompareNumber(w->imag(), g->imag(), op_case) : real;
  }
  if (std::holds_alternative<None>(want)) {
    return got.is_none() ? "" : absl::StrCat("expected none, got ", got.KindName());
  }
  return absl::StrCat("expected a value of a kind that no operator returns, got ", got.KindName());
}

Difference CompareLayout(const CaseTensor& want, const TensorView& got) {
  if (got.numel() <= 1) return "";
  for (int d = 0; d < got.sizes.size(); ++d) {
    if (got.sizes[d] != 1 && want.strides[d] != got.strides[d]) {
      return absl::StrCat("expected strides ", FormatSizes(want.strides), ", got ",
                          FormatSizes(got.strides), " of shape ", FormatSizes(got.sizes));
    }
  }
  return "";
}

}  // namespace belay::conformance
