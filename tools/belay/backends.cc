// `belay backends`: lists the backends of --backend.
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "backends/aot_backends.h"
#include "backends/runtime_backends.h"
#include "nlohmann/json.hpp"
#include "runtime/backend/backend_options.h"
#include "tools/belay/command.h"
#include "tools/belay/printing.h"

namespace belay::tools {
namespace {

nlohmann::json ValueOf(const OptionValue& value) {
  return std::visit([](const auto& typed) { return nlohmann::json(typed); }, value);
}

// Options of the backends of a folder when a method is loaded.
nlohmann::json OptionsOf(std::string_view folder) {
  nlohmann::json list = nlohmann::json::array();
  for (const std::string_view id : AotBackendIds(folder)) {
    const BackendRuntime* backend = RuntimeBackends().Find(id);
    if (backend == nullptr) continue;
    for (const BackendOption& option : backend->options()) {
      list.push_back({{"backend", std::string(id)},
                      {"name", std::string(option.name)},
                      {"about", std::string(option.about)},
                      {"description", DescribeOption(option)},
                      {"default", ValueOf(option.default_value)},
                      {"changeable", option.changeable}});
    }
  }
  return list;
}

}  // namespace

int Backends(const BackendsOptions& options) {
  nlohmann::json list = nlohmann::json::array();
  for (const std::string_view name : AotBackendNames()) {
    nlohmann::json ids = nlohmann::json::array();
    for (const std::string_view id : AotBackendIds(name)) ids.push_back(std::string(id));
    list.push_back(
        {{"name", std::string(name)}, {"ids", std::move(ids)}, {"options", OptionsOf(name)}});
  }
  if (options.json) {
    std::cout << JsonText(list);
    return kDone;
  }
  for (const nlohmann::json& backend : list) {
    std::cout << backend["name"].get<std::string>() << ":";
    for (const nlohmann::json& id : backend["ids"]) std::cout << " " << id.get<std::string>();
    std::cout << "\n";
    for (const nlohmann::json& option : backend["options"]) {
      std::cout << "  " << option["backend"].get<std::string>() << "."
                << option["description"].get<std::string>() << ": "
                << option["about"].get<std::string>() << "\n";
    }
  }
  return kDone;
}

Command BackendsCommand() {
  const auto backends = std::make_shared<BackendsOptions>();
  return {
      .name = "backends",
      .about =
          "Lists the backends that 'lower --backend' accepts, with their ids in program files and "
          "the options of 'run --backend-option'.",
      .options = {{"--json", &backends->json, "prints JSON"}},
      .footer = "Example: belay backends",
      .owned = backends,
      .run = [backends] { return Backends(*backends); },
  };
}

}  // namespace belay::tools
