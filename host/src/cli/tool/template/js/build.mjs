// Makes {{name}}.wasm.
import { componentize } from "@bytecodealliance/componentize-js";
import { writeFile } from "node:fs/promises";

const { component } = await componentize({
  sourcePath: "tool.js",
  witPath: "wit",
  worldName: "mine",
  disableFeatures: ["http", "fetch-event"],
});
await writeFile("{{name}}.wasm", component);
