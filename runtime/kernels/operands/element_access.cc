#include "runtime/kernels/operands/element_access.h"

#include <complex>
#include <cstdint>
#include <type_traits>

#include "runtime/core/element.h"

namespace belay {
namespace {

constexpr DTypeSet kAccessible = kRealTypes | kComplexTypes | kUnsignedWideTypes | kFloat8Types;

template <class T, class Element>
T Load(const void* data, int64_t offset) {
  if constexpr (std::is_same_v<Element, bool>) {
    // A bool in memory may be any byte; reading it as bool would be undefined behavior.
    return ConvertElement<T>(static_cast<const uint8_t*>(data)[offset] != 0);
  } else {
    return ConvertElement<T>(static_cast<const Element*>(data)[offset]);
  }
}
template <class T, class Element>
void Store(void* data, int64_t offset, T value) {
  static_cast<Element*>(data)[offset] = ConvertElement<Element>(value);
}

}  // namespace

template <class T>
LoadFn<T> LoadAs(DType dtype) {
  LoadFn<T> load = nullptr;
  DispatchDType<kAccessible>(dtype, [&](auto tag) { load = &Load<T, CppType<tag.value>>; });
  return load;
}
template <class T>
StoreFn<T> StoreAs(DType dtype) {
  StoreFn<T> store = nullptr;
  DispatchDType<kAccessible>(dtype, [&](auto tag) { store = &Store<T, CppType<tag.value>>; });
  return store;
}

template LoadFn<bool> LoadAs(DType);
template LoadFn<int64_t> LoadAs(DType);
template LoadFn<double> LoadAs(DType);
template LoadFn<std::complex<double>> LoadAs(DType);
template StoreFn<bool> StoreAs(DType);
template StoreFn<int64_t> StoreAs(DType);
template StoreFn<double> StoreAs(DType);
template StoreFn<std::complex<double>> StoreAs(DType);

}  // namespace belay
