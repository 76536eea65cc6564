// The tools, resources and prompts that the official conformance suite requires, under the names that it uses.
export { asking } from "./asking.ts";
export { changing } from "./changing.ts";
export { contents } from "./content.ts";
export { tasks } from "./tasks.ts";
export { waiting } from "./waiting.ts";
