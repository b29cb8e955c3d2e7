// Rows of a table at places in an array, rows that are added there, and how often each place comes.
//
// Places are of signed or unsigned integers; those below 0 count from the end where `wrap`, the size, is not 0.

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

#include "xla_handler.h"

namespace tangrad {
namespace {

template <typename Index>
inline uint64_t place_of(Index index, int64_t wrap) {  // negative ones are great
  const int64_t place = static_cast<int64_t>(index);
  return static_cast<uint64_t>(place < 0 ? place + wrap : place);
}

// What is outside is `fill`, or where `clamp` the nearest row.
struct Table {
  const char* rows;
  int64_t width, size, wrap, clamp, fill;
};

template <typename Index>
inline int64_t clamped(const Table& table, Index index) {
  const int64_t place = static_cast<int64_t>(index), wrapped = place < 0 ? place + table.wrap : place;
  return std::clamp<int64_t>(wrapped, 0, table.size - 1);
}

#if defined(TANGRAD_AVX512_BEGIN)
TANGRAD_AVX512_BEGIN

inline void collect(const uint32_t* x, __m512i places, uint32_t* out) {
  _mm512_storeu_si512(out, _mm512_i32gather_epi32(places, x, 4));
}

inline void collect(const uint64_t* x, __m512i places, uint64_t* out) {
  _mm512_storeu_si512(out, _mm512_i32gather_epi64(_mm512_castsi512_si256(places), x, 8));
  _mm512_storeu_si512(out + 8, _mm512_i32gather_epi64(_mm512_extracti64x4_epi64(places, 1), x, 8));
}

// Sixteen elements at a time, so long as their places are inside; returns how many were taken.
template <typename T>
int64_t take_widely(const Table& table, const int32_t* places, T* out, int64_t count) {
  const T* x = reinterpret_cast<const T*>(table.rows);
  const __m512i size = _mm512_set1_epi32(static_cast<int>(table.size));
  const __m512i wrap = _mm512_set1_epi32(static_cast<int>(table.wrap));
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m512i given = _mm512_loadu_si512(places + i);
    const __m512i place = _mm512_mask_add_epi32(given, _mm512_movepi32_mask(given), given, wrap);
    if (_mm512_cmplt_epu32_mask(place, size) != 0xffff) break;
    collect(x, place, out + i);
  }
  return i;
}

TANGRAD_AVX512_END
#endif

template <typename T, typename Index>
void take_elements(const Table& table, const Index* places, T* out, int64_t count) {
  const T* x = reinterpret_cast<const T*>(table.rows);
  const uint64_t size = static_cast<uint64_t>(table.size);
  T fill;
  std::memcpy(&fill, &table.fill, sizeof(T));
  int64_t i = 0, end = count;
  while (i < count) {
#if defined(TANGRAD_AVX512_BEGIN)
    if constexpr (std::is_same_v<Index, int32_t>)
      if (has_avx512() && table.size < int64_t{1} << 31) {
        i += take_widely(table, places + i, out + i, count - i);
        end = std::min(count, i + 16);  // with one that is outside
      }
#endif
    for (; i < end; ++i) {
      const uint64_t place = place_of(places[i], table.wrap);
      out[i] = place < size ? x[place] : table.clamp ? x[clamped(table, places[i])] : fill;
    }
  }
}

template <typename Index>
void take_rows(const Table& table, const Index* places, char* out, int64_t count, int64_t element) {
  for (int64_t i = 0; i < count; ++i, out += table.width) {
    const uint64_t place = place_of(places[i], table.wrap);
    if (place < static_cast<uint64_t>(table.size)) {
      std::memcpy(out, table.rows + place * table.width, table.width);
    } else if (table.clamp) {
      std::memcpy(out, table.rows + clamped(table, places[i]) * table.width, table.width);
    } else {
      for (int64_t k = 0; k < table.width; k += element) std::memcpy(out + k, &table.fill, element);
    }
  }
}

// plan: dtype of the places, their number, bytes of a row and of an element, rows, wrap, whether to clamp, the bytes of
// what is outside.
template <typename Index>
int take(Plan plan, Inputs in, Outputs out) {
  const Table table{static_cast<const char*>(in[0]), plan[2], plan[4], plan[5], plan[6], plan[7]};
  const Index* places = static_cast<const Index*>(in[1]);
  char* found = static_cast<char*>(out[0]);
  const int64_t element = plan[3];
  in_pieces(plan[1], std::max<int64_t>(1, table.width / 4), [=](int64_t begin, int64_t end) {
    char* to = found + begin * table.width;
    const int64_t count = end - begin;
    if (table.width == 4 && element == 4) return take_elements(table, places + begin, reinterpret_cast<uint32_t*>(to), count);
    if (table.width == 8 && element == 8) return take_elements(table, places + begin, reinterpret_cast<uint64_t*>(to), count);
    take_rows(table, places + begin, to, count, element);
  });
  return 0;
}

constexpr int64_t kPart = 1 << 16;   // places that are counted together
constexpr int64_t kMostParts = 64;
constexpr int64_t kFew = 1 << 12;    // rows up to which there are several counts, so that equal places do not wait
constexpr int64_t kTogether = 512;   // places whose rows are found together

// The row of each place; behind all of them for what is outside.
template <typename Index>
TANGRAD_INLINE void find_rows(const Index* places, uint32_t* rows, int64_t number, uint32_t size, int64_t wrap) {
  for (int64_t i = 0; i < number; ++i) {
    const uint64_t place = place_of(places[i], wrap);
    rows[i] = place < size ? static_cast<uint32_t>(place) : size;
  }
}

// Of 32 bits, in 32 bits: `wrap` is `size` or 0.
TANGRAD_INLINE void find_rows(const int32_t* places, uint32_t* rows, int64_t number, uint32_t size, int64_t wrap) {
  const uint32_t added = static_cast<uint32_t>(wrap);
  for (int64_t i = 0; i < number; ++i) {
    const uint32_t place = static_cast<uint32_t>(places[i]) + (places[i] < 0 ? added : 0);
    rows[i] = std::min(place, size);
  }
}

TANGRAD_WIDE void rows_of(const int32_t* places, uint32_t* rows, int64_t number, uint32_t size, int64_t wrap) {
  find_rows(places, rows, number, size, wrap);
}
TANGRAD_WIDE void rows_of(const uint32_t* places, uint32_t* rows, int64_t number, uint32_t size, int64_t wrap) {
  for (int64_t i = 0; i < number; ++i) rows[i] = std::min(places[i], size);
}
TANGRAD_WIDE void rows_of(const int64_t* places, uint32_t* rows, int64_t number, uint32_t size, int64_t wrap) {
  find_rows(places, rows, number, size, wrap);
}

// Places outside are counted behind the others.
template <int kLanes, typename Index>
void count_into(uint32_t* counts, const Index* places, int64_t number, uint32_t size, int64_t wrap) {
  uint32_t rows[kTogether];
  const int64_t room = int64_t{size} + 1;
  for (int64_t first = 0; first < number; first += kTogether) {
    const int64_t here = std::min(kTogether, number - first);
    rows_of(places + first, rows, here, size, wrap);
    int64_t i = 0;
    for (; i + kLanes <= here; i += kLanes)
      for (int lane = 0; lane < kLanes; ++lane) ++counts[lane * room + rows[i + lane]];
    for (; i < here; ++i) ++counts[rows[i]];
  }
}

// plan: dtype of the places, their number, below 2^31 as that of rows is, rows, wrap. Places outside are not counted.
template <typename Index>
int count(Plan plan, Inputs in, Outputs out) {
  const Index* places = static_cast<const Index*>(in[0]);
  uint32_t* found = static_cast<uint32_t*>(out[0]);
  const int64_t number = plan[1], size = plan[2], wrap = plan[3], lanes = size <= kFew ? 4 : 1;
  const int64_t parts = std::clamp<int64_t>(number / std::max(kPart, 4 * size), 1, kMostParts);
  const int64_t each = (number + parts - 1) / parts, room = lanes * (size + 1);
  std::unique_ptr<uint32_t[]> memory(new (std::nothrow) uint32_t[parts * room]());
  if (memory == nullptr) return 1;
  uint32_t* counts = memory.get();
  parallel(parts, [=](int64_t part) {
    const int64_t begin = std::min(number, part * each), here = std::min(number, begin + each) - begin;
    if (lanes == 1) return count_into<1>(counts + part * room, places + begin, here, size, wrap);
    count_into<4>(counts + part * room, places + begin, here, size, wrap);
  });
  std::fill(found, found + size, 0);
  for (int64_t lane = 0; lane < parts * lanes; ++lane)
    for (int64_t place = 0; place < size; ++place) found[place] += counts[lane * (size + 1) + place];
  return 0;
}

// Adds to the rows from `first` to `end` what belongs there, in the order in which it comes.
template <typename T, typename Sum>
TANGRAD_INLINE void add_some(const uint32_t* rows, int64_t number, const T* updates, int64_t width, Sum* out,
                             int64_t first, int64_t end) {
  if (width == 1) {
    for (int64_t i = 0; i < number; ++i)
      if (rows[i] < end) out[rows[i]] += updates[i];
    return;
  }
  for (int64_t i = 0; i < number; ++i) {
    if (rows[i] < first || rows[i] >= end) continue;
    Sum* to = out + rows[i] * width;
    const T* from = updates + i * width;
    for (int64_t k = 0; k < width; ++k) to[k] += from[k];
  }
}

#define TANGRAD_ADD(T, Sum)                                                                                       \
  TANGRAD_WIDE void add_here(const uint32_t* rows, int64_t number, const T* updates, int64_t width, Sum* out,     \
                             int64_t first, int64_t end) {                                                        \
    add_some(rows, number, updates, width, out, first, end);                                                      \
  }
TANGRAD_ADD(float, float)
TANGRAD_ADD(float, double)
TANGRAD_ADD(double, double)
TANGRAD_ADD(uint32_t, uint32_t)
TANGRAD_ADD(uint64_t, uint64_t)
#undef TANGRAD_ADD

constexpr uint32_t kMeeting = 64;    // rows that may be added to one in single precision
constexpr int64_t kSmall = 1 << 17;  // rows of one element that are all summed in double precision

// Whether more are added to one; `counts` of all rows, and of what is outside, are 0.
inline bool often_meet(const uint32_t* rows, int64_t number, uint8_t* counts, int64_t size) {
  for (int64_t i = 0; i < number; ++i) counts[rows[i]] += counts[rows[i]] <= kMeeting;
  return std::any_of(counts, counts + size, [](uint8_t count) { return count > kMeeting; });
}

// As `add_here`, but rows that have a number in `met`, from 1 on, are taken from `out`, summed in double precision, and
// put there.
TANGRAD_WIDE void add_met(const uint32_t* rows, int64_t number, const float* updates, int64_t width, float* out,
                          int64_t first, int64_t end, const uint32_t* met, double* sums) {
  for (int64_t row = first; row < end; ++row)
    if (met[row]) std::copy(out + row * width, out + (row + 1) * width, sums + (met[row] - 1) * width);
  for (int64_t i = 0; i < number; ++i) {
    const int64_t row = rows[i];
    if (row < first || row >= end) continue;
    const float* from = updates + i * width;
    if (met[row]) {
      double* to = sums + (met[row] - 1) * width;
      for (int64_t k = 0; k < width; ++k) to[k] += from[k];
    } else {
      float* to = out + row * width;
      for (int64_t k = 0; k < width; ++k) to[k] += from[k];
    }
  }
  for (int64_t row = first; row < end; ++row)
    for (int64_t k = 0; met[row] && k < width; ++k)
      out[row * width + k] = static_cast<float>(sums[(met[row] - 1) * width + k]);
}

// Numbers to those of a vector, in double precision.
inline int add_widely(Plan plan, Inputs in, Outputs out, const uint32_t* rows) {
  const int64_t size = plan[2];
  const float* table = static_cast<const float*>(in[0]);
  std::unique_ptr<double[]> sums(new (std::nothrow) double[size]);
  if (sums == nullptr) return 1;
  for (int64_t i = 0; i < size; ++i) sums[i] = table[plan[6] ? 0 : i];
  add_here(rows, plan[1], static_cast<const float*>(in[2]), 1, sums.get(), 0, size);
  for (int64_t i = 0; i < size; ++i) static_cast<float*>(out[0])[i] = static_cast<float>(sums[i]);
  return 0;
}

// plan: dtype of the places, their number, that of rows, below 2^31, wrap, dtype of the elements, elements of a row,
// whether the table is one number. Operands: the table, places, rows. Each thread adds to rows of its own; rows of one
// element, of which to find one's own takes longer than to add them, are one thread's.
template <typename T, typename Index>
int add_rows(Plan plan, Inputs in, Outputs out) {
  const int64_t number = plan[1], size = plan[2], wrap = plan[3], width = plan[5];
  const Index* places = static_cast<const Index*>(in[1]);
  const T *table = static_cast<const T*>(in[0]), *updates = static_cast<const T*>(in[2]);
  T* found = static_cast<T*>(out[0]);
  std::unique_ptr<uint32_t[]> rows(new (std::nothrow) uint32_t[number]), met;
  std::unique_ptr<double[]> sums;
  if (rows == nullptr) return 1;
  rows_of(places, rows.get(), number, static_cast<uint32_t>(size), wrap);
  if constexpr (std::is_same_v<T, float>) {
    if (width == 1 && size <= kSmall) return add_widely(plan, in, out, rows.get());
    std::unique_ptr<uint8_t[]> counts(new (std::nothrow) uint8_t[size + 1]());
    if (counts == nullptr) return 1;
    if (often_meet(rows.get(), number, counts.get(), size)) {
      met.reset(new (std::nothrow) uint32_t[size]);
      if (met == nullptr) return 1;
      uint32_t count = 0;
      for (int64_t row = 0; row < size; ++row) met[row] = counts[row] > kMeeting ? ++count : 0;
      sums.reset(new (std::nothrow) double[count * width]);
      if (sums == nullptr) return 1;
    }
  }
  const int64_t parts = thread_count() == 1 || width == 1 || number * width < 2 * kLittle ? 1 : 2 * thread_count();
  const int64_t each = (size + parts - 1) / parts;
  parallel(parts, [&](int64_t part) {
    const int64_t first = std::min(size, part * each), end = std::min(size, first + each);
    if (plan[6])
      std::fill(found + first * width, found + end * width, *table);
    else
      std::copy(table + first * width, table + end * width, found + first * width);
    if constexpr (std::is_same_v<T, float>)
      if (sums != nullptr)
        return add_met(rows.get(), number, updates, width, found, first, end, met.get(), sums.get());
    add_here(rows.get(), number, updates, width, found, first, end);
  });
  return 0;
}

template <typename Index>
int add_rows_of(Plan plan, Inputs in, Outputs out) {
  switch (plan[4]) {
    case F32:
      return add_rows<float, Index>(plan, in, out);
    case F64:
      return add_rows<double, Index>(plan, in, out);
    case I32:
    case U32:
      return add_rows<uint32_t, Index>(plan, in, out);
    default:
      return add_rows<uint64_t, Index>(plan, in, out);
  }
}

}  // namespace
}  // namespace tangrad

TANGRAD_KERNEL(add_rows) {
  using namespace tangrad;
  switch (plan[0]) {
    case I32:
      return add_rows_of<int32_t>(plan, in, out);
    case U32:
      return add_rows_of<uint32_t>(plan, in, out);
    default:
      return add_rows_of<int64_t>(plan, in, out);
  }
}

TANGRAD_KERNEL(take) {
  using namespace tangrad;
  switch (plan[0]) {
    case I32:
      return take<int32_t>(plan, in, out);
    case U32:
      return take<uint32_t>(plan, in, out);
    default:
      return take<int64_t>(plan, in, out);
  }
}

TANGRAD_KERNEL(count) {
  using namespace tangrad;
  switch (plan[0]) {
    case I32:
      return count<int32_t>(plan, in, out);
    case U32:
      return count<uint32_t>(plan, in, out);
    default:
      return count<int64_t>(plan, in, out);
  }
}
