// Activation functions in the forms in which programs have them: as operators, and decomposed.
#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_ACTIVATION_FORMS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_ACTIVATION_FORMS_H_

#include <optional>
#include <string_view>
#include <vector>

#include "backends/cpu/aot/constant_view.h"
#include "exir/ir/exported_program.h"
#include "exir/op/op_table.h"

namespace belay::cpu {

// Bounds as floats; low <= high.
struct ClampForm {
  float low, high;
};

// Nodes that compute a function of a value and do nothing else: all readers of the value are among
// them, and nothing but them reads what lies between it and the result of the last.
struct ActivationForm {
  std::string_view activation;      // runtime/kernels/packed/epilogue.h
  std::vector<exir::NodeId> nodes;  // in execution order
};

// Recognizes forms in the top graph of a program, which may change meanwhile but for its constants.
// Only float32 tensors of the sizes of the value count, and bfloat16 for forms of one node.
class ActivationForms {
 public:
  // Both must outlive this.
  ActivationForms(const exir::ExportedProgram& program, const ConstantViews& constants);

  // relu, clamp with numbers, hardtanh. nullopt for another node and for bounds that are NaN.
  std::optional<ClampForm> Clamp(exir::NodeId node) const;

  // sigmoid, tanh, gelu, silu, hardsigmoid, hardswish, and of the last three
  //   mul(x, sigmoid(x)),  div(clamp(add(x, 3), 0, 6), 6),
  //   div(mul(x, clamp(add(x, 3), 0, 6)), 6),  mul(x, div(clamp(add(x, 3), 0, 6), 6))
  // with factors in either order, clamps as one or as two, and multiplication by 1/6 for division.
  std::optional<ActivationForm> Find(exir::ValueId value) const;

  // The one node that reads the value, and reads it once; nullopt when there are more, or it is
  // returned.
  std::optional<exir::NodeId> OnlyReader(exir::ValueId value) const;

  // What is added to (multiplied with) the value by this node: its other operand. nullopt for another
  // node, and for sums with alpha.
  std::optional<exir::Argument> Addend(exir::NodeId node, exir::ValueId value) const;
  std::optional<exir::Argument> Factor(exir::NodeId node, exir::ValueId value) const;

 private:
  enum class Op : uint8_t { kAdd, kMul, kDiv, kRelu, kClamp, kHardtanh, kActivation };
  struct Row {
    std::string_view op;
    Op kind;
    std::string_view activation = "";
  };
  static const Row kRows[];

  const exir::Node& node(exir::NodeId id) const { return program_.top().node(id); }
  exir::ValueId Result(exir::NodeId id) const { return node(id).outputs[0].values[0]; }
  const Row* RowOf(exir::NodeId id) const { return table_.Find(node(id).target); }
  // The operand of a sum or product beside the value.
  std::optional<exir::Argument> Beside(exir::NodeId node, exir::ValueId value, Op kind) const;
  bool IsLike(exir::ValueId a, exir::ValueId b) const;
  // add(value, 3) and the clamps to [0, 6] behind it.
  std::optional<std::vector<exir::NodeId>> SixSteps(exir::NodeId first, exir::ValueId value) const;
  bool DividesBySix(exir::NodeId node, exir::ValueId value) const;
  std::optional<ActivationForm> FindGated(exir::ValueId value, exir::NodeId gate,
                                          exir::NodeId product) const;

  const exir::ExportedProgram& program_;
  const exir::OpTable<Row> table_;
  const ConstantViews& constants_;
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_ACTIVATION_FORMS_H_
