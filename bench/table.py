"""A bench's results as Markdown, and into the marked places of docs/performance.md."""

import re
import shutil

import aims
import contestants
import summary

def seconds(value):
    if value is None:
        return ""
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def pair(low, middle):
    return "" if low is None else f"{seconds(low)} ({seconds(middle)})"


def times(row, reference):
    return f"{reference.step_min / row.step_min:.2f}x" if reference else ""


def cells(row, reference):
    decibels = "" if row.psnr_db is None else f"{row.psnr_db:.1f}"
    return [
        contestants.BY_NAME[row.peer].title,
        pair(row.step_min, row.step_median),
        times(row, reference),
        pair(row.decode_min, row.decode_median),
        seconds(row.text_min),
        seconds(row.first_min),
        ("" if row.whole_measured else "≈ ") + seconds(row.whole),
        f"{row.peak_mb / 1024:.2f}",
        decibels,
    ]


HEADS = (
    "",
    "step, s: min (median)",
    "against diffusers",
    "decode, s: min (median)",
    "text, s",
    "first step at, s",
    "20 steps, s",
    "peak RSS, GB",
    "PSNR, dB",
)


def lined(cells):
    return "| " + " | ".join(cells) + " |"


def section(model, size, rows):
    name = "Stable Diffusion 1.5's size" if model == "sd15" else "The embedded Stable Diffusion, `emoji-sd`"
    reference = rows.get(contestants.REFERENCE)
    lines = [f"### {name}, {size}x{size}", "", lined(HEADS), lined(["---"] * len(HEADS))]
    lines += [lined(cells(row, reference)) for row in rows.values()]
    return "\n".join(lines)


def footnotes(sections):
    found = {}
    for rows in sections.values():
        for row in rows.values():
            for note in row.notes:
                found.setdefault(f"{contestants.BY_NAME[row.peer].title}: {note}.", None)
    return list(found)


def tables(results):
    sections = summary.sections(results)
    parts = [section(*key, rows) for key, rows in sections.items()]
    if any(not row.whole_measured for rows in sections.values() for row in rows.values()):
        parts.append("≈: estimated from the time to the first step, 20 median steps and a decode.")
    if notes := footnotes(sections):
        parts.append("\n".join(f"- {note}" for note in notes))
    if results["left_out"]:
        parts.append(left_out(results))
    return "\n\n".join(parts)


def last_line(reason):
    """Of a traceback the line that matters; the whole of it is in the results."""
    return reason.splitlines()[-1][:200] if reason else "no reason was told"


def left_out(results):
    reasons = {}
    for entry in results["left_out"]:
        title = contestants.BY_NAME[entry["peer"]].title
        where = f"{entry['model']} {entry['size']}"
        reasons.setdefault(f"{title}, {where}: {last_line(entry['reason'])}", None)
    return "Left out:\n" + "\n".join(f"- {reason}" for reason in reasons)


def rates(results):
    lines = []
    for when, measured in zip(("before", "after"), results["rates"]):
        if "sgemm_gflops" in measured:
            product, moved = measured["sgemm_gflops"], measured["copy_gb_s"]
            lines.append(
                f"{when} the rounds sgemm {product:.0f} GFLOP/s, copy {moved:.1f} GB/s "
                f"read and written (load {measured['load_before']:.1f})"
            )
    return "; ".join(lines)


def machine(results):
    facts = results["machine"]
    found = sorted(results["versions"].items())
    libraries = ", ".join(f"{name} {value}" for name, value in found if value)
    lines = [
        f"{facts['processor']}, {facts['cores']} cores ({', '.join(facts['simd'])}), "
        f"{facts['memory_gb']} GB; {facts['system']}.",
        f"Measured {results['started']}: {rates(results)}.",
        f"{libraries}.",
    ]
    return "\n".join(f"- {line}" for line in lines)


def aim_table(results):
    lines = [lined(["", "aim", "measured"]), lined(["---"] * 3)]
    for what, limit, kind, value in aims.all_aims(summary.sections(results)):
        shown = "not measured" if value is None else f"{value:.2f}"
        reached = value is not None and (value >= limit if kind == "at least" else value <= limit)
        mark = "" if value is None or reached else " (missed)"
        lines.append(lined([what, f"{kind} {limit:g}", shown + mark]))
    return "\n".join(lines)


def variants(results, prefixes):
    """Speed against image quality of some of omnirt's own settings, on every model that they ran on."""
    heads = ("", "model", "step, s", "times faster", "peak RSS, GB", "PSNR, dB")
    lines = [lined(heads), lined(["---"] * len(heads))]
    for (model, size), rows in summary.sections(results).items():
        plain = rows.get("omnirt-compile")
        for row in rows.values():
            if plain and (row is plain or row.peer.startswith(prefixes)):
                lines.append(lined(variant(row, plain, f"{model}, {size}x{size}")))
    return "\n".join(lines) if len(lines) > 2 else "Not part of this measurement."


def variant(row, plain, where):
    return [
        contestants.BY_NAME[row.peer].title,
        where,
        seconds(row.loop_step()),
        f"{plain.loop_step() / row.loop_step():.2f}",
        f"{row.peak_mb / 1024:.2f}",
        "" if row.psnr_db is None else f"{row.psnr_db:.1f}",
    ]


def parts(results):
    """{the marker's name: what is between its pair}"""
    return {
        "machine": machine(results),
        "table": tables(results),
        "aims": aim_table(results),
        "quantisation": variants(results, ("omnirt-int8", "omnirt-bf16")),
        "cache": variants(results, ("omnirt-cache",)),
    }


def markdown(results):
    return "\n\n".join(f"## {name}\n\n{text}" for name, text in parts(results).items())


def replaced(text, name, inner):
    """The text between a pair of markers, made again; a page without the pair is left as it is."""
    first, last = f"<!-- bench:{name} -->", f"<!-- /bench:{name} -->"
    pattern = re.compile(f"{re.escape(first)}.*?{re.escape(last)}", re.DOTALL)
    return pattern.sub(lambda _: f"{first}\n{inner}\n{last}", text, count=1)


def write_docs(results, page, plot):
    text = page.read_text()
    for name, inner in parts(results).items():
        text = replaced(text, name, inner)
    page.write_text(text)
    if plot.is_file():
        shutil.copyfile(plot, page.with_suffix(".svg"))
