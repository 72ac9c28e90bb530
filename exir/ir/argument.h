// An argument of a node or an output of a graph.
//
// Represents every kind of docs/pt2-format.md §6 "Argument tags". Single values and literals have
// their own alternatives. Every list tag (as_tensors, as_ints, as_sym_ints, as_optional_tensors,
// as_nested_tensors, as_int_lists, …) is a List of arguments, because the operator's schema, not
// the tag, gives the element type.
#ifndef BELAY_EXIR_IR_ARGUMENT_H_
#define BELAY_EXIR_IR_ARGUMENT_H_

#include <complex>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "exir/ir/entity.h"
#include "exir/op_definition/schema.h"
#include "exir/op_definition/tensor_meta.h"
#include "runtime/core/dtype.h"
#include "runtime/core/evalue.h"

namespace belay::exir {

class Argument;

// The name of an operator passed as a value (auto_functionalized).
struct OperatorName {
  std::string name;
  bool operator==(const OperatorName&) const = default;
};
// A keyword dictionary, in insertion order.
struct Dict {
  std::vector<std::pair<std::string, Argument>> entries;
  bool operator==(const Dict&) const;
};

class Argument {
 public:
  using List = std::vector<Argument>;
  using Variant =
      std::variant<None, ValueId, int64_t, double, bool, std::complex<double>, std::string, DType,
                   MemoryFormat, Layout, Device, List, GraphId, ModuleId, OperatorName, Dict>;

  Argument();  // None
  template <class T,
            class = std::enable_if_t<
                std::is_constructible_v<Variant, T> && !std::is_same_v<std::decay_t<T>, Argument> &&
                !std::is_same_v<std::decay_t<T>, int> && !std::is_convertible_v<T, const char*>>>
  Argument(T value) : value_(std::move(value)) {}  // NOLINT
  Argument(int value);                             // NOLINT
  Argument(const char* value);                     // NOLINT
  // Defined in the .cc: inlining the sixteen alternatives costs a tenth of a second in every
  // including file.
  Argument(const Argument& other);
  Argument(Argument&& other) noexcept;
  Argument& operator=(const Argument& other);
  Argument& operator=(Argument&& other) noexcept;
  ~Argument();

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(value_);
  }
  bool is_none() const { return is<None>(); }
  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&value_);
  }
  template <class T>
  T* get_if() {
    return std::get_if<T>(&value_);
  }
  const Variant& variant() const { return value_; }

  // Equal kind and content; doubles by bits, so that NaN equals NaN.
  friend bool operator==(const Argument& a, const Argument& b);

 private:
  Variant value_;
};

// Calls `fn` for each value (or its mutable reference) in `argument`, in order, including those in
// lists and dictionaries.
void ForEachValue(const Argument& argument, const std::function<void(ValueId)>& fn);
void ForEachValueRef(Argument& argument, const std::function<void(ValueId&)>& fn);
void ForEachGraph(const Argument& argument, const std::function<void(GraphId)>& fn);

// Returns the value of an argument that a call omits: its schema default. Ints become floats if the
// type is float, and a single element of a list is repeated to the schema's length. None
// without a default.
Argument DefaultArgument(const SchemaArgument& argument);

// Returns the arguments of a call in schema order: those `given` by name, and DefaultArgument of
// the others. Names that the schema does not have are ignored.
std::vector<Argument> ArgumentsByName(const FunctionSchema& schema,
                                      std::vector<std::pair<std::string_view, Argument>> given);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_ARGUMENT_H_
