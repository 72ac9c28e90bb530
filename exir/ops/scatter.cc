// Operators that write elements at positions given by indices, masks or views, into a copy of their
// input.

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "exir/ops/families.h"
#include "exir/ops/index_arguments.h"
#include "exir/ops/meta_arguments.h"
#include "exir/ops/pointwise_layout.h"
#include "exir/ops/strided_meta.h"
#include "runtime/kernel_interface/shape_rules/gather.h"
#include "runtime/kernel_interface/shape_rules/scatter.h"
#include "runtime/kernel_interface/shape_rules/slice.h"

namespace belay::exir {
namespace {

absl::Status SetClone(MetaContext& context, const TensorMeta& self) {
  ABSL_ASSIGN_OR_RETURN(TensorMeta out, ResultLike(self.dtype, self, MemoryFormat::kPreserve));
  out.device = self.device;
  context.SetOutput(0, std::move(out));
  return absl::OkStatus();
}

// Returns whether index_put is PyTorch's masked_fill, which accepts one value of any dtype and
// rank: the only index is a mask, and it does not accumulate.
bool IsMaskedFill(const IndexPutCall<MetaArguments>& call) {
  int masks = 0, others = 0;
  for (const TensorMeta* index : call.indices) {
    if (index == nullptr) continue;
    ++(index->dtype == DType::kBool || index->dtype == DType::kUint8 ? masks : others);
  }
  return !call.accumulate && masks == 1 && others == 0 && call.values->NumElements().AsInt() == 1;
}

template <bool kInPlace>
absl::Status IndexPutMeta(MetaContext& context, const IndexPutCall<MetaArguments>& call) {
  const TensorMeta &self = *call.self, &values = *call.values;
  const bool fills = IsMaskedFill(call);
  if (!fills && values.dtype != self.dtype) {
    return absl::InvalidArgumentError(absl::StrCat("values: expected ", DTypeName(self.dtype),
                                                   ", got ", DTypeName(values.dtype)));
  }
  ABSL_ASSIGN_OR_RETURN(const IndexArguments indices,
                        IndexArgumentsOf(context, call.indices, self));
  if (!fills && !MayExpandTo<SymInt>(values.sizes, indices.shape.sizes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("index_put: values of shape ", FormatDims<SymInt>(values.sizes),
                     " do not expand to ", FormatDims<SymInt>(indices.shape.sizes)));
  }
  if (!kInPlace) return SetClone(context, self);
  context.SetOutput(0, self);
  return absl::OkStatus();
}

absl::Status ScatterMeta(MetaContext& context, const ScatterCall<MetaArguments>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes().status());
  context.SetOutput(0, CopyOf(*call.self, call.self->sizes));
  return absl::OkStatus();
}

// PyTorch's meta functions of index_copy and index_fill accept no other dtype.
absl::Status ExpectInt64Index(const TensorMeta& index) {
  if (index.dtype == DType::kInt64) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("index: expected int64, got ", DTypeName(index.dtype)));
}

// index_add, index_copy; the result of index_copy_ is self.
template <bool kInPlace>
absl::Status IndexUpdateMeta(MetaContext& context, const IndexUpdateCall<MetaArguments>& call) {
  if (!call.adds) ABSL_RETURN_IF_ERROR(ExpectInt64Index(*call.index));
  ABSL_RETURN_IF_ERROR(call.CheckShapes().status());
  if (kInPlace) {
    context.SetOutput(0, *call.self);
    return absl::OkStatus();
  }
  TensorMeta out = TensorMeta::Contiguous(call.self->dtype, call.self->sizes);
  out.device = call.self->device;
  context.SetOutput(0, std::move(out));
  return absl::OkStatus();
}

template <bool kTensor>
absl::Status IndexFillMeta(MetaContext& context,
                           const IndexFillCall<MetaArguments, kTensor>& call) {
  ABSL_RETURN_IF_ERROR(ExpectInt64Index(*call.index));
  ABSL_RETURN_IF_ERROR(call.CheckShapes().status());
  return SetClone(context, *call.self);
}

absl::Status MaskedScatterMeta(MetaContext& context, const MaskedScatterCall<MetaArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> sizes, call.Shape());
  context.SetOutput(0, CopyOf(*call.self, std::move(sizes)));
  return absl::OkStatus();
}

// select_scatter, slice_scatter, diagonal_scatter: src replaces the part of self that the rule
// selects.
template <template <class> class Rule>
absl::Status ViewScatterMeta(MetaContext& context, const ViewCall<MetaArguments, Rule>& call) {
  ABSL_ASSIGN_OR_RETURN(const StridedDims<SymInt> in, LayoutOf(*call.self));
  ABSL_ASSIGN_OR_RETURN(const StridedDims<SymInt> part, call.rule.Apply(in));
  if (!MayBeEqual<SymInt>(call.src->sizes, part.sizes)) {
    return absl::InvalidArgumentError(
        absl::StrCat(context.schema().op, ": src of shape ", FormatDims<SymInt>(call.src->sizes),
                     " does not replace a part of shape ", FormatDims<SymInt>(part.sizes)));
  }
  context.SetOutput(0, SameStrides(*call.self));
  return absl::OkStatus();
}

constexpr std::string_view kIndexed = "self:A index:{i32,i64} src:A ->:A A=any";
constexpr std::string_view kIndexedNumber = "self:A index:{i32,i64} ->:A A=any";
constexpr std::string_view kPut = "self:A indices:{i32,i64,u8,b8} values:A ->:A A=any";
constexpr std::string_view kPart = "self:A src:A ->:A A=any";
constexpr Tolerance kSums = {1e-5, 1e-6};

constexpr OpDef kOps[] = {
    {"aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? "
     "storage_offset=None) -> Tensor",
     &MetaKernel<&ViewScatterMeta<AsStridedRule>>, kDataMovement, kPart},
    {"aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> "
     "Tensor",
     &MetaKernel<&ViewScatterMeta<DiagonalRule>>, kDataMovement, kPart},
    {"aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> "
     "Tensor",
     &MetaKernel<&IndexUpdateMeta<false>>, 0, "self:A index:{i32,i64} source:A ->:A A=any", kSums},
    {"aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
     &MetaKernel<&IndexUpdateMeta<false>>, 0, "self:A index:{i64} source:A ->:A A=any"},
    {"aten::index_copy_(Tensor(a!) self, int dim, Tensor index, Tensor source) -> Tensor(a!)",
     &MetaKernel<&IndexUpdateMeta<true>>, 0, "self:A index:{i64} source:A ->:A A=any"},
    {"aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
     &MetaKernel<&IndexFillMeta<false>>, 0, "self:A index:{i64} ->:A A=any"},
    {"aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor",
     &MetaKernel<&IndexFillMeta<true>>, 0, "self:A index:{i64} value:B ->:A A=any B=any"},
    {"aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> "
     "Tensor",
     &MetaKernel<&IndexPutMeta<false>>, kCore, kPut, kSums},
    {"aten::index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) "
     "-> Tensor(a!)",
     &MetaKernel<&IndexPutMeta<true>>, 0, kPut, kSums},
    {"aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
     &MetaKernel<&MaskedScatterMeta>, kCore, "self:A mask:{b8} source:A ->:A A=any"},
    {"aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> "
     "Tensor",
     &MetaKernel<&ScatterMeta>, 0, kIndexed, kSums},
    {"aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
     &MetaKernel<&ScatterMeta>, kCore, kIndexed},
    {"aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
     &MetaKernel<&ScatterMeta>, kCore, kIndexedNumber},
    {"aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) "
     "-> Tensor",
     &MetaKernel<&ScatterMeta>, 0, kIndexedNumber, kSums},
    {"aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
     &MetaKernel<&ScatterMeta>, kCore, kIndexed, kSums},
    {"aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool "
     "include_self=True) -> Tensor",
     &MetaKernel<&ScatterMeta>, kCore, "self:A index:{i32,i64} src:A ->:A A=real", kSums},
    {"aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor",
     &MetaKernel<&ViewScatterMeta<SelectRule>>, kCore | kDataMovement, kPart},
    {"aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? "
     "end=None, SymInt step=1) -> Tensor",
     &MetaKernel<&ViewScatterMeta<SliceRule>>, kCore | kViewCopy | kDataMovement, kPart},
};

}  // namespace

absl::Span<const OpDef> ScatterOps() { return kOps; }

}  // namespace belay::exir
