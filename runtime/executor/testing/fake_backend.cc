#include "runtime/executor/testing/fake_backend.h"

#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/tensor_view.h"

namespace belay {
namespace {

class AddHandle final : public DelegateHandle {
 public:
  AddHandle(float number, uint64_t max_bytes, std::atomic<int>* live, std::atomic<int>* resets,
            std::atomic<const void*>* last_scratch)
      : number_(number),
        max_bytes_(max_bytes),
        live_(live),
        resets_(resets),
        last_scratch_(last_scratch) {
    ++*live_;
  }
  ~AddHandle() override { --*live_; }

  absl::Status Execute(KernelContext& context) override {
    ABSL_ASSIGN_OR_RETURN(const TensorView* x, context.Tensor(0));
    ABSL_ASSIGN_OR_RETURN(const TensorView* out, context.Output(0, x->sizes));
    *last_scratch_ = context.scratch().data();
    auto* copy = reinterpret_cast<float*>(context.scratch().data());
    for (StridedIterator<1> it(x->sizes, {x->strides}); !it.done(); it.Next()) {
      *copy++ = x->as<float>()[it.offset(0)];
    }
    copy = reinterpret_cast<float*>(context.scratch().data());
    for (StridedIterator<1> it(x->sizes, {out->strides}); !it.done(); it.Next()) {
      const float value = *copy++;
      if (value < 0) return absl::UnavailableError("the device rejects negative numbers");
      out->as<float>()[it.offset(0)] = value + number_;
    }
    return absl::OkStatus();
  }
  uint64_t ScratchBytes() const override { return max_bytes_; }
  void ResetState() override { ++*resets_; }

 private:
  const float number_;
  const uint64_t max_bytes_;
  std::atomic<int>* const live_;
  std::atomic<int>* const resets_;
  std::atomic<const void*>* const last_scratch_;
};

// nullptr unless the value is an f32 tensor.
const TensorView* FloatTensor(absl::Span<const EValue* const> values) {
  if (values.size() != 1) return nullptr;
  const TensorView* view = values[0]->get_if<TensorView>();
  return view != nullptr && view->dtype == DType::kFloat32 ? view : nullptr;
}

}  // namespace

absl::StatusOr<std::unique_ptr<DelegateHandle>> FakeBackend::Init(
    const DelegateInitContext& context, absl::Span<const std::byte> blob) const {
  std::string_view text(reinterpret_cast<const char*>(blob.data()), blob.size());
  const char digit = text.empty() ? ' ' : text.back();
  if ((text.size() != 4 && text.size() != 5) || !text.starts_with("add") || digit < '0' ||
      digit > '9') {
    return absl::DataLossError("no blob of this backend");
  }
  const TensorView* x = FloatTensor(context.arguments);
  const TensorView* out = FloatTensor(context.outputs);
  if (x == nullptr || out == nullptr) {
    return absl::InvalidArgumentError("one f32 tensor in, one out");
  }
  last_init_ = absl::StrCat(context.method, ":");
  for (const CompileSpecView& spec : context.compile_specs) {
    absl::StrAppend(&last_init_, " ", spec.key, "=", spec.value, ";");
  }
  absl::StrAppend(&last_init_, " ", x->ToString(), " -> ", out->ToString());
  if (const auto data = context.named_data->Find("fake.scale"); data.ok()) {
    absl::StrAppend(&last_init_, "; fake.scale of ", data->size(), " bytes");
  }
  return std::make_unique<AddHandle>(static_cast<float>(digit - '0'), x->nbytes(), &live_handles_,
                                     &resets_, &last_scratch_);
}

}  // namespace belay
