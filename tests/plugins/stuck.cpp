// A block that is inside of one long operation, with an output begun, and never looks up.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "io/file.hpp"
#include "io/new_folder.hpp"
#include "pipeline/plugin.hpp"

using namespace omnirt;

class Stuck final : public Block {
 public:
  InOut<std::vector<io::Image>> images{this, "images", "the pictures"};
  Input<std::vector<std::string>> folder{this, "stuck_in", "the folder that it writes to"};

  Stuck() : Block("stuck", Stage::decode, Guidance::shared, has("stuck_in")) {}

  void run(Frame& frame) const override {
    const std::filesystem::path to = frame[folder].front();
    io::AtomicFile begun(to / "begun.bin");
    begun.write("half");
    io::NewFolder made("to", to / "folder");
    io::write_file(made.path() / "one", std::string_view("whole"));
    fmt::print(stderr, "inside\n");
    while (true) pause();
  }
};

extern "C" Plugin omnirt_plugin() {
  return {.name = "stuck", .add = [](Catalogue& catalogue) {
            insert_after(catalogue.family("sd").blocks, "decode_latents",
                         std::make_shared<Stuck>());
          }};
}
