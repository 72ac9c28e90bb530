// dim_order_ops: copies and allocations that say where elements lie by a list of dimensions instead
// of a memory format (docs/edge-dialect.md §3 row 13).

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "exir/ops/families.h"
#include "exir/ops/layout_rules.h"
#include "exir/ops/meta_args.h"
#include "exir/ops/pointwise_layout.h"

namespace belay::exir {
namespace {

// A tensor of `sizes` in the dim order of argument `i`, which is that of a memory format:
// contiguous or channels last.
absl::StatusOr<TensorMeta> InDimOrder(const MetaContext& context, int i, DType dtype,
                                      std::vector<SymInt> sizes) {
  ABSL_ASSIGN_OR_RETURN(const Sizes order, MetaArgs(context).StaticIntList(i));
  const auto is = [&](const DimOrder& other) {
    return std::equal(order.begin(), order.end(), other.begin(), other.end());
  };
  const bool contiguous = is(ContiguousOrder(order.size()));
  if (!contiguous && !is(ChannelsLastOrder(order.size()))) {
    return absl::InvalidArgumentError(
        absl::StrCat("dim_order: expected contiguous or channels last, got ", FormatSizes(order)));
  }
  if (static_cast<int>(sizes.size()) != order.size()) {
    return absl::InvalidArgumentError(absl::StrCat("dim_order: ", FormatSizes(order),
                                                   " is for rank ", order.size(), ", got ",
                                                   FormatDims<SymInt>(sizes)));
  }
  return DenseInFormat(dtype, std::move(sizes), !contiguous);
}

// `order` is the argument that holds the dim order; none preserves that of the input. `dtype`
// likewise, < 0 where there is none.
template <int kDtype, int kOrder>
absl::Status CopyMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  DType dtype = self->dtype;
  if (kDtype >= 0) {
    ABSL_ASSIGN_OR_RETURN(dtype, context.DtypeOr(kDtype, self->dtype));
  }
  ABSL_ASSIGN_OR_RETURN(TensorMeta out, ResultLike(dtype, *self, MemoryFormat::kPreserve));
  if (!context.is_none(kOrder)) {
    ABSL_ASSIGN_OR_RETURN(out, InDimOrder(context, kOrder, dtype, self->sizes));
  }
  out.device = self->device;
  context.SetOutput(0, std::move(out));
  return absl::OkStatus();
}

absl::Status EmptyMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> sizes, MetaArgs(context).IntList(0));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(1, DType::kFloat32));
  for (const SymInt& size : sizes) {
    if (KnownNegative(size)) {
      return absl::InvalidArgumentError(
          absl::StrCat("size: negative number in ", FormatDims<SymInt>(sizes)));
    }
  }
  TensorMeta out = TensorMeta::Contiguous(dtype, sizes);
  if (!context.is_none(5)) {
    ABSL_ASSIGN_OR_RETURN(out, InDimOrder(context, 5, dtype, std::move(sizes)));
  }
  context.SetOutput(0, std::move(out));
  return absl::OkStatus();
}

constexpr OpDef kOps[] = {
    {"dim_order_ops::_clone_dim_order(Tensor self, *, bool non_blocking=False, int[]? "
     "dim_order=None) -> Tensor",
     &CopyMeta<-1, 2>, kDataMovement | kPointwise | kMovesElements | kKeepsBytes,
     "self:A ->:A A=any"},
    {"dim_order_ops::_empty_dim_order(int[] size, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None, int[]? dim_order=None) -> Tensor",
     &EmptyMeta, kNondeterministic | kCreation},
    {"dim_order_ops::_to_dim_order_copy(Tensor self, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, int[]? "
     "dim_order=None) -> Tensor",
     &CopyMeta<1, 6>, kPointwise | kKeepsBytes},
};

}  // namespace

absl::Span<const OpDef> DimOrderOps() { return kOps; }

}  // namespace belay::exir
