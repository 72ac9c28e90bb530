// Dense typed ids and the tables they index.
#ifndef BELAY_EXIR_IR_ENTITY_H_
#define BELAY_EXIR_IR_ENTITY_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace belay::exir {

// A typed index; ids of different kinds do not convert. Default-constructed ids are invalid.
template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  explicit constexpr Id(uint32_t index) : index_(index) {}
  constexpr uint32_t index() const { return index_; }
  constexpr bool valid() const { return index_ != kInvalid; }
  friend constexpr auto operator<=>(Id, Id) = default;
  template <class H>
  friend H AbslHashValue(H h, Id id) {
    return H::combine(std::move(h), id.index_);
  }

 private:
  static constexpr uint32_t kInvalid = std::numeric_limits<uint32_t>::max();
  uint32_t index_ = kInvalid;
};

using NodeId = Id<struct NodeTag>;
using ValueId = Id<struct ValueTag>;
using GraphId = Id<struct GraphTag>;
using ModuleId = Id<struct ModuleTag>;  // a lowered module of an ExportedProgram

// Allocates ids 0, 1, 2, …
template <class K, class V>
class PrimaryMap {
 public:
  K push_back(V value) {
    values_.push_back(std::move(value));
    return K(static_cast<uint32_t>(values_.size() - 1));
  }
  size_t size() const { return values_.size(); }
  bool contains(K key) const { return key.index() < values_.size(); }
  V& operator[](K key) { return values_[key.index()]; }
  const V& operator[](K key) const { return values_[key.index()]; }
  auto begin() { return values_.begin(); }
  auto end() { return values_.end(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  bool operator==(const PrimaryMap&) const = default;

 private:
  std::vector<V> values_;
};

// Side data for the keys of a PrimaryMap; absent entries read as V().
template <class K, class V>
class SecondaryMap {
 public:
  SecondaryMap() = default;
  explicit SecondaryMap(size_t size) : values_(size) {}
  V& operator[](K key) {
    if (key.index() >= values_.size()) values_.resize(key.index() + 1);
    return values_[key.index()];
  }
  V get(K key) const { return key.index() < values_.size() ? values_[key.index()] : V(); }

 private:
  std::vector<V> values_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_ENTITY_H_
