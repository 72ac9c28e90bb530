// Matrix-matrix and matrix-vector multiplications.

#include <vector>

#include "exir/ops/families.h"
#include "exir/ops/meta_arguments.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/shape_rules/matmul.h"

namespace belay::exir {
namespace {

constexpr Tolerance kProduct = {1e-5, 1e-6};

// Multiplications and scaled sums (addmm etc.).
template <class Call>
absl::Status ProductMeta(MetaContext& context, const Call& call) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, call.Shape());
  context.SetTensor(0, call.a->dtype, std::move(shape));
  return absl::OkStatus();
}
template <ProductForm kForm>
constexpr auto* kProductMeta = &MetaKernel<&ProductMeta<ProductCall<MetaArguments, kForm>>>;
template <ProductForm kForm>
constexpr auto* kScaledSumMeta = &MetaKernel<&ProductMeta<ScaledSumCall<MetaArguments, kForm>>>;

absl::Status TrilinearMeta(MetaContext& context, const TrilinearCall<MetaArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> shape, call.Broadcast());
  std::vector<SymInt> left;
  for (int d = 0; d < call.rank; ++d) {
    if ((call.summed >> d & 1) == 0) left.push_back(shape[d]);
  }
  context.SetTensor(0, call.operands[0]->dtype, std::move(left));
  return absl::OkStatus();
}

constexpr auto* kGroupedProductMeta = &MetaKernel<&ProductMeta<GroupedProductCall<MetaArguments>>>;

constexpr OpDef kRows[] = {
    {.schema = "aten::mm(Tensor self, Tensor mat2) -> Tensor",
     .meta = kProductMeta<ProductForm::kMm>,
     .traits = kCore,
     .dtypes = "self:A mat2:A ->:A A=int+float+complex",
     .tolerance = kProduct},
    {.schema = "aten::bmm(Tensor self, Tensor mat2) -> Tensor",
     .meta = kProductMeta<ProductForm::kBmm>,
     .traits = kCore,
     .dtypes = "self:A mat2:A ->:A A=int+float+complex",
     .tolerance = kProduct},
    {.schema = "aten::mv(Tensor self, Tensor vec) -> Tensor",
     .meta = kProductMeta<ProductForm::kMv>,
     .dtypes = "self:A vec:A ->:A A=int+float+complex",
     .tolerance = kProduct},
    {.schema = "aten::dot(Tensor self, Tensor tensor) -> Tensor",
     .meta = kProductMeta<ProductForm::kDot>,
     .dtypes = "self:A tensor:A ->:A A=int+float+complex",
     .tolerance = kProduct},
    {.schema = "aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar "
               "alpha=1) -> Tensor",
     .meta = kScaledSumMeta<ProductForm::kMm>,
     .traits = kCore,
     .dtypes = "self:A mat1:A mat2:A ->:A A=int+float+complex",
     .tolerance = kProduct},
    {.schema = "aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar "
               "alpha=1) -> Tensor",
     .meta = kScaledSumMeta<ProductForm::kBmm>,
     .dtypes = "self:A batch1:A batch2:A ->:A A=int+float+complex",
     .tolerance = kProduct},
    {.schema = "aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) "
               "-> Tensor",
     .meta = kScaledSumMeta<ProductForm::kMv>,
     .dtypes = "self:A mat:A vec:A ->:A A=int+float+complex",
     .tolerance = kProduct},
    {.schema = "aten::_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, "
               "ScalarType? out_dtype=None) -> Tensor",
     .meta = kGroupedProductMeta,
     .dtypes = "self:A mat2:A offs:{i32,i64} bias:A ->:A A=float",
     .tolerance = kProduct},
    {.schema = "aten::_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, "
               "int[] expand3, int[] sumdim, int unroll_dim=1) -> Tensor",
     .meta = &MetaKernel<&TrilinearMeta>,
     .dtypes = "i1:A i2:A i3:A ->:A A=float",
     .tolerance = kProduct},
};

}  // namespace

absl::Span<const OpDef> LinalgOps() { return kRows; }

}  // namespace belay::exir
