// Draw one y for each of COLUMNS x positions; what was drawn goes back to the kernel when the pen is lifted.
const WIDTH = 480, HEIGHT = 240, LEFT = 56, BOTTOM = 40, TOP = 12, RIGHT = 12, COLUMNS = 48;
const SVG = "http://www.w3.org/2000/svg";

function make(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

function render({ model, el }) {
  const [x0, x1] = model.get("x"), [y0, y1] = model.get("y");
  const inner = { w: WIDTH - LEFT - RIGHT, h: HEIGHT - TOP - BOTTOM };
  const toPixel = ([x, y]) => [LEFT + inner.w * (x - x0) / (x1 - x0), TOP + inner.h * (1 - (y - y0) / (y1 - y0))];
  const points = (curve) => curve.map((p) => toPixel(p).join(",")).join(" ");
  const number = (value) => Number(value.toPrecision(3)).toString();

  const svg = make("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT, role: "img",
    "aria-label": `Draw ${model.get("ylabel")} against ${model.get("xlabel")}`,
    style: "touch-action: none; cursor: crosshair; background: white; max-width: 100%; font: 12px sans-serif" });
  svg.append(make("rect", { x: LEFT, y: TOP, width: inner.w, height: inner.h, fill: "#fafafa", stroke: "#7f7f7f" }));
  for (const share of [0, 0.5, 1]) {
    const [px, py] = toPixel([x0 + share * (x1 - x0), y0 + share * (y1 - y0)]);
    svg.append(make("text", { x: px, y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" }, number(x0 + share * (x1 - x0))));
    svg.append(make("text", { x: LEFT - 6, y: py + 4, "text-anchor": "end" }, number(y0 + share * (y1 - y0))));
  }
  svg.append(make("text", { x: LEFT + inner.w / 2, y: HEIGHT - 6, "text-anchor": "middle" }, model.get("xlabel")));
  svg.append(make("text", { x: 12, y: TOP + inner.h / 2, "text-anchor": "middle",
    transform: `rotate(-90 12 ${TOP + inner.h / 2})` }, model.get("ylabel")));
  const hint = make("text", { x: LEFT + inner.w / 2, y: TOP + inner.h / 2, "text-anchor": "middle", fill: "#7f7f7f" },
    "draw your curve here");
  const drawn = make("polyline", { fill: "none", stroke: "#0072B2", "stroke-width": 2.5 });
  const measured = make("polyline", { fill: "none", stroke: "#D55E00", "stroke-width": 2.5, "stroke-dasharray": "7 4" });
  svg.append(hint, drawn, measured);
  el.append(svg);

  const columns = new Map();
  const curve = () => [...columns].sort((a, b) => a[0] - b[0])
    .map(([column, y]) => [x0 + (x1 - x0) * column / (COLUMNS - 1), y]);
  let last = null;
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  function mark(event) {
    const box = svg.getBoundingClientRect(), zoom = WIDTH / box.width;
    const px = (event.clientX - box.left) * zoom, py = (event.clientY - box.top) * zoom;
    const column = clamp(Math.round((px - LEFT) / inner.w * (COLUMNS - 1)), 0, COLUMNS - 1);
    const y = y0 + (y1 - y0) * (1 - clamp((py - TOP) / inner.h, 0, 1));
    const from = last ?? [column, y], steps = Math.max(Math.abs(column - from[0]), 1);
    for (let k = 1; k <= steps; k++)   // a fast hand skips columns: fill them in
      columns.set(Math.round(from[0] + (column - from[0]) * k / steps), from[1] + (y - from[1]) * k / steps);
    last = [column, y];
    hint.textContent = "";
    drawn.setAttribute("points", points(curve()));
  }

  svg.addEventListener("pointerdown", (event) => {
    if (model.get("measured").length) return;   // the answer is out: no more drawing
    svg.setPointerCapture(event.pointerId);
    last = null;
    mark(event);
  });
  svg.addEventListener("pointermove", (event) => { if (svg.hasPointerCapture(event.pointerId)) mark(event); });
  svg.addEventListener("pointerup", () => { model.set("drawn", curve()); model.save_changes(); });

  const restore = () => {
    if (model.get("drawn").length) hint.textContent = "";
    drawn.setAttribute("points", points(model.get("drawn")));
    measured.setAttribute("points", points(model.get("measured")));
  };
  model.on("change:measured", restore);
  restore();
}

export default { render };
