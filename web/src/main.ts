// The page: makes the store, and lets every part of the page look at it.

import "./style/look.css";
import "./style/page.css";
import { bytes, get } from "./api";
import { byId, el } from "./dom";
import { keepChoices, keptChoices } from "./kept";
import { Session } from "./session";
import { newest, shownPanes, Store } from "./store";
import { Area } from "./views/area";
import { Colours } from "./views/colours";
import { Controls } from "./views/controls";
import { mountHeader } from "./views/header";
import { Measure } from "./views/measure";
import { mountFolding } from "./views/folding";
import { mountHelp, mountKeys, mountLanguage } from "./views/help";
import { attempt, mountUndo } from "./views/messages";
import { mountMotion } from "./views/motion";
import { mountOffline } from "./views/offline";
import { mountOnStage } from "./views/onstage";
import { mountOpening } from "./views/opening";
import { mountOutcome } from "./views/outcome";
import type { Layer } from "./views/layer";
import { Panes } from "./views/panes";
import { Pixel } from "./views/pixel";
import { mountPlain } from "./views/plain";
import { Progress } from "./views/progress";
import { mountQueue } from "./views/queue";
import { mountRelief } from "./views/relief";
import { Results } from "./views/results";
import { Retouch } from "./views/retouch";
import { Strip } from "./views/strip";
import { mountTake } from "./views/take";
import { mountTheme, mountTools, mountViews } from "./views/toolbar";
import { Viewer } from "./viewer/viewer";
import { chosenLanguage, setLanguage, t, translate } from "./words";
import type { State } from "./wire";

/** What maps show that are unknown, by theme. */
const UNKNOWN: Record<"dark" | "light", [number, number, number]> = {
  dark: [0.16, 0.19, 0.2],
  light: [0.75, 0.77, 0.78],
};

/** Sections of the inspector, in order. */
const SECTIONS = ["results", "retouch", "colours", "pixel", "measure", "motion", "take"] as const;

function sections(): Record<(typeof SECTIONS)[number], HTMLElement> {
  const made = Object.fromEntries(SECTIONS.map((id) => [id, el("section", { id: `${id}-section` })]));
  byId("inspector").append(
    el("p", { class: "nothing muted small", id: "nothing" }, t("nothingYet")),
    ...Object.values(made),
  );
  return made as ReturnType<typeof sections>;
}

function viewerIn(host: HTMLElement, tile: number): Viewer | null {
  try {
    return new Viewer(host, tile, t("mapsLabel"));
  } catch {
    return null;
  }
}

async function begin(): Promise<void> {
  document.documentElement.lang = setLanguage(chosenLanguage());
  translate(document.body);
  const server = await get<State>("/api/state");
  const store = new Store({ server, sketch: null, differences: {}, aside: null, online: true, choices: keptChoices() });
  store.dispatch({ do: "load", state: server });
  const session = new Session(store);
  const viewer = viewerIn(byId("panes"), server.tile);
  const part = sections();
  const place = el("div", { id: "area" });
  const progress = el("div", { class: "progress", id: "progress", hidden: true });
  const outcome = el("div", { class: "outcome", id: "outcome" });
  new Controls(byId("controls"), session, place);
  byId("controls").append(progress, outcome);
  new Progress(progress, session);
  mountOutcome(outcome, session);
  mountOffline(session);
  mountUndo();
  mountFolding(store, mountOnStage(session, progress, outcome));
  mountHelp();
  mountLanguage();
  mountQueue(byId("controls"), session);
  mountOpening(session);
  mountHeader(session);
  mountTake(part.take, store);
  if (viewer) await mountMaps(session, viewer, part, place);
  else mountPlain(store);
  store.watch(
    (m) => [!newest(m), m.server.frames.length],
    (m) => (byId("nothing").hidden = !!newest(m) || !m.server.frames.length),
  );
  keepChoices(store);
  session.listen();
  document.documentElement.dataset["ready"] = "yes";
}

/** Everything that needs maps on the screen. */
async function mountMaps(
  session: Session,
  viewer: Viewer,
  part: ReturnType<typeof sections>,
  place: HTMLElement,
): Promise<void> {
  const { store } = session;
  const { palettes: names } = store.get().server;
  const table = new Uint8Array(await bytes("/api/palettes"));
  const palettes = new Map(names.map((name, k) => [name, table.subarray(768 * k, 768 * (k + 1))]));
  for (const [name, rgb] of palettes) viewer.setPalette(name, rgb);
  const strip = new Strip(byId("strip"), session);
  const layers: Layer[] = [
    new Area(place, session, () => viewer.redraw()),
    new Measure(part.measure, store, () => viewer.redraw()),
    new Retouch(
      part.retouch,
      session,
      () => strip.current(),
      () => viewer.redraw(),
    ),
  ];
  const panes = new Panes(store, viewer, layers, () => strip.current());
  strip.scrubbed = () => {
    const { choices } = store.get();
    const { tool, brush } = choices;
    // The picture beside is what is painted from: who chooses a frame while painting wants to paint from it.
    if (tool === "retouch" && brush.tool === "paint" && brush.source.from !== "frame")
      return store.choose({ brush: { ...brush, source: { from: "frame" } } });
    const shown = shownPanes(store.get());
    const last = shown.length - 1;
    if (!newest(store.get()) || choices.view === "3d" || shown.some((c) => c.map === "frame")) panes.show();
    else store.choose({ panes: choices.panes.map((c, k) => (k === last ? { ...c, map: "frame" } : c)) });
  };
  new Results(part.results, session, palettes);
  new Colours(part.colours, session, palettes);
  mountMotion(part.motion, store);
  mountKeys(store);
  const pixel = new Pixel(part.pixel, store);
  mountRelief(store, palettes);
  mountViews(store);
  mountTools(store, viewer);
  mountTheme((dark) => {
    viewer.unknownColour = UNKNOWN[dark ? "dark" : "light"];
    viewer.redraw();
    pixel.redraw();
  });
}

void attempt(begin);
