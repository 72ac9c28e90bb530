#include "tools/graph/memory_picture.h"

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/emit/lifetimes.h"
#include "exir/emit/method_facts.h"
#include "runtime/core/dtype.h"
#include "runtime/core/sizes.h"

namespace belay::tools {

using nlohmann::json;

json MemoryPicture(const schema::Method& method, const schema::MethodDebugInfo* debug) {
  json out{{"arena_bytes", method.arena_bytes()},
           {"state_bytes", method.state_bytes()},
           {"instructions", json::array()},
           {"tensors", json::array()}};
  std::vector<std::string> names(method.values_size());  // "": never written
  std::vector<uint32_t> order(method.instructions_size());
  std::iota(order.begin(), order.end(), 0);
  for (const uint32_t i : order) {
    std::string name = absl::StrCat("instruction ", i);
    if (debug != nullptr && !debug->instructions(static_cast<int>(i)).node().empty()) {
      name = debug->instructions(static_cast<int>(i)).node();
    }
    const exir::Operands operands =
        exir::OperandsOf(method, method.instructions(static_cast<int>(i)));
    for (size_t w = 0; w < operands.writes.size(); ++w) {
      std::string& written = names[operands.writes[w]];
      if (written.empty()) written = w == 0 ? name : absl::StrCat(name, ".", w);
    }
    out["instructions"].push_back(std::move(name));
  }
  const std::vector<exir::Interval> intervals = exir::ComputeIntervals(method, order);
  for (int v = 0; v < method.values_size(); ++v) {
    if (!exir::IsArenaTensor(method.values(v)) || intervals[v].empty()) continue;
    const schema::Tensor& tensor = method.values(v).tensor();
    const std::vector<int64_t> sizes(tensor.sizes().begin(), tensor.sizes().end());
    out["tensors"].push_back(
        {{"name", names[v].empty() ? absl::StrCat("value ", v) : names[v]},
         {"type", absl::StrCat(std::string(DTypeShortName(static_cast<DType>(tensor.dtype()))),
                               FormatSizes(sizes))},
         {"bytes", exir::TensorBytes(tensor)},
         {"offset", tensor.arena_offset()},
         {"first", intervals[v].first},
         {"last", intervals[v].last}});
  }
  return out;
}

}  // namespace belay::tools
