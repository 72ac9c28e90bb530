// Reads tensors from a torch.save file without executing its pickle. Source: docs/pt2-format.md
// §11.
#ifndef BELAY_EXIR_IMPORT_TORCH_SAVE_H_
#define BELAY_EXIR_IMPORT_TORCH_SAVE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/import/byte_budget.h"
#include "exir/import/import_options.h"
#include "exir/ir/constant.h"

namespace belay::exir {

struct SavedTensor {
  std::string name;  // the key in the dictionary; "" when the file is one tensor
  // kUnimplemented for entries that are not plain tensors. Known tensor subclasses are flattened to
  // their component tensors, named after the attributes: "weight.qdata", or "qdata".
  absl::StatusOr<ConstantTensor> tensor;
  bool in_dictionary = false;  // whether the file is a dictionary, not this tensor
};

// Returns the entries of the dictionary in the file, or its single tensor. An empty file is an
// empty dictionary. Tensors that share a storage in the file share it here. `what` names the file
// in messages. Errors are those of the zip file and the pickle, and kDataLoss for storages shorter
// than declared.
absl::StatusOr<std::vector<SavedTensor>> ReadTorchSave(Storage file, std::string_view what,
                                                       const ImportOptions& options,
                                                       ByteBudget& inflated);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_TORCH_SAVE_H_
