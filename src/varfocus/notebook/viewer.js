// The viewer in a notebook cell: it draws, Python (viewer.py) decodes, reconstructs and measures.

const PALETTE = {
  viridis: "#440154, #482878, #3e4989, #31688e, #26828e, #1f9e89, #35b779, #6ece58, #b5de2b, #fde725",
  gray: "#000, #fff",
};

function element(kind, attributes = {}, ...children) {
  const made = document.createElement(kind);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

function number(value) {
  return value == null ? "unknown" : Number(value.toPrecision(4)).toString();
}

// The contrast of a pixel over focus: dots as measured, line as modelled, dashes at the depth chosen.
function curve(found) {
  const ns = "http://www.w3.org/2000/svg", width = 360, height = 220;
  const box = { left: 40, right: 8, top: 8, bottom: 34 };
  const svg = document.createElementNS(ns, "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `contrast over focus of pixel ${found.x}, ${found.y}`);
  const low = Math.min(...found.focus), high = Math.max(...found.focus);
  const top = Math.max(...found.contrast, ...found.model) || 1;
  const across = (x) => box.left + ((x - low) / (high - low || 1)) * (width - box.left - box.right);
  const up = (y) => height - box.bottom - (Math.max(y, 0) / top) * (height - box.top - box.bottom);
  const draw = (kind, attributes, text) => {
    const made = document.createElementNS(ns, kind);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text != null) made.textContent = text;
    svg.append(made);
  };
  draw("line", { x1: box.left, x2: width - box.right, y1: up(0), y2: up(0), stroke: "currentColor", opacity: 0.5 });
  for (const share of [0, 0.5, 1]) {
    const x = low + share * (high - low), anchor = ["start", "middle", "end"][2 * share];
    draw("text", { x: across(x), y: height - box.bottom + 14, "text-anchor": anchor }, number(x));
    draw("text", { x: box.left - 4, y: up(share * top) + 4, "text-anchor": "end" }, Number((share * top).toPrecision(2)));
  }
  draw("text", { x: width / 2, y: height - 4, "text-anchor": "middle" }, `focus (${found.unit})`);
  draw("line", { x1: across(found.chosen), x2: across(found.chosen), y1: box.top, y2: up(0), stroke: "#b5307a", "stroke-dasharray": "5 4", "stroke-width": 1.5, class: "chosen" });
  if (found.model.length) {
    const points = found.model.map((y, k) => `${across(found.model_focus[k])},${up(y)}`).join(" ");
    draw("polyline", { points, fill: "none", stroke: "#35b779", "stroke-width": 1.8 });
  }
  found.contrast.forEach((y, k) => draw("circle", { cx: across(found.focus[k]), cy: up(y), r: 3, fill: "#31688e" }));
  return svg;
}

function render({ model, el }) {
  const about = model.get("about");
  let shown = "frame", asked = 0, size = { width: about.width, height: about.height }, address = "";

  const picture = element("img", { alt: "" });
  const cross = element("span", { class: "cross", hidden: true });
  const pane = element("div", { class: "picture", onclick: probe }, picture, cross);
  const side = element("div", { class: "curve faint" }, "Reconstruct, then click a pixel to see what its depth rests on.");
  const slider = element("input", { type: "range", min: 0, max: about.names.length - 1, value: Math.floor(about.names.length / 2), "aria-label": "frame", oninput: () => show("frame") });
  const label = element("span", {});
  const legend = element("div", {});
  const tabs = ["frame", "fused", "depth", "confidence", "uncertainty"].map((name) =>
    element("button", { type: "button", onclick: () => show(name) }, name));
  const method = element("select", { "aria-label": "method", onchange: choose },
    ...about.knobs.map((knob) => element("option", { value: knob.method }, knob.method)));
  const knobName = element("span", {});
  const knob = element("input", { type: "number", step: "any" });
  const start = element("button", { type: "button", class: "main", onclick: () => {
    const chosen = about.knobs.find((entry) => entry.method === method.value);
    const value = knob.valueAsNumber;
    const parameters = Number.isFinite(value) && value !== chosen.default ? { [chosen.name]: value } : {};
    model.send({ want: "run", method: method.value, parameters });
  } }, "Reconstruct");
  const stop = element("button", { type: "button", onclick: () => model.send({ want: "cancel" }) }, "Cancel");
  const bar = element("progress", { max: 1, value: 0 });
  const stage = element("span", { class: "faint" });
  const words = element("div", { class: "faint" });
  const error = element("div", { class: "error", role: "alert" });

  el.classList.add("varfocus");
  el.append(
    element("div", { class: "row" }, method, knobName, knob, start, stop, bar, stage),
    element("div", { class: "row" }, ...tabs),
    element("div", { class: "row" }, slider, label),
    element("div", { class: "panes" }, pane, side),
    legend, words, error,
  );

  function choose() {
    const chosen = about.knobs.find((entry) => entry.method === method.value);
    knobName.textContent = chosen.name;
    knob.title = chosen.about;
    knob.value = chosen.default;
    knob.setAttribute("aria-label", chosen.name);
  }

  function show(name) {
    shown = name;
    tabs.forEach((tab) => tab.setAttribute("aria-pressed", String(tab.textContent === name)));
    slider.parentElement.hidden = name !== "frame";
    slider.parentElement.style.display = name === "frame" ? "" : "none";
    const k = Number(slider.value);
    label.textContent = `${k}: ${about.names[k]}`;
    asked += 1;
    model.send(name === "frame" ? { want: "frame", number: k, id: asked } : { want: "map", name, id: asked });
  }

  function probe(event) {
    const box = picture.getBoundingClientRect();
    const x = Math.floor(((event.clientX - box.left) / box.width) * size.width);
    const y = Math.floor(((event.clientY - box.top) / box.height) * size.height);
    if (!model.get("state").maps.length || shown === "frame" || x < 0 || y < 0 || x >= size.width || y >= size.height) return;
    cross.hidden = false;
    cross.style.left = `${(100 * (x + 0.5)) / size.width}%`;
    cross.style.top = `${(100 * (y + 0.5)) / size.height}%`;
    model.send({ want: "curve", x, y });
  }

  function hear(message, buffers) {
    if (message.kind === "picture" && message.id === asked) {
      const content = buffers[0];
      const bytes = content instanceof DataView ? new Uint8Array(content.buffer, content.byteOffset, content.byteLength) : content;
      URL.revokeObjectURL(address);
      address = URL.createObjectURL(new Blob([bytes], { type: message.type }));
      picture.src = address;
      picture.alt = shown;
      size = { width: message.width, height: message.height };
      cross.hidden = shown === "frame" || cross.style.left === "";
      const scale = message.legend;
      legend.replaceChildren(...(scale ? [
        element("div", { class: "bar", style: `background: linear-gradient(to right, ${PALETTE[scale.colours]})` }),
        element("div", { class: "row", style: "justify-content: space-between" },
          element("span", {}, number(scale.low)), element("span", {}, `${number(scale.high)} ${scale.unit}`)),
      ] : []));
    }
    if (message.kind === "curve") {
      const { depth, confidence, uncertainty } = message.values;
      const error = uncertainty == null ? "" : ` ± ${number(uncertainty)}`;
      side.classList.remove("faint");
      side.replaceChildren(curve(message), element("div", {},
        `(${message.x}, ${message.y}): depth ${number(depth)}${error} ${message.unit}, confidence ${number(confidence)}`));
    }
  }

  let before = [];
  function update() {
    const state = model.get("state");
    start.disabled = state.busy;
    stop.hidden = bar.hidden = !state.busy;
    for (const part of [stop, bar, stage]) part.style.display = state.busy ? "" : "none";
    bar.value = state.total ? state.done / state.total : 0;
    stage.textContent = state.stage ?? "";
    tabs.forEach((tab) => { tab.disabled = tab.textContent !== "frame" && !state.maps.includes(tab.textContent); });
    error.textContent = state.error ?? "";
    if (state.words) words.textContent = [state.words, ...state.warnings.map((text) => `Note: ${text}`)].join(". ");
    if (state.words && !state.busy) show(before.length && shown !== "frame" ? shown : "depth");
    before = state.maps;
  }

  model.on("msg:custom", hear);
  model.on("change:state", update);
  choose();
  update();
  if (!model.get("state").words) show("frame");
  return () => { model.off("msg:custom", hear); model.off("change:state", update); URL.revokeObjectURL(address); };
}

export default { render };
