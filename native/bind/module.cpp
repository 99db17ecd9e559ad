// The extension module `textmill._native`: one submodule a package, each bound in a file of its own.
#include <nanobind/nanobind.h>

#include "bind/bindings.h"

NB_MODULE(_native, m) {
  m.doc() = "The compiled kernels of textmill. Private: use the Python packages around it.";
  // A semiring written in Python, its class and the module it stands in refer to each other through C++, where the
  // collector of Python does not look: they live until the process ends, which is no fault to tell the user of.
  nanobind::set_leak_warnings(false);
  nanobind::module_ base = m.def_submodule("base", "Threads, random numbers, sparse products, vectorised mathematics.");
  textmill::bind::bind_base(base);
  nanobind::module_ corpus = m.def_submodule("corpus", "Words, sentences, n-grams, and the counting of terms.");
  textmill::bind::bind_corpus(corpus);
  textmill::bind::bind_corpus_counts(corpus);
  textmill::bind::bind_corpus_files(corpus);
  nanobind::module_ extract = m.def_submodule("extract", "Observation tests of sequences.");
  textmill::bind::bind_extract(extract);
  nanobind::module_ fst = m.def_submodule("fst", "Weighted finite-state transducers over semirings.");
  textmill::bind::bind_fst(fst);
  nanobind::module_ language = m.def_submodule("language", "Languages of texts and of their parts.");
  textmill::bind::bind_language(language);
  nanobind::module_ linear =
      m.def_submodule("linear", "Logistic regression: losses, coordinate descent, streams, combinations.");
  textmill::bind::bind_linear(linear);
  textmill::bind::bind_counts(linear);
  textmill::bind::bind_support(linear);
  nanobind::module_ lm = m.def_submodule("lm", "N-gram models, word classes, discriminative models.");
  textmill::bind::bind_lm(lm);
  textmill::bind::bind_lm_classes(lm);
  textmill::bind::bind_lm_kernel(lm);
  nanobind::module_ segments =
      m.def_submodule("segments", "Segments of sentences: their tests, sums over segmentations.");
  textmill::bind::bind_segments(segments);
  nanobind::module_ sequence =
      m.def_submodule("sequence", "Linear chains: potentials, sums over paths, training, decoding.");
  textmill::bind::bind_sequence(sequence);
  textmill::bind::bind_counted(sequence);
  textmill::bind::bind_expected_utility(sequence);
  nanobind::module_ entities = m.def_submodule("entities", "Candidate phrases of named entities and their features.");
  textmill::bind::bind_entities(entities);
  nanobind::module_ strings =
      m.def_submodule("strings", "Similarities of strings, alignments, and the search of names.");
  textmill::bind::bind_strings(strings);
  textmill::bind::bind_strings_joins(strings);
  nanobind::module_ tasks = m.def_submodule("tasks", "Jobs: parsing of dependencies, cutting texts by topic.");
  textmill::bind::bind_tasks(tasks);
  textmill::bind::bind_fluency(tasks);
  textmill::bind::bind_letters(tasks);
  textmill::bind::bind_segmentation(tasks);
  textmill::bind::bind_pronunciation(tasks);
  textmill::bind::bind_voicemail(tasks);
  textmill::bind::bind_readability(tasks);
  nanobind::module_ topics = m.def_submodule("topics", "Topic mixtures by EM, non-negative factors.");
  textmill::bind::bind_topics(topics);
  textmill::bind::bind_gibbs(topics);
  nanobind::module_ trees = m.def_submodule("trees", "Decision trees; grammars of treebanks; packed forests.");
  textmill::bind::bind_trees(trees);
  textmill::bind::bind_grammar(trees);
  textmill::bind::bind_transfer(trees);
  nanobind::module_ vectors = m.def_submodule("vectors", "Weights of terms, distances of rows, nearest neighbors.");
  textmill::bind::bind_vectors(vectors);
  textmill::bind::bind_search(vectors);
}
