#include "executorch/payload_import/dynamic_dims.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "absl/container/flat_hash_map.h"

namespace belay::pte {
namespace {

using xnnpack::Graph;
using xnnpack::Node;
using xnnpack::NodeType;
using xnnpack::Value;

// Disjoint sets of the dimensions of all values. Set 0 has the static ones.
class DimClasses {
 public:
  explicit DimClasses(const Graph& graph) : graph_(graph) {
    first_.reserve(graph.values.size());
    int count = 1;
    for (const Value& value : graph.values) {
      first_.push_back(count);
      count += value.sizes.size();
    }
    parent_.resize(static_cast<size_t>(count));
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  int Dim(int value, int dim) const { return first_[static_cast<size_t>(value)] + dim; }
  int Rank(int value) const { return graph_.values[static_cast<size_t>(value)].sizes.size(); }
  int64_t Size(int value, int dim) const {
    return graph_.values[static_cast<size_t>(value)].sizes[dim];
  }

  int Root(int dim) {
    while (parent_[static_cast<size_t>(dim)] != dim) {
      int& parent = parent_[static_cast<size_t>(dim)];
      parent = parent_[static_cast<size_t>(parent)];
      dim = parent;
    }
    return dim;
  }
  // The smaller root stays, so set 0 keeps its number.
  void Unite(int a, int b) {
    a = Root(a);
    b = Root(b);
    parent_[static_cast<size_t>(std::max(a, b))] = std::min(a, b);
  }
  void Unite(int value, int dim, int other, int other_dim) {
    Unite(Dim(value, dim), Dim(other, other_dim));
  }
  void MakeStatic(int value, int dim) { Unite(0, Dim(value, dim)); }
  void MakeStatic(int value, int from, int to) {
    for (int dim = from; dim < to; ++dim) MakeStatic(value, dim);
  }
  bool IsStatic(int value, int dim) { return Root(Dim(value, dim)) == 0; }

  void AddNode(const Node& node);

 private:
  void UniteAll(int a, int b) {
    for (int dim = 0; dim < std::min(Rank(a), Rank(b)); ++dim) Unite(a, dim, b, dim);
  }
  void AddBroadcast(const Node& node);
  void AddMatmul(const Node& node);
  void AddReshape(const Node& node);
  void AddConcatenate(const Node& node);

  const Graph& graph_;
  std::vector<int> first_;  // by value
  std::vector<int> parent_;
};

void DimClasses::AddBroadcast(const Node& node) {
  const int out = node.output;
  for (const int input : node.inputs) {
    const int shift = Rank(out) - Rank(input);
    for (int dim = 0; dim < Rank(input); ++dim) {
      // An operand with a larger bound has the output's size in each call.
      if (Size(input, dim) != 1 || Size(out, dim + shift) == 1) {
        Unite(input, dim, out, dim + shift);
      }
    }
  }
}

// a[..., m, k] * b[..., k, n]
void DimClasses::AddMatmul(const Node& node) {
  const int a = node.inputs[0], b = node.inputs[1], out = node.output, rank = Rank(a);
  const bool transposed = (node.flags & xnnpack::kTransposedWeights) != 0;
  for (int dim = 0; dim + 2 < rank; ++dim) {
    Unite(a, dim, out, dim);
    Unite(b, dim, out, dim);
  }
  Unite(a, rank - 2, out, rank - 2);
  Unite(a, rank - 1, b, transposed ? rank - 1 : rank - 2);
  Unite(b, transposed ? rank - 2 : rank - 1, out, rank - 1);
}

// An inferred size is that of the input's dimension with the same size, or else the product of the
// dimensions that the given sizes do not account for.
void DimClasses::AddReshape(const Node& node) {
  const int in = node.inputs[0], out = node.output;
  int inferred = -1;
  for (int dim = 0; dim < Rank(out); ++dim) {
    if (node.numbers[dim] == 0) {
      inferred = dim;
    } else {
      MakeStatic(out, dim);
    }
  }
  if (inferred < 0) return MakeStatic(in, 0, Rank(in));
  // Sizes that are given for dimensions at both ends.
  int first = 0, last = Rank(in);
  for (; first < std::min(inferred, last) && Size(in, first) == Size(out, first); ++first) {
  }
  for (int end = Rank(out); end > inferred + 1 && last > first; --end, --last) {
    if (Size(in, last - 1) != Size(out, end - 1)) break;
  }
  MakeStatic(in, 0, first);
  MakeStatic(in, last, Rank(in));
  bool varies = false;
  for (int dim = first; dim < last; ++dim) {
    if (IsStatic(in, dim)) continue;
    varies = true;
    if (Size(in, dim) != Size(out, inferred)) continue;
    MakeStatic(in, first, dim);
    MakeStatic(in, dim + 1, last);
    return Unite(in, dim, out, inferred);
  }
  if (!varies) MakeStatic(out, inferred);
}

void DimClasses::AddConcatenate(const Node& node) {
  for (const int input : node.inputs) {
    for (int dim = 0; dim < Rank(input); ++dim) {
      if (dim != node.numbers[0]) Unite(input, dim, node.output, dim);
    }
    MakeStatic(input, static_cast<int>(node.numbers[0]));
  }
  MakeStatic(node.output, static_cast<int>(node.numbers[0]));
}

void DimClasses::AddNode(const Node& node) {
  const int in = node.inputs[0], out = node.output;
  switch (node.type) {
    case NodeType::Add:
    case NodeType::Div:
    case NodeType::Minimum:
    case NodeType::Maximum:
    case NodeType::Multiply:
    case NodeType::Subtract:
    case NodeType::PReLU:
      return AddBroadcast(node);
    case NodeType::FullyConnected:
      for (int dim = 0; dim + 1 < Rank(in); ++dim) Unite(in, dim, out, dim);
      MakeStatic(in, Rank(in) - 1);
      return MakeStatic(out, Rank(out) - 1);
    case NodeType::BatchMatrixMultiply:
      return AddMatmul(node);
    case NodeType::StaticTranspose:
      for (int dim = 0; dim < Rank(out); ++dim) {
        Unite(in, static_cast<int>(node.numbers[dim]), out, dim);
      }
      return;
    case NodeType::StaticReshape:
      return AddReshape(node);
    case NodeType::Concatenate2:
    case NodeType::Concatenate3:
    case NodeType::Concatenate4:
    case NodeType::Concatenate5:
      return AddConcatenate(node);
    case NodeType::StaticSlice:
    case NodeType::StaticConstantPad:
      for (int dim = 0; dim < Rank(in); ++dim) {
        if (Size(in, dim) == Size(out, dim)) {
          Unite(in, dim, out, dim);
        } else {
          MakeStatic(in, dim);
          MakeStatic(out, dim);
        }
      }
      return;
    case NodeType::Conv2d:
    case NodeType::DepthwiseConv2d:
    case NodeType::ConvTranspose2d:
    case NodeType::AvgPooling2d:
    case NodeType::MaxPooling2d:
    case NodeType::GlobalAvgPooling2d:
    case NodeType::StaticResizeBilinear2D:
      Unite(in, 0, out, 0);
      MakeStatic(in, 1, Rank(in));
      return MakeStatic(out, 1, Rank(out));
    default:  // element by element
      return UniteAll(in, out);
  }
}

}  // namespace

std::vector<std::vector<int>> DynamicDims(const Graph& graph,
                                          const std::vector<bool>& dynamic_arguments) {
  DimClasses classes(graph);
  std::vector<std::vector<int>> result(dynamic_arguments.size());
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const Value& value = graph.values[v];
    const bool may_vary =
        !value.is_constant &&
        (value.argument < 0 || dynamic_arguments[static_cast<size_t>(value.argument)]);
    for (int dim = 0; dim < value.sizes.size(); ++dim) {
      if (!may_vary || value.sizes[dim] == 1) classes.MakeStatic(static_cast<int>(v), dim);
    }
  }
  // Twice: a reshape needs to know which dimensions of its input later nodes make static.
  for (int pass = 0; pass < 2; ++pass) {
    for (const Node& node : graph.nodes) classes.AddNode(node);
  }
  std::vector<int> values(dynamic_arguments.size(), -1);  // by argument
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const int argument = graph.values[v].argument;
    if (argument >= 0) values[static_cast<size_t>(argument)] = static_cast<int>(v);
  }
  absl::flat_hash_map<int, int> numbers;  // by root
  for (size_t a = 0; a < values.size(); ++a) {
    const int rank = values[a] < 0 ? 0 : classes.Rank(values[a]);
    for (int dim = 0; dim < rank; ++dim) {
      if (classes.IsStatic(values[a], dim)) {
        result[a].push_back(kStaticDim);
        continue;
      }
      const int root = classes.Root(classes.Dim(values[a], dim));
      const int next = static_cast<int>(numbers.size());
      result[a].push_back(numbers.try_emplace(root, next).first->second);
    }
  }
  return result;
}

}  // namespace belay::pte
