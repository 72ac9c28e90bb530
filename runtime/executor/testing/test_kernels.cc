#include "runtime/executor/testing/test_kernels.h"

#include <cstdint>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/dtype.h"
#include "runtime/core/evalue.h"
#include "runtime/core/sizes.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/tensor_view.h"

namespace belay {
namespace {

absl::Status CheckFloat(const TensorView& view) {
  if (view.dtype == DType::kFloat32) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("expected f32, got ", view.ToString()));
}

absl::Status AddInto(const TensorView& a, const TensorView& b, const TensorView& out) {
  ABSL_RETURN_IF_ERROR(CheckFloat(a));
  ABSL_RETURN_IF_ERROR(CheckFloat(b));
  ABSL_RETURN_IF_ERROR(CheckFloat(out));
  if (!(a.sizes == b.sizes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("sizes differ: ", a.ToString(), " and ", b.ToString()));
  }
  for (StridedIterator<3> it(a.sizes, {a.strides, b.strides, out.strides}); !it.done(); it.Next()) {
    out.as<float>()[it.offset(2)] = a.as<float>()[it.offset(0)] + b.as<float>()[it.offset(1)];
  }
  return absl::OkStatus();
}

absl::Status Add(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* a, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const TensorView* b, context.Tensor(1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, context.Output(0, a->sizes));
  return AddInto(*a, *b, *out);
}

bool AcceptsAdd(const KernelContext& context) {
  if (!context.CheckArity(2, 1).ok()) return false;
  const absl::StatusOr<const TensorView*> a = context.Tensor(0);
  return a.ok() && (*a)->dtype == DType::kFloat32;
}

absl::Status AddInPlace(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* a, context.MutableTensor(0));
  ABSL_ASSIGN_OR_RETURN(const TensorView* b, context.Tensor(1));
  ABSL_RETURN_IF_ERROR(context.Output(0, a->sizes).status());
  return AddInto(*a, *b, *a);
}

absl::Status WriteArgument(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(1, 0));
  ABSL_ASSIGN_OR_RETURN(const TensorView* a, context.MutableTensor(0));
  ABSL_RETURN_IF_ERROR(CheckFloat(*a));
  for (StridedIterator<1> it(a->sizes, {a->strides}); !it.done(); it.Next()) {
    a->as<float>()[it.offset(0)] = 1;
  }
  return absl::OkStatus();
}

absl::Status Size(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* a, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const int64_t dim, context.Int(1));
  if (dim < 0 || dim >= a->rank()) return absl::InvalidArgumentError("no such dimension");
  context.SetScalarOutput(0, a->sizes[static_cast<int>(dim)]);
  return absl::OkStatus();
}

absl::Status AddInt(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  ABSL_ASSIGN_OR_RETURN(const int64_t x, context.Int(0));
  ABSL_ASSIGN_OR_RETURN(const int64_t y, context.Int(1));
  const CheckedInt sum = CheckedInt(x) + CheckedInt(y);
  if (!sum.ok()) {
    return absl::OutOfRangeError(absl::StrCat(x, " + ", y, " does not fit in an int64"));
  }
  context.SetScalarOutput(0, sum.value());
  return absl::OkStatus();
}

absl::Status Less(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  ABSL_ASSIGN_OR_RETURN(const int64_t x, context.Int(0));
  ABSL_ASSIGN_OR_RETURN(const int64_t y, context.Int(1));
  context.SetScalarOutput(0, x < y);
  return absl::OkStatus();
}

absl::Status LessTensor(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* x, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const TensorView* y, context.Tensor(1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, context.Output(0, x->sizes));
  ABSL_RETURN_IF_ERROR(CheckFloat(*x));
  ABSL_RETURN_IF_ERROR(CheckFloat(*y));
  if (x->numel() != 1 || y->numel() != 1 || out->dtype != DType::kBool) {
    return absl::InvalidArgumentError("expected one element each, and a bool");
  }
  *out->as<uint8_t>() = *x->as<float>() < *y->as<float>();
  return absl::OkStatus();
}

absl::Status Split(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(1, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* a, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const int count, context.OutputListSize(0));
  if (a->rank() < 1 || a->sizes[0] != count) return absl::InvalidArgumentError("wrong list");
  TensorView slice = *a;
  slice.sizes[0] = 1;
  for (int k = 0; k < count; ++k) {
    ABSL_ASSIGN_OR_RETURN(const TensorView* out, context.OutputListElement(0, k, slice.sizes));
    slice.data = a->as<std::byte>() + k * a->strides[0] * DTypeSize(a->dtype);
    if (out->dtype != a->dtype) return absl::InvalidArgumentError("another dtype");
    ABSL_RETURN_IF_ERROR(CopyElements(slice, *out));
  }
  return absl::OkStatus();
}

absl::Status Scratch(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(1, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* a, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, context.Output(0, a->sizes));
  ABSL_RETURN_IF_ERROR(CheckFloat(*a));
  ABSL_RETURN_IF_ERROR(CheckFloat(*out));
  if (context.scratch().size() < a->nbytes()) return absl::InternalError("too little scratch");
  TensorView copy = TensorView::Contiguous(a->dtype, a->sizes, context.scratch().data());
  ABSL_RETURN_IF_ERROR(CopyElements(*a, copy));
  for (int64_t i = 0; i < a->numel(); ++i) copy.as<float>()[i] += 1;
  return CopyElements(copy, *out);
}

uint64_t ScratchBytes(const KernelContext& context) {
  if (!context.CheckArity(1, 1).ok()) return 0;
  const absl::StatusOr<const TensorView*> a = context.Tensor(0);
  return a.ok() ? (*a)->nbytes() : 0;
}

absl::Status Fail(KernelContext& context) { return absl::InternalError("out of luck"); }

absl::Status SetNone(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(1, 1));
  context.SetScalarOutput(0, int64_t{7});
  return absl::OkStatus();
}

absl::Status WrongKind(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(0, 1));
  context.SetScalarOutput(0, std::string_view("surprise"));
  return absl::OkStatus();
}

// Leaves none in every output, and fails if its argument says so.
absl::Status Unset(KernelContext& context) {
  if (context.num_arguments() != 1) return absl::InvalidArgumentError("expected one argument");
  ABSL_ASSIGN_OR_RETURN(const bool fail, context.Bool(0));
  for (int i = 0; i < context.num_outputs(); ++i) context.SetScalarOutput(i, None{});
  return fail ? absl::InternalError("out of luck") : absl::OkStatus();
}

constexpr KernelEngine kEngine = KernelEngine::kReference;
constexpr Kernel kKernels[] = {
    {"test.add.Tensor", "Add", kEngine, &Add, &AcceptsAdd},
    {"test.add_.Tensor", "AddInPlace", kEngine, &AddInPlace},
    {"test.write_argument.default", "WriteArgument", kEngine, &WriteArgument},
    {"test.size.default", "Size", kEngine, &Size},
    {"test.add_int.default", "AddInt", kEngine, &AddInt},
    {"test.less.default", "Less", kEngine, &Less},
    {"test.less_tensor.default", "LessTensor", kEngine, &LessTensor},
    {"test.split.default", "Split", kEngine, &Split},
    {"test.scratch.default", "Scratch", kEngine, &Scratch, nullptr, &ScratchBytes},
    {"test.fail.default", "Fail", kEngine, &Fail},
    {"test.none.default", "SetNone", kEngine, &SetNone},
    {"test.wrong_kind.default", "WrongKind", kEngine, &WrongKind},
    {"test.unset.default", "Unset", kEngine, &Unset},
};

}  // namespace

absl::Span<const Kernel> TestKernels() { return kKernels; }

}  // namespace belay
