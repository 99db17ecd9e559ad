// What module.cpp calls: one function a submodule.
#pragma once

#include <nanobind/nanobind.h>

namespace textmill::bind {

void bind_base(nanobind::module_& m);
void bind_corpus(nanobind::module_& m);
void bind_corpus_counts(nanobind::module_& m);
void bind_corpus_files(nanobind::module_& m);
void bind_counted(nanobind::module_& m);
void bind_counts(nanobind::module_& m);
void bind_entities(nanobind::module_& m);
void bind_extract(nanobind::module_& m);
void bind_expected_utility(nanobind::module_& m);
void bind_fluency(nanobind::module_& m);
void bind_fst(nanobind::module_& m);
void bind_language(nanobind::module_& m);
void bind_labelpath(nanobind::module_& m);
void bind_linear(nanobind::module_& m);
void bind_letters(nanobind::module_& m);
void bind_lm(nanobind::module_& m);
void bind_lm_classes(nanobind::module_& m);
void bind_lm_kernel(nanobind::module_& m);
void bind_gibbs(nanobind::module_& m);
void bind_grammar(nanobind::module_& m);
void bind_pronunciation(nanobind::module_& m);
void bind_readability(nanobind::module_& m);
void bind_search(nanobind::module_& m);
void bind_segmentation(nanobind::module_& m);
void bind_segments(nanobind::module_& m);
void bind_sequence(nanobind::module_& m);
void bind_strings(nanobind::module_& m);
void bind_strings_joins(nanobind::module_& m);
void bind_support(nanobind::module_& m);
void bind_tasks(nanobind::module_& m);
void bind_topics(nanobind::module_& m);
void bind_transfer(nanobind::module_& m);
void bind_trees(nanobind::module_& m);
void bind_vectors(nanobind::module_& m);
void bind_voicemail(nanobind::module_& m);

}  // namespace textmill::bind
