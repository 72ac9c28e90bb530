// Access to the arguments of a meta kernel by the names of the operator's schema. Compiler
// counterpart of runtime/kernel_interface/kernel_arguments.h, which documents the concept of an arguments
// class.
#ifndef BELAY_EXIR_OPS_META_ARGUMENTS_H_
#define BELAY_EXIR_OPS_META_ARGUMENTS_H_

#include <complex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/op_definition/meta_context.h"
#include "exir/ops/sym_bounds.h"
#include "exir/symbolic/assumed_equalities.h"
#include "runtime/core/dtype.h"
#include "runtime/core/evalue.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernel_interface/shape_rules/dims.h"

namespace belay::exir {

// Numbers that are known only at run time are expressions; reading one as a constant is an error.
// Cheap to create; the context must outlive it.
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
  // The dtype as which a Scalar argument takes part in promotion (MetaContext::ScalarCategory).
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
  // The argument as in the call. None for an unknown name.
  const MetaValue& operator[](std::string_view name) const;
  // Returns int64, double, bool or complex, as passed; none for a number that is known only at run
  // time.
  absl::StatusOr<EValue> Scalar(std::string_view name) const;
  absl::StatusOr<double> ListDouble(std::string_view name, int k) const;

  // A Scalar argument that is converted to `dtype`; represented by its promotion dtype.
  // kInvalidArgument for a complex number if `dtype` is real.
  using ScalarRef = DType;
  absl::StatusOr<DType> ScalarFor(std::string_view name, DType dtype) const;
  // A Tensor?[] argument; null for None.
  using TensorListRef = std::vector<const TensorMeta*>;
  absl::StatusOr<TensorListRef> OptionalTensorList(std::string_view name) const {
    return TensorList(name);
  }

  // An operand of a pointwise operator: a tensor, or a scalar in place of one.
  struct OperandRef {
    const MetaValue* value = nullptr;    // null for None
    const TensorMeta* tensor = nullptr;  // null for a scalar
    DType dtype = DType::kFloat32;       // of a tensor; for a scalar its promotion dtype
  };
  absl::StatusOr<OperandRef> Operand(std::string_view name) const;
  absl::StatusOr<OperandRef> Number(std::string_view name) const;  // must be a scalar
  // A scalar that is converted to `dtype`, as ScalarFor.
  absl::StatusOr<OperandRef> NumberFor(std::string_view name, DType dtype) const;

  // Returns kInvalidArgument about the call ("aten::add.Tensor: <message>"), or about one argument.
  absl::Status Error(std::string_view message) const;
  absl::Status ArgumentError(std::string_view name, std::string_view message) const;

  using Value = MetaValue;   // result of operator[]
  using Text = std::string;  // result of String

 private:
  int Position(std::string_view name) const;  // -1 for an unknown name
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

// The meta kernel (OpDef::meta) of an operator whose arguments Call::Read parses. kInfer is
//   absl::Status Infer(MetaContext& context, const Call& call);
template <auto kInfer>
absl::Status MetaKernel(MetaContext& context) {
  using Call = typename meta_internal::CallOfInfer<decltype(kInfer)>::type;
  ABSL_ASSIGN_OR_RETURN(const Call call, Call::Read(MetaArguments(context)));
  return kInfer(context, call);
}

}  // namespace belay::exir

#endif  // BELAY_EXIR_OPS_META_ARGUMENTS_H_
