// Adds quantized weights to a program, and the nodes that dequantize them.
#ifndef BELAY_EXIR_QUANTIZE_STORED_WEIGHTS_H_
#define BELAY_EXIR_QUANTIZE_STORED_WEIGHTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/builder/op_builder.h"
#include "exir/passes/constant_input.h"
#include "exir/quantize/affine.h"
#include "exir/quantize/distribution.h"
#include "exir/quantize/recipe.h"
#include "exir/quantize/weight_uses.h"
#include "runtime/core/thread_pool.h"

namespace belay::exir {

// Tensors of a quantized weight.
struct EncodedWeight {
  ConstantTensor elements;
  std::optional<ConstantTensor> scales, zero_points;
  QuantizationLoss loss;
  bool error_feedback = false;
  Distribution distribution = {};
};

// Quantized weights of several programs, keyed by the bytes of the float32 weight. Methods that
// share a weight share the quantized one. Not thread-safe.
class EncodedWeights {
 public:
  // `threads` quantize each weight, unless it is null; must outlive this.
  explicit EncodedWeights(ThreadPool* threads = nullptr) : threads_(threads) {}
  // Returns why the weight cannot be quantized by this scheme, or "". Reasons: the group size does
  // not divide the columns, or an element is NaN or infinite. Errors of MatrixOf.
  absl::StatusOr<std::string> UnsupportedReason(const ConstantTensor& weight, bool rows_first,
                                                const Scheme& scheme);
  // Returns the weight, quantized by the scheme; quantizes it unless an earlier call did. Errors of
  // MatrixOf.
  absl::StatusOr<EncodedWeight> Encode(const ConstantTensor& weight, bool rows_first,
                                       const Scheme& scheme);
  // Adds a weight that is quantized with error feedback; `matrix` is MatrixOf the weight. Encode
  // returns it from then on. Precondition: integer weights; Encode was not called for this weight
  // and scheme.
  void AddWithFeedback(const ConstantTensor& weight, const WeightMatrix& matrix, bool rows_first,
                       const Scheme& scheme, QuantizedRows rows);

 private:
  struct Entry {
    ConstantTensor weight;  // keeps its bytes alive, so that no other weight has their address
    bool rows_first;
    Scheme scheme;
    EncodedWeight encoded;
  };
  struct Checked {
    ConstantTensor weight;
    bool finite;
  };
  ThreadPool* threads_;
  std::map<const void*, std::vector<Entry>> entries_;
  std::map<const void*, std::vector<Checked>> checked_;
};

// Returns the mean error of each row, sum over k of (w[n, k] - w'[n, k]) * means[g, k], where w' is
// the quantized weight and row n belongs to group g = n / (rows / groups).
// Preconditions: integer weights; `means` is [groups, columns].
std::vector<double> MeanErrors(const WeightMatrix& weight, const EncodedWeight& encoded,
                               const RowsOptions& rows, absl::Span<const double> means);

// Quantized constants of one program. Equal schemes of one weight share constants, so a tied weight
// is quantized once.
class StoredWeights {
 public:
  struct Stored {
    Scheme scheme;
    ValueId elements, scales, zero_points;  // scales and zero_points may be invalid
    QuantizationLoss loss;
    bool error_feedback = false;
    Distribution distribution;
    uint64_t bytes_before = 0;
    // Packed: elements of 4 bits count half a byte.
    uint64_t bytes_after = 0;
    std::string used_by;  // name of the first node that uses it
  };

  // All must outlive this.
  StoredWeights(OpBuilder& builder, ConstantInputs& constants, EncodedWeights& encoded)
      : builder_(builder), constants_(constants), encoded_(encoded) {}

  // Adds the constants, or finds those of an earlier use. The constants of "fc.weight" are
  // "fc.weight_int8" (or _int4, _bf16), "fc.weight_int8_scales" and "fc.weight_int8_zeros".
  // Precondition: EncodedWeights::UnsupportedReason returned "". The result is valid until the next
  // call. Errors of MatrixOf.
  absl::StatusOr<const Stored*> Add(const WeightUse& use, const Scheme& scheme);

  // Replaces the weight of the operator by nodes that compute it from the stored constants:
  //
  //   int8, convolution or linear   dequantize_per_channel(elements, scales, none, 0)
  //   in groups                     dequantize_per_channel_group(elements, scales, zero_points)
  //   bfloat16                      _to_dim_order_copy(elements, float32)
  //
  // and a permutation if the operator multiplies by the transposed matrix. Errors of OpBuilder.
  absl::Status Replace(const WeightUse& use, const Stored& stored);

 private:
  OpBuilder& builder_;
  ConstantInputs& constants_;
  EncodedWeights& encoded_;
  // By constant, and whether its rows are first.
  std::map<std::pair<ValueId, bool>, std::vector<Stored>> stored_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_QUANTIZE_STORED_WEIGHTS_H_
