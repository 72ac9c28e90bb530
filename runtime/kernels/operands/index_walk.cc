#include "runtime/kernels/operands/index_walk.h"

#include "runtime/core/str_cat.h"
#include "runtime/kernels/operands/strided_view.h"
#include "runtime/kernels/operands/tensor_list.h"

namespace belay {
namespace {

bool IsMask(DType dtype) { return dtype == DType::kBool || dtype == DType::kUint8; }

}  // namespace

absl::Status IndexOutOfRange(int64_t index, int64_t size, int dim) {
  return absl::OutOfRangeError(
      absl::StrCat("index ", index, " is out of range for dimension ", dim, " of size ", size));
}

ElementBlock::ElementBlock(const Sizes& sizes, const Strides& from, const Strides& to)
    : sizes_(sizes), from_(from), to_(to) {
  if (IsContiguous(sizes, from) && IsContiguous(sizes, to)) {
    contiguous_ = NumElements(sizes).value_or(0);
  }
}

void ElementBlock::Copy(const void* from, void* to, size_t bytes) const {
  const std::byte* source = static_cast<const std::byte*>(from);
  std::byte* target = static_cast<std::byte*>(to);
  if (contiguous_ > 0) {
    std::memmove(target, source, static_cast<size_t>(contiguous_) * bytes);
    return;
  }
  const int64_t step = static_cast<int64_t>(bytes);
  ForEach([&](int64_t f, int64_t t) { std::memmove(target + t * step, source + f * step, bytes); });
}

uint64_t IndexWalk::ScratchBytes(const ListView& indices) {
  uint64_t bytes = 0;
  for (const EValue* element : indices.elements) {
    const TensorView* index = element == nullptr ? nullptr : element->get_if<TensorView>();
    if (index == nullptr || !IsMask(index->dtype)) continue;
    bytes += static_cast<uint64_t>(index->numel()) * static_cast<uint64_t>(index->rank()) *
             sizeof(int64_t);
  }
  return bytes;
}

// Expands the mask to one vector of positions per dimension.
absl::Status IndexWalk::AddMask(const TensorView& mask, int k, absl::Span<std::byte>& scratch) {
  for (int d = 0; d < mask.rank(); ++d) {
    if (mask.sizes[d] != self_.sizes[next_dim_ + d]) {
      return absl::InvalidArgumentError(absl::StrCat("index ", k, ": the mask ", mask.ToString(),
                                                     " does not match ", self_.ToString(),
                                                     " from dimension ", next_dim_));
    }
  }
  int64_t count = 0;
  for (StridedIterator<1> it(mask.sizes, {mask.strides}); !it.done(); it.Next()) {
    count += ReadMask(mask, it.offset(0)) ? 1 : 0;
  }
  const uint64_t needed =
      static_cast<uint64_t>(count) * static_cast<uint64_t>(mask.rank()) * sizeof(int64_t);
  if (needed > scratch.size()) {
    return absl::InternalError("the kernel's working memory is smaller than the call needs");
  }
  int64_t* const positions = reinterpret_cast<int64_t*>(scratch.data());
  scratch.remove_prefix(needed);
  int64_t found = 0;
  Sizes index(mask.rank(), 0);
  for (StridedIterator<1> it(mask.sizes, {mask.strides}); !it.done(); it.Next()) {
    if (ReadMask(mask, it.offset(0)) && found < count) {
      for (int d = 0; d < mask.rank(); ++d) positions[d * count + found] = index[d];
      ++found;
    }
    for (int d = mask.rank() - 1; d >= 0 && ++index[d] == mask.sizes[d]; --d) index[d] = 0;
  }
  for (int d = 0; d < mask.rank(); ++d) {
    operands_[count_++] = {TensorView::Contiguous(DType::kInt64, {count}, positions + d * count),
                           next_dim_++};
  }
  return absl::OkStatus();
}

absl::StatusOr<IndexWalk> IndexWalk::Create(const KernelContext& context, const ListView& list,
                                            const TensorView& self) {
  IndexWalk walk;
  walk.self_ = self;
  absl::Span<std::byte> scratch = context.scratch();
  for (int k = 0; k < static_cast<int>(list.elements.size()); ++k) {
    ABSL_ASSIGN_OR_RETURN(const TensorView* index, OptionalListTensor(list, k));
    const int dims = index != nullptr && IsMask(index->dtype) ? index->rank() : 1;
    if (walk.next_dim_ + dims > self.rank()) {
      return absl::OutOfRangeError(
          absl::StrCat("index ", k, ": too many indices for ", self.ToString()));
    }
    if (index == nullptr) {
      ++walk.next_dim_;
    } else if (kIndexTypes.contains(index->dtype)) {
      walk.operands_[walk.count_++] = {*index, walk.next_dim_++};
    } else if (!IsMask(index->dtype)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "index ", k, ": expected int64, int32, bool or uint8, got ", DTypeName(index->dtype)));
    } else if (index->rank() == 0) {
      return absl::UnimplementedError(absl::StrCat("index ", k, ": a mask without dimensions"));
    } else {
      ABSL_RETURN_IF_ERROR(walk.AddMask(*index, k, scratch));
    }
  }
  Dims<CheckedInt> dims[kMaxRank];
  absl::Span<const CheckedInt> shapes[kMaxRank];
  const absl::Span<const CheckedInt>* pointers[kMaxRank] = {};
  for (int k = 0; k < walk.count_; ++k) {
    dims[k] = ToDims(walk.operands_[k].index.sizes);
    shapes[k] = dims[k];
    pointers[walk.operands_[k].dim] = &shapes[k];
  }
  ABSL_ASSIGN_OR_RETURN(
      const IndexedShape<CheckedInt> shape,
      IndexShape<CheckedInt>(ToDims(self.sizes), absl::MakeConstSpan(pointers, self.rank())));
  ABSL_ASSIGN_OR_RETURN(walk.result_, ToSizes(shape.sizes));
  ABSL_ASSIGN_OR_RETURN(walk.positions_, ToSizes(shape.positions));
  walk.first_ = shape.first;
  for (int k = 0; k < walk.count_; ++k) {
    ABSL_ASSIGN_OR_RETURN(walk.operands_[k].index,
                          ExpandTo(walk.operands_[k].index, walk.positions_));
  }
  return walk;
}

ElementBlock IndexWalk::BlockFromSelf(const Strides& result_strides) const {
  uint32_t indexed = 0;
  for (int k = 0; k < count_; ++k) indexed |= uint32_t{1} << operands_[k].dim;
  Sizes sizes;
  Strides self_strides, other;
  int r = 0;
  for (int d = 0; d < self_.rank(); ++d) {
    if ((indexed >> d) & 1) continue;
    if (r == first_) r += positions_.size();
    sizes.push_back(self_.sizes[d]);
    self_strides.push_back(self_.strides[d]);
    other.push_back(result_strides[r++]);
  }
  return ElementBlock(sizes, self_strides, other);
}

ElementBlock IndexWalk::BlockToSelf(const Strides& result_strides) const {
  return BlockFromSelf(result_strides).Reversed();
}

}  // namespace belay
