// Maps and pictures side by side on one WebGL2 canvas: linked panes, tiles, colours in the shader.

export interface Source {
  /** Same key, same pixels. */
  key: string;
  kind: "map" | "picture";
  width: number;
  height: number;
  /** Left, top, width and height that it covers of the image; all of it by default. */
  place?: [number, number, number, number];
  /** Brings a tile: float32 or RGBA, row by row. */
  tile: (level: number, column: number, row: number, signal: AbortSignal) => Promise<ArrayBuffer>;
  range: [number, number];
  palette: string;
}

export interface Pane {
  source: Source | null;
  /** Shown right of the divider, if any. */
  other?: Source | null;
  /** Shown around and below. */
  under?: Source | null;
}

interface Tile {
  texture: WebGLTexture;
  data: Float32Array | Uint8Array;
  width: number;
  height: number;
  used: number;
}

interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}

const CACHE_BYTES = 320 << 20;
const LOADING_AT_ONCE = 6;
const LARGEST_SCALE = 40;
const GAP = 6;

const VERTEX = `#version 300 es
uniform vec4 place;   // of the tile, in clip coordinates: x, y, width, height
in vec2 corner;
out vec2 at;
void main() {
  at = corner;
  gl_Position = vec4(place.xy + corner * place.zw, 0.0, 1.0);
}`;

const FRAGMENT = `#version 300 es
precision highp float;
uniform sampler2D tile;
uniform sampler2D palette;
uniform vec2 range;
uniform int kind;     // 0 map, 1 picture
uniform vec3 plain;   // colour of what is unknown
in vec2 at;
out vec4 colour;
void main() {
  vec4 value = texture(tile, at);
  if (kind == 1) { colour = vec4(value.rgb, 1.0); return; }
  if (isnan(value.r)) {
    float stripe = step(0.5, fract((gl_FragCoord.x + gl_FragCoord.y) / 10.0));
    colour = vec4(mix(plain, plain * 0.9 + 0.06, stripe), 1.0);
    return;
  }
  float share = clamp((value.r - range.x) / (range.y - range.x), 0.0, 1.0);
  colour = vec4(texture(palette, vec2((share * 255.0 + 0.5) / 256.0, 0.5)).rgb, 1.0);
}`;

export class Viewer {
  readonly canvas = document.createElement("canvas");
  readonly overlay = document.createElement("canvas");
  /** Centre in image pixels, and screen pixels per image pixel; null fits the image. */
  private view: { x: number; y: number; scale: number } | null = null;
  private panes: Pane[] = [];
  /** What each pane showed last in full; it stays until the next is here. */
  private shown: (Source | null)[] = [];
  private tiles = new Map<string, Tile>();
  private loading = new Map<string, AbortController>();
  private failed = new Set<string>();
  private palettes = new Map<string, WebGLTexture>();
  private gl: WebGL2RenderingContext;
  private uniforms: Record<string, WebGLUniformLocation | null> = {};
  private scheduled = false;
  private clock = 0;
  private image = { width: 1, height: 1 };
  /** What “fit” shows. */
  private target: Rect = { x: 0, y: 0, width: 1, height: 1 };
  private cached = 0;
  divider = 0.5;
  unknownColour: [number, number, number] = [0.2, 0.2, 0.2];

  /** Called after each drawing, with the places of the panes, to draw on the overlay. */
  decorate: ((context: CanvasRenderingContext2D, panes: Rect[]) => void) | null = null;
  /** Called when the mouse is over an image pixel, or leaves. */
  hovered: ((pane: number, x: number, y: number) => void) | null = null;
  /** Called on pointer events in image coordinates; true takes the drag away from panning. */
  pressed: ((pane: number, x: number, y: number) => boolean) | null = null;
  dragged: ((x: number, y: number) => void) | null = null;
  released: ((x: number, y: number, moved: boolean) => void) | null = null;
  viewed: (() => void) | null = null;
  /** Called when the keys move the chosen pixel. */
  nudged: ((dx: number, dy: number) => void) | null = null;

  constructor(private host: HTMLElement, private tileSize: number) {
    const gl = this.canvas.getContext("webgl2", { antialias: false, preserveDrawingBuffer: true });
    if (!gl) throw new Error("WebGL2 is not available");
    this.gl = gl;
    this.overlay.className = "overlay";
    this.overlay.tabIndex = 0;
    this.overlay.setAttribute("role", "application");
    this.overlay.setAttribute("aria-label", "Maps. Arrow keys move, plus and minus zoom, 0 fits, 1 shows every pixel, shift with arrow keys moves the chosen pixel.");
    host.append(this.canvas, this.overlay);
    this.setUp();
    new ResizeObserver(() => this.redraw()).observe(host);
    this.canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    this.canvas.addEventListener("webglcontextrestored", () => {
      this.tiles.clear();
      this.palettes.clear();
      this.cached = 0;
      this.setUp();
      this.redraw();
    });
    this.listen();
  }

  private setUp(): void {
    const gl = this.gl;
    const program = gl.createProgram();
    for (const [kind, text] of [
      [gl.VERTEX_SHADER, VERTEX],
      [gl.FRAGMENT_SHADER, FRAGMENT],
    ] as const) {
      const shader = gl.createShader(kind)!;
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) {
        throw new Error(gl.getShaderInfoLog(shader) ?? "the shader does not compile");
      }
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    gl.useProgram(program);
    const corners = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, corners);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([0, 0, 1, 0, 0, 1, 1, 1]), gl.STATIC_DRAW);
    const corner = gl.getAttribLocation(program, "corner");
    gl.enableVertexAttribArray(corner);
    gl.vertexAttribPointer(corner, 2, gl.FLOAT, false, 0, 0);
    for (const name of ["place", "tile", "palette", "range", "kind", "plain"]) {
      this.uniforms[name] = gl.getUniformLocation(program, name);
    }
    gl.uniform1i(this.uniforms["tile"]!, 0);
    gl.uniform1i(this.uniforms["palette"]!, 1);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
  }

  setPalette(name: string, rgb: Uint8Array): void {
    const gl = this.gl;
    const texture = gl.createTexture()!;
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGB8, 256, 1, 0, gl.RGB, gl.UNSIGNED_BYTE, rgb);
    this.filter(gl.NEAREST, gl.NEAREST);
    this.palettes.set(name, texture);
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

  private placeOf(source: Source): [number, number, number, number] {
    return source.place ?? [0, 0, this.image.width, this.image.height];
  }

  setPanes(panes: Pane[]): void {
    this.panes = panes;
    this.failed.clear();
    for (const { source, other } of panes) {
      for (const one of [source, other]) if (one) this.loadCoarsest(one);
    }
    this.redraw();
  }

  fit(): void {
    this.view = null;
    this.redraw();
  }

  getView(): { x: number; y: number; scale: number } | null {
    return this.view;
  }

  setView(view: { x: number; y: number; scale: number } | null): void {
    this.view = view;
    this.redraw();
  }

  redraw(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.draw();
    });
  }

  /** Where the panes are, in CSS pixels; the number of columns shows the image largest. */
  rects(): Rect[] {
    const count = Math.max(this.panes.length, 1);
    const { clientWidth: width, clientHeight: height } = this.host;
    let columns = 1;
    let best = 0;
    for (let c = 1; c <= count; c++) {
      const rows = Math.ceil(count / c);
      const scale = Math.min(
        (width - GAP * (c - 1)) / c / this.target.width,
        (height - GAP * (rows - 1)) / rows / this.target.height,
      );
      if (scale > best * 1.0001) [best, columns] = [scale, c];
    }
    const rows = Math.ceil(count / columns);
    const w = (width - GAP * (columns - 1)) / columns;
    const h = (height - GAP * (rows - 1)) / rows;
    return Array.from({ length: count }, (_, k) => ({
      x: (k % columns) * (w + GAP),
      y: Math.floor(k / columns) * (h + GAP),
      width: w,
      height: h,
    }));
  }

  private shownView(rect: Rect): { x: number; y: number; scale: number } {
    if (this.view) return this.view;
    const { x, y, width, height } = this.target;
    return {
      x: x + width / 2,
      y: y + height / 2,
      scale: Math.min(rect.width / width, rect.height / height),
    };
  }

  /** Screen pixels per image pixel. */
  scale(): number {
    return this.shownView(this.rects()[0]!).scale;
  }

  toScreen(rect: Rect, x: number, y: number): [number, number] {
    const view = this.shownView(rect);
    return [
      rect.x + rect.width / 2 + (x - view.x) * view.scale,
      rect.y + rect.height / 2 + (y - view.y) * view.scale,
    ];
  }

  private toImage(rect: Rect, x: number, y: number): [number, number] {
    const view = this.shownView(rect);
    return [
      view.x + (x - rect.x - rect.width / 2) / view.scale,
      view.y + (y - rect.y - rect.height / 2) / view.scale,
    ];
  }

  /** The value at an image pixel of a source, from the finest tile that is here. */
  value(source: Source, x: number, y: number): number[] | null {
    const place = this.placeOf(source);
    const sx = ((x - place[0]) * source.width) / place[2];
    const sy = ((y - place[1]) * source.height) / place[3];
    if (sx < 0 || sy < 0 || sx >= source.width || sy >= source.height) return null;
    for (let level = 0; level < this.levels(source); level++) {
      const column = Math.floor(sx / 2 ** level);
      const row = Math.floor(sy / 2 ** level);
      const key = this.key(source, level, Math.floor(column / this.tileSize), Math.floor(row / this.tileSize));
      const tile = this.tiles.get(key);
      if (!tile) continue;
      const i = column % this.tileSize;
      const j = row % this.tileSize;
      if (i < 0 || j < 0 || i >= tile.width || j >= tile.height) return null;
      const at = j * tile.width + i;
      if (source.kind === "map") return [tile.data[at]!];
      return [tile.data[4 * at]!, tile.data[4 * at + 1]!, tile.data[4 * at + 2]!];
    }
    return null;
  }

  private levels(source: Source): number {
    let count = 1;
    let side = Math.max(source.width, source.height);
    for (; side > this.tileSize; side = Math.ceil(side / 2)) count++;
    return count;
  }

  private key(source: Source, level: number, column: number, row: number): string {
    return `${source.key}/${level}/${column}/${row}`;
  }

  private draw(): void {
    const gl = this.gl;
    const ratio = window.devicePixelRatio || 1;
    const { clientWidth: width, clientHeight: height } = this.host;
    if (!width || !height) return;
    for (const canvas of [this.canvas, this.overlay]) {
      if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
      }
    }
    gl.disable(gl.SCISSOR_TEST);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.SCISSOR_TEST);
    gl.uniform3fv(this.uniforms["plain"]!, this.unknownColour);
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
    this.shown.length = 2 * this.panes.length;
    const keys = this.shown.flatMap((source) => source?.key ?? []).join(" ");
    if (keys !== this.canvas.dataset["shown"]) this.canvas.dataset["shown"] = keys;
    for (const [key, controller] of this.loading) {
      if (!wanted.has(key)) {
        controller.abort();
        this.loading.delete(key);
      }
    }
    this.forgetOld(wanted);
    const context = this.overlay.getContext("2d")!;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    this.decorate?.(context, rects);
    this.viewed?.();
  }

  /** Draw a source, over what was there before as long as its own tiles are on their way. */
  private drawNewest(place: number, source: Source | null, rect: Rect, clip: Rect, wanted: Set<string>): void {
    const before = this.shown[place];
    const here = source && this.tiles.has(this.key(source, this.levels(source) - 1, 0, 0));
    if (source && before && before.key !== source.key && !here) this.drawSource(before, rect, clip, wanted);
    if (source) this.drawSource(source, rect, clip, wanted);
    if (!source || here) this.shown[place] = source;
  }

  private drawSource(source: Source, rect: Rect, clip: Rect, wanted: Set<string>): void {
    const gl = this.gl;
    const ratio = window.devicePixelRatio || 1;
    const view = this.shownView(rect);
    const below = this.canvas.height;
    gl.viewport(
      Math.round(rect.x * ratio),
      Math.round(below - (rect.y + rect.height) * ratio),
      Math.round(rect.width * ratio),
      Math.round(rect.height * ratio),
    );
    // Cut where the source ends: the last pixel of a halved level may stand for less than 2×2.
    const covers = this.placeOf(source);
    const from = this.toScreen(rect, covers[0], covers[1]);
    const to = this.toScreen(rect, covers[0] + covers[2], covers[1] + covers[3]);
    const edges = [Math.max(clip.x, from[0]), Math.max(clip.y, from[1]), Math.min(clip.x + clip.width, to[0]), Math.min(clip.y + clip.height, to[1])]
      .map((edge) => Math.round(edge * ratio)) as [number, number, number, number];
    if (edges[2] <= edges[0] || edges[3] <= edges[1]) return;
    gl.scissor(edges[0], below - edges[3], edges[2] - edges[0], edges[3] - edges[1]);
    gl.uniform1i(this.uniforms["kind"]!, source.kind === "map" ? 0 : 1);
    gl.uniform2f(this.uniforms["range"]!, ...source.range);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, this.palettes.get(source.palette) ?? null);
    gl.activeTexture(gl.TEXTURE0);
    // Image pixels per pixel of the source: a preview is stretched over what it stands for.
    const sx = covers[2] / source.width;
    const sy = covers[3] / source.height;
    const levels = this.levels(source);
    const fine = Math.floor(Math.log2(1 / (view.scale * ratio * sx)) + 0.25);
    const level = Math.min(Math.max(fine, 0), levels - 1);
    for (let l = levels - 1; l >= level; l--) {
      const side = this.tileSize * 2 ** l;
      const left = (view.x - covers[0] - rect.width / 2 / view.scale) / sx;
      const top = (view.y - covers[1] - rect.height / 2 / view.scale) / sy;
      const right = (view.x - covers[0] + rect.width / 2 / view.scale) / sx;
      const bottom = (view.y - covers[1] + rect.height / 2 / view.scale) / sy;
      const lastColumn = Math.ceil(source.width / side) - 1;
      const lastRow = Math.ceil(source.height / side) - 1;
      for (let row = Math.max(Math.floor(top / side), 0); row <= Math.min(Math.floor(bottom / side), lastRow); row++) {
        for (let column = Math.max(Math.floor(left / side), 0); column <= Math.min(Math.floor(right / side), lastColumn); column++) {
          const key = this.key(source, l, column, row);
          const tile = this.tiles.get(key);
          if (l === level || l === levels - 1) {
            wanted.add(key);
            if (!tile) this.load(source, l, column, row);
          }
          if (!tile) continue;
          tile.used = ++this.clock;
          const place = {
            x: covers[0] + column * side * sx,
            y: covers[1] + row * side * sy,
            width: tile.width * 2 ** l * sx,
            height: tile.height * 2 ** l * sy,
          };
          gl.bindTexture(gl.TEXTURE_2D, tile.texture);
          const large = view.scale * ratio * sx * 2 ** l >= 2 || source.kind === "map";
          this.filter(source.kind === "map" ? gl.NEAREST : gl.LINEAR, large ? gl.NEAREST : gl.LINEAR);
          gl.uniform4f(
            this.uniforms["place"]!,
            ((place.x - view.x) * view.scale * 2) / rect.width,
            (-(place.y - view.y) * view.scale * 2) / rect.height,
            (place.width * view.scale * 2) / rect.width,
            (-place.height * view.scale * 2) / rect.height,
          );
          gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
        }
      }
    }
  }

  private filter(small: number, large: number): void {
    const gl = this.gl;
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, small);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, large);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
  }

  /** Ask for what is drawn first at once: the next drawing may be a while off. */
  private loadCoarsest(source: Source): void {
    const level = this.levels(source) - 1;
    if (!this.tiles.has(this.key(source, level, 0, 0))) this.load(source, level, 0, 0);
  }

  private load(source: Source, level: number, column: number, row: number): void {
    const key = this.key(source, level, column, row);
    if (this.loading.has(key) || this.failed.has(key) || this.loading.size >= LOADING_AT_ONCE) return;
    const controller = new AbortController();
    this.loading.set(key, controller);
    source
      .tile(level, column, row, controller.signal)
      .then((buffer) => this.keep(key, source, level, column, buffer))
      .catch((error: unknown) => {
        if (!(error instanceof DOMException && error.name === "AbortError")) this.failed.add(key);
      })
      .finally(() => {
        if (this.loading.get(key) === controller) this.loading.delete(key);
        this.redraw();
      });
  }

  private keep(key: string, source: Source, level: number, column: number, buffer: ArrayBuffer): void {
    const gl = this.gl;
    const across = Math.ceil(source.width / 2 ** level) - column * this.tileSize;
    const width = Math.min(this.tileSize, across);
    const map = source.kind === "map";
    const height = buffer.byteLength / 4 / width;
    const data = map ? new Float32Array(buffer) : new Uint8Array(buffer);
    const texture = gl.createTexture()!;
    gl.bindTexture(gl.TEXTURE_2D, texture);
    if (map) gl.texImage2D(gl.TEXTURE_2D, 0, gl.R32F, width, height, 0, gl.RED, gl.FLOAT, data);
    else gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, width, height, 0, gl.RGBA, gl.UNSIGNED_BYTE, data);
    this.cached += buffer.byteLength;
    this.tiles.set(key, { texture, data, width, height, used: ++this.clock });
  }

  private forgetOld(wanted: Set<string>): void {
    if (this.cached < CACHE_BYTES) return;
    const oldest = [...this.tiles].sort((a, b) => a[1].used - b[1].used);
    for (const [key, tile] of oldest) {
      if (this.cached < 0.75 * CACHE_BYTES) return;
      if (wanted.has(key)) continue;
      this.gl.deleteTexture(tile.texture);
      this.cached -= tile.data.byteLength;
      this.tiles.delete(key);
    }
  }

  // Pointer and keys

  private paneAt(x: number, y: number): number {
    return this.rects().findIndex(
      (r) => x >= r.x && y >= r.y && x < r.x + r.width && y < r.y + r.height,
    );
  }

  zoom(factor: number, at?: { pane: number; x: number; y: number }): void {
    const rect = this.rects()[at?.pane ?? 0]!;
    const view = this.shownView(rect);
    const fit = Math.min(rect.width / this.image.width, rect.height / this.image.height);
    const scale = Math.min(Math.max(view.scale * factor, fit * 0.5), LARGEST_SCALE);
    const px = at ? at.x : rect.x + rect.width / 2;
    const py = at ? at.y : rect.y + rect.height / 2;
    const [x, y] = this.toImage(rect, px, py);
    this.setView({
      scale,
      x: x - (px - rect.x - rect.width / 2) / scale,
      y: y - (py - rect.y - rect.height / 2) / scale,
    });
  }

  private listen(): void {
    const surface = this.overlay;
    let from: { x: number; y: number; pane: number; view: { x: number; y: number; scale: number } } | null = null;
    let mode: "pan" | "tool" | "divider" = "pan";
    let moved = false;
    const place = (event: PointerEvent | WheelEvent): [number, number] => {
      const box = surface.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    surface.addEventListener("wheel", (event) => {
      event.preventDefault();
      const [x, y] = place(event);
      const pane = this.paneAt(x, y);
      if (pane >= 0) this.zoom(Math.exp(-event.deltaY * 0.0015), { pane, x, y });
    }, { passive: false });
    surface.addEventListener("pointerdown", (event) => {
      if (event.button > 1) return;
      const [x, y] = place(event);
      const pane = this.paneAt(x, y);
      if (pane < 0) return;
      const rect = this.rects()[pane]!;
      surface.setPointerCapture(event.pointerId);
      from = { x, y, pane, view: this.shownView(rect) };
      moved = false;
      const split = rect.x + rect.width * this.divider;
      if (this.panes[pane]?.other && Math.abs(x - split) < 12) mode = "divider";
      else {
        const [ix, iy] = this.toImage(rect, x, y);
        mode = event.button === 0 && this.pressed?.(pane, ix, iy) ? "tool" : "pan";
      }
    });
    surface.addEventListener("pointermove", (event) => {
      const [x, y] = place(event);
      const pane = from?.pane ?? this.paneAt(x, y);
      if (pane < 0) return;
      const rect = this.rects()[pane]!;
      const [ix, iy] = this.toImage(rect, x, y);
      const split = rect.x + rect.width * this.divider;
      surface.style.cursor =
        this.panes[pane]?.other && Math.abs(x - split) < 12 ? "ew-resize" : "crosshair";
      if (from) {
        moved ||= Math.hypot(x - from.x, y - from.y) > 3;
        if (mode === "divider") {
          this.divider = Math.min(Math.max((x - rect.x) / rect.width, 0.02), 0.98);
          this.redraw();
        } else if (mode === "tool") this.dragged?.(ix, iy);
        else if (moved) {
          this.setView({
            scale: from.view.scale,
            x: from.view.x - (x - from.x) / from.view.scale,
            y: from.view.y - (y - from.y) / from.view.scale,
          });
        }
      }
      this.hovered?.(pane, ix, iy);
    });
    surface.addEventListener("pointerup", (event) => {
      if (!from) return;
      const [x, y] = place(event);
      const [ix, iy] = this.toImage(this.rects()[from.pane]!, x, y);
      if (mode !== "divider") this.released?.(ix, iy, moved);
      from = null;
    });
    surface.addEventListener("pointerleave", () => this.hovered?.(-1, 0, 0));
    surface.addEventListener("dblclick", () => this.fit());
    surface.addEventListener("keydown", (event) => {
      const step = 60;
      const view = this.shownView(this.rects()[0]!);
      const move = (dx: number, dy: number): void =>
        this.setView({ ...view, x: view.x + dx / view.scale, y: view.y + dy / view.scale });
      const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (event.shiftKey && arrow) this.nudged?.(arrow[0]!, arrow[1]!);
      else if (event.key === "Enter") this.nudged?.(0, 0);
      else if (event.key === "+" || event.key === "=") this.zoom(1.25);
      else if (event.key === "-") this.zoom(0.8);
      else if (event.key === "0") this.fit();
      else if (event.key === "1") this.zoom(1 / view.scale);
      else if (event.key === "ArrowLeft") move(-step, 0);
      else if (event.key === "ArrowRight") move(step, 0);
      else if (event.key === "ArrowUp") move(0, -step);
      else if (event.key === "ArrowDown") move(0, step);
      else return;
      event.preventDefault();
    });
  }
}
