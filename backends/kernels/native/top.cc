// The greatest elements of rows, descending, with their positions: few of many.
//
// plan: dtype, how many rows, their size, how many elements are wanted. Floats are ordered as by `total` in keys.h, and
// the first of equal ones comes first. Long rows are taken in pieces, the best of which compete.

#include "keys.h"
#include "radix.h"
#include "xla_handler.h"

namespace tangrad {
namespace {

constexpr int64_t kPiece = 64 * 1024;
constexpr int64_t kStretch = 64;  // elements that are looked at together, for whether one may be among the best

bool before(const Pair& x, const Pair& y) { return x.key != y.key ? x.key > y.key : x.at < y.at; }

template <typename K>
TANGRAD_CLONES typename K::Rank greatest(const typename K::Bits* x) {
  typename K::Rank best = 0;
  for (int64_t i = 0; i < kStretch; ++i) best = std::max(best, K::total(x[i]));
  return best;
}

// The best of a piece of a row, in no order, into `found`, which has room for twice as many.
template <typename K>
int64_t best_of(const typename K::Bits* x, int64_t begin, int64_t end, int64_t wanted, Pair* found) {
  int64_t count = 0;
  uint64_t least = 0;  // of the best, once there are so many
  bool full = false;
  auto offer = [&](int64_t i) {
    const uint64_t rank = K::total(x[i]);
    if (full && rank <= least) return;  // what comes later is behind its equals
    found[count++] = Pair{rank, static_cast<uint32_t>(i)};
    if (count < 2 * wanted) return;
    std::nth_element(found, found + wanted - 1, found + count, before);
    count = wanted;
    least = found[wanted - 1].key;
    full = true;
  };
  int64_t i = begin;
  for (; i + kStretch <= end; i += kStretch)
    if (!full || greatest<K>(x + i) > least)
      for (int64_t j = i; j < i + kStretch; ++j) offer(j);
  for (; i < end; ++i) offer(i);
  const int64_t kept = std::min(count, wanted);
  std::nth_element(found, found + kept - 1, found + count, before);
  return kept;
}

template <typename K>
int top_rows(Plan plan, Inputs in, Outputs out) {
  using Bits = typename K::Bits;
  const int64_t rows = plan[1], size = plan[2], wanted = plan[3];
  if (rows == 0 || wanted == 0) return 0;
  const Bits* x = static_cast<const Bits*>(in[0]);
  Bits* values = static_cast<Bits*>(out[0]);
  int32_t* positions = static_cast<int32_t*>(out[1]);
  const int64_t pieces = (size + kPiece - 1) / kPiece, room = 2 * wanted;
  std::unique_ptr<Pair[]> memory(new (std::nothrow) Pair[rows * pieces * room]);
  std::unique_ptr<int64_t[]> counts(new (std::nothrow) int64_t[rows * pieces]);
  if (memory == nullptr || counts == nullptr) return 1;
  Pair* found = memory.get();
  int64_t* count = counts.get();
  in_pieces(rows * pieces, std::min(size, kPiece), [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % pieces * kPiece;
      count[i] = best_of<K>(x + i / pieces * size, first, std::min(size, first + kPiece), wanted, found + i * room);
    }
  });
  in_pieces(rows, pieces * room, [=](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      Pair *all = found + row * pieces * room, *last = all;
      for (int64_t i = row * pieces; i < (row + 1) * pieces; ++i)
        last = std::copy(found + i * room, found + i * room + count[i], last);
      std::partial_sort(all, all + wanted, last, before);
      for (int64_t i = 0; i < wanted; ++i) {
        values[row * wanted + i] = x[row * size + all[i].at];
        positions[row * wanted + i] = static_cast<int32_t>(all[i].at);
      }
    }
  });
  return 0;
}

}  // namespace
}  // namespace tangrad

TANGRAD_KERNEL(top) {
  return tangrad::with_key(plan[0], [=](auto key) { return tangrad::top_rows<decltype(key)>(plan, in, out); });
}
