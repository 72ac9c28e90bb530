// Masks of attention scores.
#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_ATTENTION_MASKS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_ATTENTION_MASKS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/cpu/aot/constant_view.h"
#include "exir/ir/graph.h"
#include "exir/ir/match.h"

namespace belay::cpu {

// A mask of the scores [.., queries, keys].
struct AttentionMask {
  exir::ValueId value;              // floats, added to the scores; or booleans
  std::vector<exir::SymInt> sizes;  // of the scores where the mask applies
  bool is_condition = false;
  bool visible = true;  // the condition's value at keys that are visible; the others are filled
  double fill = 0;
};

// Shapes that a mask gets before it broadcasts to the scores of the softmax; empty if it has the
// shape already.
struct MaskShape {
  std::vector<int64_t> expanded, reshaped;
};

// Analyzes masks in a graph, which may change between calls. All arguments must outlive it.
class AttentionMasks {
 public:
  AttentionMasks(const exir::Graph& graph, const ConstantViews& constants,
                 const exir::match::Matcher& matcher)
      : graph_(graph), constants_(constants), matcher_(matcher) {}

  // Returns the scalar that all elements of the value equal.
  std::optional<double> Fill(exir::ValueId value) const;
  // Returns the condition of a mask that is 0 where it has one value and `fill` where it has the
  // other one. Returns other masks unchanged.
  AttentionMask ConditionOf(AttentionMask mask) const;
  // Whether element [.., i, j] of the mask hides key j from query i if and only if j > i.
  bool IsCausal(const AttentionMask& given) const;
  // Returns the shape of a mask for scores of `sizes`, whose leading dimensions are a reshape of
  // the mask's. nullopt if no shape fits, or if it depends on sizes that are known only at run
  // time.
  std::optional<MaskShape> ShapeOf(const AttentionMask& mask,
                                   const std::vector<exir::SymInt>& sizes) const;

 private:
  int IndexOf(exir::ValueId value) const;
  bool IsCausalComparison(exir::ValueId value, bool visible) const;
  bool IsCausalConstant(exir::ValueId value, const AttentionMask& mask, bool visible) const;

  const exir::Graph& graph_;
  const ConstantViews& constants_;
  const exir::match::Matcher& matcher_;
};

// Reshapes, as they occur between the operators of attention.
inline const exir::match::OpNames& ReshapeOps() {
  static const auto& names =
      *new exir::match::OpNames{"aten.unsqueeze_copy.default", "aten.view_copy.default"};
  return names;
}
// Whether both have the same last two sizes.
bool HasSameLastTwo(const std::vector<exir::SymInt>& a, const std::vector<exir::SymInt>& b);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_ATTENTION_MASKS_H_
