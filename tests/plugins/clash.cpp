// Adds a block under a name that the list has already.
#include "pipeline/plugin.hpp"

using namespace omnirt;

namespace {

class Twin final : public Block {
 public:
  Twin() : Block("denoise", Stage::decode) {}
  void run(Frame&) const override {}
};

}  // namespace

extern "C" Plugin omnirt_plugin() {
  return {.name = "clash", .add = [](Catalogue& catalogue) {
            insert_after(catalogue.family("sd").blocks, "decode_latents", std::make_shared<Twin>());
          }};
}
