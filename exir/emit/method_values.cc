// Creates the values of a method: literals, tensors, lists, and arguments.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/emit/method_builder.h"
#include "exir/ir/text.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {

MethodBuilder::ValueIndex MethodBuilder::AddValue(schema::Value value) {
  *method_.add_values() = std::move(value);
  return method_.values_size() - 1;
}

MethodBuilder::ValueIndex MethodBuilder::AddLiteral(const schema::Value& value) {
  const auto [it, inserted] = literals_.try_emplace(value.SerializeAsString(), 0);
  if (inserted) it->second = AddValue(value);
  return it->second;
}

MethodBuilder::ValueIndex MethodBuilder::AddInt(int64_t number) {
  schema::Value value;
  value.set_int_(number);
  return AddLiteral(value);
}

MethodBuilder::ValueIndex MethodBuilder::AddNone() {
  schema::Value value;
  value.mutable_none();
  return AddLiteral(value);
}

MethodBuilder::ValueIndex MethodBuilder::AddScalarSlot(schema::ScalarSlot::Kind kind) {
  schema::Value value;
  value.mutable_scalar()->set_kind(kind);
  return AddValue(std::move(value));
}

MethodBuilder::ValueIndex MethodBuilder::AddList(const std::vector<ValueIndex>& elements) {
  schema::Value value;
  schema::List* list = value.mutable_list();
  for (ValueIndex element : elements) list->add_elements(element);
  return AddLiteral(value);
}

MethodBuilder::ValueIndex MethodBuilder::AddTemporaryLike(ValueIndex like) {
  schema::Value value = method_.values(like);
  if (value.has_tensor()) value.mutable_tensor()->set_arena_offset(0);
  const ValueIndex index = AddValue(std::move(value));
  shapes_.resize(index + 1, 0);
  shapes_[index] = shapes_[like];
  return index;
}

uint32_t MethodBuilder::ShapeNumber(const TensorMeta& meta) {
  std::string sizes;
  bool dynamic = false;
  for (const SymInt& size : meta.sizes) {
    dynamic = dynamic || !size.AsInt().has_value();
    absl::StrAppend(&sizes, size.ToString(), ",");
  }
  if (!dynamic) return 0;
  return shape_numbers_.try_emplace(std::move(sizes), shape_numbers_.size() + 1).first->second;
}

uint32_t MethodBuilder::OperatorIndex(const std::string& name) {
  const auto [it, inserted] = operators_.try_emplace(name, method_.operators_size());
  if (inserted) method_.add_operators(name);
  return it->second;
}

schema::Instruction& MethodBuilder::AddInstruction() {
  schema::InstructionDebugInfo* info = debug_.add_instructions();
  nodes_.emplace_back(current_graph_, current_node_);
  if (current_graph_ != nullptr) {
    const Node& node = current_graph_->node(current_node_);
    info->set_node(node.name);
    info->set_source(node.provenance.ToString());
    if (node.provenance.module != nullptr) info->set_module(*node.provenance.module);
    if (node.debug_handle != 0) info->add_debug_handles(node.debug_handle);
  }
  return *method_.add_instructions();
}

void MethodBuilder::AddKernelCall(const std::string& op, const std::vector<ValueIndex>& arguments,
                                  const std::vector<ValueIndex>& outputs) {
  const uint32_t index = OperatorIndex(op);
  schema::KernelCall* call = AddInstruction().mutable_kernel();
  call->set_operator_(index);
  for (ValueIndex v : arguments) call->add_arguments(v);
  for (ValueIndex v : outputs) call->add_outputs(v);
}

void MethodBuilder::AddMove(ValueIndex from, ValueIndex to) {
  schema::Move* move = AddInstruction().mutable_move();
  move->set_from(from);
  move->set_to(to);
}

void MethodBuilder::AddUnbounded(const SymInt& size, int dim, std::string_view name) {
  std::vector<std::string> symbols;
  size.CollectSymbols(symbols);
  std::erase_if(symbols, [&](const std::string& symbol) {
    return SymExpr::Symbol(symbol).Range(program_.ranges).max != SymRange::kUnboundedAbove;
  });
  const std::string symbol = symbols.empty() ? size.ToString() : symbols[0];
  if (!unbounded_symbols_.insert(symbol).second) return;
  const bool follows_inputs =
      std::any_of(unbounded_symbols_.begin(), unbounded_symbols_.end(),
                  [](const std::string& other) { return !other.starts_with('u'); });
  unbounded_.Add(
      [&] {
        return absl::StrCat("'", std::string(name), "': dimension ", dim, " is ", size.ToString());
      },
      symbol.starts_with('u')
          ? absl::StrCat(
                "it depends on the data; ",
                follows_inputs ? "it may have a bound once the sizes above have; else " : "",
                "pass --max-size ", symbol,
                "=VALUE, or call torch._check(size <= VALUE) in the model")
          : absl::StrCat("pass --max-size ", symbol,
                         "=VALUE, or export with Dim(..., max=...) for ", symbol));
}

absl::StatusOr<schema::Tensor> MethodBuilder::DescribeTensor(const TensorMeta& meta,
                                                             std::string_view name) {
  schema::Tensor tensor;
  tensor.set_dtype(static_cast<uint32_t>(meta.dtype));
  if (meta.layout != Layout::kStrided) {
    return absl::UnimplementedError(
        absl::StrCat("'", std::string(name), "' is not a strided tensor"));
  }
  uint32_t dynamic = 0;
  for (int d = 0; d < meta.rank(); ++d) {
    if (const auto size = meta.sizes[d].AsInt()) {
      tensor.add_sizes(*size);
      continue;
    }
    SymRange range = meta.sizes[d].Range(program_.ranges);
    if (range.max == SymRange::kUnboundedAbove) {
      AddUnbounded(meta.sizes[d], d, name);
      range.max = 1;  // the method is not emitted in this case
    }
    tensor.add_sizes(range.max);
    dynamic |= uint32_t{1} << d;
  }
  tensor.set_dynamic_dims(dynamic);
  // Any order is valid if producer and consumers agree; they do through this value.
  const absl::StatusOr<DimOrder> found = DimOrderOf(meta);
  const DimOrder order = found.ok() ? *found : ContiguousOrder(meta.rank());
  tensor.set_dim_order(std::string(order.begin(), order.end()));
  return tensor;
}

absl::StatusOr<MethodBuilder::ValueIndex> MethodBuilder::AddResult(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  schema::Value v;
  if (const TensorMeta* meta = value.tensor()) {
    ABSL_ASSIGN_OR_RETURN(*v.mutable_tensor(), DescribeTensor(*meta, value.name));
    v.mutable_tensor()->set_arena_offset(0);  // planned later
    const ValueIndex index = AddValue(std::move(v));
    shapes_.resize(index + 1, 0);
    shapes_[index] = ShapeNumber(*meta);
    return index;
  }
  if (std::holds_alternative<SymIntType>(value.type)) return AddScalarSlot(schema::ScalarSlot::INT);
  if (std::holds_alternative<SymFloatType>(value.type)) {
    return AddScalarSlot(schema::ScalarSlot::DOUBLE);
  }
  if (std::holds_alternative<SymBoolType>(value.type)) {
    return AddScalarSlot(schema::ScalarSlot::BOOL);
  }
  if (std::holds_alternative<TokenType>(value.type)) return AddNone();
  return absl::UnimplementedError(
      absl::StrCat("a result of type ", PrintType(value.type), " has no run-time form"));
}

absl::StatusOr<std::vector<MethodBuilder::ValueIndex>> MethodBuilder::AddResults(const Graph& graph,
                                                                                 NodeId id,
                                                                                 Scope& scope) {
  std::vector<ValueIndex> outputs;
  for (const NodeOutput& output : graph.node(id).outputs) {
    std::vector<ValueIndex> elements;
    for (ValueId value : output.values) {
      ABSL_ASSIGN_OR_RETURN(const ValueIndex index, AddResult(graph, value));
      scope[value] = index;
      elements.push_back(index);
    }
    switch (output.kind) {
      case NodeOutput::Kind::kNone:
        outputs.push_back(AddNone());
        break;
      case NodeOutput::Kind::kValue:
        outputs.push_back(elements[0]);
        break;
      case NodeOutput::Kind::kList:
        outputs.push_back(AddList(elements));
        break;
    }
  }
  return outputs;
}

absl::StatusOr<std::vector<MethodBuilder::ValueIndex>> MethodBuilder::OperandValues(
    const Graph& graph, const Argument& list, const Scope& scope) {
  const Argument::List* elements = list.get_if<Argument::List>();
  if (elements == nullptr) return absl::InvalidArgumentError("operands must be a list");
  std::vector<ValueIndex> values;
  for (const Argument& element : *elements) {
    ABSL_ASSIGN_OR_RETURN(const ValueIndex value, ArgumentValue(graph, element, scope));
    values.push_back(value);
  }
  return values;
}

absl::StatusOr<MethodBuilder::ValueIndex> MethodBuilder::ArgumentValue(const Graph& graph,
                                                                       const Argument& argument,
                                                                       const Scope& scope) {
  if (const ValueId* id = argument.get_if<ValueId>()) {
    const std::optional<ValueIndex> value = scope.get(*id);
    if (!value.has_value()) {
      return absl::InternalError(
          absl::StrCat("'", graph.value(*id).name, "' is used before it was emitted"));
    }
    return *value;
  }
  if (const Argument::List* list = argument.get_if<Argument::List>()) {
    ABSL_ASSIGN_OR_RETURN(const std::vector<ValueIndex> elements,
                          OperandValues(graph, *list, scope));
    return AddList(elements);
  }
  schema::Value value;
  bool expressible = true;
  std::visit(
      [&](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, None> || std::is_same_v<T, Layout> ||
                      std::is_same_v<T, Device>) {
          // Layout and device are meaningless at run time: there is only one of each.
          value.mutable_none();
        } else if constexpr (std::is_same_v<T, int64_t>) {
          value.set_int_(v);
        } else if constexpr (std::is_same_v<T, double>) {
          value.set_double_(v);
        } else if constexpr (std::is_same_v<T, bool>) {
          value.set_bool_(v);
        } else if constexpr (std::is_same_v<T, std::complex<double>>) {
          value.mutable_complex()->set_real(v.real());
          value.mutable_complex()->set_imag(v.imag());
        } else if constexpr (std::is_same_v<T, std::string>) {
          value.set_string(v);
        } else if constexpr (std::is_same_v<T, DType>) {
          value.set_dtype(static_cast<uint32_t>(v));
        } else if constexpr (std::is_same_v<T, MemoryFormat>) {
          value.set_memory_format(static_cast<uint32_t>(v));
        } else {
          expressible = false;
        }
      },
      argument.variant());
  if (!expressible) {
    return absl::UnimplementedError(
        absl::StrCat("the argument ", PrintArgument(graph, argument), " has no run-time form"));
  }
  return AddLiteral(value);
}

}  // namespace belay::exir
