#include "runtime/io/npy_values.h"

#include <algorithm>
#include <random>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"

namespace belay {
namespace {

// The dtype that carries another one's bits in NumPy; the dtype itself when NumPy has it.
DType Carrier(DType dtype) {
  if (dtype == DType::kBFloat16) return DType::kUint16;
  if (kFloat8Types.contains(dtype)) return DType::kUint8;
  return dtype;
}

const ValuePlan& InputValue(const MethodPlan& plan, size_t i) {
  return plan.values[plan.inputs[i].value];
}

template <class T>
T ScalarOf(const NpyArray& array) {
  T result{};
  DispatchDType<kRealTypes>(array.dtype, [&](auto tag) {
    result = ConvertElement<T>(*array.view().as<CppType<tag.value>>());
  });
  return result;
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
    if (view.dtype == Carrier(tensor->dtype)) view.dtype = tensor->dtype;
    return EValue(view);
  }
  const auto kind = [&](ScalarKind k) {
    return std::holds_alternative<ScalarKind>(value) && std::get<ScalarKind>(value) == k;
  };
  if (array.sizes.size() != 0 || IsComplex(array.dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", i, " '", plan.inputs[i].name,
                     "' is a scalar and takes an array of rank 0, not ", array.view().ToString()));
  }
  if (kind(ScalarKind::kInt) || std::holds_alternative<int64_t>(value)) {
    return EValue(ScalarOf<int64_t>(array));
  }
  if (kind(ScalarKind::kDouble) || std::holds_alternative<double>(value)) {
    return EValue(ScalarOf<double>(array));
  }
  if (kind(ScalarKind::kBool) || std::holds_alternative<bool>(value)) {
    return EValue(ScalarOf<bool>(array));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("input ", i, " '", plan.inputs[i].name, "' takes no array"));
}

absl::StatusOr<std::string> NpyBytesOf(const EValue& value) {
  if (const TensorView* tensor = value.get_if<TensorView>()) {
    TensorView view = *tensor;
    view.dtype = Carrier(view.dtype);
    return NpyBytes(view);
  }
  const auto scalar = [](DType dtype, const void* data) {
    return NpyBytes(TensorView::Contiguous(dtype, {}, const_cast<void*>(data)));
  };
  if (const int64_t* v = value.get_if<int64_t>()) return scalar(DType::kInt64, v);
  if (const double* v = value.get_if<double>()) return scalar(DType::kFloat64, v);
  if (const bool* v = value.get_if<bool>()) return scalar(DType::kBool, v);
  return absl::InvalidArgumentError(absl::StrCat("there is no .npy file for ", value.KindName()));
}

absl::StatusOr<NpyArray> RandomInput(const MethodPlan& plan, size_t i, uint64_t seed,
                                     int64_t dynamic_size) {
  std::mt19937_64 random(seed + i);
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
    // Sizes that hang on one symbol stay in step when all take their symbol's size.
    const int64_t wanted = c.symbol.empty() ? dynamic_size : c.multiplier * dynamic_size + c.offset;
    if (wanted >= c.min && wanted <= c.max) array.sizes[c.dim] = wanted;
  }
  ABSL_ASSIGN_OR_RETURN(array.data, AlignedBuffer::Create(array.view().nbytes()));
  const int64_t count = array.view().numel();
  DispatchDType<kAllTypes>(array.dtype, [&](auto tag) {
    using T = CppType<tag.value>;
    T* out = array.view().template as<T>();
    std::uniform_real_distribution<float> real(-1, 1);
    for (int64_t k = 0; k < count; ++k) {
      if constexpr (std::is_same_v<T, bool>) {
        out[k] = random() % 2 == 1;
      } else if constexpr (std::is_integral_v<T>) {
        out[k] = static_cast<T>(random() % 8);
      } else {
        out[k] = ConvertElement<T>(real(random));
      }
    }
  });
  array.dtype = Carrier(array.dtype);
  return array;
}

}  // namespace belay
