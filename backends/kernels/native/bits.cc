// Random words: the numbers from 0 on, enciphered by Threefry-2x32 with 20 rounds, both halves of each combined.
//
// plan: how many. The operand is the key, two words. Source of the constants: Salmon et al., Parallel random numbers: as
// easy as 1, 2, 3, SC 2011.

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

TANGRAD_CLONES void encipher(const uint32_t* words, uint32_t start, uint32_t* out, int64_t blocks) {
  for (int64_t block = 0; block < blocks; ++block, start += kTogether, out += kTogether) {
    uint32_t x[kTogether], y[kTogether];
    for (int64_t i = 0; i < kTogether; ++i) {
      x[i] = words[0];
      y[i] = words[1] + start + static_cast<uint32_t>(i);
    }
    turns<13, 15, 26, 6>(x, y, words[1], words[2] + 1);
    turns<17, 29, 16, 24>(x, y, words[2], words[0] + 2);
    turns<13, 15, 26, 6>(x, y, words[0], words[1] + 3);
    turns<17, 29, 16, 24>(x, y, words[1], words[2] + 4);
    turns<13, 15, 26, 6>(x, y, words[2], words[0] + 5);
    for (int64_t i = 0; i < kTogether; ++i) out[i] = x[i] ^ y[i];
  }
}

}  // namespace
}  // namespace tangrad

TANGRAD_KERNEL(bits) {
  using namespace tangrad;
  const uint32_t* key = static_cast<const uint32_t*>(in[0]);
  uint32_t* drawn = static_cast<uint32_t*>(out[0]);
  const uint32_t words[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDA};
  const int64_t whole = plan[0] / kTogether, rest = plan[0] % kTogether;
  in_pieces(whole, 4 * kTogether, [=](int64_t begin, int64_t end) {
    encipher(words, static_cast<uint32_t>(begin * kTogether), drawn + begin * kTogether, end - begin);
  });
  uint32_t last[kTogether];
  encipher(words, static_cast<uint32_t>(whole * kTogether), last, 1);
  std::copy(last, last + rest, drawn + whole * kTogether);
  return 0;
}
