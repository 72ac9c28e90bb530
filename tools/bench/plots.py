"""Line plots as SVG. Standard library only."""

import html
import math

_COLORS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf")
_DASHES = ("", "6 3", "2 2")
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM, _LEGEND, _GAP = 340, 300, 50, 30, 45, 190, 20


def _text(x, y, content, anchor="middle", more=""):
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"{more}>{html.escape(content)}</text>'


def _tick_step(largest):
    """A step of 1, 2 or 5 times a power of ten that gives at most 6 ticks."""
    power = 10 ** math.floor(math.log10(largest / 6))
    return next(step for step in (power, 2 * power, 5 * power, 10 * power) if largest / step <= 6)


def _panel(title, lines, colors, dashes, left, x_label):
    xs = sorted({x for _, _, points in lines for x, _ in points})
    largest = 1.05 * max(y for _, _, points in lines for _, y in points)
    step = _tick_step(largest)
    low, high = math.log(xs[0]), math.log(xs[-1])
    at_x = lambda x: left + _LEFT + 10 + (_WIDTH - _LEFT - 20) * (0.5 if low == high else (math.log(x) - low) / (high - low))
    at_y = lambda y: _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * y / largest
    out = [_text(left + (_WIDTH + _LEFT) / 2, 18, title, more=' font-weight="bold"')]
    for i in range(int(largest / step) + 1):
        y = at_y(i * step)
        out.append(f'<line x1="{left + _LEFT}" y1="{y:.1f}" x2="{left + _WIDTH}" y2="{y:.1f}" stroke="#dddddd"/>')
        out.append(_text(left + _LEFT - 6, y + 4, f"{i * step:g}", "end"))
    for x in xs:
        out.append(_text(at_x(x), _HEIGHT - _BOTTOM + 16, f"{x:g}"))
    out.append(_text(left + (_WIDTH + _LEFT) / 2, _HEIGHT - 10, x_label))
    for name, style, points in lines:
        path = " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y in sorted(points))
        dash = f' stroke-dasharray="{dashes[style]}"' if dashes[style] else ""
        out.append(f'<polyline points="{path}" fill="none" stroke="{colors[name]}" stroke-width="2"{dash}/>')
        out += [f'<circle cx="{at_x(x):.1f}" cy="{at_y(y):.1f}" r="2.5" fill="{colors[name]}"/>' for x, y in points]
    return out


def line_plots(panels, x_label):
    """An SVG image of panels [(title, [(name, style, [(x, y)])])] with a common legend: a color per name, a dash pattern per style. The
    x axis is logarithmic, the y axis begins at zero."""
    all_lines = [line for _, lines in panels for line in lines]
    names = list(dict.fromkeys(name for name, _, _ in all_lines))
    styles = list(dict.fromkeys(style for _, style, _ in all_lines))
    colors = {name: _COLORS[i % len(_COLORS)] for i, name in enumerate(names)}
    dashes = {style: _DASHES[i % len(_DASHES)] for i, style in enumerate(styles)}
    width = len(panels) * (_WIDTH + _GAP) + _LEGEND
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {_HEIGHT}" width="{width}" height="{_HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{_HEIGHT}" fill="white"/>',
    ]
    for i, (title, lines) in enumerate(panels):
        out += _panel(title, lines, colors, dashes, i * (_WIDTH + _GAP), x_label)
    left, y = len(panels) * (_WIDTH + _GAP), _TOP
    for label, color, dash in [(name, colors[name], "") for name in names] + [(style, "#000000", dashes[style]) for style in styles]:
        pattern = f' stroke-dasharray="{dash}"' if dash else ""
        out.append(f'<line x1="{left}" y1="{y}" x2="{left + 30}" y2="{y}" stroke="{color}" stroke-width="2"{pattern}/>')
        out.append(_text(left + 36, y + 4, label, "start"))
        y += 20
    return "\n".join(out + ["</svg>"]) + "\n"
