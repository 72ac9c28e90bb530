// Operators that read elements at places which tensors of indices or masks name.

#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "exir/ops/families.h"
#include "exir/ops/index_arguments.h"
#include "exir/ops/meta_checks.h"
#include "runtime/kernel/shape_rules/index.h"

namespace belay::exir {
namespace {

constexpr DTypeSet kIndexTypes = {DType::kInt32, DType::kInt64};

absl::Status GatherMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const int64_t dim, context.StaticInt(1));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* index, TensorOf(context, 2, kIndexTypes));
  ABSL_RETURN_IF_ERROR(
      CheckGatherShapes<SymInt>("gather", self->sizes, dim, index->sizes, nullptr).status());
  context.SetOutput(0, CopyOf(*self, index->sizes));
  return absl::OkStatus();
}

absl::Status IndexMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(IndexArguments indices, ReadIndexArguments(context, 1, *self));
  TensorMeta out = CopyOf(*self, indices.shape.sizes);
  out.strides = IndexResultStrides(*self, indices);
  context.SetOutput(0, std::move(out));
  return absl::OkStatus();
}

absl::Status IndexSelectMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const int64_t dim, context.StaticInt(1));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* index, TensorOf(context, 2, kIndexTypes));
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> sizes,
                        IndexSelectShape<SymInt>(self->sizes, dim, index->sizes));
  context.SetOutput(0, CopyOf(*self, std::move(sizes)));
  return absl::OkStatus();
}

// A new symbol for a number of elements out of a tensor of these sizes.
absl::StatusOr<SymInt> SomeOf(MetaContext& context, const SymInt& elements) {
  const std::optional<int64_t> known = elements.AsInt();
  return context.FreshSymbol({.min = 0, .max = known.value_or(SymRange::kUnboundedAbove)});
}

absl::Status MaskedSelectMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* mask, TensorOf(context, 1, DType::kBool));
  ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> sizes,
                        BroadcastShape<SymInt>(self->sizes, mask->sizes));
  ABSL_ASSIGN_OR_RETURN(const SymInt count, SomeOf(context, ProductOf<SymInt>(sizes)));
  context.SetOutput(0, CopyOf(*self, {count}));
  return absl::OkStatus();
}

// nonzero(self): a row of indices per element, stored column by column.
absl::Status NonzeroMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  ABSL_RETURN_IF_ERROR(CheckRank(self->sizes.size()));
  ABSL_ASSIGN_OR_RETURN(const SymInt count, SomeOf(context, self->NumElements()));
  TensorMeta out = TensorMeta::Dense(DType::kInt64, {count, self->rank()}, {1, 0});
  out.device = self->device;
  context.SetOutput(0, std::move(out));
  return absl::OkStatus();
}

// `boundaries` are rows of sorted numbers, one per row of `values` or one for all.
absl::Status SearchMeta(MetaContext& context, const TensorMeta& boundaries,
                        const TensorMeta& values, int out_int32) {
  ABSL_RETURN_IF_ERROR(
      SearchType(boundaries.dtype, boundaries.rank(), values.dtype, values.rank()).status());
  ABSL_RETURN_IF_ERROR(CheckSearchShapes<SymInt>(boundaries.sizes, values.sizes));
  ABSL_ASSIGN_OR_RETURN(const bool narrow, context.Bool(out_int32));
  TensorMeta out = CopyOf(values, values.sizes);
  out.dtype = narrow ? DType::kInt32 : DType::kInt64;
  context.SetOutput(0, std::move(out));
  return absl::OkStatus();
}

absl::Status SearchSortedMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* boundaries, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* values, context.Tensor(1));
  ABSL_ASSIGN_OR_RETURN(const bool right, context.Bool(3));
  if (!context.is_none(4)) {
    ABSL_ASSIGN_OR_RETURN(const std::string side, context.String(4));
    if ((side != "left" && side != "right") || (side == "left" && right)) {
      return absl::InvalidArgumentError(
          absl::StrCat("searchsorted: side '", side, "' does not go with right=", right));
    }
  }
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* sorter, context.OptionalTensor(5));
  if (sorter != nullptr &&
      (sorter->dtype != DType::kInt64 || !MayBeEqual<SymInt>(sorter->sizes, boundaries->sizes))) {
    return absl::InvalidArgumentError(absl::StrCat("searchsorted: sorter must be int64 of shape ",
                                                   FormatDims<SymInt>(boundaries->sizes)));
  }
  return SearchMeta(context, *boundaries, *values, 2);
}

absl::Status BucketizeMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* values, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* boundaries, context.Tensor(1));
  if (boundaries->rank() != 1) {
    return absl::InvalidArgumentError("bucketize: boundaries must be a vector");
  }
  ABSL_RETURN_IF_ERROR(context.Bool(3).status());
  return SearchMeta(context, *boundaries, *values, 2);
}

constexpr OpDef kOps[] = {
    {"aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool "
     "right=False) -> Tensor",
     &BucketizeMeta, 0, "self:A boundaries:B ->:{i32,i64} A=int+float B=int+float"},
    {"aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
     &GatherMeta, kCore, "self:A index:{i32,i64} ->:A A=any"},
    {"aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", &IndexMeta,
     kCore | kDataDependent, "self:A indices:{i32,i64,u8,b8} ->:A A=any"},
    {"aten::index_select(Tensor self, int dim, Tensor index) -> Tensor", &IndexSelectMeta, kCore,
     "self:A index:{i32,i64} ->:A A=any"},
    {"aten::masked_select(Tensor self, Tensor mask) -> Tensor", &MaskedSelectMeta, kDataDependent,
     "self:A mask:{b8} ->:A A=any"},
    {"aten::nonzero(Tensor self) -> Tensor", &NonzeroMeta, kCore | kDataDependent,
     "self:A ->:{i64} A=any"},
    {"aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool "
     "right=False, str? side=None, Tensor? sorter=None) -> Tensor",
     &SearchSortedMeta, 0,
     "sorted_sequence:A self:B sorter:{i64} ->:{i32,i64} A=int+float B=int+float"},
};

}  // namespace

absl::Span<const OpDef> IndexOps() { return kOps; }

}  // namespace belay::exir
