// Blocks that never check for cancellation: one inside one long operation, with an output begun,
// and one in the checks before a run.
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

class StuckInCheck final : public Block {
 public:
  Input<std::vector<std::string>> asked{this, "stuck_in_check", "any text"};

  StuckInCheck()
      : Block("stuck_in_check", Stage::decode, Guidance::shared, has("stuck_in_check")) {}

  void check(Checks&) const override {
    fmt::print(stderr, "checking\n");
    while (true) pause();
  }
  void run(Frame&) const override {}
};

extern "C" Plugin omnirt_plugin() {
  return {.name = "stuck", .add = [](Catalogue& catalogue) {
            BlockList& blocks = catalogue.family("sd").blocks;
            insert_after(blocks, "decode_latents", std::make_shared<Stuck>());
            insert_after(blocks, "decode_latents", std::make_shared<StuckInCheck>());
          }};
}
