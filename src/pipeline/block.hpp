#pragma once
#include <array>
#include <memory>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include "base/keys.hpp"
#include "pipeline/trigger.hpp"
#include "pipeline/value_codec.hpp"

namespace omnirt {

class Frame;
class Block;
class Checks;  // pipeline/checks.hpp: what a block's check sees of a request
class LoadedPipeline;
class SymbolSizes;  // pipeline/symbol_sizes.hpp
using BlockList = std::vector<std::shared_ptr<const Block>>;

enum class Stage { prepare_conditions, prepare_latents, denoise_loop, decode, export_artifacts };
const char* to_string(Stage stage);

// shared: runs once. per_condition: once for each condition that the guider asks for, its inputs
// renamed as the condition says. takes_over: runs once and sees all conditions.
enum class Guidance { shared, per_condition, takes_over };

// What a block declares of one thing that it touches.
struct PortInfo {
  enum class Kind { component, config, input, optional_input, output, inout, described };
  Kind kind;
  std::string name;
  std::type_index type;
  // Symbolic: {"B", "4", "H/8", "W/8"}; of a list how many it holds: {"B"}. Empty: has no sizes.
  std::vector<std::string> shape;
  std::string help;
  const KeyInfo* key = nullptr;  // of a config port
  // Of a component port: throws Unsupported when what is loaded under the name is of another type.
  void (*require)(const LoadedPipeline&, const std::string& name) = nullptr;
  // Of a port that passes a value on: how it crosses a cut of the list; null where the type has no
  // codec, and a run cannot be cut there.
  const PortCodec* codec = nullptr;
  // Of an input port of tensors: its block does without the tensor in some runs, and its own checks
  // say in which; a saved run may bring it undefined.
  bool may_be_undefined = false;
  // Taken over from a block that the declaring one runs (Block::adopt_list).
  bool adopted = false;

  bool reads() const {
    return kind == Kind::input || kind == Kind::optional_input || kind == Kind::inout;
  }
  bool writes() const { return kind == Kind::output || kind == Kind::inout; }

  PortInfo undefined_allowed() && {
    may_be_undefined = true;
    return std::move(*this);
  }

  // A port that passes on a T.
  template <class T>
  static PortInfo value(Kind kind, const std::string& name, const std::string& help,
                        std::vector<std::string> shape) {
    return {kind, name, typeid(T), std::move(shape), help, nullptr, nullptr, codec_of<T>()};
  }
};

// Defined with LoadedPipeline, where the types are known.
template <class T>
void require_component(const LoadedPipeline& pipeline, const std::string& name);

// Registers itself with its block as it is constructed, so that the declaration cannot differ from
// the use.
class Port {
 public:
  Port(Block* block, PortInfo info);
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  const std::string& name() const { return name_; }
  const Block* block() const { return block_; }

 private:
  std::string name_;
  const Block* block_;
};

// A value that several blocks pass on, declared once as config keys are (blocks/slots.hpp).
template <class T>
struct Slot {
  const char* name;
  const char* help;
  std::array<const char*, 5> shape{};  // symbolic, as in PortInfo
  std::vector<std::string> sizes() const {
    std::vector<std::string> all;
    for (const char* size : shape) {
      if (size) all.emplace_back(size);
    }
    return all;
  }
};

template <class T>
struct Input : Port {
  Input(Block* block, const Slot<T>& slot) : Input(block, slot.name, slot.help, slot.sizes()) {}
  Input(Block* block, const std::string& name, const std::string& help,
        std::vector<std::string> shape = {})
      : Port(block, PortInfo::value<T>(PortInfo::Kind::input, name, help, std::move(shape))) {}

 protected:
  Input(Block* block, PortInfo info) : Port(block, std::move(info)) {}
};

// Its maker may leave it undefined, where the block does without it.
struct UndefinedInput : Input<Tensor> {
  UndefinedInput(Block* block, const Slot<Tensor>& slot)
      : Input(block,
              PortInfo::value<Tensor>(PortInfo::Kind::input, slot.name, slot.help, slot.sizes())
                  .undefined_allowed()) {}
};

// Absent is a state: the frame returns a null pointer.
template <class T>
struct OptionalInput : Port {
  OptionalInput(Block* block, const Slot<T>& slot)
      : OptionalInput(block, slot.name, slot.help, slot.sizes()) {}
  OptionalInput(Block* block, const std::string& name, const std::string& help,
                std::vector<std::string> shape = {})
      : Port(block,
             PortInfo::value<T>(PortInfo::Kind::optional_input, name, help, std::move(shape))) {}
};

template <class T>
struct Output : Port {
  Output(Block* block, const Slot<T>& slot) : Output(block, slot.name, slot.help, slot.sizes()) {}
  Output(Block* block, const std::string& name, const std::string& help,
         std::vector<std::string> shape = {})
      : Port(block, PortInfo::value<T>(PortInfo::Kind::output, name, help, std::move(shape))) {}
};

// Read and replaced: latents, the noise source.
template <class T>
struct InOut : Port {
  InOut(Block* block, const Slot<T>& slot) : InOut(block, slot.name, slot.help, slot.sizes()) {}
  InOut(Block* block, const std::string& name, const std::string& help,
        std::vector<std::string> shape = {})
      : Port(block, PortInfo::value<T>(PortInfo::Kind::inout, name, help, std::move(shape))) {}
};

template <class T>
struct Component : Port {
  Component(Block* block, const std::string& name)
      : Port(block,
             {PortInfo::Kind::component, name, typeid(T), {}, "", nullptr, &require_component<T>}) {
  }
};

template <class T>
struct Config : Port {
  Config(Block* block, const Key<T>& config_key)
      : Port(
            block,
            {PortInfo::Kind::config, config_key.name, typeid(T), {}, config_key.help, &config_key}),
        key(config_key) {}
  const Key<T>& key;
};

// What a block's checks look at and its run does not touch: a component as its config describes it
// (a network without weights, a scheduler as it was settled), or an input of the request. It makes
// no plan need anything: nothing is loaded for it, and it may be absent.
template <class T>
struct Described : Port {
  Described(Block* block, const std::string& name)
      : Port(block, {PortInfo::Kind::described, name, typeid(T), {}, "looked at in checks"}) {}
};

// One step of a pipeline: its ports, its stage, its guidance mode, when it takes part, and what it
// does. Const while it runs and shared by all requests; what a run makes lives in the Frame.
class Block {
 public:
  // What it is for the code that runs a list: a block, one that takes part in each step of a loop
  // after it, a loop (pipeline/loop.hpp), a loop whose state is one Walk, or a block that only
  // loops run (pipeline/loop_part.hpp).
  enum class Kind { plain, step, loop, walk_loop, denoise_part, predict_part, chunk_part };
  Block(std::string name, Stage stage, Guidance guidance = Guidance::shared, Trigger trigger = {})
      : name_(std::move(name)), stage_(stage), guidance_(guidance), trigger_(std::move(trigger)) {}
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  virtual ~Block() = default;

  const std::string& name() const { return name_; }
  Stage stage() const { return stage_; }
  Kind kind() const { return kind_; }
  Guidance guidance() const { return guidance_; }
  const Trigger& trigger() const { return trigger_; }
  const std::vector<PortInfo>& ports() const { return ports_; }
  // What only its checks look at.
  const std::vector<PortInfo>& described() const { return described_; }

  virtual void run(Frame& frame) const = 0;
  // Looks at a request before any weight loads: adds findings, and derives values that depend on
  // the pipeline.
  virtual void check(Checks&) const {}
  // The same with the components' topologies and tokenizers loaded; still no weight has been read.
  virtual void check_loaded(Checks&) const {}
  // The sizes of the symbols in the ports' shapes in this request, where the block knows it without
  // running: values that come from a saved run are compared with them.
  virtual void tell_sizes(const Checks&, SymbolSizes&) const {}

  // The blocks that this one runs, in order: a denoise loop's parts, the denoise loop that a loop
  // over windows runs in each. Those that are in its list as well do not run there while this block
  // takes part. Edits of the list reach them (pipeline/block_list.hpp).
  virtual BlockList inner() const { return {}; }
  // A copy of this block that runs `inner` in place of its own. Throws InvalidRequest where it
  // cannot run them.
  virtual std::shared_ptr<const Block> with_inner(const BlockList& inner) const;

 protected:
  void set_kind(Kind kind) { kind_ = kind; }
  // Takes over the ports of a block that this one runs, for plans; ports that it declares itself
  // take precedence.
  void adopt_ports(const Block& inner) { adopt_all({&inner}, Made::stays, {}); }
  // Whether values that the blocks of a list make are for later blocks of the pipeline, or end with
  // the loop that runs the list.
  enum class Made { stays, is_local };
  // The same for a list, as it looks from outside: what one of its blocks makes, or this block
  // itself gives it (`given`), is no input of the list. Throws InvalidRequest where one reads a
  // value that another made with another type.
  void adopt_list(const BlockList& list, Made made, const std::vector<std::string>& given = {});

 private:
  friend class Port;
  void adopt_all(const std::vector<const Block*>& list, Made made,
                 const std::vector<std::string>& given);
  void adopt(const PortInfo& port);

  Kind kind_ = Kind::plain;
  std::string name_;
  Stage stage_;
  Guidance guidance_;
  Trigger trigger_;
  std::vector<PortInfo> ports_, described_;
};

}  // namespace omnirt
