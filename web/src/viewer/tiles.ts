// Tiles of maps and pictures: asked for, tried again, kept, and forgotten. Knows nothing of drawing.

import { levels, type Spot } from "./layout";

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
  /** The confidence of the same pixels: what is unsure is hatched. */
  confidence?: Source;
}

export interface Tile<Texture> {
  texture: Texture;
  data: Float32Array | Uint8Array;
  width: number;
  height: number;
  used: number;
}

const CACHE_BYTES = 320 << 20;

/** Fewer than the six connections of a browser: strokes and “cancel” never wait behind tiles. */
const LOADING_AT_ONCE = 4;

/** Milliseconds until the first, second … further attempt; all after these wait as long as the last. */
export const RETRIES = [250, 1000, 3000, 8000];

export class Tiles<Texture> {
  private tiles = new Map<string, Tile<Texture>>();
  private loading = new Map<string, AbortController>();
  private attempts = new Map<string, number>();
  private resting = new Map<string, ReturnType<typeof setTimeout>>();
  private cached = 0;
  private clock = 0;

  /**
   * @param size side of a tile
   * @param keep makes a texture of pixels
   * @param drop forgets one
   * @param changed is called when a tile has come, or may be asked for again
   */
  constructor(
    readonly size: number,
    private keep: (data: Float32Array | Uint8Array, width: number, height: number) => Texture,
    private drop: (texture: Texture) => void,
    private changed: () => void,
  ) {}

  clear(): void {
    this.tiles.clear();
    this.cached = 0;
  }

  /** Try at once what was to be tried later. */
  retry(): void {
    for (const timer of this.resting.values()) clearTimeout(timer);
    this.resting.clear();
    this.attempts.clear();
  }

  levels(source: Source): number {
    return levels(source.width, source.height, this.size);
  }

  key(source: Source, { level, column, row }: Spot): string {
    return `${source.key}/${level}/${column}/${row}`;
  }

  has(source: Source, spot: Spot): boolean {
    return this.tiles.has(this.key(source, spot));
  }

  /** The tile, marked as used; undefined if it is not here. */
  use(source: Source, spot: Spot): Tile<Texture> | undefined {
    const tile = this.tiles.get(this.key(source, spot));
    if (tile) tile.used = ++this.clock;
    return tile;
  }

  /** Whether the coarsest level, one tile, is here. */
  begun(source: Source): boolean {
    return this.has(source, this.coarsest(source));
  }

  coarsest(source: Source): Spot {
    return { level: this.levels(source) - 1, column: 0, row: 0 };
  }

  /** Ask for a tile, unless it is here, on its way, or so many others are. */
  load(source: Source, spot: Spot): void {
    const key = this.key(source, spot);
    if (this.tiles.has(key) || this.loading.has(key) || this.resting.has(key)) return;
    if (this.loading.size >= LOADING_AT_ONCE) return;
    const controller = new AbortController();
    this.loading.set(key, controller);
    source
      .tile(spot.level, spot.column, spot.row, controller.signal)
      .then((buffer) => {
        this.attempts.delete(key);
        if (!this.tiles.has(key)) this.store(key, source, spot, buffer); // asked for twice: the first came late
      })
      .catch((error: unknown) => {
        if (!controller.signal.aborted) this.rest(key, error instanceof DOMException && error.name === "AbortError");
      })
      .finally(() => {
        if (this.loading.get(key) === controller) this.loading.delete(key);
        this.changed();
      });
  }

  /**
   * Wait before a tile is asked for again: whatever refused it may be over by then. It is asked for as long as it is
   * wanted, or a pane would stay empty for ever. One that was overtaken by other requests was not refused.
   */
  private rest(key: string, overtaken: boolean): void {
    const tried = overtaken ? 0 : (this.attempts.get(key) ?? 0);
    if (!overtaken) this.attempts.set(key, tried + 1);
    const timer = setTimeout(
      () => {
        this.resting.delete(key);
        this.changed();
      },
      RETRIES[Math.min(tried, RETRIES.length - 1)],
    );
    this.resting.set(key, timer);
  }

  private store(key: string, source: Source, { level, column }: Spot, buffer: ArrayBuffer): void {
    const width = Math.min(this.size, Math.ceil(source.width / 2 ** level) - column * this.size);
    const height = buffer.byteLength / 4 / width;
    const data = source.kind === "map" ? new Float32Array(buffer) : new Uint8Array(buffer);
    this.cached += buffer.byteLength;
    this.tiles.set(key, { texture: this.keep(data, width, height), data, width, height, used: ++this.clock });
  }

  /** Give up what is not wanted any more, and forget what was not used for long. */
  tidy(wanted: Set<string>): void {
    for (const [key, controller] of this.loading) {
      if (wanted.has(key)) continue;
      controller.abort();
      this.loading.delete(key);
    }
    if (this.cached < CACHE_BYTES) return;
    for (const [key, tile] of [...this.tiles].sort((a, b) => a[1].used - b[1].used)) {
      if (this.cached < 0.75 * CACHE_BYTES) return;
      if (wanted.has(key)) continue;
      this.drop(tile.texture);
      this.cached -= tile.data.byteLength;
      this.tiles.delete(key);
    }
  }

  /** The value at a pixel of a source, from the finest tile that is here. */
  value(source: Source, x: number, y: number): number[] | null {
    for (let level = 0; level < this.levels(source); level++) {
      const column = Math.floor(x / 2 ** level);
      const row = Math.floor(y / 2 ** level);
      const tile = this.tiles.get(
        this.key(source, { level, column: Math.floor(column / this.size), row: Math.floor(row / this.size) }),
      );
      if (!tile) continue;
      const i = column % this.size;
      const j = row % this.size;
      if (i < 0 || j < 0 || i >= tile.width || j >= tile.height) return null;
      const at = j * tile.width + i;
      if (source.kind === "map") return [tile.data[at]!];
      return [tile.data[4 * at]!, tile.data[4 * at + 1]!, tile.data[4 * at + 2]!];
    }
    return null;
  }
}
