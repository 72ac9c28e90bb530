#include "tools/belay/lower_page.h"

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/graph/memory_picture.h"
#include "tools/graph/report_page.h"

namespace belay::tools {

using nlohmann::json;

std::string LowerPage(const std::string& output, const json& report, const DrawnProgram& drawn,
                      const exir::ProgramImage& image) {
  json data = DrawnProgramJson(drawn);
  data["title"] = std::filesystem::path(output).filename().string();
  data["subtitle"] = absl::StrCat("as lowered by ", image.metadata.producer());
  data["report"] = report;
  data["profile"] = nullptr;
  for (json& method : data["methods"]) {
    const std::string name = method["name"].get<std::string>();
    for (int i = 0; i < image.metadata.methods_size(); ++i) {
      if (image.metadata.methods(i).name() != name) continue;
      method["memory"] =
          MemoryPicture(image.metadata.methods(i),
                        i < image.debug.methods_size() ? &image.debug.methods(i) : nullptr);
    }
  }
  return ReportPage(data);
}

}  // namespace belay::tools
