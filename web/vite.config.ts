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
});
