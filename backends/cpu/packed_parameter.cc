#include "backends/cpu/packed_parameter.h"

#include "absl/strings/numbers.h"
#include "runtime/core/str_cat.h"

namespace belay::cpu {
namespace {

constexpr std::string_view kPrefix = "belay_cpu.packed/";

// Removes the characters before the next "/"; false without one.
bool TakeField(std::string_view& text, std::string_view& field) {
  const size_t end = text.find('/');
  if (end == std::string_view::npos) return false;
  field = text.substr(0, end);
  text.remove_prefix(end + 1);
  return true;
}

bool TakeSize(std::string_view& text, int64_t& size) {
  std::string_view field;
  return TakeField(text, field) && absl::SimpleAtoi(ToAbsl(field), &size) && size > 0 &&
         absl::StrCat(size) == field;
}

}  // namespace

std::string NameOf(const PackedParameter& packed) {
  return absl::StrCat(kPrefix, RowOf(packed.layout).name, "/", packed.k, "/", packed.n, "/",
                      packed.transposed ? "t" : "n", "/", packed.parameter);
}

bool IsPackedParameter(std::string_view name) { return name.starts_with(kPrefix); }

std::optional<PackedParameter> ParsePackedParameter(std::string_view name) {
  if (!IsPackedParameter(name)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  PackedParameter packed;
  std::string_view layout, order;
  if (!TakeField(name, layout) || !TakeSize(name, packed.k) || !TakeSize(name, packed.n) ||
      !TakeField(name, order) || name.empty()) {
    return std::nullopt;
  }
  if (layout != RowOf(TableLayout::kFloat32).name && layout != RowOf(TableLayout::kVnni2).name) {
    return std::nullopt;
  }
  if (order != "n" && order != "t") return std::nullopt;
  packed.layout =
      layout == RowOf(TableLayout::kVnni2).name ? TableLayout::kVnni2 : TableLayout::kFloat32;
  packed.transposed = order == "t";
  packed.parameter = name;
  return packed;
}

}  // namespace belay::cpu
