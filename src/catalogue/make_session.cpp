#include "catalogue/make_session.hpp"

#include "catalogue/catalogue.hpp"
#include "engine/engine.hpp"

namespace omnirt {

std::unique_ptr<Session> make_session() {
  return std::make_unique<Session>(std::make_unique<Engine>(builtin_catalogue()));
}

}  // namespace omnirt
