"""Makes an image with the embedded model and writes its pixels: pixels.py <libomnirt.so> <image.ppm>"""
import ctypes
import json
import sys


class Image(ctypes.Structure):
    _fields_ = [("width", ctypes.c_uint32), ("height", ctypes.c_uint32), ("channels", ctypes.c_uint32),
                ("pixels", ctypes.POINTER(ctypes.c_uint8))]


omnirt = ctypes.CDLL(sys.argv[1])
omnirt.omnirt_last_error.restype = ctypes.c_char_p
omnirt.omnirt_result_report.restype = ctypes.c_char_p


def check(status):
    if status:
        raise RuntimeError(f"{status}: {omnirt.omnirt_last_error().decode()}")


request = {"model": "emoji", "inputs": {"prompt": "a red apple"}, "config": {"seed": 1, "num_inference_steps": 2}}
session, result, image = ctypes.c_void_p(), ctypes.c_void_p(), Image()
check(omnirt.omnirt_session_create(ctypes.byref(session)))
check(omnirt.omnirt_run(session, json.dumps(request).encode(), 1, None, None, ctypes.byref(result)))
check(omnirt.omnirt_result_image(result, ctypes.c_size_t(0), ctypes.c_size_t(0), ctypes.byref(image)))
with open(sys.argv[2], "wb") as file:
    file.write(b"P6 %d %d 255\n" % (image.width, image.height))
    file.write(ctypes.string_at(image.pixels, image.width * image.height * image.channels))
print(json.loads(omnirt.omnirt_result_report(result))["model_path"], file=sys.stderr)
omnirt.omnirt_result_destroy(result)
omnirt.omnirt_session_destroy(session)
