// Compute dtypes of operators inside an autocast region.
//
// Source: PyTorch's aten/src/ATen/autocast_mode.cpp, the CPU table.
#ifndef BELAY_EXIR_FUNCTIONALIZE_AUTOCAST_RULES_H_
#define BELAY_EXIR_FUNCTIONALIZE_AUTOCAST_RULES_H_

#include <string_view>

namespace belay::exir {

enum class AutocastRule : unsigned char {
  kNone,     // same as the operands
  kLower,    // floating-point operands are cast to the region's dtype
  kFloat32,  // half-precision operands are cast to float32
  kWidest,   // float32 if any operand is float32, otherwise the region's dtype
};

// Looks up the name of an overload ("aten.linear.default"). float64 is never cast.
AutocastRule AutocastRuleOf(std::string_view op);

}  // namespace belay::exir

#endif  // BELAY_EXIR_FUNCTIONALIZE_AUTOCAST_RULES_H_
