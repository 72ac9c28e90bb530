#include "runtime/kernels/element_copy/run_source.h"

#include <algorithm>
#include <cstring>

#include "runtime/kernels/element_copy/convert_run.h"

namespace belay {
namespace {

constexpr int64_t kPiece = 256;
struct Piece {
  alignas(64) std::byte bytes[kPiece * sizeof(int64_t)];
};

template <size_t kBytes>
void Gather(const std::byte* in, int64_t stride, int64_t count, std::byte* out) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(out + i * static_cast<int64_t>(kBytes),
                in + i * stride * static_cast<int64_t>(kBytes), kBytes);
  }
}
template <size_t kBytes>
void Spread(const std::byte* in, int64_t stride, int64_t count, std::byte* out) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(out + i * stride * static_cast<int64_t>(kBytes),
                in + i * static_cast<int64_t>(kBytes), kBytes);
  }
}

// out[i * stride] = in[i].
void Spread(const std::byte* in, int64_t stride, int64_t count, size_t bytes, std::byte* out) {
  if (stride == 1) {
    std::memcpy(out, in, static_cast<size_t>(count) * bytes);
  } else if (bytes == 1) {
    Spread<1>(in, stride, count, out);
  } else if (bytes == 2) {
    Spread<2>(in, stride, count, out);
  } else if (bytes == 4) {
    Spread<4>(in, stride, count, out);
  } else {
    Spread<8>(in, stride, count, out);
  }
}

template <class T>
void Fill(const void* element, int64_t count, std::byte* out) {
  T value;
  std::memcpy(&value, element, sizeof(T));
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(out + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
  }
}

bool Converts(DType from, DType to) { return from != to || from == DType::kBool; }

}  // namespace

void GatherRun(const void* from, int64_t stride, int64_t n, size_t bytes, void* to) {
  const auto* in = static_cast<const std::byte*>(from);
  auto* out = static_cast<std::byte*>(to);
  if (stride == 1) {
    std::memcpy(out, in, static_cast<size_t>(n) * bytes);
  } else if (stride == 0) {
    FillRun(from, n, bytes, to);
  } else if (bytes == 1) {
    Gather<1>(in, stride, n, out);
  } else if (bytes == 2) {
    Gather<2>(in, stride, n, out);
  } else if (bytes == 4) {
    Gather<4>(in, stride, n, out);
  } else {
    Gather<8>(in, stride, n, out);
  }
}

void FillRun(const void* element, int64_t n, size_t bytes, void* to) {
  auto* out = static_cast<std::byte*>(to);
  if (bytes == 1) {
    Fill<uint8_t>(element, n, out);
  } else if (bytes == 2) {
    Fill<uint16_t>(element, n, out);
  } else if (bytes == 4) {
    Fill<uint32_t>(element, n, out);
  } else {
    Fill<uint64_t>(element, n, out);
  }
}

RunSource::RunSource(const void* data, DType dtype, const Sizes& sizes, const Strides& strides,
                     DType to)
    : cursor_(sizes, strides),
      data_(static_cast<const std::byte*>(data)),
      from_(dtype),
      to_(to),
      converts_(Converts(dtype, to)) {}

const void* RunSource::Next(int64_t n, RunStorage& buffer) {
  const void* place = nullptr;
  const int64_t in_bytes = static_cast<int64_t>(DTypeSize(from_)),
                out_bytes = static_cast<int64_t>(DTypeSize(to_));
  std::byte* out = buffer.bytes;
  cursor_.Walk(n, [&](int64_t offset, int64_t stride, int64_t count) {
    const std::byte* in = data_ + offset * in_bytes;
    if (!converts_ && count == n && (stride == 1 || n == 1)) {
      place = in;
    } else if (!converts_) {
      GatherRun(in, stride, count, static_cast<size_t>(in_bytes), out);
    } else if (stride == 1) {
      ConvertRun(from_, in, to_, out, static_cast<size_t>(count));
    } else if (stride == 0) {
      alignas(8) std::byte element[sizeof(int64_t)];
      ConvertRun(from_, in, to_, element, 1);
      FillRun(element, count, static_cast<size_t>(out_bytes), out);
    } else {
      Piece piece;
      for (int64_t i = 0; i < count; i += kPiece) {
        const int64_t m = std::min(kPiece, count - i);
        GatherRun(in + i * stride * in_bytes, stride, m, static_cast<size_t>(in_bytes),
                  piece.bytes);
        ConvertRun(from_, piece.bytes, to_, out + i * out_bytes, static_cast<size_t>(m));
      }
    }
    out += count * out_bytes;
  });
  return place != nullptr ? place : buffer.bytes;
}

RunSink::RunSink(void* data, DType dtype, const Sizes& sizes, const Strides& strides, DType from)
    : cursor_(sizes, strides),
      data_(static_cast<std::byte*>(data)),
      from_(from),
      to_(dtype),
      converts_(from != dtype) {}

void* RunSink::Place(int64_t n, RunStorage& buffer) {
  if (!Direct(n)) return buffer.bytes;
  RunCursor here = cursor_;
  void* place = nullptr;
  here.Walk(n, [&](int64_t offset, int64_t, int64_t) {
    place = data_ + offset * static_cast<int64_t>(DTypeSize(to_));
  });
  return place;
}

void RunSink::Commit(int64_t n, const RunStorage& buffer) {
  const bool direct = Direct(n);
  const int64_t in_bytes = static_cast<int64_t>(DTypeSize(from_)),
                out_bytes = static_cast<int64_t>(DTypeSize(to_));
  const std::byte* in = buffer.bytes;
  cursor_.Walk(n, [&](int64_t offset, int64_t stride, int64_t count) {
    if (direct) return;
    std::byte* to = data_ + offset * out_bytes;
    if (stride == 1 || count == 1) {
      ConvertRun(from_, in, to_, to, static_cast<size_t>(count));
    } else if (!converts_) {
      Spread(in, stride, count, static_cast<size_t>(out_bytes), to);
    } else {
      Piece piece;
      for (int64_t i = 0; i < count; i += kPiece) {
        const int64_t m = std::min(kPiece, count - i);
        ConvertRun(from_, in + i * in_bytes, to_, piece.bytes, static_cast<size_t>(m));
        Spread(piece.bytes, stride, m, static_cast<size_t>(out_bytes), to + i * stride * out_bytes);
      }
    }
    in += count * in_bytes;
  });
}

}  // namespace belay
