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
        __m512i &low = x[first + i], &high = x[first + 2 * run - 1 - i];
        const __m512i other = L::template turned<L::kCount - 1>(high), least = L::lesser(low, other);
        high = L::template turned<L::kCount - 1>(L::greater(low, other));
        low = least;
      }
#pragma GCC unroll 4
      for (int step = run / 2; step > 0; step /= 2) {
#pragma GCC unroll 16
        for (int i = first; i < first + 2 * run; ++i) {
          if ((i & step) != 0) continue;
          const __m512i least = L::lesser(x[i], x[i + step]);
          x[i + step] = L::greater(x[i], x[i + step]);
          x[i] = least;
        }
      }
#pragma GCC unroll 16
      for (int i = first; i < first + 2 * run; ++i) x[i] = halved<E, kHalf>(x[i]);
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
  if (size <= 8 * kCount) return sort_in<E, 8>(from, to, size);
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

// Puts the elements less than the pivot (kEqual: not greater) at the front of `to`, the others at its end. Returns how
// many are in front.
template <bool kEqual, typename E>
int64_t part(const E* from, E* to, int64_t size, E pivot) {
  using L = Lanes<E>;
  using Mask = typename L::Mask;
  const __m512i middle = L::all(pivot);
  E *low = to, *high = to + size;
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
  for (; i < size; ++i) {
    if (kEqual ? from[i] <= pivot : from[i] < pivot)
      *low++ = from[i];
    else
      *--high = from[i];
  }
  return low - to;
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

// On all threads. The result is in `a`; false: there was not enough memory.
//
// Some elements divide the others into ranges of about the same number, each of which one thread sorts.
template <typename E>
bool sort_quickly_together(E* a, E* b, int64_t size, int low, int high) {
  using L = Lanes<E>;
  using Mask = typename L::Mask;
  constexpr int kMost = 32, kEach = 16;
  const int ranges = std::clamp(4 * thread_count(), 4, kMost);
  E some[kMost * kEach], scratch[kMost * kEach], dividers[kMost];
  for (int i = 0; i < ranges * kEach; ++i) some[i] = a[size / (ranges * kEach) * i];
  sort_quickly(some, scratch, ranges * kEach, false, low, high);
  for (int range = 1; range < ranges; ++range) dividers[range - 1] = some[range * kEach];
  const int64_t chunks = 2 * thread_count(), length = (size + chunks - 1) / chunks;
  std::unique_ptr<int64_t[]> memory(new (std::nothrow) int64_t[(chunks + 1) * (ranges + 1)]());
  if (memory == nullptr) return false;
  int64_t* places = memory.get();
  // How many are in the ranges up to each.
  parallel(chunks, [&](int64_t chunk) TANGRAD_AVX512 {
    const int64_t begin = std::min(size, chunk * length), end = std::min(size, begin + length);
    for (int range = 0; range + 1 < ranges; ++range) {
      const __m512i divider = L::all(dividers[range]);
      int64_t count = 0, i = begin;
      for (; i + L::kCount <= end; i += L::kCount)
        count += __builtin_popcount(L::are_less(_mm512_loadu_si512(a + i), divider));
      for (; i < end; ++i) count += a[i] < dividers[range];
      places[chunk * ranges + range] = count;
    }
    places[chunk * ranges + ranges - 1] = end - begin;
  });
  int64_t before = 0;
  for (int range = ranges - 1; range > 0; --range)
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      places[chunk * ranges + range] -= places[chunk * ranges + range - 1];
  int64_t ends[kMost];
  for (int range = 0; range < ranges; ++range) {
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      const int64_t count = places[chunk * ranges + range];
      places[chunk * ranges + range] = before;
      before += count;
    }
    ends[range] = before;
  }
  parallel(chunks, [&](int64_t chunk) TANGRAD_AVX512 {
    const int64_t begin = std::min(size, chunk * length), end = std::min(size, begin + length);
    int64_t* own = places + chunk * ranges;
    for (int64_t i = begin; i < end; i += L::kCount) {
      const int here = static_cast<int>(std::min<int64_t>(L::kCount, end - i));
      unsigned left = static_cast<Mask>((1u << here) - 1);
      const __m512i x = L::loaded(a + i, static_cast<Mask>(left), L::all(0));
      for (int range = 0; range < ranges; ++range) {
        const unsigned less = range + 1 < ranges ? L::are_less(x, L::all(dividers[range])) : ~0u;
        const unsigned taken = left & less;
        const int count = __builtin_popcount(taken);
        L::store(b + own[range], static_cast<Mask>((1u << count) - 1), L::packed(static_cast<Mask>(taken), x));
        own[range] += count;
        left &= ~taken;
      }
    }
  });
  parallel(ranges, [&](int64_t range) {
    const int64_t first = range == 0 ? 0 : ends[range - 1];
    sort_quickly(b + first, a + first, ends[range] - first, true, low, high);
  });
  return true;
}

}  // namespace tangrad

TANGRAD_AVX512_END
#endif
