// Opening frames: chosen, dropped, an example, or the work of another day.

import { get, post } from "../api";
import { byId, el } from "../dom";
import { droppedFiles } from "../dropped";
import type { Mode, Session } from "../session";
import { t } from "../words";
import type { SessionInfo } from "../wire";
import { ask } from "./ask";
import { attempt } from "./messages";

export function mountOpening(session: Session): void {
  const { store } = session;
  const input = byId<HTMLInputElement>("files");
  const send = async (files: File[]): Promise<void> => {
    if (!files.length) return;
    const mode = await chosenMode(session);
    if (mode) await session.open(files, mode);
  };
  for (const id of ["open", "choose"]) byId(id).addEventListener("click", () => input.click());
  for (const id of ["example", "try"]) byId(id).addEventListener("click", () => session.example());
  input.addEventListener("change", () => void send([...(input.files ?? [])]).then(() => (input.value = "")));
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
    (m) => (byId("formats").textContent = m.server.formats),
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

/** What to do with the frames that are open; nothing is asked if there are none. */
async function chosenMode(session: Session): Promise<Mode | null> {
  const { frames, results } = session.store.get().server;
  if (!frames.length && !results.length) return "replace";
  return ask<Mode>(t("askMode"), [
    { value: "new", words: t("modeNew"), about: t("modeNewAbout") },
    { value: "add", words: t("modeAdd"), about: t("modeAddAbout") },
    { value: "replace", words: t("modeReplace"), about: t("modeReplaceAbout") },
  ]);
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
