// Counting more distinct terms than memory holds: sorted runs on disk, merged exactly.
//
// When a TermTable has grown too large its terms are written as a run, sorted by bytes, and the table starts anew. In the end
// the runs are merged: frequencies of equal terms add, and the smallest `first` (the position of a term's first appearance among
// all terms of all runs) survives, so that ids by appearance come out as if everything had been counted in memory.
//
// A run has one section a hash partition, so that partitions merge in parallel, each reading its section of every run
// through a small buffer. Memory: one buffer a run and thread, and the result. Cost: two passes over the distinct terms of each run.
//
// File of a run:   int64 begin[16 + 1] (byte positions of the sections), then records
// Record:          int64 length, df, cf, first; then the bytes of the term
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "corpus/counting.h"

namespace textmill::corpus {

// Writes the terms of a table to a new file; term with id i gets first = base + i.
void write_run(const TermTable& table, std::int64_t base, const std::string& path, std::size_t threads);

// Which merged terms stay. They are asked in this order, and each removal is tallied by the first that objects.
struct TermRules {
  const TermTable* stop_words = nullptr;
  bool any_word = false;   // terms are n-grams: one goes if any of its words is a stop word
  double most_documents;   // df > this goes
  double least_documents;  // df < this goes
  std::int64_t least_occurrences;
};

struct MergedTerms {
  TermTable::Export terms;          // in no particular order
  std::vector<std::int64_t> first;  // by term
  struct Removed {
    std::int64_t types = 0, tokens = 0;
  };
  std::array<Removed, 4> removed;         // by rule: stop words, most documents, least documents, least occurrences
  std::int64_t tokens = 0, nonzeros = 0;  // of all terms, removed ones included
  std::int64_t words = 0;                 // tokens without those of n-grams of several words
};

MergedTerms merge_runs(const std::vector<std::string>& paths, const TermRules& rules, std::size_t threads);

}  // namespace textmill::corpus
