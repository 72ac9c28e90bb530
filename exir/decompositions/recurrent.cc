// Recurrent layers: short sequences are unrolled, long ones become a loop.

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/families.h"

namespace belay::exir {
namespace {

// Weights of one direction of one layer.
struct Layer {
  Argument input_weight, hidden_weight, input_bias, hidden_bias;  // biases may be None
  Argument projection = {};  // of the hidden state, to a smaller size than the cell's; or None
  bool transposed = false;   // hidden_weight and projection are pre-transposed

  // Weights used in each step.
  std::array<Argument*, 3> OfSteps() { return {&hidden_weight, &hidden_bias, &projection}; }
};

Argument Gates(OpBuilder& b, const Argument& input, const Argument& weight, const Argument& bias,
               bool transposed = false) {
  if (!transposed) return b.Call("aten.linear.default", {input, weight, bias});
  return bias.is_none() ? b.Call("aten.mm.default", {input, weight})
                        : b.Call("aten.addmm.default", {bias, input, weight});
}
Argument HiddenGates(OpBuilder& b, const Layer& layer, const Argument& hidden) {
  return Gates(b, hidden, layer.hidden_weight, layer.hidden_bias, layer.transposed);
}

// Computes the next state; the output is state[0].
using Step = std::vector<Argument> (*)(OpBuilder&, const Layer&, const Argument& projected,
                                       const std::vector<Argument>& state);

std::vector<Argument> Chunks(OpBuilder& b, const Argument& x, int64_t count) {
  const std::optional<int64_t> size = b.size(x, -1).AsInt();
  if (!b.ok() || !size.has_value()) return std::vector<Argument>(count);
  const std::vector<int64_t> sizes(count, *size / count);
  const Argument split = b.Call("aten.split_with_sizes.default", {x, sizes, b.rank(x) - 1});
  const Argument::List* list = split.get_if<Argument::List>();
  return list != nullptr ? *list : std::vector<Argument>(count);
}

std::vector<Argument> LstmStep(OpBuilder& b, const Layer& layer, const Argument& projected,
                               const std::vector<Argument>& state) {
  const Argument gates = Add(b, HiddenGates(b, layer, state[0]), projected);
  const std::vector<Argument> parts = Chunks(b, gates, 4);
  const Argument in = Unary(b, "sigmoid", parts[0]), forget = Unary(b, "sigmoid", parts[1]);
  const Argument cell = Unary(b, "tanh", parts[2]), out = Unary(b, "sigmoid", parts[3]);
  const Argument next = Add(b, Mul(b, forget, state[1]), Mul(b, in, cell));
  const Argument hidden = Mul(b, out, Unary(b, "tanh", next));
  if (layer.projection.is_none()) return {hidden, next};
  return {Gates(b, hidden, layer.projection, Argument(), layer.transposed), next};
}

std::vector<Argument> GruStep(OpBuilder& b, const Layer& layer, const Argument& projected,
                              const std::vector<Argument>& state) {
  const std::vector<Argument> in = Chunks(b, projected, 3);
  const std::vector<Argument> hidden = Chunks(b, HiddenGates(b, layer, state[0]), 3);
  const Argument reset = Unary(b, "sigmoid", Add(b, hidden[0], in[0]));
  const Argument update = Unary(b, "sigmoid", Add(b, hidden[1], in[1]));
  const Argument fresh = Unary(b, "tanh", Add(b, in[2], Mul(b, hidden[2], reset)));
  return {Add(b, Mul(b, Sub(b, state[0], fresh), update), fresh)};
}

template <bool kRelu>
std::vector<Argument> RnnStep(OpBuilder& b, const Layer& layer, const Argument& projected,
                              const std::vector<Argument>& state) {
  const Argument sum = Add(b, HiddenGates(b, layer, state[0]), projected);
  return {Unary(b, kRelu ? "relu" : "tanh", sum)};
}

// Results of one layer and direction: the outputs of all steps, and the final state.
struct Sequence {
  Argument outputs;
  std::vector<Argument> state;
};

Sequence Unrolled(OpBuilder& b, const Layer& layer, Step step, const Argument& projected,
                  std::vector<Argument> state, bool backwards, int64_t length) {
  std::vector<Argument> outputs(length);
  for (int64_t t = 0; t < length && b.ok(); ++t) {
    const int64_t at = backwards ? length - 1 - t : t;
    state = step(b, layer, Select(b, projected, 0, at), state);
    outputs[at] = Unsqueeze(b, state[0], 0);
  }
  return {Cat(b, outputs, 0), std::move(state)};
}

// Same, as a scan over the rows of `projected`.
Sequence Looped(OpBuilder& b, Layer layer, Step step, Argument projected,
                const std::vector<Argument>& state, bool backwards, const std::string& name) {
  const auto flipped = [&](const Argument& x) {
    return backwards ? b.Call("aten.flip.default", {x, {0}}) : x;
  };
  const auto type = [&](const Argument& x) {
    return TensorMeta::Contiguous(b.dtype(x), b.sizes(x));
  };
  // Transpose once, outside the loop.
  for (Argument* weight : {&layer.hidden_weight, &layer.projection}) {
    if (!weight->is_none()) *weight = Transpose(b, *weight, 0, 1);
  }
  layer.transposed = true;
  projected = flipped(projected);
  if (!b.ok()) return {Argument(), state};
  std::vector<SymInt> row_sizes = b.sizes(projected);
  row_sizes.erase(row_sizes.begin());
  std::vector<TensorMeta> carried;
  for (const Argument& one : state) carried.push_back(type(one));
  std::vector<TensorMeta> taken = carried;
  taken.push_back(TensorMeta::Contiguous(b.dtype(projected), row_sizes));
  Argument::List additional;
  for (const Argument* operand : layer.OfSteps()) {
    if (operand->is_none()) continue;
    additional.push_back(*operand);
    taken.push_back(type(*operand));
  }
  const GraphId body =
      b.AddBody(name, taken, [&](OpBuilder& inner, const std::vector<Argument>& inputs) {
        const auto row = inputs.begin() + state.size();
        auto next = row + 1;
        for (Argument* operand : layer.OfSteps()) {
          if (!operand->is_none()) *operand = *next++;
        }
        std::vector<Argument> results = step(inner, layer, *row, {inputs.begin(), row});
        results.push_back(results[0]);
        return results;
      });
  std::vector<SymInt> sizes = carried[0].sizes;
  sizes.insert(sizes.begin(), b.size(projected, 0));
  carried.push_back(TensorMeta::Contiguous(carried[0].dtype, sizes));
  std::vector<Argument> results = b.CallHigherOrder(
      "higher_order.scan", {body, state, Argument::List{projected}, additional}, carried);
  const Argument outputs = flipped(results.back());
  results.pop_back();
  return {outputs, std::move(results)};
}

// Maximum of unrolled steps over all layers and directions, each about a dozen nodes. Above it,
// emits a loop.
constexpr int64_t kMostWrittenOut = 1024;

// Runs all layers and directions over a sequence; returns the output and the final states. `states`
// has one tensor [layers * directions, batch, hidden] per kind of state (h; for LSTM h and c).
std::vector<Argument> Recurrence(OpBuilder& b, const OpCall& c, std::vector<Argument> states,
                                 Step step) {
  const std::vector<Argument> weights = c.List("params");
  const bool biases = c.Bool("has_biases"), two_ways = c.Bool("bidirectional");
  const bool batch_first = c.Bool("batch_first");
  const int64_t layers = c.Int("num_layers"), directions = two_ways ? 2 : 1;
  if (!b.ok()) return {};
  const double dropout = c.Bool("train") ? c.Double("dropout") : 0;
  // If the state sizes of an LSTM differ, it projects the hidden state.
  const bool projects =
      states.size() == 2 && b.size(states[0], -1) != b.size(states[1], -1) && b.ok();
  const int64_t per_layer = (biases ? 4 : 2) + (projects ? 1 : 0);
  if (layers < 1 || static_cast<int64_t>(weights.size()) / per_layer / directions != layers ||
      static_cast<int64_t>(weights.size()) != layers * directions * per_layer) {
    b.Unsupported(absl::StrCat("a recurrent layer with ", weights.size(), " parameters"));
  }
  Argument input = c["input"];
  if (batch_first) input = Transpose(b, input, 0, 1);
  const SymInt length = b.size(input, 0);
  ExpectAtLeast(b, length, 1, "a recurrent layer over an empty sequence");
  if (!b.ok()) return {};
  const int64_t steps = length.AsInt().value_or(kMostWrittenOut + 1);
  const bool loops = steps > kMostWrittenOut / (layers * directions);
  std::vector<std::vector<Argument>> finals(states.size());
  for (int64_t layer = 0; layer < layers && b.ok(); ++layer) {
    if (layer > 0 && dropout != 0) {
      input = b.Call("aten.native_dropout.default", {input, dropout, true});
    }
    std::vector<Argument> outputs;
    for (int64_t direction = 0; direction < directions && b.ok(); ++direction) {
      const int64_t index = layer * directions + direction;
      const Argument* w = &weights[index * per_layer];
      const Layer parameters{w[0], w[1], biases ? w[2] : Argument(), biases ? w[3] : Argument(),
                             projects ? w[per_layer - 1] : Argument()};
      // Project the inputs of all steps at once.
      const Argument projected = Gates(b, input, parameters.input_weight, parameters.input_bias);
      std::vector<Argument> state;
      for (const Argument& all : states) state.push_back(Select(b, all, 0, index));
      const bool backwards = direction == 1;
      Sequence sequence =
          loops ? Looped(b, parameters, step, projected, state, backwards,
                         absl::StrCat(c.op()->op(), "_l", layer, backwards ? "_reverse" : ""))
                : Unrolled(b, parameters, step, projected, state, backwards, steps);
      outputs.push_back(std::move(sequence.outputs));
      for (size_t k = 0; k < states.size() && b.ok(); ++k) {
        finals[k].push_back(Unsqueeze(b, sequence.state[k], 0));
      }
    }
    if (b.ok()) input = outputs.size() == 1 ? outputs[0] : Cat(b, outputs, b.rank(outputs[0]) - 1);
  }
  if (!b.ok()) return {};
  std::vector<Argument> results = {batch_first ? Transpose(b, input, 0, 1) : input};
  for (const std::vector<Argument>& final : finals) results.push_back(Cat(b, final, 0));
  return results;
}

std::vector<Argument> Lstm(OpBuilder& b, const OpCall& c) {
  std::vector<Argument> states = c.List("hx");
  if (states.size() != 2) b.Invalid("lstm: expected two states");
  return Recurrence(b, c, std::move(states), LstmStep);
}
std::vector<Argument> Gru(OpBuilder& b, const OpCall& c) {
  return Recurrence(b, c, {c["hx"]}, GruStep);
}
template <bool kRelu>
std::vector<Argument> Rnn(OpBuilder& b, const OpCall& c) {
  return Recurrence(b, c, {c["hx"]}, RnnStep<kRelu>);
}

// A single step. `states` as above, without the layer dimension.
std::vector<Argument> Cell(OpBuilder& b, const OpCall& c, const std::vector<Argument>& states,
                           Step step) {
  const Layer layer{c["w_ih"], c["w_hh"], c["b_ih"], c["b_hh"]};
  const Argument projected = Gates(b, c["input"], layer.input_weight, layer.input_bias);
  if (!b.ok()) return {};
  return step(b, layer, projected, states);
}
std::vector<Argument> LstmCell(OpBuilder& b, const OpCall& c) {
  const std::vector<Argument> states = c.List("hx");
  if (states.size() != 2) b.Invalid("lstm_cell: expected two states");
  return b.ok() ? Cell(b, c, states, LstmStep) : std::vector<Argument>();
}
template <Step kStep>
std::vector<Argument> OneStateCell(OpBuilder& b, const OpCall& c) {
  return Cell(b, c, {c["hx"]}, kStep);
}

constexpr Decomposition kDecompositions[] = {
    {"aten.gru.input", Gru},
    {"aten.gru_cell.default", OneStateCell<GruStep>},
    {"aten.lstm.input", Lstm},
    {"aten.lstm_cell.default", LstmCell},
    {"aten.rnn_relu.input", Rnn<true>},
    {"aten.rnn_relu_cell.default", OneStateCell<RnnStep<true>>},
    {"aten.rnn_tanh.input", Rnn<false>},
    {"aten.rnn_tanh_cell.default", OneStateCell<RnnStep<false>>},
};

}  // namespace

absl::Span<const Decomposition> RecurrentDecompositions() { return kDecompositions; }

}  // namespace belay::exir
