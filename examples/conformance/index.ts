// Everything the official conformance suite asks a server for, by the names it asks for.
export { asking } from "./asking.ts";
export { changing } from "./changing.ts";
export { contents } from "./content.ts";
export { tasks } from "./tasks.ts";
export { waiting } from "./waiting.ts";
