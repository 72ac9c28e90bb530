// Operators that copy elements to new places: copies, joins, reversals, repetitions.

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "exir/ops/families.h"
#include "exir/ops/layout_rules.h"
#include "exir/ops/meta_args.h"
#include "exir/ops/meta_checks.h"
#include "exir/ops/pointwise.h"
#include "exir/ops/pointwise_layout.h"
#include "exir/ops/strided_meta.h"
#include "runtime/kernel/shape_rules/index.h"
#include "runtime/kernel/shape_rules/pad.h"
#include "runtime/kernel/type_promotion.h"

namespace belay::exir {
namespace {

absl::Status SetDense(MetaContext& context, const TensorMeta& self, TensorMeta out) {
  out.device = self.device;
  context.SetOutput(0, std::move(out));
  return absl::OkStatus();
}

absl::Status CloneMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const MemoryFormat format,
                        context.MemoryFormatOr(1, MemoryFormat::kPreserve));
  ABSL_ASSIGN_OR_RETURN(TensorMeta out, ResultLike(self->dtype, *self, format));
  return SetDense(context, *self, std::move(out));
}

absl::Status ToCopyMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(1, self->dtype));
  if (const Layout* layout = context.argument(2).get_if<Layout>();
      layout != nullptr && *layout != Layout::kStrided) {
    return absl::InvalidArgumentError("layout: only strided tensors are supported");
  }
  ABSL_ASSIGN_OR_RETURN(const MemoryFormat format,
                        context.MemoryFormatOr(6, MemoryFormat::kPreserve));
  ABSL_ASSIGN_OR_RETURN(TensorMeta out, ResultLike(dtype, *self, format));
  ABSL_RETURN_IF_ERROR(SetDense(context, *self, out));
  if (const Device* device = context.argument(3).get_if<Device>()) {
    out.device = *device;
    context.SetOutput(0, std::move(out));
  }
  return absl::OkStatus();
}

absl::Status CheckSource(const TensorMeta& self, const TensorMeta& src) {
  if (MayExpandTo<SymInt>(src.sizes, self.sizes)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("copy: src ", FormatDims<SymInt>(src.sizes),
                                                 " does not expand to self ",
                                                 FormatDims<SymInt>(self.sizes)));
}

// copy_(self, src): the result is self.
absl::Status CopyInPlaceMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* src, context.Tensor(1));
  ABSL_RETURN_IF_ERROR(CheckWritable(context, 0, *self));
  ABSL_RETURN_IF_ERROR(CheckSource(*self, *src));
  context.SetOutput(0, *self);
  return absl::OkStatus();
}

absl::Status CopyMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* src, context.Tensor(1));
  ABSL_RETURN_IF_ERROR(CheckSource(*self, *src));
  return SetDense(context, *self, SameStrides(*self));
}

absl::Status CatMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<const TensorMeta*> tensors, context.TensorList(0));
  ABSL_ASSIGN_OR_RETURN(const int64_t dim, context.StaticInt(1));
  CatShape<SymInt> shape;
  TypePromotion types;
  bool channels_last = !tensors.empty();
  for (const TensorMeta* t : tensors) {
    ABSL_RETURN_IF_ERROR(CheckRank(t->sizes.size()));
    ABSL_RETURN_IF_ERROR(shape.Add(t->sizes, dim));
    types.AddTensor(t->dtype, t->rank());
    channels_last = channels_last && LooksChannelsLast(*t) && t->rank() == tensors[0]->rank();
  }
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> sizes, shape.Result());
  ABSL_ASSIGN_OR_RETURN(const DType dtype, types.Result());
  return SetDense(context, *tensors[0], DenseInFormat(dtype, std::move(sizes), channels_last));
}

bool HasNoElements(const TensorMeta& meta) {
  return std::any_of(meta.sizes.begin(), meta.sizes.end(),
                     [](const SymInt& size) { return size.AsInt() == 0; });
}

absl::Status StackMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<const TensorMeta*> tensors, context.TensorList(0));
  ABSL_ASSIGN_OR_RETURN(const int64_t dim, context.StaticInt(1));
  if (tensors.empty()) return absl::InvalidArgumentError("stack: expected at least one tensor");
  TypePromotion types;
  for (const TensorMeta* t : tensors) {
    if (!MayBeEqual<SymInt>(t->sizes, tensors[0]->sizes)) {
      return absl::InvalidArgumentError(absl::StrCat("stack: shapes ", FormatDims<SymInt>(t->sizes),
                                                     " and ", FormatDims<SymInt>(tensors[0]->sizes),
                                                     " differ"));
    }
    types.AddTensor(t->dtype, t->rank() + 1);
  }
  std::vector<SymInt> sizes = tensors[0]->sizes;
  ABSL_RETURN_IF_ERROR(CheckRank(sizes.size() + 1));
  ABSL_ASSIGN_OR_RETURN(const int d, NormalizeDim(dim, tensors[0]->rank() + 1));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, types.Result());
  const SymInt count(static_cast<int64_t>(tensors.size()));
  // PyTorch joins along the dimension and splits it then, so that a layout stays.
  const bool channels_last = d < tensors[0]->rank() && !HasNoElements(*tensors[0]) &&
                             std::all_of(
                                 tensors.begin(), tensors.end(),
                                 [](const TensorMeta* t) { return LooksChannelsLast(*t); });
  if (!channels_last) {
    sizes.insert(sizes.begin() + d, count);
    return SetDense(context, *tensors[0], TensorMeta::Contiguous(dtype, std::move(sizes)));
  }
  const SymInt part = sizes[d];
  sizes[d] = part * count;
  TensorMeta joined = DenseInFormat(dtype, std::move(sizes), true);
  const SymInt stride = joined.strides[d];
  joined.sizes[d] = part;
  joined.sizes.insert(joined.sizes.begin() + d, count);
  joined.strides.insert(joined.strides.begin() + d, part * stride);
  return SetDense(context, *tensors[0], std::move(joined));
}

absl::Status FlipMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const Sizes dims, MetaArgs(context).StaticIntList(1));
  ABSL_RETURN_IF_ERROR(CheckRank(self->sizes.size()));
  ABSL_RETURN_IF_ERROR(DimMask(dims, self->rank()).status());
  ABSL_ASSIGN_OR_RETURN(TensorMeta out, ResultLike(self->dtype, *self, MemoryFormat::kPreserve));
  return SetDense(context, *self, std::move(out));
}

// What rolls along one dimension is two parts that are joined, and has their layout if both have
// one. A part without elements has none.
TensorMeta RolledLike(const TensorMeta& self, int d, const SymInt& shift) {
  const std::optional<int64_t> by = shift.AsInt(), size = self.sizes[d].AsInt();
  bool channels_last = LooksChannelsLast(self);
  if (channels_last && by.has_value() && size.has_value() && *size > 0) {
    const int64_t first = ((*size - *by % *size) % *size + *size) % *size;
    for (const int64_t part : {*size - first, first}) {
      TensorMeta of = self;
      of.sizes[d] = SymInt(part);
      channels_last = channels_last && part > 0 && LooksChannelsLast(of);
    }
  }
  return DenseInFormat(self.dtype, self.sizes, channels_last);
}

absl::Status RollMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> shifts, context.IntList(1));
  ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, context.StaticIntList(2));
  if (shifts.empty() || (dims.empty() ? shifts.size() != 1 : shifts.size() != dims.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("roll: ", shifts.size(), " shifts for ", dims.size(), " dims"));
  }
  if (!dims.empty() && self->rank() == 0) {
    return absl::OutOfRangeError("roll: a scalar tensor has no dimensions to roll along");
  }
  if (dims.size() == 1 && HasNoElements(*self)) {  // PyTorch does not look at the dimension then
    ABSL_ASSIGN_OR_RETURN(TensorMeta same, ResultLike(self->dtype, *self, MemoryFormat::kPreserve));
    return SetDense(context, *self, std::move(same));
  }
  TensorMeta out = dims.empty() ? CopyOf(*self, self->sizes) : *self;
  for (size_t k = 0; k < dims.size(); ++k) {
    ABSL_ASSIGN_OR_RETURN(const int d, NormalizeDim(dims[k], self->rank()));
    out = RolledLike(out, d, shifts[k]);
  }
  return SetDense(context, *self, std::move(out));
}

absl::Status RepeatMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> repeats, context.IntList(1));
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> sizes, RepeatedShape<SymInt>(self->sizes, repeats));
  context.SetOutput(0, CopyOf(*self, std::move(sizes)));
  return absl::OkStatus();
}

absl::Status RepeatInterleaveTensorMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* repeats,
                        TensorOf(context, 0, {DType::kInt32, DType::kInt64}));
  if (repeats->rank() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "repeat_interleave: repeats must be a vector, got ", FormatDims<SymInt>(repeats->sizes)));
  }
  SymInt size;
  if (repeats->sizes[0].AsInt() == 0) {
    size = SymInt(0);  // whatever output_size says
  } else if (context.is_none(1)) {
    ABSL_ASSIGN_OR_RETURN(size, context.FreshSymbol({.min = 0}));
  } else {
    ABSL_ASSIGN_OR_RETURN(size, context.Int(1));
    if (KnownNegative(size)) {
      return absl::InvalidArgumentError("repeat_interleave: output_size is negative");
    }
  }
  context.SetOutput(0, CopyOf(*repeats, {size}));
  return absl::OkStatus();
}

absl::Status RepeatInterleaveSelfIntMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const SymInt repeats, context.Int(1));
  if (KnownNegative(repeats)) {
    return absl::InvalidArgumentError("repeat_interleave: repeats is negative");
  }
  std::vector<SymInt> sizes = self->sizes;
  int d = 0;
  if (context.is_none(2)) {
    sizes = {self->NumElements()};
  } else {
    ABSL_ASSIGN_OR_RETURN(const int64_t dim, context.StaticInt(2));
    ABSL_ASSIGN_OR_RETURN(d, NormalizeDim(dim, self->rank()));
    if (sizes.empty()) sizes = {1};
  }
  sizes[d] = sizes[d] * repeats;
  if (!context.is_none(3)) {
    ABSL_ASSIGN_OR_RETURN(const SymInt size, context.Int(3));
    if (KnownDifferent(size, sizes[d])) {
      return absl::InvalidArgumentError(absl::StrCat("repeat_interleave: output_size is ",
                                                     size.ToString(), ", expected ",
                                                     sizes[d].ToString()));
    }
  }
  context.SetOutput(0, CopyOf(*self, std::move(sizes)));
  return absl::OkStatus();
}

// tril(self, diagonal), triu
absl::Status TriangleMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  ABSL_RETURN_IF_ERROR(context.Int(1).status());
  if (self->rank() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected at least 2 dimensions, got ", FormatDims<SymInt>(self->sizes)));
  }
  context.SetOutput(0, CopyOf(*self, self->sizes));
  return absl::OkStatus();
}

template <bool kInverse>
absl::Status PixelShuffleMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const int64_t factor, context.StaticInt(1));
  ABSL_RETURN_IF_ERROR(CheckRank(self->sizes.size() + 2));
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> sizes,
                        PixelShuffleShape<SymInt>(self->sizes, factor, kInverse));
  if (kInverse && KnownEmpty<SymInt>(self->sizes)) sizes = self->sizes;
  return SetDense(context, *self,
                  DenseInFormat(self->dtype, std::move(sizes), LooksChannelsLast(*self)));
}

// resize_(self, size): unchanged when it has this size.
absl::Status ResizeMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> sizes, MetaArgs(context).IntList(1));
  ABSL_ASSIGN_OR_RETURN(const MemoryFormat format,
                        context.MemoryFormatOr(2, MemoryFormat::kContiguous));
  for (const SymInt& size : sizes) {
    if (KnownNegative(size)) {
      return absl::InvalidArgumentError(
          absl::StrCat("resize_: negative size in ", FormatDims<SymInt>(sizes)));
    }
  }
  const bool same = context.is_none(2) && sizes == self->sizes;
  ABSL_ASSIGN_OR_RETURN(TensorMeta out, ResultInFormat(self->dtype, std::move(sizes), format));
  return SetDense(context, *self, same ? *self : std::move(out));
}

constexpr uint32_t kCopies = kDataMovement;
constexpr uint32_t kCoreCopies = kDataMovement | kCore;
constexpr std::string_view kSame = "self:A ->:A A=any";
constexpr std::string_view kJoined = "tensors:A ->:A A=any";

constexpr OpDef kOps[] = {
    {"aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? "
     "memory_format=None) -> Tensor",
     &ToCopyMeta, kCore | kPointwise | kAlwaysDecomposed},
    {"aten::cat(Tensor[] tensors, int dim=0) -> Tensor", &CatMeta,
     kCoreCopies | kMovesElements | kJoinsBytes, kJoined},
    {"aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", &CloneMeta,
     kCoreCopies | kPointwise | kMovesElements | kKeepsBytes, kSame},
    {"aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", &CopyMeta, kCore,
     "self:A src:B ->:A A=any B=any"},
    {"aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
     &CopyInPlaceMeta, 0, "self:A src:B ->:A A=any B=any"},
    {"aten::flip(Tensor self, int[] dims) -> Tensor", &FlipMeta, kCoreCopies | kMovesElements,
     kSame},
    {"aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor", &PixelShuffleMeta<false>,
     kCopies | kMovesElements, kSame},
    {"aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor", &PixelShuffleMeta<true>,
     kCopies | kMovesElements, kSame},
    {"aten::repeat(Tensor self, SymInt[] repeats) -> Tensor", &RepeatMeta,
     kCoreCopies | kMovesElements, kSame},
    {"aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor",
     &RepeatInterleaveTensorMeta, kDataDependent, "repeats:A ->:A A={i32,i64}"},
    {"aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? "
     "output_size=None) -> Tensor",
     &RepeatInterleaveSelfIntMeta, kCopies | kComposite, kSame},
    {"aten::resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> "
     "Tensor(a!)",
     &ResizeMeta, kCore, kSame},
    {"aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor", &RollMeta,
     kCopies | kMovesElements, kSame},
    {"aten::stack(Tensor[] tensors, int dim=0) -> Tensor", &StackMeta, kCopies, kJoined},
    {"aten::tril(Tensor self, SymInt diagonal=0) -> Tensor", &TriangleMeta, 0, kSame},
    {"aten::triu(Tensor self, SymInt diagonal=0) -> Tensor", &TriangleMeta, 0, kSame},
};

}  // namespace

absl::Span<const OpDef> DataMovementOps() { return kOps; }

}  // namespace belay::exir
