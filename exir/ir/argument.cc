#include "exir/ir/argument.h"

#include <algorithm>
#include <bit>

namespace belay::exir {
namespace {

bool SameBits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

Argument::List Repeated(const Argument& element, size_t count) {
  return Argument::List(count, element);
}

}  // namespace

Argument::Argument() : value_(None{}) {}
Argument::Argument(int value) : value_(int64_t{value}) {}
Argument::Argument(const char* value) : value_(std::string(value)) {}
Argument::Argument(const Argument& other) = default;
Argument::Argument(Argument&& other) noexcept = default;
Argument& Argument::operator=(const Argument& other) = default;
Argument& Argument::operator=(Argument&& other) noexcept = default;
Argument::~Argument() = default;

bool Dict::operator==(const Dict& other) const { return entries == other.entries; }

bool operator==(const Argument& a, const Argument& b) {
  if (a.value_.index() != b.value_.index()) return false;
  return std::visit(
      [&b](const auto& x) {
        using T = std::decay_t<decltype(x)>;
        const T& y = *std::get_if<T>(&b.value_);
        if constexpr (std::is_same_v<T, double>) {
          return SameBits(x, y);
        } else if constexpr (std::is_same_v<T, std::complex<double>>) {
          return SameBits(x.real(), y.real()) && SameBits(x.imag(), y.imag());
        } else {
          return x == y;
        }
      },
      a.value_);
}

void ForEachValue(const Argument& argument, const std::function<void(ValueId)>& fn) {
  if (const ValueId* value = argument.get_if<ValueId>()) {
    fn(*value);
  } else if (const Argument::List* list = argument.get_if<Argument::List>()) {
    for (const Argument& element : *list) ForEachValue(element, fn);
  } else if (const Dict* dict = argument.get_if<Dict>()) {
    for (const auto& [key, element] : dict->entries) ForEachValue(element, fn);
  }
}

void ForEachValueRef(Argument& argument, const std::function<void(ValueId&)>& fn) {
  if (ValueId* value = argument.get_if<ValueId>()) {
    fn(*value);
  } else if (Argument::List* list = argument.get_if<Argument::List>()) {
    for (Argument& element : *list) ForEachValueRef(element, fn);
  } else if (Dict* dict = argument.get_if<Dict>()) {
    for (auto& [key, element] : dict->entries) ForEachValueRef(element, fn);
  }
}

void ForEachGraph(const Argument& argument, const std::function<void(GraphId)>& fn) {
  if (const GraphId* graph = argument.get_if<GraphId>()) {
    fn(*graph);
  } else if (const Argument::List* list = argument.get_if<Argument::List>()) {
    for (const Argument& element : *list) ForEachGraph(element, fn);
  } else if (const Dict* dict = argument.get_if<Dict>()) {
    for (const auto& [key, element] : dict->entries) ForEachGraph(element, fn);
  }
}

Argument DefaultArgument(const SchemaArgument& argument) {
  if (!argument.default_value.has_value()) return None{};
  const SchemaType& type = argument.type;
  Argument result = std::visit(
      [](const auto& value) -> Argument {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::vector<int64_t>> ||
                      std::is_same_v<T, std::vector<double>> ||
                      std::is_same_v<T, std::vector<bool>>) {
          Argument::List list;
          for (const auto element : value)
            list.push_back(Argument(typename T::value_type(element)));
          return list;
        } else {
          return value;
        }
      },
      *argument.default_value);
  if (type.list && !result.is<Argument::List>() && !result.is_none()) {
    return Repeated(result, static_cast<size_t>(type.list_size.value_or(1)));
  }
  return result;
}

std::vector<Argument> ArgumentsByName(const FunctionSchema& schema,
                                      std::vector<std::pair<std::string_view, Argument>> given) {
  std::vector<Argument> arguments;
  for (const SchemaArgument& declared : schema.arguments) {
    const auto it = std::find_if(given.begin(), given.end(),
                                 [&](const auto& entry) { return entry.first == declared.name; });
    arguments.push_back(it == given.end() ? DefaultArgument(declared) : std::move(it->second));
  }
  return arguments;
}

}  // namespace belay::exir
