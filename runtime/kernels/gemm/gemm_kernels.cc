// mm, bmm and addmm.
#include <algorithm>

#include "runtime/core/status_macros.h"
#include "runtime/kernel/shape_rules/matmul.h"
#include "runtime/kernels/dense.h"
#include "runtime/kernels/gemm/gemm.h"
#include "runtime/kernels/reference/operands.h"

namespace belay {
namespace {

constexpr DTypeSet kF32 = {DType::kFloat32};

uint64_t ScratchFor(const KernelContext& context, int a) {
  const TensorView* t = context.argument(a).get_if<TensorView>();
  if (t == nullptr || t->rank() == 0) return 0;
  return GemmScratch(static_cast<size_t>(t->sizes[t->rank() - 1])) * sizeof(float);
}

// `first` is the position of the left matrix among the arguments.
absl::Status Multiply(KernelContext& context, int first, int batch_dims, GemmF32Args args) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* a, TensorOf(context, first, "first matrix", kF32));
  ABSL_ASSIGN_OR_RETURN(const TensorView* b, TensorOf(context, first + 1, "second matrix", kF32));
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape,
                        MatMulShape<CheckedInt>(ToDims(a->sizes), ToDims(b->sizes), batch_dims));
  ABSL_RETURN_IF_ERROR(CheckRowMajor(*a));
  ABSL_RETURN_IF_ERROR(CheckRowMajor(*b));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kFloat32, shape));
  ABSL_RETURN_IF_ERROR(CheckRowMajor(*out));
  const int64_t batches = batch_dims == 0 ? 1 : a->sizes[0];
  const int64_t m = a->sizes[batch_dims], k = a->sizes[batch_dims + 1],
                n = b->sizes[batch_dims + 1];
  if (m == 0 || n == 0) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(args.scratch,
                        ScratchArray<float>(context, static_cast<int64_t>(GemmScratch(k))));
  args.m = m;
  args.n = n;
  args.k = k;
  args.lda = k;
  args.ldb = n;
  args.ldc = n;
  for (int64_t i = 0; i < batches; ++i) {
    args.a = a->as<float>() + i * m * k;
    args.b = b->as<float>() + i * k * n;
    args.c = out->as<float>() + i * m * n;
    GemmF32(args);
  }
  return absl::OkStatus();
}

absl::Status Mm(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  return Multiply(context, 0, 0, {});
}

absl::Status Bmm(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  return Multiply(context, 0, 1, {});
}

// self, mat1, mat2, *, beta, alpha: a vector is added to each row.
absl::Status Addmm(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(5, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, TensorOf(context, 0, "self", kF32));
  ABSL_ASSIGN_OR_RETURN(const TensorView* b, TensorOf(context, 2, "second matrix", kF32));
  if (self->rank() != 1 || b->rank() != 2 || self->sizes[0] != b->sizes[1] ||
      !self->is_contiguous()) {
    return absl::InvalidArgumentError("addmm: self is not a vector as long as a row of the result");
  }
  GemmF32Args args;
  args.column_bias = self->as<float>();
  return Multiply(context, 1, 0, args);
}

bool IsOne(const EValue& value) {
  if (const int64_t* i = value.get_if<int64_t>()) return *i == 1;
  const double* d = value.get_if<double>();
  return d != nullptr && *d == 1;
}

bool AcceptsProduct(const KernelContext& context) {
  return context.num_arguments() == 2 && context.num_outputs() == 1 && IsRowMajorF32(context, 0) &&
         IsRowMajorF32(context, 1) && IsRowMajorF32Output(context, 0);
}

bool AcceptsAddmm(const KernelContext& context) {
  if (context.num_arguments() != 5 || context.num_outputs() != 1 || !IsRowMajorF32(context, 0) ||
      !IsRowMajorF32(context, 1) || !IsRowMajorF32(context, 2) ||
      !IsRowMajorF32Output(context, 0)) {
    return false;
  }
  const TensorView* self = context.argument(0).get_if<TensorView>();
  const TensorView* b = context.argument(2).get_if<TensorView>();
  // A vector of one element would be broadcast.
  return self->rank() == 1 && b->rank() == 2 && self->sizes[0] == b->sizes[1] &&
         IsOne(context.argument(3)) && IsOne(context.argument(4));
}

constexpr Kernel kKernels[] = {
    {"aten.mm.default", "MmF32", KernelEngine::kHighway, &Mm, &AcceptsProduct,
     [](const KernelContext& c) { return ScratchFor(c, 0); }},
    {"aten.bmm.default", "BmmF32", KernelEngine::kHighway, &Bmm, &AcceptsProduct,
     [](const KernelContext& c) { return ScratchFor(c, 0); }},
    {"aten.addmm.default", "AddmmF32", KernelEngine::kHighway, &Addmm, &AcceptsAddmm,
     [](const KernelContext& c) { return ScratchFor(c, 1); }},
};

}  // namespace

absl::Span<const Kernel> GemmKernels() { return kKernels; }

}  // namespace belay
