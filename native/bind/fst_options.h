// Names that Python gives to options, and what they stand for.
#pragma once

#include <memory>
#include <string>
#include <tuple>

#include "bind/fst.h"
#include "fst/compose.h"
#include "fst/determinize.h"
#include "fst/transform.h"

namespace textmill::bind {

// sigma, rho and phi, -1 where there is none
using SpecialLabels = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
fst::ComposeOptions compose_options(const std::string& filter, bool connect, const SpecialLabels& left,
                                    const SpecialLabels& right, bool phi_finals, bool phi_loop,
                                    const std::string& rewrite, const std::string& matcher);
fst::CallLabels call_labels(const std::string& name);
fst::Outputs outputs_of(const std::string& name);
fst::WeightMap weight_map_of(const std::string& name);
fst::ArcMap arc_map_of(const std::string& name);
std::shared_ptr<fst::GallicAlgebra> gallic_of(const AnySemiring& semiring);

}  // namespace textmill::bind
