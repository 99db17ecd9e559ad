#include <cmath>

#include "bind/arrays.h"
#include "bind/bindings.h"
#include "bind/trees.h"
#include "tasks/pronunciation.h"

namespace textmill::bind {
namespace {

using Ids = In<std::int32_t, 1>;
using Offsets = In<std::int64_t, 1>;
using Table = In<double, 2>;

// Words over a tree: attributes of the window and of the word are those of the tree, letters are values of them.
tasks::LetterWords checked_words(const Offsets& offsets, const Ids& letters, const In<std::int32_t, 2>& extra) {
  check_offsets(view(offsets), letters.size(), "words");
  require(letters.size() < (std::size_t{1} << 40), "there are too many letters; pass fewer words at once");
  require(extra.shape(0) == offsets.size() - 1, "there must be further attributes for each word");
  return {view(offsets), view(letters), extra.shape(1), view(extra)};
}

tasks::LetterWindow checked_window(const BoundTree& tree, const tasks::LetterWords& words, std::size_t size,
                                   std::int32_t boundary, std::int32_t empty) {
  require(size <= 64, "windows reach 64 letters at most");
  require(tree.numeric == 0 && tree.values.size() == 2 * size + 1 + words.extras, "the tree must have ",
          2 * size + 1 + words.extras, " attributes with values, has ", tree.values.size());
  return {size, boundary, empty};
}

nb::bytes sound_words(const BoundTree& tree, Offsets offsets, Ids letters, In<std::int32_t, 2> extra, std::size_t size,
                      std::int32_t boundary, std::int32_t empty, Offsets text_offsets, In<std::uint8_t, 1> text,
                      std::size_t classes, std::size_t threads) {
  const tasks::LetterWords words = checked_words(offsets, letters, extra);
  const tasks::LetterWindow window = checked_window(tree, words, size, boundary, empty);
  check_offsets(view(text_offsets), text.size(), "texts of classes");
  require(text_offsets.size() == classes + 1, "there must be a text for each class");
  for (std::size_t node = 0; node < tree.walker.nodes(); ++node)
    require(static_cast<std::size_t>(tree.walker.label(static_cast<std::int32_t>(node))) < classes,
            "the tree has a class without a text");
  std::string lines;
  {
    nb::gil_scoped_release nogil;
    const std::span<const char> bytes(reinterpret_cast<const char*>(text.data()), text.size());
    lines = tasks::sound_words(tree.walker, words, window, {view(text_offsets), bytes}, threads);
  }
  return nb::bytes(lines.data(), lines.size());
}

void position_nodes(const BoundTree& tree, Offsets offsets, Ids letters, In<std::int32_t, 2> extra, std::size_t size,
                    std::int32_t boundary, std::int32_t empty, Out<std::int32_t, 1> nodes, std::size_t threads) {
  const tasks::LetterWords words = checked_words(offsets, letters, extra);
  const tasks::LetterWindow window = checked_window(tree, words, size, boundary, empty);
  require(nodes.size() == 2 * letters.size() + words.words(), "there must be a place for each position");
  nb::gil_scoped_release nogil;
  tasks::position_nodes(tree.walker, words, window, view(nodes), threads);
}

nb::tuple best_sounds(const BoundTree& tree, Offsets offsets, Ids letters, In<std::int32_t, 2> extra, std::size_t size,
                      std::int32_t boundary, std::int32_t empty, Table log_probabilities, std::int32_t empty_class,
                      std::size_t k, std::size_t beam, std::size_t threads) {
  const tasks::LetterWords words = checked_words(offsets, letters, extra);
  const tasks::LetterWindow window = checked_window(tree, words, size, boundary, empty);
  require(log_probabilities.shape(0) == tree.walker.nodes() && log_probabilities.shape(1) > 0,
          "there must be probabilities for each node");
  require(k >= 1 && beam >= k, "k must be 1 at least and beam k at least");
  tasks::BestSounds best;
  {
    nb::gil_scoped_release nogil;
    best = tasks::best_sounds(tree.walker, words, window, view(log_probabilities), log_probabilities.shape(1),
                              empty_class, k, beam, threads);
  }
  return nb::make_tuple(to_numpy(std::move(best.offsets)), to_numpy(std::move(best.probabilities)),
                        to_numpy(std::move(best.class_begin)), to_numpy(std::move(best.classes)));
}

tasks::SoundStrings checked_sounds(const Offsets& offsets, const Ids& sounds, std::size_t words, std::size_t classes) {
  check_offsets(view(offsets), sounds.size(), "pronunciations");
  require(offsets.size() == words + 1, "there must be a pronunciation for each word");
  bool inside = true;
  for (const std::int32_t sound : view(sounds)) inside &= sound >= 0 && static_cast<std::size_t>(sound) < classes;
  require(inside, "sounds must lie below ", classes);
  return {view(offsets), view(sounds)};
}

nb::object align_nodes(Offsets offsets, Offsets sound_offsets, Ids sounds, Ids nodes, Table log_probabilities,
                       std::int32_t empty_class, Out<std::int32_t, 1> targets, std::size_t threads) {
  require(offsets.size() > 0, "offsets of words must begin with 0");
  check_offsets(view(offsets), static_cast<std::size_t>(offsets(offsets.size() - 1)), "words");
  const std::size_t count = offsets.size() - 1, classes = log_probabilities.shape(1);
  const std::size_t positions = 2 * static_cast<std::size_t>(offsets(count)) + count;
  const tasks::SoundStrings strings = checked_sounds(sound_offsets, sounds, count, classes);
  require(nodes.size() == positions && targets.size() == positions, "there must be a node for each position");
  require(empty_class >= 0 && static_cast<std::size_t>(empty_class) < classes, "the empty class must be a class");
  bool inside = true;
  for (const std::int32_t node : view(nodes))
    inside &= node >= 0 && static_cast<std::size_t>(node) < log_probabilities.shape(0);
  require(inside, "nodes must lie below ", log_probabilities.shape(0));
  std::vector<double> scores;
  {
    nb::gil_scoped_release nogil;
    scores = tasks::align_nodes({view(offsets), {}, 0, {}}, strings, view(nodes), view(log_probabilities), classes,
                                empty_class, view(targets), threads);
  }
  return nb::cast(to_numpy(std::move(scores)));
}

nb::object align_links(Offsets offsets, Ids letters, Offsets sound_offsets, Ids sounds, In<std::int32_t, 2> link,
                       std::int32_t empty_class, Table bigram, In<std::uint64_t, 1> trigram_keys, In<double, 1> trigram,
                       In<std::uint64_t, 1> backoff_keys, In<double, 1> backoff, bool second_order,
                       Out<std::int32_t, 1> targets, std::size_t threads) {
  check_offsets(view(offsets), letters.size(), "words");
  const std::size_t count = offsets.size() - 1, classes = link.shape(1);
  const tasks::SoundStrings strings = checked_sounds(sound_offsets, sounds, count, classes);
  require(targets.size() == 2 * letters.size() + count, "there must be a place for each position");
  require(bigram.shape(0) == bigram.shape(1) && bigram.shape(0) > 0, "bigram must be square");
  require(link.shape(0) > 0 && empty_class >= 0 && static_cast<std::size_t>(empty_class) < classes,
          "the empty class must be a class");
  const std::size_t links = bigram.shape(0) - 1;
  bool inside = true;
  for (const std::int32_t one : view(link)) inside &= one >= -1 && one < static_cast<std::int64_t>(links);
  require(inside, "links must lie below ", links);
  for (const std::int32_t letter : view(letters)) inside &= letter < static_cast<std::int64_t>(link.shape(0) - 1);
  require(inside, "letters must lie below ", link.shape(0) - 1);
  require(trigram_keys.size() == trigram.size() && backoff_keys.size() == backoff.size(), "a value for each key");
  std::vector<double> scores;
  {
    nb::gil_scoped_release nogil;
    tasks::LinkModel model{links, classes, view(link), view(bigram), {}, {}, second_order};
    for (std::size_t i = 0; i < trigram.size(); ++i) model.trigram.add(trigram_keys.data()[i], trigram.data()[i]);
    for (std::size_t i = 0; i < backoff.size(); ++i) model.backoff.add(backoff_keys.data()[i], backoff.data()[i]);
    scores =
        tasks::align_links({view(offsets), view(letters), 0, {}}, strings, model, empty_class, view(targets), threads);
  }
  return nb::cast(to_numpy(std::move(scores)));
}

}  // namespace

void bind_pronunciation(nb::module_& m) {
  m.def("sound_words", &sound_words, "tree"_a, "offsets"_a, "letters"_a, "extra"_a, "size"_a, "boundary"_a, "empty"_a,
        "text_offsets"_a, "text"_a, "classes"_a, "threads"_a, "The sounds of each word, a line each, as bytes.");
  m.def("position_nodes", &position_nodes, "tree"_a, "offsets"_a, "letters"_a, "extra"_a, "size"_a, "boundary"_a,
        "empty"_a, "nodes"_a.noconvert(), "threads"_a, "The node where the walk of each position ends.");
  m.def("best_sounds", &best_sounds, "tree"_a, "offsets"_a, "letters"_a, "extra"_a, "size"_a, "boundary"_a, "empty"_a,
        "log_probabilities"_a, "empty_class"_a, "k"_a, "beam"_a, "threads"_a,
        "The k most probable outputs of each word: offsets, probabilities, offsets of classes, classes.");
  m.def("align_nodes", &align_nodes, "offsets"_a, "sound_offsets"_a, "sounds"_a, "nodes"_a, "log_probabilities"_a,
        "empty_class"_a, "targets"_a.noconvert(), "threads"_a, "Best alignments by the probabilities at nodes.");
  m.def("align_links", &align_links, "offsets"_a, "letters"_a, "sound_offsets"_a, "sounds"_a, "link"_a, "empty_class"_a,
        "bigram"_a, "trigram_keys"_a, "trigram"_a, "backoff_keys"_a, "backoff"_a, "second_order"_a,
        "targets"_a.noconvert(), "threads"_a, "Best alignments by an n-gram model of links.");
}

}  // namespace textmill::bind
