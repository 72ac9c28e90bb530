// One method of a program image → an execution plan of ExecuTorch's.
//
// Both are lists of values and instructions over planned memory, so that each instruction has its
// counterpart (README.md): values keep their order, places in memory stay what they are.
#ifndef BELAY_EXECUTORCH_WRITER_METHOD_TRANSLATION_H_
#define BELAY_EXECUTORCH_WRITER_METHOD_TRANSLATION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "executorch/format/program_generated.h"
#include "exir/emit/program_image.h"
#include "exir/ir/constant.h"
#include "exir/ir/problem_list.h"
#include "exir/op/op_registry.h"

namespace belay::pte {

// Constants in the order in which tensors use them.
class UsedConstants {
 public:
  // A tensor's data_buffer_idx: the place of the constant, counted from 1. `index` counts the
  // image's constants.
  uint32_t Add(uint32_t index) {
    const auto [it, added] = places_.try_emplace(index, constants_.size() + 1);
    if (added) constants_.push_back(index);
    return it->second;
  }
  const std::vector<uint32_t>& constants() const { return constants_; }

 private:
  std::vector<uint32_t> constants_;
  absl::flat_hash_map<uint32_t, uint32_t> places_;
};

// A constant of the file of external data.
struct ExternalConstant {
  uint32_t constant = 0;
  schema::Tensor layout;  // dtype, sizes, dim order
};

// Where buffers that live on lie: one of the same name, layout and first content in the same place in
// every method, so that a host may give methods the same memory. Multiples of 16.
class StatePlaces {
 public:
  uint64_t Add(const schema::StateBuffer& state, const schema::Tensor& tensor);
  uint64_t bytes() const { return bytes_; }

 private:
  std::map<std::string, uint64_t> offsets_;
  uint64_t bytes_ = 0;
};

// What the tensors of all methods refer to.
struct ProgramData {
  StatePlaces state;
  UsedConstants constants;  // constant_segment
  UsedConstants initial;    // mutable_data_segments[0]
  // Whether constants lie in a file of their own, and then those, by key.
  bool external = false;
  std::map<std::string, ExternalConstant> external_constants;
};

// Translates `image.metadata.methods(index)`. What ExecuTorch's runtime does not have is added to
// `problems`, each with its node and source line where the image has debug info; the plan means
// nothing then. The size of the memory of `data.state` is the caller's to set. `bytes` are those of the image's constants. The image must be one that EmitProgram
// made: its indices are not checked.
std::unique_ptr<ExecutionPlanT> TranslateMethod(const exir::ProgramImage& image, int index,
                                                absl::Span<const exir::Storage> bytes,
                                                const exir::OpRegistry& ops, ProgramData& data,
                                                exir::ProblemList& problems);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_WRITER_METHOD_TRANSLATION_H_
