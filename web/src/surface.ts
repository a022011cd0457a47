// The surface in three dimensions: a grid of the depth map under the all-in-focus image.
// Loaded on demand; draws only when something changes.

import * as three from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { el, short } from "./dom";

export interface Relief {
  /** Depth of a grid, row by row; NaN where unknown. */
  depth: Float32Array;
  columns: number;
  rows: number;
  /** Height of the image over its width. */
  aspect: number;
  /** Depth range over width of the image, if both are known in the same unit. */
  proportion: number | null;
  range: [number, number];
  unit: string;
  picture: HTMLCanvasElement;
}

/** Depth range over image width when the pixel size is unknown. */
const PLAUSIBLE = 0.25;
const LIGHT_STRIDE = 2;

export class Surface {
  private renderer: three.WebGLRenderer;
  private scene = new three.Scene();
  private camera = new three.PerspectiveCamera(35, 1, 0.01, 50);
  private orbit: OrbitControls;
  private sun = new three.DirectionalLight(0xffffff, 2.2);
  private fine: three.Mesh | null = null;
  private light: three.Mesh | null = null;
  private waiting = 0;
  private scheduled = false;
  private height = 1;
  private shine = true;
  private relief: Relief | null = null;
  private words = el("p", { class: "muted small" });

  constructor(private host: HTMLElement) {
    this.renderer = new three.WebGLRenderer({ antialias: false, alpha: true, preserveDrawingBuffer: true });
    this.renderer.domElement.id = "surface-canvas";
    this.renderer.domElement.setAttribute("aria-label", "The surface in three dimensions; drag to rotate");
    host.append(this.renderer.domElement, this.tools());
    this.scene.add(this.sun, new three.AmbientLight(0xffffff, 1.1));
    this.aimLight(0.6);
    this.orbit = new OrbitControls(this.camera, this.renderer.domElement);
    this.orbit.addEventListener("change", () => this.draw());
    this.orbit.addEventListener("start", () => this.lighten(true));
    this.orbit.addEventListener("end", () => this.lighten(false));
    this.reset();
    new ResizeObserver(() => this.draw()).observe(host);
  }

  show(relief: Relief): void {
    this.relief = relief;
    this.build();
  }

  reset(): void {
    this.camera.position.set(0, -1.05, 1.25);
    this.camera.up.set(0, 0, 1);
    this.orbit.target.set(0, 0, 0);
    this.orbit.update();
    this.draw();
  }

  private tools(): HTMLElement {
    const height = el("input", { type: "range", min: -1, max: 1, step: 0.02, value: 0, "aria-label": "Exaggerate height", id: "exaggerate" });
    height.addEventListener("input", () => {
      this.height = 4 ** Number(height.value);
      for (const mesh of [this.fine, this.light]) mesh?.scale.setZ(this.height);
      this.tell();
      this.draw();
    });
    const light = el("input", { type: "range", min: 0, max: 6.28, step: 0.05, value: 0.6, "aria-label": "Direction of the light" });
    light.addEventListener("input", () => this.aimLight(Number(light.value)));
    const colour = el("input", { type: "checkbox", checked: true, onchange: () => {
      this.shine = !this.shine;
      this.build();
    } });
    return el("div", { class: "surface-tools" },
      el("label", { class: "small" }, "Height", height),
      el("label", { class: "small" }, "Light", light),
      el("label", { class: "row small" }, colour, "Picture on the surface"),
      this.words,
      el("button", { type: "button", onclick: () => this.reset() }, "Look from the front"));
  }

  private tell(): void {
    const relief = this.relief;
    if (!relief) return;
    const by = short(this.height, 2);
    this.words.textContent = relief.proportion === null
      ? `Height × ${by} of a quarter of the width: pixel size and depth have no common unit.`
      : `Height × ${by} of the true proportion.`;
  }

  private aimLight(angle: number): void {
    this.sun.position.set(Math.cos(angle), Math.sin(angle), 1.1);
    this.draw();
  }

  private build(): void {
    const relief = this.relief;
    if (!relief) return;
    for (const mesh of [this.fine, this.light]) {
      if (!mesh) continue;
      this.scene.remove(mesh);
      mesh.geometry.dispose();
    }
    const texture = new three.CanvasTexture(relief.picture);
    texture.generateMipmaps = false;
    texture.minFilter = three.LinearFilter;
    texture.colorSpace = three.SRGBColorSpace;
    const material = new three.MeshLambertMaterial(
      this.shine ? { map: texture, side: three.DoubleSide } : { color: 0xb9c4c6, side: three.DoubleSide },
    );
    this.fine = new three.Mesh(grid(relief, 1), material);
    this.light = new three.Mesh(grid(relief, LIGHT_STRIDE), material);
    this.light.visible = false;
    for (const mesh of [this.fine, this.light]) {
      mesh.scale.setZ(this.height);
      this.scene.add(mesh);
    }
    this.tell();
    this.draw();
  }

  private lighten(yes: boolean): void {
    clearTimeout(this.waiting);
    const swap = (): void => {
      if (!this.fine || !this.light) return;
      this.fine.visible = !yes;
      this.light.visible = yes;
      this.draw();
    };
    if (yes) swap();
    else this.waiting = window.setTimeout(swap, 120);
  }

  private draw(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      const { clientWidth: width, clientHeight: height } = this.host;
      if (!width || !height) return;
      const moving = this.light?.visible ?? false;
      this.renderer.setPixelRatio(moving ? 0.5 : Math.min(window.devicePixelRatio, 2));
      this.renderer.setSize(width, height);
      this.camera.aspect = width / height;
      this.camera.updateProjectionMatrix();
      this.renderer.render(this.scene, this.camera);
    });
  }
}

/** Triangles of every stride-th pixel; none where depth is unknown, or across a jump. */
function grid(relief: Relief, stride: number): three.BufferGeometry {
  const { depth, columns, rows, aspect } = relief;
  const across = Math.floor((columns - 1) / stride) + 1;
  const down = Math.floor((rows - 1) / stride) + 1;
  const [low, high] = relief.range;
  const middle = (low + high) / 2;
  const scale = (relief.proportion ?? PLAUSIBLE) / Math.max(high - low, 1e-12);
  const places = new Float32Array(3 * across * down);
  const within = new Float32Array(2 * across * down);
  const at = (i: number, j: number): number =>
    depth[Math.min(i * stride, rows - 1) * columns + Math.min(j * stride, columns - 1)]!;
  for (let i = 0; i < down; i++) {
    for (let j = 0; j < across; j++) {
      const k = i * across + j;
      const u = j / Math.max(across - 1, 1);
      const v = i / Math.max(down - 1, 1);
      const value = at(i, j);
      // Depth grows away from the lens; the viewer stands where the lens was.
      places.set([u - 0.5, (0.5 - v) * aspect, value === value ? (middle - value) * scale : 0], 3 * k);
      within.set([u, 1 - v], 2 * k);
    }
  }
  const jump = jumpHeight(relief, stride);
  const triangles: number[] = [];
  const joined = (a: number, b: number): boolean => Math.abs(a - b) <= jump; // false for NaN
  for (let i = 0; i + 1 < down; i++) {
    for (let j = 0; j + 1 < across; j++) {
      const k = i * across + j;
      const [a, b, c, d] = [at(i, j), at(i, j + 1), at(i + 1, j), at(i + 1, j + 1)];
      if (joined(a, b) && joined(b, c) && joined(a, c)) triangles.push(k, k + across, k + 1);
      if (joined(b, c) && joined(c, d) && joined(b, d)) triangles.push(k + 1, k + across, k + across + 1);
    }
  }
  const geometry = new three.BufferGeometry();
  geometry.setAttribute("position", new three.BufferAttribute(places, 3));
  geometry.setAttribute("uv", new three.BufferAttribute(within, 2));
  geometry.setIndex(triangles);
  geometry.computeVertexNormals();
  return geometry;
}

/** Differences of neighbours above this are jumps: eight times the 90th percentile, or a tenth of the range. */
function jumpHeight(relief: Relief, stride: number): number {
  const { depth, columns, range } = relief;
  const steps: number[] = [];
  for (let k = 0; k + stride < depth.length; k += 7) {
    if (k % columns < columns - stride) {
      const step = Math.abs(depth[k + stride]! - depth[k]!);
      if (step === step) steps.push(step);
    }
  }
  steps.sort((a, b) => a - b);
  const usual = steps[Math.floor(steps.length * 0.9)] ?? 0;
  return Math.max(8 * usual, 0.1 * (range[1] - range[0]));
}
