// Data movement: copies, concatenations, flips, repetitions.

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "exir/ops/families.h"
#include "exir/ops/layout_rules.h"
#include "exir/ops/meta_arguments.h"
#include "exir/ops/pointwise.h"
#include "exir/ops/pointwise_layout.h"
#include "exir/ops/strided_meta.h"
#include "runtime/kernel_interface/shape_rules/index.h"
#include "runtime/kernel_interface/shape_rules/movement.h"
#include "runtime/kernel_interface/type_promotion.h"

namespace belay::exir {
namespace {

absl::Status SetDense(MetaContext& context, const TensorMeta& self, TensorMeta out) {
  out.device = self.device;
  context.SetOutput(0, std::move(out));
  return absl::OkStatus();
}

// clone, _to_copy.
absl::Status CloneMeta(MetaContext& context, const CopyCall<MetaArguments>& call) {
  const MetaArguments arguments(context);
  ABSL_ASSIGN_OR_RETURN(const DType dtype, arguments.DtypeOr("dtype", call.self->dtype));
  if (const Layout* layout = arguments["layout"].get_if<Layout>();
      layout != nullptr && *layout != Layout::kStrided) {
    return absl::InvalidArgumentError("layout: only strided tensors are supported");
  }
  ABSL_ASSIGN_OR_RETURN(const MemoryFormat format,
                        arguments.MemoryFormatOr("memory_format", MemoryFormat::kPreserve));
  ABSL_ASSIGN_OR_RETURN(TensorMeta out, ResultLike(dtype, *call.self, format));
  const Device* const device = arguments["device"].get_if<Device>();
  out.device = device != nullptr ? *device : call.self->device;
  context.SetOutput(0, std::move(out));
  return absl::OkStatus();
}

absl::Status CheckSource(const TensorMeta& self, const TensorMeta& src) {
  if (MayExpandTo<SymInt>(src.sizes, self.sizes)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("copy: src ", FormatDims<SymInt>(src.sizes),
                                                 " does not expand to self ",
                                                 FormatDims<SymInt>(self.sizes)));
}

// copy_: the result is self.
absl::Status CopyInPlaceMeta(MetaContext& context, const CopyFromCall<MetaArguments>& call) {
  ABSL_RETURN_IF_ERROR(CheckWritable(context, call.target.position, *call.self));
  ABSL_RETURN_IF_ERROR(CheckSource(*call.self, *call.src));
  context.SetOutput(0, *call.self);
  return absl::OkStatus();
}

absl::Status CopyMeta(MetaContext& context, const CopyFromCall<MetaArguments>& call) {
  ABSL_RETURN_IF_ERROR(CheckSource(*call.self, *call.src));
  return SetDense(context, *call.self, SameStrides(*call.self));
}

absl::Status CatMeta(MetaContext& context, const JoinCall<MetaArguments>& call) {
  const std::vector<const TensorMeta*>& tensors = call.tensors;
  CatShape<SymInt> shape;
  TypePromotion types;
  bool channels_last = !tensors.empty();
  for (const TensorMeta* t : tensors) {
    ABSL_RETURN_IF_ERROR(CheckRank(t->sizes.size()));
    ABSL_RETURN_IF_ERROR(shape.Add(t->sizes, call.dim));
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

absl::Status StackMeta(MetaContext& context, const JoinCall<MetaArguments>& call) {
  const std::vector<const TensorMeta*>& tensors = call.tensors;
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
  ABSL_ASSIGN_OR_RETURN(const int d, NormalizeDim(call.dim, tensors[0]->rank() + 1));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, types.Result());
  const SymInt count(static_cast<int64_t>(tensors.size()));
  // PyTorch concatenates along the dimension and then splits it, so the layout is kept.
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

absl::Status FlipMeta(MetaContext& context, const FlipCall<MetaArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(TensorMeta out,
                        ResultLike(call.self->dtype, *call.self, MemoryFormat::kPreserve));
  return SetDense(context, *call.self, std::move(out));
}

// A roll along one dimension concatenates two slices and has their layout if both have the same. An
// empty slice has none.
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

absl::Status RollMeta(MetaContext& context, const RollCall<MetaArguments>& call) {
  const TensorMeta* const self = call.self;
  const Sizes& dims = call.dims;
  if (dims.size() == 1 && HasNoElements(*self)) {  // PyTorch does not check the dimension then
    ABSL_ASSIGN_OR_RETURN(TensorMeta same, ResultLike(self->dtype, *self, MemoryFormat::kPreserve));
    return SetDense(context, *self, std::move(same));
  }
  TensorMeta out = dims.empty() ? CopyOf(*self, self->sizes) : *self;
  for (int k = 0; k < dims.size(); ++k) {
    ABSL_ASSIGN_OR_RETURN(const int d, NormalizeDim(dims[k], self->rank()));
    out = RolledLike(out, d, call.shifts[k]);
  }
  return SetDense(context, *self, std::move(out));
}

absl::Status RepeatMeta(MetaContext& context, const RepeatCall<MetaArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> sizes, call.Shape());
  context.SetOutput(0, CopyOf(*call.self, std::move(sizes)));
  return absl::OkStatus();
}

absl::Status RepeatInterleaveTensorMeta(MetaContext& context,
                                        const RepeatedIndicesCall<MetaArguments>& call) {
  SymInt size;
  if (call.repeats->sizes[0].AsInt() == 0) {
    size = SymInt(0);  // regardless of output_size
  } else if (call.output_size.has_value()) {
    size = *call.output_size;
    if (KnownNegative(size)) {
      return absl::InvalidArgumentError("repeat_interleave: output_size is negative");
    }
  } else {
    ABSL_ASSIGN_OR_RETURN(size, context.FreshSymbol({.min = 0}));
  }
  context.SetOutput(0, CopyOf(*call.repeats, {size}));
  return absl::OkStatus();
}

absl::Status RepeatInterleaveSelfIntMeta(MetaContext& context,
                                         const RepeatedElementsCall<MetaArguments>& call) {
  if (KnownNegative(call.repeats)) {
    return absl::InvalidArgumentError("repeat_interleave: repeats is negative");
  }
  std::vector<SymInt> sizes = call.Shape(call.self->NumElements());
  const MetaArguments arguments(context);
  if (!arguments.IsNone("output_size")) {
    ABSL_ASSIGN_OR_RETURN(const SymInt size, arguments.Int("output_size"));
    const SymInt& expected = sizes[call.dim];
    if (KnownDifferent(size, expected)) {
      return absl::InvalidArgumentError(absl::StrCat("repeat_interleave: output_size is ",
                                                     size.ToString(), ", expected ",
                                                     expected.ToString()));
    }
  }
  context.SetOutput(0, CopyOf(*call.self, std::move(sizes)));
  return absl::OkStatus();
}

// tril, triu
absl::Status TriangleMeta(MetaContext& context, const TriangleCall<MetaArguments>& call) {
  context.SetOutput(0, CopyOf(*call.self, call.self->sizes));
  return absl::OkStatus();
}

absl::Status PixelShuffleMeta(MetaContext& context, const PixelShuffleCall<MetaArguments>& call) {
  const TensorMeta* const self = call.self;
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> sizes, call.Shape());
  if (call.inverse && KnownEmpty<SymInt>(self->sizes)) sizes = self->sizes;
  return SetDense(context, *self,
                  DenseInFormat(self->dtype, std::move(sizes), LooksChannelsLast(*self)));
}

// resize_: no change if it already has this size.
absl::Status ResizeMeta(MetaContext& context, const ResizeCall<MetaArguments>& call) {
  const MetaArguments arguments(context);
  ABSL_ASSIGN_OR_RETURN(const MemoryFormat format,
                        arguments.MemoryFormatOr("memory_format", MemoryFormat::kContiguous));
  for (const SymInt& size : call.size) {
    if (KnownNegative(size)) {
      return absl::InvalidArgumentError(
          absl::StrCat("resize_: negative size in ", FormatDims<SymInt>(call.size)));
    }
  }
  const bool same = arguments.IsNone("memory_format") && call.size == call.self->sizes;
  ABSL_ASSIGN_OR_RETURN(TensorMeta out, ResultInFormat(call.self->dtype, call.size, format));
  return SetDense(context, *call.self, same ? *call.self : std::move(out));
}

constexpr uint32_t kCopies = kDataMovement;
constexpr uint32_t kCoreCopies = kDataMovement | kCore;
constexpr std::string_view kSame = "self:A ->:A A=any";
constexpr std::string_view kJoined = "tensors:A ->:A A=any";

constexpr OpDef kOps[] = {
    {"aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? "
     "memory_format=None) -> Tensor",
     &MetaKernel<&CloneMeta>, kCore | kPointwise | kAlwaysDecomposed},
    {"aten::cat(Tensor[] tensors, int dim=0) -> Tensor", &MetaKernel<&CatMeta>,
     kCoreCopies | kMovesElements | kJoinsBytes, kJoined},
    {"aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
     &MetaKernel<&CloneMeta>, kCoreCopies | kPointwise | kMovesElements | kKeepsBytes, kSame},
    {"aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
     &MetaKernel<&CopyMeta>, kCore, "self:A src:B ->:A A=any B=any"},
    {"aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
     &MetaKernel<&CopyInPlaceMeta>, 0, "self:A src:B ->:A A=any B=any"},
    {"aten::flip(Tensor self, int[] dims) -> Tensor", &MetaKernel<&FlipMeta>,
     kCoreCopies | kMovesElements, kSame},
    {"aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor",
     &MetaKernel<&PixelShuffleMeta>, kCopies | kMovesElements, kSame},
    {"aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
     &MetaKernel<&PixelShuffleMeta>, kCopies | kMovesElements, kSame},
    {"aten::repeat(Tensor self, SymInt[] repeats) -> Tensor", &MetaKernel<&RepeatMeta>,
     kCoreCopies | kMovesElements, kSame},
    {"aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor",
     &MetaKernel<&RepeatInterleaveTensorMeta>, kDataDependent, "repeats:A ->:A A={i32,i64}"},
    {"aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? "
     "output_size=None) -> Tensor",
     &MetaKernel<&RepeatInterleaveSelfIntMeta>, kCopies | kComposite, kSame},
    {"aten::resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> "
     "Tensor(a!)",
     &MetaKernel<&ResizeMeta>, kCore, kSame},
    {"aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor", &MetaKernel<&RollMeta>,
     kCopies | kMovesElements, kSame},
    {"aten::stack(Tensor[] tensors, int dim=0) -> Tensor", &MetaKernel<&StackMeta>, kCopies,
     kJoined},
    {"aten::tril(Tensor self, SymInt diagonal=0) -> Tensor", &MetaKernel<&TriangleMeta>, 0, kSame},
    {"aten::triu(Tensor self, SymInt diagonal=0) -> Tensor", &MetaKernel<&TriangleMeta>, 0, kSame},
    // Copies to a device and back; the types have the devices (docs/lowering.md row 10).
    {"et_copy::_d2h_copy(Tensor self) -> Tensor", &MetaKernel<&CloneMeta>, 0, kSame},
    {"et_copy::_h2d_copy(Tensor self) -> Tensor", &MetaKernel<&CloneMeta>, 0, kSame},
};

}  // namespace

absl::Span<const OpDef> DataMovementOps() { return kOps; }

}  // namespace belay::exir
