// Sorting by digits: of unsigned integers, or of integers with the position that they had.
//
// Elements are sorted by some of their bits, from `low` up to `high`. Equal ones keep their order, or cannot be
// distinguished. Long arrays are first parted by their highest bits, on several threads, and then part by part; few elements
// are compared.

#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "kernel.h"

namespace tangrad {

struct Pair {  // an integer of 64 bits and a position
  uint64_t key;
  uint32_t at;
};

inline uint64_t bits_of(uint32_t x) { return x; }
inline uint64_t bits_of(uint64_t x) { return x; }
inline uint64_t bits_of(const Pair& x) { return x.key; }
inline bool operator<(const Pair& x, const Pair& y) { return x.key != y.key ? x.key < y.key : x.at < y.at; }

constexpr int64_t kFew = 400;           // elements that are sorted by comparisons
constexpr int64_t kWide = 8 * 1024;     // elements from which digits have more bits
constexpr int64_t kParted = 64 * 1024;  // elements from which an array is parted first
constexpr int kDigit = 11, kNarrowDigit = 8;

// By one digit after the other, the lowest first. Returns which of the two arrays has the result; `b` is scratch.
template <int kBits, typename E>
E* by_digits(E* a, E* b, int64_t size, int low, int high) {
  constexpr int kMost = (64 + kBits - 1) / kBits;
  constexpr uint32_t kMask = (1u << kBits) - 1;
  const int passes = (high - low + kBits - 1) / kBits;
  static thread_local uint32_t counts[kMost][1 << kBits];
  std::memset(counts, 0, sizeof(counts[0]) * passes);
  for (int64_t i = 0; i < size; ++i) {
    const uint64_t bits = bits_of(a[i]) >> low;
    for (int pass = 0; pass < passes; ++pass) ++counts[pass][bits >> (pass * kBits) & kMask];
  }
  for (int pass = 0; pass < passes; ++pass) {
    uint32_t* places = counts[pass];
    const int shift = low + pass * kBits;
    if (places[bits_of(a[0]) >> shift & kMask] == size) continue;
    uint32_t before = 0;
    for (uint32_t digit = 0; digit <= kMask; ++digit) {
      const uint32_t count = places[digit];
      places[digit] = before;
      before += count;
    }
    for (int64_t i = 0; i < size; ++i) b[places[bits_of(a[i]) >> shift & kMask]++] = a[i];
    std::swap(a, b);
  }
  return a;
}

// On one thread. Returns which of the two arrays has the result.
template <typename E>
E* sort_here(E* a, E* b, int64_t size, int low, int high) {
  if (size < kFew) {
    std::sort(a, a + size);
    return a;
  }
  return size < kWide ? by_digits<kNarrowDigit>(a, b, size, low, high) : by_digits<kDigit>(a, b, size, low, high);
}

// On all threads, a long array. The result is in `a`; false: there was not enough memory.
template <typename E>
bool sort_parted(E* a, E* b, int64_t size, int low, int high) {
  const int bits = std::min(kDigit, high - low), shift = high - bits;
  const int64_t digits = int64_t{1} << bits, chunks = 2 * thread_count(), length = (size + chunks - 1) / chunks;
  std::unique_ptr<uint32_t[]> memory(new (std::nothrow) uint32_t[(chunks + 1) * digits]());
  if (memory == nullptr) return false;
  uint32_t *counts = memory.get(), *ends = counts + chunks * digits;
  auto digit = [=](const E& x) { return bits_of(x) >> shift & (digits - 1); };
  parallel(chunks, [=](int64_t chunk) {
    uint32_t* own = counts + chunk * digits;
    for (int64_t i = chunk * length; i < std::min(size, (chunk + 1) * length); ++i) ++own[digit(a[i])];
  });
  uint32_t before = 0;
  for (int64_t value = 0; value < digits; ++value) {
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      const uint32_t count = counts[chunk * digits + value];
      counts[chunk * digits + value] = before;
      before += count;
    }
    ends[value] = before;
  }
  parallel(chunks, [=](int64_t chunk) {
    uint32_t* own = counts + chunk * digits;
    for (int64_t i = chunk * length; i < std::min(size, (chunk + 1) * length); ++i) b[own[digit(a[i])]++] = a[i];
  });
  parallel(digits, [=](int64_t value) {
    const int64_t first = value == 0 ? 0 : ends[value - 1], count = ends[value] - first;
    if (count == 0) return;
    const E* found = sort_here(b + first, a + first, count, low, shift);
    if (found != a + first) std::copy(found, found + count, a + first);
  });
  return true;
}

}  // namespace tangrad
