// What the server says, in the words of the page: it speaks English, and as the command line does.

import said from "./server.json";

interface Sentence {
  pattern: RegExp;
  en: string | undefined;
  de: string;
}

/** A sentence of the server with what stands in braces left open, each as the page says it. */
const SENTENCES: Sentence[] = (said as { said: string; de: string; en?: string }[])
  .map(({ said: words, en, de }) => {
    const parts = words.split("{}").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    return { length: words.length, sentence: { pattern: new RegExp(`^${parts.join("(.+?)")}$`), en, de } };
  })
  .sort((a, b) => b.length - a.length) // of several that fit, the one that says most
  .map(({ sentence }) => sentence);

function line(words: string, language: "en" | "de"): string {
  for (const { pattern, en, de } of SENTENCES) {
    const found = pattern.exec(words);
    if (!found) continue;
    const ours = language === "de" ? de : en;
    if (ours === undefined) return words;
    return ours.replace(/\{(\d)\}/g, (_, k: string) => line(found[Number(k) + 1]!, language));
  }
  return words;
}

/** Every line of what the server says; one that is not known stays as it is. */
export function spoken(words: string, language: "en" | "de"): string {
  return words
    .split("\n")
    .map((one) => line(one, language))
    .map((one) => (/^[\w-]+\.\w/.test(one) ? one : one.charAt(0).toUpperCase() + one.slice(1))) // names stay as they are
    .join("\n");
}

/** A list of formats. */
export function formatList(words: string, language: "en" | "de"): string {
  if (language === "en") return words;
  return words.replace(" or ", " oder ").replace("camera RAW", "Kamera-RAW").replace("video", "Video");
}
