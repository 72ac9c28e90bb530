// Elements of any dtype and strides, a run at a time in one of five C++ types.
//
// Kernels whose outputs depend on elements one by one load a run of each operand, compute on plain
// arrays, and store the result. So an operator is instantiated for five types at most, and the
// conversions between all dtypes exist once.
#ifndef BELAY_RUNTIME_KERNELS_CALL_ELEMENT_RUN_H_
#define BELAY_RUNTIME_KERNELS_CALL_ELEMENT_RUN_H_

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

// The types in which kernels compute. Integers of all widths compute modulo 2^64 and wrap when they
// are stored.
enum class ComputeClass : uint8_t {
  kInt,      // int64_t: bool and all integers but uint64
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

// Room for a run in any class. Not initialized.
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

// A place in a tensor that moves through its elements in row-major order of their indices.
class RunCursor {
 public:
  RunCursor() : RunCursor(Sizes(), Strides()) {}
  // Precondition: as many strides as sizes.
  RunCursor(const Sizes& sizes, const Strides& strides);

  // Moves over the next `n` elements: calls fn(offset, stride, count) for each group of them that
  // lies at equal distances. Precondition: so many are left.
  template <class Fn>
  void Walk(int64_t n, Fn&& fn) {
    while (n > 0) {
      const int64_t count = std::min(n, sizes_.back() - index_.back());
      fn(offset_, strides_.back(), count);
      n -= count;
      Advance(count);
    }
  }

  // How many of the next elements lie at equal distances. Precondition: some are left.
  int64_t group() const { return sizes_.back() - index_.back(); }
  int64_t stride() const { return strides_.back(); }  // their distance

 private:
  void Advance(int64_t count);

  Sizes sizes_;  // at least one dimension
  Strides strides_;
  Sizes index_;
  int64_t offset_ = 0;
};

// Reads the next `n` elements of a tensor as elements of a class. Preconditions of all: n <=
// kRunLength; `data` is that of the tensor which the cursor walks and has elements of `dtype`,
// which is not complex32.
void LoadRun(RunCursor& cursor, const void* data, DType dtype, ComputeClass to, int n,
             RunBuffer& out);
// Writes them, converted to `dtype` (ConvertElement).
void StoreRun(const RunBuffer& in, ComputeClass from, int n, RunCursor& cursor, void* data,
              DType dtype);
// Rounds or wraps each element to what `dtype` can hold.
void NarrowRun(RunBuffer& run, ComputeClass type, DType dtype, int n);

// The number as `dtype` holds it: bool, int64, double or complex according to the dtype's category,
// rounded or wrapped. PyTorch's Scalar::to: kInvalidArgument when the value is out of range
// (negative numbers wrap in unsigned types), or when a complex number with an imaginary part is to
// become real.
absl::StatusOr<EValue> ConvertScalar(const EValue& value, DType dtype);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_CALL_ELEMENT_RUN_H_
