// The arguments of a meta kernel by the names of the operator's schema: what calls are read from in
// the compiler. runtime/kernel/kernel_arguments.h says what a class of arguments has.
#ifndef BELAY_EXIR_OPS_META_ARGUMENTS_H_
#define BELAY_EXIR_OPS_META_ARGUMENTS_H_

#include <complex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/op/meta_context.h"
#include "exir/ops/sym_bounds.h"
#include "exir/symbolic/assumed_equalities.h"
#include "runtime/core/dtype.h"
#include "runtime/core/evalue.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/shape_rules/dims.h"

namespace belay::exir {

// Numbers that only the program's run tells are expressions; asking for a number where there is one
// is an error. Cheap to make; the context must outlive it.
class MetaArguments {
 public:
  using Dim = SymInt;
  using TensorRef = const TensorMeta*;
  static const std::vector<SymInt>& SizesOf(TensorRef tensor) { return tensor->sizes; }

  explicit MetaArguments(const MetaContext& context) : context_(context) {}

  bool Has(std::string_view name) const { return Position(name) >= 0; }
  bool IsNone(std::string_view name) const { return (*this)[name].is_none(); }
  absl::StatusOr<const TensorMeta*> Tensor(std::string_view name,
                                           DTypeSet allowed = kAllTypes) const;
  absl::StatusOr<const TensorMeta*> OptionalTensor(std::string_view name,
                                                   DTypeSet allowed = kAllTypes) const;
  absl::StatusOr<MutableArgument> Mutable(std::string_view name) const;
  absl::StatusOr<std::vector<const TensorMeta*>> TensorList(std::string_view name) const;
  absl::StatusOr<SymInt> Int(std::string_view name) const;
  absl::StatusOr<int64_t> StaticInt(std::string_view name) const;
  absl::StatusOr<std::optional<int64_t>> OptionalInt(std::string_view name) const;
  absl::StatusOr<double> Double(std::string_view name) const;
  absl::StatusOr<std::optional<double>> OptionalDouble(std::string_view name) const;
  absl::StatusOr<bool> Bool(std::string_view name) const;
  absl::StatusOr<std::string> String(std::string_view name) const;
  absl::StatusOr<DType> Dtype(std::string_view name) const;
  absl::StatusOr<DType> DtypeOr(std::string_view name, DType fallback) const;
  absl::StatusOr<MemoryFormat> MemoryFormatOr(std::string_view name, MemoryFormat fallback) const;
  // The dtype category a Scalar argument promotes as (MetaContext::ScalarCategory).
  absl::StatusOr<DType> ScalarCategory(std::string_view name) const;
  absl::StatusOr<std::vector<SymInt>> IntList(std::string_view name) const;
  absl::StatusOr<Sizes> StaticIntList(std::string_view name) const;
  absl::StatusOr<int> ListSize(std::string_view name) const;
  absl::StatusOr<SymInt> ListInt(std::string_view name, int k) const;
  // An int[] argument of any length.
  using LongIntListRef = std::vector<SymInt>;
  absl::StatusOr<LongIntListRef> LongIntList(std::string_view name) const;
  static int CountOf(const LongIntListRef& list) { return static_cast<int>(list.size()); }
  static absl::StatusOr<SymInt> IntOf(const LongIntListRef& list, int k) { return list[k]; }
  absl::StatusOr<uint32_t> BoolMask(std::string_view name, int n) const;
  // As it stands in the call. None for a name that is not there.
  const MetaValue& operator[](std::string_view name) const;
  // int64, double, bool or complex, as given; none for a number that is not known.
  absl::StatusOr<EValue> Scalar(std::string_view name) const;
  absl::StatusOr<double> ListDouble(std::string_view name, int k) const;

  // A Scalar argument that becomes an element of `dtype`: the category it promotes as.
  // kInvalidArgument for a complex number that a real type does not hold.
  using ScalarRef = DType;
  absl::StatusOr<DType> ScalarFor(std::string_view name, DType dtype) const;
  // A Tensor?[] argument; null for none.
  using TensorListRef = std::vector<const TensorMeta*>;
  absl::StatusOr<TensorListRef> OptionalTensorList(std::string_view name) const {
    return TensorList(name);
  }

  // An operand of a pointwise operator: a tensor, or a number in the place of one.
  struct OperandRef {
    const MetaValue* value = nullptr;    // null for none
    const TensorMeta* tensor = nullptr;  // null for a number
    DType dtype = DType::kFloat32;       // the tensor's; of a number the category it promotes as
  };
  absl::StatusOr<OperandRef> Operand(std::string_view name) const;
  absl::StatusOr<OperandRef> Number(std::string_view name) const;  // a number alone
  // One that becomes an element of `dtype`, as ScalarFor.
  absl::StatusOr<OperandRef> NumberFor(std::string_view name, DType dtype) const;

  // kInvalidArgument about the call ("aten::add.Tensor: <message>"), and about one argument.
  absl::Status Error(std::string_view message) const;
  absl::Status ArgumentError(std::string_view name, std::string_view message) const;

  using Value = MetaValue;   // what operator[] gives
  using Text = std::string;  // what String gives

 private:
  int Position(std::string_view name) const;  // -1 for none of that name
  template <class T>
  absl::StatusOr<T> Get(std::string_view name,
                        absl::StatusOr<T> (MetaContext::*read)(int) const) const;

  const MetaContext& context_;
};

namespace meta_internal {

template <class T>
struct CallOfInfer;
template <class Call>
struct CallOfInfer<absl::Status (*)(MetaContext&, const Call&)> {
  using type = Call;
};

}  // namespace meta_internal

// The meta kernel (OpDef::meta) of an operator whose call is read by Call::Read: kInfer is
//   absl::Status Infer(MetaContext& context, const Call& call);
template <auto kInfer>
absl::Status MetaKernel(MetaContext& context) {
  using Call = typename meta_internal::CallOfInfer<decltype(kInfer)>::type;
  ABSL_ASSIGN_OR_RETURN(const Call call, Call::Read(MetaArguments(context)));
  return kInfer(context, call);
}

}  // namespace belay::exir

#endif  // BELAY_EXIR_OPS_META_ARGUMENTS_H_
