// Pickles of tensors by torch.save (weights, sample inputs), parsed without execution.
#include <cstddef>
#include <cstdint>
#include <string>

#include "exir/import/byte_budget.h"
#include "exir/import/testing/zip_writer.h"
#include "exir/import/torch_save.h"
#include "fuzz/generators/container_generator.h"
#include "fuzz/oracles/require.h"
#include "fuzz/oracles/typed_status.h"
#include "fuzz/targets/import_check.h"
#include "runtime/core/printable.h"
#include "runtime/core/tensor_view.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace belay;
  const exir::ImportOptions options = fuzz::TightImportOptions();
  const std::string pickle(reinterpret_cast<const char*>(data), size);
  exir::ByteBudget budget("max_inflated_bytes", options.max_inflated_bytes);
  const auto tensors = exir::ReadTorchSave(exir::ToStorage(fuzz::TorchSaveFile(pickle)), "model.pt",
                                           options, budget);
  fuzz::Require(fuzz::CheckTyped("read", Printable(tensors.status()), fuzz::kReaderCodes));
  if (!tensors.ok()) return 0;
  for (const exir::SavedTensor& saved : *tensors) {
    fuzz::Require(fuzz::CheckTyped("tensor", Printable(saved.tensor.status()), fuzz::kReaderCodes));
    if (!saved.tensor.ok()) continue;
    // All elements must be within the storage.
    const TensorView view = saved.tensor->view();
    const auto element = static_cast<int64_t>(DTypeSize(view.dtype));
    uint64_t sum = 0, steps = 0;
    for (StridedIterator<1> it(view.sizes, {view.strides}); !it.done() && steps < 4096;
         it.Next(), ++steps) {
      for (int64_t b = 0; b < element; ++b) {
        sum += view.as<uint8_t>()[it.offset(0) * element + b];
      }
    }
    asm volatile("" : : "r"(sum));
  }
  return 0;
}
