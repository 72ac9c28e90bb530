#include "tools/belay/nearest_name.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace belay::tools {
namespace {

// Optimal string alignment distance.
size_t Distance(std::string_view a, std::string_view b) {
  const size_t width = b.size() + 1;
  std::vector<size_t> cells((a.size() + 1) * width);
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      size_t& cell = cells[i * width + j];
      if (i == 0 || j == 0) {
        cell = i + j;
        continue;
      }
      const size_t replaced = cells[(i - 1) * width + j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cell = std::min({replaced, cells[(i - 1) * width + j] + 1, cells[i * width + j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cell = std::min(cell, cells[(i - 2) * width + j - 2] + 1);
      }
    }
  }
  return cells.back();
}

}  // namespace

std::string NearestName(std::string_view wrong, const std::vector<std::string>& names) {
  constexpr size_t kLongest = 100;
  std::string nearest;
  size_t least = SIZE_MAX;
  for (const std::string& name : names) {
    const size_t length = std::max(wrong.size(), name.size());
    if (length > kLongest && name != wrong) continue;
    const size_t distance = name == wrong ? 0 : Distance(wrong, name);
    if (distance >= least || 3 * distance > length) continue;
    least = distance;
    nearest = name;
  }
  return nearest;
}

}  // namespace belay::tools
