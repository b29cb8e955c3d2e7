// The greatest elements of rows, descending, with their positions: few of many. Where the greatest or least one is. Whether
// any or all of them hold.
//
// top, plan: dtype, how many rows, their size, how many elements are wanted. Floats are ordered as by `total` in keys.h, and
// the first of equal ones comes first. Long rows are taken in pieces, the best of which compete.

#include <type_traits>

#include "keys.h"
#include "radix.h"
#include "vector.h"
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

// --- where the best is ---
//
// best, plan: dtype, the dtype of positions, how many elements are before, along and behind the axis, whether the least one
// is looked for. The first of equal ones, or the first NaN. The best of a block is found first, many at once, and looked for
// if none before is as good.

constexpr int64_t kBlock = 4096;
constexpr int64_t kColumns = 64;

template <typename T>
struct Plain {
  using Bits = T;
  using Value = T;
  TANGRAD_INLINE Value of(Bits x) { return x; }
  TANGRAD_INLINE bool undefined(Value x) { return x != x; }
};

struct Brain {
  using Bits = uint16_t;
  using Value = float;
  TANGRAD_INLINE Value of(Bits x) { return bits_as<float>(static_cast<uint32_t>(x) << 16); }
  TANGRAD_INLINE bool undefined(Value x) { return x != x; }
};

struct Half {  // as integers in their order, zero for both zeros
  using Bits = uint16_t;
  using Value = int32_t;
  static constexpr Value kInfinite = 0x7c00;
  TANGRAD_INLINE Value of(Bits x) {
    const int32_t size = x & 0x7fff;
    return (x & 0x8000) != 0 && size <= kInfinite ? -size : size;
  }
  TANGRAD_INLINE bool undefined(Value x) { return x > kInfinite; }
};

template <typename E, bool kLeast>
struct Best {
  using Bits = typename E::Bits;
  using Value = typename E::Value;

  Value value;
  int64_t at;

  TANGRAD_INLINE bool beats(Value x, Value y) {
    return !E::undefined(y) & ((kLeast ? x < y : x > y) | E::undefined(x));
  }

  TANGRAD_INLINE bool equals(Value x, Value y) { return (x == y) | (E::undefined(x) & E::undefined(y)); }

  // The best of a few elements at each of `kLanes` places, and of those.
  TANGRAD_INLINE Value value_of(const Bits* x, int64_t size) {
    constexpr int64_t kLanes = 256 / sizeof(Value);
    Value best = E::of(x[0]);
    int64_t i = 0;
    if (size >= kLanes) {
      Value lanes[kLanes];
      for (int64_t j = 0; j < kLanes; ++j) lanes[j] = E::of(x[j]);
      for (i = kLanes; i + kLanes <= size; i += kLanes)
        for (int64_t j = 0; j < kLanes; ++j) {
          const Value here = E::of(x[i + j]);
          lanes[j] = beats(here, lanes[j]) ? here : lanes[j];
        }
      for (int64_t j = 0; j < kLanes; ++j) best = beats(lanes[j], best) ? lanes[j] : best;
    }
    for (; i < size; ++i)
      if (const Value here = E::of(x[i]); beats(here, best)) best = here;
    return best;
  }

  TANGRAD_INLINE int64_t place_of(const Bits* x, int64_t size, Value best) {  // which is among them
    using Flag = std::make_unsigned_t<std::conditional_t<sizeof(Value) == 8, int64_t, int32_t>>;
    int64_t i = 0;
    for (; i + kStretch <= size; i += kStretch) {
      Flag found = 0;
      for (int64_t j = 0; j < kStretch; ++j) found |= static_cast<Flag>(equals(E::of(x[i + j]), best));
      if (found != 0) break;
    }
    while (!equals(E::of(x[i]), best)) ++i;
    return i;
  }

  TANGRAD_WIDE static void find(const Bits* x, int64_t size, Best* best) {
    *best = {E::of(x[0]), 0};
    for (int64_t begin = 0; begin < size && !E::undefined(best->value); begin += kBlock) {
      const int64_t count = std::min(kBlock, size - begin);
      const Value here = value_of(x + begin, count);
      if (begin == 0 || beats(here, best->value)) *best = {here, begin + place_of(x + begin, count, here)};
    }
  }

  static Best of_row(const Bits* x, int64_t size) {
    Best best;
    find(x, size, &best);
    return best;
  }

  template <typename P>
  TANGRAD_WIDE static void of_columns(const Bits* x, int64_t size, int64_t apart, int64_t count, P* out) {
    Value best[kColumns];
    int32_t at[kColumns] = {};
    for (int64_t j = 0; j < count; ++j) best[j] = E::of(x[j]);
    for (int64_t i = 1; i < size; ++i) {
      x += apart;
      for (int64_t j = 0; j < count; ++j) {
        const Value here = E::of(x[j]);
        const bool wins = beats(here, best[j]);
        best[j] = wins ? here : best[j];
        at[j] = wins ? static_cast<int32_t>(i) : at[j];
      }
    }
    for (int64_t j = 0; j < count; ++j) out[j] = at[j];
  }
};

template <typename E, bool kLeast, typename P>
int best_of_all(Plan plan, const void* in, void* out) {
  using B = Best<E, kLeast>;
  const int64_t rows = plan[2], size = plan[3], columns = plan[4];
  const auto* x = static_cast<const typename E::Bits*>(in);
  P* places = static_cast<P*>(out);
  if (columns > 1) {
    const int64_t parts = (columns + kColumns - 1) / kColumns;
    in_pieces(rows * parts, size * kColumns, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % parts * kColumns, row = i / parts;
        const int64_t count = std::min(kColumns, columns - first);
        B::of_columns(x + row * size * columns + first, size, columns, count, places + row * columns + first);
      }
    });
    return 0;
  }
  const int64_t pieces = (size + kPiece - 1) / kPiece;
  if (pieces == 1) {
    in_pieces(rows, size, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) places[i] = static_cast<P>(B::of_row(x + i * size, size).at);
    });
    return 0;
  }
  std::unique_ptr<B[]> memory(new (std::nothrow) B[rows * pieces]);
  if (memory == nullptr) return 1;
  B* found = memory.get();
  in_pieces(rows * pieces, kPiece, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % pieces * kPiece;
      found[i] = B::of_row(x + i / pieces * size + first, std::min(kPiece, size - first));
    }
  });
  for (int64_t row = 0; row < rows; ++row) {
    const B* all = found + row * pieces;
    int64_t best = 0;
    for (int64_t i = 1; i < pieces; ++i)
      if (B::beats(all[i].value, all[best].value)) best = i;
    places[row] = static_cast<P>(best * kPiece + all[best].at);
  }
  return 0;
}

template <typename E>
int best_of(Plan plan, Inputs in, Outputs out) {
  const bool wide = plan[1] == I64;
  if (plan[5] != 0)
    return wide ? best_of_all<E, true, int64_t>(plan, in[0], out[0]) : best_of_all<E, true, int32_t>(plan, in[0], out[0]);
  return wide ? best_of_all<E, false, int64_t>(plan, in[0], out[0]) : best_of_all<E, false, int32_t>(plan, in[0], out[0]);
}

// --- whether any or all hold ---
//
// truth, plan: how many truth values, each a byte of 0 or 1, are before, along and behind the axis; whether all have to hold.

constexpr int64_t kChunk = 4096;  // bytes after which a row may be known

template <bool kAll>
TANGRAD_INLINE uint8_t joined(uint8_t x, uint8_t y) {
  return kAll ? x & y : x | y;
}

template <bool kAll>
TANGRAD_WIDE uint8_t truth_of_row(const uint8_t* x, int64_t size) {
  for (int64_t begin = 0; begin < size; begin += kChunk) {
    const int64_t count = std::min(kChunk, size - begin);
    uint8_t found = kAll;
    for (int64_t i = 0; i < count; ++i) found = joined<kAll>(found, x[begin + i]);
    if (found != kAll) return found;
  }
  return kAll;
}

template <bool kAll>
TANGRAD_WIDE void truth_of_columns(const uint8_t* x, int64_t size, int64_t columns, uint8_t* out) {
  std::fill_n(out, columns, kAll);
  for (int64_t i = 0; i < size; ++i)
    for (int64_t j = 0; j < columns; ++j) out[j] = joined<kAll>(out[j], x[i * columns + j]);
}

template <bool kAll>
int truth_of(Plan plan, const uint8_t* x, uint8_t* out) {
  const int64_t rows = plan[0], size = plan[1], columns = plan[2];
  in_pieces(rows, (size * columns + 7) / 8, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (columns == 1)
        out[i] = truth_of_row<kAll>(x + i * size, size);
      else
        truth_of_columns<kAll>(x + i * size * columns, size, columns, out + i * columns);
    }
  });
  return 0;
}

}  // namespace
}  // namespace tangrad

TANGRAD_KERNEL(best) {
  using namespace tangrad;
  switch (plan[0]) {
    case F32: return best_of<Plain<float>>(plan, in, out);
    case F64: return best_of<Plain<double>>(plan, in, out);
    case I8: return best_of<Plain<int8_t>>(plan, in, out);
    case I16: return best_of<Plain<int16_t>>(plan, in, out);
    case I32: return best_of<Plain<int32_t>>(plan, in, out);
    case I64: return best_of<Plain<int64_t>>(plan, in, out);
    case U8: return best_of<Plain<uint8_t>>(plan, in, out);
    case U16: return best_of<Plain<uint16_t>>(plan, in, out);
    case U32: return best_of<Plain<uint32_t>>(plan, in, out);
    case U64: return best_of<Plain<uint64_t>>(plan, in, out);
    case F16: return best_of<Half>(plan, in, out);
    default: return best_of<Brain>(plan, in, out);
  }
}

TANGRAD_KERNEL(truth) {
  const auto* x = static_cast<const uint8_t*>(in[0]);
  auto* found = static_cast<uint8_t*>(out[0]);
  return plan[3] != 0 ? tangrad::truth_of<true>(plan, x, found) : tangrad::truth_of<false>(plan, x, found);
}

TANGRAD_KERNEL(top) {
  return tangrad::with_key(plan[0], [=](auto key) { return tangrad::top_rows<decltype(key)>(plan, in, out); });
}
