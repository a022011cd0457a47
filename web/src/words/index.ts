// Every text of the page, in the language of the user. A new text is a key in en.ts and de.ts.

import type { MapName, Tool, ViewName } from "../store";
import type { Parameter } from "../wire";
import { de } from "./de";
import { en } from "./en";
import { formatList, spoken } from "./server";

export type Key = keyof typeof en;
export type Language = "en" | "de";

const CATALOGUES: Record<Language, Record<Key, string>> = { en, de };
let language: Language = "en";

const KEY = "varfocus-language";

/** The language that the user chose, or that of the browser. */
export function chosenLanguage(): Language {
  const said = localStorage.getItem(KEY) ?? navigator.language;
  return said.startsWith("de") ? "de" : "en";
}

export function keepLanguage(to: Language): void {
  localStorage.setItem(KEY, to);
}

export function setLanguage(to: Language): Language {
  return (language = to);
}

/** A text, with what stands in braces filled in. */
export function t(key: Key, values: Record<string, string | number> = {}): string {
  return CATALOGUES[language][key].replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ""));
}

/** The text of a key that may not exist. */
function known(key: string): string | undefined {
  return key in en ? t(key as Key) : undefined;
}

/** Fill in the texts of elements that are always there. */
export function translate(root: ParentNode): void {
  for (const element of root.querySelectorAll<HTMLElement>("[data-text]"))
    element.textContent = t(element.dataset["text"] as Key);
  for (const element of root.querySelectorAll<HTMLElement>("[data-label]"))
    element.setAttribute("aria-label", t(element.dataset["label"] as Key));
  for (const element of root.querySelectorAll<HTMLElement>("[data-title]"))
    element.title = t(element.dataset["title"] as Key);
}

export const mapWord = (map: MapName): string => t(`map.${map}`);
export const viewWord = (view: ViewName): string => t(`view.${view}`);
export const viewAbout = (view: ViewName): string => t(`view.${view}.about`);
export const toolWord = (tool: Tool): string => t(`tool.${tool}`);
export const toolAbout = (tool: Tool): string => t(`tool.${tool}.about`);
export const methodWord = (method: string): string => known(`method.${method}`) ?? method;
export const stageWord = (stage: string): string => known(`stage.${stage}`) ?? stage;
export const groupWord = (group: string): string => known(`group.${group}`) ?? group;
export const parameterWord = (name: string): string => known(`p.${name}`) ?? name.replaceAll("_", " ");
export const parameterAbout = (p: Parameter): string => known(`p.${p.name}.about`) ?? p.about;
export const choiceWord = (name: string, choice: string): string => known(`p.${name}.${choice}`) ?? choice;

export const quantityWord = (name: string): string => known(`quantity.${name}`) ?? name;

/** A unit; all but frames are the same in every language. */
export const unitWord = (unit: string): string => known(`unit.${unit}`) ?? unit;

/** Numbers in words, with the decimal sign of the language. */
export const decimal = (words: string): string => (language === "de" ? words.replace(/(\d)\.(\d)/g, "$1,$2") : words);

/** A number as people read it: four digits, no trailing noise. */
export function short(value: number | null | undefined, digits = 4): string {
  if (value === null || value === undefined || Number.isNaN(value)) return t("unknown");
  return decimal(String(Number(value.toPrecision(digits))));
}

/** The ends of a range of numbers: no finer than a thousandth of it. */
export function ends([low, high]: [number, number]): [number, number] {
  const digits = Math.min(Math.max(2 - Math.floor(Math.log10(high - low || 1)), 0), 20);
  return [Number(low.toFixed(digits)), Number(high.toFixed(digits))];
}

/** A number whose last word is its unit, as people write it. */
export const inUnits = (words: string): string =>
  decimal(words.replace(/ (\w+)$/, (_, unit: string) => ` ${unitWord(unit)}`));

/** What the server says, in the language of the page. */
export const serverWords = (words: string): string => spoken(words, language);
export const formatWords = (words: string): string => formatList(words, language);

/** A short sign for the parameter with the slider. */
export const knobSign = (name: string): string => (name === "alpha" ? "α" : (known(`knob.${name}`) ?? name));

export function knobWords(name: string): { title: string; low: string; high: string } {
  const word = (end: string): string => known(`knob.${name}${end}`) ?? "";
  return { title: word(""), low: word(".low"), high: word(".high") };
}
