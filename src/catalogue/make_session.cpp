#include "catalogue/make_session.hpp"

#include "catalogue/catalogue.hpp"
#include "engine/engine.hpp"

namespace omnirt {

std::unique_ptr<Session> make_session(bool single_run) {
  return std::make_unique<Session>(std::make_unique<Engine>(builtin_catalogue()), single_run);
}

}  // namespace omnirt
