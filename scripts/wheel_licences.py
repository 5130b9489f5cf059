#!/usr/bin/env python3
"""Adds to a repaired wheel the licences of the libraries that auditwheel copied into it.

  scripts/wheel_licences.py build/wheels/omnirt-*.whl

Each library in <name>.libs/ comes from a Debian package, whose copyright file goes to <dist-info>/licenses/<package>/, with the
texts of /usr/share/common-licenses that it refers to. <dist-info>/licenses/NOTICE lists the libraries with package and version;
the project's LICENSE lies next to it. A library without a package or a copyright file ends the script with 1.
"""

import base64
import hashlib
import pathlib
import re
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
COMMON = pathlib.Path("/usr/share/common-licenses")


def library_paths():
    """{soname: path} of the libraries that the loader finds on this machine."""
    listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    found = {}
    for name, path in re.findall(r"^\s*(\S+) \(.*\) => (\S+)$", listed, re.M):
        found.setdefault(name, path)
    return found


def package_of(library, paths):
    """(package, version) of a library by the name that auditwheel gave it: libz-1a2b3c4d.so.1."""
    soname = re.sub(r"-[0-9a-f]{8}(?=\.so)", "", library)
    # auditwheel names a library by its file, which may say more of its version than its soname.
    candidates = [path for name, path in paths.items() if name == soname or pathlib.Path(path).resolve().name == soname]
    if not candidates:
        sys.exit(f"wheel_licences: {library}: no library {soname} on this machine")
    real = pathlib.Path(candidates[0]).resolve()
    for path in (real, pathlib.Path("/usr") / real.relative_to("/"), candidates[0]):
        told = subprocess.run(["dpkg", "-S", str(path)], capture_output=True, text=True).stdout
        if told:
            package = told.split(":")[0]
            version = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], capture_output=True, text=True, check=True)
            return package, version.stdout
    sys.exit(f"wheel_licences: {library}: {real} belongs to no package")


def added_files(names, dist_info):
    """{path in the wheel: bytes}."""
    libraries = sorted(pathlib.PurePosixPath(name).name for name in names if re.search(r"\.libs/[^/]+\.so", name))
    paths = library_paths()
    folder = f"{dist_info}/licenses"
    added = {f"{folder}/LICENSE": (ROOT / "LICENSE").read_bytes()}
    notice = ["This wheel contains these libraries, each under its own licence:", ""]
    for library in libraries:
        package, version = package_of(library, paths)
        copyright = pathlib.Path("/usr/share/doc") / package / "copyright"
        if not copyright.exists():
            sys.exit(f"wheel_licences: {library}: {copyright} is missing")
        text = copyright.read_bytes()
        added[f"{folder}/{package}/copyright"] = text
        for name in set(re.findall(rb"/usr/share/common-licenses/([A-Za-z0-9.+-]*[A-Za-z0-9])", text)):
            common = COMMON / name.decode()
            if common.exists():
                added[f"{folder}/common-licenses/{common.name}"] = common.read_bytes()
        notice.append(f"{library}: {package} {version}, licenses/{package}/copyright")
    added[f"{folder}/NOTICE"] = ("\n".join(notice) + "\n").encode()
    print(f"wheel_licences: {len(libraries)} libraries, {len(added)} texts")
    return added


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}"


def main():
    wheel = pathlib.Path(sys.argv[1])
    made = wheel.with_suffix(".made")
    with zipfile.ZipFile(wheel) as before, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as after:
        record = next(name for name in before.namelist() if name.endswith(".dist-info/RECORD"))
        added = added_files(before.namelist(), record.rsplit("/", 1)[0])
        for entry in before.infolist():
            if entry.filename != record and entry.filename not in added:
                after.writestr(entry, before.read(entry), entry.compress_type)
        lines = [line for line in before.read(record).decode().splitlines() if line.split(",")[0] not in added]
        for name, data in added.items():
            after.writestr(name, data)
            lines.append(record_line(name, data))
        after.writestr(record, "\n".join(lines) + "\n")
    made.rename(wheel)


if __name__ == "__main__":
    main()
