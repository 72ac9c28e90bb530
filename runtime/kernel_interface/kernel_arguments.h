// Reads the arguments of one call by the names of the operator's schema.
//
// Every operator with parameters has one call struct next to its shape rule
// (runtime/kernel_interface/shape_rules/). The struct is a template over the class of arguments and has one
// parser:
//
//   template <class Arguments>
//   struct PoolCall {
//     typename Arguments::TensorRef self;
//     Sizes kernel_size, stride, padding, dilation;
//     bool ceil_mode;
//     static absl::StatusOr<PoolCall> Read(const Arguments& arguments);
//   };
//
// The kernels of every engine use PoolCall<KernelArguments>; the compiler's meta kernel uses
// PoolCall<MetaArguments> (exir/ops/meta_arguments.h). A class of arguments has
//
//   Dim                             a scalar that may be known only at run time
//   TensorRef                       a pointer to the known properties of a tensor
//   SizesOf(TensorRef)              its sizes as dims
//   bool Has(name)                  whether the operator has such an argument at all
//   bool IsNone(name)
//   StatusOr<TensorRef> Tensor(name, DTypeSet = kAllTypes)      one of these dtypes
//   StatusOr<TensorRef> OptionalTensor(name, DTypeSet = …)      nullptr for none
//   StatusOr<Dim> Int(name)
//   StatusOr<int64_t> StaticInt(name)                           never an expression
//   StatusOr<Dims<Dim>> IntList(name)                           at most kMaxRank
//   StatusOr<Sizes> StaticIntList(name)                         at most kMaxRank
//   StatusOr<int> ListSize(name), StatusOr<Dim> ListInt(name, k)   of lists of any length
//   StatusOr<LongIntListRef> LongIntList(name)                  list kept in the call; elements:
//                                                               CountOf(list), IntOf(list, k)
//   StatusOr<double> Double(name), StatusOr<bool> Bool(name), StatusOr<DType> Dtype(name), …
//   OperandRef                      a tensor or a scalar, and the dtype it promotes as
//   StatusOr<OperandRef> Operand(name), StatusOr<OperandRef> Number(name)
//   Status Error(message), Status ArgumentError(name, message)  for errors found by a Read
//
// Errors are kInvalidArgument and name the argument, the expected and the actual value. Requesting
// a name that the operator does not have is kInternal: a bug in the kernel.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_KERNEL_ARGUMENTS_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_KERNEL_ARGUMENTS_H_

#include <concepts>
#include <cstdint>
#include <new>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/status/statusor.h"
#include "runtime/core/checked_math.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernel_interface/shape_rules/dims.h"

namespace belay {

// Reads a kernel's arguments. A single int counts as a list of one. Cheap to construct. The context
// and the signature string must outlive it. Returned references point into the slots of the call.
class KernelArguments {
 public:
  using Dim = CheckedInt;
  using TensorRef = const TensorView*;
  static Dims<CheckedInt> SizesOf(TensorRef tensor) { return ToDims(tensor->sizes); }

  KernelArguments(const KernelContext& context, std::string_view signature);

  // kInvalidArgument unless the call has as many arguments and outputs as the signature.
  absl::Status CheckArity() const;

  bool Has(std::string_view name) const { return Position(name) >= 0; }
  bool IsNone(std::string_view name) const;
  absl::StatusOr<const TensorView*> Tensor(std::string_view name,
                                           DTypeSet allowed = kAllTypes) const;
  absl::StatusOr<const TensorView*> OptionalTensor(std::string_view name,
                                                   DTypeSet allowed = kAllTypes) const;
  absl::StatusOr<MutableArgument> Mutable(std::string_view name) const;
  absl::StatusOr<CheckedInt> Int(std::string_view name) const;
  absl::StatusOr<int64_t> StaticInt(std::string_view name) const;
  absl::StatusOr<std::optional<int64_t>> OptionalInt(std::string_view name) const;
  absl::StatusOr<double> Double(std::string_view name) const;  // any real number
  absl::StatusOr<std::optional<double>> OptionalDouble(std::string_view name) const;
  absl::StatusOr<bool> Bool(std::string_view name) const;
  // Returns int64, double, bool or complex, as passed.
  absl::StatusOr<EValue> Scalar(std::string_view name) const;
  absl::StatusOr<std::string_view> String(std::string_view name) const;
  absl::StatusOr<DType> Dtype(std::string_view name) const;
  absl::StatusOr<DType> DtypeOr(std::string_view name, DType fallback) const;  // if None
  absl::StatusOr<Dims<CheckedInt>> IntList(std::string_view name) const;
  absl::StatusOr<Sizes> StaticIntList(std::string_view name) const;
  absl::StatusOr<int> ListSize(std::string_view name) const;
  absl::StatusOr<CheckedInt> ListInt(std::string_view name, int k) const;
  // An int[] argument of any length, by reference to its slot.
  using LongIntListRef = const EValue*;
  absl::StatusOr<LongIntListRef> LongIntList(std::string_view name) const;
  static int CountOf(LongIntListRef list);
  // Precondition: 0 <= k < CountOf(list).
  static absl::StatusOr<CheckedInt> IntOf(LongIntListRef list, int k);
  absl::StatusOr<ListView> List(std::string_view name) const;
  // A bool[n] argument as a bit mask: bit k is element k. n <= 32.
  absl::StatusOr<uint32_t> BoolMask(std::string_view name, int n) const;
  // The raw value, for operators that accept any kind. None for an unknown name.
  const EValue& operator[](std::string_view name) const;
  absl::StatusOr<double> ListDouble(std::string_view name, int k) const;  // of a list of floats

  // A Scalar argument that will be converted to an element of `dtype`; the conversion checks the
  // range.
  using ScalarRef = EValue;
  absl::StatusOr<EValue> ScalarFor(std::string_view name, DType dtype) const {
    return Scalar(name);
  }
  // A Tensor?[] argument; read its elements with OptionalListTensor (tensor_list.h).
  using TensorListRef = ListView;
  absl::StatusOr<ListView> OptionalTensorList(std::string_view name) const { return List(name); }
  // A Tensor[] argument; read its elements with ListTensor.
  absl::StatusOr<ListView> TensorList(std::string_view name) const { return List(name); }

  // An operand of a pointwise operator: a tensor, or a scalar in place of a tensor.
  struct OperandRef {
    const EValue* value = nullptr;       // in its slot; null for none
    const TensorView* tensor = nullptr;  // null for a scalar
    DType dtype = DType::kFloat32;       // of the tensor; for a scalar the category it promotes as
  };
  absl::StatusOr<OperandRef> Operand(std::string_view name) const;
  absl::StatusOr<OperandRef> Number(std::string_view name) const;  // scalars only
  // A scalar that will be converted to an element of `dtype`; the conversion checks the range.
  absl::StatusOr<OperandRef> NumberFor(std::string_view name, DType dtype) const {
    return Number(name);
  }

  // kInvalidArgument about the whole call, and about one argument.
  absl::Status Error(std::string_view message) const;
  absl::Status ArgumentError(std::string_view name, std::string_view message) const;

  using Value = EValue;           // returned by operator[]
  using Text = std::string_view;  // returned by String
  absl::StatusOr<MemoryFormat> MemoryFormatOr(std::string_view name, MemoryFormat fallback) const;

 private:
  static constexpr int kMostArguments = 24;
  int Position(std::string_view name) const;  // -1 for an unknown name
  // Returns the result of the context's accessor `read` for the argument; errors name the argument.
  template <class T>
  absl::StatusOr<T> Get(std::string_view name,
                        absl::StatusOr<T> (KernelContext::*read)(int) const) const;

  const KernelContext& context_;
  EValue none_;
  std::string_view names_[kMostArguments];
  int count_ = 0;
  int outputs_ = 1;
};

namespace kernel_internal {

template <class T>
struct CallOfRun;
template <class Call>
struct CallOfRun<absl::Status (*)(KernelContext&, const Call&)> {
  using type = Call;
};

template <class Call>
absl::Status ReadCall(const KernelContext& context, std::string_view signature, void* memory) {
  const KernelArguments arguments(context, signature);
  absl::Status arity = arguments.CheckArity();
  if (!arity.ok()) return arity;
  absl::StatusOr<Call> call = Call::Read(arguments);
  if (!call.ok()) return call.status();
  new (memory) Call(*std::move(call));
  return absl::OkStatus();
}

template <auto kRun>
absl::Status RunCall(KernelContext& context, const void* call) {
  using Call = typename CallOfRun<decltype(kRun)>::type;
  return kRun(context, *static_cast<const Call*>(call));
}

template <class Call, auto kFunction>
auto Ask(const KernelContext& context, const void* call) {
  return kFunction(context, *static_cast<const Call*>(call));
}

// Calls that can be fixed define both functions.
template <class Call>
concept Fixable = requires(Call& call, const Call& fixed, const KernelContext& context) {
  { call.Fix(context) } -> std::same_as<bool>;
  { fixed.RunFixed() } -> std::same_as<void>;
};

template <class Call>
bool FixCall(const KernelContext& context, void* call) {
  return static_cast<Call*>(call)->Fix(context);
}

template <class Call>
void RunFixedCall(const void* call) {
  static_cast<const Call*>(call)->RunFixed();
}

}  // namespace kernel_internal

// Extracts Call from the signature of a row's function, `absl::Status Run(KernelContext&, const
// Call&)`.
template <auto kRun>
using CallOfRun = typename kernel_internal::CallOfRun<decltype(kRun)>::type;

// Creates the table row of a kernel whose call is parsed once. kRun is
//   absl::Status Run(KernelContext& context, const Call& call);
// where Call has `static absl::StatusOr<Call> Read(const KernelArguments&)` and needs no
// destructor. kAccepts and kScratchBytes, if any, are
//   bool Accepts(const KernelContext& context, const Call& call);
//   uint64_t ScratchBytes(const KernelContext& context, const Call& call);
// A Call with `bool Fix(const KernelContext&)` and `void RunFixed() const` can be fixed
// (Kernel::fix_call). A row with kAccepts rejects a call that can't be parsed. A row without
// kAccepts accepts it and returns the error at run time. `signature` lists the names of the
// schema's arguments in order, and the number of results if it is not one: "self dim keepdim -> 2".
// exir/ops/kernel_signatures_test checks it against the schema. `facts`: Kernel::facts.
template <auto kRun, auto kAccepts = nullptr, auto kScratchBytes = nullptr>
constexpr Kernel KernelRow(std::string_view op, std::string_view signature, std::string_view name,
                           KernelEngine engine, const OperatorFacts* facts = nullptr) {
  using Call = CallOfRun<kRun>;
  static_assert(std::is_trivially_destructible_v<Call>);
  static_assert(sizeof(Call) <= kMaxCallBytes && alignof(Call) <= kCallAlignment);
  Kernel row = {.op = op, .name = name, .engine = engine};
  row.signature = signature;
  row.facts = facts;
  row.call_bytes = sizeof(Call);
  row.read_call = &kernel_internal::ReadCall<Call>;
  row.run_call = &kernel_internal::RunCall<kRun>;
  if constexpr (kAccepts != nullptr) row.accepts_call = &kernel_internal::Ask<Call, kAccepts>;
  if constexpr (kScratchBytes != nullptr) {
    row.scratch_bytes_of_call = &kernel_internal::Ask<Call, kScratchBytes>;
  }
  if constexpr (kernel_internal::Fixable<Call>) {
    row.fix_call = &kernel_internal::FixCall<Call>;
    row.run_fixed_call = &kernel_internal::RunFixedCall<Call>;
  }
  return row;
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_KERNEL_ARGUMENTS_H_
