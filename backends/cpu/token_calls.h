// Calls of rms_norm and rotary_embedding, the row operators of language models
// (runtime/kernels/packed/token_rows.h).
#ifndef BELAY_BACKENDS_CPU_TOKEN_CALLS_H_
#define BELAY_BACKENDS_CPU_TOKEN_CALLS_H_

#include <cmath>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "backends/cpu/calls.h"
#include "runtime/core/status_macros.h"

namespace belay::cpu {

// belay_cpu::rms_norm: input [..., n], weight [n] or None -> the same shape. For each row x:
//
//   x / sqrt(mean(x^2) + eps) * weight
template <class Arguments>
struct RmsNormCall {
  using D = typename Arguments::Dim;
  typename Arguments::TensorRef input, weight;  // the latter null for none
  double eps = 0;

  static absl::StatusOr<RmsNormCall> Read(const Arguments& arguments) {
    RmsNormCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", kFloat));
    ABSL_ASSIGN_OR_RETURN(call.weight, arguments.OptionalTensor("weight", kFloat));
    ABSL_ASSIGN_OR_RETURN(call.eps, arguments.Double("eps"));
    return call;
  }
  absl::StatusOr<Dims<D>> Shape() const {
    const Dims<D> shape = Dims<D>(Arguments::SizesOf(input));
    if (shape.empty()) {
      return absl::InvalidArgumentError("input: expected a last dimension, got a scalar");
    }
    if (weight != nullptr) {
      ABSL_RETURN_IF_ERROR(
          CheckPerChannel<D>("weight", Arguments::SizesOf(weight), shape[shape.size() - 1]));
    }
    return shape;
  }
};

// belay_cpu::rotary_embedding: input [..., 2 h] -> the same shape. With a row's halves a and b:
//
//   [a * cosine - b * sine, a * sine + b * cosine]
//
// cosine and sine have one shape, [..., h], or [..., 2 h] for both halves. Their other dimensions
// broadcast to the input's.
template <class Arguments>
struct RotaryEmbeddingCall {
  using D = typename Arguments::Dim;
  typename Arguments::TensorRef input, cosine, sine;

  static absl::StatusOr<RotaryEmbeddingCall> Read(const Arguments& arguments) {
    RotaryEmbeddingCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", kFloat));
    ABSL_ASSIGN_OR_RETURN(call.cosine, arguments.Tensor("cosine", kFloat));
    ABSL_ASSIGN_OR_RETURN(call.sine, arguments.Tensor("sine", kFloat));
    return call;
  }
  absl::StatusOr<Dims<D>> Shape() const {
    const Dims<D> shape = Dims<D>(Arguments::SizesOf(input));
    ABSL_ASSIGN_OR_RETURN(const int64_t features, FeaturesOf<D>(shape));
    if (features % 2 != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("input: expected an even last dimension, got ", FormatDims<D>(shape)));
    }
    const Dims<D> angles = Dims<D>(Arguments::SizesOf(cosine));
    const auto fits = [&]() {
      const int rank = static_cast<int>(angles.size()), most = static_cast<int>(shape.size());
      if (rank == 0 || rank > most) return false;
      const std::optional<int64_t> last = KnownInt(angles[rank - 1]);
      if (last != features && last != features / 2) return false;
      for (int i = 2; i <= rank; ++i) {
        const D& size = angles[rank - i];
        if (KnownInt(size) != 1 && KnownDifferent(size, shape[most - i])) return false;
      }
      return true;
    };
    if (!fits()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "cosine: expected a last dimension of ", features / 2, " or ", features,
          " and others that broadcast to ", FormatDims<D>(shape), ", got ", FormatDims<D>(angles)));
    }
    ABSL_RETURN_IF_ERROR(CheckSameShape<D>("sine", Arguments::SizesOf(sine), angles));
    return shape;
  }
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_TOKEN_CALLS_H_
