#include "exir/emit/remedy.h"

#include "absl/strings/str_cat.h"

namespace belay::exir {
namespace {

struct Remedy {
  std::string_view prefix;  // of the operators
  const char* use;
};

constexpr Remedy kRemedies[] = {
    {"aten.linalg_eig", "torch.linalg.eigh"},
    {"aten.geqrf", "torch.linalg.qr"},
    {"aten.ormqr", "torch.linalg.householder_product"},
    {"aten.linalg_ldl_", "torch.linalg.solve"},
    {"aten.linalg_lstsq", "torch.linalg.pinv(a) @ b"},
    {"aten.histogramdd", "torch.bucketize"},
    {"aten._histogramdd_", "torch.bucketize"},
    {"aten._weight_int4pack_mm", "torchao's IntxWeightOnlyConfig"},
    {"aten.binomial", "torch.bernoulli"},
};

}  // namespace

std::string RemedyFor(std::string_view op) {
  for (const Remedy& remedy : kRemedies) {
    if (op.starts_with(remedy.prefix)) {
      return absl::StrCat("; use ", remedy.use, " (docs/refused.md)");
    }
  }
  if (op.starts_with("aten.") || op.starts_with("higher_order.")) return "";
  return "; define it as examples/custom_operator does";
}

}  // namespace belay::exir
