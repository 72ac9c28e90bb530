// Finds which vertices of two graphs correspond.
//
// Colour refinement: a vertex's colour says what it is and what surrounds it, further out with each
// round. Where vertices of a graph are alike, the first of one graph goes with the first of the
// other. Nothing is tried twice, so that a pairing is found in polynomial time; whether it is one
// that makes the graphs equal, the caller checks.
#ifndef BELAY_CONFORMANCE_LOWERING_COLOUR_REFINEMENT_H_
#define BELAY_CONFORMANCE_LOWERING_COLOUR_REFINEMENT_H_

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace belay::conformance {

struct ColouredGraph {
  struct Edge {
    size_t from, to;
    std::string label;
  };
  // Returns the vertex's number. Of vertices that are alike, those with one hint go together.
  size_t AddVertex(std::string label, std::string hint = "") {
    labels.push_back(std::move(label));
    hints.push_back(std::move(hint));
    return labels.size() - 1;
  }
  void AddEdge(size_t from, size_t to, std::string label) {
    edges.push_back({from, to, std::move(label)});
  }

  std::vector<std::string> labels, hints;  // by vertex
  std::vector<Edge> edges;
};

constexpr size_t kNoPartner = static_cast<size_t>(-1);

// For each vertex of `b` its partner in `a`, or kNoPartner. Of vertices that have no equal, those
// go together that are equal in the widest surroundings; partners have the same label.
std::vector<size_t> MatchVertices(const ColouredGraph& a, const ColouredGraph& b);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_COLOUR_REFINEMENT_H_
