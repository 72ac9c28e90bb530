// Converts GGUF tensors to constants of programs.
#ifndef BELAY_EXIR_GGUF_TENSOR_CONSTANTS_H_
#define BELAY_EXIR_GGUF_TENSOR_CONSTANTS_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/gguf/gguf_file.h"
#include "exir/ir/constant.h"
#include "runtime/core/sizes.h"

namespace belay::exir {

// A matrix [rows, columns] of floats, or of integers with scales for groups of neighboring columns:
//
//   value[i, j] = (elements[i, j] - zeros[i, j / group]) * scales[i, j / group]
struct TensorConstants {
  ConstantTensor elements;  // float32, bfloat16, or int8
  // Of int8: float32 [rows, columns / group].
  std::optional<ConstantTensor> scales = {};
  std::optional<ConstantTensor> zeros = {};  // nullopt: all are 0
  int64_t group = 0;                         // 0 for floats
};

// Maps a row of the result to a row of the file.
using RowOrder = absl::FunctionRef<int64_t(int64_t row)>;
inline int64_t SameRow(int64_t row) { return row; }

// Converts a tensor of rank 1 or 2; one of rank 1 is a single row. F32 and BF16 share the bytes of
// the file if the rows are in its order. F16 becomes float32. Blocks become int8 (Q4_0, Q4_1 and
// Q4_K: from -8 to 7); the values equal those of the formulas of ggml (ggml-quants.c,
// dequantize_row_*) up to two roundings to float32, and exactly for types without minimum.
//
//   Q4_0, Q5_0, Q8_0  d q
//   Q4_1, Q5_1        d q + m
//   Q4_K, Q5_K        (d s) q - (dmin m), 6-bit s and m per group of 32
//   Q6_K              (d s) q, 8-bit s per group of 16
//
//   kInvalidArgument  another rank; a scale or minimum that is not finite. The message names the
//                     tensor.
// Precondition: `order` returns rows of the tensor. O(elements).
absl::StatusOr<TensorConstants> ReadTensorConstants(const GgufFile& file, const GgufTensor& tensor,
                                                    RowOrder order = SameRow);

}  // namespace belay::exir

#endif  // BELAY_EXIR_GGUF_TENSOR_CONSTANTS_H_
