// Elements of any dtype and strides, a run at a time in one of five C++ types.
//
// Elementwise kernels load a run of each operand, compute on plain arrays, and store the result. An
// operator is thus instantiated for at most five types. The conversions between all dtypes exist
// once.
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_ELEMENT_RUN_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_ELEMENT_RUN_H_

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/core/dtype.h"
#include "runtime/core/evalue.h"
#include "runtime/core/sizes.h"

namespace belay {

inline constexpr int kRunLength = 256;

// Types in which kernels compute. Integers of all widths compute modulo 2^64 and wrap when they are
// stored.
enum class ComputeClass : uint8_t {
  kInt,      // int64_t: bool and all integers except uint64
  kUint,     // uint64_t
  kFloat,    // float: float16, bfloat16, float32, float8
  kDouble,   // double
  kComplex,  // std::complex<double>
};
inline constexpr int kNumComputeClasses = 5;

ComputeClass ComputeClassOf(DType dtype);

template <class T>
inline constexpr ComputeClass kComputeClass = ComputeClass{};
template <>
inline constexpr ComputeClass kComputeClass<int64_t> = ComputeClass::kInt;
template <>
inline constexpr ComputeClass kComputeClass<uint64_t> = ComputeClass::kUint;
template <>
inline constexpr ComputeClass kComputeClass<float> = ComputeClass::kFloat;
template <>
inline constexpr ComputeClass kComputeClass<double> = ComputeClass::kDouble;
template <>
inline constexpr ComputeClass kComputeClass<std::complex<double>> = ComputeClass::kComplex;

// Buffer for a run of any class. Not initialized.
struct RunBuffer {
  alignas(64) std::byte bytes[kRunLength * sizeof(std::complex<double>)];
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(bytes);
  }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(bytes);
  }
};

// Position in a tensor that advances through the elements in row-major order of their indices.
class RunCursor {
 public:
  RunCursor() : RunCursor(Sizes(), Strides()) {}
  // Precondition: `sizes` and `strides` have equal length.
  RunCursor(const Sizes& sizes, const Strides& strides);

  // Advances over the next `n` elements. Calls fn(offset, stride, count) for each group of
  // equidistant elements among them. Precondition: at least `n` elements remain.
  template <class Fn>
  void Walk(int64_t n, Fn&& fn) {
    while (n > 0) {
      const int64_t count = std::min(n, sizes_.back() - index_.back());
      fn(offset_, strides_.back(), count);
      n -= count;
      Advance(count);
    }
  }

  // Number of equidistant elements that follow. Precondition: at least one element remains.
  int64_t group() const { return sizes_.back() - index_.back(); }
  int64_t stride() const { return strides_.back(); }  // distance between them, in elements

 private:
  void Advance(int64_t count);

  Sizes sizes_;  // at least one dimension
  Strides strides_;
  Sizes index_;
  int64_t offset_ = 0;
};

// Reads the next `n` elements of a tensor as elements of class `to`. Preconditions of LoadRun and
// StoreRun: n <= kRunLength; the cursor walks the tensor of `data`; its elements have `dtype`,
// which is not complex32.
void LoadRun(RunCursor& cursor, const void* data, DType dtype, ComputeClass to, int n,
             RunBuffer& out);
// Writes `n` elements, converted to `dtype` by ConvertElement.
void StoreRun(const RunBuffer& in, ComputeClass from, int n, RunCursor& cursor, void* data,
              DType dtype);
// Rounds or wraps each element to a value that `dtype` can represent.
void NarrowRun(RunBuffer& run, ComputeClass type, DType dtype, int n);

// Converts a scalar as PyTorch's Scalar::to does. The result is a bool, int64, double or complex
// according to the dtype's category, rounded or wrapped. kInvalidArgument if the value is out of
// range (negative numbers wrap in unsigned types), or if a complex number with an imaginary part
// would become real.
absl::StatusOr<EValue> ConvertScalar(const EValue& value, DType dtype);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_ELEMENT_RUN_H_
