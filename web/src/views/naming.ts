// What results are called.

import type { Model } from "../store";
import { knobSign, methodWord, short } from "../words";
import type { ResultInfo } from "../wire";

/** The name that the user gave, or how it was made. */
export function resultTitle(model: Model, result: ResultInfo): string {
  if (result.name) return result.name;
  const knob = model.server.methods.find((m) => m.name === result.method)?.knob ?? "";
  const value = result.parameters[knob];
  const method = methodWord(result.method).replace(/ \(.*/, "");
  return `${method} · ${knobSign(knob)} ${typeof value === "number" ? short(value, 3) : String(value)}`;
}
