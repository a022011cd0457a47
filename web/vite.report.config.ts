import { defineConfig } from "vite";

// The viewer of report.html: one script, to be put into the report with its data.
export default defineConfig({
  build: {
    outDir: "../src/varfocus/export/viewer",
    emptyOutDir: true,
    lib: { entry: "src/report.ts", formats: ["iife"], name: "report", fileName: () => "viewer.js" },
  },
  publicDir: false,
});
