// Reads tensors from a file that torch.save wrote, without executing its pickle. Source:
// docs/pt2-format.md §11.
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
  // kUnimplemented for an entry that is no plain tensor. A subclass of tensors that is known is the
  // tensors of which it consists, with the attributes' names: "weight.qdata", or "qdata".
  absl::StatusOr<ConstantTensor> tensor;
  bool in_dictionary = false;  // whether the file is a dictionary, not this tensor
};

// The entries of the dictionary in the file, or the one tensor; no bytes are an empty dictionary.
// Tensors that share a storage in the file share it here. `what` names the file in messages. Errors
// are those of the zip file and the pickle, and kDataLoss for storages that are shorter than
// declared.
absl::StatusOr<std::vector<SavedTensor>> ReadTorchSave(Storage file, std::string_view what,
                                                       const ImportOptions& options,
                                                       ByteBudget& inflated);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_TORCH_SAVE_H_
