// Test helpers: status matchers, small tensors, and the seed of randomized tests.
#ifndef BELAY_RUNTIME_CORE_TESTING_H_
#define BELAY_RUNTIME_CORE_TESTING_H_

#include <cstdint>
#include <cstring>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/arena.h"
#include "runtime/core/dtype.h"
#include "runtime/core/element.h"
#include "runtime/core/sizes.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/tensor_view.h"

namespace belay {

// Seed of all randomized tests. Fixed unless the environment sets BELAY_TEST_SEED to an integer, or
// to "random" for a new seed in each process (bazel test --test_env=BELAY_TEST_SEED=random). The
// first call prints it to stdout, which Bazel shows if the test fails. Thread-safe.
uint64_t TestSeed();

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <class T>
const absl::Status& StatusOf(const absl::StatusOr<T>& statusor) {
  return statusor.status();
}

MATCHER(IsOk, "is OK") {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).ok();
}

MATCHER_P2(StatusIs, code, message_matcher, "") {
  const absl::Status& status = StatusOf(arg);
  *result_listener << "whose status is " << status.ToString() << " ";
  return status.code() == code &&
         ::testing::ExplainMatchResult(message_matcher, std::string(status.message()),
                                       result_listener);
}
MATCHER_P(StatusIs, code, "") {
  *result_listener << "whose status is " << StatusOf(arg).ToString();
  return StatusOf(arg).code() == code;
}

// `expr` is a Status or a StatusOr.
#define EXPECT_OK(expr) EXPECT_THAT(expr, ::belay::IsOk())
#define ASSERT_OK(expr) ASSERT_THAT(expr, ::belay::IsOk())

// Fails the test unless `expr`, a StatusOr, is OK; otherwise assigns its value to `lhs`, which may
// declare a variable.
#define ASSERT_OK_AND_ASSIGN(lhs, expr) \
  BELAY_ASSERT_OK_AND_ASSIGN_(BELAY_TESTING_CONCAT_(belay_statusor_, __LINE__), lhs, expr)
#define BELAY_ASSERT_OK_AND_ASSIGN_(statusor, lhs, expr) \
  auto statusor = (expr);                                \
  ASSERT_THAT(statusor, ::belay::IsOk());                \
  lhs = std::move(statusor).value()
#define BELAY_TESTING_CONCAT_(a, b) BELAY_TESTING_CONCAT_INNER_(a, b)
#define BELAY_TESTING_CONCAT_INNER_(a, b) a##b

inline void PrintTo(DType dtype, std::ostream* out) { *out << DTypeName(dtype); }
inline void PrintTo(const TensorView& view, std::ostream* out) { *out << view.ToString(); }

// Returns the elements in row-major order, whatever the strides; as float for reduced floating
// point types.
template <class T>
std::vector<ComputeType<T>> ToVector(const TensorView& view) {
  ABSL_CHECK(view.dtype == DTypeOf<T>);
  std::vector<ComputeType<T>> values;
  for (StridedIterator<1> it(view.sizes, {view.strides}); !it.done(); it.Next()) {
    values.push_back(ConvertElement<ComputeType<T>>(view.as<T>()[it.offset(0)]));
  }
  return values;
}

// A tensor that owns its elements. The allocation ends with the last element, so that asan detects
// out-of-bounds accesses of kernels.
class TestTensor {
 public:
  // Row-major contiguous: TestTensor::Of<float>({2, 3}, {1, 2, 3, 4, 5, 6}).
  template <class T>
  static TestTensor Of(const Sizes& sizes, const std::vector<ComputeType<T>>& values) {
    return Dense<T>(sizes, ContiguousOrder(sizes.size()), values);
  }
  // `values` are in row-major order of the indices; memory is in `order`.
  template <class T>
  static TestTensor Dense(const Sizes& sizes, const DimOrder& order,
                          const std::vector<ComputeType<T>>& values) {
    return Strided<T>(sizes, DenseStrides(sizes, order), values);
  }
  // `values` are in row-major order of the indices. With a stride of 0, the last of the elements
  // that share a position is kept.
  template <class T>
  static TestTensor Strided(const Sizes& sizes, const Strides& strides,
                            const std::vector<ComputeType<T>>& values) {
    TestTensor tensor = Zeros(DTypeOf<T>, sizes, strides);
    ABSL_CHECK(static_cast<size_t>(tensor.view().numel()) == values.size());
    size_t i = 0;
    for (StridedIterator<1> it(sizes, {strides}); !it.done(); it.Next()) {
      const ComputeType<T> value = values[i++];
      tensor.view().as<T>()[it.offset(0)] = ConvertElement<T>(value);
    }
    return tensor;
  }
  static TestTensor Zeros(DType dtype, const Sizes& sizes) {
    return Zeros(dtype, sizes, ContiguousStrides(sizes));
  }
  static TestTensor Zeros(DType dtype, const Sizes& sizes, const Strides& strides) {
    ABSL_CHECK(sizes.size() == strides.size());
    ABSL_CHECK(NumElements(sizes).has_value());
    int64_t last = 0;
    for (int d = 0; d < sizes.size(); ++d) last += (sizes[d] - 1) * strides[d];
    const int64_t count = *NumElements(sizes) == 0 ? 0 : last + 1;
    TestTensor tensor;
    absl::StatusOr<AlignedBuffer> memory =
        AlignedBuffer::Create(static_cast<uint64_t>(count) * DTypeSize(dtype));
    ABSL_CHECK(memory.ok());
    tensor.memory_ = *std::move(memory);
    tensor.view_.dtype = dtype;
    tensor.view_.sizes = sizes;
    tensor.view_.strides = strides;
    tensor.view_.data = tensor.memory_.data();
    return tensor;
  }

  const TensorView& view() const { return view_; }
  operator const TensorView&() const { return view_; }  // NOLINT: a tensor is its view

 private:
  TestTensor() = default;
  TensorView view_;
  AlignedBuffer memory_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_TESTING_H_
