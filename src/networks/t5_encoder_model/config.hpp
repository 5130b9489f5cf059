#pragma once
#include <cstdint>
#include <string>

#include "base/config.hpp"
#include "ops/activation.hpp"

namespace omnirt {

// config.json of T5EncoderModel; defaults are those of transformers' T5Config.
struct T5Config {
  int64_t vocab_size = 32128;
  int64_t d_model = 512;
  int64_t d_kv = 64;
  int64_t d_ff = 2048;
  int64_t num_layers = 6;
  int64_t num_heads = 8;
  int64_t relative_attention_num_buckets = 32;
  int64_t relative_attention_max_distance = 128;
  double layer_norm_epsilon = 1e-6;
  std::string feed_forward_proj = "relu";  // "gated-" before the activation: a gated perceptron
  bool bias_in_each_layer = false;         // UMT5's; no field of the file

  static void visit(auto& self, auto& v) {
    v("vocab_size", self.vocab_size);
    v("d_model", self.d_model);
    v("d_kv", self.d_kv);
    v("d_ff", self.d_ff);
    v("num_layers", self.num_layers);
    v("num_heads", self.num_heads);
    v("relative_attention_num_buckets", self.relative_attention_num_buckets);
    v("relative_attention_max_distance", self.relative_attention_max_distance);
    v("layer_norm_epsilon", self.layer_norm_epsilon);
    v("feed_forward_proj", self.feed_forward_proj);
    v.only("is_decoder", {false});
    v.only("add_cross_attention", {false});
    v.only("quantization_config", {});
    // What the reference derives from feed_forward_proj whatever is written; the decoder, training,
    // the tokenizer's business, and what transformers writes into every config.
    v.ignore({"dense_act_fn",
              "is_gated_act",
              "scalable_attention",
              "num_decoder_layers",
              "scale_decoder_outputs",
              "decoder_start_token_id",
              "is_encoder_decoder",
              "dropout_rate",
              "classifier_dropout",
              "initializer_factor",
              "eos_token_id",
              "pad_token_id",
              "bos_token_id",
              "architectures",
              "model_type",
              "torch_dtype",
              "dtype",
              "transformers_version",
              "use_cache",
              "output_past",
              "n_positions",
              "gradient_checkpointing",
              "return_dict",
              "output_attentions",
              "output_hidden_states",
              "tie_word_embeddings",
              "tie_encoder_decoder",
              "chunk_size_feed_forward",
              "problem_type",
              "tokenizer_class",
              "finetuning_task",
              "id2label",
              "label2id",
              "task_specific_params"});
  }

  bool gated() const;
  ops::Activation activation() const;
};

// config.json of UMT5EncoderModel (Chung et al. 2023, arXiv 2304.09151), whose layers each say how
// far apart tokens are; defaults are those of transformers' UMT5Config.
struct UMT5Config : T5Config {
  UMT5Config() {
    vocab_size = 250112;
    d_ff = 1024;
    num_layers = 8;
    num_heads = 6;
    feed_forward_proj = "gated-gelu";
    bias_in_each_layer = true;
  }
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
T5Config read_t5_config(const Json& json, const std::string& where);
T5Config read_umt5_config(const Json& json, const std::string& where);

}  // namespace omnirt
