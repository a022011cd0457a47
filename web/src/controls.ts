// The left side: method, the one knob, all other parameters, progress, and what came out.

import type { Busy, Method, Parameter, ResultInfo, Values } from "./api";
import { el, short } from "./dom";

interface Scale {
  /** Slider position in 0…1 to value, and back. */
  value: (position: number) => number;
  position: (value: number) => number;
}

function logarithmic(low: number, high: number): Scale {
  const span = Math.log(high / low);
  return {
    value: (p) => Number((low * Math.exp(p * span)).toPrecision(2)),
    position: (v) => Math.min(Math.max(Math.log(Math.max(v, 1e-9) / low) / span, 0), 1),
  };
}

const KNOBS: Record<string, { title: string; low: string; high: string; scale: Scale }> = {
  smoothness: { title: "Smoothness", low: "detail", high: "smooth", scale: logarithmic(0.125, 8) },
  alpha: { title: "Weight α", low: "detail", high: "smooth", scale: logarithmic(1 / 128, 2) },
  window: {
    title: "Window",
    low: "3 px",
    high: "61 px",
    scale: {
      value: (p) => 3 + 2 * Math.round(p * 29),
      position: (v) => (v - 3) / 58,
    },
  },
};

/** Milliseconds between two words about progress: more would cost more than they are worth. */
const TOLD_EVERY = 100;

/** Milliseconds of work that go without words: a sketch is there before they could be read. */
const SILENT = 350;

const METHOD_WORDS: Record<string, string> = {
  auto: "Automatic",
  robust: "Robust",
  paper: "Variational (Moeller et al.)",
  classic: "Classic (windowed maximum)",
};

export class Controls {
  private values: Record<string, Values> = {};
  private method = "auto";
  private methods: Method[] = [];
  private form = el("div", { class: "form" });
  private run = el("button", { type: "button", class: "primary wide", id: "run" }, "Reconstruct");
  private progress = el("div", { class: "progress", id: "progress", hidden: true });
  private outcome = el("div", { class: "outcome", id: "outcome" });
  private began = 0;
  private silent = 0;
  private told = 0;
  private stage = "";
  private stageBegan = 0;

  /** Called with all parameters; not settled while a slider is moving. */
  changed: ((parameters: Values, settled: boolean, asked: boolean) => void) | null = null;
  cancelled: (() => void) | null = null;

  /** `area` says what of the frames counts. */
  constructor(host: HTMLElement, area: HTMLElement) {
    host.append(
      el("h2", {}, "Reconstruct"),
      this.form,
      area,
      el("div", { class: "row" }, this.run),
      this.progress,
      this.outcome,
    );
    this.run.addEventListener("click", () => this.changed?.(this.parameters(), true, true));
  }

  setMethods(methods: Method[]): void {
    this.methods = methods;
    this.show();
  }

  /** Everything that is not at its default, with the method. */
  parameters(): Values {
    const given = this.values[this.method] ?? {};
    const method = this.methods.find((m) => m.name === this.method);
    const chosen: Values = { method: this.method };
    for (const p of method?.parameters ?? []) {
      const value = given[p.name];
      if (value !== undefined && value !== p.default) chosen[p.name] = value;
    }
    return chosen;
  }

  save(): unknown {
    return { method: this.method, values: this.values };
  }

  restore(saved: unknown): void {
    const state = saved as { method?: string; values?: Record<string, Values> } | null;
    if (state?.method) this.method = state.method;
    if (state?.values) this.values = state.values;
    this.show();
  }

  /** Take over how a result was made. */
  adopt(parameters: Values): void {
    const method = this.methods.find((m) => m.name === parameters["method"]);
    if (!method) return;
    this.method = method.name;
    const chosen = method.parameters.filter((p) => p.name in parameters && parameters[p.name] !== p.default);
    this.values[method.name] = Object.fromEntries(chosen.map((p) => [p.name, parameters[p.name]!]));
    this.show();
  }

  enable(yes: boolean): void {
    this.run.disabled = !yes;
  }

  setBusy(busy: Busy | null): void {
    clearTimeout(this.silent);
    if (!busy) {
      this.progress.hidden = true;
      this.began = 0;
      return;
    }
    const now = performance.now();
    if (!this.began) this.began = now;
    if (now - this.began < SILENT) {
      this.silent = window.setTimeout(() => this.setBusy(busy), SILENT - (now - this.began));
      return;
    }
    const shown = !this.progress.hidden;
    this.progress.hidden = false;
    if (shown && busy.done < busy.total && now - this.told < TOLD_EVERY) return;
    this.told = now;
    if (busy.stage !== this.stage || busy.done === 0) [this.stage, this.stageBegan] = [busy.stage, now];
    const share = busy.total ? busy.done / busy.total : 0;
    const elapsed = now - this.stageBegan;
    const left = share > 0.05 && elapsed > 800 ? (elapsed / share) * (1 - share) : null;
    const words = left === null ? "" : left < 1500 ? "a moment left" : `${Math.round(left / 1000)} s left`;
    this.progress.replaceChildren(
      el("div", { class: "row spread" }, el("span", { class: "stage" }, busy.stage), el("span", { class: "muted" }, words)),
      el("progress", { max: 1, value: share, "aria-label": busy.stage }),
      el("button", { type: "button", class: "wide", id: "cancel", onclick: () => this.cancelled?.() }, "Cancel"),
    );
  }

  /** Show what came out; `part` is where it lies, if it is not all of the frames. */
  setResult(result: ResultInfo | null, part: ResultInfo["place"] | null = null): void {
    if (!result) return this.outcome.replaceChildren();
    const depth = result.maps["depth"];
    const rows: [string, string][] = [
      ["Method", (METHOD_WORDS[result.method] ?? result.method).replace(/ \(.*/, "")],
      ["Depth", depth ? `${short(depth.range[0], 3)} … ${short(depth.range[1], 3)} ${result.unit}` : ""],
      ["Sure (≥ 0.9)", `${Math.round(result.sure * 100)} % of the pixels`],
      ["Size", `${result.width} × ${result.height}${result.preview ? " (preview)" : ""}`],
      ...(part ? ([["Part", `${part[2]} × ${part[3]} at ${part[0]}, ${part[1]}`]] as [string, string][]) : []),
    ];
    if (result.seconds !== null) rows.push(["Time", `${short(result.seconds, 2)} s`]);
    const list = el("dl", {});
    for (const [name, value] of rows) list.append(el("dt", {}, name), el("dd", {}, value));
    this.outcome.replaceChildren(
      el("h3", {}, "Result"),
      list,
      ...result.warnings.map((text) => el("p", { class: "warning" }, text)),
    );
  }

  private show(): void {
    const method = this.methods.find((m) => m.name === this.method) ?? this.methods[0];
    if (!method) return;
    const choose = el(
      "select",
      { id: "method", onchange: (event: Event) => {
        this.method = (event.target as HTMLSelectElement).value;
        this.show();
        this.changed?.(this.parameters(), true, false);
      } },
      ...this.methods.map((m) =>
        el("option", { value: m.name, selected: m.name === method.name }, METHOD_WORDS[m.name] ?? m.name),
      ),
    );
    const knob = method.parameters.find((p) => p.name === method.knob);
    const rest = method.parameters.filter((p) => p.name !== method.knob && p.name !== "crop"); // drawn
    const open = this.form.querySelector("details")?.open ?? false;
    this.form.replaceChildren(
      el("label", { class: "field", title: method.about }, el("span", {}, "Method"), choose),
      knob ? this.slider(method, knob) : "",
      el(
        "details",
        { open },
        el("summary", {}, "All parameters"),
        ...[...new Set(rest.map((p) => p.group))].flatMap((group) => [
          group ? el("h3", {}, group) : "",
          ...rest.filter((p) => p.group === group).map((p) => this.field(method, p)),
        ]),
        el("button", { type: "button", onclick: () => {
          this.values[method.name] = {};
          this.show();
          this.changed?.(this.parameters(), true, false);
        } }, "Defaults"),
      ),
    );
  }

  private current(method: Method, p: Parameter): number | string | boolean | null {
    return this.values[method.name]?.[p.name] ?? p.default;
  }

  private set(method: Method, name: string, value: number | string | boolean | null, settled: boolean): void {
    (this.values[method.name] ??= {})[name] = value;
    this.changed?.(this.parameters(), settled, false);
  }

  private slider(method: Method, p: Parameter): HTMLElement {
    const knob = KNOBS[p.name]!;
    const value = Number(this.current(method, p));
    const shown = el("output", {}, short(value, 3));
    const input = el("input", {
      type: "range", min: 0, max: 1, step: p.type === "whole" ? 1 / 29 : 0.005, id: "knob",
      value: knob.scale.position(value), "aria-label": knob.title,
    });
    input.addEventListener("input", () => {
      const chosen = knob.scale.value(Number(input.value));
      shown.textContent = short(chosen, 3);
      input.setAttribute("aria-valuetext", short(chosen, 3));
      this.set(method, p.name, chosen, false);
    });
    input.addEventListener("change", () => this.set(method, p.name, knob.scale.value(Number(input.value)), true));
    return el(
      "div",
      { class: "knob", title: p.about },
      el("div", { class: "row spread" }, el("span", {}, knob.title), shown),
      input,
      el("div", { class: "row spread muted small" }, el("span", {}, knob.low), el("span", {}, knob.high)),
    );
  }

  private field(method: Method, p: Parameter): HTMLElement {
    const value = this.current(method, p);
    let input: HTMLElement;
    if (p.type === "choice") {
      input = el("select", { onchange: (event: Event) =>
        this.set(method, p.name, (event.target as HTMLSelectElement).value, true) },
        ...p.choices!.map((c) => el("option", { value: c, selected: c === value }, c)));
    } else if (p.type === "switch") {
      input = el("input", { type: "checkbox", checked: value === true, onchange: (event: Event) =>
        this.set(method, p.name, (event.target as HTMLInputElement).checked, true) });
    } else {
      input = el("input", { type: p.type === "text" ? "text" : "number", step: p.type === "whole" ? 1 : "any",
        value: value === null ? "" : String(value), placeholder: p.default === null ? "automatic" : "",
        onchange: (event: Event) => {
          const text = (event.target as HTMLInputElement).value;
          this.set(method, p.name, text === "" ? p.default : p.type === "text" ? text : Number(text), true);
        } });
    }
    return el("label", { class: "field", title: p.about }, el("span", {}, p.name.replaceAll("_", " ")), input);
  }
}
