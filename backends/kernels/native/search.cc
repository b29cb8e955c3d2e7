// Places of values in a sorted vector of keys: how many keys are less than a value, or at most as great.
//
// plan: dtype of keys and values, dtype of the places (I32 or I64), keys, values, whether equal keys are counted.
// Among floats all NaN are equal, and greater than infinity.
//
// The range of the keys is divided into cells of equal length, and a value is looked for among the keys of its own cell
// alone: which cell a number is in grows with it, whatever the rounding. Where keys crowd in one, there are no cells.

#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>

#include "vector.h"
#include "xla_handler.h"

namespace tangrad {
namespace {

constexpr int64_t kTogether = 256;  // values that take each step together
constexpr int32_t kCrowd = 63;      // keys of a cell, at most
constexpr int64_t kMostCells = 1 << 20;

template <typename T>
using Real = std::conditional_t<std::is_same_v<T, float>, float, double>;

template <typename T>
struct Cells {
  Real<T> least, scale, last;
};

template <typename T>
TANGRAD_INLINE int32_t cell_of(const Cells<T>& cells, T x) {
  Real<T> cell = (static_cast<Real<T>>(x) - cells.least) * cells.scale;
  cell = cell > 0 ? cell : 0;  // and for NaN
  return static_cast<int32_t>(cell < cells.last ? cell : cells.last);
}

template <typename T>
struct Keys {
  const T* keys;      // and kCrowd behind them
  int64_t all, size;  // with and without NaN
  int32_t crowd;      // how many keys a cell has at most, or all
  const int32_t* before = nullptr;  // for each cell, the keys of those before it; none: there are no cells
  Cells<T> cells{};
};

template <bool kEqual, typename T>
TANGRAD_INLINE bool is_before(T key, T x) {
  return kEqual ? key <= x : key < x;
}

// The cell of each value.
template <typename T>
TANGRAD_INLINE void cells_of(const Cells<T>& cells, const T* x, int32_t* found, int64_t count) {
  for (int64_t i = 0; i < count; ++i) found[i] = cell_of(cells, x[i]);
}

// The place of each value, by halves: among the keys from the first of its cell on, or among all.
template <bool kEqual, typename T>
void find_one_by_one(const Keys<T>& among, const T* x, int32_t* places, int64_t count) {
  const T* keys = among.keys;
  const int32_t* before = among.before;
  for (int64_t i = 0; i < count; ++i) places[i] = before == nullptr ? 0 : before[places[i]];
  for (int32_t size = among.crowd; size > 0;) {
    const int32_t half = (size + 1) / 2;
    for (int64_t i = 0; i < count; ++i) places[i] += is_before<kEqual>(keys[places[i] + half - 1], x[i]) ? half : 0;
    size -= half;
  }
}

#if defined(TANGRAD_AVX512_BEGIN)
TANGRAD_AVX512_BEGIN

// The same for sixteen values together, whose keys one instruction collects.
inline __m512i collected(const int32_t* from, __m512i at) { return _mm512_i32gather_epi32(at, from, 4); }

template <bool kEqual>
inline __mmask16 are_before(const float* keys, __m512i at, const float* x) {
  const __m512 found = _mm512_i32gather_ps(at, keys, 4);
  return _mm512_cmp_ps_mask(found, _mm512_loadu_ps(x), kEqual ? _CMP_LE_OQ : _CMP_LT_OQ);
}

template <bool kEqual>
inline __mmask16 are_before(const int32_t* keys, __m512i at, const int32_t* x) {
  return _mm512_cmp_epi32_mask(collected(keys, at), _mm512_loadu_si512(x), kEqual ? _MM_CMPINT_LE : _MM_CMPINT_LT);
}

template <bool kEqual>
inline __mmask16 are_before(const uint32_t* keys, __m512i at, const uint32_t* x) {
  const __m512i found = collected(reinterpret_cast<const int32_t*>(keys), at);
  return _mm512_cmp_epu32_mask(found, _mm512_loadu_si512(x), kEqual ? _MM_CMPINT_LE : _MM_CMPINT_LT);
}

template <bool kEqual>
inline __mmask8 eight_before(const double* keys, __m256i at, const double* x) {
  const __m512d found = _mm512_i32gather_pd(at, keys, 8);
  return _mm512_cmp_pd_mask(found, _mm512_loadu_pd(x), kEqual ? _CMP_LE_OQ : _CMP_LT_OQ);
}

template <bool kEqual>
inline __mmask8 eight_before(const int64_t* keys, __m256i at, const int64_t* x) {
  const __m512i found = _mm512_i32gather_epi64(at, keys, 8);
  return _mm512_cmp_epi64_mask(found, _mm512_loadu_si512(x), kEqual ? _MM_CMPINT_LE : _MM_CMPINT_LT);
}

template <bool kEqual>
inline __mmask8 eight_before(const uint64_t* keys, __m256i at, const uint64_t* x) {
  const __m512i found = _mm512_i32gather_epi64(at, keys, 8);
  return _mm512_cmp_epu64_mask(found, _mm512_loadu_si512(x), kEqual ? _MM_CMPINT_LE : _MM_CMPINT_LT);
}

template <bool kEqual, typename T, typename = std::enable_if_t<sizeof(T) == 8>>
inline __mmask16 are_before(const T* keys, __m512i at, const T* x) {
  const unsigned low = eight_before<kEqual>(keys, _mm512_castsi512_si256(at), x);
  const unsigned high = eight_before<kEqual>(keys, _mm512_extracti64x4_epi64(at, 1), x + 8);
  return static_cast<__mmask16>(low | high << 8);
}

template <bool kEqual, typename T>
void find_widely(const Keys<T>& among, const T* x, int32_t* places, int64_t count) {
  const T* keys = among.keys;
  const int32_t* before = among.before;
  const __m512i one = _mm512_set1_epi32(1);
  for (int64_t i = 0; i < count; i += 16) {
    __m512i place = before == nullptr ? _mm512_setzero_si512() : collected(before, _mm512_loadu_si512(places + i));
    for (int32_t size = among.crowd; size > 0;) {
      const int32_t half = (size + 1) / 2;
      const __m512i at = _mm512_add_epi32(place, _mm512_set1_epi32(half - 1));
      place = _mm512_mask_add_epi32(place, are_before<kEqual>(keys, at, x + i), at, one);
      size -= half;
    }
    _mm512_storeu_si512(places + i, place);
  }
}

TANGRAD_AVX512_END
#endif

template <bool kEqual, typename T>
void find(const Keys<T>& among, const T* x, int32_t* places, int64_t count) {
#if defined(TANGRAD_AVX512_BEGIN)
  if (count % 16 == 0 && has_avx512()) return find_widely<kEqual>(among, x, places, count);
#endif
  find_one_by_one<kEqual>(among, x, places, count);
}

// With values that are none: behind all keys, or before the first that is none.
template <typename T, typename Place>
TANGRAD_INLINE void give(const Keys<T>& among, bool equal, const T* x, const int32_t* places, Place* y, int64_t count) {
  const int32_t most = static_cast<int32_t>(among.size), none = static_cast<int32_t>(equal ? among.all : among.size);
  for (int64_t i = 0; i < count; ++i) y[i] = x[i] == x[i] ? std::min(places[i], most) : none;
}

#define TANGRAD_LOOPS(T)                                                                                            \
  TANGRAD_WIDE void cells_here(const Cells<T>& cells, const T* x, int32_t* found, int64_t count) {                  \
    cells_of(cells, x, found, count);                                                                               \
  }                                                                                                                 \
  TANGRAD_WIDE void give_here(const Keys<T>& among, bool equal, const T* x, const int32_t* places, int32_t* y,      \
                              int64_t count) {                                                                      \
    give(among, equal, x, places, y, count);                                                                        \
  }                                                                                                                 \
  TANGRAD_WIDE void give_here(const Keys<T>& among, bool equal, const T* x, const int32_t* places, int64_t* y,      \
                              int64_t count) {                                                                      \
    give(among, equal, x, places, y, count);                                                                        \
  }
TANGRAD_LOOPS(float)
TANGRAD_LOOPS(double)
TANGRAD_LOOPS(int32_t)
TANGRAD_LOOPS(int64_t)
TANGRAD_LOOPS(uint32_t)
TANGRAD_LOOPS(uint64_t)
#undef TANGRAD_LOOPS

template <typename T, typename Place>
void find_all(const Keys<T>& among, bool equal, const T* x, Place* y, int64_t count) {
  int32_t places[kTogether];
  for (int64_t i = 0; i < count; i += kTogether) {
    const int64_t here = std::min(kTogether, count - i);
    if (among.before != nullptr) cells_here(among.cells, x + i, places, here);
    if (equal)
      find<true>(among, x + i, places, here);
    else
      find<false>(among, x + i, places, here);
    give_here(among, equal, x + i, places, y + i, here);
  }
}

template <typename T>
bool is_number(T x) {
  return !(std::is_floating_point_v<T> && x != x);
}

template <typename T>
bool is_bounded(T x) {
  return !std::is_floating_point_v<T> || std::isfinite(static_cast<double>(x));
}

// The cells of the keys, if few keys are in each; `before` has room for all and one more.
template <typename T>
void divide(Keys<T>& among, int32_t* before, int64_t cells) {
  const T* keys = among.keys;
  int64_t first = 0, last = among.size - 1;
  while (first < last && !is_bounded(keys[first])) ++first;
  while (first < last && !is_bounded(keys[last])) --last;
  if (last < first) return;
  const Real<T> least = static_cast<Real<T>>(keys[first]), length = static_cast<Real<T>>(keys[last]) - least;
  const Cells<T> of{least, static_cast<Real<T>>(cells) / length, static_cast<Real<T>>(cells - 1)};
  std::fill(before, before + cells + 1, 0);
  int32_t crowd = 0;
  for (int64_t i = 0; i < among.size; ++i) crowd = std::max(crowd, ++before[cell_of(of, keys[i]) + 1]);
  if (crowd > kCrowd) return;
  for (int64_t cell = 0; cell < cells; ++cell) before[cell + 1] += before[cell];
  among.before = before;
  among.cells = of;
  among.crowd = crowd;
}

template <typename T, typename Place>
int search(Plan plan, Inputs in, Outputs out) {
  const T* given = static_cast<const T*>(in[0]);
  const T* x = static_cast<const T*>(in[1]);
  Place* y = static_cast<Place*>(out[0]);
  const int64_t all = plan[2], count = plan[3];
  const bool equal = plan[4] != 0;
  int64_t size = 0;
  while (size < all && is_number(given[size])) ++size;
  int64_t cells = 4;
  while (cells < 2 * size) cells *= 2;
  const bool divided = 2 * cells <= count && cells <= kMostCells;
  std::unique_ptr<T[]> keys(new (std::nothrow) T[size + kCrowd]);
  std::unique_ptr<int32_t[]> before(divided ? new (std::nothrow) int32_t[cells + 1] : nullptr);
  if (keys == nullptr || (divided && before == nullptr)) return 1;
  std::copy(given, given + size, keys.get());
  Keys<T> among{keys.get(), all, size, static_cast<int32_t>(size)};
  // Behind the last one there is what a value is compared with once all keys are before it.
  std::fill(keys.get() + size, keys.get() + size + kCrowd, std::numeric_limits<T>::max());
  if (divided) divide(among, before.get(), cells);
  in_pieces(count, 1, [&](int64_t begin, int64_t end) { find_all(among, equal, x + begin, y + begin, end - begin); });
  return 0;
}

template <typename Place>
int search_in(Plan plan, Inputs in, Outputs out) {
  switch (plan[0]) {
    case F32: return search<float, Place>(plan, in, out);
    case F64: return search<double, Place>(plan, in, out);
    case I32: return search<int32_t, Place>(plan, in, out);
    case I64: return search<int64_t, Place>(plan, in, out);
    case U32: return search<uint32_t, Place>(plan, in, out);
    default: return search<uint64_t, Place>(plan, in, out);
  }
}

}  // namespace
}  // namespace tangrad

TANGRAD_KERNEL(search) {
  return plan[1] == tangrad::I32 ? tangrad::search_in<int32_t>(plan, in, out) : tangrad::search_in<int64_t>(plan, in, out);
}
