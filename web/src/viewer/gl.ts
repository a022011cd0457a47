// Drawing with WebGL2: tiles as textured rectangles, colours of maps in the shader.

/** Confidence below which a depth is hatched, and not measured. */
export const UNSURE = 0.5;

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
uniform sampler2D confidence;
uniform int doubts;   // 1 hatches what is unsure
in vec2 at;
out vec4 colour;
void main() {
  vec4 value = texture(tile, at);
  if (kind == 1) { colour = vec4(value.rgb, 1.0); return; }
  if (isnan(value.r)) {
    float stripe = step(0.5, fract((gl_FragCoord.x + gl_FragCoord.y) / 10.0));
    colour = vec4(mix(plain, plain * 0.6 + 0.12, stripe), 1.0);
    return;
  }
  float share = clamp((value.r - range.x) / (range.y - range.x), 0.0, 1.0);
  vec3 shown = texture(palette, vec2((share * 255.0 + 0.5) / 256.0, 0.5)).rgb;
  if (doubts == 1 && texture(confidence, at).r < UNSURE) {
    float stripe = step(0.72, fract((gl_FragCoord.x + gl_FragCoord.y) / 7.0));
    shown = mix(shown, vec3(dot(shown, vec3(0.3, 0.6, 0.1)) > 0.5 ? 0.0 : 1.0), 0.55 * stripe);
  }
  colour = vec4(shown, 1.0);
}`.replace("UNSURE", String(UNSURE));

const UNIFORMS = ["place", "tile", "palette", "range", "kind", "plain", "confidence", "doubts"] as const;

export class Painter {
  private uniforms = {} as Record<(typeof UNIFORMS)[number], WebGLUniformLocation | null>;
  private palettes = new Map<string, WebGLTexture>();
  private colours = new Map<string, Uint8Array>();

  constructor(private gl: WebGL2RenderingContext) {
    this.setUp();
  }

  /** Begin anew after the context was lost: everything that was on the card is gone. */
  restore(): void {
    this.palettes.clear();
    this.setUp();
    for (const [name, rgb] of this.colours) this.setPalette(name, rgb);
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
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS))
        throw new Error(gl.getShaderInfoLog(shader) ?? "the shader does not compile");
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    gl.useProgram(program);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([0, 0, 1, 0, 0, 1, 1, 1]), gl.STATIC_DRAW);
    const corner = gl.getAttribLocation(program, "corner");
    gl.enableVertexAttribArray(corner);
    gl.vertexAttribPointer(corner, 2, gl.FLOAT, false, 0, 0);
    for (const name of UNIFORMS) this.uniforms[name] = gl.getUniformLocation(program, name);
    gl.uniform1i(this.uniforms.tile, 0);
    gl.uniform1i(this.uniforms.palette, 1);
    gl.uniform1i(this.uniforms.confidence, 2);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
  }

  setPalette(name: string, rgb: Uint8Array): void {
    const gl = this.gl;
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGB8, 256, 1, 0, gl.RGB, gl.UNSIGNED_BYTE, rgb);
    this.filter(gl.NEAREST, gl.NEAREST);
    this.palettes.set(name, texture);
    this.colours.set(name, rgb);
  }

  clear(unknown: [number, number, number]): void {
    const gl = this.gl;
    gl.disable(gl.SCISSOR_TEST);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.SCISSOR_TEST);
    gl.uniform3fv(this.uniforms.plain, unknown);
  }

  /** Say where on the canvas is drawn, in its own pixels, and how values become colours. */
  begin(
    viewport: [number, number, number, number],
    scissor: [number, number, number, number],
    map: boolean,
    range: [number, number],
    palette: string,
  ): void {
    const gl = this.gl;
    gl.viewport(...viewport);
    gl.scissor(...scissor);
    gl.uniform1i(this.uniforms.kind, map ? 0 : 1);
    gl.uniform2f(this.uniforms.range, ...range);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, this.palettes.get(palette) ?? null);
    gl.activeTexture(gl.TEXTURE0);
  }

  /** Draw a tile; place is its left, lower, width and height in clip coordinates. */
  draw(
    texture: WebGLTexture,
    confidence: WebGLTexture | null,
    place: [number, number, number, number],
    map: boolean,
    large: boolean,
  ): void {
    const gl = this.gl;
    gl.uniform1i(this.uniforms.doubts, confidence ? 1 : 0);
    if (confidence) {
      gl.activeTexture(gl.TEXTURE2);
      gl.bindTexture(gl.TEXTURE_2D, confidence);
      this.filter(gl.NEAREST, gl.NEAREST);
      gl.activeTexture(gl.TEXTURE0);
    }
    gl.bindTexture(gl.TEXTURE_2D, texture);
    this.filter(map ? gl.NEAREST : gl.LINEAR, large || map ? gl.NEAREST : gl.LINEAR);
    gl.uniform4f(this.uniforms.place, ...place);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  }

  upload(data: Float32Array | Uint8Array, width: number, height: number): WebGLTexture {
    const gl = this.gl;
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    if (data instanceof Float32Array)
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.R32F, width, height, 0, gl.RED, gl.FLOAT, data);
    else gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, width, height, 0, gl.RGBA, gl.UNSIGNED_BYTE, data);
    return texture;
  }

  forget(texture: WebGLTexture): void {
    this.gl.deleteTexture(texture);
  }

  private filter(small: number, large: number): void {
    const gl = this.gl;
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, small);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, large);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
  }
}
