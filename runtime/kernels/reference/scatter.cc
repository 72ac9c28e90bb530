// Operators that write elements at positions given by index tensors, masks or views, into a copy of
// their input.

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
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/gather.h"
#include "runtime/kernel_interface/shape_rules/scatter.h"
#include "runtime/kernel_interface/shape_rules/slice.h"
#include "runtime/kernels/element_copy/element_update.h"
#include "runtime/kernels/operands/element_access.h"
#include "runtime/kernels/operands/gather_walk.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/scalar_element.h"
#include "runtime/kernels/operands/strided_view.h"
#include "runtime/kernels/operands/view_scatter.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

// Returns output 0 as a copy of `self`.
absl::StatusOr<TensorView*> CloneToOutput(KernelContext& context, const TensorView& self) {
  ABSL_RETURN_IF_ERROR(ExpectNumbers("self", self));
  ABSL_ASSIGN_OR_RETURN(TensorView * out, OutputOf(context, 0, self.dtype, self));
  ABSL_RETURN_IF_ERROR(CopyElements(self, *out));
  return out;
}

// ---- index_put

// Whether the list has exactly one mask and no other index.
bool IsOneMask(const ListView& list) {
  int masks = 0, others = 0;
  for (const EValue* element : list.elements) {
    const TensorView* index = element == nullptr ? nullptr : element->get_if<TensorView>();
    if (index == nullptr) continue;
    ++(index->dtype == DType::kBool || index->dtype == DType::kUint8 ? masks : others);
  }
  return masks == 1 && others == 0;
}

// Returns the first element. Precondition: there is one, with a dtype of kNumberTypes.
EValue FirstNumber(const TensorView& t) {
  if (IsComplex(t.dtype)) return EValue(Reader<std::complex<double>>(t)(0));
  if (IsFloatingPoint(t.dtype)) return EValue(Reader<double>(t)(0));
  return EValue(Reader<int64_t>(t)(0));
}

// Writes the values at the indexed positions of `out`. A single value for one mask may have any
// dtype and rank.
absl::Status PutInto(const KernelContext& context, const TensorView& out,
                     const IndexPutCall<KernelArguments>& call) {
  const TensorView* values = call.values;
  ABSL_RETURN_IF_ERROR(ExpectNumbers("values", *values));
  const bool accumulate = call.accumulate;
  ScalarElement value;
  TensorView one;
  if (IsOneMask(call.indices) && !accumulate && values->numel() == 1) {
    ABSL_ASSIGN_OR_RETURN(value, ScalarElement::Create(FirstNumber(*values), out.dtype));
    one.dtype = out.dtype;
    one.data = value.data();
    values = &one;
  }
  if (values->dtype != out.dtype) {
    return absl::InvalidArgumentError(absl::StrCat("values: expected ", DTypeName(out.dtype),
                                                   ", got ", DTypeName(values->dtype)));
  }
  ABSL_ASSIGN_OR_RETURN(const IndexWalk walk, IndexWalk::Create(context, call.indices, out));
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

absl::Status IndexPut(KernelContext& context, const IndexPutCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(TensorView * out, CloneToOutput(context, *call.self));
  return PutInto(context, *out, call);
}

absl::Status IndexPutInPlace(KernelContext& context, const IndexPutCall<KernelArguments>& call) {
  ABSL_RETURN_IF_ERROR(ExpectNumbers("self", *call.self));
  ABSL_ASSIGN_OR_RETURN(TensorView * self, context.MutableTensor(call.target));
  ABSL_RETURN_IF_ERROR(PutInto(context, *self, call));
  return ReturnSelf(context, *self);
}

// ---- scatter

using Call = ScatterCall<KernelArguments>;

// Loop operands.
struct ScatterOperands {
  int dim;
  TensorView index;
  TensorView src;
};

// `element` receives the scalar of a call without src.
absl::StatusOr<ScatterOperands> OperandsOf(const Call& call, ScalarElement& element) {
  ABSL_RETURN_IF_ERROR(ExpectNumbers("self", *call.self));
  ScatterOperands operands = {0, *call.index, *call.index};
  if (call.src != nullptr) {
    operands.src = *call.src;
  } else {
    ABSL_ASSIGN_OR_RETURN(element, ScalarElement::Create(call.value, call.self->dtype));
    operands.src.dtype = call.self->dtype;
    operands.src.strides = Strides(call.index->rank(), 0);
    operands.src.data = element.data();
  }
  ABSL_ASSIGN_OR_RETURN(operands.dim, call.CheckShapes());
  return operands;
}

absl::Status ScatterInto(const TensorView& out, const ScatterOperands& operands, Update update) {
  if (update == Update::kAdd && out.dtype == DType::kFloat32) {  // the frequent case
    float* const to = out.as<float>();
    const float* const from = operands.src.as<const float>();
    return WalkGather(out, operands.dim, operands.index, operands.src,
                      [&](int64_t out_offset, int64_t offset) { to[out_offset] += from[offset]; });
  }
  const UpdateFn fn = UpdateOf(update, out.dtype);
  return WalkGather(out, operands.dim, operands.index, operands.src,
                    [&](int64_t out_offset, int64_t offset) {
                      fn(out.data, out_offset, operands.src.data, offset);
                    });
}

// Copies of float16 and bfloat16 operands as float32 in scratch memory. They are summed and
// multiplied in float32 and rounded once, as in PyTorch.
class WideOperands {
 public:
  // If `counted`, the scratch memory begins with one int64 per element of self.
  static uint64_t ScratchBytes(const Call& call, bool counted) {
    const uint64_t elements = static_cast<uint64_t>(call.self->numel());
    const uint64_t sources = call.src == nullptr ? 0 : static_cast<uint64_t>(call.src->numel());
    return (counted ? elements * sizeof(int64_t) : 0) +
           (IsNarrow(call.self->dtype) ? (elements + sources) * sizeof(float) : 0);
  }

  // Uses `out` and the source of `operands` unchanged, or widened. Both must outlive the object.
  static absl::StatusOr<WideOperands> Create(const KernelContext& context, bool counted,
                                             bool tensor, const TensorView& out,
                                             const ScatterOperands& operands) {
    WideOperands wide(out, operands);
    if (!IsNarrow(out.dtype)) return wide;
    const int64_t skipped = counted ? 2 * out.numel() : 0;
    const int64_t sources = tensor ? operands.src.numel() : 0;
    ABSL_ASSIGN_OR_RETURN(float* const scratch,
                          ScratchArray<float>(context, skipped + out.numel() + sources));
    wide.out = TensorView::Contiguous(DType::kFloat32, out.sizes, scratch + skipped);
    ABSL_RETURN_IF_ERROR(CopyElements(out, wide.out));
    if (tensor) {
      wide.operands_.src = TensorView::Contiguous(DType::kFloat32, operands.src.sizes,
                                                  scratch + skipped + out.numel());
      ABSL_RETURN_IF_ERROR(CopyElements(operands.src, wide.operands_.src));
    } else {
      ABSL_ASSIGN_OR_RETURN(wide.number_, ScalarElement::Load(operands.src, DType::kFloat32));
      wide.operands_.src.dtype = DType::kFloat32;
      wide.is_number_ = true;
    }
    return wide;
  }
  // Precondition: the object does not move while the operands are used.
  const ScatterOperands& operands() {
    if (is_number_) operands_.src.data = number_.data();
    return operands_;
  }
  // Copies the result to the original output.
  absl::Status Finish() const { return CopyElements(out, target_); }

  TensorView out;

 private:
  static bool IsNarrow(DType dtype) {
    return dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  }
  WideOperands(const TensorView& target, const ScatterOperands& operands)
      : out(target), target_(target), operands_(operands) {}

  TensorView target_;
  ScatterOperands operands_;
  ScalarElement number_;
  bool is_number_ = false;
};

uint64_t ScatterScratch(const KernelContext& context, const Call& call) {
  return WideOperands::ScratchBytes(call, /*counted=*/false);
}

Update UpdateFor(ScatterReduction reduction, Update none) {
  switch (reduction) {
    case ScatterReduction::kNone:
      return none;
    case ScatterReduction::kProduct:
      return Update::kMultiply;
    case ScatterReduction::kMaximum:
      return Update::kMaximum;
    case ScatterReduction::kMinimum:
      return Update::kMinimum;
    case ScatterReduction::kSum:
    case ScatterReduction::kMean:
      break;
  }
  return Update::kAdd;
}

// `kUnnamed`: update of calls that do not name a reduction.
template <Update kUnnamed>
absl::Status Scatter(KernelContext& context, const Call& call) {
  const Update update = UpdateFor(call.reduction, kUnnamed);
  ScalarElement element;
  ABSL_ASSIGN_OR_RETURN(const ScatterOperands operands, OperandsOf(call, element));
  ABSL_ASSIGN_OR_RETURN(TensorView * out, CloneToOutput(context, *call.self));
  if (update == Update::kAssign) return ScatterInto(*out, operands, update);
  ABSL_ASSIGN_OR_RETURN(
      WideOperands wide,
      WideOperands::Create(context, /*counted=*/false, call.src != nullptr, *out, operands));
  ABSL_RETURN_IF_ERROR(ScatterInto(wide.out, wide.operands(), update));
  return wide.Finish();
}

// Neutral element of an update.
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

uint64_t ScatterReduceScratch(const KernelContext& context, const Call& call) {
  return WideOperands::ScratchBytes(call, /*counted=*/true);
}

// Divides each element by its number of updates, plus one if self is included.
absl::Status DivideByCounts(const KernelContext& context, const TensorView& out,
                            const ScatterOperands& operands, bool include_self) {
  ABSL_ASSIGN_OR_RETURN(int64_t* const counts, ScratchArray<int64_t>(context, out.numel()));
  const TensorView table = TensorView::Contiguous(DType::kInt64, out.sizes, counts);
  std::fill_n(counts, out.numel(), include_self ? 1 : 0);
  ABSL_RETURN_IF_ERROR(WalkGather(table, operands.dim, operands.index, operands.index,
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

absl::Status ScatterReduce(KernelContext& context, const Call& call) {
  const Update update = UpdateFor(call.reduction, Update::kAdd);
  ScalarElement unused;
  ABSL_ASSIGN_OR_RETURN(const ScatterOperands operands, OperandsOf(call, unused));
  ABSL_ASSIGN_OR_RETURN(TensorView * result, CloneToOutput(context, *call.self));
  ABSL_ASSIGN_OR_RETURN(WideOperands wide,
                        WideOperands::Create(context, /*counted=*/true,
                                             /*tensor=*/true, *result, operands));
  const TensorView& out = wide.out;
  if (!call.include_self) {
    absl::Status status;
    DispatchDType<kRealTypes>(out.dtype, [&](auto tag) {
      using T = CppType<tag.value>;
      const T neutral = NeutralElement<T>(update);
      status = WalkGather(out, operands.dim, operands.index, operands.index,
                          [&](int64_t offset, int64_t) {
                            std::memcpy(ElementAddress(out, offset), &neutral, sizeof(T));
                          });
    });
    ABSL_RETURN_IF_ERROR(status);
  }
  ABSL_RETURN_IF_ERROR(ScatterInto(out, wide.operands(), update));
  if (call.reduction == ScatterReduction::kMean) {
    ABSL_RETURN_IF_ERROR(DivideByCounts(context, out, operands, call.include_self));
  }
  return wide.Finish();
}

// ---- index_add, index_copy, index_fill

absl::Status IndexAdd(KernelContext& context, const IndexUpdateCall<KernelArguments>& call) {
  ABSL_RETURN_IF_ERROR(ExpectNumbers("self", *call.self));
  ABSL_ASSIGN_OR_RETURN(const ScalarElement alpha,
                        ScalarElement::Create(call.alpha, call.self->dtype));
  ABSL_ASSIGN_OR_RETURN(const int dim, call.CheckShapes());
  const TensorView index = *call.index;
  ABSL_ASSIGN_OR_RETURN(TensorView * out, CloneToOutput(context, *call.self));
  return WalkSlices(*out, dim, index, call.source, /*wrap=*/false,
                    [&](const TensorView& target, const TensorView& addend) {
                      AddScaled(target, addend, alpha);
                      return absl::OkStatus();
                    });
}

absl::Status CopySlicesInto(const TensorView& out, const IndexUpdateCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const int dim, call.CheckShapes());
  const TensorView index = *call.index;
  return WalkSlices(out, dim, index, call.source, /*wrap=*/false,
                    [](const TensorView& target, const TensorView& slice) {
                      return CopyElements(slice, target);
                    });
}

absl::Status IndexCopy(KernelContext& context, const IndexUpdateCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(TensorView * out, CloneToOutput(context, *call.self));
  return CopySlicesInto(*out, call);
}

absl::Status IndexCopyInPlace(KernelContext& context,
                              const IndexUpdateCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(TensorView * self, context.MutableTensor(call.target));
  ABSL_RETURN_IF_ERROR(CopySlicesInto(*self, call));
  return ReturnSelf(context, *self);
}

template <bool kTensor>
absl::Status IndexFill(KernelContext& context,
                       const IndexFillCall<KernelArguments, kTensor>& call) {
  ABSL_RETURN_IF_ERROR(ExpectNumbers("self", *call.self));
  ScalarElement element;
  if constexpr (kTensor) {
    ABSL_RETURN_IF_ERROR(ExpectNumbers("value", *call.tensor));
    ABSL_ASSIGN_OR_RETURN(element, ScalarElement::Load(*call.tensor, call.self->dtype));
  } else {
    ABSL_ASSIGN_OR_RETURN(element, ScalarElement::Create(call.number, call.self->dtype));
  }
  ABSL_ASSIGN_OR_RETURN(const int dim, call.CheckShapes());
  const TensorView index = *call.index;
  ABSL_ASSIGN_OR_RETURN(TensorView * out, CloneToOutput(context, *call.self));
  return WalkSlices(*out, dim, index, nullptr, /*wrap=*/true,
                    [&](const TensorView& target, const TensorView&) {
                      element.Fill(target);
                      return absl::OkStatus();
                    });
}

// ---- masks and views

absl::Status MaskedScatter(KernelContext& context, const MaskedScatterCall<KernelArguments>& call) {
  const TensorView *const self = call.self, *const mask = call.mask, *const source = call.source;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> dims, call.Shape());
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
    KernelRow<&AsStridedScatter<&CopyElements>>("aten.as_strided_scatter.default",
                                                "self src size stride storage_offset",
                                                "AsStridedScatter", kReference),
    KernelRow<&ViewScatter<DiagonalRule, &CopyElements>>("aten.diagonal_scatter.default",
                                                         "self src offset dim1 dim2",
                                                         "DiagonalScatter", kReference),
    KernelRow<&IndexAdd>("aten.index_add.default", "self dim index source alpha", "IndexAdd",
                         kReference),
    KernelRow<&IndexCopy>("aten.index_copy.default", "self dim index source", "IndexCopy",
                          kReference),
    KernelRow<&IndexCopyInPlace>("aten.index_copy_.default", "self dim index source",
                                 "IndexCopyInPlace", kReference),
    KernelRow<&IndexFill<false>>("aten.index_fill.int_Scalar", "self dim index value", "IndexFill",
                                 kReference),
    KernelRow<&IndexFill<true>>("aten.index_fill.int_Tensor", "self dim index value", "IndexFill",
                                kReference),
    KernelRow<&IndexPut, nullptr, &IndexScratch<IndexPutCall<KernelArguments>>>(
        "aten.index_put.default", "self indices values accumulate", "IndexPut", kReference),
    KernelRow<&IndexPutInPlace, nullptr, &IndexScratch<IndexPutCall<KernelArguments>>>(
        "aten.index_put_.default", "self indices values accumulate", "IndexPutInPlace", kReference),
    KernelRow<&MaskedScatter>("aten.masked_scatter.default", "self mask source", "MaskedScatter",
                              kReference),
    KernelRow<&Scatter<Update::kAssign>, nullptr, &ScatterScratch>(
        "aten.scatter.reduce", "self dim index src reduce", "ScatterNamed", kReference),
    KernelRow<&Scatter<Update::kAssign>>("aten.scatter.src", "self dim index src", "Scatter",
                                         kReference),
    KernelRow<&Scatter<Update::kAssign>>("aten.scatter.value", "self dim index value",
                                         "ScatterValue", kReference),
    KernelRow<&Scatter<Update::kAssign>, nullptr, &ScatterScratch>("aten.scatter.value_reduce",
                                                                   "self dim index value reduce",
                                                                   "ScatterValueNamed", kReference),
    KernelRow<&Scatter<Update::kAdd>, nullptr, &ScatterScratch>(
        "aten.scatter_add.default", "self dim index src", "ScatterAdd", kReference),
    KernelRow<&ScatterReduce, nullptr, &ScatterReduceScratch>(
        "aten.scatter_reduce.two", "self dim index src reduce include_self", "ScatterReduce",
        kReference),
    KernelRow<&ViewScatter<SelectRule, &CopyElements>>(
        "aten.select_scatter.default", "self src dim index", "SelectScatter", kReference),
    KernelRow<&ViewScatter<SliceRule, &CopyElements>>(
        "aten.slice_scatter.default", "self src dim start end step", "SliceScatter", kReference),
    KernelRow<&ViewScatterInPlace<SelectRule, &CopyElements>>(
        "belay.select_scatter_.default", "self src dim index", "SelectScatterInPlace", kReference),
    KernelRow<&SetRow<&CopyElements>>("belay.set_row_.default", "self row index count", "SetRow",
                                      kReference),
    KernelRow<&ViewScatterInPlace<SliceRule, &CopyElements>>("belay.slice_scatter_.default",
                                                             "self src dim start end step",
                                                             "SliceScatterInPlace", kReference),
};

}  // namespace

absl::Span<const Kernel> ScatterKernels() { return kKernels; }

}  // namespace belay
