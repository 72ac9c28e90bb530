// What a kernel is: a function that computes one operator from resolved arguments.
//
// A kernel is named by its operator ("aten.add.Tensor") and sees that operator's functional schema:
// all arguments, in schema order, defaults filled in, then one output per return. It must be total:
// whatever shapes, dtypes and numbers a program file puts into the arguments, it either computes
// the right result or returns an error, and it touches no byte outside its operands. Shapes are
// computed by the formulas of runtime/kernel/shape_rules/, which the compiler's meta kernels
// instantiate as well, and handed to KernelContext::Output, which refuses a size that differs from
// a static output or exceeds a dynamic one.
#ifndef BELAY_RUNTIME_KERNEL_KERNEL_H_
#define BELAY_RUNTIME_KERNEL_KERNEL_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/evalue.h"
#include "runtime/core/tensor_view.h"
#include "runtime/core/thread_pool.h"

namespace belay {

// Where outputs get their memory from. The executor checks planned bounds; the interpreter
// allocates.
class OutputAllocator {
 public:
  virtual ~OutputAllocator() = default;
  // Gives `tensor` these sizes, strides in its own dim order, and memory. On error nothing changed.
  //   kInvalidArgument   the output is static and its sizes differ
  //   kOutOfRange        some size is above the bound planned for the dimension (message:
  //                      dimension, bound, value)
  //   kResourceExhausted no memory
  virtual absl::Status Resize(TensorView& tensor, absl::Span<const int64_t> sizes) = 0;
  // Whether the tensor in this argument's slot may be written to.
  //   kInvalidArgument   it is a constant, or the caller's memory that the program must not change
  virtual absl::Status CheckMutable(const EValue& argument) { return absl::OkStatus(); }
};

// An argument that the operator writes to, as a call that was read holds it.
struct MutableArgument {
  int position = -1;
};

// The arguments of one call. Made once per instruction at load; calling a kernel allocates nothing.
// Accessors return an error (kInvalidArgument, naming the argument's position and both kinds) when
// the value is of another kind, because program files decide what stands in an argument.
class KernelContext {
 public:
  KernelContext(absl::Span<EValue* const> arguments, absl::Span<EValue* const> outputs,
                OutputAllocator* allocator, absl::Span<std::byte> scratch,
                ThreadPool* threads = nullptr)
      : arguments_(arguments),
        outputs_(outputs),
        allocator_(allocator),
        scratch_(scratch),
        threads_(threads) {}

  int num_arguments() const { return static_cast<int>(arguments_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  // kInvalidArgument unless there are exactly so many of each.
  absl::Status CheckArity(int arguments, int outputs) const;

  // Precondition of all: 0 <= i < num_arguments() (CheckArity).
  const EValue& argument(int i) const { return *arguments_[i]; }
  absl::StatusOr<const TensorView*> Tensor(int i) const;
  // The tensor that an operator with a mutable argument ("self!") writes to. kInvalidArgument when
  // its memory may overlap that of another argument: only outputs are proved apart when a program
  // is opened, and the argument need not be one.
  absl::StatusOr<TensorView*> MutableTensor(MutableArgument argument) const;
  absl::StatusOr<int64_t> Int(int i) const;    // an int or bool value
  absl::StatusOr<double> Double(int i) const;  // any real number
  absl::StatusOr<bool> Bool(int i) const;      // a bool value
  absl::StatusOr<EValue> Scalar(int i) const;  // int64, double, bool or complex, as given
  absl::StatusOr<std::string_view> String(int i) const;
  absl::StatusOr<DType> Dtype(int i) const;
  // The ints of a list, at most kMaxRank of them (more: kInvalidArgument). A lone int counts as a
  // list of one, as in PyTorch.
  absl::StatusOr<Sizes> IntList(int i) const;
  absl::StatusOr<ListView> List(int i) const;  // any list; elements are read with EValue::get_if

  // Output i with these sizes: resized and with memory. Its dtype and dim order were fixed by the
  // meta kernel; the kernel writes in that dtype (kInvalidArgument if it can't) and through the
  // view's strides. The view stays valid for the call.
  absl::StatusOr<TensorView*> Output(int i, absl::Span<const int64_t> sizes);
  // Element `k` of a Tensor[] output.
  absl::StatusOr<TensorView*> OutputListElement(int i, int k, absl::Span<const int64_t> sizes);
  // Number of elements of a Tensor[] output.
  absl::StatusOr<int> OutputListSize(int i) const;
  // Output i as planned, before a resize: dtype, rank, and at load time the largest sizes.
  absl::StatusOr<const TensorView*> PlannedOutput(int i) const;
  // Sets a symbolic output (sym_size, item, arithmetic on sizes).
  void SetScalarOutput(int i, EValue value) { *outputs_[i] = value; }
  EValue* output_slot(int i) const { return outputs_[i]; }

  // Working memory, aligned to 64 bytes, contents undefined. At least Kernel::ScratchBytes of it;
  // a kernel whose need at run time is larger than its size returns kInternal.
  absl::Span<std::byte> scratch() const { return scratch_; }

  // Threads that may work on the call: the same when it is loaded and when it runs. A kernel that
  // divides its work gives the same bits for any number.
  int num_threads() const { return threads_ == nullptr ? 1 : threads_->size(); }
  // Calls body(part) for each part in [0, parts), perhaps at the same time.
  void RunParts(int parts, absl::FunctionRef<void(int)> body) const;

 private:
  absl::Span<EValue* const> arguments_;
  absl::Span<EValue* const> outputs_;
  OutputAllocator* allocator_;
  absl::Span<std::byte> scratch_;
  ThreadPool* threads_;
};

enum class KernelEngine : uint8_t { kReference = 1, kHighway = 2 };
std::string_view KernelEngineName(KernelEngine engine);  // "reference", "highway"

// What a call as a kernel reads it may take: Kernel::call_bytes.
inline constexpr size_t kMaxCallBytes = 2048, kCallAlignment = 16;

// One row of a kernel table. A constant; rows live in static arrays.
//
// A row is made by KernelRow (kernel_arguments.h): its call is read by the names of the operator's
// schema, once when a program is loaded if no argument is computed, else before each run.
struct Kernel {
  std::string_view op;    // "aten.add.Tensor", "aten.relu.default", "sym.mul.default"
  std::string_view name;  // for reports: "AddF32"
  KernelEngine engine;
  std::string_view signature = "";  // "self dim keepdim -> 2"
  size_t call_bytes = 0;
  absl::Status (*read_call)(const KernelContext& context, std::string_view signature,
                            void* memory) = nullptr;
  absl::Status (*run_call)(KernelContext& context, const void* call) = nullptr;
  // Asked once, when a program is loaded, with all tensors at their largest sizes (data may be
  // null): whether this kernel computes the call for these dtypes, ranks, layouts and constant
  // arguments, and all smaller sizes. null: it takes all.
  bool (*accepts_call)(const KernelContext& context, const void* call) = nullptr;
  // Working memory that suffices for the call at these and all smaller sizes. null: none.
  uint64_t (*scratch_bytes_of_call)(const KernelContext& context, const void* call) = nullptr;
  // Fixes a call whose operands keep their sizes and their places in memory for as long as the call
  // lives: all that follows from them is kept in the call. False: it can't be. Both or none.
  bool (*fix_call)(const KernelContext& context, void* call) = nullptr;
  // Computes a call that was fixed, any number of times. Looks at no value, and can't fail.
  void (*run_fixed_call)(const void* call) = nullptr;

  // What the functions above say, with a call that is read for the occasion.
  bool Accepts(const KernelContext& context) const;
  // 0 for a call that can't be read: it fails before it works.
  uint64_t ScratchBytes(const KernelContext& context) const;
  absl::Status Run(KernelContext& context) const;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_KERNEL_H_
