#include "conformance/lowering/open_order.h"

#include <algorithm>
#include <optional>

#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

const std::string& Kind(const Json& entry) { return entry["kind"].text(); }
bool IsUserInput(const Json& entry) { return entry["input"].text() == "user_input"; }

class Reordering {
 public:
  Reordering(const LoweredForm& expected, const OpenOrder& open, const LoweredForm& came)
      : expected_(expected),
        open_(open),
        came_(came),
        expected_graph_(expected),
        came_graph_(came),
        partner_(MatchVertices(expected_graph_.graph(), came_graph_.graph())) {}

  Reordered Run() {
    result_.form.delegates.resize(came_.delegates.size());
    result_.numbers.resize(came_.delegates.size());
    result_.changed.resize(came_.delegates.size());
    MatchDelegates();
    for (const auto& [name, graphs] : came_.methods) FindOrders({name}, graphs);
    for (size_t d = 0; d < came_.delegates.size(); ++d) {
      FindOrders({"", d}, came_.delegates[d].graphs);
    }
    for (const auto& [name, graphs] : came_.methods) {
      result_.form.methods[name] = Rewrite({name}, graphs);
      result_.any_graph_changed = result_.any_graph_changed || moved_[{name}];
    }
    for (size_t d = 0; d < came_.delegates.size(); ++d) {
      const LoweredForm::Delegate& delegate = came_.delegates[d];
      result_.form.delegates[number_[d]] = {delegate.backend_id, delegate.compile_specs,
                                            Rewrite({"", d}, delegate.graphs), delegate.source};
      result_.changed[number_[d]] = moved_[{"", d}];
    }
    CheckNumbers();
    return std::move(result_);
  }

 private:
  // Of a graph that came; new to old.
  struct Order {
    std::string path;  // what it becomes
    std::vector<size_t> entries;
    std::vector<size_t> outputs;     // of a delegate's program
    std::map<int64_t, int64_t> ids;  // old to new, like those below
    std::map<int64_t, int64_t> inputs;
    std::map<int64_t, int64_t> results;
  };

  void MatchDelegates() {
    number_.assign(came_.delegates.size(), kNoPartner);
    std::set<size_t> free;
    for (size_t d = 0; d < expected_.delegates.size(); ++d) free.insert(d);
    for (size_t d = 0; d < number_.size(); ++d) {
      const size_t partner = partner_[came_graph_.Module(d)];
      if (partner == kNoPartner) continue;
      number_[d] = expected_graph_.PlaceOf(partner).index;
      free.erase(number_[d]);
    }
    for (size_t d = 0; d < number_.size(); ++d) {
      if (number_[d] == kNoPartner) number_[d] = free.extract(free.begin()).value();
      result_.numbers[number_[d]] = d;
      if (number_[d] != d) result_.any_graph_changed = true;
    }
  }

  // Where the partner of something of this owner stands, if it is in the same graph.
  std::optional<size_t> PartnerOf(const FormOwner& owner, const std::string& path,
                                  size_t vertex) const {
    if (partner_[vertex] == kNoPartner) return std::nullopt;
    const FormGraph::Place& place = expected_graph_.PlaceOf(partner_[vertex]);
    const FormOwner wanted = Expected(owner);
    if (place.owner != wanted || place.path != path) return std::nullopt;
    return place.index;
  }

  FormOwner Expected(const FormOwner& owner) const {
    return !owner.is_delegate() ? owner : FormOwner{"", number_[owner.delegate]};
  }

  const Json& ExpectedGraphs(const FormOwner& owner) const {
    const FormOwner wanted = Expected(owner);
    return !owner.is_delegate() ? expected_.methods.at(owner.method)
                                : expected_.delegates[wanted.delegate].graphs;
  }

  bool IsOpen(const FormOwner& owner, const std::string& path) const {
    return !owner.is_delegate() ? open_.graphs.contains({owner.method, path})
                                : open_.delegates.contains(number_[owner.delegate]);
  }

  void FindOrders(const FormOwner& owner, const Json& graphs) {
    std::vector<std::pair<std::string, std::string>> pending = {{"", ""}};  // came, becomes
    while (!pending.empty()) {
      const auto [path, becomes] = pending.back();
      pending.pop_back();
      if (!graphs.contains(path)) continue;
      const Json::Array& entries = graphs[path].array();
      Order& order = orders_[{owner, path}];
      order = OrderOf(owner, path, becomes, entries);
      for (size_t i = 0; i < entries.size(); ++i) {
        for (const auto& [label, body] : entries[i]["graphs"].object()) {
          // In an exact graph the body's path goes with that of the graph.
          std::string inner =
              becomes + body.text().substr(std::min(path.size(), body.text().size()));
          const auto partner = IsOpen(owner, becomes)
                                   ? PartnerOf(owner, becomes, came_graph_.Entry(owner, path, i))
                                   : std::nullopt;
          if (partner.has_value()) {
            const Json& there = ExpectedGraphs(owner)[becomes].array()[*partner]["graphs"][label];
            if (!there.is_null()) inner = there.text();
          }
          if (inner != body.text()) moved_[owner] = true;
          pending.emplace_back(body.text(), inner);
        }
      }
    }
  }

  Order OrderOf(const FormOwner& owner, const std::string& path, const std::string& becomes,
                const Json::Array& entries) {
    const bool open = IsOpen(owner, becomes);
    const bool top_of_delegate = owner.is_delegate() && path.empty();
    Order order;
    order.path = becomes;
    // Inputs, nodes, output; of those what has no partner last.
    std::vector<std::pair<std::pair<int, size_t>, size_t>> keys;
    for (size_t i = 0; i < entries.size(); ++i) {
      const std::string& kind = Kind(entries[i]);
      const int sort = kind == "placeholder" ? 0 : kind == "output" ? 2 : 1;
      const bool may_move = open && (sort == 1 || top_of_delegate);
      size_t key = i;
      if (may_move) {
        key = PartnerOf(owner, becomes, came_graph_.Entry(owner, path, i)).value_or(kNoPartner);
      }
      keys.push_back({{sort, key}, i});
    }
    std::sort(keys.begin(), keys.end());
    for (const auto& [key, i] : keys) {
      if (order.entries.size() != i) moved_[owner] = true;
      order.entries.push_back(i);
      if (entries[i].contains("id")) {
        order.ids.emplace(entries[i]["id"].number(), order.ids.size());
      }
      if (IsUserInput(entries[i])) {
        order.inputs.emplace(entries[i]["index"].number(), order.inputs.size());
      }
    }
    if (top_of_delegate && !entries.empty()) OrderOutputs(owner, open, entries.back(), order);
    return order;
  }

  void OrderOutputs(const FormOwner& owner, bool open, const Json& output, Order& order) {
    const Json::Array& outputs = output["outputs"].array();
    std::vector<std::pair<size_t, size_t>> keys;
    for (size_t k = 0; k < outputs.size(); ++k) {
      const size_t vertex = came_graph_.Output(owner.delegate, k);
      keys.emplace_back(open ? PartnerOf(owner, "", vertex).value_or(kNoPartner) : k, k);
    }
    std::sort(keys.begin(), keys.end());
    const std::vector<size_t> results = ResultsOf(came_.delegates[owner.delegate].graphs);
    for (const auto& [key, k] : keys) {
      if (order.outputs.size() != k) moved_[owner] = true;
      order.outputs.push_back(k);
      const auto result = std::find(results.begin(), results.end(), k);
      if (result != results.end()) {
        order.results.emplace(result - results.begin(), order.results.size());
      }
    }
  }

  Json Rewrite(const FormOwner& owner, const Json& graphs) {
    Json::Object rewritten;
    for (const auto& [path, entries] : graphs.object()) {
      const auto order = orders_.find({owner, path});
      if (order == orders_.end()) continue;
      rewritten[order->second.path] = RewriteGraph(owner, order->second, entries.array());
    }
    Json result = std::move(rewritten);
    if (moved_[owner]) RenumberSymbols(result);
    return result;
  }

  Json::Array RewriteGraph(const FormOwner& owner, const Order& order,
                           const Json::Array& entries) const {
    std::map<int64_t, const Json*> nodes;
    for (const Json& entry : entries) {
      if (entry.contains("id")) nodes[entry["id"].number()] = &entry;
    }
    const bool top_of_delegate = owner.is_delegate() && order.path.empty();
    const auto reference = [&](const Json& old) -> Json {
      Json::Object copy = old.object();
      if (copy.contains("input")) {
        if (top_of_delegate) copy["input"] = At(order.inputs, copy["input"].number());
        return copy;
      }
      const auto node = nodes.find(copy["node"].number());
      copy["node"] = At(order.ids, copy["node"].number());
      if (node == nodes.end() || Kind(*node->second) != "delegate" || !copy.contains("out")) {
        return copy;
      }
      if (const Order* callee = OrderOfCallee(*node->second)) {
        copy["out"] = At(callee->results, copy["out"].number());
      }
      return copy;
    };
    Json::Array rewritten;
    for (size_t i : order.entries) {
      Json::Object entry = entries[i].object();
      if (entry.contains("id")) entry["id"] = At(order.ids, entry["id"].number());
      if (top_of_delegate && IsUserInput(entries[i])) {
        entry["index"] = At(order.inputs, entry["index"].number());
      }
      for (const char* key : {"args", "kwargs", "outputs"}) {
        if (entry.contains(key)) entry[key] = MapReferences(entry[key], reference);
      }
      if (Kind(entries[i]) == "delegate") RewriteCall(entry);
      if (entry.contains("graphs")) {
        for (auto& [label, body] : *entry["graphs"].get_if<Json::Object>()) {
          const auto inner = orders_.find({owner, body.text()});
          if (inner != orders_.end()) body = inner->second.path;
        }
      }
      if (top_of_delegate && Kind(entries[i]) == "output") {
        const Json::Array outputs = entry["outputs"].array();
        Json::Array& moved = *entry["outputs"].get_if<Json::Array>();
        for (size_t k = 0; k < moved.size(); ++k) moved[k] = outputs[order.outputs[k]];
      }
      rewritten.push_back(std::move(entry));
    }
    return rewritten;
  }

  static int64_t At(const std::map<int64_t, int64_t>& map, int64_t key) {
    const auto found = map.find(key);
    return found == map.end() ? key : found->second;
  }

  const Order* OrderOfCallee(const Json& call) const {
    const auto found =
        orders_.find({FormOwner{"", static_cast<size_t>(call["delegate"].number())}, ""});
    return found == orders_.end() ? nullptr : &found->second;
  }

  void RewriteCall(Json::Object& call) const {
    const Order* callee = OrderOfCallee(call);
    if (callee == nullptr) return;
    const Json::Array arguments = call["args"].array();
    Json::Array& moved = *call["args"].get_if<Json::Array>();
    for (size_t k = 0; k < arguments.size(); ++k) {
      const auto to = static_cast<size_t>(At(callee->inputs, static_cast<int64_t>(k)));
      if (to < moved.size()) moved[to] = arguments[k];
    }
    call["delegate"] = number_[static_cast<size_t>(call["delegate"].number())];
  }

  // Delegates of one backend are made graph by graph, and in a graph in its order; the backends'
  // turns go by whose delegate stands first.
  void CheckNumbers() {
    struct Root {
      std::pair<std::string, std::string> graph;
      bool open = false;
    };
    std::map<size_t, Root> roots;
    std::vector<size_t> pending;
    const auto visit = [&](const Json& entry, const Root& root) {
      if (Kind(entry) != "delegate") return;
      const auto d = static_cast<size_t>(entry["delegate"].number());
      if (d < expected_.delegates.size() && roots.emplace(d, root).second) pending.push_back(d);
    };
    for (const auto& [name, graphs] : expected_.methods) {
      for (const auto& [path, entries] : graphs.object()) {
        const std::pair<std::string, std::string> graph(name, path);
        for (const Json& entry : entries.array()) {
          visit(entry, {graph, open_.graphs.contains(graph)});
        }
      }
    }
    while (!pending.empty()) {
      const size_t d = pending.back();
      pending.pop_back();
      Root root = roots[d];
      root.open = root.open || open_.delegates.contains(d);
      for (const auto& [path, entries] : expected_.delegates[d].graphs.object()) {
        for (const Json& entry : entries.array()) visit(entry, root);
      }
    }
    std::map<std::pair<std::string, std::string>, std::set<std::string>> backends;
    for (const auto& [d, root] : roots) {
      if (root.open) backends[root.graph].insert(expected_.delegates[d].backend_id);
    }
    const bool turns_are_open =
        std::any_of(backends.begin(), backends.end(),
                    [](const auto& entry) { return entry.second.size() > 1; });
    for (size_t i = 0; i < expected_.delegates.size(); ++i) {
      for (size_t j = i + 1; j < expected_.delegates.size(); ++j) {
        if (result_.numbers[i] < result_.numbers[j]) continue;
        const Root& a = roots[i];
        const Root& b = roots[j];
        if (a.open && b.open && a.graph == b.graph) continue;
        if (turns_are_open &&
            expected_.delegates[i].backend_id != expected_.delegates[j].backend_id) {
          continue;
        }
        result_.wrong_order =
            absl::StrCat("expected delegate ", i, " before delegate ", j, ", they came as ",
                         result_.numbers[i], " and ", result_.numbers[j]);
        return;
      }
    }
  }

  const LoweredForm& expected_;
  const OpenOrder& open_;
  const LoweredForm& came_;
  const FormGraph expected_graph_, came_graph_;
  const std::vector<size_t> partner_;  // of vertices that came
  std::vector<size_t> number_;         // by delegate that came
  std::map<std::pair<FormOwner, std::string>, Order> orders_;
  std::map<FormOwner, bool> moved_;
  Reordered result_;
};

}  // namespace

Reordered InOrderOf(const LoweredForm& expected, const OpenOrder& open, const LoweredForm& came) {
  return Reordering(expected, open, came).Run();
}

}  // namespace belay::conformance
