#include "tools/graph/report_page.h"

#include <cstddef>
#include <string_view>
#include <utility>

#include "absl/strings/str_replace.h"
#include "tools/graph/backend_colors.h"

namespace belay::tools {

// The pages without data (:page_bytes).
extern const unsigned char kReportPage[], kQuantizationPage[];
extern const size_t kReportPageSize, kQuantizationPageSize;

namespace {

using nlohmann::json;

json NodeJson(const DrawnNode& node) {
  json out{{"name", node.name}, {"op", node.op}};
  if (!node.is_operator) out["outside"] = true;
  if (!node.source.empty()) out["source"] = node.source;
  if (!node.module.empty()) out["module"] = node.module;
  if (node.delegate.has_value()) out["delegate"] = *node.delegate;
  if (node.flops > 0) out["flops"] = node.flops;
  if (!node.bodies.empty()) out["bodies"] = node.bodies;
  for (const DrawnEdge& edge : node.operands) {
    out["operands"].push_back(json::array({edge.node, edge.output, edge.argument}));
  }
  for (const DrawnResult& result : node.results) {
    out["results"].push_back(json::array({result.name, result.type}));
  }
  for (const auto& [name, text] : node.attributes) {
    out["attributes"].push_back(json::array({name, text}));
  }
  return out;
}

std::string WithData(std::string_view page, const json& data) {
  constexpr std::string_view kPlace = "@DATA@";
  const size_t place = page.find(kPlace);
  // In JSON, these characters only occur in strings.
  const std::string text =
      absl::StrReplaceAll(data.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace),
                          {{"<", "\\u003c"}, {">", "\\u003e"}, {"&", "\\u0026"}});
  std::string whole(page);
  whole.replace(place, kPlace.size(), text);
  return whole;
}

}  // namespace

json DrawnProgramJson(const DrawnProgram& program) {
  json methods = json::array();
  for (const DrawnMethod& method : program) {
    json out{{"name", method.name}};
    for (const char* list : {"graphs", "delegates", "constants"}) out[list] = json::array();
    for (const DrawnGraph& graph : method.graphs) {
      json drawn{{"name", graph.name}, {"nodes", json::array()}};
      if (graph.delegate.has_value()) drawn["delegate"] = *graph.delegate;
      for (const DrawnNode& node : graph.nodes) drawn["nodes"].push_back(NodeJson(node));
      out["graphs"].push_back(std::move(drawn));
    }
    for (const DrawnDelegate& delegate : method.delegates) {
      out["delegates"].push_back(
          {{"backend", delegate.backend}, {"blob_bytes", delegate.blob_bytes}});
      if (!delegate.call.empty()) out["delegates"].back()["call"] = delegate.call;
      if (delegate.inside.has_value()) out["delegates"].back()["inside"] = *delegate.inside;
    }
    for (const DrawnConstant& constant : method.constants) {
      out["constants"].push_back({{"name", constant.name},
                                  {"kind", constant.kind},
                                  {"type", constant.type},
                                  {"bytes", constant.bytes}});
      if (constant.delegate.has_value()) out["constants"].back()["delegate"] = *constant.delegate;
    }
    methods.push_back(std::move(out));
  }
  json colors = json::object();
  const BackendColors by_backend(program);
  for (const auto& [backend, index] : by_backend.backends())
    colors[backend] = by_backend.Of(backend);
  return {{"methods", std::move(methods)}, {"colors", std::move(colors)}};
}

std::string ReportPage(const json& data) {
  return WithData({reinterpret_cast<const char*>(kReportPage), kReportPageSize}, data);
}

std::string QuantizationPage(const json& data) {
  return WithData({reinterpret_cast<const char*>(kQuantizationPage), kQuantizationPageSize}, data);
}

}  // namespace belay::tools
