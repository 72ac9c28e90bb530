// Builds ExecuTorch's files for tests through flatc's object API: a test starts from a valid file
// and then breaks it.
//
//   PteBuilder pte;
//   const int32_t x = pte.Tensor({2, 3}), y = pte.Tensor({2, 3});
//   pte.Input(x);
//   pte.Call("aten::relu", "out", {x, y, y});
//   pte.Output(y);
//   pte.method().values[x]->val.AsTensor()->sizes = {-1, 3};
//   EXPECT_THAT(Open(pte.Serialize()), StatusIs(…));
#ifndef BELAY_EXECUTORCH_READER_TESTING_PTE_BUILDER_H_
#define BELAY_EXECUTORCH_READER_TESTING_PTE_BUILDER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "executorch/format/flat_tensor_generated.h"
#include "executorch/format/program_generated.h"
#include "executorch/reader/data_file.h"
#include "runtime/program/program.h"

namespace belay::pte {

// c10::ScalarType.
inline constexpr int8_t kFloatType = 6, kLongType = 4, kBoolType = 11;

// A program of one method, "forward". Functions that add a value return its index.
class PteBuilder {
 public:
  PteBuilder();
  ProgramT& program() { return program_; }
  ExecutionPlanT& method() { return *program_.execution_plan[0]; }

  int32_t Null();
  int32_t Int(int64_t value);
  int32_t Double(double value);
  int32_t Bool(bool value);
  int32_t String(std::string value);
  int32_t IntList(std::vector<int64_t> values);  // of value indices
  int32_t TensorList(std::vector<int32_t> values);
  int32_t OptionalTensorList(std::vector<int32_t> values);
  // Planned in pool 1, after the existing tensors.
  int32_t Tensor(std::vector<int32_t> sizes, int8_t scalar_type = kFloatType);
  // Without memory.
  int32_t Unplanned(std::vector<int32_t> sizes, int8_t scalar_type = kFloatType);
  // External, in a data file under this name.
  int32_t External(std::vector<int32_t> sizes, std::string name);
  // With the elements in segment 0.
  int32_t Constant(std::vector<int32_t> sizes, const std::vector<float>& elements);
  // In pool 1, with initial content in a segment of its own.
  int32_t Buffer(std::vector<int32_t> sizes, const std::vector<float>& elements);
  TensorT& tensor(int32_t value) { return *method().values[value]->val.AsTensor(); }

  void Input(int32_t value) { method().inputs.push_back(value); }
  void Output(int32_t value) { method().outputs.push_back(value); }

  KernelCallT& Call(std::string name, std::string overload, std::vector<int32_t> args);
  void Move(int32_t from, int32_t to);
  // Returns the instruction's index.
  int32_t JumpFalse(int32_t condition, int32_t destination);
  void Free(int32_t value);
  // Calls a delegate whose blob is a segment of its own.
  void Delegate(std::string id, std::string_view blob, std::vector<int32_t> args);
  int32_t next_instruction();
  InstructionT& instruction(size_t i) { return *method().chains[0]->instructions[i]; }

  // Returns the segment's index.
  uint32_t AddSegment(std::string_view bytes);
  void AddNamedData(std::string key, std::string_view bytes);

  // Returns the file; it has a header if there are segments.
  std::string Serialize() const;

 private:
  int32_t Add(EValueT value);
  InstructionT& AddInstruction();
  TensorT NewTensor(std::vector<int32_t> sizes, int8_t scalar_type) const;
  template <class Content>
  int32_t AddContent(Content content);
  template <class Content, class Field, class Value>
  int32_t AddField(Field Content::* field, Value value);
  uint32_t Place(const TensorT& tensor);

  ProgramT program_;
  std::string constants_;              // segment 0
  std::vector<std::string> segments_;  // the others
};

// Returns a data file: header, FlatBuffer, and the segments that `root` describes.
std::string SerializeData(const ptd::FlatTensorT& root, std::string_view segments);
// Returns a data file with one tensor of floats per key.
std::string DataFileOf(const std::vector<std::pair<std::string, std::vector<float>>>& tensors);

// Opens an aligned copy of the file.
absl::StatusOr<belay::Program> OpenPte(std::string_view file,
                                       const belay::Program::Options& options = {},
                                       const DataFiles& data = {});

// y = relu(x), both planned.
struct Relu : PteBuilder {
  Relu() {
    Input(x);
    Call("aten::relu", "out", {x, y, y});
    Output(y);
  }
  const int32_t x = Tensor({2, 3}), y = Tensor({2, 3});
};

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_TESTING_PTE_BUILDER_H_
