// A call that is to be decomposed: the operator's arguments by name.
#ifndef BELAY_EXIR_BUILDER_OP_CALL_H_
#define BELAY_EXIR_BUILDER_OP_CALL_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "exir/builder/op_builder.h"

namespace belay::exir {

// Reading an argument as what it is not makes the builder fail with kInvalidArgument that names it,
// and gives an empty value. Names are the schema's. A value; the overload and the builder outlive
// it.
class OpCall {
 public:
  // Precondition: `op` has a schema, `arguments` has one per schema argument.
  OpCall(OpBuilder& builder, const OpOverload* op, std::vector<Argument> arguments)
      : builder_(builder), op_(op), arguments_(std::move(arguments)) {}

  // kInvalidArgument that names the argument for a list whose length the schema says (`int[2]`) and
  // that has another one. Of what describes a window (stride and the like) one number counts for
  // all, and none where that is the default; the lengths of other lists of any number (`int[1]
  // dim`) are the operator's.
  absl::Status CheckLists() const;

  const OpOverload* op() const { return op_; }
  const std::vector<Argument>& arguments() const { return arguments_; }
  // As it stands in the call.
  const Argument& operator[](std::string_view name) const;
  bool IsNone(std::string_view name) const { return (*this)[name].is_none(); }
  // The elements of a list; none for None.
  std::vector<Argument> List(std::string_view name) const;
  std::vector<int64_t> Ints(std::string_view name) const;    // numbers only
  std::vector<SymInt> SymInts(std::string_view name) const;  // computed ones too
  int64_t Int(std::string_view name) const;                  // a number
  std::optional<int64_t> OptionalInt(std::string_view name) const;
  SymInt Sym(std::string_view name) const;     // or a computed one
  double Double(std::string_view name) const;  // ints too
  bool Bool(std::string_view name) const;
  std::string String(std::string_view name) const;
  DType DtypeOr(std::string_view name, DType fallback) const;  // the fallback for None
  MemoryFormat MemoryFormatOr(std::string_view name, MemoryFormat fallback) const;
  // The argument as it is, or `fallback` for None.
  Argument Or(std::string_view name, Argument fallback) const;

 private:
  void Wrong(std::string_view name, std::string_view expected) const;

  OpBuilder& builder_;
  const OpOverload* op_;
  std::vector<Argument> arguments_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_BUILDER_OP_CALL_H_
