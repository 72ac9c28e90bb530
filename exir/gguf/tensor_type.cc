#include "exir/gguf/tensor_type.h"

#include <iterator>

#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

// Names by id; "" for ids that the format no longer uses.
constexpr std::string_view kNames[] = {
    "F32",    "F16",   "Q4_0",  "Q4_1",   "",      "",      "Q5_0",    "Q5_1",   "Q8_0",    "Q8_1",
    "Q2_K",   "Q3_K",  "Q4_K",  "Q5_K",   "Q6_K",  "Q8_K",  "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S",
    "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS", "I8",    "I16",   "I32",     "I64",    "F64",     "IQ1_M",
    "BF16",   "",      "",      "",       "TQ1_0", "TQ2_0", "",        "",       "",        "MXFP4",
};

}  // namespace

const TensorTypeRow* FindTensorType(uint32_t id) {
  for (const TensorTypeRow& row : kTensorTypes) {
    if (row.id == id) return &row;
  }
  return nullptr;
}

std::string TensorTypeName(uint32_t id) {
  if (id < std::size(kNames) && !kNames[id].empty()) return std::string(kNames[id]);
  return absl::StrCat("type ", id);
}

}  // namespace belay::exir
