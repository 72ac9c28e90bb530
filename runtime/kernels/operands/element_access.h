// Single elements of any dtype, read and written as one of four C++ types.
//
// Kernels that visit elements out of order (windows, reductions, transforms) look up a function per
// operand once and call it per element. Their loops are instantiated for the compute type only, not
// for every dtype.
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_ELEMENT_ACCESS_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_ELEMENT_ACCESS_H_

#include <complex>
#include <cstdint>

#include "runtime/core/tensor_view.h"

namespace belay {

// Instantiated for bool, int64_t, double and std::complex<double>. Conversions are those of
// ConvertElement. Precondition: `dtype` is not complex32.
template <class T>
using LoadFn = T (*)(const void* data, int64_t offset);
template <class T>
using StoreFn = void (*)(void* data, int64_t offset, T value);
template <class T>
LoadFn<T> LoadAs(DType dtype);
template <class T>
StoreFn<T> StoreAs(DType dtype);

// Reads (Reader) or writes (Writer) elements of a tensor. Offsets are in elements from the first
// one.
template <class T>
class Reader {
 public:
  explicit Reader(const TensorView& tensor) : data_(tensor.data), load_(LoadAs<T>(tensor.dtype)) {}
  T operator()(int64_t offset) const { return load_(data_, offset); }

 private:
  const void* data_;
  LoadFn<T> load_;
};
template <class T>
class Writer {
 public:
  explicit Writer(const TensorView& tensor)
      : data_(tensor.data), store_(StoreAs<T>(tensor.dtype)) {}
  void operator()(int64_t offset, T value) const { store_(data_, offset, value); }

 private:
  void* data_;
  StoreFn<T> store_;
};

// Optional parameter tensor of rank 1. operator[] returns element i, or `fallback` if absent.
class OptionalVector {
 public:
  OptionalVector(const TensorView* tensor, double fallback)
      : load_(tensor == nullptr ? nullptr : LoadAs<double>(tensor->dtype)),
        data_(tensor == nullptr ? nullptr : tensor->data),
        stride_(tensor == nullptr ? 0 : tensor->strides[0]),
        fallback_(fallback) {}
  double operator[](int64_t i) const {
    return load_ == nullptr ? fallback_ : load_(data_, i * stride_);
  }

 private:
  LoadFn<double> load_;
  const void* data_;
  int64_t stride_;
  double fallback_;
};

// Calls fn(T()) with the type in which kernels compute on elements of `dtype`:
// std::complex<double>, double for floating-point types, int64_t (wrapping) for integers and bool.
template <class Fn>
auto WithComputeType(DType dtype, Fn&& fn) {
  if (IsComplex(dtype)) return fn(std::complex<double>());
  if (IsFloatingPoint(dtype)) return fn(double{});
  return fn(int64_t{});
}

// Integer arithmetic wraps, as in PyTorch.
template <class T>
T WrappingAdd(T a, T b) {
  return a + b;
}
template <class T>
T WrappingMul(T a, T b) {
  return a * b;
}
template <>
inline int64_t WrappingAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <>
inline int64_t WrappingMul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_ELEMENT_ACCESS_H_
