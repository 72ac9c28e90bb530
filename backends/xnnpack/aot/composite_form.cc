#include "backends/xnnpack/aot/composite_form.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/xnnpack/aot/weight.h"
#include "exir/ir/float_elements.h"
#include "exir/ir/match.h"
#include "runtime/core/sizes.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::xnnpack {
namespace {

namespace m = exir::match;
using exir::Argument;
using exir::NodeId;
using exir::ValueId;

// Operators between the first of a composite operator and its last one.
constexpr int kMaxInner = 3;

struct Match {
  std::string_view op;
  ValueId input = {};
  ValueId weight = {};             // of prelu
  std::vector<NodeId> nodes = {};  // the last operator first
};

std::optional<Match> MatchHardswish(const exir::Graph& graph, NodeId node) {
  Match match{.op = "aten.hardswish.default"};
  const m::Pattern x = m::Same(&match.input);
  const m::Pattern six =
      m::Op({"clamp", "hardtanh"}, m::Sum(m::Value(&match.input), m::Number(3.0)), m::Number(0.0),
            m::Number(6.0));
  const auto by_six = [](m::Pattern operand) {
    return m::Op("div", std::move(operand), m::Number(6.0))
        .With("rounding_mode", m::Literal(Argument()));
  };
  // The first operand that matches captures x.
  for (const m::Pattern& pattern :
       {by_six(m::EitherOrder("mul", six, x)), m::EitherOrder("mul", by_six(six), x)}) {
    if (auto nodes = m::Matcher(graph).Match(pattern, node)) {
      match.nodes = *std::move(nodes);
      return match;
    }
  }
  return std::nullopt;
}

std::optional<Match> MatchPrelu(const exir::Graph& graph, NodeId node) {
  Match match{.op = "aten.prelu.default"};
  const m::Pattern x = m::Same(&match.input);
  const m::Pattern where =
      m::Op("aten.where.self", m::Op("gt", m::Value(&match.input), m::Number(0.0)), x,
            m::EitherOrder("mul", x, m::Value(&match.weight)));
  auto nodes = m::Matcher(graph).Match(where, node);
  if (!nodes.has_value()) return std::nullopt;
  match.nodes = *std::move(nodes);
  return match;
}

std::optional<Match> MatchOf(const exir::Graph& graph, NodeId node) {
  const std::string_view op = graph.node(node).target->op();
  std::optional<Match> match;
  if (op == "div" || op == "mul") match = MatchHardswish(graph, node);
  if (op == "where") match = MatchPrelu(graph, node);
  const bool closed = match.has_value() &&
                      std::all_of(match->nodes.begin() + 1, match->nodes.end(),
                                  [&](NodeId id) { return graph.HasOneUse(graph.ResultOf(id)); });
  return closed ? match : std::nullopt;
}

}  // namespace

absl::Status ReadSlopes(const OperationReader& r, const Argument& input, const Argument& weight,
                        bool broadcasts, Operation& operation) {
  ABSL_ASSIGN_OR_RETURN(const ValueId x, r.Tensor(input));
  ABSL_ASSIGN_OR_RETURN(const exir::ConstantTensor constant, r.FloatConstant(weight, "weight"));
  ABSL_ASSIGN_OR_RETURN(std::vector<float> slopes, exir::FloatElements(constant));
  if (!std::all_of(slopes.begin(), slopes.end(),
                   [](float slope) { return std::isfinite(slope); })) {
    return Unsupported("a slope is not finite");
  }
  operation.operands = {x};
  operation.slopes = *weight.get_if<ValueId>();
  if (slopes.size() == 1) {
    operation.type = NodeType::LeakyReLU;
    operation.number = slopes[0];
    return absl::OkStatus();
  }
  // Nodes have channels in the last dimension.
  const int rank = SizesOf(r.program, x).size();
  if (rank != 2 && rank != 4) {
    return Unsupported(absl::StrCat("it has a slope per channel, and the input has rank ", rank));
  }
  operation.images = rank == 4 ? Images::kNhwc : Images::kRows;
  ABSL_RETURN_IF_ERROR(r.CheckStatic(x, 1));
  Sizes expected(broadcasts ? rank : 1, 1);
  expected[broadcasts ? 1 : 0] = SizesOf(r.program, x)[1];
  if (constant.sizes() != expected) {
    return Unsupported(absl::StrCat("weight is ", FormatSizes(constant.sizes()), ", expected ",
                                    FormatSizes(expected)));
  }
  operation.scales = std::move(slopes);
  return absl::OkStatus();
}

std::optional<Operation> CompositeOperationOf(const exir::ExportedProgram& program, NodeId node) {
  std::optional<Match> match = MatchOf(program.top(), node);
  if (!match.has_value()) return std::nullopt;
  const OperationReader reader(program, node);
  if (!reader.CheckTensor(reader.result()).ok() || !reader.CheckTensor(match->input).ok() ||
      reader.graph.value(match->input).tensor()->sizes !=
          reader.graph.value(reader.result()).tensor()->sizes) {
    return std::nullopt;
  }
  Operation operation;
  operation.composite = match->op;
  operation.inner.assign(match->nodes.rbegin(), match->nodes.rend() - 1);
  if (match->weight.valid()) {
    operation.type = NodeType::PReLU;
    if (!ReadSlopes(reader, match->input, match->weight, /*broadcasts=*/true, operation).ok()) {
      return std::nullopt;
    }
  } else {
    operation.type = NodeType::Hardswish;
    operation.operands = {match->input};
  }
  return operation;
}

std::optional<NodeId> CompositeUserOf(const exir::ExportedProgram& program, NodeId node) {
  const exir::Graph& graph = program.top();
  constexpr std::string_view kInner[] = {"add", "clamp", "hardtanh", "mul", "div", "gt"};
  const std::string_view op = graph.node(node).target->op();
  if (std::find(std::begin(kInner), std::end(kInner), op) == std::end(kInner)) return std::nullopt;
  std::optional<NodeId> user = node;
  for (int i = 0; i < kMaxInner; ++i) {
    if (graph.node(*user).results().empty()) return std::nullopt;
    user = graph.SoleUser(graph.ResultOf(*user));
    if (!user.has_value()) return std::nullopt;
    const std::optional<Operation> composite = CompositeOperationOf(program, *user);
    if (composite.has_value() && std::find(composite->inner.begin(), composite->inner.end(),
                                           node) != composite->inner.end()) {
      return user;
    }
  }
  return std::nullopt;
}

}  // namespace belay::xnnpack
