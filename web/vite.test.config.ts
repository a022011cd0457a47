import { readdirSync } from "node:fs";
import { defineConfig } from "vite";

// The tests of the page's logic, for `node --test`.
export default defineConfig({
  build: {
    ssr: true,
    outDir: "node_modules/.tests",
    emptyOutDir: true,
    rolldownOptions: { input: readdirSync("test").map((name) => `test/${name}`) },
  },
  publicDir: false,
  logLevel: "warn",
});
