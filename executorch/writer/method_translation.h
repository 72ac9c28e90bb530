// Translates one method of a program image to ExecuTorch's execution plan.
//
// Both are lists of values and instructions over planned memory, so instructions map one to one
// (README.md). Values keep their order and memory offsets.
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
#include "exir/op_definition/op_registry.h"

namespace belay::pte {

// Constants in the order of their first use by tensors.
class UsedConstants {
 public:
  // Returns a tensor's data_buffer_idx: the 1-based position of the constant. `index` is an index
  // into the image's constants.
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

// A constant in the external data file.
struct ExternalConstant {
  uint32_t constant = 0;
  schema::Tensor layout;  // dtype, sizes, dim order
};

// Assigns offsets to persistent buffers, in multiples of 16. Buffers of the same name, layout and
// initial content have the same offset in every method. So a host may share their memory between
// methods.
class StateOffsets {
 public:
  uint64_t Add(const schema::StateBuffer& state, const schema::Tensor& tensor);
  uint64_t bytes() const { return bytes_; }

 private:
  std::map<std::string, uint64_t> offsets_;
  uint64_t bytes_ = 0;
};

// Data shared by the tensors of all methods.
struct ProgramData {
  StateOffsets state;
  UsedConstants constants;  // constant_segment
  UsedConstants initial;    // mutable_data_segments[0]
  // Where each constant of the image is stored.
  struct Stored {
    std::string file;  // tag of an external data file; "": the program file
    std::string name;  // key of a replaceable tensor; "": a digest is the key of an external one
  };
  std::vector<Stored> stored;
  // The constants in external data files, by tag and key.
  std::map<std::string, std::map<std::string, ExternalConstant>> external_constants;
};

// Translates `image.metadata.methods(index)`. Features that ExecuTorch's runtime lacks are added to
// `problems`, each with its node and source line if the image has debug info; the plan is then
// meaningless. The caller sets the size of the memory of `data.state`, the last one. `bytes` are
// the image's constants. Precondition: EmitProgram created the image; its indices are not checked.
std::unique_ptr<ExecutionPlanT> TranslateMethod(const exir::ProgramImage& image, int index,
                                                absl::Span<const exir::Storage> bytes,
                                                const exir::OpRegistry& ops, ProgramData& data,
                                                exir::ProblemList& problems);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_WRITER_METHOD_TRANSLATION_H_
