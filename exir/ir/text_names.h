// Keywords of the text form for enumerations that have no other names. Part of text.h's
// implementation.
#ifndef BELAY_EXIR_IR_TEXT_NAMES_H_
#define BELAY_EXIR_IR_TEXT_NAMES_H_

#include <cstddef>
#include <string_view>
#include <utility>

#include "exir/ir/exported_program.h"
#include "exir/op_definition/tensor_meta.h"
#include "runtime/core/evalue.h"

namespace belay::exir {

inline constexpr std::pair<IrDialect, std::string_view> kDialectNames[] = {
    {IrDialect::kTraining, "training"},
    {IrDialect::kAten, "aten"},
    {IrDialect::kEdge, "edge"},
};
inline constexpr std::pair<Layout, std::string_view> kLayoutNames[] = {
    {Layout::kUnknown, "unknown"},      {Layout::kSparseCoo, "sparse_coo"},
    {Layout::kSparseCsr, "sparse_csr"}, {Layout::kSparseCsc, "sparse_csc"},
    {Layout::kSparseBsr, "sparse_bsr"}, {Layout::kSparseBsc, "sparse_bsc"},
    {Layout::kMkldnn, "mkldnn"},        {Layout::kStrided, "strided"},
};
inline constexpr std::pair<MemoryFormat, std::string_view> kMemoryFormatNames[] = {
    {MemoryFormat::kContiguous, "contiguous"},
    {MemoryFormat::kChannelsLast, "channels_last"},
    {MemoryFormat::kChannelsLast3d, "channels_last_3d"},
    {MemoryFormat::kPreserve, "preserve"},
};

template <class E, size_t kSize>
constexpr std::string_view NameIn(const std::pair<E, std::string_view> (&names)[kSize], E value) {
  for (const auto& [known, name] : names) {
    if (known == value) return name;
  }
  return "unknown";
}
// Returns nullptr if no value has the name.
template <class E, size_t kSize>
constexpr const E* ValueIn(const std::pair<E, std::string_view> (&names)[kSize],
                           std::string_view name) {
  for (const auto& [value, known] : names) {
    if (known == name) return &value;
  }
  return nullptr;
}

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_TEXT_NAMES_H_
