// Runs a meta kernel on a call in text form.
#ifndef BELAY_EXIR_OPS_TESTING_INFERRED_CALL_H_
#define BELAY_EXIR_OPS_TESTING_INFERRED_CALL_H_

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/infer.h"
#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gtest/gtest.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {

inline const OpRegistry& InferredOps() {
  static const OpRegistry& ops = *CreateStandardOps().value().release();
  return ops;
}

class CountingSymbols final : public SymbolSource {
 public:
  SymExpr Fresh(SymRange range) override {
    const std::string name = absl::StrCat("u", next_++);
    absl::StrAppend(&ranges, "; ", name, " from ",
                    range.min == SymRange::kUnboundedBelow ? "-inf" : absl::StrCat(range.min),
                    " to ",
                    range.max == SymRange::kUnboundedAbove ? "inf" : absl::StrCat(range.max));
    return SymExpr::Symbol(name);
  }
  std::string ranges;

 private:
  int next_ = 0;
};

inline std::string Print(const MetaValue& value) {
  if (value.is_none()) return "none";
  if (const MetaList* list = value.get_if<MetaList>()) {
    std::string text = "[";
    for (const MetaValue& element : *list) {
      absl::StrAppend(&text, text.size() == 1 ? "" : ", ", Print(element));
    }
    return text + "]";
  }
  return PrintType(ToValueType(value));
}

// Returns the result types of a call on the inputs below: "f32[2,3], i64[2,3]", followed by the
// ranges of new symbols; or the error message.
inline std::string Inferred(std::string_view call, bool makes_symbols = true) {
  const std::string name(call.substr(0, call.find('(')));
  const OpOverload* op = InferredOps().Find(name);
  if (op == nullptr) return absl::StrCat("there is no ", name);
  std::string results;
  for (size_t i = 0; i < op->schema()->returns.size(); ++i) {
    absl::StrAppend(&results, i == 0 ? "" : ", ", "%r", i, ": f32[]");
  }
  ExportedProgram program = ParseOrDie(
      absl::StrCat(
          "program aten {\nranges { s0: [2, 9] s1: [0, 64] }\ngraph("
          "%x: f32[2,3] user_input, %y: f32[4,3] user_input, %v: f32[3] user_input, "
          "%c: f32[] user_input, %e: f32[0,3] user_input, %s: f32[s0,3] user_input, "
          "%t: f32[s1,s0] user_input, %h: f16[2,3] user_input, %d: f64[2,3] user_input, "
          "%i: i64[3] user_input, %j: i32[3] user_input, %b: b8[2,3] user_input, "
          "%u: u8[2,3] user_input, %z: c64[2,3] user_input, %m: b8[2] user_input, "
          "%im: f32[2,3,4,5] user_input, "
          "%cl: f32[2,3,4,5]{strides=[60,1,15,3]} user_input, "
          "%ex: f32[2,3]{strides=[0,1]} user_input, %out: f32[0] user_input, "
          "%col: f32[2,1] user_input, %tr: f32[3,2]{strides=[1,3]} user_input, "
          "%vol: f32[1,2,3,4,5] user_input, %two: i64[2] user_input, %mc: b8[] user_input, "
          "%lone: i64[1] user_input, %cls: f32[2,s0,4,5]{strides=[20*s0,1,5*s0,s0]} user_input, "
          "%ce: f32[2,0,4,5]{strides=[0,1,0,0]} user_input, "
          "%r: f32[2] user_input, "
          "%u1: u8[1] user_input, %z1: c64[1] user_input, "
          "%narrow: f32[2,1,4,1]{strides=[4,1,1,7]} user_input, %u16: u16[2,3] user_input, "
          "%pe: f32[2,0,4,4] user_input, %t3: f32[2,3,4] user_input, %sc: i64[] user_input, "
          "%tall: f32[1,3,s0,6] user_input, %fours: f32[4] user_input, "
          "%cc: f32[4,4] user_input, %gaps: f32[3]{strides=[2]} user_input, "
          "%large: f32[s0**9,2]{strides=[1,s0**9]} user_input, "
          "%vast: f32[s0**20,2]{strides=[1,s0**20]} user_input, "
          "%apart: f32[2,3]{strides=[1,s0**20]} user_input, "
          "%lines: f32[1,2,1,s0**20] user_input, "
          "%images: f32[2,3,4,5]{strides=[s0**20,1,15,3]} user_input, "
          "%rows: f32[2,3,4,s0**20]{strides=[60,1,15,3]} user_input, "
          "%once: f32[1,3]{strides=[0,1]} user_input, "
          "%steps: f32[s0,3]{strides=[s1,1]} user_input, %crossed: f32[2,3]{strides=[1,1]} "
          "user_input, "
          "%full: f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2] user_input, "
          "%places: i64[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2] user_input, %pair: f32[2] user_input, "
          "%planes: f32[2,3,4,5]{strides=[60,s0**20,15,3]} user_input, "
          "%gray: f32[2,3,4,5]{strides=[20,0,5,1]} user_input, "
          "%n: symint(s0) user_input, %k: symint(s1) user_input, "
          "%f: symfloat(ToFloat(s0)) user_input, %q: symbool(Eq(s0, 3)) user_input) {\n",
          results, results.empty() ? "" : " = ", call, "\nreturn () } }"),
      InferredOps());
  // A tensor of rank 17, which no test call contains as text.
  std::vector<SymInt> sizes(17, SymInt(1));
  sizes.back() = SymInt(2);
  GraphEditor(program.top())
      .SetType(FindValue(program.top(), "r"), TensorMeta::Contiguous(DType::kFloat32, sizes));
  const Graph& graph = program.top();
  const Node& node = graph.node(graph.first());
  CountingSymbols symbols;
  const absl::StatusOr<std::vector<MetaValue>> outputs =
      InferOutputs(graph, node.target, node.arguments, makes_symbols ? &symbols : nullptr);
  if (!outputs.ok()) {
    // Without the node, which the call already shows.
    const std::string message(outputs.status().message());
    return message.substr(0, message.find("\n"));
  }
  std::string text;
  for (const MetaValue& output : *outputs) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", Print(output));
  }
  return text + symbols.ranges;
}

struct InferredCase {
  std::string_view call, expected;
};
inline void ExpectInferred(std::initializer_list<InferredCase> cases) {
  for (const InferredCase& c : cases) EXPECT_EQ(Inferred(c.call), c.expected) << c.call;
}

}  // namespace belay::exir

#endif  // BELAY_EXIR_OPS_TESTING_INFERRED_CALL_H_
