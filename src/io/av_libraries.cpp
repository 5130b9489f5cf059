#include "io/av_libraries.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/error.hpp"

namespace omnirt::io {
namespace {

// Closed never: the libraries keep state of their own until the process ends.
void* opened(const char* name, int major) {
  std::string file = fmt::format("lib{}.so.{}", name, major);
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw RunFailed(fmt::format("{} cannot be loaded: {}", file, dlerror()));
  return library;
}

template <class Function>
void take(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function) throw RunFailed(fmt::format("FFmpeg's libraries have no {}", name));
}

void take_format(AvLibraries& av) {
  void* from = opened("avformat", LIBAVFORMAT_VERSION_MAJOR);
  take(from, "avformat_alloc_output_context2", av.avformat_alloc_output_context2);
  take(from, "avformat_new_stream", av.avformat_new_stream);
  take(from, "avformat_write_header", av.avformat_write_header);
  take(from, "avformat_free_context", av.avformat_free_context);
  take(from, "av_interleaved_write_frame", av.av_interleaved_write_frame);
  take(from, "av_write_trailer", av.av_write_trailer);
  take(from, "avio_alloc_context", av.avio_alloc_context);
  take(from, "avio_context_free", av.avio_context_free);
  take(from, "avio_flush", av.avio_flush);
}

void take_codec(AvLibraries& av) {
  void* from = opened("avcodec", LIBAVCODEC_VERSION_MAJOR);
  take(from, "avcodec_find_encoder", av.avcodec_find_encoder);
  take(from, "avcodec_find_encoder_by_name", av.avcodec_find_encoder_by_name);
  take(from, "avcodec_alloc_context3", av.avcodec_alloc_context3);
  take(from, "avcodec_free_context", av.avcodec_free_context);
  take(from, "avcodec_open2", av.avcodec_open2);
  take(from, "avcodec_parameters_from_context", av.avcodec_parameters_from_context);
  take(from, "avcodec_send_frame", av.avcodec_send_frame);
  take(from, "avcodec_receive_packet", av.avcodec_receive_packet);
  take(from, "av_packet_alloc", av.av_packet_alloc);
  take(from, "av_packet_free", av.av_packet_free);
  take(from, "av_packet_rescale_ts", av.av_packet_rescale_ts);
}

void take_util(AvLibraries& av) {
  void* from = opened("avutil", LIBAVUTIL_VERSION_MAJOR);
  take(from, "av_frame_alloc", av.av_frame_alloc);
  take(from, "av_frame_free", av.av_frame_free);
  take(from, "av_frame_get_buffer", av.av_frame_get_buffer);
  take(from, "av_frame_make_writable", av.av_frame_make_writable);
  take(from, "av_dict_set", av.av_dict_set);
  take(from, "av_opt_set", av.av_opt_set);
  take(from, "av_d2q", av.av_d2q);
  take(from, "av_strerror", av.av_strerror);
  take(from, "av_malloc", av.av_malloc);
  take(from, "av_freep", av.av_freep);
  take(from, "av_log_set_level", av.av_log_set_level);
}

void take_scale(AvLibraries& av) {
  void* from = opened("swscale", LIBSWSCALE_VERSION_MAJOR);
  take(from, "sws_getContext", av.sws_getContext);
  take(from, "sws_freeContext", av.sws_freeContext);
  take(from, "sws_scale", av.sws_scale);
  take(from, "sws_getCoefficients", av.sws_getCoefficients);
  take(from, "sws_setColorspaceDetails", av.sws_setColorspaceDetails);
}

struct Loaded {
  AvLibraries av{};
  std::optional<std::string> missing;

  Loaded() {
    try {
      take_format(av);
      take_codec(av);
      take_util(av);
      take_scale(av);
      av.av_log_set_level(AV_LOG_FATAL);  // what fails is reported by exceptions
    } catch (const RunFailed& error) {
      missing = fmt::format("{}; install FFmpeg's libraries (Debian: libavformat{}, libswscale{})",
                            error.what(), LIBAVFORMAT_VERSION_MAJOR, LIBSWSCALE_VERSION_MAJOR);
    }
  }
};

const Loaded& loaded() {
  static const Loaded once;
  return once;
}

}  // namespace

const AvLibraries& av_libraries() {
  if (loaded().missing)
    throw Unsupported(Finding{"format", "mp4", *loaded().missing, "write gif, webp or frames"});
  return loaded().av;
}

std::optional<std::string> av_libraries_missing() {
  return loaded().missing;
}

}  // namespace omnirt::io
