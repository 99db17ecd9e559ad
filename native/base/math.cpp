#include "base/math.h"

namespace textmill::base {

void exp(std::span<const double> in, std::span<double> out) {
  with_packs([=]<class P>() TEXTMILL_INLINED { map<P>(in, out, [](P x) TEXTMILL_INLINED { return exp(x); }); });
}

void log(std::span<const double> in, std::span<double> out) {
  with_packs([=]<class P>() TEXTMILL_INLINED { map<P>(in, out, [](P x) TEXTMILL_INLINED { return log(x); }); });
}

void log1p(std::span<const double> in, std::span<double> out) {
  with_packs([=]<class P>() TEXTMILL_INLINED { map<P>(in, out, [](P x) TEXTMILL_INLINED { return log1p(x); }); });
}

void digamma(std::span<const double> in, std::span<double> out) {
  with_packs([=]<class P>() TEXTMILL_INLINED { map<P>(in, out, [](P x) TEXTMILL_INLINED { return digamma(x); }); });
}

double logsumexp(std::span<const double> values) {
  return with_packs([=]<class P>() TEXTMILL_INLINED { return logsumexp<P>(values); });
}

}  // namespace textmill::base
