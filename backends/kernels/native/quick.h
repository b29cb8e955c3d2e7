// Sorting unsigned integers by AVX-512: parting by pivots, sixteen elements at a time, and networks for few elements.
//
// Equal elements cannot be distinguished, so that their order does not matter. Where pivots part badly, digits sort what
// is left (radix.h).

#pragma once

#include "radix.h"

#if defined(TANGRAD_AVX512_BEGIN)
TANGRAD_AVX512_BEGIN

namespace tangrad {

// Registers of elements of either width.
template <typename E>
struct Lanes;

template <>
struct Lanes<uint32_t> {
  using Mask = __mmask16;
  static constexpr int kCount = 16;
  static __m512i all(uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
  static __m512i lesser(__m512i x, __m512i y) { return _mm512_min_epu32(x, y); }
  static __m512i greater(__m512i x, __m512i y) { return _mm512_max_epu32(x, y); }
  static __m512i greater(__m512i kept, Mask mask, __m512i x, __m512i y) { return _mm512_mask_max_epu32(kept, mask, x, y); }
  static Mask are_less(__m512i x, __m512i y) { return _mm512_cmplt_epu32_mask(x, y); }
  static Mask are_at_most(__m512i x, __m512i y) { return _mm512_cmple_epu32_mask(x, y); }
  static __m512i packed(Mask mask, __m512i x) { return _mm512_maskz_compress_epi32(mask, x); }
  static __m512i loaded(const uint32_t* x, Mask mask, __m512i rest) { return _mm512_mask_loadu_epi32(rest, mask, x); }
  static void store(uint32_t* x, Mask mask, __m512i y) { _mm512_mask_storeu_epi32(x, mask, y); }
  static uint32_t least(__m512i x) { return _mm512_reduce_min_epu32(x); }
  static uint32_t greatest(__m512i x) { return _mm512_reduce_max_epu32(x); }
  // The element whose number differs in the bits `kTurn`.
  template <int kTurn>
  static __m512i turned(__m512i x) {
    if (kTurn == 1) return _mm512_shuffle_epi32(x, _MM_PERM_CDAB);
    if (kTurn == 2) return _mm512_shuffle_epi32(x, _MM_PERM_BADC);
    if (kTurn == 3) return _mm512_shuffle_epi32(x, _MM_PERM_ABCD);
    if (kTurn == 4) return _mm512_shuffle_i64x2(x, x, 0xB1);
    if (kTurn == 7) return _mm512_shuffle_epi32(_mm512_shuffle_i64x2(x, x, 0xB1), _MM_PERM_ABCD);
    if (kTurn == 8) return _mm512_shuffle_i64x2(x, x, 0x4E);
    return _mm512_shuffle_epi32(_mm512_shuffle_i64x2(x, x, 0x1B), _MM_PERM_ABCD);  // 15
  }
};

template <>
struct Lanes<uint64_t> {
  using Mask = __mmask8;
  static constexpr int kCount = 8;
  static __m512i all(uint64_t x) { return _mm512_set1_epi64(static_cast<long long>(x)); }
  static __m512i lesser(__m512i x, __m512i y) { return _mm512_min_epu64(x, y); }
  static __m512i greater(__m512i x, __m512i y) { return _mm512_max_epu64(x, y); }
  static __m512i greater(__m512i kept, Mask mask, __m512i x, __m512i y) { return _mm512_mask_max_epu64(kept, mask, x, y); }
  static Mask are_less(__m512i x, __m512i y) { return _mm512_cmplt_epu64_mask(x, y); }
  static Mask are_at_most(__m512i x, __m512i y) { return _mm512_cmple_epu64_mask(x, y); }
  static __m512i packed(Mask mask, __m512i x) { return _mm512_maskz_compress_epi64(mask, x); }
  static __m512i loaded(const uint64_t* x, Mask mask, __m512i rest) { return _mm512_mask_loadu_epi64(rest, mask, x); }
  static void store(uint64_t* x, Mask mask, __m512i y) { _mm512_mask_storeu_epi64(x, mask, y); }
  static uint64_t least(__m512i x) { return _mm512_reduce_min_epu64(x); }
  static uint64_t greatest(__m512i x) { return _mm512_reduce_max_epu64(x); }
  template <int kTurn>
  static __m512i turned(__m512i x) {
    if (kTurn == 1) return _mm512_permutex_epi64(x, 0xB1);
    if (kTurn == 2) return _mm512_permutex_epi64(x, 0x4E);
    if (kTurn == 3) return _mm512_permutex_epi64(x, 0x1B);
    if (kTurn == 4) return _mm512_shuffle_i64x2(x, x, 0x4E);
    return _mm512_permutex_epi64(_mm512_shuffle_i64x2(x, x, 0x4E), 0x1B);  // 7
  }
};

// --- few elements -----------------------------------------------------------------------------------------------------
//
// Bitonic merging: two sorted runs, one of them reversed, are compared element by element, then halves of what comes out.

// Which lanes have the bit: those that get the greater of two.
template <typename E, int kBit>
constexpr typename Lanes<E>::Mask lanes_with() {
  unsigned mask = 0;
  for (int i = 0; i < Lanes<E>::kCount; ++i) mask |= (i & kBit) != 0 ? 1u << i : 0;
  return static_cast<typename Lanes<E>::Mask>(mask);
}

// Compares each lane with that whose number differs in the bits `kTurn`, of which `kBit` is the highest.
template <typename E, int kTurn, int kBit>
inline __m512i exchanged(__m512i x) {
  using L = Lanes<E>;
  const __m512i y = L::template turned<kTurn>(x);
  return L::greater(L::lesser(x, y), lanes_with<E, kBit>(), x, y);
}

// Of one register: halves of it are sorted by comparing lanes so far from each other, and so on.
template <typename E, int kBit>
inline __m512i halved(__m512i x) {
  if constexpr (kBit > 0) x = halved<E, kBit / 2>(exchanged<E, kBit, kBit>(x));
  return x;
}

// Runs of so many lanes, sorted each, to runs of all lanes.
template <typename E, int kRun>
inline __m512i merged(__m512i x) {
  if constexpr (kRun < Lanes<E>::kCount)
    x = merged<E, 2 * kRun>(halved<E, kRun / 2>(exchanged<E, 2 * kRun - 1, kRun>(x)));
  return x;
}

// Registers, each of which has one run: pairs of runs become one, until there is one.
template <typename E, int kRegisters>
inline void sort_registers(__m512i* x) {
  using L = Lanes<E>;
  constexpr int kHalf = L::kCount / 2;
#pragma GCC unroll 16
  for (int i = 0; i < kRegisters; ++i) x[i] = merged<E, 1>(x[i]);
#pragma GCC unroll 4
  for (int run = 1; run < kRegisters; run *= 2) {
#pragma GCC unroll 8
    for (int first = 0; first < kRegisters; first += 2 * run) {
#pragma GCC unroll 8
      for (int i = 0; i < run; ++i) {  // the second run backwards
        if (first + 2 * run - 1 - i >= kRegisters) continue;
        __m512i &low = x[first + i], &high = x[first + 2 * run - 1 - i];
        const __m512i other = L::template turned<L::kCount - 1>(high), least = L::lesser(low, other);
        high = L::template turned<L::kCount - 1>(L::greater(low, other));
        low = least;
      }
#pragma GCC unroll 4
      for (int step = run / 2; step > 0; step /= 2) {
#pragma GCC unroll 16
        for (int i = first; i < first + 2 * run && i + step < kRegisters; ++i) {
          if ((i & step) != 0) continue;
          const __m512i least = L::lesser(x[i], x[i + step]);
          x[i + step] = L::greater(x[i], x[i + step]);
          x[i] = least;
        }
      }
#pragma GCC unroll 16
      for (int i = first; i < first + 2 * run && i < kRegisters; ++i) x[i] = halved<E, kHalf>(x[i]);
    }
  }
}

template <typename E, int kRegisters>
void sort_in(const E* from, E* to, int size) {
  using L = Lanes<E>;
  using Mask = typename L::Mask;
  const __m512i most = L::all(~E{0});
  __m512i x[kRegisters];
  Mask masks[kRegisters];
#pragma GCC unroll 16
  for (int i = 0; i < kRegisters; ++i) {
    const int here = std::clamp(size - i * L::kCount, 0, L::kCount);
    masks[i] = static_cast<Mask>((1u << here) - 1);
    x[i] = L::loaded(from + i * L::kCount, masks[i], most);
  }
  sort_registers<E, kRegisters>(x);
#pragma GCC unroll 16
  for (int i = 0; i < kRegisters; ++i) L::store(to + i * L::kCount, masks[i], x[i]);
}

template <typename E>
constexpr int kOfNetworks = 16 * Lanes<E>::kCount;  // elements, at most

template <typename E>
void sort_few(const E* from, E* to, int size) {
  constexpr int kCount = Lanes<E>::kCount;
  if (size <= kCount) return sort_in<E, 1>(from, to, size);
  if (size <= 2 * kCount) return sort_in<E, 2>(from, to, size);
  if (size <= 4 * kCount) return sort_in<E, 4>(from, to, size);
  if (size <= 6 * kCount) return sort_in<E, 6>(from, to, size);
  if (size <= 8 * kCount) return sort_in<E, 8>(from, to, size);
  if (size <= 10 * kCount) return sort_in<E, 10>(from, to, size);
  if (size <= 12 * kCount) return sort_in<E, 12>(from, to, size);
  if (size <= 14 * kCount) return sort_in<E, 14>(from, to, size);
  sort_in<E, 16>(from, to, size);
}

// --- many -------------------------------------------------------------------------------------------------------------

template <int kRegisters, typename E>
E middle_of(const E* a, int64_t size) {
  constexpr int kSome = kRegisters * Lanes<E>::kCount;
  E some[kSome];
  for (int i = 0; i < kSome; ++i) some[i] = a[size / kSome * i];
  sort_in<E, kRegisters>(some, some, kSome);
  return some[kSome / 2];
}

// The middle one of some elements.
template <typename E>
E pivot_of(const E* a, int64_t size) {
  return size < 16 * kOfNetworks<E> ? middle_of<1>(a, size) : middle_of<4>(a, size);
}

// What is between two places, of which elements fill either end.
template <typename E>
struct Room {
  E *low, *high;
};

// Puts the elements less than the pivot (kEqual: not greater) at the front of a room, the others at its end, and returns
// what is left of it: no less than what is yet to come of other elements.
template <bool kEqual, typename E>
inline Room<E> part_into(Room<E> room, const E* from, int64_t size, E pivot) {
  using L = Lanes<E>;
  using Mask = typename L::Mask;
  const __m512i middle = L::all(pivot);
  E *low = room.low, *high = room.high;
  int64_t i = 0;
  for (; i + L::kCount <= size; i += L::kCount) {
    const __m512i x = _mm512_loadu_si512(from + i);
    const Mask front = kEqual ? L::are_at_most(x, middle) : L::are_less(x, middle), behind = static_cast<Mask>(~front);
    const int behinds = __builtin_popcount(behind);
    high -= behinds;
    _mm512_storeu_si512(low, L::packed(front, x));  // no more than what is free between them
    L::store(high, static_cast<Mask>((1u << behinds) - 1), L::packed(behind, x));
    low += L::kCount - behinds;
  }
  if (i < size) {
    const Mask here = static_cast<Mask>((1u << (size - i)) - 1);
    const __m512i x = L::loaded(from + i, here, middle);
    const Mask front = here & (kEqual ? L::are_at_most(x, middle) : L::are_less(x, middle)), behind = here & ~front;
    const int fronts = __builtin_popcount(front), behinds = __builtin_popcount(behind);
    high -= behinds;
    L::store(low, static_cast<Mask>((1u << fronts) - 1), L::packed(front, x));
    L::store(high, static_cast<Mask>((1u << behinds) - 1), L::packed(behind, x));
    low += fronts;
  }
  return {low, high};
}

// All elements of an array, to another one. Returns how many are in front.
template <bool kEqual, typename E>
int64_t part(const E* from, E* to, int64_t size, E pivot) {
  return part_into<kEqual>(Room<E>{to, to + size}, from, size, pivot).low - to;
}

// Sorts `from`; the result is there, or where `aside` in `other`, and both are written to.
template <typename E>
void sort_by_parts(E* from, E* other, int64_t size, bool aside, int low, int high, int depth) {
  while (size > kOfNetworks<E>) {
    if (depth-- == 0) {
      const E* found = sort_here(from, other, size, low, high);
      E* to = aside ? other : from;
      if (found != to) std::copy(found, found + size, to);
      return;
    }
    const E pivot = pivot_of(from, size);
    int64_t front = part<false>(from, other, size, pivot);
    if (front == 0) {  // the pivot is the least of all: what is equal to it is done
      front = part<true>(from, other, size, pivot);
      if (!aside) std::fill(from, from + front, pivot);
    } else {
      sort_by_parts(other, from, front, !aside, low, high, depth);
    }
    std::swap(from, other);
    from += front;
    other += front;
    size -= front;
    aside = !aside;
  }
  if (size > 0) sort_few(from, aside ? other : from, static_cast<int>(size));
}

constexpr int64_t kQuick = 64;  // elements from which they are sorted so

template <typename E>
void sort_quickly(E* from, E* other, int64_t size, bool aside, int low, int high) {
  int depth = 8;
  for (int64_t left = size; left > 0; left /= 2) depth += 2;
  sort_by_parts(from, other, size, aside, low, high, depth);
}

// On all threads.
//
// Some elements, in order, divide all others into ranges of about the same number. Pieces of the array that the nearest
// caches hold are parted into these ranges by themselves, and then the pieces of each range are put together and sorted.
template <typename E>
struct Dividers {
  static constexpr int kMost = 32, kEach = 16;
  int levels;
  E some[kMost * kEach];

  int ranges() const { return 1 << levels; }
  // The least element of a range but for the first, and one in the middle of a range.
  E least(int range) const { return some[range * kEach]; }
  E middle(int range) const { return some[range * kEach + kEach / 2]; }
};

// `read(place, to)` gives one element.
template <typename E, typename Read>
Dividers<E> dividers_of(int64_t size, const Read& read) {
  Dividers<E> made;
  const int64_t fitting = size * sizeof(E) / (512 * 1024), wanted = std::max<int64_t>(4 * thread_count(), fitting);
  for (made.levels = 3; made.ranges() < std::min<int64_t>(wanted, made.kMost);) ++made.levels;
  const int count = made.ranges() * made.kEach;
  for (int i = 0; i < count; ++i) read(size / count * i, made.some + i);
  E scratch[made.kMost * made.kEach];
  sort_quickly(made.some, scratch, count, false, 0, 8 * sizeof(E));
  return made;
}

// The elements that `read(begin, end, to)` gives. They are in `a` at last, and `done(begin, end)` is called for parts of
// it as they are sorted. false: there was not enough memory.
template <typename E, typename Read, typename Done>
bool sort_quickly_together(E* a, E* b, int64_t size, const Dividers<E>& dividers, const Read& read, const Done& done) {
  constexpr int64_t kPiece = 32 * 1024, kBlock = 1024;
  const int ranges = dividers.ranges();
  const int64_t pieces = (size + kPiece - 1) / kPiece;
  std::unique_ptr<int32_t[]> memory(new (std::nothrow) int32_t[pieces * (ranges + 1)]);
  if (memory == nullptr) return false;
  // Where the ranges of a piece begin in it.
  const auto bounds = [&](int64_t piece) { return memory.get() + piece * (ranges + 1); };
  parallel(pieces, [&](int64_t piece) TANGRAD_AVX512 {
    const int64_t begin = piece * kPiece, length = std::min(size - begin, kPiece);
    int32_t* own = bounds(piece);
    E *to = (dividers.levels % 2 == 0 ? a : b) + begin, *other = (dividers.levels % 2 == 0 ? b : a) + begin;
    E block[kBlock];
    Room<E> room{to, to + length};
    for (int64_t i = 0; i < length; i += kBlock) {
      const int64_t here = std::min(kBlock, length - i);
      read(begin + i, begin + i + here, block);
      room = part_into<false>(room, block, here, dividers.least(ranges / 2));
    }
    own[0] = 0;
    own[ranges / 2] = room.low - to;
    own[ranges] = length;
    for (int step = ranges / 2; step > 1; step /= 2) {
      for (int range = 0; range < ranges; range += step) {
        const int32_t first = own[range], middle = range + step / 2;
        own[middle] = first + part<false>(to + first, other + first, own[range + step] - first, dividers.least(middle));
      }
      std::swap(to, other);
    }
  });
  int64_t starts[Dividers<E>::kMost + 1] = {0};
  for (int range = 0; range < ranges; ++range) {
    starts[range + 1] = starts[range];
    for (int64_t piece = 0; piece < pieces; ++piece) starts[range + 1] += bounds(piece)[range + 1] - bounds(piece)[range];
  }
  std::atomic<bool> failed{false};
  parallel(ranges, [&](int64_t range) TANGRAD_AVX512 {
    const int64_t first = starts[range], count = starts[range + 1] - first;
    Room<E> room{a + first, a + starts[range + 1]};
    for (int64_t piece = 0; piece < pieces; ++piece) {
      const int32_t* own = bounds(piece) + range;
      room = part_into<false>(room, b + piece * kPiece + own[0], own[1] - own[0], dividers.middle(range));
    }
    const int64_t front = room.low - (a + first), behind = count - front;
    std::unique_ptr<E[]> scratch(new (std::nothrow) E[std::max(front, behind)]);
    if (scratch == nullptr) return failed.store(true);
    sort_quickly(a + first, scratch.get(), front, false, 0, 8 * sizeof(E));
    sort_quickly(room.low, scratch.get(), behind, false, 0, 8 * sizeof(E));
    done(first, first + count);
  });
  return !failed.load();
}

}  // namespace tangrad

TANGRAD_AVX512_END
#endif
