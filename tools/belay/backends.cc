// `belay backends`: lists the backends of --backend.
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "backends/aot_backends.h"
#include "nlohmann/json.hpp"
#include "tools/belay/command.h"
#include "tools/belay/printing.h"

namespace belay::tools {

int Backends(const BackendsOptions& options) {
  nlohmann::json list = nlohmann::json::array();
  for (const std::string_view name : AotBackendNames()) {
    nlohmann::json ids = nlohmann::json::array();
    for (const std::string_view id : AotBackendIds(name)) ids.push_back(std::string(id));
    list.push_back({{"name", std::string(name)}, {"ids", std::move(ids)}});
  }
  if (options.json) {
    std::cout << JsonText(list);
    return kDone;
  }
  for (const nlohmann::json& backend : list) {
    std::cout << backend["name"].get<std::string>() << ":";
    for (const nlohmann::json& id : backend["ids"]) std::cout << " " << id.get<std::string>();
    std::cout << "\n";
  }
  return kDone;
}

Command BackendsCommand() {
  const auto backends = std::make_shared<BackendsOptions>();
  return {
      .name = "backends",
      .about =
          "Lists the backends that 'lower --backend' accepts, with their ids in program files.",
      .options = {{"--json", &backends->json, "prints JSON"}},
      .footer = "Example: belay backends",
      .owned = backends,
      .run = [backends] { return Backends(*backends); },
  };
}

}  // namespace belay::tools
