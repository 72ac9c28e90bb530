// Assigns one color to each backend, the same in every picture of a program.
#ifndef BELAY_TOOLS_GRAPH_BACKEND_COLORS_H_
#define BELAY_TOOLS_GRAPH_BACKEND_COLORS_H_

#include <cstddef>
#include <map>
#include <string>

#include "tools/graph/drawn_program.h"

namespace belay::tools {

// Colors in the order in which the program's delegates first name their backends; the ninth backend
// has the first color again.
class BackendColors {
 public:
  explicit BackendColors(const DrawnProgram& program) {
    for (const DrawnMethod& method : program) {
      for (const DrawnDelegate& delegate : method.delegates) {
        indices_.try_emplace(delegate.backend, indices_.size());
      }
    }
  }
  // Returns "#rrggbb". Precondition: the backend is one of the program's.
  const char* Of(const std::string& backend) const {
    static constexpr const char* kColors[] = {"#8ecae6", "#b7e4a0", "#ffd08a", "#d9b8f1",
                                              "#f7a8b8", "#9be0d0", "#e6d784", "#c4c9e8"};
    return kColors[indices_.at(backend) % std::size(kColors)];
  }
  const std::map<std::string, size_t>& backends() const { return indices_; }

 private:
  std::map<std::string, size_t> indices_;
};

}  // namespace belay::tools

#endif  // BELAY_TOOLS_GRAPH_BACKEND_COLORS_H_
