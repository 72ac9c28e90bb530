// Builds program files for tests: values, instructions, segments, and the file around them.
//
//   TestProgram program;
//   TestMethod method = program.AddMethod("forward");
//   const uint32_t x = method.Input("x", DType::kFloat32, {2, 3});
//   const uint32_t y = method.Arena(DType::kFloat32, {2, 3});
//   method.Call("test.double.default", {x}, {y});
//   method.Output(y);
//   ASSERT_OK_AND_ASSIGN(const Program opened, OpenFileBytes(program.Serialize()));
#ifndef BELAY_RUNTIME_EXECUTOR_TESTING_PROGRAM_BUILDER_H_
#define BELAY_RUNTIME_EXECUTOR_TESTING_PROGRAM_BUILDER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/core/dtype.h"
#include "runtime/core/sizes.h"
#include "runtime/program/program.h"
#include "runtime/schema/program.pb.h"

namespace belay {

// A dynamic dimension of an input.
struct TestConstraint {
  uint32_t dim = 0;
  int64_t min = 0;
  int64_t max = 0;
  std::string symbol = {};
  int64_t multiplier = 1;
  int64_t offset = 0;
};

// Adds to one method of a TestProgram, which must outlive it. Functions that add a value return its
// index; those that add an instruction return the instruction's index.
class TestMethod {
 public:
  explicit TestMethod(schema::Method* method) : method_(method) {}
  schema::Method& proto() { return *method_; }

  uint32_t None();
  uint32_t Int(int64_t value);
  uint32_t Double(double value);
  uint32_t Bool(bool value);
  uint32_t String(std::string value);
  uint32_t List(const std::vector<uint32_t>& elements);
  uint32_t Slot(schema::ScalarSlot::Kind kind);
  // Placed after all earlier arena tensors. Dynamic dimensions have their maximum sizes.
  uint32_t Arena(DType dtype, const Sizes& sizes, uint32_t dynamic_dims = 0);
  uint32_t ArenaInOrder(DType dtype, const Sizes& sizes, const DimOrder& order,
                        uint32_t dynamic_dims = 0);
  // Makes the next `bytes` of the arena a bank.
  void Bank(std::string name, uint64_t bytes, uint64_t alignment = 64);
  uint32_t Constant(uint32_t constant, DType dtype, const Sizes& sizes);
  // `initial`: index of a constant + 1; 0: zeros.
  uint32_t State(std::string name, DType dtype, const Sizes& sizes, uint32_t initial = 0);

  uint32_t Input(std::string name, DType dtype, const Sizes& sizes,
                 const std::vector<TestConstraint>& constraints = {});
  uint32_t InputInOrder(std::string name, DType dtype, const Sizes& sizes, const DimOrder& order);
  uint32_t MutatedInput(std::string name, DType dtype, const Sizes& sizes);
  uint32_t ScalarInput(std::string name, schema::ScalarSlot::Kind kind,
                       const std::vector<TestConstraint>& constraints = {});
  // Makes an existing value an input that must equal it.
  void ConstantInput(std::string name, uint32_t value);
  void Output(uint32_t value) { method_->add_outputs(value); }

  uint32_t Call(const std::string& op, const std::vector<uint32_t>& arguments,
                const std::vector<uint32_t>& outputs);
  uint32_t Delegate(const std::string& backend, uint32_t segment,
                    const std::vector<uint32_t>& arguments, const std::vector<uint32_t>& outputs);
  uint32_t Move(uint32_t from, uint32_t to);
  uint32_t JumpIfFalse(uint32_t condition, uint32_t target = 0);
  uint32_t Jump(uint32_t target);
  // Makes a jump target the next instruction that is added.
  void LandHere(uint32_t jump);

 private:
  uint32_t AddValue(schema::Value value);
  schema::Tensor TensorOf(DType dtype, const Sizes& sizes, const DimOrder& order,
                          uint32_t dynamic_dims);
  uint32_t AddInput(std::string name, uint32_t value,
                    const std::vector<TestConstraint>& constraints);
  uint32_t LastInstruction() const;

  schema::Method* method_;
};

class TestProgram {
 public:
  TestMethod AddMethod(std::string name);
  // Returns the segment's index.
  uint32_t AddSegment(schema::Segment::Kind kind, std::string bytes, std::string companion = "");
  // Adds a constant in its own segment.
  template <class T>
  uint32_t AddConstant(const std::vector<T>& elements) {
    return AddConstantBytes(std::string_view(reinterpret_cast<const char*>(elements.data()),
                                             elements.size() * sizeof(T)));
  }
  uint32_t AddConstantBytes(std::string_view bytes);
  void AddNamedData(std::string key, std::string bytes);
  // Adds named data with a row-major layout, whose value callers may replace if `replaceable`.
  void AddNamedTensor(std::string key, std::string bytes, DType dtype, const Sizes& sizes,
                      bool replaceable = true);
  // Adds a constant that is the named data of this key; returns its index.
  uint32_t AddNamedConstant(std::string key, uint64_t size);
  void AddDebugInfo(const schema::DebugInfo& debug);

  schema::Program& metadata() { return metadata_; }

  // Returns the bytes of the program file. `edit` changes the metadata after segment layout and
  // before checksums are computed, so that only the edit is invalid.
  std::string Serialize(const std::function<void(schema::Program&)>& edit = nullptr) const;
  // Returns the bytes of a companion file.
  std::string SerializeCompanion(const std::string& name) const;

 private:
  schema::Program metadata_;  // segments without offsets
  std::vector<std::string> segments_;
};

// Recomputes the checksums of a program file or companion file after its bytes changed. `file` has
// at least a header.
void FixHeader(std::string& file);

// Opens a copy of `file` that is aligned to kSegmentAlignment, plus `misalignment` bytes.
absl::StatusOr<Program> OpenFileBytes(std::string_view file, const Program::Options& options = {},
                                      size_t misalignment = 0);

}  // namespace belay

#endif  // BELAY_RUNTIME_EXECUTOR_TESTING_PROGRAM_BUILDER_H_
