#include "fuzz/generators/program_generator.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "fuzz/generators/tensor_generator.h"
#include "runtime/core/str_cat.h"
#include "tools/mutate/mutator.h"

namespace belay::fuzz {
namespace {

constexpr int kMaxRank = 4;
constexpr int64_t kMaxElements = 64;

// Maximum sizes of a tensor, and which of them are dynamic.
struct Shape {
  Sizes sizes;
  uint32_t dynamic_dims = 0;
};

Shape GenerateShape(ByteSource& source) {
  Shape shape{.sizes = GenerateSizes(source, kMaxRank, kMaxElements), .dynamic_dims = 0};
  if (source.Chance(30)) {
    shape.dynamic_dims = source.Byte() & ((uint32_t{1} << shape.sizes.size()) - 1);
  }
  return shape;
}

std::vector<TestConstraint> GenerateConstraints(ByteSource& source, const Shape& shape) {
  std::vector<TestConstraint> constraints;
  for (int d = 0; d < shape.sizes.size(); ++d) {
    if (((shape.dynamic_dims >> d) & 1) == 0) continue;
    TestConstraint c;
    c.dim = static_cast<uint32_t>(d);
    c.min = source.Between(0, shape.sizes[d]);
    c.max = shape.sizes[d];
    if (source.Chance(50)) {
      c.symbol = source.Chance(50) ? "s0" : "s1";
      c.multiplier = source.Between(1, 3);
      c.offset = source.Between(-2, 2);
    }
    constraints.push_back(std::move(c));
  }
  return constraints;
}

schema::ScalarSlot::Kind GenerateSlotKind(ByteSource& source) {
  constexpr schema::ScalarSlot::Kind kKinds[] = {
      schema::ScalarSlot::INT, schema::ScalarSlot::DOUBLE, schema::ScalarSlot::BOOL};
  return source.Pick(kKinds);
}

class Generator {
 public:
  Generator(ByteSource& source, absl::Span<const std::string_view> operators)
      : source_(source), operators_(operators), method_(program_.AddMethod("forward")) {}

  TestProgram Generate() {
    const auto values = static_cast<int>(1 + source_.Below(10));
    for (int i = 0; i < values; ++i) AddValue();
    const auto instructions = static_cast<int>(source_.Below(9));
    for (int i = 0; i < instructions; ++i) AddInstruction();
    for (const uint32_t jump : jumps_) {
      const uint64_t target = source_.Below(static_cast<uint64_t>(instructions) + 1);
      schema::Instruction& at = *method_.proto().mutable_instructions(static_cast<int>(jump));
      if (at.has_jump()) {
        at.mutable_jump()->set_target(static_cast<uint32_t>(target));
      } else {
        at.mutable_jump_if_false()->set_target(static_cast<uint32_t>(target));
      }
    }
    for (uint64_t outputs = source_.Below(3); outputs > 0; --outputs) method_.Output(AnyValue());
    if (source_.Chance(20)) program_.AddNamedData("key", std::string(source_.Text(64)));
    if (source_.Chance(10)) program_.AddDebugInfo(schema::DebugInfo());
    if (source_.Chance(20)) AddBanks();
    return std::move(program_);
  }

 private:
  uint32_t AnyValue() { return static_cast<uint32_t>(source_.Below(Values())); }
  uint64_t Values() { return static_cast<uint64_t>(method_.proto().values_size()); }
  // Two banks; the second one begins with a tensor.
  void AddBanks() {
    const schema::Tensor& tensor = method_.proto().values(static_cast<int>(AnyValue())).tensor();
    const uint64_t begin = tensor.arena_offset();
    method_.Bank("fast", begin, source_.Chance(80) ? 64 : 256);
    method_.Bank("slow", method_.proto().arena_bytes() - begin,
                 source_.Chance(80) ? 64 : uint64_t{1} << source_.Below(40));
  }
  std::string Name() { return absl::StrCat("v", Values()); }

  void AddValue() {
    switch (source_.Below(14)) {
      case 0:
        method_.None();
        break;
      case 1:
        method_.Int(source_.Chance(80) ? source_.Between(-4, 4) : source_.Interesting());
        break;
      case 2:
        method_.Double(static_cast<double>(source_.Interesting()) / 8);
        break;
      case 3:
        method_.Bool(source_.Chance(50));
        break;
      case 4:
        method_.String(std::string(source_.Text(8)));
        break;
      case 5: {
        std::vector<uint32_t> elements;
        for (uint64_t n = source_.Below(4); n > 0 && Values() > 0; --n) {
          elements.push_back(AnyValue());
        }
        method_.List(elements);
        break;
      }
      case 6:
        method_.Slot(GenerateSlotKind(source_));
        break;
      case 7:
        method_.ScalarInput(Name(), GenerateSlotKind(source_));
        break;
      case 8: {
        const DType dtype = GenerateDType(source_);
        const Sizes sizes = GenerateSizes(source_, kMaxRank, kMaxElements);
        const auto bytes = static_cast<size_t>(NumElements(sizes).value_or(0)) * DTypeSize(dtype);
        std::string content(source_.Bytes(std::min<size_t>(bytes, 16)));
        content.resize(bytes);
        method_.Constant(program_.AddConstantBytes(content), dtype, sizes);
        break;
      }
      case 9:
        method_.State(Name(), GenerateDType(source_),
                      GenerateSizes(source_, kMaxRank, kMaxElements));
        break;
      case 10:
      case 11: {
        const DType dtype = GenerateDType(source_);
        const Shape shape = GenerateShape(source_);
        if (source_.Chance(10)) {
          method_.MutatedInput(Name(), dtype, shape.sizes);
        } else if (source_.Chance(10)) {
          method_.InputInOrder(Name(), dtype, shape.sizes,
                               GenerateDimOrder(source_, shape.sizes.size()));
        } else {
          method_.Input(Name(), dtype, shape.sizes, GenerateConstraints(source_, shape));
        }
        break;
      }
      default: {
        const DType dtype = GenerateDType(source_);
        const Shape shape = GenerateShape(source_);
        method_.ArenaInOrder(dtype, shape.sizes, GenerateDimOrder(source_, shape.sizes.size()),
                             shape.dynamic_dims);
      }
    }
  }

  std::vector<uint32_t> SomeValues(uint64_t most) {
    std::vector<uint32_t> values;
    for (uint64_t n = source_.Below(most + 1); n > 0; --n) values.push_back(AnyValue());
    return values;
  }

  void AddInstruction() {
    switch (source_.Below(10)) {
      case 0:
        jumps_.push_back(method_.Jump(0));
        break;
      case 1:
        jumps_.push_back(method_.JumpIfFalse(AnyValue()));
        break;
      case 2: {
        const uint32_t from = AnyValue();
        method_.Move(from, AnyValue());
        break;
      }
      case 3: {
        const uint32_t blob =
            program_.AddSegment(schema::Segment::DELEGATE, absl::StrCat("add", source_.Below(10)));
        const std::vector<uint32_t> arguments = SomeValues(2);
        method_.Delegate("fake", blob, arguments, SomeValues(1));
        break;
      }
      default: {
        if (operators_.empty()) break;
        const std::string_view name = operators_[source_.Below(operators_.size())];
        const std::vector<uint32_t> arguments = SomeValues(4);
        method_.Call(std::string(name), arguments, SomeValues(2));
      }
    }
  }

  ByteSource& source_;
  const absl::Span<const std::string_view> operators_;
  TestProgram program_;
  TestMethod method_;
  std::vector<uint32_t> jumps_;
};

}  // namespace

TestProgram GenerateProgram(ByteSource& source, absl::Span<const std::string_view> operators) {
  return Generator(source, operators).Generate();
}

std::string GenerateProgramFile(ByteSource& source, absl::Span<const std::string_view> operators) {
  const bool edited = source.Chance(30);
  const uint64_t seed = edited ? source.Byte() : 0;
  std::string file = GenerateProgram(source, operators).Serialize();
  if (edited) {
    Random random(seed);
    file = mutate::EditProgramFile(random, file);
  }
  return file;
}

std::string GenerateDelegateFile(ByteSource& source, const std::string& backend) {
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  std::vector<uint32_t> arguments, outputs;
  const auto dtype = [&] { return source.Chance(80) ? DType::kFloat32 : GenerateDType(source); };
  for (uint64_t n = source.Below(5); n > 0; --n) {
    const std::string name = absl::StrCat("x", n);
    const DType type = dtype();
    const Shape shape = GenerateShape(source);
    if (source.Chance(15)) {
      arguments.push_back(method.ScalarInput(name, GenerateSlotKind(source)));
    } else {
      arguments.push_back(
          method.Input(name, type, shape.sizes, GenerateConstraints(source, shape)));
    }
  }
  for (uint64_t n = source.Below(4); n > 0; --n) {
    const DType type = dtype();
    const Shape shape = GenerateShape(source);
    outputs.push_back(method.Arena(type, shape.sizes, shape.dynamic_dims));
  }
  std::vector<std::pair<std::string, std::string>> specs;
  for (uint64_t n = source.Below(3); n > 0; --n) {
    std::string key(source.Text(16));
    specs.emplace_back(std::move(key), source.Text(8));
  }
  if (source.Chance(30)) {
    std::string key(source.Text(16));
    if (!key.empty()) program.AddNamedData(std::move(key), std::string(source.Text(128)));
  }
  method.Delegate(backend,
                  program.AddSegment(schema::Segment::DELEGATE, std::string(source.Rest())),
                  arguments, outputs);
  for (auto& [key, value] : specs) {
    schema::CompileSpec* spec = method.proto().mutable_delegates(0)->add_compile_specs();
    spec->set_key(std::move(key));
    spec->set_value(std::move(value));
  }
  for (const uint32_t output : outputs) method.Output(output);
  return program.Serialize();
}

}  // namespace belay::fuzz
