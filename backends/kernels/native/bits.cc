// Random words: the numbers from 0 on, enciphered by Threefry-2x32 with 20 rounds, both halves of each combined or beside
// each other; and normal numbers that are made of the former.
//
// plan: how many, and for words how many bits, 32 or 64. The operand is the key, two words. Source of the constants: Salmon
// et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011; of those of the inverse of erf: M. Giles, Approximating the
// erfinv function, GPU Computing Gems, 2011.

#include "vector.h"
#include "xla_handler.h"

namespace tangrad {
namespace {

constexpr int64_t kTogether = 32;  // numbers that are enciphered side by side

template <int kRotation>
inline void turn(uint32_t* x, uint32_t* y) {
  for (int64_t i = 0; i < kTogether; ++i) {
    x[i] += y[i];
    y[i] = (y[i] << kRotation | y[i] >> (32 - kRotation)) ^ x[i];
  }
}

template <int kFirst, int kSecond, int kThird, int kFourth>
inline void turns(uint32_t* x, uint32_t* y, uint32_t first, uint32_t second) {
  turn<kFirst>(x, y);
  turn<kSecond>(x, y);
  turn<kThird>(x, y);
  turn<kFourth>(x, y);
  for (int64_t i = 0; i < kTogether; ++i) {
    x[i] += first;
    y[i] += second;
  }
}

TANGRAD_INLINE void encipher_words(const uint32_t* words, uint32_t start, uint32_t* x, uint32_t* y) {
  for (int64_t i = 0; i < kTogether; ++i) {
    x[i] = words[0];
    y[i] = words[1] + start + static_cast<uint32_t>(i);
  }
  turns<13, 15, 26, 6>(x, y, words[1], words[2] + 1);
  turns<17, 29, 16, 24>(x, y, words[2], words[0] + 2);
  turns<13, 15, 26, 6>(x, y, words[0], words[1] + 3);
  turns<17, 29, 16, 24>(x, y, words[1], words[2] + 4);
  turns<13, 15, 26, 6>(x, y, words[2], words[0] + 5);
}

TANGRAD_INLINE void encipher_block(const uint32_t* words, uint32_t start, uint32_t* out) {
  uint32_t x[kTogether], y[kTogether];
  encipher_words(words, start, x, y);
  for (int64_t i = 0; i < kTogether; ++i) out[i] = x[i] ^ y[i];
}

TANGRAD_WIDE void encipher_wide(const uint32_t* words, uint32_t start, uint64_t* out, int64_t blocks) {
  for (int64_t block = 0; block < blocks; ++block) {
    uint32_t x[kTogether], y[kTogether];
    encipher_words(words, start + static_cast<uint32_t>(block * kTogether), x, y);
    for (int64_t i = 0; i < kTogether; ++i) out[block * kTogether + i] = static_cast<uint64_t>(x[i]) << 32 | y[i];
  }
}

TANGRAD_WIDE void encipher(const uint32_t* words, uint32_t start, uint32_t* out, int64_t blocks) {
  for (int64_t block = 0; block < blocks; ++block)
    encipher_block(words, start + static_cast<uint32_t>(block * kTogether), out + block * kTogether);
}

// -log(x) for x in (0, 1], with an error of some 1e-7: the logarithm of a number next to 1, and a power of 2.
TANGRAD_INLINE float negative_log(float x) {
  constexpr uint32_t kLeast = 0x3f3504f3;  // the root of 1/2
  const uint32_t bits = bits_as<uint32_t>(x) - kLeast;
  const float power = static_cast<float>(static_cast<int32_t>(bits) >> 23);
  const float f = bits_as<float>((bits & 0x7fffff) + kLeast) - 1;
  float sum = -0.07673641502f * f + 0.1272267279f;
  sum = (sum * f - 0.1312755565f) * f + 0.1420485595f;
  sum = (sum * f - 0.1662664563f) * f + 0.2000123446f;
  sum = (sum * f - 0.2500078124f) * f + 0.3333333003f;
  sum = sum * f - 0.4999999765f;
  return -(power * 0.693147182f + (f + (f * f) * sum));
}

// The inverse of erf for numbers in (-1, 1).
TANGRAD_INLINE void inverse_of_erf(const float* x, float* y) {
  float logs[kTogether], most = 0;
  for (int64_t i = 0; i < kTogether; ++i) logs[i] = negative_log((1 - x[i]) * (1 + x[i]));
  for (int64_t i = 0; i < kTogether; ++i) {
    const float w = logs[i] - 2.5f;
    float factor = 2.81022636e-08f * w + 3.43273939e-07f;
    factor = (factor * w - 3.5233877e-06f) * w - 4.39150654e-06f;
    factor = (factor * w + 0.00021858087f) * w - 0.00125372503f;
    factor = (factor * w - 0.00417768164f) * w + 0.246640727f;
    y[i] = (factor * w + 1.50140941f) * x[i];
  }
  for (int64_t i = 0; i < kTogether; ++i) most = logs[i] > most ? logs[i] : most;
  if (most < 5) return;
  for (int64_t i = 0; i < kTogether; ++i) {
    const float w = std::sqrt(logs[i]) - 3;
    float factor = -0.000200214257f * w + 0.000100950558f;
    factor = (factor * w + 0.00134934322f) * w - 0.00367342844f;
    factor = (factor * w + 0.00573950773f) * w - 0.0076224613f;
    factor = (factor * w + 0.00943887047f) * w + 1.00167406f;
    factor = factor * w + 2.83297682f;
    y[i] = logs[i] < 5 ? y[i] : factor * x[i];
  }
}

TANGRAD_WIDE void draw_normal(const uint32_t* words, uint32_t start, float* out, int64_t blocks) {
  constexpr float kLeast = -0x1.fffffep-1f, kRootOf2 = 1.41421356f;
  for (int64_t block = 0; block < blocks; ++block) {
    uint32_t drawn[kTogether];
    float x[kTogether], y[kTogether];
    encipher_block(words, start + static_cast<uint32_t>(block * kTogether), drawn);
    for (int64_t i = 0; i < kTogether; ++i) x[i] = (bits_as<float>((drawn[i] >> 9) | 0x3f800000) - 1) * 2 + kLeast;
    inverse_of_erf(x, y);
    for (int64_t i = 0; i < kTogether; ++i) out[block * kTogether + i] = y[i] * kRootOf2;
  }
}

// Calls fill(words, start, out, blocks) for all numbers, of which the last may be some of a block.
template <typename T, typename Fill>
int fill_all(Plan plan, Inputs in, Outputs out, const Fill& fill) {
  const uint32_t* key = static_cast<const uint32_t*>(in[0]);
  T* drawn = static_cast<T*>(out[0]);
  const uint32_t words[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDA};
  const int64_t whole = plan[0] / kTogether, rest = plan[0] % kTogether;
  in_pieces(whole, 4 * kTogether, [=](int64_t begin, int64_t end) {
    fill(words, static_cast<uint32_t>(begin * kTogether), drawn + begin * kTogether, end - begin);
  });
  T last[kTogether];
  fill(words, static_cast<uint32_t>(whole * kTogether), last, 1);
  std::copy(last, last + rest, drawn + whole * kTogether);
  return 0;
}

}  // namespace
}  // namespace tangrad

TANGRAD_KERNEL(bits) {
  using namespace tangrad;
  return plan[1] == 64 ? fill_all<uint64_t>(plan, in, out, encipher_wide) : fill_all<uint32_t>(plan, in, out, encipher);
}

TANGRAD_KERNEL(normal) { return tangrad::fill_all<float>(plan, in, out, tangrad::draw_normal); }
