// Shape rules of Fourier transforms.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_FFT_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_FFT_H_

#include <cstdint>

#include "runtime/core/dtype.h"
#include "runtime/kernel_interface/shape_rules/strided.h"

namespace belay {

// Returns the transformed dimensions, counted from 0. They must be distinct and not empty.
template <class D>
absl::StatusOr<Sizes> TransformedDims(absl::Span<const D> shape, absl::Span<const int64_t> dims) {
  const int rank = static_cast<int>(shape.size());
  ABSL_RETURN_IF_ERROR(CheckRank(rank));
  ABSL_RETURN_IF_ERROR(DimMask(dims, rank).status());
  if (rank == 0 && !dims.empty()) {
    return absl::InvalidArgumentError("fft: the scalar tensor has no dimension to transform");
  }
  Sizes out;
  for (int64_t dim : dims) {
    ABSL_ASSIGN_OR_RETURN(const int d, NormalizeDim(dim, rank));
    if (KnownInt(shape[d]) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("fft: dimension ", d, " of shape ", FormatDims<D>(shape), " is empty"));
    }
    out.push_back(d);
  }
  return out;
}

// Real to complex. If one-sided, the last of `dims` keeps n / 2 + 1 elements.
template <class D>
absl::StatusOr<Dims<D>> RealFftShape(absl::Span<const D> shape, const Sizes& dims, bool onesided) {
  if (dims.empty()) return absl::InvalidArgumentError("dim: expected at least one dimension");
  Dims<D> out;
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool half = onesided && static_cast<int64_t>(d) == dims.back();
    out.push_back(half ? FloorDiv(shape[d], D(int64_t{2})) + D(int64_t{1}) : shape[d]);
  }
  return out;
}

// Complex to real. The last of `dims` gets `last` elements; the input must have at least last / 2 +
// 1.
template <class D>
absl::StatusOr<Dims<D>> InverseRealFftShape(absl::Span<const D> shape, const Sizes& dims,
                                            const D& last) {
  if (dims.empty()) return absl::InvalidArgumentError("dim: expected at least one dimension");
  const std::optional<int64_t> size = KnownInt(last), given = KnownInt(shape[dims.back()]);
  if (size.has_value() && (*size < 1 || (given.has_value() && *given < *size / 2 + 1))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "last_dim_size: ", *size, " does not belong to an input of shape ", FormatDims<D>(shape)));
  }
  Dims<D> out;
  for (size_t d = 0; d < shape.size(); ++d) {
    out.push_back(static_cast<int64_t>(d) == dims.back() ? last : shape[d]);
  }
  return out;
}

// The dimensions and the normalization (0, 1 or 2) of a transform.
struct FftParams {
  Sizes dims;  // as given
  int64_t normalization = 0;
};
template <class Arguments>
absl::StatusOr<FftParams> ReadFftParams(const Arguments& arguments) {
  FftParams params;
  ABSL_ASSIGN_OR_RETURN(params.dims, arguments.StaticIntList("dim"));
  ABSL_ASSIGN_OR_RETURN(params.normalization, arguments.StaticInt("normalization"));
  if (params.normalization >= 0 && params.normalization <= 2) return params;
  return absl::InvalidArgumentError(
      absl::StrCat("normalization: expected 0, 1 or 2, got ", params.normalization));
}

// _fft_r2c.
template <class Arguments>
struct RealFftCall {
  typename Arguments::TensorRef self;
  FftParams params;
  bool onesided = false;

  static absl::StatusOr<RealFftCall> Read(const Arguments& arguments) {
    RealFftCall call;
    ABSL_ASSIGN_OR_RETURN(call.self,
                          arguments.Tensor("self", DTypeSet{DType::kFloat32, DType::kFloat64}));
    ABSL_ASSIGN_OR_RETURN(call.params, ReadFftParams(arguments));
    ABSL_ASSIGN_OR_RETURN(call.onesided, arguments.Bool("onesided"));
    return call;
  }
  DType result_dtype() const {
    return self->dtype == DType::kFloat64 ? DType::kComplex128 : DType::kComplex64;
  }
  absl::StatusOr<Sizes> TransformedDims() const {
    return belay::TransformedDims<typename Arguments::Dim>(Arguments::SizesOf(self), params.dims);
  }
  absl::StatusOr<Dims<typename Arguments::Dim>> Shape(const Sizes& dims) const {
    return RealFftShape<typename Arguments::Dim>(Arguments::SizesOf(self), dims, onesided);
  }
};

// _fft_c2r.
template <class Arguments>
struct InverseRealFftCall {
  typename Arguments::TensorRef self;
  FftParams params;
  typename Arguments::Dim last_dim_size = 0;

  static absl::StatusOr<InverseRealFftCall> Read(const Arguments& arguments) {
    InverseRealFftCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self", kComplexTypes));
    ABSL_ASSIGN_OR_RETURN(call.params, ReadFftParams(arguments));
    ABSL_ASSIGN_OR_RETURN(call.last_dim_size, arguments.Int("last_dim_size"));
    return call;
  }
  absl::StatusOr<Sizes> TransformedDims() const {
    return belay::TransformedDims<typename Arguments::Dim>(Arguments::SizesOf(self), params.dims);
  }
  absl::StatusOr<Dims<typename Arguments::Dim>> Shape(const Sizes& dims) const {
    return InverseRealFftShape<typename Arguments::Dim>(Arguments::SizesOf(self), dims,
                                                        last_dim_size);
  }
};

// _fft_c2c; result shape is the input's.
template <class Arguments>
struct ComplexFftCall {
  typename Arguments::TensorRef self;
  FftParams params;
  bool forward = true;

  static absl::StatusOr<ComplexFftCall> Read(const Arguments& arguments) {
    ComplexFftCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self", kComplexTypes));
    ABSL_ASSIGN_OR_RETURN(call.params, ReadFftParams(arguments));
    ABSL_ASSIGN_OR_RETURN(call.forward, arguments.Bool("forward"));
    return call;
  }
  absl::StatusOr<Sizes> TransformedDims() const {
    return belay::TransformedDims<typename Arguments::Dim>(Arguments::SizesOf(self), params.dims);
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_FFT_H_
