#include "runtime/kernels/element_copy/element_update.h"

#include <algorithm>
#include <complex>
#include <type_traits>

#include "runtime/core/element.h"
#include "runtime/kernels/operands/operands.h"

namespace belay {
namespace {

// A bool in memory may be any byte.
template <class T>
T Load(const void* base, int64_t offset) {
  if constexpr (std::is_same_v<T, bool>) {
    return static_cast<const uint8_t*>(base)[offset] != 0;
  } else {
    return static_cast<const T*>(base)[offset];
  }
}

template <class T, Update kUpdate>
void Apply(void* target, int64_t to, const void* source, int64_t from) {
  T& element = static_cast<T*>(target)[to];
  const T value = Load<T>(source, from);
  element = Updated<kUpdate>(Load<T>(target, to), value);
}

template <Update kUpdate>
UpdateFn ForDType(DType dtype) {
  UpdateFn fn = nullptr;
  DispatchDType<kNumberTypes>(dtype, [&](auto tag) { fn = &Apply<CppType<tag.value>, kUpdate>; });
  return fn;
}

}  // namespace

UpdateFn UpdateOf(Update update, DType dtype) {
  switch (update) {
    case Update::kAssign:
      return ForDType<Update::kAssign>(dtype);
    case Update::kAdd:
      return ForDType<Update::kAdd>(dtype);
    case Update::kMultiply:
      return ForDType<Update::kMultiply>(dtype);
    case Update::kMaximum:
      return ForDType<Update::kMaximum>(dtype);
    case Update::kMinimum:
      return ForDType<Update::kMinimum>(dtype);
  }
  return nullptr;
}

void AddScaled(const TensorView& target, const TensorView& addend, const ScalarElement& alpha) {
  DispatchDType<kNumberTypes>(target.dtype, [&](auto tag) {
    using T = CppType<tag.value>;
    using C = ComputeType<T>;
    const T factor = Load<T>(alpha.data(), 0);
    for (StridedIterator<2> it(target.sizes, {target.strides, addend.strides}); !it.done();
         it.Next()) {
      T& element = target.as<T>()[it.offset(0)];
      const T value = Load<T>(addend.data, it.offset(1));
      const T old = Load<T>(target.data, it.offset(0));
      if constexpr (std::is_integral_v<T>) {
        element = Updated<Update::kAdd>(old, Updated<Update::kMultiply>(factor, value));
      } else {
        element = T(C(old) + C(factor) * C(value));
      }
    }
  });
}

}  // namespace belay
