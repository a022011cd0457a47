// Measuring: named lines, steps, regions and points, drawn on the maps, with handles, kept.

import { post, Refusal } from "../api";
import { el } from "../dom";
import { current, type Store, type Tool } from "../store";
import { serverWords, t, toolAbout } from "../words";
import { MARKED } from "../viewer/ink";
import type { Point, Shape, ShapeKind, Table } from "../wire";
import { MeasureList } from "./measurelist";
import type { Layer } from "./layer";
import { drawLevel, drawShape, handleAt, inside, samePoint } from "./shapes";

const MEASURING: Tool[] = ["line", "step", "region", "point"];

/** Tools that need a clear sight. */
const IN_THE_WAY: Tool[] = ["crop", "mask", "retouch"];

/** Points that a complete shape has. */
const COMPLETE: Record<ShapeKind, number> = { line: 2, step: 4, region: 2, point: 1 };

type Held = { what: "shape" | "level"; shape: number; point: number };

export class Measure implements Layer {
  private hint = el("p", { class: "small muted", id: "measure-hint" });
  private list: MeasureList;
  private held: Held | null = null;
  private making = false;
  /** Drawn, and not yet in the store. */
  private shapes: Shape[] = [];
  private levelPoints: Point[] = [];
  private selected = -1;
  /** Where the cursor of the plot is. */
  private marked: Point | null = null;
  private asking: AbortController | null = null;
  /** Something was drawn whose numbers were not shown yet. */
  private fresh = false;

  /** @param changed is called when there is something to draw */
  constructor(
    host: HTMLElement,
    private store: Store,
    private changed: () => void,
  ) {
    this.list = new MeasureList(store, {
      select: (k) => {
        this.selected = k;
        this.changed();
      },
      marked: (place) => {
        this.marked = place;
        this.changed();
      },
    });
    host.append(el("h2", {}, t("measure")), this.hint, this.list.element);
    const { measurements } = store.get().server;
    if (measurements && !store.get().choices.shapes.length)
      store.choose({ shapes: measurements.shapes, level: measurements.level });
    store.watch(
      (m) => [m.choices.tool],
      (m) => this.tell(m.choices.tool),
    );
    store.watch(
      (m) => [m.choices.shapes, m.choices.level],
      (m) => {
        this.shapes = m.choices.shapes;
        this.levelPoints = m.choices.level.points;
        this.tell(m.choices.tool);
        this.changed();
        void this.ask();
      },
    );
    store.watch(
      (m) => [current(m)?.version, current(m)?.saved, current(m)?.revision, m.server.near],
      (m) => {
        host.hidden = !current(m);
        void this.ask();
      },
    );
  }

  private tell(tool: Tool): void {
    const half = this.shapes.at(-1)?.kind === "step" && this.shapes.at(-1)!.points.length === 2;
    this.hint.textContent = half ? t("measureSecond") : MEASURING.includes(tool) ? toolAbout(tool) : t("measureHint");
  }

  press(x: number, y: number, scale: number): boolean {
    const { tool } = this.store.get().choices;
    if (!MEASURING.includes(tool)) return false;
    const level = this.store.get().choices.level.by === "points" ? this.levelPoints : [];
    this.held = handleAt(this.shapes, level, [x, y], scale);
    if (this.held) {
      if (this.held.what === "shape") this.selected = this.held.shape;
      return true;
    }
    const place = current(this.store.get())?.place;
    if (!place || !samePoint(inside(place, [x, y]), [x, y])) return false; // beside the image: move it
    this.begin(tool as ShapeKind, [x, y]);
    return true;
  }

  private begin(kind: ShapeKind, at: Point): void {
    const last = this.shapes.at(-1);
    const ends: Point[] = kind === "point" ? [at] : [at, at];
    if (kind === "step" && last?.kind === "step" && last.points.length === 2)
      this.shapes = [...this.shapes.slice(0, -1), { ...last, points: [...last.points, ...ends] }];
    else {
      const whole = this.shapes.filter((s) => s.points.length === COMPLETE[s.kind]);
      this.shapes = [...whole, { kind, points: ends, name: this.freeName(kind), width: 1 }];
    }
    this.selected = this.shapes.length - 1;
    this.making = true;
    this.held = { what: "shape", shape: this.selected, point: this.shapes.at(-1)!.points.length - 1 };
  }

  private freeName(kind: ShapeKind): string {
    const names = new Set(this.shapes.map((s) => s.name));
    for (let k = 1; ; k++) {
      const name = `${t(`shape.${kind}`)} ${k}`;
      if (!names.has(name)) return name;
    }
  }

  drag(x: number, y: number): void {
    const held = this.held;
    const place = current(this.store.get())?.place;
    if (!held || !place) return;
    const to = inside(place, [x, y]);
    const moved = (points: Point[]): Point[] => points.map((p, k) => (k === held.point ? to : p));
    if (held.what === "level") this.levelPoints = moved(this.levelPoints);
    else this.shapes = this.shapes.map((s, k) => (k === held.shape ? { ...s, points: moved(s.points) } : s));
    this.changed();
  }

  release(moved: boolean): boolean {
    const held = this.held;
    if (!held) return false;
    this.held = null;
    const shape = this.shapes[held.shape];
    const nothing = this.making && !moved && !!shape && shape.kind !== "point";
    if (nothing) {
      const points = shape.points.slice(0, -2);
      this.shapes = points.length
        ? this.shapes.map((s) => (s === shape ? { ...s, points } : s))
        : this.shapes.filter((s) => s !== shape);
    }
    this.making = false;
    this.fresh = true;
    const { level } = this.store.get().choices;
    this.store.choose({ shapes: this.shapes, level: { ...level, points: this.levelPoints } });
    return !nothing;
  }

  takeBack(): null {
    this.held = null;
    this.making = false;
    const { shapes, level } = this.store.get().choices;
    [this.shapes, this.levelPoints] = [shapes, level.points];
    this.changed();
    return null;
  }

  /** Measure everything that is complete, on the current result. */
  private async ask(): Promise<void> {
    const { choices } = this.store.get();
    const result = current(this.store.get());
    const shapes = choices.shapes.filter((s) => s.points.length === COMPLETE[s.kind]);
    this.asking?.abort();
    if (!result?.saved || !shapes.length) {
      this.list.show(shapes, null, this.selected, result && shapes.length ? t("waitForFull") : "");
      return;
    }
    this.asking = new AbortController();
    const level = choices.level.by === "points" ? choices.level : { ...choices.level, points: [] };
    try {
      const body = { varfocus_measurements: 1, level, shapes };
      const table = await post<Table>(`/api/results/${result.version}/measure`, body, this.asking.signal);
      this.list.show(shapes, table, this.selected, "", result);
      if (this.fresh) this.list.reveal(this.selected);
      this.fresh = false;
    } catch (error) {
      if (error instanceof Refusal) this.list.show(shapes, null, this.selected, serverWords(error.message));
    }
  }

  draw(context: CanvasRenderingContext2D, toScreen: (x: number, y: number) => Point): void {
    if (IN_THE_WAY.includes(this.store.get().choices.tool)) return;
    this.shapes.forEach((shape, k) => drawShape(context, shape, k === this.selected, toScreen));
    if (this.store.get().choices.level.by === "points") drawLevel(context, this.levelPoints, toScreen);
    if (this.marked) {
      const [x, y] = toScreen(...this.marked);
      context.fillStyle = MARKED;
      context.strokeStyle = "rgb(0 0 0 / 70%)";
      context.lineWidth = 1.5;
      context.beginPath();
      context.arc(x, y, 5, 0, 7);
      context.fill();
      context.stroke();
    }
  }
}
