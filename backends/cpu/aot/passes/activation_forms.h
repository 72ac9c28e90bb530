// Matches activation functions, as single operators and in decomposed form.
#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_ACTIVATION_FORMS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_ACTIVATION_FORMS_H_

#include <optional>
#include <string_view>
#include <vector>

#include "backends/cpu/aot/constant_view.h"
#include "exir/ir/exported_program.h"
#include "exir/ir/match.h"
#include "exir/op_definition/op_table.h"

namespace belay::cpu {

// Bounds as floats; low <= high.
struct ClampForm {
  float low, high;
};

// Nodes that together compute one function of a value. They include all users of the value.
// Intermediate results have no users outside the match.
struct ActivationForm {
  std::string_view activation;      // runtime/kernels/packed/epilogue.h
  std::vector<exir::NodeId> nodes;  // in execution order
};

// Matches patterns in the top graph of a program. The program may change meanwhile, except for its
// constants. Tensors must be float32, or bfloat16 for single-node matches and conversions, and have
// the sizes of the value.
class ActivationForms {
 public:
  // Both must outlive this.
  ActivationForms(const exir::ExportedProgram& program, const ConstantViews& constants);

  // relu, clamp with scalar bounds, hardtanh. nullopt for another node or NaN bounds.
  std::optional<ClampForm> Clamp(exir::NodeId node) const;

  // Matches sigmoid, tanh, gelu, silu, hardsigmoid and hardswish, and decompositions of the last
  // three:
  //   x * sigmoid(x)                                          ->  silu(x)
  //   clamp(x + 3, 0, 6) / 6                                  ->  hardsigmoid(x)
  //   x * clamp(x + 3, 0, 6) / 6,  x * (clamp(x + 3, 0, 6) / 6)  ->  hardswish(x)
  // Factors may be in either order, a clamp may be split in two, and div by 6 may be mul by 1/6. Of a
  // bfloat16 value, also these functions between a conversion to float32 and one back.
  std::optional<ActivationForm> Find(exir::ValueId value) const;

  // Returns the other operand if `node` adds to (multiplies) the value. nullopt for another node or
  // a sum with alpha other than 1.
  std::optional<exir::Argument> Addend(exir::NodeId node, exir::ValueId value) const;
  std::optional<exir::Argument> Factor(exir::NodeId node, exir::ValueId value) const;

 private:
  struct Row {
    std::string_view op, activation;
  };
  static const Row kRows[];

  const exir::Graph& graph() const { return program_.top(); }
  bool IsLike(exir::ValueId a, exir::ValueId b) const;
  // Whether consecutive clamps that end in the value clamp to [0, 6].
  bool ClampsToSix(exir::ValueId value) const;
  // Find without conversions.
  std::optional<ActivationForm> FindInDType(exir::ValueId value) const;
  // Matches a decomposition that ends in the node.
  std::optional<ActivationForm> FindDecomposition(exir::NodeId end, exir::ValueId value) const;

  const exir::ExportedProgram& program_;
  const exir::OpTable<Row> activations_;
  const ConstantViews& constants_;
  const exir::match::Matcher matcher_;
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_ACTIVATION_FORMS_H_
