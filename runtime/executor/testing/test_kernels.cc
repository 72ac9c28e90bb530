#include "runtime/executor/testing/test_kernels.h"

#include <cstdint>
#include <cstring>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/dtype.h"
#include "runtime/core/evalue.h"
#include "runtime/core/sizes.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernel_interface/kernel_arguments.h"

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

// Call structs.
struct NoArguments {
  static absl::StatusOr<NoArguments> Read(const KernelArguments&) { return NoArguments(); }
};
struct TensorCall {
  const TensorView* a = nullptr;
  MutableArgument target;  // a, for kernels that write to it

  static absl::StatusOr<TensorCall> Read(const KernelArguments& arguments) {
    TensorCall call;
    ABSL_ASSIGN_OR_RETURN(call.a, arguments.Tensor("a"));
    ABSL_ASSIGN_OR_RETURN(call.target, arguments.Mutable("a"));
    return call;
  }
};
struct TensorsCall {
  const TensorView *a = nullptr, *b = nullptr;
  MutableArgument target;  // a, for kernels that write to it

  static absl::StatusOr<TensorsCall> Read(const KernelArguments& arguments) {
    TensorsCall call;
    ABSL_ASSIGN_OR_RETURN(call.a, arguments.Tensor("a"));
    ABSL_ASSIGN_OR_RETURN(call.target, arguments.Mutable("a"));
    ABSL_ASSIGN_OR_RETURN(call.b, arguments.Tensor("b"));
    return call;
  }
};
struct SizeCall {
  const TensorView* a = nullptr;
  int64_t dim = 0;

  static absl::StatusOr<SizeCall> Read(const KernelArguments& arguments) {
    SizeCall call;
    ABSL_ASSIGN_OR_RETURN(call.a, arguments.Tensor("a"));
    ABSL_ASSIGN_OR_RETURN(call.dim, arguments.StaticInt("dim"));
    return call;
  }
};
struct IntsCall {
  int64_t x = 0, y = 0;

  static absl::StatusOr<IntsCall> Read(const KernelArguments& arguments) {
    IntsCall call;
    ABSL_ASSIGN_OR_RETURN(call.x, arguments.StaticInt("x"));
    ABSL_ASSIGN_OR_RETURN(call.y, arguments.StaticInt("y"));
    return call;
  }
};
struct UnsetCall {
  bool fail = false;

  static absl::StatusOr<UnsetCall> Read(const KernelArguments& arguments) {
    UnsetCall call;
    ABSL_ASSIGN_OR_RETURN(call.fail, arguments.Bool("fail"));
    return call;
  }
};

absl::Status Add(KernelContext& context, const TensorsCall& call) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, context.Output(0, call.a->sizes));
  return AddInto(*call.a, *call.b, *out);
}

bool AcceptsAdd(const KernelContext&, const TensorsCall& call) {
  return call.a->dtype == DType::kFloat32;
}

absl::Status AddInPlace(KernelContext& context, const TensorsCall& call) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* a, context.MutableTensor(call.target));
  ABSL_RETURN_IF_ERROR(context.Output(0, a->sizes).status());
  return AddInto(*a, *call.b, *a);
}

absl::Status WriteArgument(KernelContext& context, const TensorCall& call) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* a, context.MutableTensor(call.target));
  ABSL_RETURN_IF_ERROR(CheckFloat(*a));
  for (StridedIterator<1> it(a->sizes, {a->strides}); !it.done(); it.Next()) {
    a->as<float>()[it.offset(0)] = 1;
  }
  return absl::OkStatus();
}

absl::Status Size(KernelContext& context, const SizeCall& call) {
  if (call.dim < 0 || call.dim >= call.a->rank()) {
    return absl::InvalidArgumentError("no such dimension");
  }
  context.SetScalarOutput(0, call.a->sizes[static_cast<int>(call.dim)]);
  return absl::OkStatus();
}

absl::Status AddInt(KernelContext& context, const IntsCall& call) {
  const CheckedInt sum = CheckedInt(call.x) + CheckedInt(call.y);
  if (!sum.ok()) {
    return absl::OutOfRangeError(absl::StrCat(call.x, " + ", call.y, " does not fit in an int64"));
  }
  context.SetScalarOutput(0, sum.value());
  return absl::OkStatus();
}

absl::Status Less(KernelContext& context, const IntsCall& call) {
  context.SetScalarOutput(0, call.x < call.y);
  return absl::OkStatus();
}

absl::Status LessTensor(KernelContext& context, const TensorsCall& call) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, context.Output(0, call.a->sizes));
  ABSL_RETURN_IF_ERROR(CheckFloat(*call.a));
  ABSL_RETURN_IF_ERROR(CheckFloat(*call.b));
  if (call.a->numel() != 1 || call.b->numel() != 1 || out->dtype != DType::kBool) {
    return absl::InvalidArgumentError("expected one element each, and a bool");
  }
  *out->as<uint8_t>() = *call.a->as<float>() < *call.b->as<float>();
  return absl::OkStatus();
}

absl::Status Split(KernelContext& context, const TensorCall& call) {
  const TensorView* const a = call.a;
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

absl::Status Scratch(KernelContext& context, const TensorCall& call) {
  const TensorView* const a = call.a;
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, context.Output(0, a->sizes));
  ABSL_RETURN_IF_ERROR(CheckFloat(*a));
  ABSL_RETURN_IF_ERROR(CheckFloat(*out));
  if (context.scratch().size() < a->nbytes()) return absl::InternalError("too little scratch");
  TensorView copy = TensorView::Contiguous(a->dtype, a->sizes, context.scratch().data());
  ABSL_RETURN_IF_ERROR(CopyElements(*a, copy));
  for (int64_t i = 0; i < a->numel(); ++i) copy.as<float>()[i] += 1;
  return CopyElements(copy, *out);
}

uint64_t ScratchBytes(const KernelContext&, const TensorCall& call) { return call.a->nbytes(); }

// As Scratch, with the working memory computed from the planned output.
uint64_t ScratchOfOutput(const KernelContext& context, const TensorCall&) {
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  return out.ok() ? (*out)->nbytes() : 0;
}

absl::Status Fail(KernelContext&, const NoArguments&) { return absl::InternalError("out of luck"); }

absl::Status SetNone(KernelContext& context, const NoArguments&) {
  context.SetScalarOutput(0, int64_t{7});
  return absl::OkStatus();
}

absl::Status NumThreads(KernelContext& context, const NoArguments&) {
  context.SetScalarOutput(0, int64_t{context.num_threads()});
  return absl::OkStatus();
}

absl::Status WrongKind(KernelContext& context, const NoArguments&) {
  context.SetScalarOutput(0, std::string_view("surprise"));
  return absl::OkStatus();
}

// Sets every output to none, and fails if its argument says so.
absl::Status Unset(KernelContext& context, const UnsetCall& call) {
  for (int i = 0; i < context.num_outputs(); ++i) context.SetScalarOutput(i, None{});
  return call.fail ? absl::InternalError("out of luck") : absl::OkStatus();
}
// Accepts calls with as many outputs as the signature.
bool AcceptsUnset(const KernelContext&, const UnsetCall&) { return true; }

struct TwiceCall {
  const TensorView* a = nullptr;
  const float* from = nullptr;
  float* to = nullptr;
  static absl::StatusOr<TwiceCall> Read(const KernelArguments& arguments) {
    ABSL_ASSIGN_OR_RETURN(const TensorView* a, arguments.Tensor("a", DTypeSet{DType::kFloat32}));
    return TwiceCall{.a = a};
  }
  bool Fix(const KernelContext& context) {
    from = a->as<const float>();
    to = context.output_slot(0)->get_if<TensorView>()->as<float>();
    return a->numel() == 1;
  }
  void RunFixed() const { *to = 2 * *from + 1; }
};
absl::Status Twice(KernelContext& context, const TwiceCall& call) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, context.Output(0, call.a->sizes));
  for (int64_t i = 0; i < out->numel(); ++i) out->as<float>()[i] = 2 * call.a->as<float>()[i];
  return absl::OkStatus();
}

constexpr KernelEngine kEngine = KernelEngine::kReference;
constexpr Kernel kKernels[] = {
    KernelRow<&Add, &AcceptsAdd>("test.add.Tensor", "a b", "Add", kEngine),
    KernelRow<&AddInPlace>("test.add_.Tensor", "a b", "AddInPlace", kEngine),
    KernelRow<&WriteArgument>("test.write_argument.default", "a -> 0", "WriteArgument", kEngine),
    KernelRow<&Size>("test.size.default", "a dim", "Size", kEngine),
    KernelRow<&AddInt>("test.add_int.default", "x y", "AddInt", kEngine),
    KernelRow<&Less>("test.less.default", "x y", "Less", kEngine),
    KernelRow<&LessTensor>("test.less_tensor.default", "a b", "LessTensor", kEngine),
    KernelRow<&Split>("test.split.default", "a", "Split", kEngine),
    KernelRow<&Scratch, nullptr, &ScratchBytes>("test.scratch.default", "a", "Scratch", kEngine),
    KernelRow<&Scratch, nullptr, &ScratchOfOutput>("test.scratch_of_output.default", "a",
                                                   "ScratchOfOutput", kEngine),
    KernelRow<&Twice>("test.twice.default", "a", "Twice", kEngine),
    KernelRow<&Fail>("test.fail.default", "-> 0", "Fail", kEngine),
    KernelRow<&SetNone>("test.none.default", "a", "SetNone", kEngine),
    KernelRow<&NumThreads>("test.num_threads.default", "", "NumThreads", kEngine),
    KernelRow<&WrongKind>("test.wrong_kind.default", "", "WrongKind", kEngine),
    KernelRow<&Unset, &AcceptsUnset>("test.unset.default", "fail -> 2", "UnsetTwo", kEngine),
    KernelRow<&Unset, &AcceptsUnset>("test.unset.default", "fail -> 3", "UnsetThree", kEngine),
};

}  // namespace

absl::Span<const Kernel> TestKernels() { return kKernels; }

}  // namespace belay
