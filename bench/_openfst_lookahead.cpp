// OpenFst's side of bench/lookahead.py: look-ahead composition, and best paths of lazy compositions.
//
//   compose A.fst B.fst     milliseconds of processor time, states, arcs
//   prepare A.fst B.fst     the same with what look-ahead needs beforehand: intervals, relabeling, sorting
//   search A.fst B.fst      milliseconds, states that were written out, weight of the best path
#include <fst/fstlib.h>
#include <fst/matcher-fst.h>

#include <cstdio>
#include <ctime>
#include <memory>
#include <string>

using fst::StdArc;

// Lets us count the states whose arcs are in the cache.
class Counted : public fst::ComposeFst<StdArc> {
 public:
  using ComposeFst<StdArc>::ComposeFst;
  size_t Expanded() const {
    auto* impl = GetMutableImpl();
    size_t count = 0;
    for (int s = 0; s < impl->NumKnownStates(); ++s) count += impl->HasArcs(s);
    return count;
  }
};

double milliseconds() { return 1000.0 * std::clock() / CLOCKS_PER_SEC; }

int main(int argc, char** argv) {
  if (argc != 4) return 1;
  const std::string job = argv[1];
  std::unique_ptr<fst::StdVectorFst> a(fst::StdVectorFst::Read(argv[2])), b(fst::StdVectorFst::Read(argv[3]));
  if (!a || !b) return 1;
  double begin = milliseconds();
  const fst::StdOLabelLookAheadFst ahead(*a);
  fst::LabelLookAheadRelabeler<StdArc>::Relabel(b.get(), ahead, true);
  fst::ArcSort(b.get(), fst::ILabelCompare<StdArc>());
  if (job != "prepare") begin = milliseconds();
  if (job == "search") {
    const fst::CacheOptions keep(false, size_t{1} << 34);
    const Counted lazy(ahead, *b, keep);
    fst::StdVectorFst path;
    std::vector<StdArc::Weight> distance;
    using Queue = fst::NaturalShortestFirstQueue<StdArc::StateId, StdArc::Weight>;
    Queue queue(distance);
    fst::ShortestPathOptions<StdArc, Queue, fst::AnyArcFilter<StdArc>> options(&queue, fst::AnyArcFilter<StdArc>(), 1,
                                                                              false, false, fst::kDelta, true);
    fst::ShortestPath(lazy, &path, &distance, options);
    const double end = milliseconds();
    double weight = 0.0;
    for (int s = path.Start(); s >= 0;) {
      fst::ArcIterator<fst::StdVectorFst> arcs(path, s);
      if (arcs.Done()) {
        weight += path.Final(s).Value();
        break;
      }
      weight += arcs.Value().weight.Value();
      s = arcs.Value().nextstate;
    }
    std::printf("%.6f %zu %.6f\n", end - begin, lazy.Expanded(), weight);
    return 0;
  }
  fst::CacheOptions nothing(true, 0);  // as OpenFst's Compose does: nothing is kept that was copied
  const fst::StdVectorFst made(fst::ComposeFst<StdArc>(ahead, *b, nothing));
  const double end = milliseconds();
  size_t arcs = 0;
  for (int s = 0; s < made.NumStates(); ++s) arcs += made.NumArcs(s);
  std::printf("%.6f %d %zu\n", end - begin, made.NumStates(), arcs);
  return 0;
}
