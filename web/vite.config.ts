import { readFileSync } from "node:fs";
import { defineConfig } from "vite";

// The page is served from the Python package, under a policy that allows nothing inline.
export default defineConfig({
  base: "/",
  build: {
    outDir: "../src/varfocus/app/static",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 900,
  },
  plugins: [
    {
      name: "licences of what is bundled",
      generateBundle() {
        const texts = ["three", "uplot"].map(
          (name) => `${name}\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8")}`,
        );
        this.emitFile({ type: "asset", fileName: "licences.txt", source: texts.join("\n\n") });
      },
    },
  ],
});
