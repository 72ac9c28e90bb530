#include "conformance/lowering/colour_refinement.h"

#include <algorithm>
#include <set>

namespace belay::conformance {
namespace {

// Each refines anew. Vertices that are still alike after that go together in their order.
constexpr int kMaxChoices = 256;

// The two graphs side by side, `b` behind `a`.
class Refinement {
 public:
  Refinement(const ColouredGraph& a, const ColouredGraph& b)
      : size_a_(a.labels.size()), neighbours_(a.labels.size() + b.labels.size()) {
    std::map<std::string, int> labels, edge_labels;
    const auto number = [](std::map<std::string, int>& numbers, const std::string& label) {
      return numbers.emplace(label, static_cast<int>(numbers.size())).first->second;
    };
    std::vector<int> colours;
    for (const ColouredGraph* graph : {&a, &b}) {
      const size_t base = graph == &a ? 0 : size_a_;
      for (const std::string& label : graph->labels) colours.push_back(number(labels, label));
      hints_.insert(hints_.end(), graph->hints.begin(), graph->hints.end());
      for (const ColouredGraph::Edge& edge : graph->edges) {
        const int label = 2 * number(edge_labels, edge.label);
        neighbours_[base + edge.from].emplace_back(label, base + edge.to);
        neighbours_[base + edge.to].emplace_back(label + 1, base + edge.from);
      }
    }
    history_.push_back(std::move(colours));
    Stabilise();
    for (int i = 0; i < kMaxChoices && Choose(); ++i) Stabilise();
  }

  std::vector<size_t> Match() const {
    std::vector<size_t> partner(neighbours_.size() - size_a_, kNoPartner);
    std::vector<bool> taken(size_a_, false);
    for (size_t round = history_.size(); round-- > 0;) {
      std::map<int, std::vector<size_t>> free;  // of `a`, the first last
      for (size_t v = size_a_; v-- > 0;) {
        if (!taken[v]) free[history_[round][v]].push_back(v);
      }
      for (size_t v = 0; v < partner.size(); ++v) {
        std::vector<size_t>& same = free[history_[round][size_a_ + v]];
        if (partner[v] != kNoPartner || same.empty()) continue;
        partner[v] = same.back();
        taken[same.back()] = true;
        same.pop_back();
      }
    }
    return partner;
  }

 private:
  // Until no colour is split any more.
  void Stabilise() {
    size_t count = Count();
    while (true) {
      std::map<std::vector<int>, int> numbers;
      std::vector<int> colours;
      for (size_t v = 0; v < neighbours_.size(); ++v) {
        std::vector<std::pair<int, int>> around;
        for (const auto& [label, other] : neighbours_[v]) {
          around.emplace_back(label, history_.back()[other]);
        }
        std::sort(around.begin(), around.end());
        std::vector<int> signature = {history_.back()[v]};
        for (const auto& [label, colour] : around) {
          signature.push_back(label);
          signature.push_back(colour);
        }
        colours.push_back(
            numbers.emplace(std::move(signature), static_cast<int>(numbers.size())).first->second);
      }
      history_.push_back(std::move(colours));
      if (numbers.size() == count) return;
      count = numbers.size();
    }
  }

  size_t Count() const {
    return std::set<int>(history_.back().begin(), history_.back().end()).size();
  }

  // Gives a vertex of `a` that is not alone in its colour, and one such of `b`, a colour of their
  // own: those with hints first, else the first of each.
  bool Choose() { return Choose(/*by_hint=*/true) || Choose(/*by_hint=*/false); }

  bool Choose(bool by_hint) {
    std::map<int, std::vector<size_t>> classes;
    for (size_t v = 0; v < neighbours_.size(); ++v) classes[history_.back()[v]].push_back(v);
    for (size_t v = 0; v < size_a_; ++v) {
      const std::vector<size_t>& alike = classes[history_.back()[v]];
      if (alike.size() <= 2 || (by_hint && hints_[v].empty())) continue;
      const auto other = std::find_if(alike.begin(), alike.end(), [&](size_t w) {
        return w >= size_a_ && (!by_hint || hints_[w] == hints_[v]);
      });
      if (other == alike.end()) continue;
      std::vector<int> colours = history_.back();
      colours[v] = colours[*other] = static_cast<int>(neighbours_.size());
      history_.push_back(std::move(colours));
      return true;
    }
    return false;
  }

  const size_t size_a_;
  std::vector<std::string> hints_;
  std::vector<std::vector<std::pair<int, size_t>>> neighbours_;  // edge label, vertex
  std::vector<std::vector<int>> history_;                        // colours by round
};

}  // namespace

std::vector<size_t> MatchVertices(const ColouredGraph& a, const ColouredGraph& b) {
  return Refinement(a, b).Match();
}

}  // namespace belay::conformance
