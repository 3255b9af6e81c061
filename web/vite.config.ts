import vue from "@vitejs/plugin-vue";
import { defineConfig } from "vite";

// relative, because the server may live below any path; its answer names the base
export default defineConfig({
  base: "./",
  plugins: [vue()],
  // so that a worker too loads only what it needs
  worker: { format: "es" },
  build: {
    outDir: "../src/cableferry/server/built",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    // a data: url would need a wider policy
    assetsInlineLimit: 0,
    reportCompressedSize: true,
    // the two parts that draw documents, fetched when the first one is looked at
    chunkSizeWarningLimit: 1400,
  },
});
