// The surface in three dimensions: a grid of the depth map under picture or height colours.
// Loaded on demand; draws only when something changes.

import * as three from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { el } from "../dom";
import { short, t } from "../words";
import { Axes, drawScaleBar, type Ink } from "./axes";
import { grid, zScale, type Relief } from "./reliefgrid";
import { surfaceTools, type Coat, type SurfaceChoices, type From } from "./surfacetools";
import { roundStep } from "./ticks";

export type { Relief } from "./reliefgrid";

const LIGHT_STRIDE = 2;

/** Turns the scene, where z is up, so that y is. */
const UPRIGHT = new three.Quaternion().setFromUnitVectors(new three.Vector3(0, 0, 1), new three.Vector3(0, 1, 0));

/** Screen pixels that the box of switches takes. */
const BOX = 250;

/** Degrees that the camera sees from top to bottom. */
const FIELD = 35;

/** Distance of the camera from the middle, where the image is 1 wide. */
const DISTANCE = 1.9;

/** Where the camera stands; a hair off the poles, so that up is up. */
const STANDS: Record<From, [number, number, number]> = {
  front: [0, -0.65, 0.77],
  top: [0, -1e-4, 1],
  bottom: [0, -1e-4, -1],
  north: [0, 1, 0],
  south: [0, -1, 0],
  west: [-1, 0, 0],
  east: [1, 0, 0],
};

export class Surface {
  private renderer: three.WebGLRenderer;
  private overlay = el("canvas", { class: "surface-overlay" });
  private tools: HTMLDetailsElement;
  private scene = new three.Scene();
  private wide = new three.PerspectiveCamera(FIELD, 1, 0.01, 50);
  private parallel = new three.OrthographicCamera(-1, 1, 1, -1, 0.01, 50);
  private orbit: OrbitControls;
  private sun = new three.DirectionalLight(0xffffff, 2.2);
  private axes = new Axes();
  private fine: three.Mesh | null = null;
  private light: three.Mesh | null = null;
  private waiting = 0;
  private scheduled = false;
  private relief: Relief | null = null;
  private words = el("p", { class: "muted small" });
  private choices: SurfaceChoices = {
    height: 1,
    angle: 0.6,
    follows: false,
    coat: "picture",
    axes: true,
    contours: false,
    parallel: false,
  };

  constructor(private host: HTMLElement) {
    this.renderer = new three.WebGLRenderer({ antialias: false, alpha: true, preserveDrawingBuffer: true });
    this.renderer.domElement.id = "surface-canvas";
    this.renderer.domElement.setAttribute("aria-label", t("surfaceLabel"));
    const tools = surfaceTools(this.choices, this.words, {
      changed: (what) => this.changed(what),
      look: (from) => this.look(from),
      save: () => void this.save(),
      folded: () => this.draw(),
    });
    this.tools = tools;
    // Here and not in a style sheet, for the report has one of its own.
    const above = { position: "absolute", inset: "0", width: "100%", height: "100%", pointerEvents: "none" };
    Object.assign(this.overlay.style, above);
    host.append(this.renderer.domElement, this.overlay, tools);
    this.scene.add(this.sun, new three.AmbientLight(0xffffff, 1.1), this.axes.lines);
    this.orbit = new OrbitControls(this.wide, this.renderer.domElement);
    this.orbit.addEventListener("change", () => this.draw());
    this.orbit.addEventListener("start", () => this.lighten(true));
    this.orbit.addEventListener("end", () => this.lighten(false));
    this.renderer.domElement.tabIndex = 0;
    this.renderer.domElement.setAttribute("role", "application");
    this.renderer.domElement.addEventListener("keydown", (event) => this.key(event));
    this.look("front");
    new ResizeObserver(() => this.draw()).observe(host);
    new MutationObserver(() => this.draw()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }

  show(relief: Relief): void {
    this.relief = relief;
    this.build();
  }

  private get camera(): three.PerspectiveCamera | three.OrthographicCamera {
    return this.choices.parallel ? this.parallel : this.wide;
  }

  /** Look from a side; straight views are without perspective. */
  private look(from: From): void {
    this.useCamera(from !== "front");
    const camera = this.camera;
    camera.up.set(0, 0, 1);
    camera.position.set(...STANDS[from]).multiplyScalar(DISTANCE);
    this.parallel.zoom = 1;
    this.orbit.target.set(0, 0, 0);
    this.orbit.update();
    this.host.dataset["side"] = from;
    this.draw();
  }

  /** Turn and zoom by keys. */
  private key(event: KeyboardEvent): void {
    const turns: Record<string, [number, number]> = {
      ArrowLeft: [-1, 0],
      ArrowRight: [1, 0],
      ArrowUp: [0, -1],
      ArrowDown: [0, 1],
    };
    const zooms: Record<string, number> = { "+": 0.9, "=": 0.9, "-": 1.1 };
    const [turn, zoom] = [turns[event.key], zooms[event.key]];
    if (event.key === "0") this.look("front");
    else if (zoom) this.camera.position.multiplyScalar(zoom);
    else if (turn) {
      const place = new three.Spherical().setFromVector3(this.camera.position.clone().applyQuaternion(UPRIGHT));
      place.theta += 0.1 * turn[0];
      place.phi = Math.min(Math.max(place.phi + 0.1 * turn[1], 0.05), Math.PI - 0.05);
      this.camera.position.setFromSpherical(place).applyQuaternion(UPRIGHT.clone().invert());
    } else return;
    event.preventDefault();
    this.orbit.update();
    this.draw();
  }

  private useCamera(parallel: boolean): void {
    if (parallel === this.choices.parallel && this.orbit.object === this.camera) return;
    const before = this.camera;
    this.choices.parallel = parallel;
    this.camera.position.copy(before.position);
    this.camera.up.copy(before.up);
    this.orbit.object = this.camera;
    this.orbit.update();
    const box = this.host.querySelector<HTMLInputElement>("#parallel");
    if (box) box.checked = parallel;
  }

  private changed(what: keyof SurfaceChoices): void {
    if (what === "parallel") {
      const wanted = this.choices.parallel;
      this.choices.parallel = !wanted;
      this.useCamera(wanted);
    }
    if (what === "coat" || what === "contours") this.build();
    if (what === "height") this.stretch();
    this.axes.lines.visible = this.choices.axes;
    this.tell();
    this.draw();
  }

  private stretch(): void {
    for (const mesh of [this.fine, this.light]) mesh?.scale.setZ(this.choices.height);
    if (this.relief) this.axes.build(this.relief, this.choices.height);
  }

  private tell(): void {
    const relief = this.relief;
    if (!relief) return;
    const by = short(this.choices.height, 2);
    const percent = short(25 * this.choices.height, 2);
    const scale = relief.proportion === null ? t("heightOfWidth", { percent }) : t("heightTrue", { by });
    this.words.textContent = `${scale} ${relief.turned ? t("largeIsUp") : t("smallIsUp")}`;
  }

  private build(): void {
    const relief = this.relief;
    if (!relief) return;
    for (const mesh of [this.fine, this.light]) {
      if (!mesh) continue;
      this.scene.remove(mesh);
      mesh.geometry.dispose();
    }
    const made = material(relief, this.choices.coat, this.choices.contours);
    this.fine = new three.Mesh(grid(relief, 1), made);
    this.light = new three.Mesh(grid(relief, LIGHT_STRIDE), made);
    this.light.visible = false;
    this.scene.add(this.fine, this.light);
    this.stretch();
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

  private aimLight(): void {
    const { angle, follows } = this.choices;
    if (!follows) return void this.sun.position.set(Math.cos(angle), Math.sin(angle), 1.1);
    const { x, y, z } = { x: new three.Vector3(), y: new three.Vector3(), z: new three.Vector3() };
    this.camera.updateMatrixWorld();
    this.camera.matrixWorld.extractBasis(x, y, z);
    this.sun.position
      .copy(z)
      .multiplyScalar(1.1)
      .addScaledVector(x, Math.cos(angle))
      .addScaledVector(y, Math.sin(angle));
  }

  private draw(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    this.host.toggleAttribute("data-drawing", true); // for whoever waits for the picture
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.drawNow();
      this.host.removeAttribute("data-drawing");
    });
  }

  private drawNow(): void {
    const { clientWidth: width, clientHeight: height } = this.host;
    if (!width || !height) return;
    const moving = this.light?.visible ?? false;
    const ratio = Math.min(window.devicePixelRatio, 2);
    this.renderer.setPixelRatio(moving ? 0.5 : ratio);
    this.renderer.setSize(width, height);
    this.wide.aspect = width / height;
    // Where there is little room beside the switches, more is brought into view.
    const beside = this.tools.open && width > 2 * BOX ? -BOX / 2 : 0;
    const room = (width + 2 * beside) / height;
    const tangent = Math.tan((FIELD * Math.PI) / 360) * Math.max(1.25 / room, 1);
    this.wide.fov = (360 / Math.PI) * Math.atan(tangent);
    // As much in view as the other camera sees at the middle.
    const half = Math.tan((this.wide.fov * Math.PI) / 360) * this.camera.position.distanceTo(this.orbit.target);
    Object.assign(this.parallel, {
      top: half,
      bottom: -half,
      left: (-half * width) / height,
      right: (half * width) / height,
    });
    // The box of switches covers the left: look past it where there is room.
    this.camera.setViewOffset(width, height, beside, 0, width, height);
    this.camera.updateProjectionMatrix();
    this.aimLight();
    this.renderer.render(this.scene, this.camera);
    this.annotate(width, height, ratio);
  }

  private annotate(width: number, height: number, ratio: number): void {
    const { overlay, relief } = this;
    overlay.width = Math.round(width * ratio);
    overlay.height = Math.round(height * ratio);
    if (!relief || !this.choices.axes) return;
    const context = overlay.getContext("2d")!;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const style = getComputedStyle(document.documentElement);
    const ink: Ink = {
      text: style.getPropertyValue("--text").trim() || "#182022",
      ground: style.getPropertyValue("--stage").trim() || "#ffffff",
    };
    this.axes.draw(context, this.camera, width, height, ink);
    if (this.choices.parallel) {
      const perScene = (height * this.parallel.zoom) / (this.parallel.top - this.parallel.bottom);
      drawScaleBar(context, relief, perScene, width, height, ink);
    }
  }

  /** Download what is seen, with its numbers, on the colour of the page. */
  private async save(): Promise<void> {
    this.drawNow();
    const canvas = el("canvas", { width: this.overlay.width, height: this.overlay.height });
    const context = canvas.getContext("2d")!;
    context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--stage").trim() || "#ffffff";
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(this.renderer.domElement, 0, 0, canvas.width, canvas.height);
    context.drawImage(this.overlay, 0, 0);
    const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
    if (!blob) return;
    const address = URL.createObjectURL(blob);
    el("a", { href: address, download: `${this.relief?.title ?? "varfocus"}-view.png` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  }
}

/** How the surface looks: picture, height colours or plain, with contour lines if wanted. */
function material(relief: Relief, coat: Coat, contours: boolean): three.Material {
  const texture = new three.CanvasTexture(relief.picture);
  texture.generateMipmaps = false;
  texture.minFilter = three.LinearFilter;
  texture.colorSpace = three.SRGBColorSpace;
  const looks: Record<Coat, three.MeshLambertMaterialParameters> = {
    picture: { map: texture },
    height: { vertexColors: true },
    plain: { color: 0xb9c4c6 },
  };
  const made = new three.MeshLambertMaterial({ ...looks[coat], side: three.DoubleSide });
  if (!contours) return made;
  const step = roundStep(relief.range[1] - relief.range[0], 12) * zScale(relief);
  made.onBeforeCompile = (shader) => {
    shader.uniforms["contourStep"] = { value: step };
    shader.vertexShader = shader.vertexShader
      .replace("#include <common>", "#include <common>\nvarying float vContour;")
      .replace("#include <begin_vertex>", "#include <begin_vertex>\nvContour = position.z;");
    shader.fragmentShader = shader.fragmentShader
      .replace("#include <common>", "#include <common>\nvarying float vContour;\nuniform float contourStep;")
      .replace(
        "#include <dithering_fragment>",
        `#include <dithering_fragment>
        float level = vContour / contourStep;
        float off = abs(fract(level - 0.5) - 0.5) / max(fwidth(level), 1e-6);
        gl_FragColor.rgb = mix(gl_FragColor.rgb, vec3(0.04, 0.07, 0.08), 0.75 * (1.0 - smoothstep(0.5, 1.3, off)));`,
      );
  };
  made.customProgramCacheKey = () => "contours";
  return made;
}
