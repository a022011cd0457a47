import { defineConfig } from "vite";

// The tests of the page's logic, for `node --test`.
export default defineConfig({
  build: { ssr: "test/newest.test.ts", outDir: "node_modules/.tests", emptyOutDir: true },
  publicDir: false,
  logLevel: "warn",
});
