// Recipes: which operators are quantized, and how.
#ifndef BELAY_EXIR_QUANTIZE_RECIPE_H_
#define BELAY_EXIR_QUANTIZE_RECIPE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/ir/graph.h"
#include "exir/quantize/affine.h"

namespace belay::exir {

enum class WeightNumbers : uint8_t { kFloat32, kInt8, kInt4, kBFloat16 };
enum class ActivationNumbers : uint8_t {
  kFloat32,
  kDynamicInt8,  // per row, parameters chosen at run time
  kStaticInt8,   // per tensor, parameters chosen from calibration data
};

// How one operator is quantized.
struct Scheme {
  WeightNumbers weight = WeightNumbers::kFloat32;
  ActivationNumbers activation = ActivationNumbers::kFloat32;
  // Of integer weights. Ignored for other weights, also by HasSameWeight.
  RowsOptions rows = {};
  // Of integer weights of linear layers: quantized with error feedback
  // (exir/quantize/error_feedback.h). Ignored by HasSameWeight: if one user of a weight asks for
  // it, all users share the result.
  bool error_feedback = false;
  // Of integer weights of linear layers, without static activations: their columns are scaled by
  // the magnitudes of the inputs (exir/quantize/channel_scales.h). Ignored by HasSameWeight.
  bool activation_scaling = false;

  bool has_integer_weight() const {
    return weight == WeightNumbers::kInt8 || weight == WeightNumbers::kInt4;
  }
  bool quantizes() const {
    return weight != WeightNumbers::kFloat32 || activation != ActivationNumbers::kFloat32;
  }
  // "int8 per row", "int4 in groups of 32, asymmetric", "bfloat16", "dynamic int8 x int4 in groups
  // of 32", "float32".
  std::string ToString() const;
};
// Whether both quantize a weight to the same numbers.
bool HasSameWeight(const Scheme& a, const Scheme& b);

// Operators that can be quantized.
enum class AnchorKind : uint8_t {
  kLinear,       // addmm, mm, linear with a constant matrix
  kEmbedding,    // embedding of a constant table
  kConvolution,  // convolution with a constant weight
};
inline constexpr size_t kAnchorKinds = 3;
std::string_view AnchorKindName(AnchorKind kind);  // "linear", "embedding", "convolution"

// One scheme per kind; indexed by AnchorKind.
using Schemes = std::array<Scheme, kAnchorKinds>;

// Selects operators. A pattern is "" for any, or one of exir/ir/name_pattern.h.
struct Rule {
  std::string op;      // operator ("aten.addmm.default") or kind ("linear")
  std::string module;  // path of the innermost nn.Module ("layers.*.mlp.down_proj")
  std::string node;    // name of the node
  Schemes schemes;

  bool Matches(const Node& node, AnchorKind kind) const;
  std::string ToString() const;  // for messages: "op 'linear', module 'layers.*'"
};

// How calibration data choose the range of a static activation.
enum class ObserverKind : uint8_t { kMinMax, kMovingAverage, kHistogram, kLeastError, kPercentile };

// Whose inputs of static operators have their channels equalized
// (exir/quantize/channel_scales.h).
enum class Equalization : uint8_t { kNone, kLinear, kAll };

struct Recipe {
  std::string name;         // for reports
  std::vector<Rule> rules;  // the first rule that matches decides
  Schemes schemes;          // of operators without a rule
  ObserverKind observer = ObserverKind::kLeastError;
  double percentile = 99.99;  // share of elements inside of the range, in %, for kPercentile
  // Whether biases of static operators get the mean error of their weights.
  bool bias_correction = true;
  Equalization equalization = Equalization::kLinear;
  // Whether functions of one static activation, such as SiLU, are computed on int8. Otherwise they
  // are float32, and so are sums of their results.
  bool tables = true;
  // Whether user inputs and outputs of the program that static quantization quantizes are int8.
  bool quantize_io = false;

  const Scheme& SchemeOf(const Node& node, AnchorKind kind) const;
  // Whether a scheme quantizes activations statically.
  bool is_static() const;
  // Whether a scheme has error feedback.
  bool has_error_feedback() const;
  bool has_activation_scaling() const;
  bool needs_calibration() const {
    return is_static() || has_error_feedback() || has_activation_scaling();
  }

 private:
  bool AnyScheme(bool (*is)(const Scheme&)) const;
};

// Names of the recipes, in the order of the documentation.
std::vector<std::string_view> RecipeNames();
// One line that describes a recipe. Precondition: the name is one of RecipeNames().
std::string_view DescribeRecipe(std::string_view name);

// Returns a recipe by name, or several joined by '+' ("8da4w+embeddings-int4").
//   kInvalidArgument  unknown name, with the known ones; two that quantize the same kind
absl::StatusOr<Recipe> RecipeByName(std::string_view name);

}  // namespace belay::exir

#endif  // BELAY_EXIR_QUANTIZE_RECIPE_H_
