// A call to be decomposed: access to the operator's arguments by name.
#ifndef BELAY_EXIR_BUILDER_OP_CALL_H_
#define BELAY_EXIR_BUILDER_OP_CALL_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "exir/builder/op_builder.h"

namespace belay::exir {

// Reading an argument as a wrong type makes the builder fail with kInvalidArgument, which names the
// argument, and returns an empty value. Argument names are the schema's. A value type; the overload
// and the builder must outlive it.
class OpCall {
 public:
  // Precondition: `op` has a schema, and `arguments` has one element per schema argument.
  OpCall(OpBuilder& builder, const OpOverload* op, std::vector<Argument> arguments)
      : builder_(builder), op_(op), arguments_(std::move(arguments)) {}

  // Checks the lengths of lists for which the schema gives one (`int[2]`); kInvalidArgument names
  // the argument. For arguments that describe a window (stride etc.), a single number applies to
  // all dimensions, and an empty list is allowed if it is the default. Lists of any length (`int[1]
  // dim`) are checked by the operator.
  absl::Status CheckLists() const;

  const OpOverload* op() const { return op_; }
  const std::vector<Argument>& arguments() const { return arguments_; }
  // The argument as in the call.
  const Argument& operator[](std::string_view name) const;
  bool IsNone(std::string_view name) const { return (*this)[name].is_none(); }
  // The elements of a list; empty for None.
  std::vector<Argument> List(std::string_view name) const;
  std::vector<int64_t> Ints(std::string_view name) const;    // literals only
  std::vector<SymInt> SymInts(std::string_view name) const;  // literals or computed
  int64_t Int(std::string_view name) const;                  // a literal
  std::optional<int64_t> OptionalInt(std::string_view name) const;
  SymInt Sym(std::string_view name) const;     // a literal or computed
  double Double(std::string_view name) const;  // ints too
  bool Bool(std::string_view name) const;
  std::string String(std::string_view name) const;
  DType DtypeOr(std::string_view name, DType fallback) const;  // the fallback for None
  MemoryFormat MemoryFormatOr(std::string_view name, MemoryFormat fallback) const;
  // The argument unchanged, or `fallback` for None.
  Argument Or(std::string_view name, Argument fallback) const;

 private:
  void Wrong(std::string_view name, std::string_view expected) const;

  OpBuilder& builder_;
  const OpOverload* op_;
  std::vector<Argument> arguments_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_BUILDER_OP_CALL_H_
