// Operators that read elements at positions given by index tensors or masks.

#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "exir/ops/families.h"
#include "exir/ops/index_arguments.h"
#include "exir/ops/meta_arguments.h"
#include "exir/ops/strided_meta.h"
#include "runtime/kernel_interface/shape_rules/gather.h"

namespace belay::exir {
namespace {

absl::Status GatherMeta(MetaContext& context, const GatherCall<MetaArguments>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes().status());
  context.SetOutput(0, CopyOf(*call.self, call.index->sizes));
  return absl::OkStatus();
}

absl::Status IndexMeta(MetaContext& context, const IndexCall<MetaArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const IndexArguments indices,
                        IndexArgumentsOf(context, call.indices, *call.self));
  TensorMeta out = CopyOf(*call.self, indices.shape.sizes);
  out.strides = IndexResultStrides(*call.self, indices);
  context.SetOutput(0, std::move(out));
  return absl::OkStatus();
}

absl::Status IndexSelectMeta(MetaContext& context, const IndexSelectCall<MetaArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> sizes, call.Shape());
  context.SetOutput(0, CopyOf(*call.self, std::move(sizes)));
  return absl::OkStatus();
}

// Returns a new symbol for the number of selected elements of a tensor of these sizes.
absl::StatusOr<SymInt> SomeOf(MetaContext& context, const SymInt& elements) {
  const std::optional<int64_t> known = elements.AsInt();
  return context.FreshSymbol({.min = 0, .max = known.value_or(SymRange::kUnboundedAbove)});
}

absl::Status MaskedSelectMeta(MetaContext& context, const MaskedSelectCall<MetaArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> sizes, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const SymInt count, SomeOf(context, ProductOf<SymInt>(sizes)));
  context.SetOutput(0, CopyOf(*call.self, {count}));
  return absl::OkStatus();
}

// nonzero(self): result [number of elements, rank], column-major.
absl::Status NonzeroMeta(MetaContext& context, const NonzeroCall<MetaArguments>& call) {
  const TensorMeta* const self = call.self;
  ABSL_RETURN_IF_ERROR(CheckRank(self->sizes.size()));
  ABSL_ASSIGN_OR_RETURN(const SymInt count, SomeOf(context, self->NumElements()));
  TensorMeta out = TensorMeta::Dense(DType::kInt64, {count, self->rank()}, {1, 0});
  out.device = self->device;
  context.SetOutput(0, std::move(out));
  return absl::OkStatus();
}

absl::Status SearchMeta(MetaContext& context, const SearchCall<MetaArguments>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  TensorMeta out = CopyOf(*call.values, call.values->sizes);
  out.dtype = call.dtype;
  context.SetOutput(0, std::move(out));
  return absl::OkStatus();
}

constexpr OpDef kOps[] = {
    {"aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool "
     "right=False) -> Tensor",
     &MetaKernel<&SearchMeta>, 0, "self:A boundaries:B ->:{i32,i64} A=int+float B=int+float"},
    {"aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
     &MetaKernel<&GatherMeta>, kCore, "self:A index:{i32,i64} ->:A A=any"},
    {"aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", &MetaKernel<&IndexMeta>,
     kCore | kDataDependent, "self:A indices:{i32,i64,u8,b8} ->:A A=any"},
    {"aten::index_select(Tensor self, int dim, Tensor index) -> Tensor",
     &MetaKernel<&IndexSelectMeta>, kCore, "self:A index:{i32,i64} ->:A A=any"},
    {"aten::masked_select(Tensor self, Tensor mask) -> Tensor", &MetaKernel<&MaskedSelectMeta>,
     kDataDependent, "self:A mask:{b8} ->:A A=any"},
    {"aten::nonzero(Tensor self) -> Tensor", &MetaKernel<&NonzeroMeta>, kCore | kDataDependent,
     "self:A ->:{i64} A=any"},
    {"aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool "
     "right=False, str? side=None, Tensor? sorter=None) -> Tensor",
     &MetaKernel<&SearchMeta>, 0,
     "sorted_sequence:A self:B sorter:{i64} ->:{i32,i64} A=int+float B=int+float"},
};

}  // namespace

absl::Span<const OpDef> IndexOps() { return kOps; }

}  // namespace belay::exir
