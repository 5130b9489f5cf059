#pragma once
#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "pipeline/block.hpp"
#include "pipeline/loaded_pipeline.hpp"
#include "pipeline/settled.hpp"

namespace omnirt {

class StepBlock;  // pipeline/loop.hpp

// A port that an input of the request comes in by.
template <class P, class T>
concept InputOf = std::derived_from<P, Input<T>> || std::derived_from<P, OptionalInput<T>> ||
    std::derived_from<P, InOut<T>> || std::derived_from<P, Described<T>>;

// What a block's checks see of a request: what comes in by the block's own ports, what holds for
// the run as a whole, and a place for what they find. Made for one block; a port of another one
// throws InternalError, as it does in the Frame.
class Checks {
 public:
  // `loaded`: once the components' topologies and tokenizers are there. `record` makes the request
  // that makes this run again.
  Checks(Settled& settled, const Block& block, const LoadedPipeline* loaded = nullptr,
         std::function<Json()> record = {})
      : settled_(settled), block_(block), loaded_(loaded), record_(std::move(record)) {}

  // -- config
  template <class T>
  T operator[](const Config<T>& port) const {
    return settled_.config.get(own(port).key);
  }
  // Nothing while unset.
  template <class T>
  std::optional<T> maybe(const Config<T>& port) const {
    return settled_.config.maybe(own(port).key);
  }
  // The origin of the value; fallback where it is not set.
  template <class T>
  Origin origin(const Config<T>& port) const {
    const ConfigValue* value = settled_.config.find(own(port).name());
    return value ? value->origin : Origin::fallback;
  }
  // A value that follows from the model's files (Origin::model), or from others (Origin::derived).
  template <class T>
  void settle(const Config<T>& port, const std::type_identity_t<T>& value, Origin origin) {
    ensure(origin == Origin::model || origin == Origin::derived, "a check sets '{}' as {}",
           port.name(), to_string(origin));
    if constexpr (Choice<T>)
      settled_.config.set(own(port).name(), name_of(value), origin);
    else
      settled_.config.set(own(port).name(), value, origin);
  }
  // The run makes no use of the key: reported where the user set it, and not in the record.
  template <class T>
  void unused(const Config<T>& port, const std::string& why, const std::string& way_out) {
    settled_.unused(own(port).key, why, way_out);
  }

  // -- components
  // The network that the component's config describes, or the scheduler as it was settled. In
  // check_loaded a Component is what was loaded, which may be a tokenizer or an image processor.
  // Throws InvalidRequest where it is missing, refused, or not a T.
  template <class T>
  const T& operator[](const Component<T>& port) const {
    return component<T>(own(port).name(), loaded_);
  }
  template <class T>
  const T& operator[](const Described<T>& port) const {
    return component<T>(own(port).name(), nullptr);
  }
  // What a condition asks in a component's place; the component itself for "".
  template <class T>
  const T& stand_in(const Component<T>& port, const std::string& name) const {
    return component<T>(name.empty() ? own(port).name() : name, loaded_);
  }
  // Where the component's files are; null where the pipeline has no such component.
  const ComponentFolder* folder(const Port& component) const {
    return settled_.folder.find(own(component).name());
  }
  // How many components of its kind there are: controlnet, controlnet_1, ...
  size_t count_alike(const Port& component) const;

  // -- inputs of the request
  // Empty where the request has none.
  const std::vector<std::string>& texts(const InputOf<std::vector<std::string>> auto& port) const {
    return texts_of(own(port).name());
  }
  // An input by the name that the request has for it.
  struct NamedTexts {
    std::string input;
    const std::vector<std::string>& texts;
  };
  // What comes in by the port under a condition, which may put another input in its place.
  NamedTexts texts(const InputOf<std::vector<std::string>> auto& port,
                   const Condition& condition) const {
    return texts_under(own(port).name(), condition);
  }
  // What comes in by the port under any of the guider's conditions, each input once; those that the
  // request has.
  std::vector<NamedTexts> all_texts(const InputOf<std::vector<std::string>> auto& port) const {
    return texts_under_all(own(port).name());
  }
  // Null where the request has none.
  const ImageInput* image(const InputOf<io::Image> auto& port) const {
    return find(settled_.images, own(port).name());
  }
  // Empty where the request has none.
  const std::vector<ImageInput>& images(const InputOf<std::vector<io::Image>> auto& port) const {
    return images_of(own(port).name());
  }
  // Null where the request has none.
  const LatentsInput* latents(const InputOf<GivenLatents> auto& port) const {
    return find(settled_.latents, own(port).name());
  }
  // Null where the request has none.
  const EmbedsInput* embeds(const InputOf<GivenEmbeds> auto& port) const {
    return find(settled_.embeds, own(port).name());
  }

  // -- what a saved run brings in place of blocks that are not run here
  // The port's value under each condition that has one.
  template <class T>
  std::vector<const T*> restored(const Input<T>& port) const {
    return restored_as<T>(port);
  }
  template <class T>
  std::vector<const T*> restored(const InOut<T>& port) const {
    return restored_as<T>(port);
  }
  void refuse_restored(const Port& port, const std::string& why);

  // -- the run
  const std::string& task() const { return settled_.task; }
  // How many generators the request brings in place of its seed's; 0: none.
  size_t generators() const { return settled_.noise ? settled_.noise->size() : 0; }
  // The conditions that the guider asks for at any step; none where it was refused.
  std::vector<Condition> conditions() const;
  // The guider's name; "" where it was refused.
  std::string guider() const { return settled_.guider ? settled_.guider->name() : ""; }
  // A further one, with the texts that its renames name: blocks before this one are run under it.
  void add_condition(Condition condition, std::map<std::string, std::vector<std::string>> texts);
  // The blocks that run in each step of a loop, those that a loop over chunks runs included.
  std::vector<const StepBlock*> step_blocks() const;
  bool holds(const Trigger& trigger) const { return trigger(settled_.facts); }
  // What the model says of itself: model_index.json, and the class that it names.
  const Json& model_index() const { return settled_.folder.index; }
  const std::string& pipeline_class() const { return settled_.folder.class_name; }
  // The request as files of this run will embed it; null where they embed none.
  Json record() const;
  // Whether images and videos become files.
  bool writes_files() const { return settled_.writes_files; }

  // -- findings
  void error(Finding finding) { settled_.error(std::move(finding)); }
  void warn(Finding finding) { settled_.warn(std::move(finding)); }

  // The view of a block that this one runs.
  Checks within(const Block& inner) const { return {settled_, inner, loaded_, record_}; }

 private:
  template <std::derived_from<Port> P>
  const P& own(const P& port) const {
    check(port);
    return port;
  }
  void check(const Port& port) const;
  template <class T>
  std::vector<const T*> restored_as(const Port& port) const {
    std::vector<const T*> all;
    for (const std::any* value : restored_values(own(port).name()))
      all.push_back(std::any_cast<T>(value));
    return all;
  }
  template <class T>
  const T& component(const std::string& name, const LoadedPipeline* loaded) const {
    if constexpr (std::is_same_v<T, SchedulerChoice>) {
      return settled_.scheduler;
    } else if constexpr (std::is_base_of_v<text::Tokenizer, T> ||
                         std::is_base_of_v<ImageProcessor, T>) {
      ensure(loaded != nullptr, "block '{}' looks at '{}' before it is loaded", block_.name(),
             name);
      return loaded->get<T>(name);
    } else {
      return loaded ? loaded->get<T>(name) : settled_.network<T>(name);
    }
  }
  template <class T>
  static const T* find(const std::map<std::string, T>& inputs, const std::string& name) {
    auto it = inputs.find(name);
    return it == inputs.end() ? nullptr : &it->second;
  }
  const std::vector<std::string>& texts_of(const std::string& input) const;
  const std::vector<ImageInput>& images_of(const std::string& input) const;
  NamedTexts texts_under(const std::string& port, const Condition& condition) const;
  std::vector<NamedTexts> texts_under_all(const std::string& port) const;
  std::vector<const std::any*> restored_values(const std::string& port) const;

  Settled& settled_;
  const Block& block_;
  const LoadedPipeline* loaded_;
  std::function<Json()> record_;
};

}  // namespace omnirt
