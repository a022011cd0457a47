// How to reconstruct: method, the one knob, and all other parameters.

import type { Values } from "../api";
import { el } from "../dom";
import type { Session } from "../session";
import { newest, type Model, type Rectangle, type Store } from "../store";
import { choiceWord, groupWord, knobWords, methodWord, parameterAbout, parameterWord, short, t } from "../words";
import type { Method, Parameter, Value } from "../wire";

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

const SCALES: Record<string, Scale> = {
  smoothness: logarithmic(0.125, 8),
  alpha: logarithmic(1 / 128, 2),
  window: { value: (p) => 3 + 2 * Math.round(p * 29), position: (v) => (v - 3) / 58 },
};

/** Fewest frames that make a stack. */
const FEWEST = 3;

export class Controls {
  private values: Record<string, Values> = {};
  private method = "auto";
  private form = el("div", { class: "form" });
  private run = el("button", { type: "button", class: "primary wide", id: "run" }, t("reconstruct"));
  private store: Store;

  /** @param inserted stands between the parameters and the button */
  constructor(
    host: HTMLElement,
    private session: Session,
    inserted: HTMLElement,
  ) {
    this.store = session.store;
    host.append(el("h2", {}, t("reconstruct")), this.form, inserted, el("div", { class: "row" }, this.run));
    this.run.addEventListener("click", () => session.solve(true));
    session.parameters = () => this.parameters();
    this.store.watch(
      (m) => [m.choices.session],
      () => this.restore(),
    );
    this.store.watch(
      (m) => [m.server.frames],
      (m) => (this.run.disabled = m.server.frames.filter((f) => f.included).length < FEWEST),
    );
    this.store.watch(
      (m) => [newest(m)],
      (m) => this.adopt(m),
    );
  }

  private get methods(): Method[] {
    return this.store.get().server.methods;
  }

  /** Everything that is not at its default, with the method. */
  private parameters(): Values {
    const given = this.values[this.method] ?? {};
    const method = this.methods.find((m) => m.name === this.method);
    const chosen: Values = { method: this.method };
    for (const p of method?.parameters ?? []) {
      const value = given[p.name];
      if (value !== undefined && value !== p.default) chosen[p.name] = value;
    }
    return chosen;
  }

  private restore(): void {
    const state = this.store.get().choices.controls as { method?: string; values?: Record<string, Values> } | null;
    if (state?.method) this.method = state.method;
    if (state?.values) this.values = state.values;
    this.show();
  }

  /** Continue where a result that was opened left off. */
  private adopt(model: Model): void {
    const result = newest(model);
    if (!result?.opened || model.choices.adopted === result.version) return;
    const crop = result.parameters["crop"];
    this.store.choose({
      adopted: result.version,
      crop: typeof crop === "string" ? (crop.split(",").map(Number) as Rectangle) : null,
    });
    this.take(result.parameters);
  }

  /** Take over how a result was made. */
  take(parameters: Values): void {
    const method = this.methods.find((m) => m.name === parameters["method"]);
    if (!method) return;
    this.method = method.name;
    const chosen = method.parameters.filter((p) => p.name in parameters && parameters[p.name] !== p.default);
    this.values[method.name] = Object.fromEntries(chosen.map((p) => [p.name, parameters[p.name]!]));
    this.keep();
    this.show();
  }

  private keep(): void {
    this.store.choose({ controls: { method: this.method, values: this.values } });
  }

  /** A change is answered by a sketch at once if there is a result, and in full when it has settled. */
  private changed(settled: boolean): void {
    this.keep();
    this.session.solveAgain(settled);
  }

  private show(): void {
    const method = this.methods.find((m) => m.name === this.method) ?? this.methods[0];
    if (!method) return;
    const choose = el(
      "select",
      { id: "method" },
      ...this.methods.map((m) => el("option", { value: m.name, selected: m.name === method.name }, methodWord(m.name))),
    );
    choose.addEventListener("change", () => {
      this.method = choose.value;
      this.show();
      this.changed(true);
    });
    const knob = method.parameters.find((p) => p.name === method.knob);
    const rest = method.parameters.filter((p) => p.name !== method.knob && p.name !== "crop"); // drawn
    const open = this.form.querySelector("details")?.open ?? false;
    const reset = (): void => {
      this.values[method.name] = {};
      this.show();
      this.changed(true);
    };
    this.form.replaceChildren(
      el("label", { class: "field", title: t("methodAbout") }, el("span", {}, t("method")), choose),
      knob ? this.slider(method, knob) : "",
      el(
        "details",
        { open },
        el("summary", {}, t("allParameters")),
        ...[...new Set(rest.map((p) => p.group))].flatMap((group) => [
          group ? el("h3", {}, groupWord(group)) : "",
          ...rest.filter((p) => p.group === group).map((p) => this.field(method, p)),
        ]),
        el("button", { type: "button", onclick: reset }, t("defaults")),
      ),
    );
  }

  private value(method: Method, p: Parameter): Value {
    return this.values[method.name]?.[p.name] ?? p.default;
  }

  private set(method: Method, name: string, value: Value, settled: boolean): void {
    (this.values[method.name] ??= {})[name] = value;
    this.changed(settled);
  }

  private slider(method: Method, p: Parameter): HTMLElement {
    const scale = SCALES[p.name]!;
    const words = knobWords(p.name);
    const value = Number(this.value(method, p));
    const shown = el("output", {}, short(value, 3));
    const step = p.type === "whole" ? 1 / 29 : 0.005;
    const input = el("input", {
      type: "range",
      min: 0,
      max: 1,
      step,
      id: "knob",
      value: scale.position(value),
      "aria-label": words.title,
    });
    input.addEventListener("input", () => {
      const chosen = scale.value(Number(input.value));
      shown.textContent = short(chosen, 3);
      input.setAttribute("aria-valuetext", short(chosen, 3));
      this.set(method, p.name, chosen, false);
    });
    input.addEventListener("change", () => this.set(method, p.name, scale.value(Number(input.value)), true));
    return el(
      "div",
      { class: "knob" },
      el("div", { class: "row spread" }, el("span", { class: "row" }, words.title, helpButton(p, "knob-help")), shown),
      el("p", { class: "help small", id: "knob-help", hidden: true }, parameterAbout(p)),
      input,
      el("div", { class: "row spread muted small" }, el("span", {}, words.low), el("span", {}, words.high)),
    );
  }

  private field(method: Method, p: Parameter): HTMLElement {
    const value = this.value(method, p);
    const id = `parameter-${p.name}`;
    let input: HTMLElement;
    if (p.type === "choice") {
      const list = el(
        "select",
        { id },
        ...p.choices!.map((c) => el("option", { value: c, selected: c === value }, choiceWord(p.name, c))),
      );
      list.addEventListener("change", () => this.set(method, p.name, list.value, true));
      input = list;
    } else if (p.type === "switch") {
      const box = el("input", { id, type: "checkbox", checked: value === true });
      box.addEventListener("change", () => this.set(method, p.name, box.checked, true));
      input = box;
    } else {
      const entry = el("input", {
        id,
        type: p.type === "text" ? "text" : "number",
        step: p.type === "whole" ? 1 : "any",
        value: value === null ? "" : String(value),
        placeholder: p.default === null ? t("automatic") : "",
      });
      entry.addEventListener("change", () => {
        const text = entry.value;
        this.set(method, p.name, text === "" ? p.default : p.type === "text" ? text : Number(text), true);
      });
      input = entry;
    }
    return el(
      "div",
      { "data-parameter": p.name },
      el(
        "div",
        { class: "field" },
        el("label", { for: id }, parameterWord(p.name)),
        helpButton(p, `${id}-help`),
        input,
      ),
      el("p", { class: "help small", id: `${id}-help`, hidden: true }, parameterAbout(p)),
    );
  }
}

/** A button that shows what a parameter means, in plain words. */
function helpButton(p: Parameter, target: string): HTMLElement {
  const button = el(
    "button",
    {
      type: "button",
      class: "help-button",
      "aria-expanded": "false",
      "aria-controls": target,
      "aria-label": `${t("explain")}: ${parameterWord(p.name)}`,
    },
    "?",
  );
  button.addEventListener("click", () => {
    const text = document.getElementById(target)!;
    text.hidden = !text.hidden;
    button.setAttribute("aria-expanded", String(!text.hidden));
  });
  return button;
}
