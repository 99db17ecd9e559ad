// Candidates of several models for the same words, put together.
//
//   candidates of word w = the first `most` outputs of each model that an acceptor allows, each once, in order of models
//   score[c][m]          = ln p of candidate c by model m, where model m lists it at all, else not a number
//
// Outputs are strings of symbols that all models number alike. Cost: one comparison of hashes for each listed output and
// candidate of a word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace textmill::tasks {

struct OutputLists {                           // of one model, best first
  std::span<const std::int64_t> offsets;       // [words + 1]: outputs of a word
  std::span<const double> log_probability;     // [outputs]
  std::span<const std::int64_t> output_begin;  // [outputs + 1]
  std::span<const std::int32_t> symbols;
};

struct SymbolAcceptor {                // deterministic; state 0 is the start
  std::span<const std::int32_t> next;  // [states][symbols], -1 for none; empty: all goes
  std::span<const std::uint8_t> accept;
  std::size_t symbols;

  bool allows(std::span<const std::int32_t> output) const;
};

struct JoinedLists {
  std::vector<std::int64_t> offsets;  // [words + 1]
  std::vector<std::int64_t> output_begin;
  std::vector<std::int32_t> symbols;
  std::vector<std::int32_t> model;   // [candidates] the first that lists it
  std::vector<std::int64_t> number;  // [candidates] its number among the outputs of that model
  std::vector<double> scores;        // [candidates][models]
};

// All models have lists for the same words.
JoinedLists join_lists(std::span<const OutputLists> models, std::size_t most, const SymbolAcceptor& acceptor,
                       std::size_t threads);

}  // namespace textmill::tasks
