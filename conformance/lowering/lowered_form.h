// Lowered programs as expected.json has them, and as vertices that can be matched.
#ifndef BELAY_CONFORMANCE_LOWERING_LOWERED_FORM_H_
#define BELAY_CONFORMANCE_LOWERING_LOWERED_FORM_H_

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conformance/lowering/colour_refinement.h"
#include "conformance/lowering/json_value.h"

namespace belay::conformance {

// Programs after lowering, and the programs of their delegates. Graphs are objects of entries by
// path as in expected.json or as ToNormalForm() makes them, without `getitem`.
struct LoweredForm {
  struct Delegate {
    std::string backend_id;
    Json compile_specs;
    Json graphs;
    std::string source;  // whatever tells delegates apart that are alike; may be empty
  };
  std::map<std::string, Json> methods;  // graphs by name
  std::vector<Delegate> delegates;      // by the number that calls give
};

// Whose graphs they are.
struct FormOwner {
  std::string method;
  size_t delegate = kNoDelegate;
  static constexpr size_t kNoDelegate = static_cast<size_t>(-1);
  bool is_delegate() const { return delegate != kNoDelegate; }
  auto operator<=>(const FormOwner&) const = default;
};

// The paths of graphs, depth first.
std::vector<std::string> GraphOrder(const Json& graphs);
// The same value with all references to nodes and inputs replaced.
Json MapReferences(const Json& json, const std::function<Json(const Json&)>& fn);
// The outputs that a program's caller gets, by their position among the call's results.
std::vector<size_t> ResultsOf(const Json& graphs);
// Symbols become d0, d1, … in order of first appearance, as in a form that was made in this order.
void RenumberSymbols(Json& graphs);

// A form as vertices: entries, outputs of delegates' programs, arguments of calls, and delegates.
// The number, order and places of what a case may leave open are in no label. `form` must outlive
// this.
class FormGraph {
 public:
  explicit FormGraph(const LoweredForm& form);

  struct Place {
    FormOwner owner;
    std::string path;
    size_t index = 0;  // of the entry, of the output of a delegate's program, or of the delegate
  };

  const ColouredGraph& graph() const { return graph_; }
  size_t Entry(const FormOwner& owner, const std::string& path, size_t index) const {
    return entries_.at({owner, path})[index];
  }
  size_t Output(size_t delegate, size_t index) const { return outputs_.at(delegate)[index]; }
  size_t Module(size_t delegate) const { return modules_[delegate]; }
  // Of vertices of these three sorts.
  const Place& PlaceOf(size_t vertex) const { return places_.at(vertex); }

 private:
  // What references of a graph name.
  struct Scope {
    const Json::Array& entries;
    const std::vector<size_t>& vertices;
    std::map<int64_t, size_t> inputs, nodes;  // positions of entries
  };

  void AddVertices(const FormOwner& owner, const Json& graphs);
  void AddEdges(const FormOwner& owner, const Json& graphs);
  void AddEdges(const FormOwner& owner, const std::string& path, const Scope& scope, size_t index);
  void AddReferences(size_t user, const Json& json, const std::string& where, const Scope& scope);
  void AddCall(const Json& call, size_t vertex, const Scope& scope);
  const LoweredForm::Delegate* DelegateOf(const Json& call) const;
  std::optional<size_t> ResultVertex(const Json& call, const Json& reference) const;

  const LoweredForm& form_;
  ColouredGraph graph_;
  std::map<std::pair<FormOwner, std::string>, std::vector<size_t>> entries_;
  std::map<size_t, std::vector<size_t>> outputs_;
  std::vector<size_t> modules_;
  std::map<size_t, Place> places_;
};

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_LOWERED_FORM_H_
