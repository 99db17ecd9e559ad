#include "corpus/arpa.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>
#include <vector>

namespace textmill::corpus {
namespace {

bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// The next word of a line, empty at its end.
std::string_view next_word(std::string_view line, std::size_t& at) {
  while (at < line.size() && blank(line[at])) ++at;
  const std::size_t begin = at;
  while (at < line.size() && !blank(line[at])) ++at;
  return line.substr(begin, at - begin);
}

bool read_number(std::string_view text, double& number) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && stop == text.data() + text.size() && !std::isnan(number) &&
         number != std::numeric_limits<double>::infinity();
}

constexpr std::size_t kLongestNumber = 32;

// Writes numbers so that they are read back exactly. What was written lately is copied: most back-off weights of a model
// are one of a few hundred values, and working out the digits of one costs more than all else of its line.
class NumberWriter {
 public:
  // Returns the end.
  char* write(char* at, double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    Written& written = lately_[bits * 0x9E3779B97F4A7C15u >> (64 - kBits)];
    if (written.size == 0 || written.bits != bits) {
      written.bits = bits;
      written.size = static_cast<std::size_t>(std::to_chars(written.text, written.text + kLongestNumber, value).ptr -
                                              written.text);
    }
    std::memcpy(at, written.text, kLongestNumber);  // of a fixed size: faster than the few bytes that count
    return at + written.size;
  }

 private:
  static constexpr unsigned kBits = 10;
  struct Written {
    std::uint64_t bits = 0;
    std::size_t size = 0;  // 0: nothing yet
    char text[kLongestNumber] = {};
  };
  std::vector<Written> lately_ = std::vector<Written>(std::size_t{1} << kBits);
};

}  // namespace

NgramLines parse_ngrams(std::string_view block, std::size_t order, TermTable& words) {
  NgramLines out;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < block.size(); ++number) {
    const std::size_t end = std::min(block.find('\n', begin), block.size());
    const std::string_view line = block.substr(begin, end - begin);
    begin = end + 1;
    std::size_t at = 0;
    const std::string_view first = next_word(line, at);
    if (first.empty()) continue;
    const auto stop = [&](const auto&... parts) {
      out.fault.emplace(base::message(parts...), base::Place{number, at});
      return std::move(out);
    };
    double probability, back_off = 0.0;
    if (!read_number(first, probability)) return stop("'", first, "' is no log probability");
    if (probability > 0) return stop("a log probability above 0; ARPA files hold log10 of probabilities");
    for (std::size_t k = 0; k < order; ++k) {
      const std::string_view word = next_word(line, at);
      if (word.empty()) return stop("the line holds ", k, " words, not ", order);
      std::int32_t id = words.find(word);
      if (order == 1) {
        if (id >= 0) return stop("the word '", word, "' occurs twice");
        id = words.insert(word);
      } else if (id < 0) {
        return stop("the word '", word, "' is not among the 1-grams");
      }
      out.words.push_back(id);
    }
    if (const std::string_view rest = next_word(line, at); !rest.empty()) {
      if (!read_number(rest, back_off)) return stop("'", rest, "' is no back-off weight");
      if (!next_word(line, at).empty()) return stop("the line goes on behind its back-off weight");
    }
    out.log_probability.push_back(probability);
    out.back_off.push_back(back_off);
  }
  return out;
}

base::Bulk<char> format_ngrams(const Names& table, std::span<const std::int32_t> words,
                               std::span<const double> log_probability, std::span<const double> back_off, bool last) {
  const std::size_t lines = log_probability.size();
  const std::size_t order = lines == 0 ? 0 : words.size() / lines;
  base::Bulk<char> out(lines * (kLongestNumber + 12 * order));
  std::size_t used = 0;
  std::vector<std::string_view> names(order);
  NumberWriter probabilities, back_offs;  // apart: the many values of the one would push out the few of the other
  for (std::size_t i = 0; i < lines; ++i) {
    std::size_t room = 2 * kLongestNumber + order + 2;
    for (std::size_t k = 0; k < order; ++k) {
      const std::int32_t word = words[i * order + k];
      if (i == 0 || word != words[(i - 1) * order + k]) names[k] = table[static_cast<std::size_t>(word)];
      room += names[k].size();
    }
    if (used + room > out.size()) out.resize(2 * (used + room));
    char* at = probabilities.write(out.data() + used, log_probability[i]);
    for (std::size_t k = 0; k < order; ++k) {
      *at++ = k == 0 ? '\t' : ' ';
      at = std::copy(names[k].begin(), names[k].end(), at);
    }
    if (!last) {
      *at++ = '\t';
      at = back_offs.write(at, back_off[i]);
    }
    *at++ = '\n';
    used = static_cast<std::size_t>(at - out.data());
  }
  out.resize(used);
  return out;
}

}  // namespace textmill::corpus
