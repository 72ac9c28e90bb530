// Operators that write elements at places which tensors of indices, masks or views name, into a
// copy of their input.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "absl/status/status.h"
#include "runtime/core/element.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel/shape_rules/index.h"
#include "runtime/kernel/shape_rules/slice.h"
#include "runtime/kernels/call/element_access.h"
#include "runtime/kernels/call/gather_walk.h"
#include "runtime/kernels/call/operands.h"
#include "runtime/kernels/call/scalar_element.h"
#include "runtime/kernels/call/strided_view.h"
#include "runtime/kernels/call/view_scatter.h"
#include "runtime/kernels/reference/element_update.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

// Output 0 as a copy of argument 0.
absl::StatusOr<TensorView*> CloneToOutput(KernelContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, TensorOf(context, 0, "self", kNumberTypes));
  ABSL_ASSIGN_OR_RETURN(TensorView * out, OutputOf(context, 0, self->dtype, *self));
  ABSL_RETURN_IF_ERROR(CopyElements(*self, *out));
  return out;
}

// ---- index_put
// ----------------------------------------------------------------------------------------------------------

uint64_t IndexPutScratch(const KernelContext& context) {
  return IndexWalk::ScratchBytes(context, 1);
}

// Whether argument 1 holds one mask and no other index.
absl::StatusOr<bool> IsOneMask(const KernelContext& context) {
  ABSL_ASSIGN_OR_RETURN(const ListView list, context.List(1));
  int masks = 0, others = 0;
  for (const EValue* element : list.elements) {
    const TensorView* index = element == nullptr ? nullptr : element->get_if<TensorView>();
    if (index == nullptr) continue;
    ++(index->dtype == DType::kBool || index->dtype == DType::kUint8 ? masks : others);
  }
  return masks == 1 && others == 0;
}

// The first element. Precondition: it has one, of a dtype of kNumberTypes.
EValue FirstNumber(const TensorView& t) {
  if (IsComplex(t.dtype)) return EValue(Reader<std::complex<double>>(t)(0));
  if (IsFloatingPoint(t.dtype)) return EValue(Reader<double>(t)(0));
  return EValue(Reader<int64_t>(t)(0));
}

// Writes argument 2 at the places of `out` that argument 1 names. One value for the places of one
// mask may be of any dtype and rank.
absl::Status PutInto(const KernelContext& context, const TensorView& out) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* values, TensorOf(context, 2, "values", kNumberTypes));
  ABSL_ASSIGN_OR_RETURN(const bool accumulate, context.Bool(3));
  ABSL_ASSIGN_OR_RETURN(const bool mask, IsOneMask(context));
  ScalarElement value;
  TensorView one;
  if (mask && !accumulate && values->numel() == 1) {
    ABSL_ASSIGN_OR_RETURN(value, ScalarElement::Create(FirstNumber(*values), out.dtype));
    one.dtype = out.dtype;
    one.data = value.data();
    values = &one;
  }
  if (values->dtype != out.dtype) {
    return absl::InvalidArgumentError(absl::StrCat("values: expected ", DTypeName(out.dtype),
                                                   ", got ", DTypeName(values->dtype)));
  }
  ABSL_ASSIGN_OR_RETURN(const IndexWalk walk, IndexWalk::Create(context, 1, out));
  ABSL_ASSIGN_OR_RETURN(const TensorView from, ExpandTo(*values, walk.result_sizes()));
  ABSL_RETURN_IF_ERROR(CheckBroadcastSteps("index_put", walk.result_sizes()));
  const ElementBlock block = walk.BlockToSelf(from.strides);
  const size_t bytes = DTypeSize(out.dtype);
  const UpdateFn update = UpdateOf(accumulate ? Update::kAdd : Update::kAssign, out.dtype);
  return walk.Run(from.strides, [&](int64_t out_offset, int64_t value_offset) {
    void* const target = ElementAddress(out, out_offset);
    const void* const source = ElementAddress(from, value_offset);
    if (!accumulate) {
      block.Copy(source, target, bytes);
      return;
    }
    block.ForEach([&](int64_t f, int64_t t) { update(target, t, source, f); });
  });
}

absl::Status IndexPut(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(4, 1));
  ABSL_ASSIGN_OR_RETURN(TensorView * out, CloneToOutput(context));
  return PutInto(context, *out);
}

absl::Status IndexPutInPlace(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(4, 1));
  ABSL_RETURN_IF_ERROR(TensorOf(context, 0, "self", kNumberTypes).status());
  ABSL_ASSIGN_OR_RETURN(TensorView * self, context.MutableTensor(0));
  ABSL_RETURN_IF_ERROR(PutInto(context, *self));
  return ReturnSelf(context, *self);
}

// ---- scatter
// ------------------------------------------------------------------------------------------------------------

// What the arguments (self, dim, index, src or a number) mean.
struct ScatterCall {
  int dim;
  TensorView index;
  TensorView src;
};

// `element` holds the number of a call without src.
absl::StatusOr<ScatterCall> ReadScatter(const KernelContext& context, bool tensor,
                                        ScalarElement& element) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, TensorOf(context, 0, "self", kNumberTypes));
  ABSL_ASSIGN_OR_RETURN(const int64_t dim, context.Int(1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* index, TensorOf(context, 2, "index", kIndexTypes));
  ScatterCall call = {0, *index, *index};
  Dims<CheckedInt> src_dims;
  if (tensor) {
    ABSL_ASSIGN_OR_RETURN(const TensorView* src, TensorOf(context, 3, "src", self->dtype));
    call.src = *src;
    src_dims = ToDims(src->sizes);
  } else {
    ABSL_ASSIGN_OR_RETURN(const EValue value, context.Scalar(3));
    ABSL_ASSIGN_OR_RETURN(element, ScalarElement::Create(value, self->dtype));
    call.src.dtype = self->dtype;
    call.src.strides = Strides(index->rank(), 0);
    call.src.data = element.data();
  }
  const absl::Span<const CheckedInt> src_sizes = src_dims;
  ABSL_ASSIGN_OR_RETURN(
      call.dim, CheckGatherShapes<CheckedInt>("scatter", ToDims(self->sizes), dim,
                                              ToDims(index->sizes), tensor ? &src_sizes : nullptr));
  return call;
}

absl::Status ScatterInto(const TensorView& out, const ScatterCall& call, Update update) {
  const UpdateFn fn = UpdateOf(update, out.dtype);
  return WalkGather(out, call.dim, call.index, call.src, [&](int64_t out_offset, int64_t offset) {
    fn(out.data, out_offset, call.src.data, offset);
  });
}

// float16 and bfloat16 are summed and multiplied as float32 and rounded once, as PyTorch does: the
// operands, wider, in scratch memory.
class WideOperands {
 public:
  // For `counted`, an int64 per element of self comes first.
  static uint64_t ScratchBytes(const KernelContext& context, bool counted) {
    if (context.num_arguments() < 4) return 0;
    const absl::StatusOr<const TensorView*> self = context.Tensor(0), src = context.Tensor(3);
    if (!self.ok()) return 0;
    const uint64_t elements = static_cast<uint64_t>((*self)->numel());
    const uint64_t sources = src.ok() ? static_cast<uint64_t>((*src)->numel()) : 0;
    return (counted ? elements * sizeof(int64_t) : 0) +
           (IsNarrow((*self)->dtype) ? (elements + sources) * sizeof(float) : 0);
  }

  // `out` and the source of `call` as they are, or wider. Both must outlive the object.
  static absl::StatusOr<WideOperands> Create(const KernelContext& context, bool counted,
                                             const TensorView& out, const ScatterCall& call) {
    WideOperands wide(out, call);
    if (!IsNarrow(out.dtype)) return wide;
    const int64_t skipped = counted ? 2 * out.numel() : 0;
    const bool tensor = context.argument(3).is_tensor();
    const int64_t sources = tensor ? call.src.numel() : 0;
    ABSL_ASSIGN_OR_RETURN(float* const scratch,
                          ScratchArray<float>(context, skipped + out.numel() + sources));
    wide.out = TensorView::Contiguous(DType::kFloat32, out.sizes, scratch + skipped);
    ABSL_RETURN_IF_ERROR(CopyElements(out, wide.out));
    if (tensor) {
      wide.call_.src =
          TensorView::Contiguous(DType::kFloat32, call.src.sizes, scratch + skipped + out.numel());
      ABSL_RETURN_IF_ERROR(CopyElements(call.src, wide.call_.src));
    } else {
      ABSL_ASSIGN_OR_RETURN(wide.number_, ScalarElement::Load(call.src, DType::kFloat32));
      wide.call_.src.dtype = DType::kFloat32;
      wide.is_number_ = true;
    }
    return wide;
  }
  // Precondition: the object stays where it is while the call is used.
  const ScatterCall& call() {
    if (is_number_) call_.src.data = number_.data();
    return call_;
  }
  // Brings the result back.
  absl::Status Finish() const { return CopyElements(out, target_); }

  TensorView out;

 private:
  static bool IsNarrow(DType dtype) {
    return dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  }
  WideOperands(const TensorView& target, const ScatterCall& call)
      : out(target), target_(target), call_(call) {}

  TensorView target_;
  ScatterCall call_;
  ScalarElement number_;
  bool is_number_ = false;
};

uint64_t ScatterScratch(const KernelContext& context) {
  return WideOperands::ScratchBytes(context, /*counted=*/false);
}

template <bool kTensor, Update kUpdate, int kArguments>
absl::Status Scatter(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(kArguments, 1));
  ScalarElement element;
  ABSL_ASSIGN_OR_RETURN(const ScatterCall call, ReadScatter(context, kTensor, element));
  ABSL_ASSIGN_OR_RETURN(TensorView * out, CloneToOutput(context));
  if (kUpdate == Update::kAssign) return ScatterInto(*out, call, kUpdate);
  ABSL_ASSIGN_OR_RETURN(WideOperands wide, WideOperands::Create(context, false, *out, call));
  ABSL_RETURN_IF_ERROR(ScatterInto(wide.out, wide.call(), kUpdate));
  return wide.Finish();
}

// scatter.reduce and scatter.value_reduce
template <bool kTensor>
absl::Status ScatterNamed(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(5, 1));
  ABSL_ASSIGN_OR_RETURN(const std::string_view reduce, context.String(4));
  if (reduce == "add") return Scatter<kTensor, Update::kAdd, 5>(context);
  if (reduce == "multiply") return Scatter<kTensor, Update::kMultiply, 5>(context);
  return absl::InvalidArgumentError(
      absl::StrCat("scatter: reduce must be 'add' or 'multiply', got '", reduce, "'"));
}

// The number that changes nothing under an update.
template <class T>
T NeutralElement(Update update) {
  const bool maximum = update == Update::kMaximum;
  if (update == Update::kMultiply) return ConvertElement<T>(int64_t{1});
  if (update == Update::kAdd) return ConvertElement<T>(int64_t{0});
  if constexpr (kIsFloating<T>) {
    const float infinity = std::numeric_limits<float>::infinity();
    return ConvertElement<T>(maximum ? -infinity : infinity);
  } else if constexpr (kIsComplex<T>) {
    return T{};
  } else {
    return maximum ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  }
}

uint64_t ScatterReduceScratch(const KernelContext& context) {
  return WideOperands::ScratchBytes(context, /*counted=*/true);
}

// Divides each element by one more than the number that met it, or by that number where self does
// not take part.
absl::Status DivideByCounts(const KernelContext& context, const TensorView& out,
                            const ScatterCall& call, bool include_self) {
  ABSL_ASSIGN_OR_RETURN(int64_t* const counts, ScratchArray<int64_t>(context, out.numel()));
  const TensorView table = TensorView::Contiguous(DType::kInt64, out.sizes, counts);
  std::fill_n(counts, out.numel(), include_self ? 1 : 0);
  ABSL_RETURN_IF_ERROR(WalkGather(table, call.dim, call.index, call.index,
                                  [&](int64_t offset, int64_t) { ++counts[offset]; }));
  WithComputeType(out.dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!kIsComplex<T>) {
      const Reader<T> read(out);
      const Writer<T> write(out);
      for (StridedIterator<2> it(out.sizes, {out.strides, table.strides}); !it.done(); it.Next()) {
        const int64_t count = std::max<int64_t>(counts[it.offset(1)], 1);
        const T sum = read(it.offset(0));
        if constexpr (std::is_same_v<T, int64_t>) {
          write(it.offset(0), FloorDiv(CheckedInt(sum), CheckedInt(count)).value());
        } else {
          write(it.offset(0), sum / static_cast<T>(count));
        }
      }
    }
  });
  return absl::OkStatus();
}

absl::Status ScatterReduce(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(6, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, TensorOf(context, 0, "self", kRealTypes));
  ABSL_ASSIGN_OR_RETURN(const std::string_view reduce, context.String(4));
  ABSL_ASSIGN_OR_RETURN(const bool include_self, context.Bool(5));
  if (!IsScatterReduction(reduce)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "scatter_reduce: reduce must be sum, prod, mean, amax or amin, got '", reduce, "'"));
  }
  if (reduce == "mean" && self->dtype == DType::kBool) {
    return absl::InvalidArgumentError("scatter_reduce: booleans have no mean");
  }
  const Update update = reduce == "prod"   ? Update::kMultiply
                        : reduce == "amax" ? Update::kMaximum
                        : reduce == "amin" ? Update::kMinimum
                                           : Update::kAdd;
  ScalarElement unused;
  ABSL_ASSIGN_OR_RETURN(const ScatterCall call, ReadScatter(context, true, unused));
  ABSL_ASSIGN_OR_RETURN(TensorView * result, CloneToOutput(context));
  ABSL_ASSIGN_OR_RETURN(WideOperands wide, WideOperands::Create(context, true, *result, call));
  const TensorView& out = wide.out;
  if (!include_self) {
    absl::Status status;
    DispatchDType<kRealTypes>(out.dtype, [&](auto tag) {
      using T = CppType<tag.value>;
      const T neutral = NeutralElement<T>(update);
      status = WalkGather(out, call.dim, call.index, call.index, [&](int64_t offset, int64_t) {
        std::memcpy(ElementAddress(out, offset), &neutral, sizeof(T));
      });
    });
    ABSL_RETURN_IF_ERROR(status);
  }
  ABSL_RETURN_IF_ERROR(ScatterInto(out, wide.call(), update));
  if (reduce == "mean") {
    ABSL_RETURN_IF_ERROR(DivideByCounts(context, out, call, include_self));
  }
  return wide.Finish();
}

// ---- index_add, index_copy, index_fill
// ----------------------------------------------------------------------------------

struct SliceCall {
  int dim;
  TensorView index;
};

absl::StatusOr<SliceCall> ReadSliceCall(const KernelContext& context, std::string_view op,
                                        const TensorView* source) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const int64_t dim, context.Int(1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* index, TensorOf(context, 2, "index", kIndexTypes));
  Dims<CheckedInt> source_dims;
  if (source != nullptr) source_dims = ToDims(source->sizes);
  const absl::Span<const CheckedInt> sizes = source_dims;
  SliceCall call = {0, *index};
  ABSL_ASSIGN_OR_RETURN(call.dim, CheckIndexUpdateShapes<CheckedInt>(
                                      op, ToDims(self->sizes), dim, ToDims(index->sizes),
                                      source == nullptr ? nullptr : &sizes));
  return call;
}

absl::Status IndexAdd(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(5, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, TensorOf(context, 0, "self", kNumberTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorView* source, TensorOf(context, 3, "source", self->dtype));
  ABSL_ASSIGN_OR_RETURN(const EValue number, context.Scalar(4));
  ABSL_ASSIGN_OR_RETURN(const ScalarElement alpha, ScalarElement::Create(number, self->dtype));
  ABSL_ASSIGN_OR_RETURN(const SliceCall call, ReadSliceCall(context, "index_add", source));
  ABSL_ASSIGN_OR_RETURN(TensorView * out, CloneToOutput(context));
  return WalkSlices(*out, call.dim, call.index, source, /*wrap=*/false,
                    [&](const TensorView& target, const TensorView& addend) {
                      AddScaled(target, addend, alpha);
                      return absl::OkStatus();
                    });
}

absl::Status CopySlicesInto(KernelContext& context, const TensorView& out) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* source, TensorOf(context, 3, "source", out.dtype));
  ABSL_ASSIGN_OR_RETURN(const SliceCall call, ReadSliceCall(context, "index_copy", source));
  return WalkSlices(out, call.dim, call.index, source, /*wrap=*/false,
                    [](const TensorView& target, const TensorView& slice) {
                      return CopyElements(slice, target);
                    });
}

absl::Status IndexCopy(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(4, 1));
  ABSL_ASSIGN_OR_RETURN(TensorView * out, CloneToOutput(context));
  return CopySlicesInto(context, *out);
}

absl::Status IndexCopyInPlace(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(4, 1));
  ABSL_ASSIGN_OR_RETURN(TensorView * self, context.MutableTensor(0));
  ABSL_RETURN_IF_ERROR(CopySlicesInto(context, *self));
  return ReturnSelf(context, *self);
}

absl::Status FillSlices(KernelContext& context, const ScalarElement& element) {
  ABSL_ASSIGN_OR_RETURN(const SliceCall call, ReadSliceCall(context, "index_fill", nullptr));
  ABSL_ASSIGN_OR_RETURN(TensorView * out, CloneToOutput(context));
  return WalkSlices(*out, call.dim, call.index, nullptr, /*wrap=*/true,
                    [&](const TensorView& target, const TensorView&) {
                      element.Fill(target);
                      return absl::OkStatus();
                    });
}

absl::Status IndexFillScalar(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(4, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, TensorOf(context, 0, "self", kNumberTypes));
  ABSL_ASSIGN_OR_RETURN(const EValue number, context.Scalar(3));
  ABSL_ASSIGN_OR_RETURN(const ScalarElement element, ScalarElement::Create(number, self->dtype));
  return FillSlices(context, element);
}

absl::Status IndexFillTensor(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(4, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, TensorOf(context, 0, "self", kNumberTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorView* value, TensorOf(context, 3, "value", kNumberTypes));
  if (value->rank() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("index_fill: value must be a scalar, got ", FormatSizes(value->sizes)));
  }
  ABSL_ASSIGN_OR_RETURN(const ScalarElement element, ScalarElement::Load(*value, self->dtype));
  return FillSlices(context, element);
}

// ---- masks and views
// ----------------------------------------------------------------------------------------------------

absl::Status MaskedScatter(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(3, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const TensorView* mask, TensorOf(context, 1, "mask", DType::kBool));
  ABSL_ASSIGN_OR_RETURN(const TensorView* source, TensorOf(context, 2, "source", self->dtype));
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> dims,
                        BroadcastShape<CheckedInt>(ToDims(self->sizes), ToDims(mask->sizes)));
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, ToSizes(dims));
  ABSL_ASSIGN_OR_RETURN(const TensorView base, ExpandTo(*self, sizes));
  ABSL_ASSIGN_OR_RETURN(const TensorView places, ExpandTo(*mask, sizes));
  ABSL_ASSIGN_OR_RETURN(TensorView * out, OutputOf(context, 0, self->dtype, dims));
  ABSL_RETURN_IF_ERROR(CopyElements(base, *out));
  const size_t bytes = DTypeSize(out->dtype);
  StridedIterator<1> from(source->sizes, {source->strides});
  for (StridedIterator<2> it(sizes, {places.strides, out->strides}); !it.done(); it.Next()) {
    if (!ReadMask(places, it.offset(0))) continue;
    if (from.done()) {
      return absl::InvalidArgumentError(absl::StrCat("masked_scatter: source ", source->ToString(),
                                                     " has fewer elements than the mask selects"));
    }
    std::memmove(ElementAddress(*out, it.offset(1)), ElementAddress(*source, from.offset(0)),
                 bytes);
    from.Next();
  }
  return absl::OkStatus();
}

constexpr KernelEngine kReference = KernelEngine::kReference;

constexpr Kernel kKernels[] = {
    {"aten.as_strided_scatter.default", "AsStridedScatter", kReference,
     &AsStridedScatter<&CopyElements>},
    {"aten.diagonal_scatter.default", "DiagonalScatter", kReference,
     (&ViewScatter<DiagonalRule<2>, &CopyElements>)},
    {"aten.index_add.default", "IndexAdd", kReference, &IndexAdd},
    {"aten.index_copy.default", "IndexCopy", kReference, &IndexCopy},
    {"aten.index_copy_.default", "IndexCopyInPlace", kReference, &IndexCopyInPlace},
    {"aten.index_fill.int_Scalar", "IndexFill", kReference, &IndexFillScalar},
    {"aten.index_fill.int_Tensor", "IndexFill", kReference, &IndexFillTensor},
    {"aten.index_put.default", "IndexPut", kReference, &IndexPut, nullptr, &IndexPutScratch},
    {"aten.index_put_.default", "IndexPutInPlace", kReference, &IndexPutInPlace, nullptr,
     &IndexPutScratch},
    {"aten.masked_scatter.default", "MaskedScatter", kReference, &MaskedScatter},
    {"aten.scatter.reduce", "ScatterNamed", kReference, &ScatterNamed<true>, nullptr,
     &ScatterScratch},
    {"aten.scatter.src", "Scatter", kReference, &Scatter<true, Update::kAssign, 4>},
    {"aten.scatter.value", "ScatterValue", kReference, &Scatter<false, Update::kAssign, 4>},
    {"aten.scatter.value_reduce", "ScatterValueNamed", kReference, &ScatterNamed<false>, nullptr,
     &ScatterScratch},
    {"aten.scatter_add.default", "ScatterAdd", kReference, &Scatter<true, Update::kAdd, 4>, nullptr,
     &ScatterScratch},
    {"aten.scatter_reduce.two", "ScatterReduce", kReference, &ScatterReduce, nullptr,
     &ScatterReduceScratch},
    {"aten.select_scatter.default", "SelectScatter", kReference,
     (&ViewScatter<SelectRule<2>, &CopyElements>)},
    {"aten.slice_scatter.default", "SliceScatter", kReference,
     (&ViewScatter<SliceRule<2>, &CopyElements>)},
    {"belay.set_row_.default", "SetRow", kReference, &SetRow<&CopyElements>},
};

}  // namespace

absl::Span<const Kernel> ScatterKernels() { return kKernels; }

}  // namespace belay
