#include "catalogue/make_session.hpp"

#include "catalogue/catalogue.hpp"
#include "engine/engine.hpp"
#include "engine/plugins.hpp"

namespace omnirt {

std::unique_ptr<Session> make_session(bool single_run,
                                      const std::vector<std::filesystem::path>& plugins) {
  Catalogue catalogue = builtin_catalogue();
  for (const std::filesystem::path& file : plugins) load_plugin(catalogue, file);
  return std::make_unique<Session>(std::make_unique<Engine>(std::move(catalogue)), single_run);
}

}  // namespace omnirt
