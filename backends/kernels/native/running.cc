// Running totals along an axis.
//
// plan: dtype, operation (0: sum, 1: maximum, 2: minimum), and the sizes before the axis, of it, behind it; whether it
// goes backward. Arrays are cut into blocks of one size, each of which knows the total before it; so the order of the
// additions, and with it every rounding, is the same however many threads there are.
//
// Sums of float32 are added up in float64. Those of float64 are chains of up to 16 elements, onto a total of all before
// them that carries the rounding error of each addition along (D. E. Knuth, The Art of Computer Programming 2, 4.2.2,
// theorem B).

#include <algorithm>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>

#include "xla_handler.h"

namespace tangrad {
namespace {

constexpr int64_t kLanes = 8;           // sums side by side: additions wait for each other within one alone
constexpr int64_t kColumns = 512;       // neighbouring rows that go along an axis together

// --- what is carried along ---------------------------------------------------------------------------------------------
//
// A `Total` takes elements, add(x), and other totals, and has a value(). Its `Lane` goes on from a total, element by
// element. `kBlock` is how many elements of a row have a total of their own.

constexpr int64_t kLong = 16 * 1024;

template <typename T>
struct Integer {  // in an unsigned type, which wraps
  using Lane = Integer;
  static constexpr int64_t kBlock = kLong;
  std::make_unsigned_t<T> sum = 0;
  void add(T x) { sum += static_cast<std::make_unsigned_t<T>>(x); }
  void add(const Integer& other) { sum += other.sum; }
  T value() const { return static_cast<T>(sum); }
};

struct Single {
  using Lane = Single;
  static constexpr int64_t kBlock = kLong;
  double sum = 0;
  void add(float x) { sum += x; }
  void add(const Single& other) { sum += other.sum; }
  float value() const { return static_cast<float>(sum); }
};

struct Double {
  struct Lane {
    Lane() = default;
    explicit Lane(const Double& start) : start(start.sum), rest(start.rest()) {}
    void add(double x) { chain += x; }
    double value() const { return start + (rest + chain); }
    double start = 0, rest = 0, chain = 0;
  };
  static constexpr int64_t kBlock = 16 * kLanes;

  double sum = 0, error = 0;
  void add(double x) {
    const double total = sum + x, part = total - sum;
    error += (sum - (total - part)) + (x - part);  // NaN, from the first infinity on
    sum = total;
  }
  void add(const Double& other) {
    add(other.sum);
    error += other.error;
  }
  double value() const { return sum + rest(); }
  double rest() const { return error == error ? error : 0; }
};

template <typename T, bool kMaximum>
struct Extremum {  // NaN stays
  using Lane = Extremum;
  static constexpr int64_t kBlock = kLong;
  T best = std::numeric_limits<T>::has_infinity
               ? (kMaximum ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity())
               : (kMaximum ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max());
  void add(T x) { best = (kMaximum ? x > best : x < best) || x != x ? x : best; }
  void add(const Extremum& other) { add(other.best); }
  T value() const { return best; }
};

// --- along rows without gaps ------------------------------------------------------------------------------------------

template <bool kBackward>
constexpr int64_t at(int64_t i) {
  return kBackward ? -i : i;
}

// Sums of every eighth element, of whole groups of eight.
TANGRAD_WIDE void sum_lanes(const float* x, int64_t size, double* sums) {
  for (int64_t i = 0; i < size; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += x[i + lane];
}

template <typename Total, bool kBackward, typename T>
Total total_of(const T* x, int64_t size) {
  Total parts[kLanes];
  int64_t i = 0;
  if constexpr (std::is_same_v<Total, Single> && !kBackward) {
    double sums[kLanes] = {};
    i = size - size % kLanes;
    sum_lanes(x, i, sums);
    for (int64_t lane = 0; lane < kLanes; ++lane) parts[lane].sum = sums[lane];
  }
  for (; i + kLanes <= size; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) parts[lane].add(x[at<kBackward>(i + lane)]);
  Total total;
  for (const Total& part : parts) total.add(part);
  for (; i < size; ++i) total.add(x[at<kBackward>(i)]);
  return total;
}

template <bool kBackward, typename Total, typename T>
void run_on(const T* x, T* y, int64_t begin, int64_t end, Total total) {
  for (int64_t i = begin; i < end; ++i) {
    total.add(x[at<kBackward>(i)]);
    y[at<kBackward>(i)] = total.value();
  }
}

// The totals of one block, all after `start`: of its lanes at the same time.
template <bool kBackward, typename Total, typename T>
void run_block(const T* x, T* y, int64_t size, Total start) {
  using Lane = typename Total::Lane;
  const int64_t length = size / kLanes;
  if (length < kLanes) return run_on<kBackward>(x, y, 0, size, start);
  Lane lanes[kLanes];
  Total totals[kLanes];
  for (int64_t i = 0; i < length; ++i)
    for (int64_t lane = 0; lane < kLanes; ++lane) totals[lane].add(x[at<kBackward>(lane * length + i)]);
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    lanes[lane] = Lane(start);
    start.add(totals[lane]);
  }
  for (int64_t i = 0; i < length; ++i)
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane].add(x[at<kBackward>(lane * length + i)]);
      y[at<kBackward>(lane * length + i)] = lanes[lane].value();
    }
  run_on<kBackward>(x, y, kLanes * length, size, start);
}

// The same after the totals before each of the lanes.
template <bool kBackward, typename Total, typename T>
void run_lanes(const T* x, T* y, int64_t size, const Total* starts) {
  const int64_t length = size / kLanes;
  if (length == 0) return run_on<kBackward>(x, y, 0, size, starts[0]);
  Total lanes[kLanes];
  std::copy(starts, starts + kLanes, lanes);
  for (int64_t i = 0; i < length; ++i)
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane].add(x[at<kBackward>(lane * length + i)]);
      y[at<kBackward>(lane * length + i)] = lanes[lane].value();
    }
  run_on<kBackward>(x, y, kLanes * length, size, lanes[kLanes - 1]);
}

template <typename Total, bool kBackward, typename T>
int run_rows(const T* x, T* y, int64_t rows, int64_t size) {
  constexpr int64_t kBlock = Total::kBlock;
  const int64_t blocks = (size + kBlock - 1) / kBlock, first = kBackward ? size - 1 : 0;
  if (blocks == 1) {
    in_pieces(rows, size, [=](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        run_block<kBackward>(x + row * size + first, y + row * size + first, size, Total());
    });
    return 0;
  }
  // Parts of a block that have a total each. If it is the lanes, a block is read once less; integers gain nothing.
  constexpr int64_t kParts = kBlock == kLong && std::is_floating_point_v<T> ? kLanes : 1;
  std::unique_ptr<Total[]> starts(new (std::nothrow) Total[rows * blocks * kParts]);
  if (starts == nullptr) return 1;
  Total* start = starts.get();
  auto place = [=](int64_t block) { return block / blocks * size + first + at<kBackward>(block % blocks * kBlock); };
  auto size_of = [=](int64_t block) { return std::min(kBlock, size - block % blocks * kBlock); };
  in_pieces(rows * blocks, kBlock, [=](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t length = size_of(block) / kParts;
      if (kParts == 1 && (block + 1) % blocks == 0) continue;
      for (int64_t part = 0; part < kParts; ++part)
        start[block * kParts + part] =
            total_of<Total, kBackward>(x + place(block) + at<kBackward>(part * length), length);
    }
  });
  for (int64_t row = 0; row < rows; ++row) {
    Total total;
    for (int64_t part = row * blocks * kParts; part < (row + 1) * blocks * kParts; ++part) {
      const Total own = start[part];
      start[part] = total;
      total.add(own);
    }
  }
  in_pieces(rows * blocks, kBlock, [=](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      if constexpr (kParts > 1)
        run_lanes<kBackward>(x + place(block), y + place(block), size_of(block), start + block * kParts);
      else
        run_block<kBackward>(x + place(block), y + place(block), size_of(block), start[block]);
    }
  });
  return 0;
}

// --- along other axes -------------------------------------------------------------------------------------------------

template <typename Total, typename T>
int run_columns(const T* x, T* y, int64_t outer, int64_t size, int64_t inner, bool backward) {
  const int64_t strips = (inner + kColumns - 1) / kColumns;
  in_pieces(outer * strips, size * std::min(inner, kColumns), [=](int64_t begin, int64_t end) {
    for (int64_t strip = begin; strip < end; ++strip) {
      const int64_t column = strip % strips * kColumns, width = std::min(kColumns, inner - column);
      const int64_t first = strip / strips * size * inner + column;
      Total totals[kColumns];
      for (int64_t i = 0; i < size; ++i) {
        const int64_t row = first + (backward ? size - 1 - i : i) * inner;
        for (int64_t j = 0; j < width; ++j) {
          totals[j].add(x[row + j]);
          y[row + j] = totals[j].value();
        }
      }
    }
  });
  return 0;
}

template <typename Total, typename T>
int run(Plan plan, const void* in, void* out) {
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  const int64_t outer = plan[2], size = plan[3], inner = plan[4];
  const bool backward = plan[5] != 0;
  if (outer * size * inner == 0) return 0;
  if (inner > 1) return run_columns<Total>(x, y, outer, size, inner, backward);
  return backward ? run_rows<Total, true>(x, y, outer, size) : run_rows<Total, false>(x, y, outer, size);
}

template <typename T, typename Sum>
int by_operation(Plan plan, const void* in, void* out) {
  switch (plan[1]) {
    case 0:
      return run<Sum, T>(plan, in, out);
    case 1:
      return run<Extremum<T, true>, T>(plan, in, out);
    default:
      return run<Extremum<T, false>, T>(plan, in, out);
  }
}

}  // namespace
}  // namespace tangrad

TANGRAD_KERNEL(running) {
  using namespace tangrad;
  switch (plan[0]) {
    case F32:
      return by_operation<float, Single>(plan, in[0], out[0]);
    case F64:
      return by_operation<double, Double>(plan, in[0], out[0]);
    case I32:
      return by_operation<int32_t, Integer<int32_t>>(plan, in[0], out[0]);
    case I64:
      return by_operation<int64_t, Integer<int64_t>>(plan, in[0], out[0]);
    case U32:
      return by_operation<uint32_t, Integer<uint32_t>>(plan, in[0], out[0]);
    default:
      return by_operation<uint64_t, Integer<uint64_t>>(plan, in[0], out[0]);
  }
}
