// JavaScript and a JavaScript engine → component. Without the engine's features it imports only Theater's world.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { componentize } from "@bytecodealliance/componentize-js";

const here = import.meta.dirname;
const read = (path: string): string => readFileSync(join(here, path), "utf8");

const { component } = await componentize(read("js-counter.js"), {
  witWorld: `${read("../wit/theater.wit")}\n${read("world.wit")}`,
  worldName: "js-counter",
  disableFeatures: ["stdio", "random", "clocks", "http", "fetch-event"],
});
mkdirSync(join(here, "dist"), { recursive: true });
writeFileSync(join(here, "dist/js-counter.wasm"), component);
console.log(`js-counter: ${component.length} bytes`);
