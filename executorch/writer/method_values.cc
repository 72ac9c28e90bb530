// Translates the values of a method: tensors, scalars, lists and literals.
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "executorch/format/scalar_type.h"
#include "executorch/writer/method_translator.h"
#include "runtime/core/dtype.h"
#include "runtime/core/sha256.h"

namespace belay::pte {
template <class T>
MethodTranslator::Index MethodTranslator::Literal(T literal, std::string_view content) {
  constexpr auto kKind = static_cast<char>(KernelTypesUnionTraits<T>::enum_value);
  std::string key(1, kKind);
  key.append(content);
  const auto it = literals_.find(key);
  if (it != literals_.end()) return it->second;
  const Index index = AddValue(std::move(literal));
  literals_.emplace(std::move(key), index);
  return index;
}

MethodTranslator::Index MethodTranslator::Int(int64_t number) {
  IntT value;
  value.int_val = number;
  return Literal(std::move(value), std::to_string(number));
}

MethodTranslator::Index MethodTranslator::Bool(bool truth) {
  BoolT value;
  value.bool_val = truth;
  return Literal(std::move(value), truth ? "1" : "0");
}

MethodTranslator::Index MethodTranslator::Ints(const std::vector<int64_t>& numbers) {
  IntListT list;
  for (int64_t number : numbers) list.items.push_back(Int(number));
  const std::string key = absl::StrJoin(list.items, ",");
  return Literal(std::move(list), key);
}

MethodTranslator::Index MethodTranslator::TensorList(std::vector<Index> tensors) {
  TensorListT list;
  list.items = std::move(tensors);
  const std::string key = absl::StrJoin(list.items, ",");
  return Literal(std::move(list), key);
}

void MethodTranslator::AddTensor(uint32_t value, const schema::Tensor& tensor) {
  TensorT out;
  const auto dtype = static_cast<DType>(tensor.dtype());
  const std::optional<int8_t> type = ToScalarType(dtype);
  if (!type.has_value()) {
    Problem(absl::StrCat("ExecuTorch has no dtype ", std::string(DTypeName(dtype))));
  }
  out.scalar_type = type.value_or(0);
  for (int64_t size : tensor.sizes()) {
    if (size > std::numeric_limits<int32_t>::max()) {
      Problem(absl::StrCat("a tensor of size ", size, " in one dimension: sizes have 31 bits"));
    }
    out.sizes.push_back(static_cast<int32_t>(size));
  }
  out.dim_order.assign(tensor.dim_order().begin(), tensor.dim_order().end());
  if (tensor.dynamic_dims() != 0 || row_by_row_.contains(value)) {
    out.shape_dynamism = TensorShapeDynamism::DYNAMIC_BOUND;
  }
  const auto place = [&](uint32_t memory, uint64_t offset) {
    out.allocation_info = std::make_unique<AllocationDetailsT>();
    out.allocation_info->memory_id = memory;
    out.allocation_info->memory_offset_low = static_cast<uint32_t>(offset);
    out.allocation_info->memory_offset_high = static_cast<uint32_t>(offset >> 32);
  };
  switch (tensor.location_case()) {
    case schema::Tensor::kConstant:
      if (const ProgramData::Stored& stored = data_.stored[tensor.constant()];
          !stored.file.empty()) {
        schema::Tensor layout = tensor;
        layout.clear_location();
        std::string key = stored.name;
        if (key.empty()) {
          // Equal bytes may have different tensor layouts.
          const std::string content = Sha256(bytes_[tensor.constant()].bytes);
          key = absl::BytesToHexString(
              Sha256(absl::StrCat(layout.SerializeAsString(), content)).substr(0, 16));
        }
        out.extra_tensor_info = std::make_unique<ExtraTensorInfoT>();
        out.extra_tensor_info->fully_qualified_name = key;
        out.extra_tensor_info->location = TensorDataLocation::EXTERNAL;
        data_.external_constants[stored.file].try_emplace(
            key, ExternalConstant{tensor.constant(), layout});
      } else {
        out.data_buffer_idx = data_.constants.Add(tensor.constant());
      }
      break;
    case schema::Tensor::kArenaOffset: {
      uint64_t offset = tensor.arena_offset();
      uint32_t memory = kArena;
      for (int b = 0; b + 1 < method_.banks_size() && offset >= method_.banks(b).bytes(); ++b) {
        offset -= method_.banks(b).bytes();
        ++memory;
      }
      place(memory, offset);
      break;
    }
    case schema::Tensor::kStateOffset:
      for (const schema::StateBuffer& state : method_.state()) {
        if (state.value() != value) continue;
        place(StateId(), data_.state.Add(state, tensor));
        out.extra_tensor_info = std::make_unique<ExtraTensorInfoT>();
        out.extra_tensor_info->fully_qualified_name = state.name();
        if (state.initial() != 0) out.data_buffer_idx = data_.initial.Add(state.initial() - 1);
      }
      break;
    default:  // the caller's memory
      break;
  }
  values_[value] = AddValue(std::move(out));
}

void MethodTranslator::AddTensors() {
  values_.assign(method_.values_size(), -1);
  for (const schema::Instruction& instruction : method_.instructions()) {
    if (!instruction.has_kernel()) continue;
    const schema::KernelCall& call = instruction.kernel();
    if (method_.operators(call.operator_()) == kSetRow) row_by_row_.insert(call.arguments(0));
  }
  for (uint32_t v = 0; v < values_.size(); ++v) {
    const schema::Value& value = Source(v);
    if (value.has_tensor()) {
      AddTensor(v, value.tensor());
    } else if (value.has_scalar()) {
      // Not shared: instructions write to it.
      switch (value.scalar().kind()) {
        case schema::ScalarSlot::DOUBLE:
          values_[v] = AddValue(DoubleT());
          break;
        case schema::ScalarSlot::BOOL:
          values_[v] = AddValue(BoolT());
          break;
        default:
          values_[v] = AddValue(IntT());
      }
    }
  }
}

MethodTranslator::Index MethodTranslator::Value(uint32_t value) {
  if (values_[value] >= 0) return values_[value];
  return NumberValue(value, {.name = "", .kind = ArgumentKind::kScalar, .optional = true});
}

MethodTranslator::Index MethodTranslator::NumberValue(uint32_t value,
                                                      const PortableArgument& argument) {
  const schema::Value& source = Source(value);
  const ArgumentKind kind = argument.kind;
  if (values_[value] >= 0) {
    const bool scalar = source.has_scalar();
    const schema::ScalarSlot::Kind slot = source.scalar().kind();
    const bool fits = kind == ArgumentKind::kTensor   ? !scalar
                      : kind == ArgumentKind::kScalar ? scalar
                      : kind == ArgumentKind::kInt    ? slot == schema::ScalarSlot::INT
                      : kind == ArgumentKind::kFloat  ? slot == schema::ScalarSlot::DOUBLE
                      : kind == ArgumentKind::kBool   ? slot == schema::ScalarSlot::BOOL
                                                      : false;
    if (fits) return values_[value];
  }
  const bool number = kind == ArgumentKind::kScalar;
  switch (source.kind_case()) {
    case schema::Value::kNone:
      if (argument.optional) return Null();
      break;
    case schema::Value::kInt:
      if (kind == ArgumentKind::kInt || number) return Int(source.int_());
      if (kind == ArgumentKind::kBool) return Bool(source.int_() != 0);
      [[fallthrough]];
    case schema::Value::kDouble:
      if (kind == ArgumentKind::kFloat || number) {
        DoubleT real;
        real.double_val = source.has_int_() ? static_cast<double>(source.int_()) : source.double_();
        const std::string bits(reinterpret_cast<const char*>(&real.double_val), sizeof(double));
        return Literal(std::move(real), bits);
      }
      break;
    case schema::Value::kBool:
      if (kind == ArgumentKind::kBool || number) return Bool(source.bool_());
      break;
    case schema::Value::kString:
      if (kind == ArgumentKind::kString || number) {
        StringT text;
        text.string_val = source.string();
        return Literal(std::move(text), source.string());
      }
      break;
    case schema::Value::kDtype:
      if (kind == ArgumentKind::kDtype) {
        const std::optional<int8_t> type = ToScalarType(static_cast<DType>(source.dtype()));
        if (type.has_value()) return Int(*type);
      }
      break;
    default:
      break;
  }
  Problem(absl::StrCat("argument '", std::string(argument.name),
                       "': ExecuTorch's operator does not support this value"));
  return Null();
}

MethodTranslator::Index MethodTranslator::ListValue(const schema::List& list,
                                                    const PortableArgument& argument) {
  const PortableArgument element = {
      .name = argument.name, .kind = argument.kind, .optional = argument.element_optional};
  std::vector<Index> items;
  for (uint32_t value : list.elements()) {
    const bool none = argument.element_optional && Source(value).has_none();
    items.push_back(none ? -1 : NumberValue(value, element));
  }
  const std::string key = absl::StrJoin(items, ",");
  if (argument.kind == ArgumentKind::kTensor) {
    if (!argument.element_optional) return TensorList(std::move(items));
    OptionalTensorListT tensors;
    tensors.items = std::move(items);
    return Literal(std::move(tensors), key);
  }
  if (argument.kind == ArgumentKind::kInt) {
    IntListT ints;
    ints.items.assign(items.begin(), items.end());
    return Literal(std::move(ints), key);
  }
  // The remaining lists are of doubles or bools; they hold literals instead of value indices.
  DoubleListT doubles;
  BoolListT bools;
  for (uint32_t value : list.elements()) {
    const schema::Value& number = Source(value);
    if (number.has_scalar()) {
      Problem(absl::StrCat("argument '", std::string(argument.name),
                           "': ExecuTorch's lists of doubles and bools can't hold computed "
                           "scalars"));
    }
    doubles.items.push_back(number.has_int_() ? static_cast<double>(number.int_())
                                              : number.double_());
    bools.items.push_back(number.has_int_() ? number.int_() != 0 : number.bool_());
  }
  return argument.kind == ArgumentKind::kFloat ? Literal(std::move(doubles), key)
                                               : Literal(std::move(bools), key);
}

MethodTranslator::Index MethodTranslator::ArgumentValue(uint32_t value,
                                                        const PortableArgument& argument) {
  const schema::Value& source = Source(value);
  // The out tensor determines the memory order.
  if (argument.kind == ArgumentKind::kMemoryFormat) return Null();
  if (!argument.list) return NumberValue(value, argument);
  if (source.has_none() && argument.optional) return Null();
  if (source.has_list()) return ListValue(source.list(), argument);
  schema::List one;
  one.add_elements(value);
  return ListValue(one, argument);
}

}  // namespace belay::pte
