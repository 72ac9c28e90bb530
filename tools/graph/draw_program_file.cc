#include "tools/graph/draw_program_file.h"

#include <algorithm>
#include <complex>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/core/dtype.h"
#include "runtime/core/memory_check.h"
#include "runtime/core/sizes.h"
#include "runtime/core/status_macros.h"
#include "runtime/schema/program.pb.h"

namespace belay::tools {
namespace {

// Maximum number of writers of a join that are drawn as operands of its user.
constexpr int kMostWriters = 16;

std::string TypeText(const ValuePlan& value) {
  if (const auto* tensor = std::get_if<TensorPlan>(&value)) {
    return absl::StrCat(DTypeShortName(tensor->dtype), FormatSizes(tensor->sizes));
  }
  if (const auto* kind = std::get_if<ScalarKind>(&value)) return std::string(ScalarKindName(*kind));
  return "";
}

// Prints a literal; "" for other values that no instruction computes.
std::string LiteralText(const ValuePlan& value) {
  struct Visitor {
    std::string operator()(None) const { return "none"; }
    std::string operator()(int64_t v) const { return absl::StrCat(v); }
    std::string operator()(double v) const { return absl::StrCat(v); }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(const std::string& v) const { return absl::StrCat("\"", v, "\""); }
    std::string operator()(const TensorPlan&) const { return ""; }
    std::string operator()(const ListPlan&) const { return ""; }
    std::string operator()(DType v) const { return std::string(DTypeShortName(v)); }
    std::string operator()(MemoryFormat v) const {
      return absl::StrCat("memory format ", static_cast<int>(v));
    }
    std::string operator()(const std::complex<double>& v) const {
      return absl::StrCat("(", v.real(), "+", v.imag(), "j)");
    }
    std::string operator()(ScalarKind) const { return ""; }
  };
  return std::visit(Visitor(), value);
}

class MethodDrawing {
 public:
  MethodDrawing(const MethodPlan& plan, const schema::MethodDebugInfo* debug)
      : plan_(plan), debug_(debug), producers_(plan.values.size()) {}

  DrawnMethod Draw() {
    DrawnMethod method{.name = plan_.name};
    for (const DelegatePlan& delegate : plan_.delegates) {
      method.delegates.push_back({delegate.backend_id, delegate.blob.size()});
    }
    for (const InputPlan& input : plan_.inputs) AddLeaf(input.value, input.name, "input");
    for (const StatePlan& state : plan_.state) {
      AddLeaf(state.value, state.name, "state");
      method.constants.push_back({.name = state.name,
                                  .kind = "state",
                                  .type = TypeText(plan_.values[state.value]),
                                  .bytes = MaxBytes(state.value)});
    }
    for (size_t i = 0; i < plan_.instructions.size(); ++i) DrawInstruction(i);
    DrawnNode output{.name = "output", .op = "output", .is_operator = false};
    for (size_t i = 0; i < plan_.outputs.size(); ++i) {
      AddOperand(plan_.outputs[i], absl::StrCat(i), output);
    }
    graph_.nodes.push_back(std::move(output));
    for (const auto& [value, node] : constants_) {
      method.constants.push_back({.name = graph_.nodes[node].name,
                                  .kind = "constant",
                                  .type = TypeText(plan_.values[value]),
                                  .bytes = MaxBytes(value)});
    }
    method.graphs.push_back(std::move(graph_));
    return method;
  }

 private:
  struct Producer {
    uint32_t node = 0, output = 0;
  };

  uint64_t MaxBytes(uint32_t value) const {
    const auto* tensor = std::get_if<TensorPlan>(&plan_.values[value]);
    return tensor == nullptr ? 0 : tensor->max_bytes;
  }

  // Adds a node for an input, a constant or a state.
  uint32_t AddLeaf(uint32_t value, std::string name, std::string op) {
    const auto index = static_cast<uint32_t>(graph_.nodes.size());
    graph_.nodes.push_back({.name = name,
                            .op = std::move(op),
                            .results = {{name, TypeText(plan_.values[value])}},
                            .is_operator = false});
    producers_[value] = Producer{index, 0};
    return index;
  }

  void AddOperand(uint32_t value, const std::string& name, DrawnNode& node) {
    if (const auto* list = std::get_if<ListPlan>(&plan_.values[value])) {
      std::vector<std::string> literals;
      for (const uint32_t element : list->elements) {
        if (AddEdge(element, name, node)) continue;
        literals.push_back(LiteralText(plan_.values[element]));
      }
      if (!literals.empty() || list->elements.empty()) {
        node.attributes.emplace_back(name, absl::StrCat("[", absl::StrJoin(literals, ", "), "]"));
      }
    } else if (!AddEdge(value, name, node)) {
      if (const std::string text = LiteralText(plan_.values[value]); !text.empty()) {
        node.attributes.emplace_back(name, text);
      }
    }
  }

  // Returns false for a literal.
  bool AddEdge(uint32_t value, const std::string& name, DrawnNode& node) {
    const auto* tensor = std::get_if<TensorPlan>(&plan_.values[value]);
    if (!producers_[value].has_value() && tensor != nullptr &&
        tensor->location == TensorPlan::Location::kConstant) {
      constants_.emplace_back(value, AddLeaf(value, absl::StrCat("constant %", value), "constant"));
    }
    if (producers_[value].has_value()) {
      node.operands.push_back({producers_[value]->node, producers_[value]->output, name});
    } else if (tensor != nullptr && tensor->location == TensorPlan::Location::kArena) {
      AddWriters(*tensor, name, node);
    }
    return producers_[value].has_value() || tensor != nullptr ||
           std::holds_alternative<ScalarKind>(plan_.values[value]);
  }

  // Adds the writers of a tensor that no instruction writes itself: a view, or an in-place join.
  void AddWriters(const TensorPlan& tensor, const std::string& name, DrawnNode& node) const {
    auto it = arena_.upper_bound(tensor.offset);
    if (it != arena_.begin() && std::prev(it)->second.end > tensor.offset) --it;
    for (int i = 0; i < kMostWriters && it != arena_.end(); ++i, ++it) {
      if (it->first >= tensor.offset + tensor.max_bytes) break;
      node.operands.push_back({it->second.producer.node, it->second.producer.output, name});
    }
  }

  // Records the producer as the last writer of these bytes.
  void TakeArena(const TensorPlan& tensor, const Producer& producer) {
    const uint64_t end = tensor.offset + tensor.max_bytes;
    auto it = arena_.upper_bound(tensor.offset);
    if (it != arena_.begin() && std::prev(it)->second.end > tensor.offset) --it;
    while (it != arena_.end() && it->first < end) it = arena_.erase(it);
    if (tensor.max_bytes > 0) arena_[tensor.offset] = {end, producer};
  }

  void DrawInstruction(size_t index) {
    DrawnNode node{.name = absl::StrCat("instruction ", index)};
    if (debug_ != nullptr) {
      const schema::InstructionDebugInfo& info = debug_->instructions(static_cast<int>(index));
      if (!info.node().empty()) node.name = info.node();
      node.source = info.source();
      node.module = info.module();
    }
    std::vector<uint32_t> outputs;
    const auto call = [&](const OperandRange& operands) {
      const absl::Span<const uint32_t> arguments = plan_.arguments_of(operands);
      for (size_t i = 0; i < arguments.size(); ++i) {
        AddOperand(arguments[i], absl::StrCat(i), node);
      }
      const absl::Span<const uint32_t> written = plan_.outputs_of(operands);
      outputs.assign(written.begin(), written.end());
    };
    const InstructionPlan& instruction = plan_.instructions[index];
    if (const auto* kernel = std::get_if<KernelCallPlan>(&instruction)) {
      node.op = plan_.operators[kernel->op];
      call(kernel->operands);
    } else if (const auto* delegate = std::get_if<DelegateCallPlan>(&instruction)) {
      node.op = "delegate";
      node.delegate = delegate->delegate;
      call(delegate->operands);
    } else if (const auto* move = std::get_if<MovePlan>(&instruction)) {
      node.op = "move";
      AddOperand(move->from, "from", node);
      outputs = {move->to};
    } else if (const auto* branch = std::get_if<JumpIfFalsePlan>(&instruction)) {
      node.op = "jump_if_false";
      AddOperand(branch->condition, "condition", node);
      node.attributes.emplace_back("target", absl::StrCat(branch->target));
    } else if (const auto* jump = std::get_if<JumpPlan>(&instruction)) {
      node.op = "jump";
      node.attributes.emplace_back("target", absl::StrCat(jump->target));
    }
    node.attributes.emplace_back("instruction", absl::StrCat(index));
    // Constants are placed before their first user.
    const auto number = static_cast<uint32_t>(graph_.nodes.size());
    const auto write = [&](uint32_t value) {
      const auto result = static_cast<uint32_t>(node.results.size());
      node.results.push_back({result == 0 ? node.name : absl::StrCat(node.name, ".", result),
                              TypeText(plan_.values[value])});
      producers_[value] = Producer{number, result};
      const auto* tensor = std::get_if<TensorPlan>(&plan_.values[value]);
      if (tensor != nullptr && tensor->location == TensorPlan::Location::kArena) {
        TakeArena(*tensor, *producers_[value]);
      }
    };
    for (const uint32_t output : outputs) {
      const ValuePlan& value = plan_.values[output];
      if (std::holds_alternative<None>(value)) continue;  // dropped result
      if (const auto* list = std::get_if<ListPlan>(&value)) {
        for (const uint32_t element : list->elements) write(element);
      } else {
        write(output);
      }
    }
    graph_.nodes.push_back(std::move(node));
  }

  const MethodPlan& plan_;
  const schema::MethodDebugInfo* debug_;
  DrawnGraph graph_;
  struct ArenaPiece {
    uint64_t end = 0;
    Producer producer;
  };
  std::map<uint64_t, ArenaPiece> arena_ = {};                  // disjoint, by begin; last writers
  std::vector<std::optional<Producer>> producers_;             // by value
  std::vector<std::pair<uint32_t, uint32_t>> constants_ = {};  // value and node
};

// A list is drawn once per user, so its size counts for each.
uint64_t MemoryFor(const MethodPlan& method) {
  MemoryBound bound;
  bound.Add(method.values.size() + method.instructions.size(), sizeof(DrawnNode) + 512);
  for (const uint32_t operand : method.operands) {
    const auto* list = std::get_if<ListPlan>(&method.values[operand]);
    bound.Add(1 + (list == nullptr ? 0 : list->elements.size()),
              256 + kMostWriters * sizeof(DrawnEdge));
    if (const auto* text = std::get_if<std::string>(&method.values[operand])) {
      bound.Add(text->size(), 4);
    }
  }
  return bound.bytes();
}

}  // namespace

absl::StatusOr<DrawnProgram> DrawProgramFile(const Program& program) {
  schema::DebugInfo debug;
  const absl::Span<const std::byte> bytes = program.debug_info();
  if (!debug.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      debug.methods_size() != static_cast<int>(program.methods().size())) {
    debug.Clear();
  }
  DrawnProgram drawn;
  for (size_t i = 0; i < program.methods().size(); ++i) {
    const MethodPlan& method = program.methods()[i];
    ABSL_RETURN_IF_ERROR(CheckMemory(MemoryFor(method), "the graph of the program"));
    const schema::MethodDebugInfo* info =
        debug.methods_size() == 0 ? nullptr : &debug.methods(static_cast<int>(i));
    if (info != nullptr &&
        info->instructions_size() != static_cast<int>(method.instructions.size())) {
      info = nullptr;
    }
    drawn.push_back(MethodDrawing(method, info).Draw());
  }
  return drawn;
}

}  // namespace belay::tools
