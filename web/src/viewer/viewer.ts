// Maps and pictures side by side on one WebGL2 canvas: linked panes of tiles under one view.

import { Painter } from "./gl";
import { fitted, panes as cut, shownTiles, toScreen, zoomed, type Rect, type Spot, type View } from "./layout";
import { listen, type Hand } from "./pointer";
import { Tiles, type Source } from "./tiles";

export type { Rect } from "./layout";
export type { Source } from "./tiles";

export interface Pane {
  source: Source | null;
  /** Shown right of the divider, if any. */
  other?: Source | null;
  /** Shown around and below. */
  under?: Source | null;
}

/** Whether a pane shows something; waits for it; or has nothing to show. */
export type Filled = "shown" | "waiting" | "nothing";

export class Viewer implements Hand {
  readonly canvas = document.createElement("canvas");
  readonly overlay = document.createElement("canvas");
  /** Null fits the image. */
  private view: View | null = null;
  private panes: Pane[] = [];
  /** What each pane showed last in full; it stays until the next is here. */
  private before: (Source | null)[] = [];
  private tiles: Tiles<WebGLTexture>;
  private painter: Painter;
  private scheduled = false;
  private image = { width: 1, height: 1 };
  /** What “fit” shows. */
  private target: Rect = { x: 0, y: 0, width: 1, height: 1 };
  divider = 0.5;
  unknownColour: [number, number, number] = [0.2, 0.2, 0.2];

  /** Called after each drawing, with the places of the panes and how each is filled, to draw on the overlay. */
  decorate: ((context: CanvasRenderingContext2D, panes: Rect[], filled: Filled[]) => void) | null = null;
  /** Called when the view was set, and after each drawing: a picture of another size is fitted. */
  viewed: (() => void) | null = null;
  /** Called when the mouse is over an image pixel; pane −1 when it leaves. */
  onHover: ((pane: number, x: number, y: number) => void) | null = null;
  /** Called on pointer events in image coordinates; true takes the drag away from panning. */
  onPress: ((pane: number, x: number, y: number) => boolean) | null = null;
  onDrag: ((x: number, y: number) => void) | null = null;
  onRelease: ((x: number, y: number, moved: boolean) => void) | null = null;
  /** Called when what was begun is not to count: a second finger came, or the system took the pointer. */
  onTakeBack: (() => void) | null = null;
  /** Called when the keys move the chosen pixel. */
  onNudge: ((dx: number, dy: number) => void) | null = null;
  onKey: ((event: KeyboardEvent) => boolean) | null = null;

  constructor(
    private host: HTMLElement,
    tileSize: number,
    label: string,
  ) {
    const gl = this.canvas.getContext("webgl2", { antialias: false, preserveDrawingBuffer: true });
    if (!gl) throw new Error("WebGL2 is not available");
    this.painter = new Painter(gl);
    this.tiles = new Tiles(
      tileSize,
      (data, width, height) => this.painter.upload(data, width, height),
      (texture) => this.painter.forget(texture),
      () => this.redraw(),
    );
    this.overlay.className = "overlay";
    this.overlay.tabIndex = 0;
    this.overlay.setAttribute("role", "application");
    this.overlay.setAttribute("aria-label", label);
    host.append(this.canvas, this.overlay);
    new ResizeObserver(() => this.redraw()).observe(host);
    this.canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    this.canvas.addEventListener("webglcontextrestored", () => {
      this.tiles.clear();
      this.painter.restore();
      this.redraw();
    });
    listen(this.overlay, this);
  }

  setPalette(name: string, rgb: Uint8Array): void {
    this.painter.setPalette(name, rgb);
  }

  setImage(width: number, height: number): void {
    if (width === this.image.width && height === this.image.height) return;
    this.image = { width, height };
    this.target = { x: 0, y: 0, width, height };
    this.view = null;
    this.redraw();
  }

  /** Say which part of the image “fit” shows. */
  setTarget(target: Rect | null): void {
    const { width, height } = this.image;
    this.target = target ?? { x: 0, y: 0, width, height };
    this.redraw();
  }

  setPanes(panes: Pane[]): void {
    this.panes = panes;
    for (const { source, other } of panes) {
      // What is drawn first is asked for at once: the next drawing may be a while off.
      for (const one of [source, other]) if (one) this.tiles.load(one, this.tiles.coarsest(one));
    }
    this.redraw();
  }

  /** Ask again for what could not be had. */
  retry(): void {
    this.tiles.retry();
    this.redraw();
  }

  fit(): void {
    this.setView(null);
  }

  getView(): View | null {
    return this.view;
  }

  setView(view: View | null): void {
    this.view = view;
    this.viewed?.(); // not at the next drawing: whoever sets the view until then would undo this one
    this.redraw();
  }

  zoom(factor: number, at?: { pane: number; x: number; y: number }): void {
    const rect = this.rects()[at?.pane ?? 0]!;
    const middle: [number, number] = [rect.x + rect.width / 2, rect.y + rect.height / 2];
    this.setView(zoomed(rect, this.shownView(rect), factor, this.image, at ? [at.x, at.y] : middle));
  }

  split(pane: number): number | null {
    const rect = this.rects()[pane];
    return rect && this.panes[pane]?.other ? rect.x + rect.width * this.divider : null;
  }

  setSplit(share: number): void {
    this.divider = Math.min(Math.max(share, 0.02), 0.98);
    this.redraw();
  }

  pressed(pane: number, x: number, y: number): boolean {
    return this.onPress?.(pane, x, y) ?? false;
  }
  dragged(x: number, y: number): void {
    this.onDrag?.(x, y);
  }
  released(x: number, y: number, moved: boolean): void {
    this.onRelease?.(x, y, moved);
  }
  takenBack(): void {
    this.onTakeBack?.();
  }
  hovered(pane: number, x: number, y: number): void {
    this.onHover?.(pane, x, y);
  }
  nudged(dx: number, dy: number): void {
    this.onNudge?.(dx, dy);
  }

  keyed(event: KeyboardEvent): boolean {
    return this.onKey?.(event) ?? false;
  }

  redraw(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.draw();
    });
  }

  /** Where the panes are, in CSS pixels. */
  rects(): Rect[] {
    return cut(Math.max(this.panes.length, 1), this.host.clientWidth, this.host.clientHeight, this.target);
  }

  shownView(rect: Rect): View {
    return this.view ?? fitted(rect, this.target);
  }

  /** Screen pixels per image pixel. */
  scale(): number {
    return this.shownView(this.rects()[0]!).scale;
  }

  toScreen(rect: Rect, x: number, y: number): [number, number] {
    return toScreen(rect, this.shownView(rect), x, y);
  }

  private placeOf(source: Source): [number, number, number, number] {
    return source.place ?? [0, 0, this.image.width, this.image.height];
  }

  /** The value at an image pixel of a source, from the finest tile that is here. */
  value(source: Source, x: number, y: number): number[] | null {
    const place = this.placeOf(source);
    const sx = ((x - place[0]) * source.width) / place[2];
    const sy = ((y - place[1]) * source.height) / place[3];
    if (sx < 0 || sy < 0 || sx >= source.width || sy >= source.height) return null;
    return this.tiles.value(source, sx, sy);
  }

  private draw(): void {
    const ratio = window.devicePixelRatio || 1;
    const { clientWidth: width, clientHeight: height } = this.host;
    if (!width || !height) return;
    for (const canvas of [this.canvas, this.overlay]) {
      if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
      }
    }
    this.painter.clear(this.unknownColour);
    const wanted = new Set<string>();
    const rects = this.rects();
    this.panes.forEach((pane, k) => {
      const rect = rects[k]!;
      const split = rect.x + rect.width * this.divider;
      const left = pane.other ? { ...rect, width: split - rect.x } : rect;
      if (pane.under) this.drawSource(pane.under, rect, rect, wanted);
      this.drawNewest(2 * k, pane.source, rect, left, wanted);
      const right = { ...rect, x: split, width: rect.x + rect.width - split };
      this.drawNewest(2 * k + 1, pane.other ?? null, rect, right, wanted);
    });
    this.before.length = 2 * this.panes.length;
    const keys = this.before.flatMap((source) => source?.key ?? []).join(" ");
    if (keys !== this.canvas.dataset["shown"]) this.canvas.dataset["shown"] = keys;
    this.tiles.tidy(wanted);
    const context = this.overlay.getContext("2d")!;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    this.decorate?.(
      context,
      rects,
      this.panes.map(({ source }, k) => (this.before[2 * k] ? "shown" : source ? "waiting" : "nothing")),
    );
    this.viewed?.();
  }

  /** Draw a source, over what was there before as long as its own tiles are on their way. */
  private drawNewest(place: number, source: Source | null, rect: Rect, clip: Rect, wanted: Set<string>): void {
    const before = this.before[place];
    const here = source && this.tiles.begun(source);
    if (source && before && before.key !== source.key && !here) this.drawSource(before, rect, clip, wanted);
    if (source) this.drawSource(source, rect, clip, wanted);
    if (!source || here) this.before[place] = source;
  }

  private drawSource(source: Source, rect: Rect, clip: Rect, wanted: Set<string>): void {
    const ratio = window.devicePixelRatio || 1;
    const view = this.shownView(rect);
    const below = this.canvas.height;
    const viewport = [rect.x, below / ratio - (rect.y + rect.height), rect.width, rect.height].map((v) =>
      Math.round(v * ratio),
    );
    // Cut where the source ends: the last pixel of a halved level may stand for less than 2×2.
    const covers = this.placeOf(source);
    const from = toScreen(rect, view, covers[0], covers[1]);
    const to = toScreen(rect, view, covers[0] + covers[2], covers[1] + covers[3]);
    const edges = [
      Math.max(clip.x, from[0]),
      Math.max(clip.y, from[1]),
      Math.min(clip.x + clip.width, to[0]),
      Math.min(clip.y + clip.height, to[1]),
    ].map((edge) => Math.round(edge * ratio)) as [number, number, number, number];
    if (edges[2] <= edges[0] || edges[3] <= edges[1]) return;
    const scissor: [number, number, number, number] = [
      edges[0],
      below - edges[3],
      edges[2] - edges[0],
      edges[3] - edges[1],
    ];
    const map = source.kind === "map";
    this.painter.begin(viewport as [number, number, number, number], scissor, map, source.range, source.palette);
    // Image pixels per pixel of the source: a preview is stretched over what it stands for.
    const sx = covers[2] / source.width;
    const sy = covers[3] / source.height;
    const coarsest = this.tiles.levels(source) - 1;
    const fine = Math.floor(Math.log2(1 / (view.scale * ratio * sx)) + 0.25);
    const level = Math.min(Math.max(fine, 0), coarsest);
    for (let l = coarsest; l >= level; l--) {
      const side = this.tiles.size * 2 ** l;
      for (const spot of shownTiles(rect, view, source, covers, this.tiles.size, l)) {
        if (l === level || l === coarsest) {
          wanted.add(this.tiles.key(source, spot));
          this.tiles.load(source, spot);
        }
        const tile = this.tiles.use(source, spot);
        const doubt =
          source.confidence && this.confidenceOf(source.confidence, spot, l === level || l === coarsest, wanted);
        if (!tile) continue;
        const x = covers[0] + spot.column * side * sx;
        const y = covers[1] + spot.row * side * sy;
        const clipped: [number, number, number, number] = [
          ((x - view.x) * view.scale * 2) / rect.width,
          (-(y - view.y) * view.scale * 2) / rect.height,
          (tile.width * 2 ** l * sx * view.scale * 2) / rect.width,
          (-tile.height * 2 ** l * sy * view.scale * 2) / rect.height,
        ];
        this.painter.draw(tile.texture, doubt ?? null, clipped, map, view.scale * ratio * sx * 2 ** l >= 2);
      }
    }
  }

  /** The confidence that belongs to a tile, if it is here; it is asked for with the tile. */
  private confidenceOf(source: Source, spot: Spot, asked: boolean, wanted: Set<string>): WebGLTexture | undefined {
    if (asked) {
      wanted.add(this.tiles.key(source, spot));
      this.tiles.load(source, spot);
    }
    return this.tiles.use(source, spot)?.texture;
  }
}
