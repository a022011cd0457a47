// Opening frames: chosen, dropped, an example, or the work of another day.

import { get, post } from "../api";
import { byId, el } from "../dom";
import { chosenFiles, droppedFiles, type Batch } from "../dropped";
import type { Mode, Session } from "../session";
import { formatWords, t } from "../words";
import type { SessionInfo } from "../wire";
import { ask } from "./ask";
import { attempt } from "./messages";

export function mountOpening(session: Session): void {
  const { store } = session;
  const send = (stacks: Batch[]): Promise<void> => open(session, stacks);
  for (const [dialogue, buttons] of [
    ["files", ["open", "choose"]],
    ["folder", ["choose-folder", "add-folder"]],
  ] as const) {
    const input = byId<HTMLInputElement>(dialogue);
    for (const id of buttons) byId(id).addEventListener("click", () => input.click());
    input.addEventListener("change", () => void send(chosenFiles(input)).then(() => (input.value = "")));
  }
  for (const id of ["example", "try"]) byId(id).addEventListener("click", () => session.example());
  let depth = 0;
  addEventListener("dragenter", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    depth++;
    byId("drop").hidden = false;
  });
  addEventListener("dragleave", () => {
    depth = Math.max(depth - 1, 0);
    byId("drop").hidden = depth === 0;
  });
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    depth = 0;
    byId("drop").hidden = true;
    if (event.dataTransfer?.types.includes("Files")) void droppedFiles(event.dataTransfer).then(send);
  });
  store.watch(
    (m) => [m.server.formats],
    (m) => (byId("formats").textContent = formatWords(m.server.formats)),
  );
  store.watch(
    (m) => [m.server.frames, m.server.results, m.server.busy === null, m.server.session],
    ({ server }) => {
      const empty = !server.frames.length && !server.results.length && server.busy === null;
      byId("welcome").hidden = !empty;
      if (empty) void attempt(() => showKept(session));
    },
  );
}

/** Open files, or let them wait: what is not clear is asked. */
async function open(session: Session, stacks: Batch[]): Promise<void> {
  if (!stacks.length) return;
  if (stacks.length > 1) {
    const each = await ask<boolean>(t("askStacks", { count: stacks.length }), [
      { value: true, words: t("stacksQueue", { count: stacks.length }), about: t("modeQueueAbout") },
      { value: false, words: t("stacksOne"), about: t("stacksOneAbout") },
    ]);
    if (each === null) return;
    if (each) return session.enqueue(stacks);
  }
  const batch = stacks.length > 1 ? { name: "", files: stacks.flatMap((one) => one.files) } : stacks[0]!;
  const { frames, results } = session.store.get().server;
  const mode =
    !frames.length && !results.length
      ? "replace"
      : await ask<Mode>(t("askMode"), [
          { value: "new", words: t("modeNew"), about: t("modeNewAbout") },
          { value: "queue", words: t("modeQueue"), about: t("modeQueueAbout") },
          { value: "add", words: t("modeAdd"), about: t("modeAddAbout") },
          { value: "replace", words: t("modeReplace"), about: t("modeReplaceAbout") },
        ]);
  if (mode === "queue") await session.enqueue([batch]);
  else if (mode) await session.open(batch, mode);
}

/** Work that was kept, to go on with. */
async function showKept(session: Session): Promise<void> {
  const kept = await get<SessionInfo[]>("/api/sessions");
  const host = byId("kept");
  host.hidden = !kept.length;
  host.replaceChildren(el("h3", {}, t("goOn")), el("ul", {}, ...kept.slice(0, 8).map((one) => row(session, one))));
}

function row(session: Session, { name, title, frames, results, changed }: SessionInfo): HTMLElement {
  const when = new Date(changed * 1000).toLocaleString(document.documentElement.lang, {
    dateStyle: "medium",
    timeStyle: "short",
  });
  const forget = (): void =>
    void attempt(async () => {
      await post(`/api/sessions/${name}/forget`);
      await showKept(session);
    });
  return el(
    "li",
    { class: "row" },
    el(
      "button",
      { type: "button", class: "grow kept", "data-session": name, onclick: () => session.reopen(name) },
      el("strong", {}, title),
      el(
        "span",
        { class: "muted small" },
        `${t("countFrames", { count: frames })} · ${t("countResults", { count: results })} · ${when}`,
      ),
    ),
    el(
      "button",
      { type: "button", class: "icon", "aria-label": `${t("forget")}: ${title}`, title: t("forget"), onclick: forget },
      "×",
    ),
  );
}
