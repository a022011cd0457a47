// Retouching: strokes drawn on the maps, the source beside the result under one cursor.

import type { Session } from "../session";
import { current, type Brush, type Model, type PaneChoice, type Store } from "../store";
import { t } from "../words";
import type { Point, ResultInfo, Stroke } from "../wire";
import { offerUndo, say } from "./messages";
import type { Layer } from "./layer";
import { RetouchPanel } from "./retouchpanel";
import { reveal } from "./reveal";
import { CHOSEN, LIGHT, traced } from "../viewer/ink";

/** Screen pixels between two points of a stroke. */
const SPACING = 3;

const SMALLEST = 1;
const LARGEST = 2000;

export class Retouch implements Layer {
  private store: Store;
  private drawing: Point[] | null = null;
  private place: Point | null = null;
  /** Drawn, and not yet in the maps. */
  private pending: { stroke: Stroke; revision: number }[] = [];
  /** Taken back, newest last; of the result that is shown. */
  private undone: Stroke[] = [];

  /**
   * @param frame which single frame is chosen
   * @param changed is called when there is something to draw
   */
  constructor(
    host: HTMLElement,
    private session: Session,
    private frame: () => number | undefined,
    private changed: () => void,
  ) {
    this.store = session.store;
    new RetouchPanel(host, session, {
      undo: () => this.undo(),
      redo: () => this.redo(),
      clear: () => this.clear(),
      canRedo: () => this.undone.length > 0,
    });
    this.store.watch(
      (m) => [m.choices.tool === "retouch", m.choices.brush.tool, m.choices.brush.source],
      (m) => {
        const shown = m.choices.tool === "retouch";
        if (shown && host.hidden) reveal(host, "start"); // how the brush is set
        host.hidden = !shown;
        this.arrange(m);
        this.changed();
      },
    );
    this.store.watch(
      (m) => [current(m)?.version],
      () => {
        this.undone = [];
        this.pending = [];
      },
    );
    this.store.watch(
      (m) => [current(m)?.revision, m.choices.brush],
      (m) => {
        const revision = current(m)?.revision ?? 0;
        this.pending = this.pending.filter((p) => p.revision >= revision);
        this.changed();
      },
    );
    document.addEventListener("keydown", (event) => this.key(event));
  }

  private get brush(): Brush {
    return this.store.get().choices.brush;
  }

  private get result(): ResultInfo | undefined {
    const result = current(this.store.get());
    const usable = result && !result.preview && (result.saved || result.revision > 0);
    return usable && this.store.get().server.frames.length ? result : undefined;
  }

  /** Show the source beside the result while the tool is in hand. */
  private arrange(model: Model): void {
    const { choices } = model;
    if (choices.tool !== "retouch") {
      const { before } = choices;
      if (before) this.store.choose({ ...before, before: null });
      return;
    }
    if (!choices.before) this.store.choose({ before: { view: choices.view, panes: choices.panes } });
    const { tool, source } = choices.brush;
    const beside: PaneChoice =
      source.from === "result"
        ? { map: "fused", result: source.version }
        : { map: source.from === "slab" ? "slab" : "frame", result: 0 };
    const shown: PaneChoice[] =
      tool === "paint"
        ? [{ map: "fused", result: 0 }, beside]
        : [
            { map: "depth", result: 0 },
            { map: "fused", result: 0 },
          ];
    const panes = choices.panes.map((pane, k) => shown[k] ?? pane);
    if (choices.view !== "2" || JSON.stringify(panes) !== JSON.stringify(choices.panes))
      this.store.choose({ view: "2", panes });
  }

  press(x: number, y: number): boolean {
    if (this.store.get().choices.tool !== "retouch" || !this.result) return false;
    this.drawing = [[x, y]];
    this.changed();
    return true;
  }

  drag(x: number, y: number, scale: number): void {
    const last = this.drawing?.at(-1);
    if (!last || Math.hypot(x - last[0], y - last[1]) * scale < SPACING) return;
    this.drawing!.push([x, y]);
    this.changed();
  }

  release(): boolean {
    const points = this.drawing;
    this.drawing = null;
    const result = this.result;
    if (!points || !result) return false;
    const stroke = this.strokeOf(points);
    if (stroke) {
      this.undone = [];
      this.pending.push({ stroke, revision: result.revision });
      this.send([...result.strokes, stroke]);
    }
    this.changed();
    return !!stroke;
  }

  corners(): boolean {
    return this.drawing !== null;
  }

  takeBack(): Point | null {
    this.drawing?.pop();
    if (!this.drawing?.length) this.drawing = null;
    this.changed();
    return this.drawing?.at(-1) ?? null;
  }

  /** What was drawn, in the words of the server; null if it is nothing. */
  private strokeOf(points: Point[]): Stroke | null {
    const { tool, outline, radius, softness, sigma, source } = this.brush;
    if (outline && points.length < 3) return null;
    const stroke: Stroke = {
      tool,
      points: points.map(([x, y]) => [Math.round(x * 10) / 10, Math.round(y * 10) / 10]),
      feather: Math.round(softness * radius * 10) / 10,
    };
    if (!outline) stroke.radius = radius;
    if (tool === "smooth-depth") stroke.sigma = sigma;
    if (tool === "set-depth") {
      stroke.frame = this.result!.frames.indexOf(this.frame() ?? 0);
      if (stroke.frame < 0) return (say(t("notInResult")), null); // left out, or added later
    }
    if (tool === "paint") {
      if (source.from === "result") stroke.result = source.version;
      else if (source.from === "slab") stroke.slab = source.slab;
      else stroke.frame = this.frame() ?? 0;
    }
    return stroke;
  }

  private send(strokes: Stroke[]): void {
    const result = this.result;
    if (result) void this.session.retouch(result.version, strokes);
  }

  private undo(): void {
    const last = this.result?.strokes.at(-1);
    if (!last) return;
    this.undone.push(last);
    this.pending = [];
    this.send(this.result!.strokes.slice(0, -1));
  }

  private clear(): void {
    const before = this.result;
    if (!before) return;
    this.pending = [];
    this.send([]);
    offerUndo(t("strokesRemoved"), () => void this.session.retouch(before.version, before.strokes));
  }

  private redo(): void {
    const next = this.undone.pop();
    if (next) this.send([...(this.result?.strokes ?? []), next]);
  }

  private key(event: KeyboardEvent): void {
    if (this.store.get().choices.tool !== "retouch") return;
    const target = event.target as HTMLElement;
    if (target.matches("input[type=text], input[type=number], textarea, select")) return;
    const command = event.ctrlKey || event.metaKey;
    const letter = event.key.toLowerCase();
    const { brush } = this;
    const softer = event.shiftKey || event.key === "{" || event.key === "}";
    const more = event.key === "]" || event.key === "}" || event.code === "BracketRight";
    const less = event.key === "[" || event.key === "{" || event.code === "BracketLeft";
    if (command && letter === "z" && !event.shiftKey && this.result?.strokes.length) this.undo();
    else if (command && (letter === "y" || (letter === "z" && event.shiftKey))) this.redo();
    else if (!command && softer && (more || less))
      this.store.choose({ brush: { ...brush, softness: clamp(brush.softness + (more ? 0.1 : -0.1), 0, 1) } });
    else if (!command && (more || less))
      this.store.choose({
        brush: {
          ...brush,
          radius: clamp(Math.round(brush.radius * (more ? 1.2 : 1 / 1.2)) + (more ? 1 : -1), SMALLEST, LARGEST),
        },
      });
    else return;
    event.preventDefault();
    event.stopPropagation(); // one step back, not two
  }

  hover(place: Point | null): void {
    this.place = place;
  }

  draw(context: CanvasRenderingContext2D, toScreen: (x: number, y: number) => Point): void {
    const { choices } = this.store.get();
    if (choices.tool !== "retouch") return;
    const scale = toScreen(1, 0)[0] - toScreen(0, 0)[0];
    const { outline, radius, softness } = choices.brush;
    for (const { stroke } of this.pending) trail(context, stroke.points, stroke.radius ?? null, scale, toScreen);
    if (this.drawing) trail(context, this.drawing, outline ? null : radius, scale, toScreen);
    if (!this.place || outline) return;
    const [x, y] = toScreen(...this.place);
    for (const [r, dash] of [
      [radius, []],
      [radius * (1 - softness), [4, 4]],
    ] as const) {
      traced(context, () => context.arc(x, y, Math.max(r * scale, 0.5), 0, 7), LIGHT, 1.25, dash);
    }
  }
}

/** Where a stroke goes, until the maps show it. */
function trail(
  context: CanvasRenderingContext2D,
  points: Point[],
  radius: number | null,
  scale: number,
  toScreen: (x: number, y: number) => Point,
): void {
  context.beginPath();
  points.forEach((p, k) => (k ? context.lineTo(...toScreen(...p)) : context.moveTo(...toScreen(...p))));
  if (radius === null) {
    context.closePath();
    context.fillStyle = "rgb(95 224 200 / 30%)";
    context.fill();
    context.strokeStyle = CHOSEN;
    context.lineWidth = 1.5;
    context.stroke();
    return;
  }
  if (points.length === 1) context.lineTo(...toScreen(points[0]![0] + 0.01, points[0]![1]));
  context.lineCap = context.lineJoin = "round";
  context.lineWidth = 2 * radius * scale;
  context.strokeStyle = "rgb(95 224 200 / 35%)";
  context.stroke();
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(Math.round(value * 100) / 100, low), high);
}
