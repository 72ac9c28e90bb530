// Inverse, determinant and Cholesky factor of square matrices.

#include <vector>

#include "exir/ops/families.h"
#include "exir/ops/meta_arguments.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/shape_rules/factorization.h"

namespace belay::exir {
namespace {

// LAPACK's layout: contiguous batches of column-major matrices.
absl::Status SetColumnMajor(MetaContext& context, int i, const TensorMeta& like) {
  ABSL_RETURN_IF_ERROR(CheckRank(like.rank()));
  DimOrder order = ContiguousOrder(like.rank());
  std::swap(order[like.rank() - 1], order[like.rank() - 2]);
  context.SetOutput(i, TensorMeta::Dense(like.dtype, like.sizes, order));
  return absl::OkStatus();
}

// A matrix and error codes (info): inverse, Cholesky.
absl::Status MatrixAndInfoMeta(MetaContext& context, const FactorCall<MetaArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> batch, call.Batch());
  context.SetTensor(1, DType::kInt32, std::move(batch));
  return SetColumnMajor(context, 0, *call.a);
}

absl::Status DetMeta(MetaContext& context, const FactorCall<MetaArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> batch, call.Batch());
  context.SetTensor(0, call.a->dtype, batch);
  batch.push_back(call.a->sizes.back());
  context.SetTensor(2, DType::kInt32, std::move(batch));
  return SetColumnMajor(context, 1, *call.a);
}

constexpr Tolerance kFactor = {1e-4, 1e-5};

constexpr OpDef kRows[] = {
    {.schema = "aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, "
               "Tensor info)",
     .meta = &MetaKernel<&MatrixAndInfoMeta>,
     .dtypes = "A:T ->inverse:T ->info:{i32} T={f32,f64,c64,c128}",
     .tolerance = kFactor},
    {.schema = "aten::linalg_cholesky_ex(Tensor self, *, bool upper=False, bool "
               "check_errors=False) -> (Tensor L, Tensor info)",
     .meta = &MetaKernel<&MatrixAndInfoMeta>,
     .dtypes = "self:T ->L:T ->info:{i32} T={f32,f64,c64,c128}",
     .tolerance = kFactor},
    {.schema = "aten::_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)",
     .meta = &MetaKernel<&DetMeta>,
     .dtypes = "A:T ->result:T ->LU:T ->pivots:{i32} T={f32,f64,c64,c128}",
     .tolerance = kFactor},
};

}  // namespace

absl::Span<const OpDef> FactorizationOps() { return kRows; }

}  // namespace belay::exir
