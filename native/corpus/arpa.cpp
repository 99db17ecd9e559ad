#include "corpus/arpa.h"

#include <charconv>
#include <cmath>

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

void append_number(std::string& out, double value) {
  char digits[32];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

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

std::string format_ngrams(std::span<const std::int32_t> words, std::span<const double> log_probability,
                          std::span<const double> back_off, bool last, const TermTable& table) {
  std::string out;
  const std::size_t lines = log_probability.size();
  const std::size_t order = lines == 0 ? 0 : words.size() / lines;
  for (std::size_t i = 0; i < lines; ++i) {
    append_number(out, log_probability[i]);
    for (std::size_t k = 0; k < order; ++k) {
      out += k == 0 ? '\t' : ' ';
      out += table[static_cast<std::size_t>(words[i * order + k])];
    }
    if (!last) {
      out += '\t';
      append_number(out, back_off[i]);
    }
    out += '\n';
  }
  return out;
}

}  // namespace textmill::corpus
