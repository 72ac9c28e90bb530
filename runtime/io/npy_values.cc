#include "runtime/io/npy_values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "runtime/core/checked_math.h"
#include "runtime/core/element.h"
#include "runtime/core/random.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/program/metadata_path.h"

namespace belay {
namespace {

const ValuePlan& InputValue(const MethodPlan& plan, size_t i) {
  return plan.values[plan.inputs[i].value];
}

std::string_view NumberName(bool) { return "a bool"; }
std::string_view NumberName(int64_t) { return "an int"; }
std::string_view NumberName(double) { return "a float"; }

// Dtypes accepted for scalar inputs.
constexpr DTypeSet kNumberTypes = kRealTypes | kUnsignedWideTypes | kFloat8Types;

// Converts `value` exactly to another type; nullopt if impossible. NaN is a float.
template <class To, class From>
std::optional<To> Exactly(From value) {
  if constexpr (kIsReducedFloat<From>) {
    return Exactly<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    if (value != From{0} && value != From{1}) return std::nullopt;
    return value != From{0};
  } else if constexpr (std::is_same_v<To, double>) {
    if constexpr (std::is_integral_v<From> && sizeof(From) == sizeof(uint64_t)) {
      const auto bits = static_cast<uint64_t>(value);
      const uint64_t magnitude = std::is_signed_v<From> && value < 0 ? uint64_t{0} - bits : bits;
      const int digits = 64 - std::countl_zero(magnitude) - std::countr_zero(magnitude);
      if (digits > std::numeric_limits<double>::digits) return std::nullopt;
    }
    return static_cast<double>(value);
  } else if constexpr (std::is_floating_point_v<From>) {
    // 2^63 is exact; the comparisons are false for NaN.
    constexpr From kLimit = static_cast<From>(9223372036854775808.0);
    if (!(value >= -kLimit && value < kLimit) || value != std::trunc(value)) return std::nullopt;
    return static_cast<To>(value);
  } else if constexpr (std::is_same_v<From, uint64_t>) {
    if (value > static_cast<uint64_t>(std::numeric_limits<To>::max())) return std::nullopt;
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

// Formats a scalar for messages.
template <class T>
std::string NumberText(T value) {
  if constexpr (kIsFloating<T>) {
    return absl::StrCat(static_cast<double>(value));
  } else if constexpr (std::is_unsigned_v<T>) {
    return absl::StrCat(static_cast<uint64_t>(value));
  } else {
    return absl::StrCat(static_cast<int64_t>(value));
  }
}

// Converts the single element of `array` to the scalar of input i.
template <class T>
absl::StatusOr<EValue> ScalarOf(const MethodPlan& plan, size_t i, const NpyArray& array) {
  std::optional<T> number;
  std::string got("no number");
  DispatchDType<kNumberTypes>(array.dtype, [&](auto tag) {
    const auto element = *array.view().as<CppType<tag.value>>();
    number = Exactly<T>(element);
    if (!number.has_value()) got = NumberText(element);
  });
  if (number.has_value()) return EValue(*number);
  return absl::InvalidArgumentError(absl::StrCat("input ", i, " ", Quoted(plan.inputs[i].name),
                                                 " expects ", NumberName(T{}), ", got ", got, " (",
                                                 DTypeName(array.dtype), ")"));
}

template <class T>
absl::StatusOr<NpyArray> ScalarArray(T value) {
  NpyArray array;
  array.dtype = DTypeOf<T>;
  ABSL_ASSIGN_OR_RETURN(array.data, AlignedBuffer::Create(sizeof(T)));
  *array.view().as<T>() = value;
  return array;
}

}  // namespace

DType NpyCarrier(DType dtype) {
  if (dtype == DType::kBFloat16) return DType::kUint16;
  if (kFloat8Types.contains(dtype)) return DType::kUint8;
  return dtype;
}

bool InputTakesArray(const MethodPlan& plan, size_t i) {
  const ValuePlan& value = InputValue(plan, i);
  return !std::holds_alternative<None>(value) && !std::holds_alternative<std::string>(value);
}

EValue ConstantInput(const MethodPlan& plan, size_t i) {
  return std::visit(
      [](const auto& v) -> EValue {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::string>) {
          return EValue(std::string_view(v));
        } else if constexpr (std::is_same_v<T, TensorPlan> || std::is_same_v<T, ListPlan> ||
                             std::is_same_v<T, ScalarKind>) {
          return EValue();
        } else {
          return EValue(v);
        }
      },
      InputValue(plan, i));
}

absl::StatusOr<EValue> InputFromNpy(const MethodPlan& plan, size_t i, const NpyArray& array) {
  const ValuePlan& value = InputValue(plan, i);
  if (const TensorPlan* tensor = std::get_if<TensorPlan>(&value)) {
    TensorView view = array.view();
    if (view.dtype == NpyCarrier(tensor->dtype)) view.dtype = tensor->dtype;
    return EValue(view);
  }
  const auto kind = [&](ScalarKind k) {
    return std::holds_alternative<ScalarKind>(value) && std::get<ScalarKind>(value) == k;
  };
  if (array.sizes.size() != 0 || IsComplex(array.dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", i, " '", plan.inputs[i].name,
                     "' is a scalar and needs an array of rank 0, got ", array.view().ToString()));
  }
  if (kind(ScalarKind::kInt) || std::holds_alternative<int64_t>(value)) {
    return ScalarOf<int64_t>(plan, i, array);
  }
  if (kind(ScalarKind::kDouble) || std::holds_alternative<double>(value)) {
    return ScalarOf<double>(plan, i, array);
  }
  if (kind(ScalarKind::kBool) || std::holds_alternative<bool>(value)) {
    return ScalarOf<bool>(plan, i, array);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("input ", i, " '", plan.inputs[i].name, "' accepts no array"));
}

absl::StatusOr<std::string> NpyBytesOf(const EValue& value) {
  if (const TensorView* tensor = value.get_if<TensorView>()) {
    TensorView view = *tensor;
    view.dtype = NpyCarrier(view.dtype);
    return NpyBytes(view);
  }
  const auto scalar = [](DType dtype, const void* data) {
    return NpyBytes(TensorView::Contiguous(dtype, {}, const_cast<void*>(data)));
  };
  if (const int64_t* v = value.get_if<int64_t>()) return scalar(DType::kInt64, v);
  if (const double* v = value.get_if<double>()) return scalar(DType::kFloat64, v);
  if (const bool* v = value.get_if<bool>()) return scalar(DType::kBool, v);
  return absl::InvalidArgumentError(absl::StrCat("no .npy file can hold ", value.KindName()));
}

absl::StatusOr<NpyArray> RandomInput(const MethodPlan& plan, size_t i, uint64_t seed,
                                     int64_t dynamic_size) {
  Random random(seed, i);
  NpyArray array;
  const ValuePlan& value = InputValue(plan, i);
  const TensorPlan* tensor = std::get_if<TensorPlan>(&value);
  if (const double* fixed = std::get_if<double>(&value)) return ScalarArray(*fixed);
  if (const bool* fixed = std::get_if<bool>(&value)) return ScalarArray(*fixed);
  if (tensor == nullptr) {
    array.dtype = DType::kInt64;
    ABSL_ASSIGN_OR_RETURN(array.data, AlignedBuffer::Create(sizeof(int64_t)));
    int64_t number = 1;
    if (const int64_t* v = std::get_if<int64_t>(&value)) number = *v;
    for (const SizeConstraint& c : plan.inputs[i].constraints) {
      number = std::clamp(dynamic_size, c.min, c.max);
    }
    *array.view().as<int64_t>() = number;
    return array;
  }
  array.dtype = tensor->dtype;
  array.sizes = tensor->sizes;
  for (const SizeConstraint& c : plan.inputs[i].constraints) {
    // Sizes that depend on one symbol stay consistent if all use the symbol's size.
    const CheckedInt wanted = c.symbol.empty() ? CheckedInt(dynamic_size)
                                               : CheckedInt(c.multiplier) * dynamic_size + c.offset;
    if (!wanted.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i, " ", Quoted(plan.inputs[i].name), ": the size of dimension ",
                       c.dim, ", ", c.multiplier, " * ", Quoted(c.symbol), " + ", c.offset,
                       ", exceeds int64 where the symbol is ", dynamic_size));
    }
    array.sizes[c.dim] = std::clamp(wanted.value(), c.min, c.max);
  }
  ABSL_ASSIGN_OR_RETURN(array.data, AlignedBuffer::Create(array.view().nbytes()));
  const int64_t count = array.view().numel();
  DispatchDType<kAllTypes>(array.dtype, [&](auto tag) {
    using T = CppType<tag.value>;
    T* out = array.view().template as<T>();
    for (int64_t k = 0; k < count; ++k) {
      if constexpr (std::is_same_v<T, bool>) {
        out[k] = random.OneIn(2);
      } else if constexpr (std::is_integral_v<T>) {
        out[k] = static_cast<T>(random.Below(8));
      } else {
        out[k] = ConvertElement<T>(static_cast<float>(random.Next() >> 40) * 0x1p-23f - 1);
      }
    }
  });
  array.dtype = NpyCarrier(array.dtype);
  return array;
}

}  // namespace belay
