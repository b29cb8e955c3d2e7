// Sorting along an axis, stable: of one array, or of several by the first.
//
// plan: dtype of the first operand, the sizes before the axis, of it, behind it, and for each operand the bytes of an
// element. Floats are ordered as by `rank` in keys.h.

#include <atomic>

#include "keys.h"
#include "quick.h"
#include "radix.h"
#include "xla_handler.h"

namespace tangrad {
namespace {

// Where the rows along an axis are.
struct Rows {
  int64_t outer, size, inner;
  int64_t count() const { return outer * inner; }
  int64_t first(int64_t row) const { return row / inner * size * inner + row % inner; }
};

// Two arrays for a row; one, where the other is that of the results.
template <typename E>
struct Scratch {
  std::unique_ptr<E[]> memory;
  E *a, *b;
  Scratch(int64_t size, bool one) : memory(new (std::nothrow) E[one ? size : 2 * size]), a(memory.get()), b(one ? a : a + size) {}
};

constexpr int kFewBits = 16;  // of which there are few digits: so many are sorted by them

inline void set(uint32_t& element, uint32_t rank, int64_t) { element = rank; }
inline void set(uint64_t& element, uint64_t rank, int64_t) { element = rank; }
inline void set_with(uint64_t& element, uint32_t rank, int64_t at) { element = uint64_t{rank} << 32 | static_cast<uint64_t>(at); }
inline void set_with(Pair& element, uint64_t rank, int64_t at) { element = Pair{rank, static_cast<uint32_t>(at)}; }
inline int64_t position(uint64_t element) { return static_cast<uint32_t>(element); }
inline int64_t position(const Pair& element) { return element.at; }

// The bits that differ among ranks, and whether some of the ranks do not say what they were.
struct Found {
  uint64_t any = 0, all = ~uint64_t{0};
  bool special = false;
  void join(const Found& other) {
    any |= other.any;
    all &= other.all;
    special |= other.special;
  }
  int bits() const {
    int count = 0;
    for (uint64_t differ = any ^ all; differ != 0; differ >>= 1) ++count;
    return count;
  }
};

template <typename K, bool kPaired, typename E>
TANGRAD_INLINE Found ranks_here(const typename K::Bits* x, int64_t step, E* a, int64_t begin, int64_t end) {
  typename K::Rank any = 0, all = ~typename K::Rank{0}, special = 0;
  for (int64_t i = begin; i < end; ++i) {
    const auto bits = x[i * step];
    const auto rank = K::rank(bits);
    if constexpr (kPaired)
      set_with(a[i - begin], rank, i);
    else
      set(a[i - begin], rank, i);
    if (!kPaired) special |= K::is_special(bits) ? 1 : 0;
    any |= rank;
    all &= rank;
  }
  return Found{any, all, special != 0};
}

template <typename K>
TANGRAD_INLINE void give_here(const typename K::Rank* sorted, typename K::Bits* y, int64_t step, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) y[i * step] = K::back(sorted[i]);
}

#if defined(TANGRAD_AVX512_BEGIN)
TANGRAD_AVX512_BEGIN
template <typename K, bool kPaired, typename E>
Found ranks_widely(const typename K::Bits* x, E* a, int64_t begin, int64_t end) {
  return ranks_here<K, kPaired>(x, 1, a, begin, end);
}

template <typename K>
void give_widely(const typename K::Rank* sorted, typename K::Bits* y, int64_t begin, int64_t end) {
  give_here<K>(sorted, y, 1, begin, end);
}
TANGRAD_AVX512_END
#endif

template <typename K, bool kPaired, typename E>
Found ranks(const typename K::Bits* x, int64_t step, E* a, int64_t begin, int64_t end) {
#if defined(TANGRAD_AVX512_BEGIN)
  if (step == 1 && has_avx512()) return ranks_widely<K, kPaired>(x, a, begin, end);
#endif
  return ranks_here<K, kPaired>(x, step, a, begin, end);
}

template <typename K>
void give(const typename K::Rank* sorted, typename K::Bits* y, int64_t step, int64_t begin, int64_t end) {
#if defined(TANGRAD_AVX512_BEGIN)
  if (step == 1 && has_avx512()) return give_widely<K>(sorted, y, begin, end);
#endif
  give_here<K>(sorted, y, step, begin, end);
}

// Zeros and NaN among the sorted, which had lost their signs, as they followed each other before; `zero` and `nan`: where
// the first ones are.
template <typename K>
void put_special(const typename K::Bits* x, typename K::Bits* y, int64_t step, int64_t size, int64_t zero, int64_t nan) {
  for (int64_t i = 0; i < size; ++i) {
    const auto bits = x[i * step], magnitude = static_cast<typename K::Bits>(bits & ~K::kSign);
    if (magnitude == 0) y[zero++ * step] = bits;
    if (K::rank(bits) == K::kNaN) y[nan++ * step] = bits;
  }
}

template <typename T>
void take(const void* in, void* out, int64_t step, int64_t begin, int64_t end, const uint32_t* order) {
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  for (int64_t i = begin; i < end; ++i) y[i * step] = x[order[i] * step];
}

struct Sixteen {
  uint64_t parts[2];
};

void take_bytes(int64_t width, const void* in, void* out, int64_t first, int64_t step, int64_t begin, int64_t end,
                const uint32_t* order) {
  const void* x = static_cast<const char*>(in) + first * width;
  void* y = static_cast<char*>(out) + first * width;
  switch (width) {
    case 1: return take<uint8_t>(x, y, step, begin, end, order);
    case 2: return take<uint16_t>(x, y, step, begin, end, order);
    case 4: return take<uint32_t>(x, y, step, begin, end, order);
    case 8: return take<uint64_t>(x, y, step, begin, end, order);
    default: return take<Sixteen>(x, y, step, begin, end, order);
  }
}

// All of a row on this thread, or its steps on all threads.
template <typename Body>
void each(bool together, int64_t size, const Body& body) {
  if (together)
    in_pieces(size, 1, body);
  else
    body(0, size);
}

// Returns which of the two arrays has the result; none: there was not enough memory.
template <typename E>
E* sort_keys(E* a, E* b, int64_t size, int low, int high, bool together) {
#if defined(TANGRAD_AVX512_BEGIN)
  if constexpr (!std::is_same_v<E, Pair>) {
    if (size >= kQuick && high - low > kFewBits && has_avx512()) {
      sort_quickly(a, b, size, false, low, high);
      return a;
    }
  }
#endif
  if (!together) return sort_here(a, b, size, low, high);
  return sort_parted(a, b, size, low, high) ? a : nullptr;
}

enum class Outcome { kSorted, kNoMemory, kFewBits };

// A long row by AVX-512 on all threads: pairs are in `a` then, what is sorted alone in `y`. `b` is scratch.
template <typename K, bool kPaired, typename E>
Outcome sort_long_row(const typename K::Bits* x, typename K::Bits* y, int64_t step, E* a, E* b, int64_t size) {
#if defined(TANGRAD_AVX512_BEGIN)
  if constexpr (!std::is_same_v<E, Pair> && sizeof(typename K::Bits) >= 4) {
    if (!has_avx512()) return Outcome::kFewBits;
    Found found;
    const auto dividers = dividers_of<E>(
        size, [&](int64_t place, E* to) { found.join(ranks<K, kPaired>(x, step, to, place, place + 1)); });
    if (found.bits() <= kFewBits) return Outcome::kFewBits;
    std::atomic<bool> special{false};
    std::atomic<int64_t> zero{0}, nan{0};
    const auto read = [&](int64_t begin, int64_t end, E* to) {
      if (ranks<K, kPaired>(x, step, to, begin, end).special) special.store(true, std::memory_order_relaxed);
    };
    const auto done = [&](int64_t begin, int64_t end) {
      if constexpr (!kPaired) {
        zero += std::lower_bound(a + begin, a + end, K::kSign) - (a + begin);
        nan += std::lower_bound(a + begin, a + end, K::kNaN) - (a + begin);
        give<K>(a, y, step, begin, end);
      }
    };
    if (!sort_quickly_together(a, b, size, dividers, read, done)) return Outcome::kNoMemory;
    if constexpr (!kPaired)
      if (special) put_special<K>(x, y, step, size, zero, nan);
    return Outcome::kSorted;
  }
#endif
  return Outcome::kFewBits;
}

template <typename K, bool kPaired, typename E>
bool sort_row(Plan plan, Inputs in, Outputs out, const Rows& rows, int64_t row, const Scratch<E>& scratch, bool together) {
  using Bits = typename K::Bits;
  E *a = scratch.a, *b = scratch.b;
  constexpr int kLow = kPaired && sizeof(Bits) < 8 ? 32 : 0;
  const int64_t size = rows.size, step = rows.inner, first = rows.first(row);
  const Bits* x = static_cast<const Bits*>(in[0]) + first;
  if constexpr (std::is_same_v<E, Bits>)
    if (a == b) a = static_cast<Bits*>(out[0]) + first;
  Bits* y = static_cast<Bits*>(out[0]) + first;
  const Outcome outcome = together ? sort_long_row<K, kPaired>(x, y, step, a, b, size) : Outcome::kFewBits;
  if (outcome == Outcome::kNoMemory) return false;
  if (outcome == Outcome::kSorted && !kPaired) return true;
  E* sorted = a;
  Found found;
  if (outcome == Outcome::kFewBits) {
    if (together) {
      const int64_t pieces = (size + kLittle - 1) / kLittle;
      std::unique_ptr<Found[]> parts(new (std::nothrow) Found[pieces]);
      if (parts == nullptr) return false;
      Found* own = parts.get();
      parallel(pieces, [=](int64_t i) {
        own[i] = ranks<K, kPaired>(x, step, a + i * kLittle, i * kLittle, std::min(size, (i + 1) * kLittle));
      });
      for (int64_t i = 0; i < pieces; ++i) found.join(own[i]);
    } else {
      found = ranks<K, kPaired>(x, step, a, 0, size);
    }
    const int high = kLow + found.bits();
    if (high > kLow) sorted = sort_keys(a, b, size, kLow, high, together);
    if (sorted == nullptr) return false;
  }
  if constexpr (kPaired) {
    uint32_t* order = reinterpret_cast<uint32_t*>(sorted == a ? b : a);
    each(together, size, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) order[i] = static_cast<uint32_t>(position(sorted[i]));
      for (int64_t operand = 0; operand < plan[4]; ++operand)
        take_bytes(plan[5 + operand], in[operand], out[operand], first, step, begin, end, order);
    });
  } else {
    // Before what is sorted may be overwritten.
    const int64_t zero = std::lower_bound(sorted, sorted + size, K::kSign) - sorted;
    const int64_t nan = std::lower_bound(sorted, sorted + size, K::kNaN) - sorted;
    each(together, size, [=](int64_t begin, int64_t end) { give<K>(sorted, y, step, begin, end); });
    if (found.special) put_special<K>(x, y, step, size, zero, nan);
  }
  return true;
}

template <typename K, bool kPaired, typename E>
int sort_rows(Plan plan, Inputs in, Outputs out) {
  const Rows rows{plan[1], plan[2], plan[3]};
  if (rows.count() * rows.size == 0) return 0;
  const bool together = rows.size >= kParted && rows.count() < 2 * thread_count();
  const bool one = !kPaired && rows.inner == 1 && std::is_same_v<E, typename K::Bits>;
  std::atomic<int> status{0};
  auto some = [&](int64_t begin, int64_t end) {
    Scratch<E> scratch(rows.size, one);
    if (scratch.memory == nullptr) {
      status = 1;
      return;
    }
    for (int64_t row = begin; row < end; ++row)
      if (!sort_row<K, kPaired>(plan, in, out, rows, row, scratch, together)) status = 1;
  };
  if (together)
    some(0, rows.count());
  else
    in_pieces(rows.count(), rows.size, some);
  return status;
}

}  // namespace
}  // namespace tangrad

TANGRAD_KERNEL(sort) {
  return tangrad::with_key(plan[0], [=](auto key) {
    using K = decltype(key);
    using Rank = typename K::Rank;
    if (plan[4] == 1) return tangrad::sort_rows<K, false, Rank>(plan, in, out);
    using Paired = std::conditional_t<sizeof(Rank) == 8, tangrad::Pair, uint64_t>;
    return tangrad::sort_rows<K, true, Paired>(plan, in, out);
  });
}
