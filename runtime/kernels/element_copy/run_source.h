// Conversion of tensors of any layout to contiguous runs of a compute type (RunSource), and back
// (RunSink).
#ifndef BELAY_RUNTIME_KERNELS_ELEMENT_COPY_RUN_SOURCE_H_
#define BELAY_RUNTIME_KERNELS_ELEMENT_COPY_RUN_SOURCE_H_

#include <cstddef>
#include <cstdint>

#include "runtime/core/dtype.h"
#include "runtime/core/sizes.h"
#include "runtime/kernels/operands/element_run.h"

namespace belay {

// Elements per buffer.
inline constexpr int64_t kRunBufferLength = 1024;
struct RunStorage {
  alignas(64) std::byte bytes[kRunBufferLength * sizeof(int64_t)];
};

// Copies n elements of 1, 2, 4 or 8 bytes that are `stride` elements apart to a run.
void GatherRun(const void* from, int64_t stride, int64_t n, size_t bytes, void* to);
// Sets the n elements of a run, of 1, 2, 4 or 8 bytes, to *element, which may be one of them.
void FillRun(const void* element, int64_t n, size_t bytes, void* to);

class RunSource {
 public:
  RunSource() = default;
  // Precondition: both dtypes are in kRunTypes (convert_run.h). `to` may be kBool: bytes that are 0
  // or 1.
  RunSource(const void* data, DType dtype, const Sizes& sizes, const Strides& strides, DType to);

  // Whether groups are read in place.
  bool in_place() const { return !converts_ && cursor_.stride() == 1; }
  // Number of equidistant elements that follow.
  int64_t group() const { return cursor_.group(); }
  // Returns the next n elements as `to`, in place or in the buffer. Precondition: n <=
  // kRunBufferLength, or in_place() and n <= group().
  const void* Next(int64_t n, RunStorage& buffer);

 private:
  RunCursor cursor_;
  const std::byte* data_ = nullptr;
  DType from_ = DType::kFloat32, to_ = DType::kFloat32;
  bool converts_ = false;
};

class RunSink {
 public:
  // Writes elements of `from` to a tensor of `dtype`. Preconditions as for RunSource.
  RunSink(void* data, DType dtype, const Sizes& sizes, const Strides& strides, DType from);

  bool in_place() const { return !converts_ && cursor_.stride() == 1; }
  int64_t group() const { return cursor_.group(); }
  // Returns the destination of the next n elements: in the tensor, or in the buffer.
  void* Place(int64_t n, RunStorage& buffer);
  // Completes a Place call. Precondition: the same n and buffer.
  void Commit(int64_t n, const RunStorage& buffer);

 private:
  bool Direct(int64_t n) const { return in_place() && n <= group(); }

  RunCursor cursor_;
  std::byte* data_ = nullptr;
  DType from_ = DType::kFloat32, to_ = DType::kFloat32;
  bool converts_ = false;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_ELEMENT_COPY_RUN_SOURCE_H_
