// Visits the symbolic expressions in the type of a value.
#ifndef BELAY_EXIR_IR_TYPE_EXPRESSIONS_H_
#define BELAY_EXIR_IR_TYPE_EXPRESSIONS_H_

#include <variant>

#include "exir/ir/graph.h"

namespace belay::exir {

// Calls `fn` with each expression of `type`, constant ones too: a tensor's sizes, strides and
// storage offset, or a number's expression.
template <class Fn>
void ForEachExpression(const ValueType& type, Fn fn) {
  if (const TensorMeta* tensor = std::get_if<TensorMeta>(&type)) {
    for (const SymInt& size : tensor->sizes) fn(size);
    for (const SymInt& stride : tensor->strides) fn(stride);
    fn(tensor->storage_offset);
  } else if (const SymIntType* sym_int = std::get_if<SymIntType>(&type)) {
    fn(sym_int->expr);
  } else if (const SymFloatType* sym_float = std::get_if<SymFloatType>(&type)) {
    fn(sym_float->expr);
  } else if (const SymBoolType* sym_bool = std::get_if<SymBoolType>(&type)) {
    fn(sym_bool->expr);
  }
}

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_TYPE_EXPRESSIONS_H_
