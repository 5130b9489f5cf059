#include "python/block.hpp"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "base/nearest.hpp"
#include "pipeline/chunk_loop.hpp"
#include "python/errors.hpp"
#include "python/held.hpp"

namespace omnirt::python {
namespace {

using Ports = std::vector<std::unique_ptr<ValuePort>>;

// The frame as one block's turn shows it; of no use after it.
class BlockFrame {
 public:
  BlockFrame(Frame& frame, const Ports& ports) : frame_(&frame), ports_(&ports) {}
  void end() { frame_ = nullptr; }
  nb::object get(const std::string& name) const {
    Frame& at = frame();
    return port(name).get(at);
  }
  void set(const std::string& name, nb::handle value) const {
    Frame& at = frame();
    port(name).set(at, value);
  }
  std::string condition() const { return frame().unconditional() ? "uncond" : "cond"; }

 private:
  Frame& frame() const {
    if (!frame_) throw nb::attribute_error("the block's turn is over; keep the values instead");
    return *frame_;
  }
  const ValuePort& port(const std::string& name) const {
    auto found =
        std::ranges::find_if(*ports_, [&](const auto& each) { return each->name() == name; });
    if (found == ports_->end())
      throw nb::attribute_error(fmt::format("the block declares no port '{}'", name).c_str());
    return **found;
  }

  Frame* frame_;
  const Ports* ports_;
};

template <class Enum>
Enum named(const Json& spec, const char* key,
           const std::vector<std::pair<const char*, Enum>>& all) {
  const std::string given = spec.at(key);
  std::vector<std::string> names;
  for (const auto& [name, value] : all) {
    if (given == name) return value;
    names.emplace_back(name);
  }
  throw InvalidRequest({fmt::format("block {}.{}", spec.at("name").get<std::string>(), key), given,
                        fmt::format("there is no such {}", key), suggest(given, names)});
}

Stage stage_of(const Json& spec) {
  return named<Stage>(spec, "stage",
                      {{"prepare_conditions", Stage::prepare_conditions},
                       {"prepare_latents", Stage::prepare_latents},
                       {"denoise_loop", Stage::denoise_loop},
                       {"decode", Stage::decode},
                       {"export", Stage::export_artifacts}});
}

Guidance guidance_of(const Json& spec) {
  return named<Guidance>(
      spec, "guidance", {{"shared", Guidance::shared}, {"per_condition", Guidance::per_condition}});
}

// What Python is called with in a block's turn.
class PythonTurn {
 public:
  PythonTurn(Block* block, const Json& spec, nb::object run) : run_(held(std::move(run))) {
    for (const Json& each : spec.at("ports")) ports_.push_back(make_port(block, each));
  }

  template <class... At>
  void run(Frame& frame, At... at) const {
    Raised::guard([&] {
      // Python's own object, which may outlive the turn.
      nb::object shown = nb::cast(BlockFrame(frame, ports_));
      try {
        (*run_)(shown, at...);
      } catch (...) {
        nb::cast<BlockFrame&>(shown).end();
        throw;
      }
      nb::cast<BlockFrame&>(shown).end();
    });
  }

 private:
  std::shared_ptr<nb::object> run_;
  Ports ports_;
};

class PythonBlock final : public Block {
 public:
  PythonBlock(const Json& spec, const Trigger& trigger, nb::object run)
      : Block(spec.at("name"), stage_of(spec), guidance_of(spec), trigger),
        turn_(this, spec, std::move(run)) {}
  void run(Frame& frame) const override { turn_.run(frame); }

 private:
  PythonTurn turn_;
};

class PythonDenoisePart final : public DenoisePart {
 public:
  PythonDenoisePart(const Json& spec, const Trigger& trigger, nb::object run)
      : DenoisePart(spec.at("name"), trigger), turn_(this, spec, std::move(run)) {}
  void run(Frame& frame, const StepAt& at) const override { turn_.run(frame, at.i, at.t); }

 private:
  PythonTurn turn_;
};

class PythonChunkPart final : public ChunkPart {
 public:
  PythonChunkPart(const Json& spec, const Trigger& trigger, nb::object run)
      : ChunkPart(spec.at("name"), stage_of(spec), guidance_of(spec), trigger),
        turn_(this, spec, std::move(run)) {}
  void run(Frame& frame, const ChunkAt& at) const override { turn_.run(frame, at.k); }

 private:
  PythonTurn turn_;
};

// Keeps the key that it counts by.
class PythonChunkLoop final : public ChunkLoop {
 public:
  PythonChunkLoop(const std::string& name, std::shared_ptr<const Key<int64_t>> key,
                  const BlockList& list, const Trigger& trigger)
      : ChunkLoop(name, *key, list, trigger), key_(std::move(key)) {}
  std::shared_ptr<const Block> with_inner(const BlockList& inner) const override {
    return std::make_shared<PythonChunkLoop>(name(), key_, inner, trigger());
  }

 private:
  std::shared_ptr<const Key<int64_t>> key_;
};

BlockHandle make_block(const std::string& spec, const Trigger& trigger, nb::object run) {
  const Json read = parse_json(spec, "declaration");
  const std::string kind = read.at("kind");
  if (kind == "denoise_part")
    return {std::make_shared<const PythonDenoisePart>(read, trigger, std::move(run))};
  if (kind == "chunk_part")
    return {std::make_shared<const PythonChunkPart>(read, trigger, std::move(run))};
  return {std::make_shared<const PythonBlock>(read, trigger, std::move(run))};
}

BlockHandle make_chunk_loop(const std::string& spec, const Trigger& trigger,
                            const std::vector<BlockHandle>& blocks) {
  const Json read = parse_json(spec, "declaration");
  BlockList list;
  for (const BlockHandle& each : blocks) list.push_back(each.block);
  return {std::make_shared<const PythonChunkLoop>(
      read.at("name"), make_integer_key(read.at("count")), list, trigger)};
}

}  // namespace

void bind_blocks(nb::module_& m) {
  using namespace nb::literals;
  bind_values_of_ports(m);
  nb::class_<BlockHandle>(m, "Block").def_prop_ro("name", [](const BlockHandle& handle) {
    return handle.block->name();
  });
  nb::class_<BlockFrame>(m, "Frame")
      .def("get", &BlockFrame::get, "name"_a)
      .def("set", &BlockFrame::set, "name"_a, "value"_a.none())
      .def_prop_ro("condition", &BlockFrame::condition);
  nb::class_<Trigger>(m, "Trigger")
      .def(nb::init<>())
      .def("__and__", [](const Trigger& a, const Trigger& b) { return a && b; })
      .def("__or__", [](const Trigger& a, const Trigger& b) { return a || b; })
      .def("__invert__", [](const Trigger& a) { return !a; })
      .def("__str__", &Trigger::text);
  m.def("make_block", &make_block, "spec"_a, "trigger"_a, "run"_a);
  m.def("make_chunk_loop", &make_chunk_loop, "spec"_a, "trigger"_a, "blocks"_a);
  m.def("has", &has, "input"_a);
  m.def("has_config", &has_config, "key"_a);
  m.def("has_component", &has_component, "component"_a);
  m.def("is_task", &is_task, "task"_a);
}

}  // namespace omnirt::python
